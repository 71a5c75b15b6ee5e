"""Origins of raw files, written below a folder: members of a package archive, a download, or a mirror's files.

A file of a release lies on the package indexes and in the folders of links that pip is configured with. Only pages are
read, never a package: nothing is built, installed or run. JSON pages are those of PEP 691, HTML pages those of PEP 503.
"""

from __future__ import annotations

import configparser
import contextlib
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urldefrag, urljoin, urlsplit, urlunsplit

from gnz_track.datasets.sources.archives import extract
from gnz_track.datasets.sources.download import Dropped, Response, download, open_address, path_of, without_credentials
from gnz_track.errors import ArchiveUnusable, DownloadFailed
from gnz_track.files import file_lock
from gnz_track.types import Download, PackageFile

__all__ = [
    "PUBLIC_INDEX",
    "Nowhere",
    "Received",
    "Supply",
    "Tell",
    "archive_folder",
    "find_file",
    "kept_file",
    "read_pip_places",
    "supply",
]

PUBLIC_INDEX = "https://pypi.org/simple"
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_MOST_PAGE_BYTES = 64 << 20
_ATTEMPTS = 3
_TIMEOUT = 60.0


@dataclass(frozen=True, kw_only=True)
class Received:
    """Progress of one file of a dataset; ``n_total`` is None where nobody has said."""

    dataset: str
    file: str
    n_bytes: int
    n_total: int | None


Tell = Callable[[Received], None]


class Nowhere(Exception):
    """An origin that did not give its files: pairs of a place and a reason."""

    def __init__(self, *looked_in: tuple[object, str]) -> None:
        super().__init__(looked_in)
        self.looked_in = looked_in


@dataclass(frozen=True, kw_only=True)
class Supply:
    """For which dataset, below which home, and whom to tell."""

    dataset: str
    home: Path
    tell: Tell

    def receive(self, address: str, target: Path, origin: PackageFile | Download) -> None:
        """Download the file of an origin and tell how far it is.

        Parameters
        ----------
        address, target, origin
        """
        file = origin.file if isinstance(origin, PackageFile) else urlsplit(address).path.rpartition("/")[2]

        def tell(n_done: int, n_total: int | None) -> None:
            self.tell(Received(dataset=self.dataset, file=file, n_bytes=n_done, n_total=n_total))

        download(address, target, sha256=origin.sha256, n_bytes=origin.n_bytes, tell=tell)


def supply(to: Supply, origin: PackageFile | Download | str, files: Mapping[str, str], folder: Path) -> None:
    """Write files of an origin below a folder; raise :class:`Nowhere` where it gives none.

    Parameters
    ----------
    to
    origin
        Or the address of a mirror's raw folder; it cannot be listed, so the files are those that the origins name.
    files
        Path below the folder -> member, empty for the file itself.
    folder
    """
    _KINDS[type(origin)](to, origin, files, folder)


def archive_folder(home: Path) -> Path:
    """Return where fetched archives are kept, so that all datasets of one archive fetch it once."""
    return home / "archives"


def kept_file(origin: PackageFile | Download, home: Path) -> Path:
    """Return where the file of an origin is kept: by content, or by address where no checksum is known."""
    if isinstance(origin, PackageFile):
        return archive_folder(home) / f"{origin.sha256}-{origin.file}"
    name = urlsplit(origin.url).path.rpartition("/")[2] or "file"
    key = origin.sha256 or "url-" + hashlib.sha256(origin.url.encode()).hexdigest()[:16]
    return archive_folder(home) / f"{key}-{name[-80:]}"


