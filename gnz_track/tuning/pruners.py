"""Which trials are given up before all of their seeds are trained, by name.

A step is a tuning seed, and the value of a step the mean score over the seeds so far. A decision depends on trials of
earlier rounds alone, which have all ended: so it is the same after an interrupt, and on any number of workers. Giving
up within a seed would depend on when a worker is heard, and would leave a model without its selected epoch.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gnz_track.registry import Registry
from gnz_track.types import Direction

__all__ = ["PRUNERS", "Standing"]

Steps = Mapping[int, float]
# A comparison with fewer trials tells nothing.
N_STARTUP = 5
REDUCTION = 3


@dataclass(frozen=True, kw_only=True)
class Standing:
    """State of a trial: its number, its values by step (from 1 on), and those of all trials of earlier rounds."""

    number: int
    steps: Steps
    earlier: Sequence[Steps]
    n_steps: int
    direction: Direction

    @property
    def step(self) -> int:
        """The last step."""
        return max(self.steps)

    @property
    def rivals(self) -> list[float]:
        """The values of earlier trials at that step."""
        return [steps[self.step] for steps in self.earlier if self.step in steps]


Decide = Callable[[Standing], bool]
PRUNERS: Registry[Decide] = Registry("pruner")


def _is_below_median(standing: Standing) -> bool:
    """Tell whether the value is worse than the median of earlier trials at its step (Golovin et al., KDD 2017)."""
    rivals = standing.rivals
    if len(rivals) < N_STARTUP:
        return False
    return standing.direction.better(statistics.median(rivals), standing.steps[standing.step])


def _is_out_of_bracket(standing: Standing) -> bool:
    """Tell whether a trial leaves at a rung of its bracket (Li et al., JMLR 2018; asynchronously, MLSys 2020).

    Bracket ``b`` of a trial is its number modulo the number of brackets; its rungs lie at 3^b, 3^(b+1), ... seeds, and
    one in three goes on from each.
    """
    n_brackets = 1
    while REDUCTION**n_brackets <= standing.n_steps:
        n_brackets += 1
    bracket = standing.number % n_brackets
    rungs = {REDUCTION**power for power in range(bracket, n_brackets)} - {standing.n_steps}
    rivals = standing.rivals
    if standing.step not in rungs or len(rivals) < REDUCTION:
        return False
    value = standing.steps[standing.step]
    n_better = sum(standing.direction.better(rival, value) for rival in rivals)
    return n_better >= max(1, (len(rivals) + 1) // REDUCTION)


PRUNERS.add("none", lambda _: False)
PRUNERS.add("median", _is_below_median)
PRUNERS.add("hyperband", _is_out_of_bracket)
