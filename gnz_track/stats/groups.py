"""Groups of models that the data cannot tell apart, the bars of a critical-difference diagram.

Two rules, always both in the record: pairs tested by themselves (Wilcoxon with Holm), whose groups are the maximal
cliques of what was not rejected and may skip models; and Nemenyi's test on mean ranks, whose groups are runs in rank
order, and whose verdict on two models depends on all the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from gnz_track.errors import BadValue
from gnz_track.stats.cliques import MOST_CLIQUES, cover_edges, find_maximal_cliques
from gnz_track.stats.inputs import Floats, check_level, check_whole, read_finite
from gnz_track.stats.normal_range import range_quantile, range_tail
from gnz_track.stats.ranks import order_models

__all__ = [
    "Group",
    "NemenyiGroups",
    "PairwiseGroups",
    "critical_difference",
    "group_by_nemenyi",
    "group_by_p",
    "nemenyi_p",
    "nemenyi_q",
]

# A span is below the critical difference only if it is so by more than the noise of summing ranks.
GUARD = 1e-12


@dataclass(frozen=True, kw_only=True)
class Group:
    """Models that are not told apart, in rank order; ``is_contiguous`` says that no other model is ranked between."""

    members: tuple[str, ...]
    is_contiguous: bool

    def __str__(self) -> str:
        return ("{" + ", ".join(self.members) + "}") if self.is_contiguous else f"{{{', '.join(self.members)}}} (gaps)"


@dataclass(frozen=True, kw_only=True)
class NemenyiGroups:
    """Nemenyi's test of all pairs; ``p`` [k][k], in the order of ``models``, holds for all pairs at once."""

    alpha: float
    models: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    order: tuple[str, ...]
    n_tasks: int
    m: int
    q: float | None
    critical_difference: float | None
    largest_gap: float | None
    p: tuple[tuple[float, ...], ...]
    groups: tuple[Group, ...]
    note: str = ""

    def __str__(self) -> str:
        if self.critical_difference is None:
            return f"Nemenyi not run: {self.note}"
        return f"Nemenyi, CD = {self.critical_difference:.4f} at {self.alpha:g}: {_say(self.groups)}"


@dataclass(frozen=True, kw_only=True)
class PairwiseGroups:
    """Maximal cliques of the pairs that were not rejected; without a single critical difference."""

    test: str
    adjustment: str
    alpha: float
    models: tuple[str, ...]
    mean_ranks: tuple[float, ...]
    order: tuple[str, ...]
    m: int
    n_not_run: int
    p_adjusted: tuple[tuple[float | None, ...], ...]
    groups: tuple[Group, ...]
    is_complete: bool
    note: str = ""

    def __str__(self) -> str:
        note = f" ({self.note})" if self.note else ""
        return f"{self.test} with {self.adjustment}, m = {self.m}, alpha {self.alpha:g}: {_say(self.groups)}{note}"


@lru_cache(maxsize=1024)
def nemenyi_q(n_models: int, alpha: float = 0.05) -> float:
    """Return q: the upper alpha point of the range of k standard normals, over sqrt 2; k = 4, .05: 2.569.

    P. B. Nemenyi, Distribution-free multiple comparisons, 1963; J. Demsar, J. Mach. Learn. Res. 7 (2006) 1-30.
    """
    check_level("alpha", alpha)
    return range_quantile(alpha, check_whole("n_models", n_models, least=2)) / float(np.sqrt(2.0))


def critical_difference(n_models: int, n_tasks: int, alpha: float = 0.05) -> float:
    """Return CD = q sqrt(k (k + 1) / (6 N)): mean ranks that differ by CD or more differ significantly.

    Parameters
    ----------
    n_models, n_tasks
        k and N.
    alpha
        Level of the family.
    """
    n_tasks = check_whole("n_tasks", n_tasks, least=1)
    return nemenyi_q(n_models, alpha) * float(np.sqrt(n_models * (n_models + 1) / (6.0 * n_tasks)))


def nemenyi_p(mean_ranks: Sequence[float], n_tasks: int) -> Floats:
    """Return p of each pair, mean ranks [k] -> [k, k]: P(range of k normals >= |R_i - R_j| / se), se^2 = k (k+1) / 12N.

    The diagonal is 1. Holds for all pairs at once; nothing is left to adjust.
    """
    means = read_finite("mean ranks", mean_ranks, ndim=1)
    k = check_whole("the number of mean ranks", means.size, least=2)
    error = np.sqrt(k * (k + 1) / (12.0 * check_whole("n_tasks", n_tasks, least=1)))
    p = np.ones((k, k))
    upper = np.triu_indices(k, 1)
    # Equal gaps are common among mean ranks.
    gaps, places = np.unique(np.abs(means[upper[0]] - means[upper[1]]), return_inverse=True)
    p[upper] = range_tail(gaps / error, k)[places]
    return np.minimum(p, p.T)


