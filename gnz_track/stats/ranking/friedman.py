"""Friedman's test that models differ at all across tasks: on ranks, corrected for ties, exact where it can be."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, check_level, number, read_finite

__all__ = ["EXACT_LIMIT", "Friedman", "exact_friedman_p", "is_enumerable", "run_friedman"]

# Arrangements of ranks within tasks, k!^(N-1), up to which the exact p-value is computed.
EXACT_LIMIT = 400_000
# Below this number of tasks the F distribution rejects too often (size .07 at N = 3, k = 4; .19 at N = 3, k = 3).
FEWEST_TASKS_FOR_F = 5


@dataclass(frozen=True, kw_only=True)
class Friedman:
    """Friedman's test: ``p`` is by ``p_method``; the chi-square and Iman-Davenport values stand beside it."""

    n_tasks: int
    n_models: int
    alpha: float
    mean_ranks: tuple[float, ...]
    chi2: float | None
    chi2_uncorrected: float | None
    tie_correction: float | None
    df: int
    p: float | None
    p_method: str
    p_chi2: float | None
    p_exact: float | None
    iman_davenport_f: float | None
    iman_davenport_df: tuple[int, int]
    iman_davenport_p: float | None
    kendall_w: float | None
    rejects: bool | None
    note: str = ""

    def __str__(self) -> str:
        if self.p is None:
            return f"Friedman not run: {self.note}"
        value = "undefined" if self.chi2 is None else f"{self.chi2:.4g}"
        agreement = "undefined" if self.kendall_w is None else f"{self.kendall_w:.3f}"
        return (
            f"Friedman chi2({self.df}) = {value}, p = {self.p:.4g} ({self.p_method}), Kendall W = {agreement}, "
            f"N = {self.n_tasks}, k = {self.n_models}{'; ' + self.note if self.note else ''}"
        )


def run_friedman(ranks: npt.ArrayLike, *, alpha: float = 0.05) -> Friedman:
    """Test whether all models have the same expected rank.

    ranks [N, k]; with R_j the mean ranks, chi2 = 12 N / (k (k + 1)) sum (R_j - (k + 1) / 2)^2 / C and
    C = 1 - sum (t^3 - t) / (N k (k^2 - 1)) over ties of size t; W = chi2 / (N (k - 1)). p is exact by permuting
    ranks within tasks where k!^(N-1) <= 400,000, else from chi-square with k - 1 degrees of freedom; Iman and
    Davenport's F = (N - 1) chi2 / (N (k - 1) - chi2) stands beside it from five tasks on.
    M. Friedman, J. Amer. Statist. Assoc. 32 (1937) 675-701; R. L. Iman, J. M. Davenport, Commun. Statist. A9 (1980).
    """
    array = _read_ranks(ranks)
    check_level("alpha", alpha)
    n_tasks, n_models = array.shape
    reason = _why_not(n_tasks, n_models)
    raw, correction = _statistic(array) if n_tasks and n_models > 1 else (0.0, 0.0)
    is_tied = correction <= 1e-12
    chi2 = None if is_tied else number(raw / correction)
    agreement = None if chi2 is None else min(1.0, chi2 / (n_tasks * (n_models - 1)))
    tested = None if reason else chi2
    p_chi2 = None if tested is None else _chi2_p(tested, n_models)
    p_exact = exact_friedman_p(array) if tested is not None and is_enumerable(n_tasks, n_models) else None
    f, p_f = (None, None) if tested is None else _iman_davenport(tested, n_tasks, n_models)
    p, method = _choose_p(p_exact, p_chi2, is_tied=is_tied and not reason)
    return Friedman(
        n_tasks=n_tasks,
        n_models=n_models,
        alpha=alpha,
        mean_ranks=tuple(float(value) for value in array.mean(axis=0)) if n_tasks else (),
        chi2=tested,
        chi2_uncorrected=None if reason else number(raw),
        tie_correction=None if reason else number(max(0.0, correction)),
        df=max(0, n_models - 1),
        p=p,
        p_method=method,
        p_chi2=p_chi2,
        p_exact=p_exact,
        iman_davenport_f=f,
        iman_davenport_df=(max(0, n_models - 1), max(0, (n_models - 1) * (n_tasks - 1))),
        iman_davenport_p=p_f,
        kendall_w=0.0 if is_tied and n_tasks > 1 and n_models > 1 else agreement,
        rejects=None if p is None else p <= alpha,
        note=reason or _note_on_chi2(is_tied=is_tied, chi2=tested, n_tasks=n_tasks, n_models=n_models),
    )


def is_enumerable(n_tasks: int, n_models: int) -> bool:
    """Tell whether k!^(N-1) arrangements are few enough for the exact p-value: k = 3 to N = 8, k = 4 to N = 5."""
    return n_tasks > 0 and (n_tasks - 1) * math.lgamma(n_models + 1) <= math.log(EXACT_LIMIT)


