"""Expectations on a graph: scores of settings, how far off they were on past graphs, and what a confirmation costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from gnz_track.runs.plan import usual_epochs
from gnz_track.selection.evidence import Evidence
from gnz_track.selection.graph_input import OpenedGraph
from gnz_track.selection.matrix import PerformanceMatrix
from gnz_track.selection.selectors.forest_neighbours import weigh_themselves
from gnz_track.selection.selectors.training_set import Arrays
from gnz_track.stats.design.power import seeds_needed
from gnz_track.training.metrics import METRICS
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Direction, Task

__all__ = [
    "FEWEST_SEEDS",
    "LEVEL",
    "MOST_SEEDS",
    "Expectation",
    "choose_epochs",
    "count_seeds",
    "expect_scores",
    "expect_seconds",
    "note_on_epochs",
    "note_on_extrapolation",
]


LEVEL = 0.8
# By so much a mean of scores may miss a bound.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Expectation:
    """Expected scores ``[m]`` in units of the metric, and how far off ``[m]`` they may be, NaN where nobody knows.

    ``bounds`` are the least and the largest score that the metric can have, infinite where nobody knows.
    """

    scores: Real
    margins: Real
    level: float
    bounds: tuple[float, float]

    def low(self, column: int) -> float | None:
        """Return the lower end of an interval."""
        margin = self.margins[column]
        return None if np.isnan(margin) else max(float(self.scores[column] - margin), self.bounds[0])

    def high(self, column: int) -> float | None:
        """Return the upper end of an interval."""
        margin = self.margins[column]
        return None if np.isnan(margin) else min(float(self.scores[column] + margin), self.bounds[1])


def expect_scores(matrix: PerformanceMatrix, arrays: Arrays, weights: Real, *, level: float = LEVEL) -> Expectation:
    """Return the weighted means of past scores, with margins that held for that share of past graphs.

    A margin is the conformal quantile (Vovk et al., 2005) of how far each past graph was from what the trees that had
    not seen it expected, per setting, or over all settings where too few graphs know it. With n graphs the largest
    level is n / (n + 1).

    Parameters
    ----------
    matrix
        Past scores [graphs, settings].
    arrays
        The fitted selector.
    weights
        Weights [graphs] that it gives to past graphs for the new one.
    level
        Share of past graphs that margins must cover.
    """
    sign = 1.0 if matrix.direction is Direction.up else -1.0
    filled = arrays["scores"]
    errors = np.abs(weigh_themselves(arrays) @ filled - matrix.signed)
    # Graphs count once: the settings of one graph are off together.
    of_graphs = np.array([np.nanquantile(row, level) for row in errors])
    shared = _conformal(of_graphs, level)
    margins = np.array([_conformal(column, level) for column in errors.T])
    margins = np.where(np.isnan(margins), shared, margins)
    return Expectation(sign * (weights @ filled), margins, level, _bounds_of(matrix))


def _bounds_of(matrix: PerformanceMatrix) -> tuple[float, float]:
    """Return the bounds of the metric; a matrix of somebody else may have a metric of its own, or percentages."""
    if matrix.metric not in METRICS:
        return -np.inf, np.inf
    low, high = METRICS.get(matrix.metric).bounds
    known = matrix.scores[np.isfinite(matrix.scores)]
    is_in_them = low - ROUNDING <= known.min() and known.max() <= high + ROUNDING
    return (low, high) if is_in_them else (-np.inf, np.inf)


def _conformal(errors: Real, level: float) -> float:
    """Return the error that a new one exceeds in at most ``1 - level`` of cases; NaN where n is too small to say."""
    known = np.sort(errors[np.isfinite(errors)])
    place = int(np.ceil((len(known) + 1) * level - 1e-9))
    return float(known[place - 1]) if 0 < place <= len(known) else float("nan")


FEWEST_SEEDS, MOST_SEEDS = 5, 50
# How many times as many edges as any past graph make seconds a guess.
FAR = 4
Real = NDArray[np.float64]


def choose_epochs(evidence: Evidence, opened: OpenedGraph, protocol: str) -> int | None:
    """Return the epochs of a new cell: as on this graph, or as on past ones, by their median where they differ.

    A task of the catalogue has a number of its own, as most past ones had, and takes it where they differ.

    Parameters
    ----------
    evidence, opened
        Past runs, and the new graph.
    protocol
        Label of the protocol.
    """
    is_known = (opened.name, protocol) in evidence.epochs
    name, task = protocol.partition("@")[0], _task_of(opened, evidence)
    if task and name in PROTOCOLS and not is_known and len(set(evidence.past_epochs(protocol))) > 1:
        return usual_epochs(PROTOCOLS.get(name), task)
    return evidence.epochs_on(opened.name, protocol)


def _task_of(opened: OpenedGraph, evidence: Evidence) -> Task | None:
    """Return the task that a graph was named as; none where it is posed as another kind of problem."""
    return opened.task if opened.task is not None and opened.task.task_type is evidence.task_type else None


def note_on_epochs(evidence: Evidence, opened: OpenedGraph) -> list[str]:
    """Say where past graphs were trained for different numbers of epochs, and what this one is to be trained for."""
    said = []
    for protocol in dict.fromkeys(one.protocol for one in evidence.matrix.settings):
        past = evidence.past_epochs(protocol)
        if (opened.name, protocol) not in evidence.epochs and len(set(past)) > 1:
            why = "the number of this task" if _task_of(opened, evidence) else "their median"
            chosen = choose_epochs(evidence, opened, protocol)
            said.append(
                f"past graphs were trained for {past[0]} to {past[-1]} epochs; a confirmation takes {chosen}, {why}, "
                "and what is expected can be off for that"
            )
    return said


def expect_seconds(evidence: Evidence, opened: OpenedGraph, epochs: Sequence[int | None]) -> list[float | None]:
    """Return seconds of one seed per setting: as on this very graph, or by a line over nodes and edges of past ones.

    Past cells of other numbers of epochs count in proportion. Neither what a cell takes at least nor what a node and an
    edge add is below 0 (least squares of Lawson and Hanson, 1974, relative to what was measured: small graphs count as
    much as large ones).

    Parameters
    ----------
    evidence, opened
        Past runs, and the new graph.
    epochs
        Epochs of the new cell [settings].
    """
    matrix, size = evidence.matrix, opened.parts.network.n_nodes + opened.parts.network.n_edges
    own = matrix.graphs.index(opened.name) if opened.name in matrix.graphs else None
    found: list[float | None] = []
    for column, (seconds, wanted) in enumerate(zip(matrix.seconds.T, epochs, strict=True)):
        known = np.isfinite(seconds) & (seconds > 0)
        if own is not None and known[own]:
            found.append(float(seconds[own]))
        elif known.any():
            scaled = (seconds * _shares_of(evidence, matrix.settings[column].protocol, wanted))[known]
            terms = np.stack([np.ones(known.sum()), evidence.sizes[known]], axis=1) / scaled[:, None]
            (least, slope), _ = nnls(terms, np.ones(known.sum()))
            found.append(float(least + slope * size))
        else:
            found.append(None)
    return found


def note_on_extrapolation(evidence: Evidence, opened: OpenedGraph) -> list[str]:
    """Say where a graph is far larger than all past ones, and its seconds are a guess for that."""
    times = opened.parts.network.n_edges / max(evidence.most_edges, 1.0)
    said = f"seconds are extrapolated: {times:.0f} times as many edges as any past graph; they can be far off"
    return [said] if times > FAR else []


def _shares_of(evidence: Evidence, protocol: str, wanted: int | None) -> Real:
    """Return how much longer than on each past graph ``[graphs]`` a cell is trained; 1 where that is not known."""
    past = [evidence.epochs.get((graph, protocol), wanted) for graph in evidence.matrix.graphs]
    return np.array([wanted / n if wanted and n else 1.0 for n in past])


def count_seeds(evidence: Evidence, expected: Expectation, order: NDArray[np.int64], graph: str) -> tuple[int, str]:
    """Return how many seeds show the difference of the first two, and a sentence where that is not what it seems.

    They are within what anybody would run. The difference is what was measured on this very graph where both were run
    on it, and what is expected elsewhere.

    Parameters
    ----------
    evidence, expected
        Past runs, and the scores to expect.
    order
        Columns of the settings, the best one first.
    graph
        Name of the new graph.
    """
    matrix = evidence.matrix
    if len(order) < 2:
        return FEWEST_SEEDS, ""
    spread = matrix.spread[np.isfinite(matrix.spread) & (matrix.spread > 0)]
    if not len(spread):
        note = (
            f"how far scores differ from seed to seed is unknown, as cells have one seed each or agree: {FEWEST_SEEDS} "
            "seeds are a usual number, not one counted for the difference of the first two"
        )
        return FEWEST_SEEDS, note
    lead = _lead_of_first(matrix, expected, order, graph)
    # Two settings differ by the noise of both.
    d_z = abs(lead) / (float(np.median(spread)) * 2**0.5)
    needed = seeds_needed(d_z, most=MOST_SEEDS) if d_z > 0 else None
    number = min(max(needed or MOST_SEEDS, FEWEST_SEEDS), MOST_SEEDS)
    if lead >= 0:
        return number, ""
    first, second = (matrix.settings[column].label for column in order[:2])
    note = (
        f"by expected score {second}, the second, is ahead of {first}, the first, by {-lead:.3g}: the order goes by "
        f"how near to the best they came on past graphs; {number} seeds are for a difference of that size"
    )
    return number, note


def _lead_of_first(matrix: PerformanceMatrix, expected: Expectation, order: NDArray[np.int64], graph: str) -> float:
    """Return by how much the first of an order is better than the second; below 0 where it is expected to be worse."""
    scores = expected.scores
    if graph in matrix.graphs:
        own = matrix.scores[matrix.graphs.index(graph)]
        scores = own if np.isfinite(own[order[:2]]).all() else scores
    lead = float(scores[order[0]] - scores[order[1]])
    return lead if matrix.direction == "up" else -lead
