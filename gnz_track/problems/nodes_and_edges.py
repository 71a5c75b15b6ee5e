"""Classes, labels and numbers of nodes and of labelled edges: of one graph at once, of many in batches of graphs."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.nodes_and_graphs import Parts, label_pointer, split_edges, split_nodes
from gnz_track.problems.baselines import constant_answer
from gnz_track.problems.inputs import (
    collection_of,
    complete_sizes,
    count_columns,
    mapped_graph_of,
    nodes_of,
    sizes_of_classes,
    sizes_of_edges,
    whole_graph_of,
)
from gnz_track.problems.problem import (
    Problem,
    ProblemKind,
    batches_of,
    check_outputs,
    has_labels,
    held_out_parts,
    known_classes,
    known_numbers,
    labels_of,
    numbers_of,
    parts_of,
    seen,
    visible,
    with_labels,
)
from gnz_track.problems.rows import RowScorer
from gnz_track.problems.sampled import SampledObjective, batches_from
from gnz_track.training.acceleration.receptive_field import receptive_field_of
from gnz_track.training.answers import Answers, Examples
from gnz_track.training.graphs import GraphCollection, Pairs, expand
from gnz_track.training.loop import TRAINING, Objective
from gnz_track.training.losses import choose_loss
from gnz_track.types import CellSettings

__all__ = ["EDGES", "NODES", "ClassObjective", "ClassScorer", "PartObjective", "graphs_of", "pose_edges", "pose_nodes"]


def graphs_of(parts: Tensor, pointer: Tensor) -> Tensor:
    """Return the graph of each part ``[n]``, given where each graph begins among the parts ``[n_graphs + 1]``."""
    return torch.searchsorted(pointer, parts, right=True) - 1


@dataclass(frozen=True, eq=False)
class ClassObjective:
    """A loss over training parts of one graph, nodes or labelled edges: places ``rows [n]``, ``labels [n, ...]``.

    Predicts the outputs of all ``n_rows`` of them ``[n_rows, width]``. ``kind`` is that of the labels.
    """

    data: Data
    rows: Tensor
    labels: Tensor
    n_rows: int
    # Columns that the model must return; 0 checks nothing.
    width: int = 0
    # Another loss than the usual one.
    loss_name: str = ""
    kind: str = "classes"
    # Number of layers -> what of the graph the loss sees through them.
    fields: dict[int, Any] = field(default_factory=dict)

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield the whole graph, once."""
        del generator
        yield copy.copy(self.data)

    def loss(self, model: nn.Module, batch: Data) -> tuple[Tensor, int]:
        """Return the loss of the training parts."""
        seen = receptive_field_of(model, batch.edge_index, self.rows, self.n_rows, known=self.fields)
        rows, n_rows = (self.rows, self.n_rows) if seen is None else (seen.rows, seen.n_rows)
        if seen is not None:
            batch.layer_edges = seen.edges
        logits = check_outputs(model, model(batch), n_rows, self.width)
        loss = choose_loss(self.kind, self.loss_name)
        return loss(logits.index_select(0, rows), self.labels), rows.numel()

    def predict(self, model: nn.Module) -> Tensor:
        """Return the outputs for all nodes, or for all labelled edges ``[n_rows, width]``."""
        logits: Tensor = model(copy.copy(self.data))
        return logits

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return the same."""
        return self.predict(model)


@dataclass(frozen=True, eq=False)
class PartObjective:
    """A loss over the nodes or labelled edges of graphs in shuffled batches; ``kind`` is that of the labels.

    The collection carries the training labels as ``y`` of nodes, or ``edge_label`` of labelled edges; all others are
    -1, or NaN where they are reals. Parts count through all graphs, ``pointer [n_graphs + 1]`` says where each graph
    begins among them. Predicts ``[n, width]`` for all parts of the graphs that have one among ``held_out [m]``, whole
    graphs in their order: :meth:`rows_of` says where a part is found.
    """

    graphs: GraphCollection
    train: Tensor
    held_out: Tensor
    pointer: Tensor
    label: str
    batch_size: int
    device: str = "cpu"
    # Columns that the model must return; 0 checks nothing.
    width: int = 0
    loss_name: str = ""
    kind: str = "classes"

    def __post_init__(self) -> None:
        for name, parts in (("_train_graphs", self.train), ("_held_out_graphs", self.held_out)):
            object.__setattr__(self, name, graphs_of(parts, self.pointer).unique())

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield shuffled batches of the graphs that have training labels."""
        graphs: Tensor = self._train_graphs  # type: ignore[attr-defined]
        order = graphs[torch.randperm(graphs.numel(), generator=generator)]
        for batch, _ in self.graphs.batches(order, self.batch_size):
            yield self._moved(batch)

    def loss(self, model: nn.Module, batch: Data) -> tuple[Tensor, int]:
        """Return the loss of the training parts of one batch."""
        labels = batch[self.label]
        is_shown = labels >= 0 if self.kind == "classes" else ~labels.isnan().all(dim=1)
        rows = is_shown.nonzero().flatten()
        logits = check_outputs(model, model(batch), labels.size(0), self.width)
        loss = choose_loss(self.kind, self.loss_name)
        return loss(logits.index_select(0, rows), labels.index_select(0, rows)), rows.numel()

    def predict(self, model: nn.Module) -> Tensor:
        """Return the logits of all parts of graphs with held-out ones ``[n, classes]``."""
        return self._predict(model, self._held_out_graphs)  # type: ignore[attr-defined]

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return the logits of all parts of graphs with training ones ``[n, classes]``."""
        return self._predict(model, self._train_graphs)  # type: ignore[attr-defined]

    def rows_of(self, parts: Tensor, *, training: bool = False) -> Tensor:
        """Return the rows ``[n]`` of a prediction where parts ``[n]`` are found."""
        graphs: Tensor = self._train_graphs if training else self._held_out_graphs  # type: ignore[attr-defined]
        starts = expand(self.pointer, graphs)[1]
        graph = graphs_of(parts, self.pointer)
        return parts - self.pointer[graph] + starts[torch.searchsorted(graphs, graph)]

    def _predict(self, model: nn.Module, graphs: Tensor) -> Tensor:
        # In batches as large as those of training: an evaluation must not need more memory than a step.
        batches = self.graphs.batches(graphs, self.batch_size)
        return torch.cat([model(self._moved(_without_label(batch, self.label))) for batch, _ in batches])

    def _moved(self, batch: Data) -> Data:
        # Moving would make new tensors, without the structure that hangs on the edges.
        return batch if self.device == "cpu" else batch.to(self.device)


def _without_label(batch: Data, label: str) -> Data:
    """Return a batch without its labels."""
    shown = copy.copy(batch)
    del shown[label]
    return shown


@dataclass(frozen=True, eq=False)
class ClassScorer(RowScorer):
    """Labels of held-out nodes or labelled edges: places ``rows [n]`` among the outputs for all of them.

    Given the batch ``batches [n]`` of each, scores and losses are means over batches.
    """

    kind: str = "classes"


def pose_nodes(dataset: FrozenDataset, settings: CellSettings) -> Problem:
    """Pose the classes, labels or numbers of nodes."""
    parts = parts_of(split_nodes, dataset, settings)
    kind, labels = labels_of(dataset, settings, "y", dataset.n_nodes)
    labels = seen(labels, parts, settings)
    shown = visible(labels, parts.train)
    labelled = _Labelled(parts, kind, labels, "y", dataset.node_ptr, _of_nodes)
    if _is_in_batches(dataset, settings):
        graphs = collection_of(dataset, settings, labels={"y": shown}, in_training=parts.train)
        return _pose_parts(dataset, settings, labelled, graphs)
    if settings.neighbours:
        data = mapped_graph_of(dataset, dataset.global_edge_index, settings, in_training=parts.train)
        data.y = shown
        return _pose_whole(dataset, settings, labelled, data)
    data = whole_graph_of(dataset, dataset.global_edge_index, settings, in_training=parts.train)
    data.y = shown.to(settings.device)
    return _pose_whole(dataset, settings, labelled, data)


def pose_edges(dataset: FrozenDataset, settings: CellSettings) -> Problem:
    """Pose the classes or numbers of labelled edges."""
    parts = parts_of(split_edges, dataset, settings)
    ends, pointer, features = _labelled_edges_of(dataset)
    kind, labels = labels_of(dataset, settings, "edge_label", ends.size(1))
    labels = seen(labels, parts, settings)
    fields = {"edge_label": visible(labels, parts.train), **features}
    across = ends + dataset.node_ptr[:-1].repeat_interleave(pointer.diff())
    labelled = _Labelled(parts, kind, labels, "edge_label", pointer, _of_labelled_edges, across)
    if _is_in_batches(dataset, settings):
        nodes = nodes_of(dataset, graphs_of(parts.train, pointer))
        graphs = collection_of(dataset, settings, pairs=Pairs(ends, pointer, fields), in_training=nodes)
        return _pose_parts(dataset, settings, labelled, graphs)
    every = torch.arange(dataset.n_nodes)
    data = whole_graph_of(dataset, dataset.global_edge_index, settings, in_training=every)
    data.edge_label_index = across.to(settings.device)
    for name, value in fields.items():
        data[name] = value.to(settings.device)
    return _pose_whole(dataset, settings, labelled, data)


@dataclass(frozen=True, eq=False)
class _Labelled:
    """Nodes or edges with labels: their parts, labels, the field that shows these, where graphs begin, sizes.

    ``ends [2, n]`` are those of edges among all nodes.
    """

    parts: Parts
    kind: str
    labels: Tensor
    field: str
    pointer: Tensor
    sizes: Callable[[FrozenDataset, CellSettings], dict[str, Any]]
    ends: Tensor | None = None

    def examples(self, part: Tensor) -> Examples:
        """Return the names of those of a part ``[n]``."""
        if self.ends is None:
            return Examples("node", {"id": part})
        head, tail = self.ends[:, part]
        return Examples("edge", {"id": part, "head": head, "tail": tail})


def _is_in_batches(dataset: FrozenDataset, settings: CellSettings) -> bool:
    return len(dataset) > 1 and settings.optimiser.batch_size > 0


def _pose_whole(dataset: FrozenDataset, settings: CellSettings, labelled: _Labelled, data: Data) -> Problem:
    parts, labels = labelled.parts, labelled.labels
    sizes = complete_sizes(dataset, settings, labelled.sizes(dataset, settings))
    return Problem(
        objective=_objective_of(dataset, settings, labelled, data, width=sizes.out_channels),
        scorers={
            name: ClassScorer(
                *with_labels(found, labels, settings.device),
                kind=labelled.kind,
                loss_name=settings.optimiser.loss,
                examples=labelled.examples(found),
            )
            for name, found in held_out_parts(parts, settings)
        },
        sizes=sizes,
        split_digest=parts.digest,
        split=partial(numbers_of, parts),
        part_sizes=parts.sizes,
        constant=partial(constant_answer, labels[parts.train], labelled.kind, sizes.out_channels),
    )


def _objective_of(
    dataset: FrozenDataset, settings: CellSettings, labelled: _Labelled, data: Data, *, width: int
) -> Objective:
    """Return the objective of one graph: taken whole, or in batches with drawn neighbours."""
    about: dict[str, Any] = {"width": width, "loss_name": settings.optimiser.loss, "kind": labelled.kind}
    train, labels = labelled.parts.train, labelled.labels
    if settings.neighbours:
        graph = batches_from(data, dataset, settings)
        return SampledObjective(graph, train, settings.optimiser.batch_size, **about)
    return ClassObjective(data, *with_labels(train, labels, settings.device), n_rows=labels.size(0), **about)


def _pose_parts(
    dataset: FrozenDataset, settings: CellSettings, labelled: _Labelled, graphs: GraphCollection
) -> Problem:
    parts, labels = labelled.parts, labelled.labels
    sizes = complete_sizes(dataset, settings, labelled.sizes(dataset, settings))
    objective = PartObjective(
        graphs=graphs,
        train=parts.train,
        held_out=torch.cat([parts.val, parts.test]),
        pointer=labelled.pointer,
        label=labelled.field,
        batch_size=settings.optimiser.batch_size,
        device=settings.device,
        width=sizes.out_channels,
        loss_name=settings.optimiser.loss,
        kind=labelled.kind,
    )

    def scorer(name: str, part: Tensor) -> ClassScorer:
        rows = objective.rows_of(part, training=name == TRAINING).to(settings.device)
        batches = batches_of(graphs_of(part, labelled.pointer).unique(return_inverse=True)[1], settings)
        about = {"loss_name": settings.optimiser.loss, "batches": batches, "examples": labelled.examples(part)}
        return ClassScorer(rows, labels[part].to(settings.device), labelled.kind, **about)

    return Problem(
        objective=objective,
        scorers={name: scorer(name, part) for name, part in held_out_parts(parts, settings)},
        sizes=sizes,
        split_digest=parts.digest,
        split=partial(numbers_of, parts),
        part_sizes=parts.sizes,
        constant=partial(constant_answer, labels[parts.train], labelled.kind, sizes.out_channels),
    )


def _of_nodes(dataset: FrozenDataset, settings: CellSettings) -> dict[str, Any]:
    if not settings.task_type.predicts_numbers:
        return sizes_of_classes(dataset, settings)
    width = count_columns(dataset.tensors.get("y"), dataset.n_nodes)
    return {"out_channels": width, **sizes_of_edges(dataset, settings)}


def _of_labelled_edges(dataset: FrozenDataset, settings: CellSettings) -> dict[str, Any]:
    labels, features = dataset.tensors["edge_label"], dataset.tensors.get("edge_label_attr")
    n = dataset.tensors["edge_label_index"].size(1)
    n_classes = max(int(labels.max()) + 1, 0) if labels.numel() else 0
    return {
        "out_channels": count_columns(labels, n) if settings.task_type.predicts_numbers else n_classes,
        "n_edge_features": count_columns(features, n),
        "is_directed": dataset.is_directed,
        **sizes_of_edges(dataset, settings),
    }


def _ask_nodes(model: nn.Module, dataset: FrozenDataset, settings: CellSettings) -> tuple[Answers, ...]:
    n = dataset.n_nodes
    graphs = collection_of(dataset, settings) if _is_in_batches(dataset, settings) else None
    shown = {"y": torch.full((n,), -1)} if _has_classes(dataset, settings) else {}
    outputs = _ask(model, dataset, settings, graphs=graphs, shown=shown)
    return (Answers(Examples("node", {"id": torch.arange(n)}), _known(dataset, settings, "y", outputs), outputs),)


def _ask_edges(model: nn.Module, dataset: FrozenDataset, settings: CellSettings) -> tuple[Answers, ...]:
    ends, pointer, features = _labelled_edges_of(dataset)
    pairs = Pairs(ends, pointer, features)
    graphs = collection_of(dataset, settings, pairs=pairs) if _is_in_batches(dataset, settings) else None
    across = ends + dataset.node_ptr[:-1].repeat_interleave(pointer.diff())
    outputs = _ask(model, dataset, settings, graphs=graphs, shown={"edge_label_index": across, **features})
    n = ends.size(1)
    examples = Examples("edge", {"id": torch.arange(n), "head": across[0], "tail": across[1]})
    return (Answers(examples, _known(dataset, settings, "edge_label", outputs), outputs),)


def _has_classes(dataset: FrozenDataset, settings: CellSettings) -> bool:
    return not settings.task_type.predicts_numbers and not has_labels(dataset, settings)


def _known(dataset: FrozenDataset, settings: CellSettings, name: str, outputs: Tensor) -> Tensor:
    """Return what is true of each example as far as a dataset knows it."""
    if _has_classes(dataset, settings):
        return known_classes(dataset, name, outputs.size(0))
    return known_numbers(dataset, name, outputs)


def _ask(
    model: nn.Module,
    dataset: FrozenDataset,
    settings: CellSettings,
    *,
    graphs: GraphCollection | None,
    shown: Mapping[str, Tensor],
) -> Tensor:
    """Return the outputs for all nodes or labelled edges: of graphs in batches, or of all at once as trained on."""
    if graphs is not None:
        batches = graphs.batches(torch.arange(len(dataset)), settings.optimiser.batch_size)
        return torch.cat([model(batch.to(settings.device)) for batch, _ in batches])
    data = whole_graph_of(dataset, dataset.global_edge_index, settings)
    for name, value in shown.items():
        data[name] = value.to(settings.device)
    outputs: Tensor = model(data)
    return outputs


def _labelled_edges_of(dataset: FrozenDataset) -> tuple[Tensor, Tensor, dict[str, Tensor]]:
    """Return the ends of the edges that are classified, where those of each graph begin, and their features."""
    ends, features = dataset.tensors["edge_label_index"].long(), dataset.tensors.get("edge_label_attr")
    shown = {} if features is None else {"edge_label_attr": features.float().reshape(ends.size(1), -1)}
    return ends, label_pointer(dataset), shown


NODES = ProblemKind(
    pose=pose_nodes,
    sizes=_of_nodes,
    ask=_ask_nodes,
    needs=("edge_index", "y"),
    divide=split_nodes,
    is_sampled=True,
)
EDGES = ProblemKind(
    pose=pose_edges,
    sizes=_of_labelled_edges,
    ask=_ask_edges,
    divide=split_edges,
    needs=("edge_index", "edge_label_index", "edge_label"),
)
