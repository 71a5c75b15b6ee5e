"""Records: dataclasses whose mappings cannot be changed, and that can be written as JSON."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import functools
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gnz_track.errors import BadValue

__all__ = ["FrozenMapping", "freeze_mappings", "from_json", "from_plain", "later", "make_records", "to_json"]

Record = TypeVar("Record")


def later(default: Any) -> Any:
    """Return a field that came after records were written: while it has its default, JSON does not name it.

    So a record of before and its fingerprint stay what they were.
    """
    if isinstance(default, Mapping):
        return dataclasses.field(
            default_factory=lambda: FrozenMapping(default), metadata={LATER: FrozenMapping(default)}
        )
    return dataclasses.field(default=default, metadata={LATER: default})


# The key under which a field that came later keeps its default.
LATER = "later"


def to_json(record: object) -> str:
    """Write a record as one line of JSON, keys sorted.

    >>> from gnz_track.types import Direction, Metric
    >>> to_json(Metric(name="mae", direction=Direction.down, description="mean absolute error"))
    '{"description": "mean absolute error", "direction": "down", "name": "mae"}'
    """
    return json.dumps(_plain_value(record), sort_keys=True, allow_nan=False)


def _plain_value(value: object) -> object:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return {item.name: _plain_value(found) for item in fields if _is_said(item, found := getattr(value, item.name))}
    if isinstance(value, Mapping):
        return {str(key): _plain_value(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [_plain_value(item) for item in value]
    if isinstance(value, bytes):
        return value.hex()
    if callable(value):
        return f"{getattr(value, '__module__', '?')}:{getattr(value, '__qualname__', repr(value))}"
    return value


def _is_said(item: dataclasses.Field[Any], value: object) -> bool:
    return LATER not in item.metadata or value != item.metadata[LATER]


def from_json(kind: type[Record], text: str, *, ignores_unknown: bool = False) -> Record:
    """Read a record that :func:`to_json` wrote; nothing in it is run.

    Parameters
    ----------
    kind
        Class of the record.
    text
        The record as JSON.
    ignores_unknown
        Whether fields that the class does not have are left out; otherwise they are refused.

    >>> from gnz_track.types import Metric
    >>> from_json(Metric, '{"description": "mean absolute error", "direction": "down", "name": "mae"}').direction
    <Direction.down: 'down'>
    """
    return from_plain(kind, json.loads(text), ignores_unknown=ignores_unknown)


def from_plain(kind: type[Record], fields: Mapping[str, Any], *, ignores_unknown: bool = False) -> Record:
    """Return a record from what JSON holds of it: lists become tuples, names members of enums, mappings records.

    Parameters
    ----------
    kind, ignores_unknown
        Those of :func:`from_json`.
    fields
        Values by field.
    """
    if not isinstance(fields, Mapping):
        raise BadValue("record", fields, "names and values")
    readers = _readers_of(typing.cast("Any", kind))
    unknown = sorted(set(fields) - set(readers))
    if unknown and not ignores_unknown:
        raise BadValue("record", ", ".join(unknown), "the fields of this version's records")
    return kind(**{name: readers[name](value, ignores_unknown) for name, value in fields.items() if name in readers})


# Makes a value of what JSON holds of it; told whether fields of inner records may be unknown.
_Reader = Callable[[Any, bool], Any]


@functools.cache
def _readers_of(kind: type) -> dict[str, _Reader]:
    hints = typing.get_type_hints(kind)
    return {item.name: _reader_of(hints[item.name]) for item in dataclasses.fields(kind)}


def _reader_of(hint: Any) -> _Reader:
    """Return what reads the values of a field; numbers, texts and choices among these are what they are."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in _OF_GENERIC:
        return _OF_GENERIC[origin](*inner)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return lambda value, ignores: from_plain(hint, value, ignores_unknown=ignores)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return lambda value, _: hint(value)
    return _as_it_is


def _reader_of_union(*kinds: Any) -> _Reader:
    known = [kind for kind in kinds if kind is not type(None)]
    read = _reader_of(known[0]) if len(known) == 1 else _as_it_is
    return lambda value, ignores: None if value is None else read(value, ignores)


def _reader_of_tuple(*kinds: Any) -> _Reader:
    readers = [_reader_of(kind) for kind in kinds if kind is not ...]
    if len(readers) < len(kinds):
        return lambda value, ignores: tuple(readers[0](item, ignores) for item in value)
    return lambda value, ignores: tuple(read(item, ignores) for read, item in zip(readers, value, strict=True))


def _reader_of_mapping(key: Any, kind: Any) -> _Reader:
    read = _reader_of(kind)
    return lambda value, ignores: {key(name): read(item, ignores) for name, item in dict(value).items()}


_OF_GENERIC: dict[Any, Callable[..., _Reader]] = {
    typing.Union: _reader_of_union,
    types.UnionType: _reader_of_union,
    tuple: _reader_of_tuple,
    collections.abc.Mapping: _reader_of_mapping,
}


def _as_it_is(value: Any, _: bool) -> Any:  # noqa: FBT001
    return value


class FrozenMapping(dict[Any, Any]):
    """A mapping that cannot be changed, and still pickles (``MappingProxyType`` does not)."""

    def _refuse_change(self, *_: object, **__: object) -> Any:
        message = "a record is frozen; make another one with dataclasses.replace"
        raise TypeError(message)

    _hash: int | None = None
    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse_change

    def __reduce__(self) -> Any:
        return (FrozenMapping, (dict(self),))

    def __hash__(self) -> int:  # type: ignore[override]
        # It never changes, and cells by the hundred thousand ask for that of a few protocols.
        if self._hash is None:
            self._hash = hash(tuple(sorted((str(key), repr(value)) for key, value in self.items())))
        return self._hash


def freeze_mappings(record: object, *names: str) -> None:
    """Replace the named mappings of a frozen dataclass by frozen ones; for ``__post_init__``."""
    for name in names:
        value = getattr(record, name)
        if not isinstance(value, FrozenMapping):
            object.__setattr__(record, name, FrozenMapping(value))


def make_records(kind: type[Record], columns: Mapping[str, Sequence[Any]]) -> list[Record]:
    """Return many records of one kind, a column for each of its fields, in half the time that as many calls take.

    A record that does something after its fields are set cannot be made so.

    >>> from gnz_track.types import Failure
    >>> columns = {"kind": ["ValueError"] * 2, "message": ["odd", "even"], "traceback": [""] * 2}
    >>> [failure.message for failure in make_records(Failure, columns)]
    ['odd', 'even']
    """
    names = tuple(columns)
    fields = {item.name for item in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if fields != set(names) or hasattr(kind, "__post_init__"):
        message = f"{kind.__name__} has the fields {sorted(fields)}, and the columns are {sorted(names)}"
        raise TypeError(message)
    made = []
    for values in zip(*columns.values(), strict=True):
        one = kind.__new__(kind)
        # A frozen record refuses to be set field by field, which is what takes the time.
        one.__dict__.update(zip(names, values, strict=True))
        made.append(one)
    return made
