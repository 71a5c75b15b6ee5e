"""Values before anything is computed: numbers, levels that are probabilities, directions, and scores of any size.

Of scores a power of two is taken out of a sample before anything is squared, and put back afterwards. The square of a
score below 1e-162 is 0, and that of one above 1e154 infinite: a test of such scores finds certainty where there is
none, and a spread of nothing or of infinity. Taking out a power of two rounds nothing; only what lies below 2^-1022 of
the largest value of its sample is lost, and no sum would have noticed it. Samples of any usual size are left as they
are.
"""

from __future__ import annotations

import math
import numbers
import reprlib
from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.types import Direction

__all__ = [
    "Floats",
    "centre_and_spread",
    "check_kind",
    "check_level",
    "check_whole",
    "number",
    "plain_numbers",
    "put_back",
    "read_array",
    "read_direction",
    "read_finite",
    "read_number",
    "read_scores",
    "take_out",
]


Floats = npt.NDArray[np.float64]


def check_level(name: str, level: float) -> float:
    """Return a level (alpha, confidence), which must lie strictly between 0 and 1."""
    if not isinstance(level, numbers.Real) or not 0.0 < level < 1.0:
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
    if not isinstance(value, numbers.Real) or not math.isfinite(value) or value != int(value) or value < least:
        raise BadValue(name, value, f"a whole number from {least} on")
    return int(value)


def read_direction(direction: Direction | str) -> Direction:
    """Return a direction that may be given as a word."""
    try:
        return Direction(direction)
    except ValueError:
        raise BadValue("direction", direction, "up (larger is better) or down (smaller is better)") from None


def check_kind(name: str, values: object, kind: type, allowed: str) -> None:
    """Refuse what is no collection of things of a kind.

    Parameters
    ----------
    name
        The argument's name, for the error.
    values
        Things that were given.
    kind
        Class of each.
    allowed
        Where to get such things, for the error.
    """
    if not isinstance(values, Collection):
        raise BadValue(name, _Shown(values), allowed)
    for value in values:
        if not isinstance(value, kind):
            raise BadValue(name, _Shown(value), allowed)


class _Shown:
    """A value whose representation is short, whatever was given."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return " ".join(reprlib.repr(self._value).split())


def read_array(name: str, values: npt.ArrayLike) -> Floats:
    """Return numbers as an array of any shape."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadValue(name, _Shown(values), "numbers, in rows of equal length") from None


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
    array = read_array(name, values)
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


Exponents = npt.NDArray[np.int32]

USUAL = 200
# A mean that is off by more of the spread than this, for values far from 0 and close together, is centred once more.
DRIFT = 1e-8


def take_out(values: npt.ArrayLike) -> tuple[Floats, Exponents]:
    """Return samples [..., n] whose squares and cubes are floats, and the exponents [..., 1] that were taken out.

    Values times 2^exponent are the sample again; NaN stays NaN. The exponent is 0 where the largest value has a size
    from 2^-200 to 2^200, and else such that it comes to lie between 1/2 and 1.
    """
    array: Floats = np.asarray(values, dtype=np.float64)
    sizes = np.where(np.isfinite(array), np.abs(array), 0.0)
    _, exponents = np.frexp(sizes.max(axis=-1, keepdims=True, initial=0.0))
    exponents = np.where(np.abs(exponents) > USUAL, exponents, 0)
    return np.ldexp(array, -exponents), exponents


def put_back(values: npt.ArrayLike, exponents: npt.ArrayLike, *, power: int = 1) -> Floats:
    """Return values times 2^(power exponent); what is then too large for a float is infinite, and too small 0.

    Parameters
    ----------
    values
        Scaled values.
    exponents
        Exponents by which scores were scaled.
    power
        1 for what has the unit of the scores, 2 for its square.
    """
    with np.errstate(over="ignore"):
        found: Floats = np.ldexp(np.asarray(values, dtype=np.float64), power * np.asarray(exponents))
    return found


def centre_and_spread(samples: Floats) -> tuple[Floats, Floats]:
    """Return mean [rows] and standard deviation (n - 1) [rows] of samples [rows, n], n at least 2, of any magnitude."""
    scaled, exponents = take_out(samples)
    n = scaled.shape[1]
    mean, sd = scaled.mean(axis=1), scaled.std(axis=1, ddof=1)
    drift = (scaled - mean[:, None]).mean(axis=1)
    is_off = np.abs(drift) > DRIFT * sd
    squares = np.maximum(sd**2 - drift**2 * n / (n - 1), 0.0)
    mean, sd = np.where(is_off, mean + drift, mean), np.where(is_off, np.sqrt(squares), sd)
    return put_back(mean, exponents[:, 0]), put_back(sd, exponents[:, 0])
