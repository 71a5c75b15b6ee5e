"""Frozen data on machines that share no disk: sent once, written once on each, and checked before they are used."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from gnz_track.datasets.frozen import CARD, TENSORS, open_frozen
from gnz_track.errors import DataCorrupted, GnzError
from gnz_track.files import publish, temporary_beside
from gnz_track.types import Cell

__all__ = ["find_data", "pack", "place"]


def find_data(cell: Cell, *, folder: Path | None = None) -> Cell | None:
    """Return a cell with the folder where its data lie on this machine; None where they have to be sent."""
    for place in (Path(cell.data), _folder_of(cell.dataset_digest, folder or node_folder())):
        with contextlib.suppress(GnzError):
            if open_frozen(place).digest == cell.dataset_digest:
                return replace(cell, data=str(place))
    return None


def pack(cell: Cell) -> dict[str, bytes]:
    """Return the files of a cell's data, read on the machine that has them."""
    return {name: (Path(cell.data) / name).read_bytes() for name in (CARD, TENSORS)}


def place(cell: Cell, files: Mapping[str, bytes], *, folder: Path | None = None) -> Cell:
    """Write the files of a cell's data where this machine has none, and return the cell with its folder.

    Several workers may do so at once: each writes a folder of its own, and the first to give it its name wins.

    Parameters
    ----------
    cell
        Cell to train here.
    files
        Name and bytes of each file of its dataset.
    folder
        Where datasets lie; None: the folder of this machine.
    """
    wanted = _folder_of(cell.dataset_digest, folder or node_folder())
    with temporary_beside(wanted) as mine:
        for name in (CARD, TENSORS):
            (mine / name).write_bytes(files[name])
        found = open_frozen(mine, verify=True).digest
        if found != cell.dataset_digest:
            name, again = cell.task.dataset, f"gnz data get {cell.task.dataset}"
            raise DataCorrupted(name, wanted, expected=cell.dataset_digest, found=found, command=again)
        publish(mine, wanted)
    return replace(cell, data=str(wanted))


def node_folder() -> Path:
    """Return the folder of sent data on this machine: private, on a local disk, and nobody else's."""
    folder = Path(tempfile.gettempdir()) / f"gnz-data-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        # Somebody else was here first; what lies there is not to be read.
        return Path(tempfile.mkdtemp(prefix="gnz-data-"))
    return folder


def _folder_of(digest: str, home: Path) -> Path:
    # A digest comes from a card; one that is no hexadecimal word never becomes a path.
    return home / (digest if digest.isalnum() else "no-digest")
