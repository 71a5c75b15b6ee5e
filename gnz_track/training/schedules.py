"""Schedules: when the learning rate falls and when training is over; small objects, chosen by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from gnz_track.errors import BadValue
from gnz_track.types import Direction, Metric, Optimiser
from gnz_track.waking_time import WakingTime

__all__ = ["Clock", "Schedule", "make_schedule", "watches_loss"]

SECONDS_PER_HOUR = 3600.0


class Schedule(Protocol):
    """A schedule is told of every epoch, may change the learning rate, and says whether training is over."""

    def end_epoch(self, row: Mapping[str, float]) -> bool:
        """Take note of the values of an epoch by series; return whether it was the last one."""
        ...


class _Constant:
    """The learning rate stays what it is."""

    def __init__(self, optimiser: torch.optim.Optimizer, settings: Optimiser, metric: Metric | None) -> None:
        del optimiser, settings, metric

    def end_epoch(self, row: Mapping[str, float]) -> bool:
        del row
        return False


class _Plateau:
    """The learning rate falls while the validation loss does not, and ends training once it is too small."""

    def __init__(self, optimiser: torch.optim.Optimizer, settings: Optimiser, metric: Metric | None) -> None:
        self._optimiser, self._min_lr = optimiser, settings.min_lr
        self._series, mode = self.watched(metric)
        self._inner = ReduceLROnPlateau(optimiser, mode=mode, factor=settings.factor, patience=settings.patience)

    def watched(self, metric: Metric | None) -> tuple[str, Literal["min", "max"]]:
        """Return the series that is to become better, and whether it then falls or rises."""
        del metric
        return "val/loss", "min"

    def end_epoch(self, row: Mapping[str, float]) -> bool:
        self._inner.step(row[self._series])
        return bool(self._optimiser.param_groups[0]["lr"] < self._min_lr)


class _ScorePlateau(_Plateau):
    """The same by the score on validation."""

    def watched(self, metric: Metric | None) -> tuple[str, Literal["min", "max"]]:
        if metric is None:
            raise BadValue("the metric of schedule 'score_plateau'", None, "one that validation is scored by")
        return f"val/{metric.name}", "max" if metric.direction is Direction.up else "min"


_SCHEDULES: dict[str, Callable[[torch.optim.Optimizer, Optimiser, Metric | None], Schedule]] = {
    "constant": _Constant,
    "plateau": _Plateau,
    "score_plateau": _ScorePlateau,
}
# Those that are told of ``val/loss``, which costs a pass over the validation labels.
_WATCHFUL = frozenset({"plateau"})


def make_schedule(optimiser: torch.optim.Optimizer, settings: Optimiser, *, metric: Metric | None = None) -> Schedule:
    """Return the schedule that the settings of an optimiser name.

    Parameters
    ----------
    optimiser
        Optimiser whose learning rate changes.
    settings
        Name and numbers of the schedule.
    metric
        Metric of the task.
    """
    if settings.schedule not in _SCHEDULES:
        raise BadValue("schedule", settings.schedule, ", ".join(_SCHEDULES))
    return _SCHEDULES[settings.schedule](optimiser, settings, metric)


def watches_loss(settings: Optimiser) -> bool:
    """Tell whether a schedule has to be told of the validation loss."""
    return settings.schedule in _WATCHFUL


class Clock:
    """Says when the longest time that training may take is over; 0 hours is never, and one that is stopped waits."""

    def __init__(self, hours: float) -> None:
        self._seconds, self._time = hours * SECONDS_PER_HOUR, WakingTime() if hours else None

    def is_over(self) -> bool:
        """Tell whether the time is up."""
        return self._time is not None and self._time.seconds() >= self._seconds
