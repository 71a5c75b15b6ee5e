"""Optional libraries that loaders of some datasets need."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping

from gnz_track.datasets.sources.fetch_errors import ExtraMissing
from gnz_track.types import DatasetRow

__all__ = ["MODULES", "missing_library", "require_extra"]

# What pip installs with gnz-track[EXTRA], by the names that Python imports; any other extra is its own library.
MODULES: Mapping[str, tuple[str, ...]] = {"chem": ("rdkit",), "ogb": ("ogb",), "tours": ("fast_tsp",)}


def missing_library(row: DatasetRow) -> str:
    """Return a library that the loader of a row needs and that is not installed; nothing where all are."""
    needed = MODULES.get(row.extra, (row.extra,) if row.extra else ())
    return next((module for module in needed if importlib.util.find_spec(module) is None), "")


def require_extra(row: DatasetRow) -> None:
    """Raise :class:`ExtraMissing` where a library is not installed that the loader of a row needs."""
    missing = missing_library(row)
    if missing:
        raise ExtraMissing(row.name, row.extra, missing)
