"""Single things that give a label away: one column of features, the place in the file, the size of a graph.

Each screen trains a tree of few leaves on the training part and scores it on the test part. Trees are those of Breiman,
Friedman, Olshen, Stone, Classification and regression trees, 1984.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits import Parts

__all__ = ["SCREENS", "Screen"]

Array = np.ndarray[Any, Any]

# Training rows that a tree is shown at most, drawn evenly.
MOST_ROWS = 20_000
_LEAVES_PER_CLASS = 4


@dataclass(frozen=True)
class Screen:
    """The thing looked at, its accuracy on the test part, and that of the most frequent class of training."""

    what: str
    accuracy: float
    majority: float


def _screen_columns(dataset: FrozenDataset, kind: str, parts: Parts, labels: Tensor) -> Screen | None:
    """Look at the one column of features that splits the training classes best; means over nodes for graphs."""
    features, word = _FEATURES[kind](dataset)
    if features is None or not _are_classes(labels):
        return None
    train = _thinned(parts.train)
    truth = labels[train].numpy()
    root = DecisionTreeClassifier(max_depth=1, random_state=0).fit(features[train].numpy(), truth).tree_
    column = int(root.feature[0])
    if column < 0:
        return Screen(f"any {word}", *_accuracies(None, parts, labels))
    values = features[:, column : column + 1].numpy()
    return Screen(f"{word} {column}", *_accuracies(values, parts, labels))


def _screen_order(dataset: FrozenDataset, kind: str, parts: Parts, labels: Tensor) -> Screen | None:
    """Look at the place of a node, an edge or a graph in the file."""
    del dataset
    if not _are_classes(labels):
        return None
    word = {"node_cls": "the number of a node", "edge_cls": "the number of an edge"}.get(kind, "the number of a graph")
    return Screen(word, *_accuracies(np.arange(labels.numel(), dtype=np.float64)[:, None], parts, labels))


def _screen_sizes(dataset: FrozenDataset, kind: str, parts: Parts, labels: Tensor) -> Screen | None:
    """Look at the numbers of nodes and of edges of a graph."""
    del kind
    if not _are_classes(labels):
        return None
    sizes = torch.stack([dataset.node_ptr.diff(), dataset.edge_ptr.diff()], dim=1).double().numpy()
    return Screen("the numbers of nodes and edges", *_accuracies(sizes, parts, labels))


# Screens of (dataset, kind of task, parts, labels); None where there is nothing to look at.
SCREENS: dict[str, Callable[[FrozenDataset, str, Parts, Tensor], Screen | None]] = {
    "one feature": _screen_columns,
    "order": _screen_order,
    "graph size": _screen_sizes,
}


def _are_classes(labels: Tensor) -> bool:
    return not labels.is_floating_point() and int(labels.max()) > 0


def _node_features(dataset: FrozenDataset) -> tuple[Tensor | None, str]:
    x = dataset.tensors.get("x")
    return None if x is None else x.reshape(x.size(0), -1).float(), "column"


def _edge_features(dataset: FrozenDataset) -> tuple[Tensor | None, str]:
    found = dataset.tensors.get("edge_label_attr")
    return None if found is None else found.reshape(found.size(0), -1).float(), "edge column"


def _graph_features(dataset: FrozenDataset) -> tuple[Tensor | None, str]:
    x, word = _node_features(dataset)
    if x is None:
        return None, word
    counts = dataset.node_ptr.diff()
    graph = torch.arange(len(dataset)).repeat_interleave(counts)
    sums = torch.zeros(len(dataset), x.size(1)).index_add_(0, graph, x)
    return sums / counts.clamp(min=1).unsqueeze(1), "the mean of column"


_FEATURES = {"node_cls": _node_features, "edge_cls": _edge_features, "graph_cls": _graph_features}


def _thinned(train: Tensor) -> Tensor:
    return train if train.numel() <= MOST_ROWS else train[torch.linspace(0, train.numel() - 1, MOST_ROWS).long()]


def _accuracies(values: Array | None, parts: Parts, labels: Tensor) -> tuple[float, float]:
    """Return the test accuracy of a tree on some values ``[n, k]``, and of the most frequent training class."""
    train, test = _thinned(parts.train), parts.test
    truth, wanted = labels[train].numpy(), labels[test].numpy()
    majority = float((wanted == np.bincount(truth).argmax()).mean())
    if values is None:
        return majority, majority
    leaves = _LEAVES_PER_CLASS * len(np.unique(truth))
    tree = DecisionTreeClassifier(max_leaf_nodes=max(leaves, 2), random_state=0).fit(values[train.numpy()], truth)
    return float((tree.predict(values[test.numpy()]) == wanted).mean()), majority