def read_pip_places(environment: Mapping[str, str] | None = None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return where pip looks by its configuration files and, above them, the environment: indexes and links.

    An index has a page for each project, a link files of all of them.
    """
    environment = os.environ if environment is None else environment
    found = _from_files(environment)
    for name, value in environment.items():
        if name.startswith("PIP_") and value:
            found[_option_key(name.removeprefix("PIP_"))] = value
    is_offline = found.get("no-index", "").lower() in {"1", "true", "yes", "on", "y", "t"}
    indexes = [found.get("index-url", PUBLIC_INDEX), *found.get("extra-index-url", "").split()]
    links = tuple(dict.fromkeys(found.get("find-links", "").split()))
    return () if is_offline else tuple(dict.fromkeys(index.strip().rstrip("/") for index in indexes)), links


def find_file(
    project: str,
    file: str,
    *,
    indexes: Iterable[str],
    links: Iterable[str],
    looked_in: list[tuple[object, str]],
) -> Iterator[tuple[str, str, str]]:
    """Yield address, sha256 and place of each file of exactly this name; no sha256 where the place says none.

    Parameters
    ----------
    project, file
    indexes, links
        As :func:`read_pip_places` returns them.
    looked_in
        Gets the places that do not list it, each with a reason.
    """
    folder = re.sub(r"[-_.]+", "-", project).lower()
    pages = [*((link, link) for link in links), *((index, f"{index}/{folder}/") for index in indexes)]
    for place, page in pages:
        shown = without_credentials(place)
        try:
            listed = _files_at(page)
        except (Dropped, DownloadFailed) as error:
            looked_in.append((shown, getattr(error, "reason", str(error))))
            continue
        if file in listed:
            address, sha256 = listed[file]
            yield _with_credentials(address, place), sha256, shown
        else:
            looked_in.append((shown, f"it lists {len(listed)} files here, and none is {file}"))


def _from_mirror(to: Supply, mirror: str, files: Mapping[str, str], folder: Path) -> None:
    if not files or any(member.endswith("/") for member in files.values()):
        raise Nowhere((without_credentials(mirror), "the catalogue does not name the files to ask an address for"))
    for path in files:
        _from_address(to, Download(url=f"{mirror}/{quote(path)}"), {path: ""}, folder)


def _from_address(to: Supply, origin: Download, files: Mapping[str, str], folder: Path) -> None:
    kept, shown = kept_file(origin, to.home), without_credentials(origin.url)
    with _lock_of(kept):
        try:
            if not _is_right(kept, origin.sha256):
                to.receive(origin.url, kept, origin)
            _unpack(kept, files, folder)
        except DownloadFailed as error:
            raise Nowhere((shown, error.reason)) from error
        except ArchiveUnusable as error:
            # Without a checksum it may be any page that the server sent instead.
            kept.unlink()
            raise Nowhere((shown, error.reason)) from error
        if not origin.members:
            kept.unlink()


def _from_package(to: Supply, origin: PackageFile, files: Mapping[str, str], folder: Path) -> None:
    kept = kept_file(origin, to.home)
    with _lock_of(kept):
        if not _is_right(kept, origin.sha256):
            _receive_package(to, origin, kept)
    try:
        _unpack(kept, files, folder)
    except ArchiveUnusable as error:
        raise Nowhere((kept, error.reason)) from error


def _receive_package(to: Supply, origin: PackageFile, kept: Path) -> None:
    looked_in: list[tuple[object, str]] = []
    try:
        indexes, links = read_pip_places()
        found = find_file(origin.project, origin.file, indexes=indexes, links=links, looked_in=looked_in)
        for address, sha256, place in found:
            if sha256 not in {"", origin.sha256}:
                looked_in.append((place, f"its {origin.file} is another file, of sha256 {sha256}"))
                continue
            try:
                to.receive(address, kept, origin)
            except DownloadFailed as error:
                looked_in.append((place, error.reason))
            else:
                return
    except DownloadFailed as error:
        looked_in.append((error.address, error.reason))
    nowhere = ("the package index", "pip is configured with --no-index and without links")
    raise Nowhere(*(looked_in or [nowhere]))


_KINDS: dict[type, Callable[..., None]] = {
    PackageFile: _from_package,
    Download: _from_address,
    str: _from_mirror,
}


@contextlib.contextmanager
def _lock_of(kept: Path) -> Iterator[None]:
    """Keep other processes and threads from a kept file."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(kept.with_name(f"{kept.name}.lock")):
        yield


def _is_right(file: Path, sha256: str) -> bool:
    """Tell whether a kept file can be taken; one that is wrong is removed."""
    if not file.is_file():
        return False
    with file.open("rb") as stream:
        is_right = not sha256 or hashlib.file_digest(stream, "sha256").hexdigest() == sha256
    if not is_right:
        file.unlink()
    return is_right


def _unpack(kept: Path, files: Mapping[str, str], folder: Path) -> None:
    """Write what is wanted of a kept file: members of it, or itself where none is named."""
    members = {path: member for path, member in files.items() if member}
    if members:
        extract(kept, members, folder)
    for path in files.keys() - members.keys():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, target)


def _from_files(environment: Mapping[str, str]) -> dict[str, str]:
    """Return pip's settings for downloads, later files above earlier ones."""
    found: dict[str, str] = {}
    for section in ("global", "download"):
        for path in _config_files(environment):
            parser = configparser.RawConfigParser(strict=False)
            try:
                parser.read(path, encoding="utf-8")
            except (configparser.Error, UnicodeDecodeError, OSError) as error:
                raise DownloadFailed(path, f"pip's configuration file cannot be read: {error}") from error
            if parser.has_section(section):
                found.update({_option_key(name): value for name, value in parser.items(section)})
    return found


