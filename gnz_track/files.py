"""Locks that all processes of a machine respect, and files and folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from gnz_track.errors import BadValue

__all__ = [
    "file_lock",
    "have_same_bytes",
    "publish",
    "refuse_foreign",
    "sync_folder",
    "temporary_beside",
    "write_whole",
]


_PREFIX = ".freezing-"
_PATIENCE = 10


@contextmanager
def temporary_beside(folder: Path) -> Iterator[Path]:
    """Give a new folder on the same disk, from where a rename is atomic; it is gone afterwards."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        temporary = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder.parent))
    except OSError as error:
        # The name that nobody chose says nothing to anybody.
        error.filename = str(folder.parent)
        raise
    try:
        temporary.chmod(0o755)  # mkdtemp keeps others out, and data are for all to read
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def write_whole(path: Path) -> Iterator[Path]:
    """Give a file beside another to write, and rename it at the end: readers see the former one, or all of the new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    yield unfinished
    unfinished.replace(path)


def refuse_foreign(folder: Path, names: Collection[str]) -> None:
    """Raise where a folder exists and holds anything but files of these names."""
    if folder.exists() and (not folder.is_dir() or {path.name for path in folder.iterdir()} - set(names)):
        raise BadValue("the folder to freeze into", str(folder), "a new or empty folder, or a frozen dataset")


def publish(temporary: Path, folder: Path) -> None:
    """Rename a folder into place; where another process was faster with the same bytes, its folder stays."""
    names = [path.relative_to(temporary) for path in temporary.rglob("*") if path.is_file()]
    for name in names:
        _write_through(temporary / name)
    for _ in range(_PATIENCE):
        try:
            temporary.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
        else:
            return
        if all(have_same_bytes(temporary / name, folder / name) for name in names):
            return
        old = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder.parent))
        try:
            folder.replace(old)
        except FileNotFoundError:
            continue
        finally:
            shutil.rmtree(old, ignore_errors=True)
    raise BadValue("the folder to freeze into", str(folder), "a folder that no other process keeps replacing")


def _write_through(path: Path) -> None:
    """Wait until a file is on the disk: after a power cut, a renamed folder must not hold empty files."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the names of new files in a folder are on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def have_same_bytes(one: Path, other: Path) -> bool:
    """Tell whether two files are there and equal."""
    try:
        with one.open("rb") as a, other.open("rb") as b:
            while True:
                piece = a.read(1 << 20)
                if piece != b.read(1 << 20):
                    return False
                if not piece:
                    return True
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def file_lock(path: Path, *, waits: bool = True) -> Iterator[bool]:
    """Hold a lock that all processes of this machine respect; yield False where it is taken and nobody waits.

    The file is removed while the lock is held, so whoever waited for it sees that its file is another one, and asks for
    the lock on that.
    """
    with contextlib.ExitStack() as handles:
        while True:
            handle = handles.enter_context(path.open("a"))
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            if _is_file_at(path, handle.fileno()):
                break
        try:
            yield True
        finally:
            # A folder that takes no changes any more keeps the file, which harms nobody. The lock ends with the handle.
            with contextlib.suppress(OSError):
                if _is_file_at(path, handle.fileno()):
                    path.unlink()


def _is_file_at(path: Path, handle: int) -> bool:
    """Tell whether the open file is still the one of that name: who held its lock before may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
