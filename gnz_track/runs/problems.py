"""From a frozen dataset, a split and a protocol to what the training room works with.

This is the one place where datasets, splits, objectives and scorers meet, and so where test labels are taken out of
reach: an objective is given training labels, each scorer the labels of its own part, and ``data.y`` shows a model
training labels only. A blind problem, as a search is given, has no test labels at all: they are erased here, before
anything is built of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits import (
    Parts,
    TriplePart,
    label_pointer,
    split_edges,
    split_graphs,
    split_links,
    split_nodes,
    split_triples,
)
from gnz_track.errors import BadValue
from gnz_track.models.building import Sizes
from gnz_track.runs.model_inputs import Terms, collection_of, sizes_of, unfit, whole_graph_of
from gnz_track.training.objectives import (
    ClassObjective,
    GraphObjective,
    LinkObjective,
    Objective,
    TripleObjective,
)
from gnz_track.training.scorers import ClassScorer, GraphScorer, LinkScorer, Scorer, TripleScorer
from gnz_track.types import TaskType

__all__ = ["Problem", "Terms", "pose"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A task made concrete for one seed."""

    objective: Objective
    scorers: Mapping[str, Scorer]
    sizes: Sizes
    split_digest: str


def pose(dataset: FrozenDataset, terms: Terms) -> Problem:
    """Pose a dataset as the problem of its task type."""
    kind = "triples" if terms.task_type is TaskType.link_pred and dataset.is_relational else str(terms.task_type)
    if kind not in _POSERS:
        raise BadValue("task type", kind, ", ".join(_POSERS), command="gnz tasks")
    missing = [name for name in _NEEDED[kind] if name not in dataset.tensors]
    if missing:
        raise unfit(dataset, terms, f"it has no {missing[0]}")
    if kind == "triples" and terms.perturbation:
        raise unfit(dataset, terms, f"edges have kinds, for which {terms.perturbation!r} means nothing")
    return _POSERS[kind](dataset, terms)


def _pose_nodes(dataset: FrozenDataset, terms: Terms) -> Problem:
    parts = split_nodes(dataset, policy=terms.protocol.splits, seed=terms.seed)
    labels = _seen(_classes(dataset, terms, "y", dataset.n_nodes), parts, terms)
    data = whole_graph_of(dataset, dataset.global_edge_index, terms)
    data.y = _visible(labels, parts.train).to(terms.device)
    return Problem(
        objective=ClassObjective(
            data,
            *_with_labels(parts.train, labels, terms.device),
            n_rows=dataset.n_nodes,
            width=dataset.n_classes,
        ),
        scorers={
            name: ClassScorer(*_with_labels(nodes, labels, terms.device)) for name, nodes in _held_out(parts, terms)
        },
        sizes=sizes_of(dataset, data, terms, out_channels=dataset.n_classes),
        split_digest=parts.digest,
    )


def _pose_edges(dataset: FrozenDataset, terms: Terms) -> Problem:
    parts = split_edges(dataset, policy=terms.protocol.splits, seed=terms.seed)
    ends = dataset.tensors["edge_label_index"].long()
    labels = _classes(dataset, terms, "edge_label", ends.size(1))
    n_classes = max(int(labels.max()) + 1, 0)
    labels = _seen(labels, parts, terms)
    data = whole_graph_of(dataset, dataset.global_edge_index, terms)
    first_nodes = dataset.node_ptr[:-1].repeat_interleave(label_pointer(dataset).diff())
    data.edge_label_index = (ends + first_nodes).to(terms.device)
    data.edge_label = _visible(labels, parts.train).to(terms.device)
    features = dataset.tensors.get("edge_label_attr")
    if features is not None:
        data.edge_label_attr = features.float().reshape(labels.numel(), -1).to(terms.device)
    return Problem(
        objective=ClassObjective(
            data, *_with_labels(parts.train, labels, terms.device), n_rows=labels.numel(), width=n_classes
        ),
        scorers={
            name: ClassScorer(*_with_labels(edges, labels, terms.device)) for name, edges in _held_out(parts, terms)
        },
        sizes=replace(
            sizes_of(dataset, data, terms, out_channels=n_classes),
            n_edge_features=0 if features is None else data.edge_label_attr.size(1),
            is_directed=dataset.is_directed,
        ),
        split_digest=parts.digest,
    )


def _pose_graphs(dataset: FrozenDataset, terms: Terms) -> Problem:
    parts = split_graphs(dataset, policy=terms.protocol.splits, seed=terms.seed)
    kind, out_channels, labels = _graph_labels(dataset, terms)
    labels = _seen(labels, parts, terms)
    graphs = collection_of(dataset, terms)
    # All that is held out is predicted, scored or not: in other batches, sums would differ in the last digits.
    held_out = torch.cat([parts.val, parts.test])
    counts = [parts.val.numel(), parts.test.numel()]
    rows = dict(zip(("val", "test"), torch.arange(held_out.numel()).split(counts), strict=True))
    objective = GraphObjective(
        graphs=graphs,
        train=parts.train,
        labels=labels[parts.train],
        held_out=held_out,
        loss_name=kind,
        batch_size=terms.batch_size or parts.train.numel(),
        device=terms.device,
        width=out_channels,
    )
    scorers = {
        name: GraphScorer(rows[name].to(terms.device), labels[part].to(terms.device), kind)
        for name, part in _held_out(parts, terms)
    }
    data = Data(x=graphs.node["x"])
    return Problem(
        objective=objective,
        scorers=scorers,
        sizes=sizes_of(dataset, data, terms, out_channels=out_channels),
        split_digest=parts.digest,
    )


