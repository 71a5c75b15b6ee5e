"""Public names of a room, each taken from its file on first use, so that importing a room costs nothing."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["find_public"]


def find_public(room: str, owners: Mapping[str, Iterable[str]], name: str) -> Any:
    """Return a public name of a room; the file that owns it is imported if nobody has yet.

    Parameters
    ----------
    room
        Dotted name of the package.
    owners
        File, by its dotted name from the room on, -> the names that it owns.
    name
        The name that is asked for.
    """
    for file, names in owners.items():
        if name in names:
            return getattr(importlib.import_module(f"{room}.{file}"), name)
    message = f"module {room!r} has no attribute {name!r}"
    raise AttributeError(message)
