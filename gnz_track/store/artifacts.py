"""Files that lie with a run: where its store keeps them, and whether this machine may look or write there.

A store says so of each run, in words that whoever made the store has chosen. A store that came from elsewhere may name
any host or any folder. So of a database's own files only experiment and run are read in these words, and the folder is
the one beside the database, wherever that lies now; a server may name itself. All else is asked for only where the user
has named it in ``GNZ_ARTIFACTS``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import shutil
import stat
import tempfile
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from gnz_track.errors import BadValue, StoreUnusable
from gnz_track.store.address import SERVER, Address, mask
from gnz_track.store.connection import says_in_one_line
from gnz_track.store.mlflow_import import set_up

__all__ = [
    "PLACES_VARIABLE",
    "check_name",
    "fetch_artifact",
    "file_in",
    "find_place",
    "keep_artifact",
    "read_artifact",
    "refuse_behind_server",
    "refuse_links",
    "remove_artifact",
]


PLACES_VARIABLE = "GNZ_ARTIFACTS"
FILE, BEHIND_SERVER = "file", "mlflow-artifacts"
USUAL_PORTS = {"http": 80, "https": 443}
# Words of MLflow for another run's or model's place, which would be looked up without asking again.
STAND_INS = frozenset({"runs", "models"})
# As the writer makes it below the folder of artifacts: the experiment's folder, the run, and this word.
OF_RUN, RUN_PARTS = "artifacts", 3
_RUN, _FOLDER = re.compile(r"[0-9a-f]{32}"), re.compile(r"[\w\-][\w.\-]*", re.ASCII)
_NO_PLACE = re.compile(r"[\x00-\x1f\x7f\\]")


@dataclass(frozen=True, kw_only=True)
class _Said:
    """A place as a store, or the user, names it: scheme, host with port, and the parts of its path.

    ``is_plain`` says that everybody reads it so: no step upwards in any writing, no question, no share of a host.
    """

    scheme: str
    parts: tuple[str, ...]
    is_plain: bool
    host: str = ""

    def is_below(self, other: _Said) -> bool:
        is_same = (self.scheme, self.host) == (other.scheme, other.host)
        return self.is_plain and is_same and self.parts[: len(other.parts)] == other.parts

    @property
    def path(self) -> Path:
        return Path("/", *self.parts)


def find_place(address: Address, said: str, *, is_read: bool = True) -> Path | str:
    """Return where the files of a run are: a folder of this machine, or an address.

    Raises :class:`StoreUnusable` where that is a place which nobody but the store has named; nothing is asked there.

    Parameters
    ----------
    address
        Store of the run.
    said
        Place that the store names.
    is_read
        Whether files are read there, and not written.
    """
    place = _parse_place(said)
    if any(place.is_below(named) for named in _named()):
        return place.path if place.scheme == FILE else said
    own = _own_folder(address, place)
    if own is not None:
        refuse_links(address, own)
        if own.is_dir() or not is_read or place.path.is_relative_to(own.parents[RUN_PARTS - 1]):
            return own
    if not _is_of_server(address, place):
        raise _refused(address, said)
    return said


def file_in(address: Address, folder: Path, name: str) -> Path:
    """Return a file of a run below its folder; what is reached through links is refused, whoever made them.

    Parameters
    ----------
    address
        Store of the run, for errors.
    folder
        Folder of the run's files.
    name
        Name of the file, which may hold folders.
    """
    check_name(address, name)
    refuse_links(address, folder / name)
    return folder / name


def check_name(address: Address, name: str) -> None:
    """Refuse a name of a file that is no name: digests and words of the store are parts of some."""
    if not _is_plain(name) or not all(name.split("/")) or re.search("[?#%]", name):
        raise StoreUnusable(address, f"{name!r} is no name of a file of a run", remedy="see what it holds: gnz ls")


def _is_behind_server(address: Address, said: str) -> bool:
    """Tell whether a database says that files lie behind its server, which is not asked by who reads the database."""
    return address.kind != SERVER and said.partition(":")[0].lower() == BEHIND_SERVER


def refuse_behind_server(address: Address, place: str) -> None:
    """Raise where files of a run lie behind a server, so that who reads its database does not take them for gone."""
    if _is_behind_server(address, place):
        raise _refused(address, place)


def _own_folder(address: Address, place: _Said) -> Path | None:
    """Return the folder of a run beside its database, wherever both lie now; None where the place is no such folder."""
    of_run = place.parts[-RUN_PARTS:]
    if place.scheme != FILE or address.artifacts is None or len(of_run) < RUN_PARTS:
        return None
    experiment, run, word = of_run
    is_ours = _FOLDER.fullmatch(experiment) and _RUN.fullmatch(run) and word == OF_RUN
    return address.artifacts.joinpath(*of_run) if is_ours else None


def _is_of_server(address: Address, place: _Said) -> bool:
    """Tell whether a place is the server itself, as the user named it: scheme, host and port."""
    if address.kind != SERVER or not place.is_plain:
        return False
    named = urlsplit(address.uri)
    host = _with_port(named.scheme, named.netloc.rpartition("@")[2])
    if place.scheme == BEHIND_SERVER:
        return not place.host or _with_port(named.scheme, place.host) == host
    return place.scheme == named.scheme and _with_port(place.scheme, place.host) == host


def _with_port(scheme: str, host: str) -> str:
    return host.lower() if re.search(r":\d+$", host) else f"{host.lower()}:{USUAL_PORTS[scheme]}"


def _named() -> Iterator[_Said]:
    """Yield the places that the user has named, with blanks between them."""
    for text in shlex.split(os.environ.get(PLACES_VARIABLE, "")):
        place = _parse_place(text if ":" in text else str(Path(text).expanduser()))
        if not place.is_plain:
            allowed = "absolute folders and addresses such as s3://BUCKET/FOLDER, with blanks between"
            raise BadValue(PLACES_VARIABLE, mask(text), allowed)
        yield place


def _parse_place(text: str) -> _Said:
    """Read a place, whatever it is."""
    scheme, colon, _ = text.partition(":")
    if not colon or "/" in scheme:
        return _Said(scheme=FILE, parts=_parts(text), is_plain=_is_path(text))
    try:
        found = urlsplit(text)
    except ValueError:
        return _Said(scheme="", parts=(), is_plain=False)
    if found.scheme == FILE:
        path = unquote(found.path)
        is_plain = not found.netloc and _is_path(path)
    else:
        path, is_plain = found.path, _is_plain(found.path) and found.scheme not in STAND_INS
    is_plain = is_plain and not (found.query or found.fragment or _NO_PLACE.search(text))
    return _Said(scheme=found.scheme, host=found.netloc, parts=_parts(path), is_plain=is_plain)


def _is_path(path: str) -> bool:
    return path.startswith("/") and not path.startswith("//") and _is_plain(path)


def _is_plain(path: str) -> bool:
    """Tell whether a path has no step upwards, in whatever way it is written."""
    while True:
        if _NO_PLACE.search(path) or {".", ".."} & set(path.split("/")):
            return False
        decoded = unquote(path)
        if decoded == path:
            return True
        path = decoded


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


def refuse_links(address: Address, path: Path) -> None:
    """Refuse a path that is reached through a link, unless that leads to a place that the user has named.

    Who packs a store for others may pack links too. How the folder itself is reached that holds the database is the
    user's matter.
    """
    root, folders = address.artifacts, path.parents
    is_own = root is not None and path.is_relative_to(root)
    steps = (path, *(folders[: len(path.parts) - len(root.parts)] if root is not None and is_own else folders))
    if any(step.is_symlink() for step in steps):
        named = [place.path for place in _named() if place.scheme == FILE]
        if not named or not any(path.resolve().is_relative_to(folder.resolve()) for folder in named):
            reason = f"{str(path)!r} is behind a link, which is not followed out of the folder"
            remedy = f"if that leads to a folder of yours, name it: export {PLACES_VARIABLE}=FOLDER"
            raise StoreUnusable(address, reason, remedy=remedy)


def _refused(address: Address, said: str) -> StoreUnusable:
    if _is_behind_server(address, said):
        return StoreUnusable(address, "files of its runs lie behind a server", remedy="name that one with --store")
    prefix = _prefix_of(said)
    own = f"not below {address.artifacts}" if address.artifacts else "not the server itself"
    reason = f"it says that files of its runs lie at {prefix!r}, {own}; nothing was asked there"
    remedy = f"if that place is yours, name it: export {PLACES_VARIABLE}={shlex.quote(prefix)}"
    return StoreUnusable(address, reason, remedy=remedy)


def _prefix_of(said: str) -> str:
    """Return what the places of all runs of an experiment have in common, without a password."""
    start = "/".join(said.split("/")[:-2])
    is_of_run = _RUN.fullmatch(said.split("/")[-2]) if said.count("/") > RUN_PARTS else None
    return mask(start if is_of_run else said)[:200]


LOG = logging.getLogger(__name__)
# The book of a hundred thousand cells has a twentieth of it.
MOST_BYTES = 2**30
# Said once for a store, and not for each of its runs.
_TOLD: set[str] = set()


def fetch_artifact(address: Address, place: str, name: str, folder: Path) -> Path | None:
    """Return an artifact as a file on this machine, fetched into a folder where it lies elsewhere; None: it is gone.

    What :func:`find_place` refuses is not there either, and a warning says so.

    Parameters
    ----------
    address
        Store of the run.
    place
        Where the artifacts of the run lie, as its store says.
    name
        Name of the artifact.
    folder
        Where a fetched file goes.
    """
    try:
        found = find_place(address, place)
        if isinstance(found, Path):
            return _existing(file_in(address, found, name))
        check_name(address, name)
    except StoreUnusable as error:
        _warn_of_refused(address, place, error)
        return None
    from mlflow.exceptions import MlflowException

    with says_in_one_line(address):
        try:
            return _existing(Path(_repository(address, found).download_artifacts(name, str(folder))))
        except (MlflowException, OSError):
            # Whoever asks can do without, or says in its own words what is gone.
            return None


def read_artifact(address: Address, place: str, name: str) -> str | None:
    """Return an artifact as text; None where it is gone, or is no text.

    Parameters
    ----------
    address, place, name
        Those of :func:`fetch_artifact`.
    """
    with tempfile.TemporaryDirectory() as temporary:
        file = fetch_artifact(address, place, name, Path(temporary))
        try:
            return None if file is None else file.read_text("utf-8")
        except (OSError, UnicodeDecodeError):
            return None


def keep_artifact(address: Address, place: str, name: str, source: Path, *, moves: bool = False) -> None:
    """Copy a file to the artifacts of a run.

    Parameters
    ----------
    address, place
        Those of :func:`fetch_artifact`.
    name
        Name of the artifact, which may hold folders.
    source
        File to copy.
    moves
        Whether it may be moved, where both places are on one disk; elsewhere it stays where it is.
    """
    found = find_place(address, place, is_read=False)
    if isinstance(found, str):
        folder = str(Path(name).parent)
        with tempfile.TemporaryDirectory() as temporary:
            copy = Path(shutil.copyfile(source, Path(temporary) / Path(name).name))
            _repository(address, found).log_artifact(str(copy), None if folder == "." else folder)
        return
    file = file_in(address, found, name)
    file.parent.mkdir(parents=True, exist_ok=True)
    if moves:
        with contextlib.suppress(OSError):
            # What is on the disk stays there: nothing has to wait for it once more.
            source.replace(file)
            return
    # Of another name first: readers see the file as it was, or whole.
    unfinished = file.with_name(f"{file.name}.{uuid.uuid4().hex[:8]}.new")
    try:
        shutil.copyfile(source, unfinished)
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)


def remove_artifact(address: Address, place: str, name: str) -> None:
    """Remove a file of a run; one that is gone already is no error.

    Parameters
    ----------
    address, place, name
        Those of :func:`fetch_artifact`.
    """
    found = find_place(address, place, is_read=False)
    if isinstance(found, Path):
        file = file_in(address, found, name)
        file.unlink(missing_ok=True)
        if file.parent != found:
            with contextlib.suppress(OSError):
                # A folder that holds something else stays.
                file.parent.rmdir()
        return
    check_name(address, name)
    repository = _repository(address, found)
    folder = str(Path(name).parent)
    if any(one.path == name for one in repository.list_artifacts(None if folder == "." else folder)):
        repository.delete_artifacts(name)


def _existing(file: Path) -> Path | None:
    """Return a file where it is one, and no larger than any that was ever written; pipes are not waited for."""
    try:
        found = file.lstat()
    except OSError:
        return None
    return file if stat.S_ISREG(found.st_mode) and found.st_size <= MOST_BYTES else None


def _repository(address: Address, uri: str) -> Any:
    set_up()
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    return get_artifact_repository(uri, tracking_uri=address.uri)


def _warn_of_refused(address: Address, place: str, error: StoreUnusable) -> None:
    if _is_behind_server(address, place) or str(error) in _TOLD:
        return
    _TOLD.add(str(error))
    LOG.warning("plans and tables beside the runs are left out: %s", error)
