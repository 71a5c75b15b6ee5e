"""One number, or one curve, for a model over many tasks and seeds, with an interval that seeds justify.

Scores are put on one scale by bounds that are declared with the task, never taken from the entrants: a scale that
depends on who took part changes when somebody leaves. R. Agarwal et al., NeurIPS 34 (2021).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.seeds import derive
from gnz_track.stats.inputs import Floats, check_level, check_whole, number, read_array, read_finite

__all__ = [
    "Aggregate",
    "Profile",
    "Resampling",
    "improve_probability",
    "interquartile_mean",
    "normalise",
    "optimality_gap",
    "performance_profile",
]

# Statistics take one array [B, S] per task and return [B, ...].
Statistic = Callable[[Sequence[Floats]], Floats]


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """Draws of the stratified bootstrap: seeds within each task, the deviation scaled by sqrt(S / (S - 1))."""

    n_resamples: int = 2_000
    base_seed: int = 0
    level: float = 0.95

    def __post_init__(self) -> None:
        check_whole("n_resamples", self.n_resamples, least=1)
        check_level("level", self.level)

    def __str__(self) -> str:
        return f"{self.n_resamples} stratified resamples from base seed {self.base_seed}, level {self.level:g}"


@dataclass(frozen=True, kw_only=True)
class Aggregate:
    """One aggregate with its interval; the tasks are fixed, the seeds are drawn."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    n_tasks: int
    n_runs: int
    seeds_per_task: tuple[int, int]
    method: str
    factor: float | None
    resampling: Resampling
    seed: int
    note: str = ""

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.name}: undefined, {self.note}"
        interval = "" if self.low is None else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.name} = {self.value:.4g}{interval} over {self.n_tasks} tasks, {self.n_runs} runs"


@dataclass(frozen=True, kw_only=True)
class Profile:
    """The share of runs whose normalised score lies above each threshold, all tasks with the same weight."""

    thresholds: tuple[float, ...]
    shares: tuple[float, ...]
    lows: tuple[float, ...] | None
    highs: tuple[float, ...] | None
    n_tasks: int
    n_runs: int
    seeds_per_task: tuple[int, int]
    method: str
    factor: float | None
    resampling: Resampling
    seed: int
    note: str = ""

    def __str__(self) -> str:
        return f"performance profile at {len(self.thresholds)} thresholds over {self.n_tasks} tasks, {self.n_runs} runs"


METHOD = "percentile of a bootstrap of seeds within tasks, expanded by sqrt(S / (S - 1))"


def normalise(scores: npt.ArrayLike, *, worst: float, best: float) -> Floats:
    """Put the scores of one task on the scale 0 (``worst``) to 1 (``best``): (x - worst) / (best - worst).

    Parameters
    ----------
    scores
        Finite scores, of any shape.
    worst, best
        Bounds declared with the task and its metric (chance level and perfect score, say); for an error, best < worst.
    """
    array = read_array("scores", scores)
    if not (np.isfinite(worst) and np.isfinite(best)) or worst == best:
        raise BadValue(
            "the bounds (worst, best)", (worst, best), "two different finite numbers, declared with the task"
        )
    if not np.isfinite(array).all():
        raise BadValue("scores", "not finite", "finite numbers; leave missing scores out")
    return (array - worst) / (best - worst)


def interquartile_mean(strata: Sequence[npt.ArrayLike], *, resampling: Resampling | None = None) -> Aggregate:
    """Mean of the middle half of all normalised scores; ``strata``: one array [S] per task.

    Of n runs, floor(n / 4) are cut at each end.
    """
    return _estimate("interquartile mean", _middle_mean, [_read_stratum(item) for item in strata], resampling)


def optimality_gap(
    strata: Sequence[npt.ArrayLike], *, target: float = 1.0, resampling: Resampling | None = None
) -> Aggregate:
    """Mean over all runs of max(0, target - x).

    Parameters
    ----------
    strata
        One array [S] of normalised scores per task.
    target
        The normalised score that is wanted.
    resampling
        The draws of the interval.
    """
    if not np.isfinite(target):
        raise BadValue("target", target, "a finite normalised score, 1 for the declared best")

    def gap(drawn: Sequence[Floats]) -> Floats:
        found: Floats = np.maximum(0.0, target - np.concatenate(list(drawn), axis=1)).mean(axis=1)
        return found

    return _estimate(
        f"optimality gap (target {target:g})",
        gap,
        [_read_stratum(item) for item in strata],
        resampling,
        limits=(0.0, np.inf),
    )


def improve_probability(
    ours: Sequence[npt.ArrayLike], theirs: Sequence[npt.ArrayLike], *, resampling: Resampling | None = None
) -> Aggregate:
    """Chance that a run of one model beats a run of another on a task drawn at random.

    Mean over tasks of mean[1(x > y) + .5 1(x = y)] over all pairs of runs x [S], y [S'] of that task. Runs are drawn
    apart, also where they share seeds.

    Parameters
    ----------
    ours, theirs
        One array [S] or [S'] of scores per task, higher better: normalise errors first.
    resampling
        The draws of the interval.
    """
    if len(ours) != len(theirs):
        raise BadValue("the number of tasks", (len(ours), len(theirs)), "the same tasks for both models")
    n_tasks = len(ours)

    def probability(drawn: Sequence[Floats]) -> Floats:
        pairs = zip(drawn[:n_tasks], drawn[n_tasks:], strict=True)
        found: Floats = np.stack([_win_share(x, y) for x, y in pairs]).mean(axis=0)
        return found

    strata = [_read_stratum(item) for item in (*ours, *theirs)]
    return _estimate("probability of improvement", probability, strata, resampling, limits=(0.0, 1.0), n_tasks=n_tasks)


