"""Checks before anything is computed: values must be numbers, levels probabilities, and directions up or down."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.types import Direction

__all__ = [
    "Floats",
    "check_level",
    "check_whole",
    "number",
    "plain_numbers",
    "read_direction",
    "read_finite",
    "read_number",
    "read_scores",
]

Floats = npt.NDArray[np.float64]


def check_level(name: str, level: float) -> float:
    """Return a level (alpha, confidence), which must lie strictly between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise BadValue(name, level, "a number strictly between 0 and 1, such as 0.05")
    return float(level)


def check_whole(name: str, value: int, *, least: int) -> int:
    """Return a whole number that is large enough.

    Parameters
    ----------
    name
        The argument's name, for the error.
    value
        The number.
    least
        The smallest that is allowed.
    """
    if value != int(value) or value < least:
        raise BadValue(name, value, f"a whole number from {least} on")
    return int(value)


def read_direction(direction: Direction | str) -> Direction:
    """Return a direction that may be given as a word."""
    try:
        return Direction(direction)
    except ValueError:
        raise BadValue("direction", direction, "up (larger is better) or down (smaller is better)") from None


def read_finite(name: str, values: npt.ArrayLike, *, ndim: int) -> Floats:
    """Return an array without NaN and without infinity.

    Parameters
    ----------
    name
        The argument's name, for the error.
    values
        Numbers.
    ndim
        Dimensions that the array must have.
    """
    array = read_scores(name, values, ndim=ndim)
    if np.isnan(array).any():
        raise BadValue(name, "NaN", "finite numbers; leave missing scores out, and say how many were left out")
    return array


def read_scores(name: str, values: npt.ArrayLike, *, ndim: int) -> Floats:
    """Return an array in which NaN stands for a missing score.

    Parameters
    ----------
    name
        The argument's name, for the error.
    values
        Numbers; infinity is refused.
    ndim
        Dimensions that the array must have.
    """
    array: Floats = np.asarray(values, dtype=np.float64)
    if array.ndim != ndim:
        raise BadValue(f"the number of dimensions of {name}", array.ndim, str(ndim))
    if np.isinf(array).any():
        raise BadValue(name, "infinite", "finite numbers")
    return array


def number(value: float | np.floating | Floats) -> float | None:
    """Return a plain float, or None where the value is undefined (NaN or infinite): a NaN must not travel."""
    return float(value) if np.isfinite(value) else None


def plain_numbers(values: Floats) -> list[float | None]:
    """Return a column [n] as plain floats, None where undefined (NaN or infinite)."""
    return [value if is_finite else None for value, is_finite in zip(values.tolist(), np.isfinite(values), strict=True)]


def read_number(value: object) -> float | None:
    """Return the finite number that a cell of a table holds, or None."""
    try:
        found = float(str(value))
    except ValueError:
        return None
    return found if math.isfinite(found) else None