def group_by_nemenyi(
    mean_ranks: Sequence[float], *, models: Sequence[str], n_tasks: int, alpha: float = 0.05
) -> NemenyiGroups:
    """Group models by Nemenyi's test: maximal runs in rank order that span strictly less than CD.

    Parameters
    ----------
    mean_ranks
        Mean ranks [k].
    models
        Their names [k].
    n_tasks
        Tasks that the ranks are means over.
    alpha
        Level of the family.
    """
    means, order = _read(mean_ranks, models)
    check_level("alpha", alpha)
    k = len(models)
    reason = "" if k > 1 and n_tasks > 0 else f"{k} models on {n_tasks} tasks leave nothing to compare"
    reason = "one task gives ranks only" if k > 1 and n_tasks == 1 else reason
    gap = None if reason else critical_difference(k, n_tasks, alpha)
    return NemenyiGroups(
        alpha=alpha,
        models=tuple(models),
        mean_ranks=tuple(float(value) for value in means),
        order=tuple(models[place] for place in order),
        n_tasks=n_tasks,
        m=k * (k - 1) // 2,
        q=None if reason else nemenyi_q(k, alpha),
        critical_difference=gap,
        largest_gap=None if reason else float(means.max() - means.min()),
        p=() if reason else tuple(tuple(float(value) for value in row) for row in nemenyi_p(list(means), n_tasks)),
        groups=() if gap is None else _runs(means[list(order)], [models[place] for place in order], gap),
        note=reason,
    )


def group_by_p(
    p_adjusted: Sequence[Sequence[float | None]],
    *,
    models: Sequence[str],
    mean_ranks: Sequence[float],
    alpha: float = 0.05,
    test: str = "Wilcoxon signed-rank",
    adjustment: str = "holm",
) -> PairwiseGroups:
    """Group models by adjusted p-values of their pairs.

    Two models stand in a common group exactly if their pair is not rejected (p > alpha, or None: not run). Groups are
    all maximal cliques; where there are more than 500 of them, a part that still covers all these pairs.
    C. Bron, J. Kerbosch, Commun. ACM 16 (1973) 575-577, with the pivot of Tomita et al. (2006).

    Parameters
    ----------
    p_adjusted
        Symmetric [k][k]; only what lies off the diagonal is read.
    models, mean_ranks
        Names and mean ranks [k].
    alpha
        Level of the family.
    test, adjustment
        Names of the test and of the adjustment, for the record.
    """
    means, order = _read(mean_ranks, models)
    check_level("alpha", alpha)
    neighbours = _read_neighbours(p_adjusted, order, alpha)
    found = find_maximal_cliques(neighbours)
    is_complete = len(found) <= MOST_CLIQUES
    groups = found if is_complete else cover_edges(neighbours)
    ordered = [models[place] for place in order]
    pairs = [(a, b) for a in range(len(models)) for b in range(a)]
    n_not_run = sum(p_adjusted[a][b] is None for a, b in pairs)
    notes = [f"{n_not_run} pairs were not run and count as not told apart"] if n_not_run else []
    notes += [] if is_complete else [f"more than {MOST_CLIQUES} maximal groups: a part that covers all pairs is given"]
    return PairwiseGroups(
        test=test,
        adjustment=adjustment,
        alpha=alpha,
        models=tuple(models),
        mean_ranks=tuple(float(value) for value in means),
        order=tuple(ordered),
        m=len(pairs) - n_not_run,
        n_not_run=n_not_run,
        p_adjusted=tuple(tuple(None if item is None else float(item) for item in row) for row in p_adjusted),
        groups=tuple(_name(members, ordered) for members in groups if len(members) > 1),
        is_complete=is_complete,
        note="; ".join(notes),
    )


def _runs(sorted_means: Floats, names: Sequence[str], gap: float) -> tuple[Group, ...]:
    found: list[Group] = []
    reached = 0
    for start in range(len(names)):
        is_joined = sorted_means - sorted_means[start] < gap - GUARD
        stop = int(np.flatnonzero(is_joined)[-1]) + 1
        # A run that ends where an earlier one ended lies inside it.
        if stop > reached and stop - start > 1:
            found.append(Group(members=tuple(names[start:stop]), is_contiguous=True))
        reached = max(reached, stop)
    return tuple(found)


def _name(members: tuple[int, ...], ordered: Sequence[str]) -> Group:
    return Group(
        members=tuple(ordered[place] for place in members),
        is_contiguous=members[-1] - members[0] == len(members) - 1,
    )


def _read(mean_ranks: Sequence[float], models: Sequence[str]) -> tuple[Floats, tuple[int, ...]]:
    means = read_finite("mean ranks", mean_ranks, ndim=1)
    if means.size != len(models) or len(set(models)) != len(models):
        raise BadValue("models", tuple(models), f"{means.size} different names, one for each mean rank")
    return means, order_models(means.tolist(), models)


def _read_neighbours(
    p_adjusted: Sequence[Sequence[float | None]], order: Sequence[int], alpha: float
) -> tuple[int, ...]:
    """Return for each model, in rank order, the set of models it is not told apart from, as bits of a number."""
    k = len(order)
    if len(p_adjusted) != k or any(len(row) != k for row in p_adjusted):
        raise BadValue("the shape of p_adjusted", f"{len(p_adjusted)} rows", f"{k} rows of {k} values")
    bits = [0] * k
    for a, model in enumerate(order):
        for b, other in enumerate(order):
            value, mirrored = p_adjusted[model][other], p_adjusted[other][model]
            if a != b and (value != mirrored or not (value is None or 0.0 <= value <= 1.0)):
                raise BadValue("p_adjusted", (value, mirrored), "symmetric, each a number from 0 to 1 or None")
            if a != b and (value is None or value > alpha):
                bits[a] |= 1 << b
    return tuple(bits)


def _say(groups: Sequence[Group]) -> str:
    return " ".join(str(group) for group in groups) or "all models are told apart"
