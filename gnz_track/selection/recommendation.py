"""Recommendation of models for a graph: settings ranked by what was measured on past graphs, without training."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.homes import data_home
from gnz_track.errors import BadValue
from gnz_track.selection.evidence import Evidence, digest_of_graphs, gather_evidence, name_apart, read_past
from gnz_track.selection.expectations import (
    FEWEST_SEEDS,
    choose_epochs,
    count_seeds,
    expect_scores,
    expect_seconds,
    note_on_epochs,
    note_on_extrapolation,
)
from gnz_track.selection.feasibility import (
    check_labels,
    find_duplicate_graphs,
    note_on_duplicates,
    note_on_labels,
    reason_against,
)
from gnz_track.selection.features.feature_sets import FEATURE_SETS
from gnz_track.selection.graph_input import OpenedGraph, open_graph, view_as
from gnz_track.selection.matrix import ModelSetting, PerformanceMatrix
from gnz_track.selection.selectors.catalogue import fit_selector
from gnz_track.selection.selectors.forest_neighbours import weigh_past_graphs
from gnz_track.store.address import Address, parse_address
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Direction, TaskType

__all__ = ["RankedSetting", "Recommendation", "rank_settings", "recommend"]

SELECTOR, FEATURES = "forest_neighbours", "task"
N_REASONS = 3


@dataclass(frozen=True, kw_only=True)
class RankedSetting:
    """One setting: what to expect of it, why, and what a run of it would take.

    ``expected`` is a score of the metric, ``low`` and ``high`` bound it at the level of the recommendation; they are
    None where too few past graphs are known. ``n_past`` counts the past graphs on which it was run, ``known`` is the
    weight of these among all: what is left of 1 is filled in from other settings. ``seconds`` is what one seed may
    take, ``epochs`` how many make a new cell comparable with past ones. ``measured`` is its mean score where it was run
    on this very graph; expectations take it in, with the others.
    """

    rank: int
    setting: ModelSetting
    expected: float
    low: float | None
    high: float | None
    n_past: int
    known: float
    seconds: float | None
    epochs: int | None
    measured: float | None
    why: str

    @property
    def is_guess(self) -> bool:
        """Tell whether more than half of what is expected is filled in from other settings."""
        return self.known < 0.5


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """Settings in order, the past graphs that speak for them, and what it takes to confirm the first against others.

    Settings that were run on this very graph stand in the order of what was measured, in the places that they have
    among the others. ``neighbours`` are past graphs with their weights, heaviest first. ``n_seeds`` is how many seeds
    show the difference between the first two in four of five cases; ``notes`` are sentences for the user. ``alike`` are
    past graphs that are this one in another form.
    """

    graph: str
    task_type: TaskType
    metric: str
    direction: Direction
    level: float
    ranking: tuple[RankedSetting, ...]
    neighbours: tuple[tuple[str, float], ...]
    n_graphs: int
    n_seeds: int
    notes: tuple[str, ...] = ()
    alike: tuple[str, ...] = ()

    def minutes(self, k: int) -> float | None:
        """Return how long a confirmation of the first ``k`` may take, one after another; None where unknown."""
        known = [one.seconds for one in self.ranking[:k] if one.seconds is not None]
        return sum(known) / len(known) * min(k, len(self.ranking)) * self.seeds_for(k) / 60 if known else None

    def seeds_for(self, k: int) -> int:
        """Return how many seeds a confirmation of the first ``k`` takes; one alone has no difference to show."""
        return self.n_seeds if min(k, len(self.ranking)) > 1 else FEWEST_SEEDS

    def to_json(self) -> dict[str, Any]:
        """Return plain values, for files and programs."""
        plain = asdict(self)
        plain["ranking"] = [
            {
                **asdict(one),
                "setting": {"model": one.setting.model, **dict(one.setting.options)},
                "protocol": one.setting.protocol,
            }
            for one in self.ranking
        ]
        return plain | {"task_type": str(self.task_type), "direction": str(self.direction)}


def recommend(
    graph: object,
    task_type: TaskType | str | None = None,
    *,
    store: str | Address = "",
    home: str | Path | None = None,
    mirror: str | Path | None = None,
    is_unseen: bool = False,
    protocol: str = "",
) -> Recommendation:
    """Rank all settings that a store knows for a kind of problem by their expected scores on a graph, without training.

    The graph is judged without what a split keeps for tests: that of seed 0, or of a ``Cell`` its own.

    Parameters
    ----------
    graph
        Path, name of the catalogue, PyG ``Data``, list of them, or networkx graph.
    task_type
        Kind of problem; a task by name brings its own.
    store, home, mirror
        Address of the store, and folders of prepared and of raw data.
    is_unseen
        Whether to leave out runs on this very task, on the same data under another name, and on past graphs that are
        the same in all that is compared.
    protocol
        Protocol whose scores count; without, the one under which most is known.
    """
    folder = Path(home).expanduser().absolute() if home else data_home()
    opened = open_graph(graph, home=folder, mirror=mirror)
    wanted = _choose_task_type(opened, task_type)
    check_labels(opened, wanted)
    address = store if isinstance(store, Address) else parse_address(store)
    digest = digest_of_graphs(opened.graphs)
    runs, own_task = read_past(address, wanted), opened.task.name if opened.task else ""
    is_named = opened.task is not None and opened.task.name in TASKS
    name = opened.name if is_named else name_apart(opened.name, digest, runs.table)
    gather = partial(
        gather_evidence,
        features=FEATURES,
        home=folder,
        protocol=PROTOCOLS.get(protocol.partition("@")[0]).label if protocol else "",
        known_as={digest: name},
    )
    evidence = gather(runs.without(own_task, digest) if is_unseen else runs)
    alike = find_duplicate_graphs(opened, evidence, FEATURES, name)
    if is_unseen and alike:
        evidence = gather(runs.without(own_task, digest, alike))
    found = rank_settings(replace(opened, name=name), evidence)
    notes = (*_notes_on_graph(opened, name, found), *note_on_duplicates(alike, is_unseen=is_unseen))
    return replace(found, notes=(*found.notes, *notes), alike=alike)


def rank_settings(opened: OpenedGraph, evidence: Evidence, *, seed: int = 0) -> Recommendation:
    """Return the recommendation for an opened graph.

    Parameters
    ----------
    opened, evidence
        The graph, and past runs.
    seed
        Seed of the selector.
    """
    matrix, opened = evidence.matrix, view_as(opened, evidence.task_type)
    own = FEATURE_SETS.get(FEATURES).compute(opened.parts)[None]
    fitted = fit_selector(SELECTOR, evidence.features, matrix.signed, seed=seed)
    scores = fitted.predict(own)[0]
    weights = weigh_past_graphs(fitted.arrays, np.nan_to_num(own))[0]
    expected = expect_scores(matrix, fitted.arrays, weights)
    order = _order_settings(matrix, opened.name, scores)
    epochs = [choose_epochs(evidence, opened, one.protocol) for one in matrix.settings]
    seconds = expect_seconds(evidence, opened, epochs)
    ranking = tuple(
        RankedSetting(
            rank=place + 1,
            setting=matrix.settings[column],
            expected=float(expected.scores[column]),
            low=expected.low(column),
            high=expected.high(column),
            n_past=int(np.isfinite(matrix.scores[:, column]).sum()),
            known=float(weights[np.isfinite(matrix.scores[:, column])].sum()),
            seconds=seconds[column],
            epochs=epochs[column],
            measured=_measured_score(matrix, opened.name, int(column)),
            why=_explain_rank(evidence, weights, int(column)),
        )
        for place, column in enumerate(order)
    )
    heaviest = np.argsort(-weights, kind="stable")
    n_seeds, note = count_seeds(evidence, expected, order, opened.name)
    told = [*note_on_epochs(evidence, opened), note, *note_on_extrapolation(evidence, opened)]
    return Recommendation(
        graph=opened.name,
        task_type=evidence.task_type,
        metric=matrix.metric,
        direction=matrix.direction,
        level=expected.level,
        ranking=ranking,
        neighbours=tuple((matrix.graphs[row], float(weights[row])) for row in heaviest if weights[row] > 0),
        n_graphs=len(matrix.graphs),
        n_seeds=n_seeds,
        notes=(*evidence.notes, *filter(None, told)),
    )


def _order_settings(matrix: PerformanceMatrix, graph: str, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the columns, best first by what is predicted; those measured on this graph by that, in their places.

    A prediction takes in what was measured here as one past graph among others: it may not overrule it.
    """
    order = np.argsort(-scores, kind="stable")
    if graph in matrix.graphs:
        own = matrix.signed[matrix.graphs.index(graph)]
        places = np.flatnonzero(np.isfinite(own[order]))
        measured = order[places]
        order[places] = measured[np.argsort(-own[measured], kind="stable")]
    return order


