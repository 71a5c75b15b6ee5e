"""From a frozen dataset, a split and a protocol to what the training room works with.

This is the one place where datasets, splits, objectives and scorers meet, and so where test labels are taken out of
reach: an objective is given training labels, each scorer the labels of its own part, and ``data.y`` shows a model
training labels only. A blind problem, as a search is given, has no test labels at all: they are erased here, before
anything is built of them. The kinds of problem are `posed_nodes.py`, `posed_graphs.py` and `posed_links.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gnz_track.datasets.encodings import parse_encoding
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.errors import BadValue
from gnz_track.problems.batches import vary
from gnz_track.problems.graph import pose_graphs, pose_two_levels
from gnz_track.problems.inputs import ProblemTerms, unfit
from gnz_track.problems.link_pred import pose_links, pose_triples
from gnz_track.problems.node_and_edge_cls import pose_edges, pose_nodes
from gnz_track.problems.problem import Problem
from gnz_track.types import TaskType

__all__ = ["Problem", "ProblemTerms", "pose"]


def pose(dataset: FrozenDataset, terms: ProblemTerms) -> Problem:
    """Pose a dataset as the problem of its task type."""
    kind = "triples" if terms.task_type is TaskType.link_pred and dataset.is_relational else str(terms.task_type)
    if kind not in _POSERS:
        raise BadValue("task type", kind, ", ".join(_POSERS), command="gnz tasks")
    missing = [name for name in _NEEDED[kind] if name not in dataset.tensors]
    if missing:
        raise unfit(dataset, terms, f"it has no {missing[0]}")
    if kind == "triples" and terms.perturbation:
        raise unfit(dataset, terms, f"edges have kinds, for which {terms.perturbation!r} means nothing")
    if terms.encoding and terms.perturbation:
        raise unfit(
            dataset, terms, f"{terms.encoding!r} would encode the graph as it is without {terms.perturbation!r}"
        )
    if terms.loss and kind in _ONE_LOSS:
        raise BadValue(f"the loss of {kind}", terms.loss, "empty: it has one loss only")
    problem = _POSERS[kind](dataset, terms)
    encoding = parse_encoding(terms.encoding)
    if encoding is None:
        return problem
    if kind == "triples" and encoding.variation != "none":
        raise BadValue(
            "the encoding of a knowledge graph", encoding.name, "one that training does not vary: lap20-plain"
        )
    return replace(problem, objective=vary(problem.objective, encoding.variation))


_POSERS: dict[str, Callable[[FrozenDataset, ProblemTerms], Problem]] = {
    "node_cls": pose_nodes,
    "graph_cls": pose_graphs,
    "graph_reg": pose_graphs,
    "link_pred": pose_links,
    "triples": pose_triples,
    "edge_cls": pose_edges,
    "multi_task": pose_two_levels,
}
_ONE_LOSS = frozenset({"link_pred", "triples", "multi_task"})
_LABELLED = ("edge_index", "y")
_NEEDED = {
    "node_cls": _LABELLED,
    "graph_cls": _LABELLED,
    "graph_reg": _LABELLED,
    "link_pred": ("edge_index",),
    "triples": (),
    "edge_cls": ("edge_index", "edge_label_index", "edge_label"),
    "multi_task": (*_LABELLED, "graph_y"),
}
