"""Sizes that a model has to know of a dataset, told without making a single tensor of it.

A plan asks for it before anything is posed, to find the width of a budget; a problem carries the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from gnz_track.datasets.encodings import parse_encoding
from gnz_track.datasets.features import N_LEARNED, N_STRUCTURAL
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.perturbations import changes_edges, form_of_features
from gnz_track.errors import SplitImpossible
from gnz_track.models.sizes import Sizes
from gnz_track.runs.model_inputs import ProblemTerms
from gnz_track.types import TaskType

__all__ = ["sizes_of"]


def sizes_of(dataset: FrozenDataset, terms: ProblemTerms) -> Sizes:
    """Return what a model has to know of its data; nothing to predict is an error."""
    about_task = _ABOUT_TASK[terms.task_type](dataset, terms)
    if about_task["out_channels"] < 1:
        raise SplitImpossible(dataset.name, terms.protocol.splits, f"it has no labels for {terms.task_type}")
    encoding = parse_encoding(terms.encoding)
    is_learned = not dataset.n_features and terms.protocol.features == "learned"
    width = dataset.n_features or _WIDTHS[terms.protocol.features](dataset)
    vocabulary = (dataset.n_nodes,) if is_learned else dataset.card.vocabularies
    if terms.perturbation:
        most = int(dataset.node_ptr.diff().max())
        width, is_real = form_of_features(terms.perturbation, width, most_nodes=most, is_real=not vocabulary)
        vocabulary = () if is_real else vocabulary
    return Sizes(
        in_channels=width,
        hidden_channels=terms.hidden_channels,
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


def _columns(tensor: Tensor | None, n_rows: int) -> int:
    return 0 if tensor is None or not n_rows else tensor.numel() // n_rows


def _about_edges(dataset: FrozenDataset, terms: ProblemTerms) -> dict[str, Any]:
    """Return how many features the message edges have, and, where they are categories, how many of each."""
    if terms.perturbation and changes_edges(terms.perturbation):
        return {}
    features, field = dataset.tensors.get("edge_attr"), dataset.card.fields.get("edge_attr")
    if features is None or field is None or field.along != "edge" or not features.numel():
        return {}
    columns = features.reshape(features.size(0), -1)
    is_real = features.is_floating_point()
    vocabulary = () if is_real else tuple((columns.amax(dim=0).long() + 1).tolist())
    return {"edge_channels": columns.size(1), "edge_vocabulary": vocabulary}


def _of_nodes(dataset: FrozenDataset, terms: ProblemTerms) -> dict[str, Any]:
    return {"out_channels": dataset.n_classes, **_about_edges(dataset, terms)}


def _of_graph_numbers(dataset: FrozenDataset, terms: ProblemTerms) -> dict[str, Any]:
    return {"out_channels": _columns(dataset.tensors.get("y"), len(dataset)), **_about_edges(dataset, terms)}


def _of_links(dataset: FrozenDataset, terms: ProblemTerms) -> dict[str, Any]:
    # Features of edges are known for the graph as it is, and not for what a split leaves of it.
    if dataset.is_relational:
        return {"out_channels": terms.hidden_channels, "n_relations": dataset.n_relations}
    code_channels = terms.protocol.code_channels
    return {"out_channels": code_channels or terms.hidden_channels, "code_channels": code_channels}


def _of_labelled_edges(dataset: FrozenDataset, terms: ProblemTerms) -> dict[str, Any]:
    labels, features = dataset.tensors["edge_label"], dataset.tensors.get("edge_label_attr")
    return {
        "out_channels": max(int(labels.max()) + 1, 0) if labels.numel() else 0,
        "n_edge_features": _columns(features, labels.numel()),
        "is_directed": dataset.is_directed,
        **_about_edges(dataset, terms),
    }


def _of_two_levels(dataset: FrozenDataset, terms: ProblemTerms) -> dict[str, Any]:
    return {
        "out_channels": _columns(dataset.tensors.get("y"), dataset.n_nodes),
        "n_graph_targets": _columns(dataset.tensors.get("graph_y"), len(dataset)),
        **_about_edges(dataset, terms),
    }


_ABOUT_TASK: dict[TaskType, Callable[[FrozenDataset, ProblemTerms], dict[str, Any]]] = {
    TaskType.node_cls: _of_nodes,
    TaskType.graph_cls: _of_nodes,
    TaskType.graph_reg: _of_graph_numbers,
    TaskType.link_pred: _of_links,
    TaskType.edge_cls: _of_labelled_edges,
    TaskType.multi_task: _of_two_levels,
}