def _config_files(environment: Mapping[str, str]) -> list[Path]:
    own = environment.get("PIP_CONFIG_FILE", "")
    if own == os.devnull:
        return []
    home = Path(environment.get("HOME") or Path.home())
    shared = [Path(folder) for folder in environment.get("XDG_CONFIG_DIRS", "/etc/xdg").split(os.pathsep) if folder]
    of_machine = [*(folder / "pip" / "pip.conf" for folder in shared), Path("/etc/pip.conf")]
    of_user = [home / ".pip/pip.conf", Path(environment.get("XDG_CONFIG_HOME") or home / ".config") / "pip/pip.conf"]
    if sys.platform == "darwin":
        of_machine.insert(0, Path("/Library/Application Support/pip/pip.conf"))
        of_user.append(home / "Library/Application Support/pip/pip.conf")
    is_given = bool(own) and Path(own).exists()
    return [
        *of_machine,
        *([] if is_given else of_user),
        Path(sys.prefix) / "pip.conf",
        *([Path(own)] if is_given else []),
    ]


def _option_key(name: str) -> str:
    return name.lower().replace("_", "-").removeprefix("--")


def _files_at(page: str) -> dict[str, tuple[str, str]]:
    """Return file names to (address, sha256) of a page or a folder."""
    if "://" in page and not page.startswith("file:"):
        return _on_page(page)
    path = path_of(page) if page.startswith("file:") else Path(page).expanduser().absolute()
    if path.is_dir() and not (path / "index.html").is_file():
        return {entry.name: (entry.as_uri(), "") for entry in path.iterdir() if entry.is_file()}
    return _on_page((path / "index.html" if path.is_dir() else path).as_uri())


def _on_page(page: str) -> dict[str, tuple[str, str]]:
    for attempt in range(_ATTEMPTS):
        try:
            with open_address(page, headers={"Accept": _ACCEPT}, timeout=_TIMEOUT) as answer:
                return _parse_page(answer, page)
        except Dropped:
            if attempt == _ATTEMPTS - 1:
                raise
    return {}


def _parse_page(answer: Response, page: str) -> dict[str, tuple[str, str]]:
    try:
        content = answer.body.read(_MOST_PAGE_BYTES + 1)
    except OSError as error:
        raise Dropped(f"the connection broke: {error}") from error
    declared = answer.headers.get("content-length", "")
    if declared.isdecimal() and len(content) < min(int(declared), _MOST_PAGE_BYTES):
        raise Dropped(f"the connection ended after {len(content)} of {declared} bytes")
    if len(content) > _MOST_PAGE_BYTES:
        raise DownloadFailed(without_credentials(page), f"its page has more than {_MOST_PAGE_BYTES} bytes")
    kind = answer.headers.get("content-type", "text/html").partition(";")[0].strip()
    read = _read_json if kind.endswith("json") else _read_html
    try:
        links = read(content.decode("utf-8", "replace"), answer.address)
    except (ValueError, KeyError, TypeError) as error:
        raise DownloadFailed(
            without_credentials(page), f"its page does not read as a list of files: {error}"
        ) from error
    return {unquote(urlsplit(address).path.rpartition("/")[2]): (address, sha256) for address, sha256 in links}


def _read_json(text: str, address: str) -> list[tuple[str, str]]:
    return [(urljoin(address, file["url"]), file["hashes"].get("sha256", "")) for file in json.loads(text)["files"]]


def _read_html(text: str, address: str) -> list[tuple[str, str]]:
    parser = _Anchors(address)
    parser.feed(text)
    parser.close()
    return [(plain, _sha256_in(fragment)) for plain, fragment in map(urldefrag, parser.addresses)]


def _sha256_in(fragment: str) -> str:
    return fragment.removeprefix("sha256=").partition("&")[0] if fragment.startswith("sha256=") else ""


class _Anchors(HTMLParser):
    """Collects where the anchors of a page lead to."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._here, self.addresses = address, list[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target: Any = dict(attrs).get("href")
        if target and tag == "base":
            self._here = urljoin(self._here, target)
        elif target and tag == "a":
            self.addresses.append(urljoin(self._here, target))


def _with_credentials(address: str, place: str) -> str:
    """Return an address with the credentials of its index where both are on one host, as pip does."""
    file, index = urlsplit(address), urlsplit(place)
    secret, mark, host = index.netloc.rpartition("@")
    is_same = mark and (file.scheme, file.netloc) == (index.scheme, host)
    return urlunsplit(file._replace(netloc=f"{secret}@{host}")) if is_same else address