def _notes_on_graph(opened: OpenedGraph, name: str, found: Recommendation) -> list[str]:
    reason = reason_against(opened, found.task_type)
    notes = [f"nothing can be confirmed on this graph: {reason}"] if reason else []
    told = "" if reason else note_on_labels(opened, found.task_type)
    notes += [told] if told else []
    if name != opened.name:
        notes.append(f"{opened.name} is called {name} in this store, whose names are each of one graph")
    if any(one.measured is not None for one in found.ranking):
        notes.append(
            "some of these were run on this very graph: they stand in the order of what was measured, and expectations "
            "take that in; without it: --unseen"
        )
    return notes


def _measured_score(matrix: PerformanceMatrix, graph: str, column: int) -> float | None:
    score = matrix.scores[matrix.graphs.index(graph), column] if graph in matrix.graphs else np.nan
    return float(score) if np.isfinite(score) else None


def _choose_task_type(opened: OpenedGraph, given: TaskType | str | None) -> TaskType:
    if given is not None:
        return TaskType(given)
    if opened.task is None:
        command = "--task-type node_cls, or task_type='node_cls' from Python"
        raise BadValue("task type", None, ", ".join(TaskType), command=command)
    return opened.task.task_type


def _explain_rank(evidence: Evidence, weights: NDArray[np.float64], column: int) -> str:
    """Say what place a setting took on the heaviest of the past graphs that know it."""
    signed = evidence.matrix.signed
    reasons = []
    for row in np.argsort(-weights, kind="stable"):
        own, known = signed[row, column], signed[row][np.isfinite(signed[row])]
        # Of one setting alone the place is no news.
        if weights[row] > 0 and np.isfinite(own) and len(known) > 1:
            place = int(np.sum(known > own)) + 1
            reasons.append(f"{place} of {len(known)} on {evidence.matrix.graphs[row]} ({weights[row]:.2f})")
        if len(reasons) == N_REASONS:
            break
    if not reasons and weights[np.isfinite(signed[:, column])].any():
        return "run on similar graphs as the only one: no place to tell"
    return ", ".join(reasons) or "never run on a similar graph: filled in from the others"
