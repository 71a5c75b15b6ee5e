"""Thousands of small files, read from the archive they come in or from its unpacked folder; nothing is extracted."""

from __future__ import annotations

import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

__all__ = ["read_bundle", "read_lines"]

Members = Iterator[tuple[PurePosixPath, bytes]]


def read_bundle(folder: Path, *, archive: str, suffix: str) -> Members:
    """Give path and content of each file of a suffix.

    Parameters
    ----------
    folder, suffix
    archive
        Is read where it is there, else the folder.
    """
    path = folder / archive
    if path.exists():
        reader = next(reader for ending, reader in _READERS.items() if archive.endswith(ending))
        yield from ((name, content) for name, content in reader(path, suffix) if "__MACOSX" not in name.parts)
        return
    found = sorted(folder.rglob(f"*{suffix}"))
    if not found:
        message = f"neither {archive} nor a file *{suffix}"
        raise FileNotFoundError(2, message, str(path))
    for file in found:
        yield PurePosixPath(file.relative_to(folder).as_posix()), file.read_bytes()


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file that are not blank."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def _zipped(path: Path, suffix: str) -> Members:
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if name.endswith(suffix):
                yield PurePosixPath(name), archive.read(name)


def _tarred(path: Path, suffix: str) -> Members:
    with tarfile.open(path, "r|*") as archive:
        for member in archive:
            file = archive.extractfile(member) if member.isfile() and member.name.endswith(suffix) else None
            if file is not None:
                yield PurePosixPath(member.name), file.read()


_READERS: dict[str, Callable[[Path, str], Members]] = {".zip": _zipped, ".tar.gz": _tarred}
