"""Settings of a cell as a file: JSON of every one of them as it was resolved, keys sorted."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.store.schema import CONFIGURATION_FILE

__all__ = ["decode_configuration", "encode_configuration"]


def encode_configuration(settings: Mapping[str, Any]) -> bytes:
    """Return settings as JSON; records in them are written with all of their fields, defaults too."""
    text = json.dumps(settings, sort_keys=True, indent=1, ensure_ascii=False, default=_plain)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def decode_configuration(content: bytes) -> dict[str, Any]:
    """Return what :func:`encode_configuration` was given, as far as JSON holds it."""
    try:
        found = json.loads(content)
        if isinstance(found, dict):
            return found
        reason = f"a {type(found).__name__}"
    except (ValueError, RecursionError) as error:
        reason = str(error)
    raise BadValue("file of a cell", CONFIGURATION_FILE, f"names and values as JSON ({reason})")


def _plain(value: object) -> object:
    """Return the fields of a record, and the name of what is none: its text may say where in memory it lies."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {item.name: getattr(value, item.name) for item in dataclasses.fields(value)}
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    named = value if hasattr(value, "__qualname__") else type(value)
    return f"{getattr(named, '__module__', '?')}:{getattr(named, '__qualname__', '?')}"
