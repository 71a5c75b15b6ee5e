"""Borders of a search space on which its winner sits, and whether scores still get better towards them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.seeds import derive
from gnz_track.stats.inputs import Floats, read_direction, read_finite
from gnz_track.stats.search.importance import midranks
from gnz_track.types import Direction

__all__ = ["ZONE", "Border", "check_border", "place_in_range"]

# Of a range, this much at each end is its border.
ZONE = 0.05
N_PERMUTATIONS = 2000
LEVEL = 0.05
FEWEST_TRIALS, FEWEST_CHOICES = 5, 2
LOW, HIGH = "low", "high"


@dataclass(frozen=True, kw_only=True)
class Border:
    """A hyperparameter whose winning value lies at one ``end`` (low or high) of what was searched.

    ``trend`` is Spearman's correlation, over all trials, of being near to that end with being good; ``p`` is its
    one-sided permutation p-value, None with too few trials. ``chance`` is the probability that a value drawn evenly
    from the range lies at an end.
    """

    name: str
    end: str
    position: float
    chance: float
    trend: float | None
    p: float | None

    @property
    def goes_on(self) -> bool:
        """Whether scores get better towards the border by more than chance, so that better ones may lie beyond."""
        return self.p is not None and self.p <= LEVEL

    def __str__(self) -> str:
        if self.trend is None or self.p is None:
            said = "too few trials tell whether better ones lie beyond"
        elif self.goes_on:
            said = f"scores get better towards it ({self.trend:+.2f}, p = {self.p:.2g}): search beyond"
        else:
            said = f"no clear trend towards it ({self.trend:+.2f}, p = {self.p:.2g})"
        return f"the winner's {self.name} is at the {self.end} end of its range; {said}"


def place_in_range(value: float, low: float, high: float, *, is_log: bool = False) -> float:
    """Return where a value lies in a range, from 0 (low) to 1 (high), on the scale on which it is drawn.

    Parameters
    ----------
    value
        A hyperparameter's value.
    low, high
        Ends of its range.
    is_log
        Whether it is drawn on a logarithmic scale.

    Examples
    --------
    >>> place_in_range(0.01, 0.0001, 1.0, is_log=True)
    0.5
    """
    if not low < high or (is_log and low <= 0):
        raise BadValue("a range", f"{low:g} to {high:g}", "low < high, and both above 0 on a logarithmic scale")
    if is_log:
        return (math.log(value) - math.log(low)) / (math.log(high) - math.log(low))
    return (value - low) / (high - low)


def check_border(
    name: str,
    places: Sequence[float],
    scores: npt.ArrayLike,
    direction: Direction | str,
    *,
    winner: float,
    n_choices: int = 0,
    seed: int = 0,
) -> Border | None:
    """Return the border on which the winner sits; None where it sits inside.

    The border are the outer 5 % of the range at each end, or the first and the last of ``n_choices`` in order. Whether
    scores rise towards it is told by Spearman's rank correlation with its permutation distribution: C. Spearman, Am. J.
    Psychol. 15 (1904) 72-101. A high trend says that better values may lie beyond; without a trend the winner may sit
    there by chance.

    Parameters
    ----------
    name
        The hyperparameter.
    places
        Places [n] of the trials' values in the range, from 0 to 1.
    scores
        Scores [n] of the trials.
    direction
        Which scores are better.
    winner
        Place of the chosen value.
    n_choices
        Number of choices of a list; 0 for a range.
    seed
        Seed that the permutations derive from.
    """
    values = read_finite("scores", scores, ndim=1)
    if len(places) != values.size:
        raise BadValue("the number of scores", values.size, f"one for each of {len(places)} places")
    sign = 1.0 if read_direction(direction) is Direction.up else -1.0
    edge = 0.5 / (n_choices - 1) if n_choices > FEWEST_CHOICES else ZONE
    # Of two choices each is an end.
    if edge < winner < 1.0 - edge or 0 < n_choices <= FEWEST_CHOICES:
        return None
    end = LOW if winner <= edge else HIGH
    nearness = np.asarray(places, dtype=np.float64) * (1.0 if end == HIGH else -1.0)
    trend, p = _rank_correlation(nearness, sign * values, derive(seed, "border", name))
    chance = min(1.0, 2.0 / n_choices) if n_choices else 2.0 * ZONE
    return Border(name=name, end=end, position=float(winner), chance=chance, trend=trend, p=p)


def _rank_correlation(nearness: Floats, goodness: Floats, seed: int) -> tuple[float | None, float | None]:
    """Return Spearman's correlation and P(as high by chance); None where it is not defined."""
    if nearness.size < FEWEST_TRIALS or np.ptp(nearness) == 0.0 or np.ptp(goodness) == 0.0:
        return None, None
    a, b = (ranks - ranks.mean() for ranks in (midranks(nearness), midranks(goodness)))
    norm = float(np.sqrt((a @ a) * (b @ b)))
    trend = float(a @ b) / norm
    rng = np.random.default_rng(seed)
    chance = rng.permuted(np.broadcast_to(b, (N_PERMUTATIONS, b.size)), axis=1) @ a / norm
    return trend, (1 + int((chance >= trend - 1e-12).sum())) / (1 + N_PERMUTATIONS)
