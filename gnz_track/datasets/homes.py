"""Folders of frozen datasets on this machine. No torch here."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from gnz_track.types import DatasetRow

__all__ = ["data_home", "folder_name", "frozen_folder"]

_LONGEST_NAME = 40


def data_home() -> Path:
    """Return the folder of frozen data: ``GNZ_DATA``, else ``gnz_track`` in the user's cache folder."""
    given = os.environ.get("GNZ_DATA")
    if given:
        return Path(given).expanduser().absolute()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "gnz_track"


def folder_name(name: str) -> str:
    """Return a name that is safe as one folder; names that had to change end in a hash of the original.

    >>> folder_name("cora"), folder_name("../x") != folder_name("x")
    ('cora', True)
    """
    safe = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("._-")[:_LONGEST_NAME]
    if name and safe == name:
        return name
    digest = hashlib.md5(name.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:8]
    return f"{safe}-{digest}" if safe else digest


def frozen_folder(row: DatasetRow, *, seed: int, home: Path) -> Path:
    """Return the folder of the frozen form of a row, whether it is there or not.

    Parameters
    ----------
    row, seed, home
    """
    folder = home / folder_name(row.name)
    return folder / f"seed-{seed}" if row.is_seed_aware else folder
