"""Places of datasets on this machine, and whether a catalogue row can be used there. No torch, no network here."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
from collections.abc import Mapping
from pathlib import Path

from gnz_track.datasets.card import CARD
from gnz_track.datasets.sources.fetch import find_complete
from gnz_track.errors import ExtraMissing
from gnz_track.types import DatasetRow

__all__ = ["MODULES", "data_home", "folder_name", "frozen_folder", "missing_library", "require_extra", "state_of"]

_LONGEST_NAME = 40
# What pip installs with gnz-track[EXTRA], by the names that Python imports; any other extra is its own library.
MODULES: Mapping[str, tuple[str, ...]] = {"chem": ("rdkit",), "ogb": ("ogb",), "tours": ("fast_tsp",)}


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


def missing_library(row: DatasetRow) -> str:
    """Return a library that the loader of a row needs and that is not installed; nothing where all are."""
    needed = MODULES.get(row.extra, (row.extra,) if row.extra else ())
    return next((module for module in needed if importlib.util.find_spec(module) is None), "")


def require_extra(row: DatasetRow) -> None:
    """Raise :class:`ExtraMissing` where a library is not installed that the loader of a row needs."""
    missing = missing_library(row)
    if missing:
        raise ExtraMissing(row.name, row.extra, missing)


def state_of(row: DatasetRow, *, home: Path, mirror: Path | str | None = None) -> str:
    """Tell in a word or two whether a row can be used, from the files in the data home and in the mirror.

    Whether an address answers is not asked: listing is quick, and works without any network.

    Parameters
    ----------
    row, home
    mirror
        Its folder; one at an address is not asked.
    """
    if _is_frozen(row, home):
        return "frozen"
    is_here = not row.raw or find_complete(row, home=home, mirror=mirror) is not None
    if row.retired and not is_here:
        return "retired"
    missing = missing_library(row)
    if missing:
        return f"needs {missing}: pip install 'gnz-track[{row.extra}]'"
    if not is_here:
        return "to fetch" if row.origins else "from a mirror only"
    return "raw files here" if row.raw else "generated"


def _is_frozen(row: DatasetRow, home: Path) -> bool:
    folder = frozen_folder(row, seed=0, home=home)
    return any((place / CARD).is_file() for place in ((folder,) if not row.is_seed_aware else folder.parent.glob("*")))
