"""Expected best validation score of a search as a function of its budget, the number of trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings
from gnz_track.stats.inputs import Floats, check_level, read_direction, read_scores
from gnz_track.stats.ranking.ranks import rank_rows
from gnz_track.types import Direction

__all__ = ["BudgetRanks", "ExpectedBest", "expected_best", "rank_by_budget", "spread_budgets"]

# A curve of more points says no more, and takes memory with their square.
MOST_BUDGETS = 400


@dataclass(frozen=True, kw_only=True)
class ExpectedBest:
    """The best of n trials for each budget n; ``lows`` and ``highs`` bound it for 1 - ``alpha`` of the draws.

    The band says how much the best depends on which n of the trials were tried, and not how other trials would have
    turned out: at the last budget nothing is left for it to depend on. ``chances`` are those that any of n trials has a
    score.
    """

    direction: Direction
    alpha: float
    n_trials: int
    n_failed: int
    budgets: tuple[int, ...] = ()
    means: tuple[float, ...] = ()
    lows: tuple[float, ...] = ()
    highs: tuple[float, ...] = ()
    chances: tuple[float, ...] = ()

    def __str__(self) -> str:
        if not self.budgets:
            return "no trial has a score"
        places = sorted({0, (len(self.budgets) - 1) // 2, len(self.budgets) - 1})
        return "best of " + ", ".join(f"{self.budgets[place]}: {self.means[place]:.4g}" for place in places)


@dataclass(frozen=True, kw_only=True)
class BudgetRanks:
    """Mean ranks of models over tasks by what their searches are expected to find with each budget; 1 is best.

    ``ranks`` maps a model to one mean rank per budget; ``n_tasks`` of the tasks have a search of every model. Models
    ``left_out`` have no search with a score.
    """

    models: tuple[str, ...]
    n_tasks: int
    budgets: tuple[int, ...]
    ranks: Mapping[str, tuple[float, ...]]
    left_out: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_mappings(self, "ranks")


def expected_best(
    scores: npt.ArrayLike, direction: Direction | str, *, alpha: float = 0.1, budgets: Sequence[int] | None = None
) -> ExpectedBest:
    """Return the expected best of n out of B trials.

    E[best of n] = sum over i of v_(i) C(i - 1, n - 1) / C(B, n), v_(1) the worst: the mean over all draws of n trials
    without replacement, hence unbiased; the plug-in with replacement (J. Dodge et al., EMNLP 2019, 2185-2194) is not
    (R. Tang et al., ACL 2020, 2766-2772). Failed trials are drawn too and are never the best; the mean is over the
    draws with a score. The band are the alpha / 2 and 1 - alpha / 2 quantiles of the best of n, exact by
    P(best <= v_(i)) = C(i, n) / C(B, n). All of it holds for trials in random order: what a sampler that learns tries
    depends on what it tried before.

    Parameters
    ----------
    scores
        Validation scores [B], NaN where a trial failed.
    direction
        Which scores are better.
    alpha
        1 minus the level of the band.
    budgets
        Numbers of trials n; without, some that are spread from 1 to B.
    """
    values = read_scores("scores", scores, ndim=1)
    check_level("alpha", alpha)
    direction = read_direction(direction)
    sign = 1.0 if direction is Direction.up else -1.0
    known = np.sort(sign * values[~np.isnan(values)])
    n_failed = values.size - known.size
    if not known.size:
        return ExpectedBest(direction=direction, alpha=alpha, n_trials=values.size, n_failed=n_failed)
    wanted = _read_budgets(budgets, values.size)
    below, chances = _best_of_n(wanted, values.size, n_failed)
    is_possible = chances > 0.0
    wanted, below, chances = wanted[is_possible], below[is_possible], chances[is_possible]
    # The sum of shares of equal scores may differ from them in the last digit.
    means = np.clip(np.diff(below, axis=1, prepend=0.0) @ known, known[0], known[-1])
    worst, best = (known[(below >= level - 1e-12).argmax(axis=1)] for level in (alpha / 2, 1.0 - alpha / 2))
    low, high = (worst, best) if direction is Direction.up else (best, worst)
    return ExpectedBest(
        direction=direction,
        alpha=alpha,
        n_trials=values.size,
        n_failed=n_failed,
        budgets=tuple(wanted.tolist()),
        means=tuple((sign * means).tolist()),
        lows=tuple((sign * low).tolist()),
        highs=tuple((sign * high).tolist()),
        chances=tuple(chances.tolist()),
    )


def rank_by_budget(
    scores: Mapping[str, Mapping[str, npt.ArrayLike]], directions: Mapping[str, Direction | str]
) -> BudgetRanks:
    """Return mean ranks over tasks of the expected best of n trials: ``scores[task][model]`` are those of its trials.

    Budgets go up to the least number of trials of any search. Tasks that lack a model, or on which all trials of one
    failed, are left out; before them models all of whose trials failed on every task.
    """
    arrays = {
        task: {model: read_scores("scores", values, ndim=1) for model, values in found.items()}
        for task, found in scores.items()
    }
    every = sorted({model for found in arrays.values() for model in found})
    lost = {name for name in every if all(np.isnan(found.get(name, np.nan)).all() for found in arrays.values())}
    models = tuple(name for name in every if name not in lost)
    scored = {
        task: {model: values for model, values in found.items() if model not in lost} for task, found in arrays.items()
    }
    whole = {
        task: found
        for task, found in scored.items()
        if found and set(found) == set(models) and not any(np.isnan(values).all() for values in found.values())
    }
    budgets = spread_budgets(min((values.size for found in whole.values() for values in found.values()), default=0))
    tables: list[Floats] = []
    for task, found in whole.items():
        curves = [expected_best(found[model], directions[task], budgets=budgets).means for model in models]
        tables.append(rank_rows(np.array(curves).T, directions[task]))
    means: Floats = np.mean(tables, axis=0) if tables else np.empty((0, len(models)))
    return BudgetRanks(
        models=models,
        n_tasks=len(whole),
        budgets=budgets,
        ranks={model: tuple(means[:, place].tolist()) for place, model in enumerate(models)},
        left_out=tuple(sorted(lost)),
    )


def spread_budgets(n_trials: int, most: int = MOST_BUDGETS) -> tuple[int, ...]:
    """Return the budgets from 1 to the number of trials; of many, some that are evenly spread."""
    if n_trials <= most:
        return tuple(range(1, n_trials + 1))
    return tuple(sorted(set(np.linspace(1, n_trials, most).round().astype(int).tolist())))


def _read_budgets(budgets: Sequence[int] | None, n_trials: int) -> npt.NDArray[np.int64]:
    wanted = spread_budgets(n_trials) if budgets is None else tuple(budgets)
    for n in wanted:
        if n != int(n) or not 1 <= n <= n_trials:
            raise BadValue("budget", n, f"a whole number of trials from 1 to {n_trials}")
    return np.array(wanted, dtype=np.int64)


def _best_of_n(n: npt.NDArray[np.int64], n_trials: int, n_failed: int) -> tuple[Floats, Floats]:
    """Return P(best of n <= i-th worst score | one of n has a score) [budgets, i], and P(one of n has a score)."""
    places = np.arange(n_failed, n_trials + 1)[None, :]
    column = n[:, None]
    among: Floats = np.exp(_log_choose(np.maximum(places, column), column) - _log_choose(n_trials, column))
    among = np.where(places >= column, among, 0.0)
    chances: Floats = 1.0 - among[:, 0]
    with np.errstate(invalid="ignore"):
        below: Floats = (among[:, 1:] - among[:, :1]) / chances[:, None]
    below[:, -1] = 1.0
    return below, chances


def _log_choose(total: npt.ArrayLike, n: npt.ArrayLike) -> Floats:
    """Return the logarithm of a binomial coefficient, which itself leaves the floats at some thousand trials."""
    top, part = np.asarray(total, dtype=np.float64), np.asarray(n, dtype=np.float64)
    found: Floats = gammaln(top + 1.0) - gammaln(part + 1.0) - gammaln(top - part + 1.0)
    return found
