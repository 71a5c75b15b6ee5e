"""The samplers of Optuna by name, each made anew for every trial from a seed of its own.

A sampler keeps its generator in memory: one that is made again after an interrupt would repeat its first proposals.
With a seed derived from the study and the number of the trial, a resumed study proposes what the whole one would.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from scipy.stats import qmc

from gnz_track.errors import BadValue
from gnz_track.registry import Registry
from gnz_track.tuning.spaces import Dimension, Space, Value

__all__ = ["SAMPLERS", "SamplerInputs", "check_sampler", "count_points", "distributions_of", "make_sampler"]

N_STARTUP = 10


@dataclass(frozen=True, kw_only=True)
class SamplerInputs:
    """Inputs of a sampler: ``seed`` is the study's, ``trial_seed`` that of the trial alone.

    ``first`` are the values of the trials that no sampler has proposed: those with the lowest numbers.
    """

    space: Space
    seed: int = 0
    trial_seed: int = 0
    first: Sequence[Mapping[str, Value]] = ()


Make = Callable[[SamplerInputs], optuna.samplers.BaseSampler]
SAMPLERS: Registry[Make] = Registry("sampler")


def check_sampler(name: str, space: Space) -> None:
    """Raise where there is no such sampler, or where it cannot search a space."""
    SAMPLERS.get(name)(SamplerInputs(space=space))


def make_sampler(name: str, inputs: SamplerInputs) -> optuna.samplers.BaseSampler:
    """Return the sampler of one trial."""
    return SAMPLERS.get(name)(inputs)


def count_points(name: str, inputs: SamplerInputs) -> int | None:
    """Return how many trials exhaust a space, those that no sampler proposes included; None where nothing does."""
    sampler = make_sampler(name, inputs)
    return len(sampler.points) + len(inputs.first) if isinstance(sampler, _Grid) else None


def distributions_of(space: Space) -> dict[str, BaseDistribution]:
    """Return a space as Optuna has it, names sorted: the order in which values are drawn is part of a study."""
    return {name: _distribution(space[name]) for name in sorted(space)}


def _grid_of(space: Space) -> dict[str, list[Any]]:
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

    def __init__(self, inputs: SamplerInputs) -> None:
        self._inputs = inputs

    def point(self, place: int) -> dict[str, Any]:
        """Return the values of a trial, counted from the first one that a sampler proposes."""
        raise NotImplementedError

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, BaseDistribution]:
        """Name nothing: every value is that of the point."""
        del study, trial
        return {}

    def sample_relative(self, study: Any, trial: Any, search_space: Any) -> dict[str, Any]:
        """Draw nothing together.

        Parameters
        ----------
        study, trial, search_space
            Those of Optuna, unused.
        """
        del study, trial, search_space
        return {}

    def sample_independent(self, study: Any, trial: Any, param_name: str, param_distribution: Any) -> Any:
        """Return one value of the point.

        Parameters
        ----------
        study, param_distribution
            Those of Optuna, unused.
        trial
            Trial, whose number chooses the point.
        param_name
            Name of the value.
        """
        del study, param_distribution
        return self.point(trial.number - len(self._inputs.first))[param_name]


class _Grid(_Numbered):
    """The points of a grid, in the order of a shuffle, without those that were tried before any."""

    def __init__(self, inputs: SamplerInputs) -> None:
        super().__init__(inputs)
        grid = _grid_of(inputs.space)
        every = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        random.Random(inputs.seed).shuffle(every)
        tried = [dict(values) for values in inputs.first]
        self.points = [point for point in every if point not in tried]

    def point(self, place: int) -> dict[str, Any]:
        """Return the point of a trial; behind the last one comes the first."""
        return self.points[place % len(self.points)] if self.points else dict(self._inputs.first[0])


class _Sobol(_Numbered):
    """A scrambled Sobol sequence (Owen, 1998): its place is the number of the trial."""

    def point(self, place: int) -> dict[str, Any]:
        """Return the point of a trial, each coordinate in [0, 1) read as a value of its dimension."""
        space = self._inputs.space
        engine = qmc.Sobol(len(space), scramble=True, rng=np.random.default_rng(self._inputs.seed))
        places = (engine.fast_forward(place) if place else engine).random(1)[0]
        return {name: _at(space[name], value) for name, value in zip(sorted(space), places, strict=True)}


def _at(dimension: Dimension, place: float) -> Any:
    """Return the value at a place in [0, 1) of a dimension."""
    if dimension.choices:
        return dimension.choices[int(place * len(dimension.choices))]
    # Whole numbers have cells of equal width around them.
    low, high = (dimension.low - 0.5, dimension.high + 0.5) if dimension.is_whole else (dimension.low, dimension.high)
    value = math.exp(math.log(low) + place * math.log(high / low)) if dimension.is_log else low + place * (high - low)
    return min(max(round(value), int(dimension.low)), int(dimension.high)) if dimension.is_whole else value


SAMPLERS.add(
    "tpe", lambda inputs: optuna.samplers.TPESampler(seed=inputs.trial_seed % 2**32, n_startup_trials=N_STARTUP)
)
SAMPLERS.add("random", lambda inputs: optuna.samplers.RandomSampler(seed=inputs.trial_seed % 2**32))
SAMPLERS.add("qmc", _Sobol)
SAMPLERS.add("grid", _Grid)