def performance_profile(
    strata: Sequence[npt.ArrayLike], thresholds: Sequence[float], *, resampling: Resampling | None = None
) -> Profile:
    """Share of runs above each threshold, averaged over tasks; the band holds pointwise, not for the whole curve.

    Parameters
    ----------
    strata
        One array [S] of normalised scores per task.
    thresholds
        Normalised scores [T].
    resampling
        The draws of the band.
    """
    resampling = resampling or Resampling()
    limits = read_finite("thresholds", thresholds, ndim=1)
    read = [_read_stratum(item) for item in strata]

    def shares(drawn: Sequence[Floats]) -> Floats:
        above = np.zeros((drawn[0].shape[0], limits.size))
        for item in drawn:
            above += np.stack([(item > limit).mean(axis=1) for limit in limits], axis=1)
        return above / len(drawn)

    seed, factor, note = _plan_resampling(read, "performance profile", resampling)
    value = shares([item[None, :] for item in read])[0] if read else np.empty(0)
    band = _interval(shares, read, value, (resampling, seed, factor), (0.0, 1.0)) if factor else None
    return Profile(
        thresholds=tuple(limits.tolist()) if read else (),
        shares=tuple(value.tolist()),
        lows=None if band is None else tuple(band[0].tolist()),
        highs=None if band is None else tuple(band[1].tolist()),
        n_tasks=len(read),
        n_runs=sum(item.size for item in read),
        seeds_per_task=_seeds_per_task(read),
        method=METHOD,
        factor=factor,
        resampling=resampling,
        seed=seed,
        note=note,
    )


def _estimate(
    name: str,
    statistic: Statistic,
    strata: list[Floats],
    resampling: Resampling | None,
    *,
    limits: tuple[float, float] = (-np.inf, np.inf),
    n_tasks: int | None = None,
) -> Aggregate:
    resampling = resampling or Resampling()
    seed, factor, note = _plan_resampling(strata, name, resampling)
    value = statistic([item[None, :] for item in strata]) if strata else np.array([np.nan])
    band = _interval(statistic, strata, value, (resampling, seed, factor), limits) if factor else None
    return Aggregate(
        name=name,
        value=number(value[0]),
        low=None if band is None else float(band[0].item()),
        high=None if band is None else float(band[1].item()),
        n_tasks=len(strata) if n_tasks is None else n_tasks,
        n_runs=sum(item.size for item in strata),
        seeds_per_task=_seeds_per_task(strata),
        method=METHOD,
        factor=factor,
        resampling=resampling,
        seed=seed,
        note=note,
    )


def _plan_resampling(strata: list[Floats], name: str, resampling: Resampling) -> tuple[int, float | None, str]:
    """Return the derived seed, the factor of expansion, and why there is none."""
    sizes = [item.size for item in strata]
    seed = derive(resampling.base_seed, "stratified bootstrap", name, *sizes)
    if not strata:
        return seed, None, "no task"
    if min(sizes) < 2:
        return seed, None, "a task with one seed: its spread is unknown, so there is no interval"
    note = "" if min(sizes) == max(sizes) else "unequal numbers of seeds: expanded for the smallest"
    return seed, float(np.sqrt(min(sizes) / (min(sizes) - 1))), note


def _interval(
    statistic: Statistic,
    strata: list[Floats],
    value: Floats,
    how: tuple[Resampling, int, float],
    limits: tuple[float, float],
) -> tuple[Floats, Floats]:
    resampling, seed, factor = how
    rng = np.random.default_rng(seed)
    drawn = [item[rng.integers(item.size, size=(resampling.n_resamples, item.size))] for item in strata]
    tail = (1.0 - resampling.level) / 2.0
    # The bootstrap's spread is that of the plug-in variance, which divides by S and not by S - 1.
    expanded = value + factor * (statistic(drawn) - value)
    low, high = np.clip(np.quantile(expanded, [tail, 1.0 - tail], axis=0), *limits)
    return np.asarray(low), np.asarray(high)


def _middle_mean(drawn: Sequence[Floats]) -> Floats:
    ranked = np.sort(np.concatenate(list(drawn), axis=1), axis=1)
    cut = ranked.shape[1] // 4
    found: Floats = ranked[:, cut : ranked.shape[1] - cut].mean(axis=1)
    return found


def _win_share(x: Floats, y: Floats) -> Floats:
    """Return mean[1(x > y) + .5 1(x = y)] of each row: [B, S], [B, S'] -> [B]."""
    signs: Floats = np.sign(x[:, :, None] - y[:, None, :]).mean(axis=(1, 2))
    return 0.5 + 0.5 * signs


def _read_stratum(scores: npt.ArrayLike) -> Floats:
    array = read_finite("the scores of a task", scores, ndim=1)
    check_whole("the number of scores of a task", array.size, least=1)
    return array


def _seeds_per_task(strata: list[Floats]) -> tuple[int, int]:
    return (min(item.size for item in strata), max(item.size for item in strata)) if strata else (0, 0)
