"""From a frozen dataset, a split and a protocol to what the training room works with.

This is the one place where datasets, splits, objectives and scorers meet, and so where test labels are taken out of
reach: an objective is given training labels, each scorer the labels of its own part, and ``data.y`` shows a model
training labels only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits import (
    Parts,
    TriplePart,
    identity_features,
    split_graphs,
    split_links,
    split_nodes,
    split_triples,
    structural_features,
)
from gnz_track.errors import BadValue, SplitImpossible
from gnz_track.models.building import Sizes
from gnz_track.training.acceleration import attach, sparsify
from gnz_track.training.graphs import GraphCollection
from gnz_track.training.objectives import GraphObjective, LinkObjective, NodeObjective, Objective, TripleObjective
from gnz_track.training.scorers import GraphScorer, LinkScorer, NodeScorer, Scorer, TripleScorer
from gnz_track.types import Protocol, TaskType

__all__ = ["Problem", "pose"]


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A task made concrete for one seed."""

    objective: Objective
    scorers: Mapping[str, Scorer]
    sizes: Sizes
    split_digest: str


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Under which terms a dataset is posed as a problem."""

    task_type: TaskType
    protocol: Protocol
    seed: int
    hidden_channels: int
    batch_size: int
    device: str


def pose(dataset: FrozenDataset, terms: Terms) -> Problem:
    """Pose a dataset as the problem of its task type."""
    kind = "triples" if terms.task_type is TaskType.link_pred and dataset.is_relational else str(terms.task_type)
    if kind not in _POSERS:
        raise BadValue("task type", kind, ", ".join(_POSERS), command="gnz tasks")
    missing = [name for name in _NEEDED[kind] if name not in dataset.tensors]
    if missing:
        raise _unfit(dataset, terms, f"it has no {missing[0]}")
    return _POSERS[kind](dataset, terms)


def _pose_nodes(dataset: FrozenDataset, terms: Terms) -> Problem:
    parts = split_nodes(dataset, policy=terms.protocol.splits, seed=terms.seed)
    labels = _classes(dataset, terms, dataset.n_nodes)
    data = _whole_graph(dataset, dataset.global_edge_index, terms)
    data.y = _visible(labels, parts.train).to(terms.device)
    return Problem(
        objective=NodeObjective(data, *_with_labels(parts.train, labels, terms.device), width=dataset.n_classes),
        scorers={name: NodeScorer(*_with_labels(nodes, labels, terms.device)) for name, nodes in _held_out(parts)},
        sizes=_sizes(dataset, data, terms, out_channels=dataset.n_classes),
        split_digest=parts.digest,
    )


def _pose_graphs(dataset: FrozenDataset, terms: Terms) -> Problem:
    parts = split_graphs(dataset, policy=terms.protocol.splits, seed=terms.seed)
    kind, out_channels, labels = _graph_labels(dataset, terms)
    graphs = _collection(dataset, terms)
    held_out = torch.cat([parts.val, parts.test])
    sizes = [parts.val.numel(), parts.test.numel()]
    rows = dict(zip(("val", "test"), torch.arange(held_out.numel()).split(sizes), strict=True))
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
        for name, part in _held_out(parts)
    }
    data = Data(x=graphs.node["x"])
    return Problem(
        objective=objective,
        scorers=scorers,
        sizes=_sizes(dataset, data, terms, out_channels=out_channels),
        split_digest=parts.digest,
    )


def _pose_links(dataset: FrozenDataset, terms: Terms) -> Problem:
    split = split_links(dataset, policy=terms.protocol.splits, seed=terms.seed)
    data = _whole_graph(dataset, split.message_edges, terms)
    move = terms.device
    return Problem(
        objective=LinkObjective(data, split.train.pairs.to(move), split.train.labels.to(move)),
        scorers={
            name: LinkScorer(part.pairs.to(move), part.labels.to(move))
            for name, part in (("val", split.val), ("test", split.test))
        },
        sizes=_sizes(dataset, data, terms, out_channels=terms.hidden_channels),
        split_digest=split.digest,
    )


def _pose_triples(dataset: FrozenDataset, terms: Terms) -> Problem:
    split = split_triples(dataset, seed=terms.seed)
    data = _whole_graph(dataset, split.train.edge_index, terms)
    data.edge_type = split.train.edge_type.to(terms.device)
    triples = {name: _triples(part).to(terms.device) for name, part in _named(split)}
    known = torch.cat(list(triples.values()), dim=1)
    return Problem(
        objective=TripleObjective(data, triples["train"], dataset.n_relations),
        scorers={
            name: TripleScorer(triples[name], part.negatives[1].to(terms.device), known)
            for name, part in _named(split)
            if name != "train"
        },
        sizes=_sizes(dataset, data, terms, out_channels=terms.hidden_channels, n_relations=dataset.n_relations),
        split_digest=split.digest,
    )


_POSERS: dict[str, Callable[[FrozenDataset, Terms], Problem]] = {
    "node_cls": _pose_nodes,
    "graph_cls": _pose_graphs,
    "graph_reg": _pose_graphs,
    "link_pred": _pose_links,
    "triples": _pose_triples,
}
_LABELLED = ("edge_index", "y")
_NEEDED = {
    "node_cls": _LABELLED,
    "graph_cls": _LABELLED,
    "graph_reg": _LABELLED,
    "link_pred": ("edge_index",),
    "triples": (),
}


def _whole_graph(dataset: FrozenDataset, message_edges: Tensor, terms: Terms) -> Data:
    """Return one graph with features and message edges, and what else is known of its nodes."""
    data = Data(num_nodes=dataset.n_nodes)
    data.x = _features(dataset, message_edges, terms.protocol.features)
    for name, value in _fields(dataset, "node"):
        data[name] = value
    if message_edges is dataset.global_edge_index:
        # Features of edges are known for the graph as it is; a split of its links leaves some out and reorders them.
        for name, value in _fields(dataset, "edge"):
            data[name] = value
    data.edge_index = message_edges
    data = data.to(terms.device)
    if terms.device == "cpu":
        data.x = sparsify(data.x)
        # A tensor of our own: what hangs on it must not outlive this problem.
        data.edge_index = attach(message_edges.clone(), dataset.n_nodes)
    return data


def _collection(dataset: FrozenDataset, terms: Terms) -> GraphCollection:
    node = dict(_fields(dataset, "node"))
    node["x"] = _features(dataset, dataset.global_edge_index, terms.protocol.features)
    return GraphCollection(
        edge_index=dataset.tensors["edge_index"],
        node_ptr=dataset.node_ptr,
        edge_ptr=dataset.edge_ptr,
        node=node,
        edge=dict(_fields(dataset, "edge")),
    )


# Fields with a part of their own: labels and splits are not for models, edges and features are set apart.
_SET_APART = ("x", "y", "edge_index", "train_mask", "val_mask", "test_mask")


def _fields(dataset: FrozenDataset, along: str) -> list[tuple[str, Tensor]]:
    """Return the fields of nodes or of edges that a model may read."""
    fields = dataset.card.fields.items()
    return [(name, dataset.tensors[name]) for name, item in fields if item.along == along and name not in _SET_APART]


_FEATURES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "structural": structural_features,
    "identity": lambda _, n_nodes: identity_features(n_nodes),
}


def _features(dataset: FrozenDataset, message_edges: Tensor, policy: str) -> Tensor:
    """Return the features of the dataset; where it has none, those of the protocol's policy."""
    if policy not in _FEATURES:
        raise BadValue("the features of a protocol", policy, ", ".join(_FEATURES))
    x = dataset.tensors.get("x")
    if x is None:
        return _FEATURES[policy](message_edges, dataset.n_nodes)
    x = x.unsqueeze(1) if x.dim() == 1 else x
    return x.float() if x.is_floating_point() else x.long()


