"""Records as JSON and back: by the types of their fields, and nothing that a class does not have."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings, from_json, later, to_json
from gnz_track.types import Direction, Metric


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A part of a record."""

    name: str
    values: tuple[float | None, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Outer:
    """A record with every form of field that records have."""

    direction: Direction
    inner: Inner
    perhaps: Inner | None = None
    parts: tuple[Inner, ...] = ()
    curves: Mapping[str, tuple[tuple[int, float], ...]] = field(default_factory=dict)
    by_seed: Mapping[int, float] = field(default_factory=dict)
    by_direction: Mapping[Direction, Inner] = field(default_factory=dict)
    value: int | float | str | bool = 0
    new: str = later("")

    def __post_init__(self) -> None:
        freeze_mappings(self, "curves", "by_seed", "by_direction")


FULL = Outer(
    direction=Direction.up,
    inner=Inner(name="a", values=(0.5, None)),
    perhaps=Inner(name="b"),
    parts=(Inner(name="c"), Inner(name="d", values=(1.0,))),
    curves={"val": ((0, 0.25), (3, 1.0))},
    by_seed={7: 0.5},
    by_direction={Direction.down: Inner(name="e")},
    value="tpe",
    new="told",
)


@pytest.mark.parametrize("record", [FULL, Outer(direction=Direction.down, inner=Inner(name="a"))], ids=["full", "bare"])
def test_what_is_written_is_read(record: Outer) -> None:
    read = from_json(Outer, to_json(record))
    assert read == record
    assert to_json(read) == to_json(record)
    assert all(type(key) is int for key in read.by_seed)
    assert all(isinstance(key, Direction) for key in read.by_direction)


@pytest.mark.parametrize("path", [(), ("inner",), ("perhaps",)])
def test_unknown_fields_are_refused_or_left_out_at_every_depth(path: tuple[str, ...]) -> None:
    fields = json.loads(to_json(FULL))
    at = fields
    for name in path:
        at = at[name]
    at["colour"] = "red"
    with pytest.raises(BadValue, match="record is 'colour'"):
        from_json(Outer, json.dumps(fields))
    assert from_json(Outer, json.dumps(fields), ignores_unknown=True) == FULL


@pytest.mark.parametrize("text", ["[]", "3", '"name"', "null", '{"name": "mae"}', '{"direction": "sideways"}', "{"])
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises((BadValue, ValueError, TypeError)):
        from_json(Metric, text)
