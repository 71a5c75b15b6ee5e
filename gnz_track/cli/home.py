"""The folder in which the command line keeps frozen data."""

from __future__ import annotations

import os
from pathlib import Path

from gnz_track.errors import BadValue

__all__ = ["choose_home", "is_usable"]


def choose_home(given: Path | None) -> Path:
    """Return the folder of frozen data, absolute; one that is none, and cannot be made, is refused before any work."""
    from gnz_track.datasets.homes import data_home

    home = (given or data_home()).expanduser().absolute()
    if not is_usable(home):
        allowed = "a folder, or a path where one can be made"
        raise BadValue("the folder of frozen data", str(home), allowed, command="--home FOLDER or GNZ_DATA=FOLDER")
    return home


def is_usable(home: Path) -> bool:
    """Tell whether a folder is there, or can be made."""
    nearest = next(place for place in (home, *home.parents) if place.exists())
    return nearest.is_dir() and (nearest == home or os.access(nearest, os.W_OK))
