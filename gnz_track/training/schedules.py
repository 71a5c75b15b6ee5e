"""When the learning rate falls and when training is over: small objects, chosen by name."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Protocol

import torch
from torch.optim.lr_scheduler import ReduceLROnPlateau

from gnz_track.errors import BadValue
from gnz_track.types import Optimiser

__all__ = ["Clock", "Schedule", "make_schedule", "watches_loss"]

SECONDS_PER_HOUR = 3600.0


class Schedule(Protocol):
    """What is told of every epoch, may change the learning rate, and says whether training is over."""

    def end_epoch(self, row: Mapping[str, float]) -> bool:
        """Take note of the values of an epoch by series; return whether it was the last one."""
        ...


class _Constant:
    """The learning rate stays what it is."""

    def __init__(self, optimiser: torch.optim.Optimizer, settings: Optimiser) -> None:
        del optimiser, settings

    def end_epoch(self, row: Mapping[str, float]) -> bool:
        del row
        return False


class _Plateau:
    """The learning rate falls while the validation loss does not, and ends training once it is too small."""

    def __init__(self, optimiser: torch.optim.Optimizer, settings: Optimiser) -> None:
        self._optimiser, self._min_lr = optimiser, settings.min_lr
        self._inner = ReduceLROnPlateau(optimiser, factor=settings.factor, patience=settings.patience)

    def end_epoch(self, row: Mapping[str, float]) -> bool:
        self._inner.step(row["val/loss"])
        return bool(self._optimiser.param_groups[0]["lr"] < self._min_lr)


_SCHEDULES: dict[str, Callable[[torch.optim.Optimizer, Optimiser], Schedule]] = {
    "constant": _Constant,
    "plateau": _Plateau,
}
# Those that are told of ``val/loss``, which costs a pass over the validation labels.
_WATCHFUL = frozenset({"plateau"})


def make_schedule(optimiser: torch.optim.Optimizer, settings: Optimiser) -> Schedule:
    """Return the schedule that the settings of an optimiser name."""
    if settings.schedule not in _SCHEDULES:
        raise BadValue("schedule", settings.schedule, ", ".join(_SCHEDULES))
    return _SCHEDULES[settings.schedule](optimiser, settings)


def watches_loss(settings: Optimiser) -> bool:
    """Tell whether a schedule has to be told of the validation loss."""
    return settings.schedule in _WATCHFUL


class Clock:
    """Says when the longest time that training may take is over; 0 hours is never."""

    def __init__(self, hours: float) -> None:
        self._hours, self._started = hours, time.perf_counter()

    def is_over(self) -> bool:
        """Tell whether the time is up."""
        return 0 < self._hours * SECONDS_PER_HOUR <= time.perf_counter() - self._started
