"""Search spaces as data: name of a hyperparameter -> the values that it may take."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from gnz_track.errors import BadValue
from gnz_track.records import FrozenMapping

__all__ = ["Dimension", "Space", "Value", "digest_of_space", "make_space", "plain_space", "read_spaces"]

Value = int | float | str | bool
_END = 0.05


@dataclass(frozen=True, kw_only=True)
class Dimension:
    """The values of one hyperparameter: a list of ``choices``, or all from ``low`` to ``high``.

    ``is_whole`` takes whole numbers only; ``is_log`` spreads them evenly over orders of magnitude.
    """

    choices: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 0.0
    is_whole: bool = False
    is_log: bool = False

    def holds(self, value: object) -> bool:
        """Tell whether a value is one of these."""
        if self.choices:
            return any(value == choice and type(value) is type(choice) for choice in self.choices)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high and (not self.is_whole or isinstance(value, int))  # type: ignore[operator]

    def end_of(self, value: object) -> str:
        """Return the end, low or high, at which a value lies, so that a better one may lie beyond it; nothing inside.

        The end of a range is its outer 5 %, that of more than two numbers the first and the last of them.
        """
        if self.choices:
            numbers = [item for item in self.choices if isinstance(item, int | float) and not isinstance(item, bool)]
            low, high = (min(numbers), max(numbers)) if len(numbers) == len(self.choices) > 2 else (None, None)
            return "low" if value == low else "high" if value == high else ""
        place = self._place(float(value))  # type: ignore[arg-type]
        return "low" if place <= _END else "high" if place >= 1.0 - _END else ""

    def _place(self, value: float) -> float:
        """Return where a value lies in the range, from 0 to 1."""
        if self.is_log:
            return math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


Space = Mapping[str, Dimension]


def make_space(name: str, given: Mapping[str, Any]) -> Space:
    """Read a space as people write it; ``name`` is whose it is.

    A list is choices; ``{low: 1e-4, high: 0.1, log: true}`` is a range, of whole numbers where both ends are.

    >>> make_space("GCN", {"lr": {"low": 0.001, "high": 0.1, "log": True}, "hidden_channels": [16, 64]})["lr"].is_log
    True
    """
    if not isinstance(given, Mapping) or not given:
        raise BadValue(f"the search space of {name}", given, "at least one hyperparameter, as {lr: [0.001, 0.01]}")
    return FrozenMapping({str(key): _dimension(f"{key} in the space of {name}", value) for key, value in given.items()})


def read_spaces(file: str | Path) -> dict[str, Space]:
    """Read a YAML file of spaces by model; the key ``all`` holds for every model that has none of its own."""
    path = Path(file)
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise BadValue("the file of spaces", str(path), f"YAML that can be read ({error})") from error
    if not isinstance(found, Mapping) or not found:
        raise BadValue("the file of spaces", str(path), "a mapping, as {GCN: {lr: [0.001, 0.01]}}")
    return {str(name): make_space(str(name), given) for name, given in found.items()}


def plain_space(space: Space) -> dict[str, Any]:
    """Return a space as it can be written as JSON, in the form that :func:`make_space` reads."""
    return {
        name: list(d.choices) if d.choices else {"low": d.low, "high": d.high, "log": d.is_log}
        for name, d in sorted(space.items())
    }


def digest_of_space(space: Space) -> str:
    """Return 16 hexadecimal characters that change with a space, and not with the order of its names."""
    plain = {name: [list(d.choices), d.low, d.high, d.is_whole, d.is_log] for name, d in space.items()}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:16]


def _dimension(what: str, value: Any) -> Dimension:
    if isinstance(value, Dimension):
        return value
    for kind, read in _FORMS.items():
        if isinstance(value, kind):
            return read(what, value)
    raise BadValue(what, value, "a list of choices, or {low: 0.001, high: 0.1, log: true}")


def _choices(what: str, value: Any) -> Dimension:
    found = tuple(value)
    if not found or any(not isinstance(item, int | float | str | bool) or not _is_finite(item) for item in found):
        raise BadValue(what, value, "a list of numbers or words, with at least one")
    if len({(type(item), item) for item in found}) < len(found):
        raise BadValue(what, value, "each choice once")
    return Dimension(choices=found)


def _range(what: str, value: Mapping[str, Any]) -> Dimension:
    allowed = "{low: ..., high: ...} with low < high, and log: true where both are above 0"
    if set(value) - {"low", "high", "log"} or not {"low", "high"} <= set(value):
        raise BadValue(what, dict(value), allowed)
    low, high, is_log = value["low"], value["high"], value.get("log", False)
    are_numbers = all(isinstance(end, int | float) and not isinstance(end, bool) for end in (low, high))
    if not are_numbers or not (_is_finite(low) and _is_finite(high) and low < high) or not isinstance(is_log, bool):
        raise BadValue(what, dict(value), allowed)
    if is_log and low <= 0:
        raise BadValue(what, dict(value), allowed)
    return Dimension(low=low, high=high, is_whole=isinstance(low, int) and isinstance(high, int), is_log=is_log)


_FORMS: dict[type, Callable[[str, Any], Dimension]] = {list: _choices, tuple: _choices, dict: _range}


def _is_finite(value: object) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
