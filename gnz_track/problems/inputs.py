"""Inputs of a model from a frozen dataset: features, message edges, other fields, encodings, and the sizes of these.

Sizes are told without making a single tensor: a plan asks for them before anything is posed, to find the width of a
budget; a problem carries the same. Encodings may be varied in training, batch by batch; evaluation sees them as they
are.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Generator, Tensor, nn
from torch_geometric.data import Data

from gnz_track.datasets.encodings import (
    N_LEARNED,
    N_STRUCTURAL,
    encode_nodes,
    identity_features,
    node_numbers,
    parse_encoding,
    structural_features,
)
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.perturbations import changes_edges, form_of_features, perturb_together
from gnz_track.datasets.scales import standardise
from gnz_track.errors import BadValue, SplitImpossible
from gnz_track.models.options import Sizes
from gnz_track.seeds import derive
from gnz_track.training.acceleration import attach, attach_rows, sparsify
from gnz_track.training.forwards import has_fast_layers
from gnz_track.training.graphs import GraphCollection, Pairs
from gnz_track.training.loop import Objective
from gnz_track.types import CellSettings

__all__ = [
    "FEATURES",
    "VARIATIONS",
    "EncodedObjective",
    "collection_of",
    "complete_sizes",
    "count_columns",
    "mapped_graph_of",
    "nodes_of",
    "sizes_of_classes",
    "sizes_of_edges",
    "unfit",
    "vary",
    "whole_graph_of",
]


def whole_graph_of(
    dataset: FrozenDataset,
    message_edges: Tensor,
    settings: CellSettings,
    *,
    split_digest: str = "",
    in_training: Tensor | None = None,
) -> Data:
    """Return one graph with features and message edges, and what else is known of its nodes.

    Parameters
    ----------
    dataset
        Dataset of one graph.
    message_edges
        Edges along which messages go, ``[2, n_edges]``.
    settings
        What a cell asks of its data.
    split_digest
        Digest of the split that hides some of the edges.
    in_training
        Numbers of the nodes that features are scaled by.
    """
    data = _graph_of(dataset, message_edges, settings, split_digest=split_digest, in_training=in_training)
    data = data.to(settings.device)
    if has_fast_layers(settings):
        # What is set beside the features of nodes could not be if these were sparse.
        data.x = data.x if settings.encoding else sparsify(data.x, is_trusted=True)
        # A tensor of our own: what hangs on it must not outlive this problem. Our models write into nothing, and those
        # of others are lent copies.
        data.edge_index = attach(data.edge_index.clone(), dataset.n_nodes, is_trusted=True)
    return data


def mapped_graph_of(
    dataset: FrozenDataset,
    message_edges: Tensor,
    settings: CellSettings,
    *,
    split_digest: str = "",
    in_training: Tensor | None = None,
) -> Data:
    """Return one graph as :func:`whole_graph_of` does, on the CPU and with nothing that is mapped copied.

    Features that are real numbers of single precision stay in their file, and edges have their rows attached.

    Parameters
    ----------
    dataset, message_edges, settings, split_digest, in_training
        Those of :func:`whole_graph_of`.
    """
    data = _graph_of(dataset, message_edges, settings, split_digest=split_digest, in_training=in_training)
    data.edge_index = attach_rows(data.edge_index.contiguous(), dataset.n_nodes)
    return data


def _graph_of(
    dataset: FrozenDataset,
    message_edges: Tensor,
    settings: CellSettings,
    *,
    split_digest: str,
    in_training: Tensor | None,
) -> Data:
    data = Data(num_nodes=dataset.n_nodes)
    data.x = _features(dataset, message_edges, settings, in_training)
    for name, value in _fields(dataset, "node"):
        data[name] = value
    if message_edges is dataset.global_edge_index:
        # Features of edges are known for the graph as it is; a split of its links leaves some out and reorders them.
        for name, value in _fields(dataset, "edge"):
            data[name] = value
    if settings.perturbation:
        data.x, changed, _ = _perturb(dataset, data.x, message_edges, settings, split_digest=split_digest)
        if changed is not message_edges:
            message_edges = changed
            for name, _ in _fields(dataset, "edge"):
                data[name] = None
    encoding = parse_encoding(settings.encoding)
    if encoding is not None:
        data.encoding = encode_nodes(dataset, encoding, message_edges=message_edges, split_digest=split_digest)
    data.edge_index = message_edges
    return data


def collection_of(
    dataset: FrozenDataset,
    settings: CellSettings,
    *,
    labels: Mapping[str, Tensor] | None = None,
    pairs: Pairs | None = None,
    in_training: Tensor | None = None,
) -> GraphCollection:
    """Return many graphs with features, and what else is known of their nodes and edges.

    Parameters
    ----------
    dataset
        Dataset of many graphs.
    settings
        What a cell asks of its data.
    labels
        Fields of nodes to show.
    pairs
        Labelled edges.
    in_training
        Numbers of the nodes that features are scaled by.
    """
    node = {**dict(_fields(dataset, "node")), **(labels or {})}
    node["x"] = _features(dataset, dataset.global_edge_index, settings, in_training)
    if settings.perturbation:
        node["x"], edges, edge_ptr = _perturb(dataset, node["x"], dataset.global_edge_index, settings)
        if edges is not dataset.global_edge_index:
            edges = edges - dataset.node_ptr[:-1].repeat_interleave(edge_ptr.diff())
            return GraphCollection(
                edge_index=edges, node_ptr=dataset.node_ptr, edge_ptr=edge_ptr, node=node, pairs=pairs
            )
    encoding = parse_encoding(settings.encoding)
    if encoding is not None:
        node["encoding"] = encode_nodes(dataset, encoding)
    return GraphCollection(
        edge_index=dataset.tensors["edge_index"],
        node_ptr=dataset.node_ptr,
        edge_ptr=dataset.edge_ptr,
        node=node,
        edge=dict(_fields(dataset, "edge")),
        pairs=pairs,
    )


def _perturb(
    dataset: FrozenDataset, x: Tensor, edges: Tensor, settings: CellSettings, *, split_digest: str = ""
) -> tuple[Tensor, Tensor, Tensor]:
    """Return features, edges and their pointer as the perturbation leaves them; the features are those of before.

    What the protocol derives from edges is derived first: a mode that loses its edges keeps what was its features.
    """
    # Links that a blind problem does not know decide nothing in it, not even what is drawn.
    basis = split_digest if settings.is_blind and split_digest else dataset.digest
    seed = derive(settings.seed_of("perturbation"), basis, settings.perturbation)
    return perturb_together(x, edges, dataset.node_ptr, settings.perturbation, seed=seed)


# Fields with a part of their own: labels and splits are not for models, edges and features are set apart.
# Labelled edges and links are as many as there are nodes or edges in some graphs, and so would pass for their fields.
_MASKS = tuple(f"{part}_{kind}" for part in ("train", "val", "test") for kind in ("mask", "edge_mask"))
_LINKS = tuple(f"{part}_{kind}_index" for part in ("train", "val", "test") for kind in ("link", "non_link"))
_TRIPLES = tuple(f"{part}_edge_{kind}" for part in ("train", "valid", "test") for kind in ("index", "type"))
_EDGES = ("edge_index", "edge_label", "edge_label_index", "edge_label_attr")
_SET_APART = ("x", "y", "graph_y", *_EDGES, *_MASKS, *_LINKS, *_TRIPLES)


def _fields(dataset: FrozenDataset, along: str) -> list[tuple[str, Tensor]]:
    """Return the fields of nodes or of edges that a model may read."""
    fields = dataset.card.fields.items()
    return [(name, dataset.tensors[name]) for name, item in fields if item.along == along and name not in _SET_APART]


FEATURES: dict[str, Callable[[Tensor, int], Tensor]] = {
    "structural": structural_features,
    "identity": lambda _, n_nodes: identity_features(n_nodes),
    "learned": lambda _, n_nodes: node_numbers(n_nodes),
}


def nodes_of(dataset: FrozenDataset, graphs: Tensor) -> Tensor:
    """Return the numbers of the nodes of some graphs ``[n]``."""
    is_of_them = torch.isin(torch.arange(len(dataset)), graphs)
    return is_of_them.repeat_interleave(dataset.node_ptr.diff()).nonzero().flatten()


def _features(
    dataset: FrozenDataset, message_edges: Tensor, settings: CellSettings, in_training: Tensor | None
) -> Tensor:
    """Return the features of the dataset, scaled where that is asked; where it has none, those of the policy."""
    policy = settings.features
    if policy not in FEATURES:
        raise BadValue("the features of a protocol", policy, ", ".join(FEATURES))
    x = dataset.tensors.get("x")
    if x is None:
        return FEATURES[policy](message_edges, dataset.n_nodes)
    x = x.unsqueeze(1) if x.dim() == 1 else x
    if not x.is_floating_point():
        return x.long()
    if not settings.scale:
        return x.float()
    if in_training is None:
        allowed = "no scale: means and spreads of training are not known of other data; scale these yourself"
        raise BadValue("scale", settings.scale, allowed)
    return standardise(x, in_training)


def unfit(dataset: FrozenDataset, settings: CellSettings, reason: str) -> SplitImpossible:
    """Return the error of a dataset that does not fit the task type.

    Parameters
    ----------
    dataset
        The dataset.
    settings
        Settings of a cell.
    reason
        What it lacks, as the end of a sentence.
    """
    return SplitImpossible(dataset.name, settings.splits, f"{reason} ({settings.task_type})")


def complete_sizes(dataset: FrozenDataset, settings: CellSettings, about_task: Mapping[str, Any]) -> Sizes:
    """Return what a model has to know of its data; nothing to predict is an error.

    Parameters
    ----------
    dataset, settings
        Dataset, and the settings of a cell.
    about_task
        Sizes that depend on the kind of problem.
    """
    if about_task["out_channels"] < 1:
        raise SplitImpossible(dataset.name, settings.splits, f"it has no labels for {settings.task_type}")
    encoding = parse_encoding(settings.encoding)
    is_learned = not dataset.n_features and settings.features == "learned"
    width = dataset.n_features or _WIDTHS[settings.features](dataset)
    vocabulary = (dataset.n_nodes,) if is_learned else dataset.card.vocabularies
    if settings.perturbation:
        most = int(dataset.node_ptr.diff().max())
        width, is_real = form_of_features(settings.perturbation, width, most_nodes=most, is_real=not vocabulary)
        vocabulary = () if is_real else vocabulary
    return Sizes(
        in_channels=width,
        hidden_channels=settings.hidden_channels,
        vocabulary=vocabulary,
        category_channels=N_LEARNED if is_learned and vocabulary else 0,
        n_encoding=0 if encoding is None else encoding.width(dataset.node_ptr),
        n_nodes=dataset.n_nodes if len(dataset) == 1 else 0,
        **about_task,
    )


# Policy of features -> how many columns it gives to nodes that have none.
_WIDTHS: dict[str, Callable[[FrozenDataset], int]] = {
    "structural": lambda _: N_STRUCTURAL,
    "identity": lambda dataset: dataset.n_nodes,
    "learned": lambda _: 1,
}


def count_columns(tensor: Tensor | None, n_rows: int) -> int:
    """Return how many numbers a tensor has for each of its rows; 0 where there is none."""
    return 0 if tensor is None or not n_rows else tensor.numel() // n_rows


def sizes_of_edges(dataset: FrozenDataset, settings: CellSettings) -> dict[str, Any]:
    """Return how many features the message edges have, and, where they are categories, how many of each."""
    if settings.perturbation and changes_edges(settings.perturbation):
        return {}
    features, field = dataset.tensors.get("edge_attr"), dataset.card.fields.get("edge_attr")
    if features is None or field is None or field.along != "edge" or not features.numel():
        return {}
    columns = features.reshape(features.size(0), -1)
    is_real = features.is_floating_point()
    vocabulary = () if is_real else tuple((columns.amax(dim=0).long() + 1).tolist())
    return {"edge_channels": columns.size(1), "edge_vocabulary": vocabulary}


def sizes_of_classes(dataset: FrozenDataset, settings: CellSettings) -> dict[str, Any]:
    """Return how many classes, or labels, there are to predict, and what message edges have."""
    return {"out_channels": dataset.n_classes, **sizes_of_edges(dataset, settings)}


def _turn_signs(encoding: Tensor, generator: Generator) -> Tensor:
    """Turn whole columns: a sign for each, the same for all nodes of a batch."""
    signs = 2.0 * torch.randint(2, (encoding.size(1),), generator=generator) - 1.0
    return encoding * signs.to(encoding)


def _permute_columns(encoding: Tensor, generator: Generator) -> Tensor:
    order = torch.randperm(encoding.size(1), generator=generator)
    return encoding.index_select(1, order.to(encoding.device))


def _draw_anew(encoding: Tensor, generator: Generator) -> Tensor:
    return torch.randn(encoding.shape, generator=generator).to(encoding)


VARIATIONS: dict[str, Callable[[Tensor, Generator], Tensor]] = {
    "signs": _turn_signs,
    "columns": _permute_columns,
    "draws": _draw_anew,
}


def vary(objective: Objective, variation: str) -> Objective:
    """Return an objective whose training batches have varied encodings; ``none`` changes nothing."""
    return EncodedObjective(objective, VARIATIONS[variation]) if variation in VARIATIONS else objective


@dataclass(frozen=True, eq=False)
class EncodedObjective:
    """Another objective, whose training batches carry a variation of their ``encoding [n_nodes, n_columns]``."""

    inner: Any
    variation: Callable[[Tensor, Generator], Tensor]

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield the batches of the inner objective; what varies is drawn from the same generator."""
        for batch in self.inner.batches(generator):
            varied = copy.copy(batch)
            varied.encoding = self.variation(batch.encoding, generator)
            yield varied

    def loss(self, model: nn.Module, batch: Data) -> tuple[Tensor, int]:
        """Return the loss of the inner objective."""
        loss: tuple[Tensor, int] = self.inner.loss(model, batch)
        return loss

    def predict(self, model: nn.Module) -> Tensor:
        """Return the prediction of the inner objective, of encodings as they are."""
        prediction: Tensor = self.inner.predict(model)
        return prediction

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return that for training examples, of encodings as they are."""
        prediction: Tensor = self.inner.predict_training(model)
        return prediction
