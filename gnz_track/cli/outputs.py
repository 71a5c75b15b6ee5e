"""Output paths of a command: checked before any work, and named where the disk refuses."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from gnz_track.errors import BadValue

__all__ = ["check_file", "check_folder", "naming", "takes_files"]


def check_folder(flag: str, folder: Path) -> Path:
    """Return a folder to write into; one that is none, cannot be made or is not writable is refused."""
    whole = folder.expanduser().absolute()
    if not takes_files(whole):
        allowed = "a folder that you can write to, or a path where one can be made"
        raise BadValue(flag, str(folder), allowed, command=f"{flag} FOLDER")
    return folder


def check_file(flag: str, file: Path) -> Path:
    """Return a file to write; a folder, and a path where no file can be made, is refused."""
    whole = file.expanduser().absolute()
    if whole.is_dir() or not takes_files(whole.parent):
        raise BadValue(flag, str(file), "a file in a folder that you can write to", command=f"{flag} FILE")
    return file


@contextlib.contextmanager
def naming(place: Path) -> Iterator[None]:
    """Write to a place that the user chose: what the system says of it then bears its name."""
    try:
        yield
    except OSError as error:
        # A full disk is told of by an open file, which gives no name.
        if not isinstance(error.filename, str | os.PathLike):
            error.filename = str(place)
        raise


def takes_files(folder: Path) -> bool:
    """Tell whether a folder is there and can be written, or can be made."""
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    return nearest.is_dir() and os.access(nearest, os.W_OK)
