"""Sources of the spread of scores: seed, split, initialisation, hyperparameters, where ids tell them apart."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, number, put_back, read_finite, take_out

__all__ = ["REST", "Component", "Decomposition", "decompose_variance"]

# What is left when all factors are held: interactions, and repetition of the same combination.
REST = "rest"


@dataclass(frozen=True, kw_only=True)
class Component:
    """The variance that one factor adds to a score; ``gain_per_run`` is what one more level of it takes off.

    ``gain_per_run`` is the fall of the variance of the overall mean, over the runs that one more level costs. ``sd`` is
    in the unit of the scores; what has the unit of their squares is None where no float is as large.
    """

    factor: str
    n_levels: int
    sd: float | None
    variance: float | None
    moment: float | None
    share: float | None
    gain_per_run: float | None

    def __str__(self) -> str:
        share = "" if self.share is None else f" ({self.share:.0%})"
        return f"{self.factor}: sd {'unknown' if self.sd is None else format(self.sd, '.4g')}{share}"


@dataclass(frozen=True, kw_only=True)
class Decomposition:
    """Variance components of scores by the method of moments; negative estimates are reported as 0."""

    n_runs: int
    mean: float | None
    variance_of_mean: float | None
    components: tuple[Component, ...]
    next_run_buys_most: str | None
    method: str
    note: str = ""

    def __str__(self) -> str:
        if not self.components:
            return f"variance not decomposed: {self.note}"
        listed = ", ".join(str(item) for item in self.components)
        return f"{listed}; the next run buys most in: {self.next_run_buys_most or 'nothing, all components are 0'}"


METHOD = "analysis of variance, expected sums of squares (Henderson's method 1)"


def decompose_variance(scores: npt.ArrayLike, ids: Mapping[str, Sequence[Hashable]]) -> Decomposition:
    """Split the variance of scores [n] among random factors; ``ids`` gives for each factor the level of each run [n].

    With H_f the projection on the means of the levels of f: E[y'(H_f - H_0) y] = sum over factors h of
    c_fh s_h^2 + (L_f - 1) s_rest^2, c_fh = sum n_ab^2 / n_a - sum n_b^2 / n, and likewise for the total. Solved for
    s^2 this is the textbook decomposition of balanced layouts, crossed or nested. Other layouts are refused: there the
    moments stay unbiased, but the rest drowns in the noise of the factors.
    C. R. Henderson, Biometrics 9 (1953) 226-252.
    """
    given = read_finite("scores", scores, ndim=1)
    y, exponents = take_out(given)
    exponent = int(exponents[0])
    codes = _read_ids(ids, y.size)
    varying = {name: column for name, column in codes.items() if y.size and column.max() > 0}
    fixed = [name for name in codes if name not in varying]
    notes = [f"{', '.join(fixed)} did not vary: nothing is known about it"] if fixed else []
    matrix, sums = _moments(y, list(varying.values()))
    reason = _why_not(y, matrix, varying)
    if reason:
        return _not_decomposed(given, "; ".join([reason, *notes]))
    moments: Floats = np.linalg.solve(matrix, sums).astype(np.float64)
    noise = 1e-12 * max(float(sums[-1]), 0.0)
    negative = [name for name, value in zip((*varying, REST), moments, strict=True) if value < -noise]
    notes += [f"negative estimate reported as 0: {', '.join(negative)}"] if negative else []
    variances: Floats = np.where(moments > noise, moments, 0.0).astype(np.float64)
    gains = [_gain_per_run(list(varying.values()), variances, place) for place in range(len(variances))]
    most = int(np.argmax(gains))
    return Decomposition(
        n_runs=y.size,
        mean=float(given.mean()),
        variance_of_mean=_put_back_square(_variance_of_mean(list(varying.values()), variances), exponent),
        components=_components(varying, (moments, variances, gains), exponent),
        next_run_buys_most=(*varying, REST)[most] if gains[most] > 0.0 else None,
        method=METHOD,
        note="; ".join(notes),
    )


Codes = npt.NDArray[np.intp]


def _read_ids(ids: Mapping[str, Sequence[Hashable]], n_runs: int) -> dict[str, Codes]:
    if REST in ids:
        raise BadValue("a factor", REST, "another name; it stands for what no factor explains")
    for name, column in ids.items():
        if len(column) != n_runs:
            raise BadValue(f"the number of ids of {name!r}", len(column), f"one for each of {n_runs} runs")
    # Levels are numbered in the order in which they appear, so that any hashable id will do.
    numbered = {name: {level: n for n, level in enumerate(dict.fromkeys(column))} for name, column in ids.items()}
    return {name: np.array([numbered[name][level] for level in column], dtype=np.intp) for name, column in ids.items()}


def _moments(y: Floats, factors: list[Codes]) -> tuple[Floats, Floats]:
    """Return the coefficients [f + 1, f + 1] and the sums of squares [f + 1]; the last row is the total."""
    n, deviations = y.size, y - y.mean() if y.size else y
    rows = [*factors, np.arange(n)]
    matrix, sums = np.zeros((len(rows), len(rows))), np.zeros(len(rows))
    for a, row in enumerate(rows):
        sizes = np.bincount(row)
        sums[a] = (np.bincount(row, weights=deviations) ** 2 / sizes).sum() if n else 0.0
        for b, column in enumerate(rows):
            together = _crosstab(row, column)
            matrix[a, b] = (together**2 / sizes[:, None]).sum() - (together.sum(axis=0) ** 2).sum() / max(n, 1)
    return matrix, sums


def _crosstab(a: Codes, b: Codes) -> Floats:
    n_levels = (int(a.max(initial=-1)) + 1, int(b.max(initial=-1)) + 1)
    counts = np.bincount(a * n_levels[1] + b, minlength=n_levels[0] * n_levels[1])
    return counts.reshape(n_levels).astype(np.float64)


def _why_not(y: Floats, matrix: Floats, factors: Mapping[str, Codes]) -> str:
    if y.size < 2:
        return "fewer than two runs"
    if not factors:
        return "no factor varies"
    confounded = _find_confounded(factors, y.size)
    if confounded:
        return confounded
    pair = _find_unbalanced(factors)
    if pair:
        return (
            f"the levels of {' and '.join(pair)} are not combined equally often: run what is missing, or leave one out"
        )
    scale = np.sqrt(np.outer(np.diag(matrix), np.diag(matrix)))
    if np.linalg.matrix_rank(matrix / scale, tol=1e-9) < matrix.shape[0]:
        return "the factors cannot be told apart: too few combinations of their levels were run"
    return ""


def _find_confounded(factors: Mapping[str, Codes], n_runs: int) -> str:
    names = list(factors)
    for a, first in enumerate(names):
        if factors[first].max() + 1 == n_runs:
            return f"every run has its own {first}: it cannot be told from the rest"
        for second in names[:a]:
            if _determines(factors[first], factors[second]) and _determines(factors[second], factors[first]):
                return f"{second} and {first} always change together: they cannot be told apart"
    return ""


def _determines(a: Codes, b: Codes) -> bool:
    """Tell whether each level of ``a`` occurs with one level of ``b`` only: ``a`` is nested in ``b``."""
    return bool(((_crosstab(a, b) > 0).sum(axis=1) == 1).all())


def _find_unbalanced(factors: Mapping[str, Codes]) -> tuple[str, ...]:
    """Return the first factor, or pair of factors, whose levels do not occur equally often; nothing if all do."""
    for first, a in factors.items():
        for second, b in factors.items():
            together = _crosstab(a, b)
            is_whole = bool((together > 0).all()) or _determines(a, b) or _determines(b, a)
            if not is_whole or np.unique(together[together > 0]).size > 1:
                return (first,) if first == second else (first, second)
    return ()


def _components(
    factors: Mapping[str, Codes], found: tuple[Floats, Floats, Sequence[float]], exponent: int
) -> tuple[Component, ...]:
    """Return the components from moments, variances and gains [f + 1] of scores whose exponent was taken out."""
    moments, variances, gains = found
    total = float(variances.sum())
    codes = list(factors.values())
    levels = [*(int(column.max()) + 1 for column in codes), codes[0].size]
    return tuple(
        Component(
            factor=name,
            n_levels=levels[place],
            sd=number(put_back(np.sqrt(variances[place]), exponent)),
            variance=_put_back_square(variances[place], exponent),
            moment=_put_back_square(moments[place], exponent),
            share=float(variances[place]) / total if total > 0.0 else None,
            gain_per_run=_put_back_square(gains[place], exponent),
        )
        for place, name in enumerate((*factors, REST))
    )


def _put_back_square(value: float | np.floating, exponent: int) -> float | None:
    """Return a square of scores with the exponent put back, None where no float is as large."""
    return number(put_back(value, exponent, power=2))


def _gain_per_run(factors: list[Codes], variances: Floats, place: int) -> float:
    """Return how much one more level of a factor lowers the variance of the mean, per run that it costs.

    One more level brings with it one more set of all levels that are nested in it; of the rest, one more run in each
    combination that was run.
    """
    n = factors[0].size
    n_cells = np.unique(np.stack(factors), axis=1).shape[1]
    n_levels = int(factors[place].max()) + 1 if place < len(factors) else n // n_cells
    growth = (n_levels + 1) / n_levels
    grows = [
        place < len(factors) and (other == place or _determines(column, factors[place]))
        for other, column in enumerate(factors)
    ]
    before = _parts_of_variance(factors, variances)
    after = before / np.where([*grows, True], growth, 1.0)
    return float((before - after).sum() / (n * (growth - 1.0)))


def _variance_of_mean(factors: list[Codes], variances: Floats) -> float:
    return float(_parts_of_variance(factors, variances).sum())


def _parts_of_variance(factors: list[Codes], variances: Floats) -> Floats:
    """Return what each component [f + 1] adds to the variance of the mean: s^2 sum n_b^2 / n^2."""
    n = factors[0].size
    shares = [float((np.bincount(column) ** 2).sum()) / n**2 for column in factors]
    parts: Floats = variances * np.array([*shares, 1.0 / n])
    return parts


def _not_decomposed(y: Floats, note: str) -> Decomposition:
    return Decomposition(
        n_runs=y.size,
        mean=float(y.mean()) if y.size else None,
        variance_of_mean=None,
        components=(),
        next_run_buys_most=None,
        method=METHOD,
        note=note,
    )
