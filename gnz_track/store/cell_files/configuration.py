"""Settings of a cell as a file: JSON of every one of them as it was resolved, keys sorted."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Mapping
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.store.schema import CONFIGURATION_FILE

__all__ = ["decode_configuration", "encode_configuration"]


def encode_configuration(settings: Mapping[str, Any]) -> bytes:
    """Return settings as JSON; records in them are written with all of their fields, defaults too."""
    text = json.dumps(_plain(settings), sort_keys=True, indent=1, ensure_ascii=False)
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


def _plain(value: object, within: tuple[int, ...] = ()) -> object:
    """Return a value as JSON has it, names of all kinds as texts; what holds itself ends where it does.

    Of a record its fields; of any other object the name of what it is: its text may say where in memory it lies.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if id(value) in within:
        return "..."
    within = (*within, id(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {item.name: getattr(value, item.name, None) for item in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {_name(key, within): _plain(one, within) for key, one in value.items()}
    if isinstance(value, set | frozenset):
        return [_plain(one, within) for one in sorted(value, key=str)]
    if isinstance(value, list | tuple):
        return [_plain(one, within) for one in value]
    named = value if isinstance(value, type) or inspect.isroutine(value) else type(value)
    return f"{getattr(named, '__module__', '?')}:{getattr(named, '__qualname__', '?')}"


def _name(key: object, within: tuple[int, ...]) -> str:
    found = _plain(key, within)
    return found if isinstance(found, str) else json.dumps(found)
