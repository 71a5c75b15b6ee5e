"""Statistically honest benchmarks of graph neural networks, tracked in MLflow.

The public names are resolved on first use, so that ``import gnz_track`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0.dev0"

# The one place that lists the public names: name -> module that owns it.
_OWNERS: dict[str, str] = {}

__all__ = ["__version__", *_OWNERS]  # noqa: PLE0604  (names come from the table)


def __getattr__(name: str) -> Any:
    owner = _OWNERS.get(name)
    if owner is None:
        message = f"module 'gnz_track' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(owner), name)


def __dir__() -> list[str]:
    return sorted(__all__)
