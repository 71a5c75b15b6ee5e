"""Classes of nodes and of labelled edges, as problems: of one graph at once, of many in batches of graphs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits import Parts, label_pointer, split_edges, split_nodes
from gnz_track.runs.model_inputs import ProblemTerms, collection_of, whole_graph_of
from gnz_track.runs.posed import Problem, batches_of, classes_of, held_out_parts, seen, visible, with_labels
from gnz_track.runs.sizes import sizes_of
from gnz_track.training.baselines import constant_answer
from gnz_track.training.graphs import GraphCollection, Pairs
from gnz_track.training.loop import TRAINING
from gnz_track.training.objectives import ClassObjective
from gnz_track.training.parts import PartObjective, graphs_of
from gnz_track.training.scorers import ClassScorer

__all__ = ["pose_edges", "pose_nodes"]


def pose_nodes(dataset: FrozenDataset, terms: ProblemTerms) -> Problem:
    """Pose the classes of nodes."""
    parts = split_nodes(dataset, policy=terms.protocol.splits, seed=terms.seed)
    labels = seen(classes_of(dataset, terms, "y", dataset.n_nodes), parts, terms)
    shown = visible(labels, parts.train)
    if _is_in_batches(dataset, terms):
        graphs = collection_of(dataset, terms, labels={"y": shown})
        return _pose_parts(dataset, terms, _Labelled(parts, labels, "y", dataset.node_ptr), graphs)
    data = whole_graph_of(dataset, dataset.global_edge_index, terms)
    data.y = shown.to(terms.device)
    return _pose_whole(dataset, terms, _Labelled(parts, labels, "y", dataset.node_ptr), data)


def pose_edges(dataset: FrozenDataset, terms: ProblemTerms) -> Problem:
    """Pose the classes of labelled edges."""
    parts = split_edges(dataset, policy=terms.protocol.splits, seed=terms.seed)
    ends = dataset.tensors["edge_label_index"].long()
    labels = seen(classes_of(dataset, terms, "edge_label", ends.size(1)), parts, terms)
    fields = {"edge_label": visible(labels, parts.train)}
    features = dataset.tensors.get("edge_label_attr")
    if features is not None:
        fields["edge_label_attr"] = features.float().reshape(labels.numel(), -1)
    pointer = label_pointer(dataset)
    labelled = _Labelled(parts, labels, "edge_label", pointer)
    if _is_in_batches(dataset, terms):
        graphs = collection_of(dataset, terms, pairs=Pairs(ends, pointer, fields))
        return _pose_parts(dataset, terms, labelled, graphs)
    data = whole_graph_of(dataset, dataset.global_edge_index, terms)
    data.edge_label_index = (ends + dataset.node_ptr[:-1].repeat_interleave(pointer.diff())).to(terms.device)
    for name, value in fields.items():
        data[name] = value.to(terms.device)
    return _pose_whole(dataset, terms, labelled, data)


@dataclass(frozen=True, eq=False)
class _Labelled:
    """Nodes or edges with a class: their parts, classes, the field that shows these, and where graphs begin."""

    parts: Parts
    labels: Tensor
    field: str
    pointer: Tensor


def _is_in_batches(dataset: FrozenDataset, terms: ProblemTerms) -> bool:
    return len(dataset) > 1 and terms.batch_size > 0


def _pose_whole(dataset: FrozenDataset, terms: ProblemTerms, labelled: _Labelled, data: Data) -> Problem:
    parts, labels, sizes = labelled.parts, labelled.labels, sizes_of(dataset, terms)
    train = with_labels(parts.train, labels, terms.device)
    return Problem(
        objective=ClassObjective(data, *train, n_rows=labels.numel(), width=sizes.out_channels, loss_name=terms.loss),
        scorers={
            name: ClassScorer(*with_labels(found, labels, terms.device), loss_name=terms.loss)
            for name, found in held_out_parts(parts, terms)
        },
        sizes=sizes,
        split_digest=parts.digest,
        part_sizes=parts.sizes,
        constant=partial(constant_answer, labels[parts.train], "classes", sizes.out_channels),
    )


def _pose_parts(dataset: FrozenDataset, terms: ProblemTerms, labelled: _Labelled, graphs: GraphCollection) -> Problem:
    parts, labels, sizes = labelled.parts, labelled.labels, sizes_of(dataset, terms)
    objective = PartObjective(
        graphs=graphs,
        train=parts.train,
        held_out=torch.cat([parts.val, parts.test]),
        pointer=labelled.pointer,
        label=labelled.field,
        batch_size=terms.batch_size,
        device=terms.device,
        width=sizes.out_channels,
        loss_name=terms.loss,
    )

    def scorer(name: str, part: Tensor) -> ClassScorer:
        rows = objective.rows_of(part, training=name == TRAINING).to(terms.device)
        batches = batches_of(graphs_of(part, labelled.pointer).unique(return_inverse=True)[1], terms)
        return ClassScorer(rows, labels[part].to(terms.device), loss_name=terms.loss, batches=batches)

    return Problem(
        objective=objective,
        scorers={name: scorer(name, part) for name, part in held_out_parts(parts, terms)},
        sizes=sizes,
        split_digest=parts.digest,
        part_sizes=parts.sizes,
        constant=partial(constant_answer, labels[parts.train], "classes", sizes.out_channels),
    )