def _pose_links(dataset: FrozenDataset, terms: Terms) -> Problem:
    split = split_links(dataset, policy=terms.protocol.splits, seed=terms.seed)
    data = whole_graph_of(dataset, split.message_edges, terms)
    move = terms.device
    return Problem(
        objective=LinkObjective(data, split.train.pairs.to(move), split.train.labels.to(move)),
        scorers={name: LinkScorer(part.pairs.to(move), part.labels.to(move)) for name, part in _scored(split, terms)},
        sizes=sizes_of(dataset, data, terms, out_channels=terms.hidden_channels),
        split_digest=split.digest,
    )


def _pose_triples(dataset: FrozenDataset, terms: Terms) -> Problem:
    split = split_triples(dataset, seed=terms.seed)
    data = whole_graph_of(dataset, split.train.edge_index, terms)
    data.edge_type = split.train.edge_type.to(terms.device)
    # Ranks are filtered by what is known: in a blind problem that is no test triple.
    named = [("train", split.train), *_scored(split, terms)]
    triples = {name: _triples(part).to(terms.device) for name, part in named}
    known = torch.cat(list(triples.values()), dim=1)
    return Problem(
        objective=TripleObjective(data, triples["train"], dataset.n_relations),
        scorers={
            name: TripleScorer(triples[name], part.negatives[1].to(terms.device), known)
            for name, part in _scored(split, terms)
        },
        sizes=sizes_of(dataset, data, terms, out_channels=terms.hidden_channels, n_relations=dataset.n_relations),
        split_digest=split.digest,
    )


_POSERS: dict[str, Callable[[FrozenDataset, Terms], Problem]] = {
    "node_cls": _pose_nodes,
    "graph_cls": _pose_graphs,
    "graph_reg": _pose_graphs,
    "link_pred": _pose_links,
    "triples": _pose_triples,
    "edge_cls": _pose_edges,
}
_LABELLED = ("edge_index", "y")
_NEEDED = {
    "node_cls": _LABELLED,
    "graph_cls": _LABELLED,
    "graph_reg": _LABELLED,
    "link_pred": ("edge_index",),
    "triples": (),
    "edge_cls": ("edge_index", "edge_label_index", "edge_label"),
}


def _graph_labels(dataset: FrozenDataset, terms: Terms) -> tuple[str, int, Tensor]:
    """Return the kind of label, the outputs it needs, and the labels, one row per graph."""
    is_numbers = terms.task_type is TaskType.graph_reg
    if not is_numbers and not dataset.is_multi_label:
        return "classes", dataset.n_classes, _classes(dataset, terms, "y", len(dataset))
    y = dataset.tensors["y"]
    if y.numel() % len(dataset):
        raise unfit(dataset, terms, f"y has {y.numel()} values for {len(dataset)} graphs")
    y = y.float().view(len(dataset), -1)
    return "numbers" if is_numbers else "labels", y.size(1), y


def _classes(dataset: FrozenDataset, terms: Terms, name: str, n: int) -> Tensor:
    """Return the class of each of ``n`` examples ``[n]``; several columns or numbers are no classes."""
    y = dataset.tensors[name]
    if y.numel() != n or y.is_floating_point():
        raise unfit(dataset, terms, f"{name} is {y.dtype} {list(y.shape)}, one whole number for each of {n} is needed")
    return y.flatten().long()


def _visible(labels: Tensor, shown: Tensor) -> Tensor:
    """Return labels with all but the shown ones replaced by -1."""
    visible = torch.full_like(labels, -1)
    visible[shown] = labels[shown]
    return visible


def _with_labels(index: Tensor, labels: Tensor, device: str) -> tuple[Tensor, Tensor]:
    return index.to(device), labels[index].to(device)


def _held_out(parts: Parts, terms: Terms) -> list[tuple[str, Tensor]]:
    if terms.is_blind and not parts.val.numel():
        raise BadValue("the validation part", "empty", "one with examples, by which a search can choose")
    return [(name, part) for name, part in parts.items().items() if name in _SCORED[terms.is_blind]]


def _scored(split: Any, terms: Terms) -> list[tuple[str, Any]]:
    """Return the parts of a split of links or triples that are scored."""
    return [(name, getattr(split, name)) for name in _SCORED[terms.is_blind]]


def _seen(labels: Tensor, parts: Parts, terms: Terms) -> Tensor:
    """Return labels ``[n, ...]``; in a blind problem those of the test part are erased: classes are -1, numbers NaN."""
    if not terms.is_blind:
        return labels
    left = labels.clone()
    left[parts.test] = math.nan if labels.is_floating_point() else -1
    return left


# Whether a problem is blind -> the parts that are scored; the last one is reported.
_SCORED = {False: ("val", "test"), True: ("val",)}


def _triples(part: TriplePart) -> Tensor:
    return torch.stack([part.edge_index[0], part.edge_type, part.edge_index[1]])