def _sizes(dataset: FrozenDataset, data: Data, terms: Terms, *, out_channels: int, n_relations: int = 0) -> Sizes:
    x: Any = data.x
    if out_channels < 1:
        raise SplitImpossible(dataset.name, terms.protocol.splits, f"it has no labels for {terms.task_type}")
    return Sizes(
        in_channels=x.size(1),
        hidden_channels=terms.hidden_channels,
        out_channels=out_channels,
        vocabulary=() if x.is_floating_point() else dataset.card.vocabularies,
        n_relations=n_relations,
    )


def _graph_labels(dataset: FrozenDataset, terms: Terms) -> tuple[str, int, Tensor]:
    """Return the kind of label, the outputs it needs, and the labels, one row per graph."""
    is_numbers = terms.task_type is TaskType.graph_reg
    if not is_numbers and not dataset.is_multi_label:
        return "classes", dataset.n_classes, _classes(dataset, terms, len(dataset))
    y = dataset.tensors["y"]
    if y.numel() % len(dataset):
        raise _unfit(dataset, terms, f"y has {y.numel()} values for {len(dataset)} graphs")
    y = y.float().view(len(dataset), -1)
    return "numbers" if is_numbers else "labels", y.size(1), y


def _classes(dataset: FrozenDataset, terms: Terms, n: int) -> Tensor:
    """Return the class of each of ``n`` examples ``[n]``; several columns or numbers are no classes."""
    y = dataset.tensors["y"]
    if y.numel() != n or y.is_floating_point():
        raise _unfit(dataset, terms, f"y is {y.dtype} {list(y.shape)}, one whole number for each of {n} is needed")
    return y.flatten().long()


def _unfit(dataset: FrozenDataset, terms: Terms, reason: str) -> SplitImpossible:
    return SplitImpossible(dataset.name, terms.protocol.splits, f"{reason} ({terms.task_type})")


def _visible(labels: Tensor, shown: Tensor) -> Tensor:
    """Return labels with all but the shown ones replaced by -1."""
    visible = torch.full_like(labels, -1)
    visible[shown] = labels[shown]
    return visible


def _with_labels(index: Tensor, labels: Tensor, device: str) -> tuple[Tensor, Tensor]:
    return index.to(device), labels[index].to(device)


def _held_out(parts: Parts) -> list[tuple[str, Tensor]]:
    return [("val", parts.val), ("test", parts.test)]


def _named(split: Any) -> list[tuple[str, TriplePart]]:
    return [("train", split.train), ("val", split.val), ("test", split.test)]


def _triples(part: TriplePart) -> Tensor:
    return torch.stack([part.edge_index[0], part.edge_type, part.edge_index[1]])
