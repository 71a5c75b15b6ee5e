"""Importance of hyperparameters in a search: of each by itself, how much of the scores goes with its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.seeds import derive
from gnz_track.stats.estimates.variance import Decomposition, decompose_variance
from gnz_track.stats.inputs import Floats, check_level, read_direction, read_finite
from gnz_track.stats.significance.multiple import adjust
from gnz_track.types import Direction

__all__ = ["Importance", "ValueGroup", "decompose_trials", "midranks", "rank_hyperparameters"]

Value = int | float | str | bool
HYPERPARAMETERS = "hyperparameters"
# A range is cut into parts of equally many trials, five at most, so that each has at least these.
FEWEST_IN_PART, MOST_PARTS = 4, 5
N_PERMUTATIONS = 2000


@dataclass(frozen=True, kw_only=True)
class ValueGroup:
    """The trials that had one value, or a value in one part of a range: how many, their mean score, and the best."""

    label: str
    n_trials: int
    mean: float
    best: float


@dataclass(frozen=True, kw_only=True)
class Importance:
    """Share of the ranks of the scores that goes with one hyperparameter, from 0 to 1; None where that is not known.

    ``floor`` is what a hyperparameter without any effect exceeds with probability alpha; ``p_adjusted`` is Holm's over
    all hyperparameters of the search.
    """

    name: str
    share: float | None
    floor: float | None
    p: float | None
    p_adjusted: float | None
    n_trials: int
    groups: tuple[ValueGroup, ...]
    note: str = ""

    @property
    def is_found(self) -> bool:
        """Whether the share is more than chance gives."""
        return self.share is not None and self.floor is not None and self.share > self.floor

    def __str__(self) -> str:
        if self.share is None:
            return f"{self.name}: {self.note}"
        return f"{self.name}: {self.share:.0%} of the ranks (by chance up to {self.floor:.0%}), p = {self.p:.3g}"


def rank_hyperparameters(
    values: Sequence[Mapping[str, Value]],
    scores: npt.ArrayLike,
    direction: Direction | str,
    *,
    alpha: float = 0.05,
    n_permutations: int = N_PERMUTATIONS,
    seed: int = 0,
) -> tuple[Importance, ...]:
    """Return the importance of each hyperparameter, largest first.

    The share is the correlation ratio of the ranks R of the scores, eta^2 = sum n_g (mean R_g - mean R)^2 /
    sum (R - mean R)^2 over the groups g of trials with one value, which is H / (n - 1) of W. H. Kruskal and W. A.
    Wallis, J. Am. Stat. Assoc. 47 (1952) 583-621. Values of a range are cut into parts of equally many trials. Floor
    and p come from random permutations of the scores. It is the effect of one hyperparameter by itself: what two of
    them do only together, it does not show; and where a sampler has learned, values that were tried together share
    their effects.

    Parameters
    ----------
    values
        Hyperparameters of the trials [n].
    scores
        Their scores [n].
    direction
        Which scores are better.
    alpha
        Level of the family of hyperparameters.
    n_permutations, seed
        Permutations, and the seed that they derive from.
    """
    ranked = read_finite("scores", scores, ndim=1)
    check_level("alpha", alpha)
    if len(values) != ranked.size:
        raise BadValue("the number of scores", ranked.size, f"one for each of {len(values)} trials")
    direction = read_direction(direction)
    names = sorted({name for one in values for name in one})
    found = []
    for name in names:
        rng = np.random.default_rng(derive(seed, "importance", name))
        one = _importance(name, values, ranked, direction, alpha=alpha, rng=rng, n_permutations=n_permutations)
        found.append(one)
    adjusted = adjust([one.p for one in found]).p_adjusted if found else ()
    whole = [replace(one, p_adjusted=p) for one, p in zip(found, adjusted, strict=True)]
    return tuple(sorted(whole, key=lambda one: (one.share is None, -(one.share or 0.0), one.name)))


def decompose_trials(seed_scores: Sequence[Mapping[int, float]]) -> Decomposition:
    """Split the variance of validation scores between hyperparameters, tuning seeds, and the rest.

    ``seed_scores`` has one mapping from seed to score for each trial; those that lack a seed are left out. The layout
    is that of a two-way analysis of variance without repetition, s^2_trial = (MS_trial - MS_rest) / seeds: see
    :func:`decompose_variance`. It speaks of the configurations that were tried: a sampler that learns tries those that
    are alike, and so finds less variance.
    """
    seeds = sorted({seed for one in seed_scores for seed in one})
    whole = [one for one in seed_scores if len(one) == len(seeds)]
    rows = [(trial, seed, one[seed]) for trial, one in enumerate(whole) for seed in seeds]
    ids = {HYPERPARAMETERS: [trial for trial, _, _ in rows], "seed": [seed for _, seed, _ in rows]}
    found = decompose_variance([score for _, _, score in rows], ids)
    n_left = len(seed_scores) - len(whole)
    note = f"{n_left} trials without a score on every seed are left out" if n_left else ""
    return replace(found, note="; ".join(filter(None, [found.note, note])))


def _importance(
    name: str,
    values: Sequence[Mapping[str, Value]],
    scores: Floats,
    direction: Direction,
    *,
    alpha: float,
    rng: np.random.Generator,
    n_permutations: int,
) -> Importance:
    places = [place for place, one in enumerate(values) if name in one]
    labels, codes = _groups([values[place][name] for place in places])
    chosen = scores[places]
    groups = tuple(_group(label, chosen[codes == code], direction) for code, label in enumerate(labels))
    absent = len(values) - len(places)
    note = f"tried in {len(places)} of {len(values)} trials" if absent else ""
    reason = _why_not(chosen, len(labels))
    known: dict[str, float | None] = {"share": None, "floor": None, "p": None}
    if not reason:
        ranks = midranks(chosen)
        share = float(_correlation_ratios(ranks[None, :], codes, len(labels))[0])
        shuffled = rng.permuted(np.broadcast_to(ranks, (n_permutations, ranks.size)), axis=1)
        chance = _correlation_ratios(shuffled, codes, len(labels))
        # The order that was found is one of those that chance may bring (Phipson and Smyth, 2010).
        p = (1 + int((chance >= share - 1e-12).sum())) / (1 + chance.size)
        known = {"share": share, "floor": float(np.quantile(chance, 1.0 - alpha, method="higher")), "p": p}
    words = "; ".join(filter(None, [reason, note]))
    return Importance(name=name, p_adjusted=None, n_trials=len(places), groups=groups, note=words, **known)


def midranks(scores: Floats) -> Floats:
    """Return the ranks of scores [n], 1 for the least; equal scores share the mean of their places."""
    _, inverse, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ends = counts.cumsum()
    ranks: Floats = (ends - (counts - 1) / 2.0)[inverse]
    return ranks


def _correlation_ratios(ranks: Floats, codes: npt.NDArray[np.intp], n_groups: int) -> Floats:
    """Return eta^2 [rows] of ranks [rows, n] over the groups codes [n]."""
    deviations = ranks - ranks.mean(axis=1, keepdims=True)
    members = (codes[:, None] == np.arange(n_groups)).astype(np.float64)
    sums = deviations @ members
    shares: Floats = (sums**2 / members.sum(axis=0)).sum(axis=1) / (deviations**2).sum(axis=1)
    return shares


def _groups(values: Sequence[Value]) -> tuple[list[str], npt.NDArray[np.intp]]:
    """Return labels, and the group of each value: itself, or its part of a range that has many values."""
    is_range = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    if not is_range or len(set(values)) <= MOST_PARTS:
        # True, 1 and "1" are three values; 1 and 1.0 are one where all are numbers.
        keys: list[tuple[str, Value]] = [("" if is_range else type(value).__name__, value) for value in values]
        known = sorted(set(keys), key=lambda key: key if is_range else (key[0], str(key[1])))
        places = {key: place for place, key in enumerate(known)}
        return [_write_value(value) for _, value in known], np.array([places[key] for key in keys], dtype=np.intp)
    numbers = np.array(values, dtype=np.float64)
    n_parts = max(2, min(MOST_PARTS, numbers.size // FEWEST_IN_PART))
    cuts = np.unique(np.quantile(numbers, np.arange(1, n_parts) / n_parts, method="inverted_cdf"))
    codes = np.searchsorted(cuts, numbers, side="left")
    kept, codes = np.unique(codes, return_inverse=True)
    parts = [numbers[codes == place] for place in range(kept.size)]
    return [f"{_write_value(part.min())} to {_write_value(part.max())}" for part in parts], codes.astype(np.intp)


def _group(label: str, scores: Floats, direction: Direction) -> ValueGroup:
    best = scores.max() if direction is Direction.up else scores.min()
    return ValueGroup(label=label, n_trials=scores.size, mean=float(scores.mean()), best=float(best))


def _why_not(scores: Floats, n_groups: int) -> str:
    if n_groups < 2:
        return "it had one value"
    if n_groups >= scores.size:
        return "each trial had its own value"
    return "all scores are equal" if np.ptp(scores) == 0.0 else ""


def _write_value(value: Value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
