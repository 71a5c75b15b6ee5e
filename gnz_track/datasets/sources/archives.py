"""Named members of archives, streamed to files: zip and wheel, tar, single compressed files, archives in archives.

Nothing is ever extracted as a whole. A member that is a link or a device, that would land outside, or that unpacks to
more than an honest archive does, is refused.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import stat
import tarfile
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any

from gnz_track.errors import ArchiveUnusable

__all__ = ["LIMIT", "Limit", "extract", "is_safe"]

_BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, OSError, NotImplementedError)
_PIECE = 1 << 18
_TAR_BLOCK = 512


@dataclass(frozen=True, kw_only=True)
class Limit:
    """Bounds on what an archive unpacks to: ``most_bytes``, and ``most_ratio`` times its size beyond the first bytes.

    ``most_members`` counts all that it lists, whether they are wanted or not, nested archives included.
    """

    most_bytes: int = 16 << 30
    most_members: int = 1_000_000
    most_ratio: int = 200
    free_bytes: int = 64 << 20

    def of(self, archive: Path) -> int:
        """Return the most bytes that may come out of an archive."""
        return min(self.most_bytes, max(self.free_bytes, self.most_ratio * archive.stat().st_size))


LIMIT = Limit()


def extract(archive: Path, members: Mapping[str, str], folder: Path, *, limit: Limit = LIMIT) -> None:
    """Write members of an archive below a folder; raises :class:`ArchiveUnusable`.

    A single compressed file has one member, whatever name is asked for.

    Parameters
    ----------
    archive
    members
        Path below the folder -> member. A member ``outer!inner`` lies in an archive inside the archive; one that ends
        in ``/`` is a folder of which all files are taken, in their layout; ``/`` is all of it.
    folder, limit
    """
    budget = _Budget(archive.name, limit.of(archive), limit.most_members)
    _extract(_Archive(archive, archive.name, budget), members, folder)


def is_safe(path: str) -> bool:
    r"""Tell whether a relative path stays below its folder on every system.

    >>> [is_safe(path) for path in ("a/b.txt", "/a", "../a", "a/../../b", "C:a", "a\\..\\b", "")]
    [True, False, False, False, False, False, False]
    """
    is_absolute = path.startswith("/") or bool(PureWindowsPath(path).drive)
    has_odd_signs = "\\" in path or any(ord(sign) < 32 for sign in path)
    return bool(path) and not is_absolute and not has_odd_signs and ".." not in PurePosixPath(path).parts


class _Budget:
    """Counts the bytes that come out of an archive and the members that it lists, nested ones included."""

    def __init__(self, name: str, left: int, most_members: int) -> None:
        self.name, self.most, self.left = name, left, left
        self._most_members, self._n_members = most_members, 0

    def spend(self, n_bytes: int) -> None:
        self.left -= n_bytes
        if self.left < 0:
            raise ArchiveUnusable(self.name, f"it unpacks to more than {self.most} bytes, as no honest archive does")

    def count(self, n_members: int = 1) -> None:
        self._n_members += n_members
        if self._n_members > self._most_members:
            raise ArchiveUnusable(self.name, f"it lists more than {self._most_members} members")


@dataclass(frozen=True)
class _Archive:
    """An archive on the disk, the name it is shown under, and what may still come out of it."""

    path: Path
    name: str
    budget: _Budget

    def refuse(self, reason: str) -> ArchiveUnusable:
        return ArchiveUnusable(self.name, reason)


def _extract(source: _Archive, members: Mapping[str, str], folder: Path) -> None:
    direct, nested = _Selection(source, folder), dict[str, dict[str, str]]()
    for path, member in members.items():
        outer, mark, inner = member.partition("!")
        if mark:
            nested.setdefault(outer, {})[path] = inner
        else:
            direct.add(path, member)
    with tempfile.TemporaryDirectory(prefix=".nested-", dir=_make_folder(folder)) as name:
        outers = {outer: Path(name) / str(n) for n, outer in enumerate(nested)}
        for outer, place in outers.items():
            direct.places.setdefault(outer, []).append(place)
        try:
            _kind_of(source)(source, direct)
            direct.require_all()
        except _BROKEN as error:
            raise source.refuse(f"it does not read, {type(error).__name__}: {error}") from error
        for outer, place in outers.items():
            _extract(_Archive(place, f"{source.name}!{outer}", source.budget), nested[outer], folder)


def _make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class _Selection:
    """Members that are wanted, where they go, and which were found."""

    def __init__(self, source: _Archive, folder: Path) -> None:
        self.source, self.folder = source, folder
        self.places: dict[str, list[Path]] = {}
        self.prefixes: dict[str, list[Path]] = {}
        self.found: set[str] = set()

    def add(self, path: str, member: str) -> None:
        if not is_safe(path) and not (member.endswith("/") and path in {"", "."}):
            raise self.source.refuse(f"{path!r} would be written outside of the raw folder")
        chosen = self.prefixes if member.endswith("/") else self.places
        chosen.setdefault(member, []).append(self.folder / path)

    def targets(self, name: str) -> list[Path]:
        """Return the files that a member is written to; none where it is not wanted."""
        name = name.removeprefix("./")
        targets = list(self.places.get(name, ()))
        self.found.update([name] if targets else [])
        for member, places in self.prefixes.items():
            prefix = member.removeprefix("/")
            if not name.startswith(prefix):
                continue
            rest = name[len(prefix) :]
            if not is_safe(rest):
                raise self.source.refuse(f"its member {name!r} would be written outside of the raw folder")
            self.found.add(member)
            targets += [place / rest for place in places]
        return targets

    def write(self, name: str, stream: IO[bytes], targets: Iterable[Path], *, counts: bool) -> None:
        """Copy a member to its first target, and from there to the others.

        Parameters
        ----------
        name, stream, targets
        counts
            Whether its bytes are to be counted against the budget here.
        """
        first, *others = targets
        if any(target.exists() for target in (first, *others)):
            raise self.source.refuse(f"it holds {name!r} twice, or under two spellings")
        first.parent.mkdir(parents=True, exist_ok=True)
        with first.open("xb") as file:
            while piece := stream.read(_PIECE):
                if counts:
                    self.source.budget.spend(len(piece))
                file.write(piece)
        for other in others:
            other.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(first, other)

    def require_all(self) -> None:
        missing = sorted({*self.places, *self.prefixes} - self.found)
        if missing:
            raise self.source.refuse(f"it has no member {missing[0]!r}")


def _from_zip(source: _Archive, selection: _Selection) -> None:
    with zipfile.ZipFile(source.path) as archive:
        infos = archive.infolist()
        source.budget.count(len(infos))
        names = Counter(info.filename for info in infos)
        for info in infos:
            targets = [] if info.is_dir() else selection.targets(info.filename)
            if not targets:
                continue
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in {0, stat.S_IFREG}:
                raise source.refuse(f"its member {info.filename!r} is no plain file but a link or a device")
            if info.flag_bits & 1:
                raise source.refuse(f"its member {info.filename!r} is encrypted")
            if names[info.filename] > 1:
                raise source.refuse(f"it holds {info.filename!r} twice")
            with archive.open(info) as stream:
                selection.write(info.filename, stream, targets, counts=True)


class _Counted(io.RawIOBase):
    """A stream of unpacked bytes, each counted before it is handed on."""

    def __init__(self, stream: IO[bytes], budget: _Budget) -> None:
        self._stream, self._budget = stream, budget

    def read(self, size: int = -1) -> bytes:
        # A header of a few bytes may claim gigabytes, and they would all be read into memory at once.
        most = self._budget.left + 1
        piece = self._stream.read(most if size < 0 else min(size, most))
        self._budget.spend(len(piece))
        return piece


def _from_tar(source: _Archive, selection: _Selection, unpack: Callable[[Path], IO[bytes]]) -> None:
    with (
        unpack(source.path) as stream,
        tarfile.open(fileobj=_Counted(stream, source.budget), mode="r|", bufsize=_PIECE) as archive,
    ):
        for member in archive:
            source.budget.count()
            targets = [] if member.isdir() else selection.targets(member.name)
            if not targets:
                continue
            if not member.isreg() or member.issparse():
                raise source.refuse(f"its member {member.name!r} is no plain file but a link or a device")
            content = archive.extractfile(member)
            if content is not None:
                selection.write(member.name, content, targets, counts=False)


def _from_single(source: _Archive, selection: _Selection, unpack: Callable[[Path], IO[bytes]]) -> None:
    wanted = [place for places in selection.places.values() for place in places]
    if selection.prefixes or len(selection.places) != 1:
        raise source.refuse("it is a single compressed file, and has one member")
    with unpack(source.path) as stream:
        selection.write(source.name, stream, wanted, counts=True)
    selection.found.update(selection.places)


def _open_plain(path: Path) -> Any:
    return path.open("rb")


_UNPACK: dict[bytes, Callable[[Path], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\x00": lzma.open}


def _kind_of(source: _Archive) -> Callable[[_Archive, _Selection], None]:
    """Return how an archive is read, by its first bytes: names lie more often."""
    with source.path.open("rb") as file:
        start = file.read(_TAR_BLOCK)
    if start.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _from_zip
    found = next((unpack for magic, unpack in _UNPACK.items() if start.startswith(magic)), None)
    unpack = found or _open_plain
    with unpack(source.path) as stream:
        is_tar = _is_tar(stream.read(_TAR_BLOCK))
    if not is_tar and found is None:
        raise source.refuse("it is neither zip, tar, gzip, bzip2 nor xz")
    read = _from_tar if is_tar else _from_single
    return lambda source, selection: read(source, selection, unpack)


def _is_tar(block: bytes) -> bool:
    try:
        tarfile.TarInfo.frombuf(block, tarfile.ENCODING, "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True
