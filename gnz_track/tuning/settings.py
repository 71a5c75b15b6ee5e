"""Settings of searches, as one asks for them, their seeds by kind of search, and what scripts hand over as search=."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.registry import Registry
from gnz_track.seeds import format_seeds
from gnz_track.tuning.default_spaces import ALL
from gnz_track.tuning.pruners import PRUNERS
from gnz_track.tuning.samplers import SAMPLERS
from gnz_track.tuning.spaces import Space, make_space
from gnz_track.tuning.study_storage import StudyPlace
from gnz_track.tuning.study_terms import Budget
from gnz_track.types import Cell

__all__ = ["KINDS", "PER_TASK", "SearchSettings", "SearchSpace", "Shares", "read_search", "seeds_to_tune"]

PER_TASK, NESTED = "per-task", "nested"
N_TRIALS, N_TUNING_SEEDS = 30, 3
# Tuning seeds begin at the next multiple of it: far from seeds that anybody reports, and the same when those grow.
SEED_STEP = 1000


@dataclass(frozen=True, kw_only=True)
class SearchSettings:
    """Settings of searches: the same for every task and model, the budget above all.

    ``max_epochs`` and ``max_seconds`` are for one search, all of its trials together. ``place`` None is beside the
    store. ``spaces`` are by model, or for ``all``; ``tuning_seeds`` None takes three that are far from those reported.
    ``warm_start`` is how many configurations are tried first: what ``recommend``, where it is given, returns for the
    first blind cell of a search, and then those of past searches. It may read of the cell's data no more than the split
    of its seed shows to training and validation. ``is_fresh`` begins anew, under another name, where a study is there
    already.
    """

    trials: int = N_TRIALS
    max_epochs: int | None = None
    max_seconds: float | None = None
    place: StudyPlace | None = None
    sampler: str = "tpe"
    pruner: str = "none"
    kind: str = PER_TASK
    spaces: Mapping[str, Space] = field(default_factory=dict)
    tuning_seeds: tuple[int, ...] | None = None
    seed: int = 0
    warm_start: int = 0
    recommend: Callable[[Cell], Sequence[Mapping[str, Any]]] | None = None
    is_fresh: bool = False

    @property
    def budget(self) -> Budget:
        """Budget of one search."""
        return Budget(trials=self.trials, epochs=self.max_epochs, seconds=self.max_seconds)

    def __post_init__(self) -> None:
        _ = self.budget
        for table, name in ((SAMPLERS, self.sampler), (PRUNERS, self.pruner), (KINDS, self.kind)):
            table.get(name)
        if type(self.warm_start) is not int or self.warm_start < 0:
            raise BadValue("warm start", self.warm_start, "how many configurations, from 0", command="--warm-start 3")


# The searches of a task and model: the reported seed that each is for, None for all -> the seeds that it is tuned on.
Shares = Mapping[int | None, tuple[int, ...]]


def _per_task(reported: Sequence[int], tuning: Sequence[int] | None) -> Shares:
    if tuning is None:
        first = SEED_STEP * (max(reported) // SEED_STEP + 1)
        tuning = range(first, first + N_TUNING_SEEDS)
    shared = sorted({*reported} & {*tuning})
    if shared or not tuning:
        allowed = f"other seeds than those reported ({format_seeds(sorted(reported))}), at least one"
        raise BadValue("the tuning seeds", format_seeds(tuning), allowed, command="--tuning-seeds 1000-1002")
    return {None: tuple(tuning)}


def _nested(reported: Sequence[int], tuning: Sequence[int] | None) -> Shares:
    if tuning is not None:
        allowed = "none: a nested search for a seed is tuned on the training and validation parts of that seed"
        raise BadValue("the tuning seeds", format_seeds(tuning), allowed)
    return {seed: (seed,) for seed in reported}


# Kind of search -> from the seeds that are reported, and those given for tuning, to the searches of a task and model.
Divide = Callable[[Sequence[int], Sequence[int] | None], Shares]
KINDS: Registry[Divide] = Registry("kind of search")
KINDS.add(PER_TASK, _per_task)
KINDS.add(NESTED, _nested)


def seeds_to_tune(settings: SearchSettings, reported: Sequence[int]) -> Shares:
    """Return the searches of a task and model; tuning seeds that are reported too are refused."""
    return KINDS.get(settings.kind)(reported, settings.tuning_seeds)


@dataclass(frozen=True)
class SearchSpace:
    """A grid of values, as in the published package; ``n_random`` draws that many of its points and no more.

    An empty list leaves a hyperparameter as it is. The default configuration is tried first in any case.
    """

    lr: Sequence[float] = (1e-3, 1e-2)
    weight_decay: Sequence[float] = (0.0, 5e-4)
    hidden_channels: Sequence[int] = (32, 64)
    n_random: int | None = None


def read_search(given: Any) -> SearchSettings:
    """Return the settings of what a script hands over: a number of trials, a space, or settings as they are."""
    for kind, read in _READERS.items():
        if isinstance(given, kind) and not isinstance(given, bool):
            return read(given)
    allowed = "a number of trials, a mapping as {'lr': [0.001, 0.01]}, a SearchSpace, or SearchSettings"
    raise BadValue("search", given, allowed, command="search=30")


def _of_grid(given: SearchSpace) -> SearchSettings:
    names = [item.name for item in fields(given) if item.name != "n_random"]
    space = make_space("search", {name: list(getattr(given, name)) for name in names if len(getattr(given, name))})
    n_points = 1
    for dimension in space.values():
        n_points *= len(dimension.choices)
    # The grid stops at its last point; a point more is for a default that is none of them.
    trials = n_points + 1 if given.n_random is None else given.n_random
    return SearchSettings(trials=trials, sampler="grid", spaces={ALL: space})


_READERS: dict[type, Callable[[Any], SearchSettings]] = {
    SearchSettings: lambda given: given,
    SearchSpace: _of_grid,
    int: lambda given: SearchSettings(trials=given),
    Mapping: lambda given: SearchSettings(spaces={ALL: make_space("search", given)}),
}
