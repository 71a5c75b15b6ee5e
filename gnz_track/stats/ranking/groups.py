"""Groups of models that the data cannot tell apart, the bars of a critical-difference diagram.

Two rules, always both in the record: pairs tested by themselves (Wilcoxon with Holm), whose groups are the maximal
cliques of what was not rejected and may skip models; and Nemenyi's test on mean ranks, whose groups are runs in rank
order, and whose verdict on two models depends on all the others.

Nemenyi's test reads the upper points of the range of k independent standard normals. scipy.stats has them as the
studentised range with infinitely many degrees of freedom; it takes half a second to import, and milliseconds a value.
Cliques are found on numbers whose bits are neighbours: networkx finds the same, as fast, and takes as long to import.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np
import numpy.typing as npt
from scipy.special import log_ndtr

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, check_level, check_whole, read_finite
from gnz_track.stats.ranking.ranks import order_models

__all__ = [
    "MOST_CLIQUES",
    "Group",
    "NemenyiGroups",
    "PairwiseGroups",
    "cover_edges",
    "critical_difference",
    "find_maximal_cliques",
    "group_by_nemenyi",
    "group_by_p",
    "nemenyi_p",
    "nemenyi_q",
    "range_quantile",
    "range_tail",
]


# A graph of 40 nodes can have 3^13 maximal cliques; nobody reads more bars than this.
MOST_CLIQUES = 500


def find_maximal_cliques(neighbours: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return all maximal cliques, sorted, single nodes included; stop at one more than ``MOST_CLIQUES``.

    ``neighbours`` [k]: bit j of entry i says that i and j are joined.
    """
    found = islice(_grow(neighbours, 0, (1 << len(neighbours)) - 1, 0), MOST_CLIQUES + 1)
    return tuple(sorted(_nodes(members) for members in found))


def cover_edges(neighbours: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return maximal cliques that together hold every edge, at most one per edge, sorted.

    Each edge that is not covered yet is grown by the lowest nodes that fit.
    """
    covered = [0] * len(neighbours)
    found: set[int] = set()
    for node, joined in enumerate(neighbours):
        for other in _nodes(joined):
            if other > node and not covered[node] >> other & 1:
                members = _fill(neighbours, node, other)
                found.add(members)
                for member in _nodes(members):
                    covered[member] |= members
    return tuple(sorted(_nodes(members) for members in found))


def _grow(neighbours: Sequence[int], chosen: int, candidates: int, excluded: int) -> Iterator[int]:
    """Bron and Kerbosch's recursion, with the pivot that leaves the fewest branches."""
    if not candidates and not excluded:
        yield chosen
        return
    pivot = max(_nodes(candidates | excluded), key=lambda node: (neighbours[node] & candidates).bit_count())
    for node in _nodes(candidates & ~neighbours[pivot]):
        yield from _grow(neighbours, chosen | 1 << node, candidates & neighbours[node], excluded & neighbours[node])
        candidates &= ~(1 << node)
        excluded |= 1 << node


def _fill(neighbours: Sequence[int], node: int, other: int) -> int:
    members = 1 << node | 1 << other
    candidates = neighbours[node] & neighbours[other]
    while candidates:
        lowest = candidates & -candidates
        members |= lowest
        candidates &= neighbours[lowest.bit_length() - 1]
    return members


def _nodes(bits: int) -> tuple[int, ...]:
    return tuple(node for node in range(bits.bit_length()) if bits >> node & 1)


# The integrand is smooth and falls off as a normal density, where the trapezoidal rule is exact to rounding.
STEP = 1 / 16
REACH = 9.0
N_HALVINGS = 60


def range_tail(r: npt.ArrayLike, k: int) -> Floats:
    """Return P(range of k standard normals > r) for r [n]: k int phi(z) (F(z)^(k-1) - (F(z) - F(z-r))^(k-1)) dz.

    z is the largest of the k. The difference of powers is taken by logarithms, so that small tails keep their digits.
    David and Nagaraja, Order Statistics, 3rd ed., 2003, section 2.3.
    """
    width = np.atleast_1d(np.asarray(r, dtype=np.float64))[:, None]
    z = np.arange(-REACH, REACH + max(0.0, float(width.max(initial=0.0))) + STEP, STEP)
    log_f = log_ndtr(z)
    log_density = -0.5 * z**2 - 0.5 * np.log(2 * np.pi)
    # Share of F(z) below z - r; one at r = 0, whose logarithm of nothing is minus infinity.
    share = np.exp(np.minimum(log_ndtr(z - width) - log_f, 0.0))
    with np.errstate(divide="ignore"):
        lost = -np.expm1((k - 1) * np.log1p(-share))
    tail = k * STEP * (np.exp(log_density + (k - 1) * log_f) * lost).sum(axis=1)
    return np.asarray(np.clip(np.where(width[:, 0] <= 0, 1.0, tail), 0.0, 1.0))


def range_quantile(alpha: float, k: int) -> float:
    """Return the r that the range of k standard normals exceeds with probability alpha, by halving an interval."""
    low, high = 0.0, 2 * REACH + REACH
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if float(range_tail([middle], k)[0]) > alpha else (low, middle)
    return (low + high) / 2


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
        return f"Nemenyi, CD = {self.critical_difference:.4f} at {self.alpha:g}: {_say_groups(self.groups)}"


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
        return (
            f"{self.test} with {self.adjustment}, m = {self.m}, alpha {self.alpha:g}: {_say_groups(self.groups)}{note}"
        )


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
    means, order = _read_mean_ranks(mean_ranks, models)
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
        groups=() if gap is None else _find_runs(means[list(order)], [models[place] for place in order], gap),
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
    alpha, test, adjustment
        Level of the family, and names of test and adjustment, for the record.
    """
    means, order = _read_mean_ranks(mean_ranks, models)
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
        groups=tuple(_name_members(members, ordered) for members in groups if len(members) > 1),
        is_complete=is_complete,
        note="; ".join(notes),
    )


def _find_runs(sorted_means: Floats, names: Sequence[str], gap: float) -> tuple[Group, ...]:
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


def _name_members(members: tuple[int, ...], ordered: Sequence[str]) -> Group:
    return Group(
        members=tuple(ordered[place] for place in members),
        is_contiguous=members[-1] - members[0] == len(members) - 1,
    )


def _read_mean_ranks(mean_ranks: Sequence[float], models: Sequence[str]) -> tuple[Floats, tuple[int, ...]]:
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


def _say_groups(groups: Sequence[Group]) -> str:
    return " ".join(str(group) for group in groups) or "all models are told apart"
