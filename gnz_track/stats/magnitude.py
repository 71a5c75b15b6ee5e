"""Scores of any size: a power of two is taken out of a sample before anything is squared, and put back afterwards.

The square of a score below 1e-162 is 0, and that of one above 1e154 infinite: a test of such scores finds certainty
where there is none, and a spread of nothing or of infinity. Taking out a power of two rounds nothing; only what lies
below 2^-1022 of the largest value of its sample is lost, and no sum would have noticed it. Samples of any usual size
are left as they are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from gnz_track.stats.inputs import Floats

__all__ = ["centre_and_spread", "put_back", "take_out"]

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
