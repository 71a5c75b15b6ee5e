"""Scores of two models, joined on seeds and quantised: what every paired statistic starts from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, check_kind, put_back, read_array, read_direction, take_out
from gnz_track.types import Direction

__all__ = ["ManyPairs", "SeedPairs", "StackedPairs", "join", "join_all", "quantise", "stack"]

# Definition Q: differences are known to so many decimals of the largest score in them.
DECIMALS = 10
# Rounding here first keeps float noise from deciding cases that lie half-way between two quanta.
NOISE_DECIMALS = 14
MOST_STEPS = 2.0**52
LARGEST = np.finfo(np.float64).max

Scores = Mapping[int, float | None]


@dataclass(frozen=True, kw_only=True)
class SeedPairs:
    """The advantages of a first model over a second one on the seeds that both have finished.

    ``advantages`` [n_pairs] are positive where the first model is better; ``quantised`` are the same, rounded to
    ``quantum``, and serve wherever ties and zeros count. Seeds that only one model has are counted as unmatched,
    seeds whose score is absent or not a finite number in either model as missing.
    """

    seeds: tuple[int, ...]
    advantages: tuple[float, ...]
    quantised: tuple[float, ...]
    n_unmatched: int
    n_missing: int
    quantum: float
    resolution: float | None
    direction: Direction

    @property
    def n_pairs(self) -> int:
        """Number of seeds that count."""
        return len(self.seeds)

    @property
    def is_all_zero(self) -> bool:
        """Whether the two models score the same on every seed."""
        return not any(self.quantised)

    @property
    def is_degenerate(self) -> bool:
        """Whether the difference is the same on every seed and not zero, so that it has no spread to test against."""
        return self.n_pairs > 0 and not self.is_all_zero and len(set(self.quantised)) == 1

    def __str__(self) -> str:
        return f"{self.n_pairs} seeds in common ({self.n_unmatched} unmatched, {self.n_missing} missing)"


@dataclass(frozen=True, kw_only=True, eq=False)
class StackedPairs:
    """Many :class:`SeedPairs` as arrays: [pairs, most seeds] with NaN beyond the seeds of a pair; n_pairs [pairs].

    A power of two is taken out of each pair (see ``magnitude``), so that its advantages can be squared whatever their
    size: what has the unit of the metric is put back by the exponents [pairs].
    """

    advantages: Floats
    quantised: Floats
    quantum: Floats
    exponents: npt.NDArray[np.int32]
    n_pairs: npt.NDArray[np.int64]

    @property
    def is_all_zero(self) -> npt.NDArray[np.bool_]:
        """Pairs that have only zero differences [pairs]; a pair without seeds is not one of them."""
        return np.asarray((self.n_pairs > 0) & ~(np.nan_to_num(self.quantised) != 0).any(axis=1), dtype=np.bool_)

    @property
    def is_degenerate(self) -> npt.NDArray[np.bool_]:
        """Pairs that have the same non-zero difference on every seed [pairs]."""
        first = self.quantised[:, :1]
        is_same = ((self.quantised == first) | np.isnan(self.quantised)).all(axis=1)
        return np.asarray((self.n_pairs > 0) & is_same & ~self.is_all_zero, dtype=np.bool_)


class ManyPairs(Sequence[SeedPairs]):
    """Pairs of models that several statistics are computed of: they are laid under one another once."""

    def __init__(self, pairs: Iterable[SeedPairs]) -> None:
        self._pairs = tuple(pairs)

    @cached_property
    def rows(self) -> StackedPairs:
        """The pairs as arrays."""
        return _stack(self._pairs)

    def __getitem__(self, row: int) -> SeedPairs:  # type: ignore[override]
        return self._pairs[row]

    def __iter__(self) -> Iterator[SeedPairs]:
        return iter(self._pairs)

    def __len__(self) -> int:
        return len(self._pairs)


def quantise(
    differences: npt.ArrayLike, magnitude: npt.ArrayLike, *, resolution: npt.ArrayLike | None = None
) -> Floats:
    """Round differences to 1e-10 of the largest magnitude, or to the resolution of the metric.

    d := round(d / M, 10) M, so that .3 - .2 equals .2 - .1 again and decimal scores tie where they should.

    Parameters
    ----------
    differences
        Differences [..., n].
    magnitude
        Largest magnitude M of the scores [..., 1].
    resolution
        Step of the metric where it has one.
    """
    d = read_array("differences", differences)
    if resolution is not None:
        unit = read_array("resolution", resolution)
        with np.errstate(over="ignore", invalid="ignore"):
            steps = d / unit
            # Adding zero turns -0.0 into 0.0. Of so many steps a float knows each, and there is nothing to round.
            return np.where(np.abs(steps) < MOST_STEPS, np.round(np.round(steps, 4)) * unit, d) + 0.0
    size = read_array("magnitude", magnitude)
    safe = np.where(size > 0, size, 1.0)
    return np.asarray(np.round(np.round(d / safe, NOISE_DECIMALS), DECIMALS) * safe + 0.0, dtype=np.float64)


def join(first: Scores, second: Scores, *, direction: Direction | str, resolution: float | None = None) -> SeedPairs:
    """Join the scores of two models on the seeds that both have; a missing score is never 0.

    Parameters
    ----------
    first, second
        Scores by seed.
    direction
        Which scores are better.
    resolution
        Step of the metric where it has one, such as 1/n_test of an accuracy.
    """
    return join_all([(first, second)], direction=direction, resolution=resolution)[0]


def join_all(
    couples: Sequence[tuple[Scores, Scores]], *, direction: Direction | str, resolution: float | None = None
) -> tuple[SeedPairs, ...]:
    """Join many couples of models of one task; as :func:`join`, but vectorised.

    Parameters
    ----------
    couples, direction, resolution
        As in :func:`join`, of each.
    """
    direction = read_direction(direction)
    if resolution is not None and not (math.isfinite(resolution) and resolution > 0):
        raise BadValue("resolution", resolution, "a positive number, such as 1/n_test, or None")
    # A model stands in many couples: which seeds it has a score on is looked up once.
    models = {id(one): one for couple in couples for one in couple}
    check_kind("scores", models.values(), Mapping, "scores by seed, such as {0: .81, 1: .79}")
    known = {key: _known_seeds(one) for key, one in models.items()}
    seeds = [_shared_seeds(known[id(a)], known[id(b)]) for a, b in couples]
    width = max((len(found) for found in seeds), default=0)
    scores = np.full((2, len(couples), width), np.nan)
    for row, (couple, found) in enumerate(zip(couples, seeds, strict=True)):
        for side, one in enumerate(couple):
            scores[side, row, : len(found)] = [one[seed] for seed in found]
    better, worse = scores if direction is Direction.up else scores[::-1]
    magnitude = np.nan_to_num(np.abs(scores)).max(axis=(0, 2), initial=0.0)
    # Two scores near both ends of the floats are further apart than any float; no score has such a size.
    with np.errstate(over="ignore"):
        raw = np.clip(better - worse, -LARGEST, LARGEST)
        rounded = np.clip(quantise(raw, magnitude[:, None], resolution=resolution), -LARGEST, LARGEST)
    quantum = magnitude * 10.0**-DECIMALS if resolution is None else np.full(len(couples), resolution)
    return tuple(
        SeedPairs(
            seeds=found,
            advantages=tuple(raw_row[: len(found)]),
            quantised=tuple(rounded_row[: len(found)]),
            n_unmatched=0 if a.keys() == b.keys() else len(a.keys() ^ b.keys()),
            n_missing=(len(a) if a.keys() == b.keys() else len(a.keys() & b.keys())) - len(found),
            quantum=step,
            resolution=resolution,
            direction=direction,
        )
        for (a, b), found, raw_row, rounded_row, step in zip(
            couples, seeds, raw.tolist(), rounded.tolist(), quantum.tolist(), strict=True
        )
    )


def stack(pairs: Sequence[SeedPairs]) -> StackedPairs:
    """Lay pairs of models under one another, so that a statistic of all is one array operation."""
    if isinstance(pairs, ManyPairs):
        return pairs.rows
    check_kind("pairs", pairs, SeedPairs, "pairs of stats.join(FIRST, SECOND, direction='up')")
    return _stack(pairs)


def _stack(pairs: Sequence[SeedPairs]) -> StackedPairs:
    n_pairs = np.array([pair.n_pairs for pair in pairs], dtype=np.int64)
    width = int(n_pairs.max(initial=0))
    raw, rounded = (np.full((len(pairs), width), np.nan) for _ in range(2))
    for row, pair in enumerate(pairs):
        raw[row, : pair.n_pairs] = pair.advantages
        rounded[row, : pair.n_pairs] = pair.quantised
    quantum = np.array([pair.quantum for pair in pairs], dtype=np.float64)
    scaled, exponents = take_out(raw)
    return StackedPairs(
        advantages=scaled,
        quantised=put_back(rounded, -exponents),
        quantum=put_back(quantum, -exponents[:, 0]),
        exponents=exponents[:, 0],
        n_pairs=n_pairs,
    )


def _known_seeds(scores: Scores) -> tuple[int, ...]:
    """Return the seeds with a finite score, in order."""
    return tuple(sorted(seed for seed, score in scores.items() if score is not None and math.isfinite(score)))


def _shared_seeds(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    return first if first == second else tuple(sorted(set(first) & set(second)))