def exact_friedman_p(ranks: npt.ArrayLike) -> float:
    """Return P(sum of squared rank sums >= the observed one) when ranks are permuted within each task.

    ranks [N, k] -> p. The distribution of the vector of rank sums is built task by task. Vectors that differ by the
    names of the models only are one state: the statistic does not see names, and the next task is permuted anyway.
    """
    doubled = np.rint(2.0 * _read_ranks(ranks)).astype(np.int64)
    n_tasks, n_models = doubled.shape
    if not is_enumerable(n_tasks, n_models):
        raise BadValue("k!^(N-1)", f"{n_models}!^{n_tasks - 1}", f"at most {EXACT_LIMIT}; use the chi-square p-value")
    states = np.sort(doubled[:1], axis=1)
    counts: Floats = np.ones(1)
    for row in doubled[1:]:
        sums = np.sort(states[:, None, :] + _permutations(row)[None, :, :], axis=2).reshape(-1, n_models)
        states, inverse = _merge_states(sums, most=2 * n_tasks * n_models + 1)
        counts = np.bincount(inverse, weights=np.repeat(counts, sums.shape[0] // counts.size)).astype(np.float64)
    observed = (doubled.sum(axis=0) ** 2).sum()
    return float(counts[(states**2).sum(axis=1) >= observed].sum() / counts.sum())


def _merge_states(sums: npt.NDArray[np.int64], *, most: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.intp]]:
    """Return the different rows, and which of them each row is; a row is one number in base ``most``."""
    codes = sums @ (most ** np.arange(sums.shape[1], dtype=np.int64))
    _, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    return sums[first], inverse


def _permutations(row: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return all k! arrangements of a row [k] as [k!, k], equal ones repeated."""
    places = np.zeros((1, 0), dtype=np.intp)
    for size in range(row.size):
        # Each arrangement of the first entries, with the next one put at every place.
        places = np.concatenate([np.insert(places, at, size, axis=1) for at in range(size + 1)])
    return row[places]


def _statistic(ranks: Floats) -> tuple[float, float]:
    """Return Friedman's chi-square without tie correction, and the correction C."""
    n_tasks, k = ranks.shape
    raw = 12.0 * n_tasks / (k * (k + 1)) * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    # Ties shrink the sum of squared ranks by (t^3 - t) / 12 each.
    lost = n_tasks * k * (k + 1) * (2 * k + 1) / 6 - (ranks**2).sum()
    return float(raw), float(1.0 - 12.0 * lost / (n_tasks * k * (k * k - 1)))


def _chi2_p(chi2: float, n_models: int) -> float:
    # scipy.special takes as long to import as NumPy, and only p-values need it.
    from scipy import special

    return float(special.chdtrc(n_models - 1, chi2))


def _iman_davenport(chi2: float, n_tasks: int, n_models: int) -> tuple[float | None, float | None]:
    rest = n_tasks * (n_models - 1) - chi2
    if n_tasks < FEWEST_TASKS_FOR_F or rest <= 1e-9 * chi2:
        return None, None
    from scipy import special

    f = (n_tasks - 1) * chi2 / rest
    return f, float(special.fdtrc(n_models - 1, (n_models - 1) * (n_tasks - 1), f))


def _choose_p(p_exact: float | None, p_chi2: float | None, *, is_tied: bool) -> tuple[float | None, str]:
    if is_tied:
        return 1.0, "all tied"
    if p_exact is not None:
        return p_exact, "exact permutation"
    return p_chi2, "none" if p_chi2 is None else "chi2"


def _why_not(n_tasks: int, n_models: int) -> str:
    if n_models < 2 or n_tasks < 1:
        return f"{n_models} models on {n_tasks} tasks leave nothing to compare"
    if n_tasks == 1:
        return "one task gives ranks only"
    return "two models: use the Wilcoxon signed-rank test across tasks" if n_models == 2 else ""


def _note_on_chi2(*, is_tied: bool, chi2: float | None, n_tasks: int, n_models: int) -> str:
    if is_tied:
        return "all models are tied on every task: chi2 is undefined"
    if chi2 is not None and n_tasks * (n_models - 1) - chi2 <= 1e-9 * chi2:
        return "the order is the same on every task: Iman-Davenport's F is unbounded"
    return "" if n_tasks >= FEWEST_TASKS_FOR_F else f"Iman-Davenport's F is not given below {FEWEST_TASKS_FOR_F} tasks"


def _read_ranks(ranks: npt.ArrayLike) -> Floats:
    array = read_finite("ranks", ranks, ndim=2)
    k = array.shape[1]
    if not np.allclose(array.sum(axis=1), k * (k + 1) / 2):
        raise BadValue("the sum of a row of ranks", "not k (k + 1) / 2", f"{k * (k + 1) / 2:g} for {k} models")
    return array
