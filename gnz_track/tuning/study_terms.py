"""Terms of a study: two studies that differ in any of it but the budget are two studies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.tuning.pruners import PRUNERS
from gnz_track.tuning.samplers import check_sampler
from gnz_track.tuning.spaces import Space, Value, digest_of_space
from gnz_track.types import Direction

__all__ = ["ROUND_SIZE", "Budget", "StudyTerms"]

# Trials that are proposed together, from what all before them have told. It is the same for any number of workers, so
# that they change nothing but the time that a search takes.
ROUND_SIZE = 4


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Limits of a search: trials, those that fail included, and where they are given epochs or seconds in all.

    No trial begins that might exceed the epochs, and none once the seconds are used up.
    """

    trials: int
    epochs: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if type(self.trials) is not int or self.trials < 1:
            raise BadValue("the budget of a search", self.trials, "at least 1 trial", command="--trials 30")
        if self.epochs is not None and (type(self.epochs) is not int or self.epochs < 1):
            raise BadValue("the epochs of a search", self.epochs, "a whole number from 1", command="--max-epochs 5000")
        if self.seconds is not None and not self.seconds > 0:
            raise BadValue("the seconds of a search", self.seconds, "more than 0", command="--max-seconds 600")

    def at_least(self, trials: int, epochs: int) -> Budget:
        """Return the limits that a search had which did so many trials and epochs, be it when more was asked for."""
        most = None if self.epochs is None else max(self.epochs, epochs)
        return replace(self, trials=max(self.trials, trials), epochs=most)

    def to_mapping(self) -> dict[str, float]:
        """Return the limits that were given."""
        limits = {"trials": self.trials, "epochs": self.epochs, "seconds": self.seconds}
        return {name: limit for name, limit in limits.items() if limit is not None}


@dataclass(frozen=True, kw_only=True)
class StudyTerms:
    """Terms of a study.

    ``default`` is trial 0, whether the space holds its values or not, so that what is found is never worse on
    validation than what one would have taken anyway. ``label`` says whose search it is: with the seed, it decides all
    proposals. ``n_steps`` is the number of scores of which that of a trial is the mean, ``price`` the most epochs that
    a trial may take. ``facts`` are what a score depends on beside the values: data, protocol, and seeds.
    """

    space: Space
    direction: Direction
    budget: Budget
    label: str = ""
    sampler: str = "tpe"
    pruner: str = "none"
    seed: int = 0
    default: Mapping[str, Value] = field(default_factory=dict)
    n_steps: int = 1
    price: int = 1
    round_size: int = ROUND_SIZE
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_sampler(self.sampler, self.space)
        PRUNERS.get(self.pruner)
        if self.budget.epochs is not None and self.budget.epochs < self.price:
            allowed = f"at least {self.price}, which one trial may take"
            raise BadValue("the epochs of a search", self.budget.epochs, allowed, command=f"--max-epochs {self.price}")

    def complete(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return a configuration in full: what it does not name is at its default.

        A name of the space that has no default is left to the model, as it is where nobody searches.
        """
        return {name: value for name, value in {**self.default, **values}.items() if name in self.space}

    def to_json(self) -> str:
        """Return all but the budget, which may grow, as one text."""
        agreed = {
            "space": digest_of_space(self.space),
            "direction": str(self.direction),
            "sampler": self.sampler,
            "pruner": self.pruner,
            "seed": self.seed,
            "default": dict(self.default),
            "trials at once": self.round_size,
            **self.facts,
        }
        return json.dumps(agreed, sort_keys=True)
