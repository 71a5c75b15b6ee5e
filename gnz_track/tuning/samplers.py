"""The samplers of Optuna by name, each made anew for every trial from a seed of its own.

A sampler keeps its generator in memory: one that is made again after an interrupt would repeat its first proposals.
With a seed derived from the study and the number of the trial, a resumed study proposes what the whole one would.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import qmc

from gnz_track.errors import BadValue
from gnz_track.registry import Registry
from gnz_track.tuning.spaces import Dimension, Space

__all__ = ["SAMPLERS", "check_sampler", "distributions_of", "make_sampler"]

N_STARTUP = 10
Make = Callable[[Space, int, int], optuna.samplers.BaseSampler]
SAMPLERS: Registry[Make] = Registry("sampler")


def check_sampler(name: str, space: Space) -> None:
    """Raise where there is no such sampler, or where it cannot search a space."""
    SAMPLERS.get(name)(space, 0, 0)


def make_sampler(name: str, space: Space, *, seed: int, trial_seed: int) -> optuna.samplers.BaseSampler:
    """Return the sampler of one trial: ``seed`` is the study's, ``trial_seed`` that of the trial alone."""
    return SAMPLERS.get(name)(space, seed, trial_seed)


def distributions_of(space: Space) -> dict[str, BaseDistribution]:
    """Return a space as Optuna has it, names sorted: the order in which values are drawn is part of a study."""
    return {name: _distribution(space[name]) for name in sorted(space)}


def grid_of(space: Space) -> dict[str, list[Any]]:
    """Return the choices of a space that has nothing but choices."""
    ranges = [name for name, dimension in space.items() if not dimension.choices]
    if ranges:
        raise BadValue(f"{ranges[0]} in the space", "a range", "a list of choices, for the sampler grid")
    return {name: list(space[name].choices) for name in sorted(space)}


def _distribution(dimension: Dimension) -> BaseDistribution:
    if dimension.choices:
        return CategoricalDistribution(dimension.choices)
    if dimension.is_whole:
        return IntDistribution(int(dimension.low), int(dimension.high), log=dimension.is_log)
    return FloatDistribution(dimension.low, dimension.high, log=dimension.is_log)


class _Numbered(optuna.samplers.BaseSampler):
    """A sampler whose point depends on the study's seed and the number of the trial, and on nothing else."""

    def point(self, number: int) -> dict[str, Any]:
        """Return the values of trial ``number``."""
        raise NotImplementedError

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, BaseDistribution]:
        """Name nothing: every value is that of the point."""
        del study, trial
        return {}

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        """Draw nothing together."""
        del study, trial, search_space
        return {}

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
        """Return one value of the point."""
        del study, param_distribution
        return self.point(trial.number)[param_name]


class _Grid(_Numbered):
    """The points of a grid, in the order of a shuffle."""

    def __init__(self, space: Space, seed: int) -> None:
        grid = grid_of(space)
        self._points = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        random.Random(seed).shuffle(self._points)

    def point(self, number: int) -> dict[str, Any]:
        """Return the point of a trial; behind the last one comes the first."""
        return self._points[number % len(self._points)]


class _Sobol(_Numbered):
    """A scrambled Sobol sequence (Owen, 1998): its place is the number of the trial."""

    def __init__(self, space: Space, seed: int) -> None:
        self._space, self._seed = space, seed

    def point(self, number: int) -> dict[str, Any]:
        """Return the point of a trial, each coordinate in [0, 1) read as a value of its dimension."""
        engine = qmc.Sobol(len(self._space), scramble=True, rng=np.random.default_rng(self._seed))
        places = (engine.fast_forward(number) if number else engine).random(1)[0]
        return {name: _at(self._space[name], place) for name, place in zip(sorted(self._space), places, strict=True)}


def _at(dimension: Dimension, place: float) -> Any:
    """Return the value at a place in [0, 1) of a dimension."""
    if dimension.choices:
        return dimension.choices[int(place * len(dimension.choices))]
    # Whole numbers have cells of equal width around them.
    low, high = (dimension.low - 0.5, dimension.high + 0.5) if dimension.is_whole else (dimension.low, dimension.high)
    value = math.exp(math.log(low) + place * math.log(high / low)) if dimension.is_log else low + place * (high - low)
    return min(max(round(value), int(dimension.low)), int(dimension.high)) if dimension.is_whole else value


SAMPLERS.add(
    "tpe", lambda _, __, trial_seed: optuna.samplers.TPESampler(seed=trial_seed % 2**32, n_startup_trials=N_STARTUP)
)
SAMPLERS.add("random", lambda _, __, trial_seed: optuna.samplers.RandomSampler(seed=trial_seed % 2**32))
SAMPLERS.add("qmc", lambda space, seed, _: _Sobol(space, seed))
SAMPLERS.add("grid", lambda space, seed, _: _Grid(space, seed))
