"""Raw folders of catalogue rows: from a mirror, what is here already, or the origins of the row.

Only ``gnz data get`` fetches; preparing and training read what is on the disk.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from urllib.parse import quote, unquote, urlsplit

from gnz_track.datasets.sources.archives import is_safe
from gnz_track.datasets.sources.download import is_web_address
from gnz_track.datasets.sources.origins import Nowhere, Received, Supply, Tell, kept_file, supply
from gnz_track.errors import BadValue, DataRetired, FetchFailed, GnzError
from gnz_track.files import file_lock, publish, temporary_beside
from gnz_track.types import DatasetRow, Download, Origin, PackageFile

__all__ = [
    "Fetched",
    "fetch",
    "fetch_each",
    "files_of",
    "find_complete",
    "holds",
    "lack_of",
    "n_bytes_left",
    "n_bytes_of",
    "parse_mirror",
    "raw_folder",
    "wanted_files",
]

JOBS = 4
# A mirror is its address.
_Origin = str | PackageFile | Download
_SECONDS_TO_STOP = 5.0


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """The raw folder of a row, or why there is none; a generated dataset has neither."""

    row: DatasetRow
    folder: Path | None = None
    error: GnzError | None = None


def fetch(row: DatasetRow, *, home: Path, mirror: str | Path | None = None, tell: Tell | None = None) -> Path:
    """Return the folder with the raw files of a row, fetched where they are not here.

    The raw folder below ``home`` appears whole or not at all. Raises :class:`FetchFailed` or :class:`DataRetired`.

    Parameters
    ----------
    row, home
    mirror
        A folder (then read in place) or an address, laid out as PyG's raw folders.
    tell
        Is called as bytes arrive.
    """
    if not is_safe(row.raw):
        raise BadValue("the dataset to fetch", row.name, "one that is read from raw files, in a folder of its own")
    search = _Search(row, Path(home).absolute(), tell or _ignore)
    found = parse_mirror(mirror)
    if isinstance(found, Path):
        lack = lack_of(row, found / row.raw)
        if not lack:
            return found / row.raw
        search.looked_in.append((found / row.raw, lack))
    folder = raw_folder(row, search.home)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(folder.with_name(f".{folder.name}.lock")):
            if lack_of(row, folder):
                search.fill(folder, found if isinstance(found, str) else "")
    except OSError as error:
        search.looked_in.append((folder, str(error)))
        raise search.failure(wanted_files(row)) from error
    return folder


def fetch_each(
    rows: Sequence[DatasetRow],
    *,
    home: Path,
    mirror: str | Path | None = None,
    jobs: int = JOBS,
    tell: Tell | None = None,
) -> Iterator[Fetched]:
    """Yield rows as they are fetched; ending the iteration stops the rest, and keeps what has arrived of it.

    Parameters
    ----------
    rows, home, mirror, tell
        As :func:`fetch` takes them.
    jobs
        Rows fetched at once.
    """
    parse_mirror(mirror)
    is_over = threading.Event()
    crew = _Crew(rows, lambda row, hear: _attempt(row, home, mirror, hear), tell or _ignore, is_over)
    threads = [threading.Thread(target=crew.work, daemon=True) for _ in range(min(jobs, len(rows)))]
    try:
        for thread in threads:
            thread.start()
        for _ in rows:
            result = crew.done.get()
            if isinstance(result, Exception):
                raise result
            yield result
    finally:
        is_over.set()
        for thread in threads:
            thread.join(_SECONDS_TO_STOP)


def n_bytes_of(row: DatasetRow) -> int | None:
    """Return how much is to be fetched for a row; None where an origin does not say."""
    sizes = [origin.n_bytes for origin in row.origins]
    return sum(sizes) if sizes and all(sizes) else None


def n_bytes_left(rows: Iterable[DatasetRow], *, home: Path) -> tuple[int, int]:
    """Return how much is to be fetched for rows together, each file once, and of how many files nobody knows."""
    files = {kept_file(origin, home): origin.n_bytes for row in rows for origin in row.origins}
    sizes = [n_bytes for file, n_bytes in files.items() if not file.exists()]
    return sum(sizes), sizes.count(0)


def parse_mirror(mirror: str | Path | None = None) -> Path | str | None:
    """Return the folder or the address of raw files: the argument, else ``GNZ_MIRROR``; None without one."""
    given = str(mirror or os.environ.get("GNZ_MIRROR") or "")
    if not given:
        return None
    if is_web_address(given):
        kind, _, rest = given.partition(":")
        return f"{kind.lower()}://{rest.strip('/')}"
    folder = Path(given).expanduser().absolute()
    if not folder.is_dir():
        allowed = "a folder with raw files, or an http(s) address of one, laid out as PyG's raw folders"
        raise BadValue("the mirror", given, allowed)
    return folder


def raw_folder(row: DatasetRow, home: Path) -> Path:
    """Return where the fetched raw files of a row lie, whether they are there or not."""
    return home / "raw" / row.raw


def find_complete(row: DatasetRow, *, home: Path, mirror: Path | str | None) -> Path | None:
    """Return the raw folder of a row that lacks nothing, of the mirror or else of the home; None without one.

    Parameters
    ----------
    row, home
    mirror
        Its folder; one at an address is not asked.
    """
    roots = [mirror / row.raw] if isinstance(mirror, Path) else []
    return next((place for place in [*roots, raw_folder(row, home)] if not lack_of(row, place)), None)


def lack_of(row: DatasetRow, place: Path) -> str:
    """Return what a raw folder lacks, as a part of a sentence; nothing where it is complete."""
    if not place.is_dir():
        return "there is no such folder"
    if not any(place.iterdir()):
        return "it is empty"
    missing = [path for path, member in wanted_files(row).items() if not holds(place, path, member)]
    return f"it lacks {_list_some(missing)}" if missing else ""


def wanted_files(row: DatasetRow) -> dict[str, str]:
    """Return all paths below the raw folder that the origins of a row name, with the member of the first of them."""
    wanted: dict[str, str] = {}
    for origin in row.origins:
        for path, member in files_of(origin).items():
            wanted.setdefault(path, member)
    return wanted


def files_of(origin: Origin) -> Mapping[str, str]:
    """Return what an origin gives: paths below the raw folder to members, which are empty for the file itself."""
    if origin.members:
        return origin.members
    if isinstance(origin, PackageFile):
        return {origin.file: ""}
    return {origin.path or unquote(urlsplit(origin.url).path.rpartition("/")[2]): ""}


def holds(place: Path, path: str, member: str) -> bool:
    """Tell whether a folder has a file; for a folder of an archive, whether it has any.

    Parameters
    ----------
    place, path
    member
        The member that the path comes from; a folder's ends in ``/``.
    """
    found = place / path
    return found.is_dir() and any(found.iterdir()) if member.endswith("/") else found.is_file()


def _list_some(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more files" if len(names) > 3 else "")


class _Crew:
    """Threads that take one row after the other."""

    def __init__(
        self,
        rows: Iterable[DatasetRow],
        attempt: Callable[[DatasetRow, Tell], Fetched],
        tell: Tell,
        is_over: threading.Event,
    ) -> None:
        self.done = SimpleQueue[Fetched | Exception]()
        self._waiting, self._attempt, self._tell, self._is_over = iter(list(rows)), attempt, tell, is_over
        self._guard = threading.Lock()

    def work(self) -> None:
        """Fetch rows until there is none left, or nobody waits for them."""
        while (row := self._next()) is not None:
            try:
                self.done.put(self._attempt(row, self._hear))
            except _Stopped:
                return
            except Exception as error:  # noqa: BLE001  (raised again where the results are read)
                self.done.put(error)

    def _next(self) -> DatasetRow | None:
        with self._guard:
            return None if self._is_over.is_set() else next(self._waiting, None)

    def _hear(self, received: Received) -> None:
        if self._is_over.is_set():
            raise _Stopped
        with self._guard:
            self._tell(received)


class _Stopped(Exception):
    """Ends a download that nobody waits for any more."""


def _attempt(row: DatasetRow, home: Path, mirror: str | Path | None, tell: Tell) -> Fetched:
    if not row.raw:
        return Fetched(row=row)
    try:
        return Fetched(row=row, folder=fetch(row, home=home, mirror=mirror, tell=tell))
    except GnzError as error:
        return Fetched(row=row, error=error)


def _ignore(received: Received) -> None:
    del received


@dataclass(frozen=True)
class _Search:
    """The search for the raw files of one row, and where it has been so far."""

    row: DatasetRow
    home: Path
    tell: Tell
    looked_in: list[tuple[object, str]] = field(default_factory=list)

    def fill(self, folder: Path, mirror: str) -> None:
        """Make a raw folder whole, or raise and leave it as it is."""
        wanted = wanted_files(self.row)
        with temporary_beside(folder) as whole:
            if folder.is_dir():
                _merge(folder, whole, keeps=True)
            origins: list[_Origin] = ([f"{mirror}/{quote(self.row.raw)}"] if mirror else []) + list(
                () if self.row.retired else self.row.origins
            )
            for origin in origins:
                todo = wanted if isinstance(origin, str) else files_of(origin)
                todo = {path: member for path, member in todo.items() if not holds(whole, path, member)}
                if todo or not wanted:
                    self._fill_from(origin, todo, whole)
            missing = [path for path, member in wanted.items() if not holds(whole, path, member)]
            if missing or not wanted:
                raise self.failure(missing)
            publish(whole, folder)

    def _fill_from(self, origin: _Origin, todo: Mapping[str, str], whole: Path) -> None:
        with temporary_beside(whole) as part:
            try:
                supply(Supply(dataset=self.row.name, home=self.home, tell=self.tell), origin, todo, part)
            except Nowhere as error:
                self.looked_in.extend(error.looked_in)
            else:
                _merge(part, whole, keeps=False)

    def failure(self, missing: Iterable[str]) -> GnzError:
        """Return the error that says what is missing, where it was looked for, and how to supply it."""
        folder = raw_folder(self.row, self.home)
        if self.row.retired:
            return DataRetired(self.row.name, self.row.retired, folder)
        kept = [kept_file(origin, self.home) for origin in self.row.origins if origin.members]
        by_hand = [f"put the wanted files into {folder}", *(f"put its archive there as {path}" for path in kept[:1])]
        return FetchFailed(self.row.name, missing, self.looked_in, by_hand=by_hand)


def _merge(source: Path, target: Path, *, keeps: bool) -> None:
    """Put all files of a folder into another one on the same disk; ``keeps`` leaves them where they are too."""
    for file in source.rglob("*"):
        if file.is_file():
            place = target / file.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            if keeps:
                shutil.copyfile(file, place)
            else:
                file.replace(place)
