"""Every choice of a comparison in one frozen record, checked before anything is computed."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from gnz_track.errors import BadValue, UnknownName
from gnz_track.records import freeze_mappings
from gnz_track.stats.estimates.effects import SHARE_INTERVALS
from gnz_track.stats.estimates.intervals import INTERVALS
from gnz_track.stats.inputs import check_level, check_whole
from gnz_track.stats.significance.multiple import ADJUSTMENTS
from gnz_track.stats.significance.paired import ZERO_METHODS

__all__ = ["FAMILIES", "MISSING_POLICIES", "POSTHOCS", "TESTS", "Choices", "choose", "value_for"]

# What a family of tests is.
FAMILIES = {"task": "all pairs of one task", "all": "all pairs of all tasks"}
POSTHOCS = {"wilcoxon-holm": "pairs tested by themselves, exact Wilcoxon with Holm", "nemenyi": "mean ranks, Nemenyi"}
# The tests a verdict within a task may rest on; the first two are always in the record.
TESTS = {
    "t": "paired t",
    "wilcoxon": "exact Wilcoxon",
    "sign_flip": "sign flip of the mean",
    "nadeau_bengio": "Nadeau-Bengio t",
    "anytime": "anytime-valid t, a look after every seed",
    "fixed_looks": "t at 3, 5, 10, 20, 30 seeds",
}
MISSING_POLICIES = {
    "drop_pair": "a seed or task that one of two models lacks is left out for that pair; ranks use complete tasks",
    "drop_task": "as drop_pair, and a task that lacks a model is left out of everything across tasks",
    "drop_model": "a model that lacks a seed of a task is left out of that task, and of everything across tasks",
    "worst_rank": "as drop_pair, and a model that lacks a seed of a task is ranked behind those that have all of them",
}
# Value by task or by metric, or one for all.
PerTask = float | Mapping[str, float] | None


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Options of a comparison; each field is part of the record.

    ``margin`` (the largest advantage that does not matter) and ``resolution`` (the step of the metric) are in units of
    the metric, one number or a number by task or metric; ``rope`` is the same for the Bayesian answers, which are given
    only with it. ``split_sizes`` (n_train, n_test) serve ``test="nadeau_bengio"``, where seeds draw overlapping splits;
    where they are not given, they are those that the results table tells.
    ``bounds`` (worst, best), one pair or a pair by task or metric, put all tasks on one scale; without them there are
    no aggregates. ``decimals`` is what scores will be printed with, so that the record can say whether ranks follow
    from the print.
    """

    alpha: float = 0.05
    margin: PerTask = None
    family: str = "task"
    posthoc: str = "wilcoxon-holm"
    test: str = "t"
    adjustment: str = "holm"
    missing: str = "drop_pair"
    interval: str = "t"
    share_interval: str = "wilson"
    zero_method: str = "wilcox"
    resolution: PerTask = None
    power: float = 0.8
    rope: float | None = None
    split_sizes: tuple[int, int] | Mapping[str, tuple[int, int]] | None = None
    bounds: tuple[float, float] | Mapping[str, tuple[float, float]] | None = None
    n_resamples: int = 10_000
    seed: int = 0
    decimals: int = 3

    def __post_init__(self) -> None:
        check_level("alpha", self.alpha)
        for field, known in _KNOWN.items():
            if getattr(self, field) not in known:
                raise UnknownName(field, getattr(self, field), known)
        if not self.alpha < self.power < 1:
            raise BadValue("power", self.power, f"a number between alpha ({self.alpha:g}) and 1, such as 0.8")
        if self.adjustment == "shaffer" and self.family == "all":
            raise BadValue("adjustment", "shaffer", "holm for family='all': Shaffer's knows the pairs of one task only")
        check_whole("n_resamples", self.n_resamples, least=1)
        check_whole("decimals", self.decimals, least=0)
        for name in ("margin", "resolution"):
            given = getattr(self, name)
            for value in given.values() if isinstance(given, Mapping) else [given]:
                _check_positive(name, value)
        if self.rope is not None and not (math.isfinite(self.rope) and self.rope >= 0):
            raise BadValue("rope", self.rope, "a number from 0 on, in units of the metric")
        freeze_mappings(
            self, *(n for n in ("margin", "resolution", "split_sizes", "bounds") if _is_mapping(getattr(self, n)))
        )

    def __str__(self) -> str:
        margin = "no margin" if self.margin is None else f"margin {_say_per_task(self.margin)}"
        return (
            f"alpha {self.alpha:g}, {TESTS[self.test]} with {self.adjustment} over {FAMILIES[self.family]}, {margin}, "
            f"{self.interval} intervals, across tasks {self.posthoc}, missing: {self.missing}"
        )


_KNOWN: dict[str, Mapping[str, Any]] = {
    "family": FAMILIES,
    "posthoc": POSTHOCS,
    "test": TESTS,
    "adjustment": ADJUSTMENTS,
    "missing": MISSING_POLICIES,
    "interval": INTERVALS,
    "share_interval": SHARE_INTERVALS,
    "zero_method": ZERO_METHODS,
}


def choose(choices: Choices | None, given: Mapping[str, Any]) -> Choices:
    """Return the choices with those given by name put in their place."""
    known = [field.name for field in fields(Choices)]
    for name in given:
        if name not in known:
            raise UnknownName("choice of a comparison", name, known)
    return dataclasses.replace(choices or Choices(), **given)


def value_for(given: Any, task: str, metric: str) -> Any:
    """Return what holds for one task: its own value, that of its metric, or the one for all; None if there is none.

    Parameters
    ----------
    given
        One value for all, a mapping from tasks or metrics to values, or None.
    task, metric
        Names that the mapping may have.
    """
    return given.get(task, given.get(metric)) if isinstance(given, Mapping) else given


def _check_positive(name: str, value: float | None) -> None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise BadValue(name, value, "a positive number in units of the metric, or such a number by task or metric")


def _is_mapping(value: object) -> bool:
    return isinstance(value, Mapping)


def _say_per_task(margin: PerTask) -> str:
    if isinstance(margin, Mapping):
        return ", ".join(f"{name} {value:g}" for name, value in margin.items())
    return f"{margin:g}"
