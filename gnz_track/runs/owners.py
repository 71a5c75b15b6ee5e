"""Owners of the code of models: this package, or somebody else."""

from __future__ import annotations

from gnz_track.types import ModelRow
from gnz_track.user_code.modules import is_ours as is_of_package

__all__ = ["is_ours", "owner_of"]


def owner_of(row: ModelRow) -> str:
    """Return what tells a model from others, for which it may have changed a process; empty for our own.

    Models of installed packages are somebody else's as much as those of the user.
    """
    targets = [target for target in (row.target, row.factory) if target]
    if targets and not row.payload and all(map(is_of_package, targets)):
        return ""
    return f"{row.name} {row.target} {row.factory} {row.source_digest}"


def is_ours(row: ModelRow) -> bool:
    """Tell whether all code of a model is of this package."""
    return not owner_of(row)
