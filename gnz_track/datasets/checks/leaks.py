"""Leaks of labels and links: test graphs that training has too, single things that tell a label, links given away.

Each screen trains a tree of few leaves on the training part and scores it on the test part: on one column of features,
the place in the file, the size of a graph. Trees are those of Breiman, Friedman, Olshen, Stone, Classification and
regression trees, 1984.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np
import torch
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.links import LinkSplit, TriplePart, TripleSplit
from gnz_track.datasets.splits.nodes_and_graphs import Parts

__all__ = ["SCREENS", "find_answered", "find_inverses", "find_reversed", "find_shared", "find_twins", "hash_graphs"]

Array = np.ndarray[Any, Any]
ROUNDS = 3
# Graphs up to this size, and with no more nodes alike than this, are compared exactly; others could take for ever.
LARGEST, MOST_ALIKE = 100, 12
# Training rows that a tree is shown at most, drawn evenly.
MOST_ROWS = 20_000
_LEAVES_PER_CLASS = 4
# Thing looked at, its accuracy on the test part, and that of the most frequent class of training.
Screened = tuple[str, float, float]
# A relation is nearly the inverse or the copy of another where this share of either is found in the other.
NEARLY = 0.8


def find_twins(dataset: FrozenDataset, parts: Parts, labels: Tensor) -> tuple[int, int, int]:
    """Count test graphs that are isomorphic to a training graph, those of them whose copies have other labels only.

    The third number is that of graphs with training graphs of the same hash that are too large or too regular to be
    compared exactly.

    Parameters
    ----------
    dataset, parts
    labels
        ``[n_graphs]``.
    """
    colours, edge_colours, hashes = hash_graphs(dataset)
    by_hash: dict[int, list[int]] = defaultdict(list)
    for graph in parts.train.tolist():
        by_hash[int(hashes[graph])].append(graph)
    draw = _Drawer(dataset, colours, edge_colours)
    n_twins = n_contradicted = n_undecided = 0
    for graph in parts.test.tolist():
        candidates = by_hash.get(int(hashes[graph]), [])
        if not candidates:
            continue
        if not draw.is_comparable(graph):
            n_undecided += 1
            continue
        own, equals = labels[graph], [other for other in candidates if draw.are_isomorphic(graph, other)]
        n_twins += bool(equals)
        n_contradicted += bool(equals) and not any(bool(labels[other] == own) for other in equals)
    return n_twins, n_contradicted, n_undecided


def hash_graphs(dataset: FrozenDataset) -> tuple[Tensor, Tensor, Tensor]:
    """Return colours of nodes after refinement ``[n_nodes]``, colours of edges ``[n_edges]``, hashes ``[n_graphs]``.

    Weisfeiler and Leman, 1968, on the union of all graphs, starting from the features; multisets are sums of mixed
    numbers modulo 2**64, so that graphs of one kind have one hash and others nearly never.
    """
    source, target = dataset.global_edge_index.long()
    x = dataset.tensors.get("x")
    colours = torch.zeros(dataset.n_nodes, dtype=torch.int64) if x is None else _number_rows(x)
    edges = torch.zeros(source.numel(), dtype=torch.int64)
    if dataset.card.fields.get("edge_attr") is not None and dataset.card.fields["edge_attr"].along == "edge":
        edges = _number_rows(dataset.tensors["edge_attr"])
    for _ in range(ROUNDS):
        messages = _mix(_mix(colours[source]) + edges)
        colours = _mix(colours) + torch.zeros_like(colours).index_add_(0, target, messages)
    graph = torch.arange(len(dataset)).repeat_interleave(dataset.node_ptr.diff())
    return colours, edges, torch.zeros(len(dataset), dtype=torch.int64).index_add_(0, graph, _mix(colours))


def _number_rows(features: Tensor) -> Tensor:
    """Return one number for each row, the same for equal rows."""
    return (
        torch.unique(features, dim=0, return_inverse=True)[1] if features.numel() else torch.zeros(len(features)).long()
    )


def _mix(numbers: Tensor) -> Tensor:
    """Spread numbers over 64 bits (splitmix64; Steele, Lea, Flood, 2014)."""
    mixed = numbers.numpy().astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return torch.from_numpy((mixed ^ (mixed >> np.uint64(31))).astype(np.int64))


class _Drawer:
    """Graphs as networkx has them, with colours that an isomorphism must keep."""

    def __init__(self, dataset: FrozenDataset, colours: Tensor, edge_colours: Tensor) -> None:
        self._dataset, self._colours, self._edge_colours = dataset, colours, edge_colours
        self._drawn: dict[int, nx.MultiDiGraph] = {}

    def is_comparable(self, number: int) -> bool:
        colours = self._colours[slice(*self._dataset.node_ptr[number : number + 2].tolist())]
        if colours.numel() == 0:
            return True
        return colours.numel() <= LARGEST and int(torch.unique(colours, return_counts=True)[1].max()) <= MOST_ALIKE

    def are_isomorphic(self, one: int, other: int) -> bool:
        match = nx.algorithms.isomorphism.categorical_node_match("colour", None)
        edge_match = nx.algorithms.isomorphism.categorical_multiedge_match("colour", None)
        return nx.is_isomorphic(self._draw(one), self._draw(other), node_match=match, edge_match=edge_match)

    def _draw(self, number: int) -> nx.MultiDiGraph:
        if number not in self._drawn:
            nodes = slice(*self._dataset.node_ptr[number : number + 2].tolist())
            edges = slice(*self._dataset.edge_ptr[number : number + 2].tolist())
            graph = nx.MultiDiGraph()
            graph.add_nodes_from((i, {"colour": c}) for i, c in enumerate(self._colours[nodes].tolist()))
            ends, colours = (
                self._dataset.tensors["edge_index"][:, edges].t().tolist(),
                self._edge_colours[edges].tolist(),
            )
            graph.add_edges_from((a, b, {"colour": c}) for (a, b), c in zip(ends, colours, strict=True))
            self._drawn[number] = graph
        return self._drawn[number]


def _screen_columns(dataset: FrozenDataset, kind: str, parts: Parts, labels: Tensor) -> Screened | None:
    """Look at the one column of features that splits the training classes best; means over nodes for graphs."""
    features, word = _FEATURES[kind](dataset)
    if features is None or not _are_classes(labels):
        return None
    train = _thinned(parts.train)
    truth = labels[train].numpy()
    root = DecisionTreeClassifier(max_depth=1, random_state=0).fit(features[train].numpy(), truth).tree_
    column = int(root.feature[0])
    if column < 0:
        return (f"any {word}", *_accuracies(None, parts, labels))
    values = features[:, column : column + 1].numpy()
    return (f"{word} {column}", *_accuracies(values, parts, labels))


def _screen_order(dataset: FrozenDataset, kind: str, parts: Parts, labels: Tensor) -> Screened | None:
    """Look at the place of a node, an edge or a graph in the file."""
    del dataset
    if not _are_classes(labels):
        return None
    word = {"node_cls": "the number of a node", "edge_cls": "the number of an edge"}.get(kind, "the number of a graph")
    return (word, *_accuracies(np.arange(labels.numel(), dtype=np.float64)[:, None], parts, labels))


def _screen_sizes(dataset: FrozenDataset, kind: str, parts: Parts, labels: Tensor) -> Screened | None:
    """Look at the numbers of nodes and of edges of a graph."""
    del kind
    if not _are_classes(labels):
        return None
    sizes = torch.stack([dataset.node_ptr.diff(), dataset.edge_ptr.diff()], dim=1).double().numpy()
    return ("the numbers of nodes and edges", *_accuracies(sizes, parts, labels))


# Screens of (dataset, kind of task, parts, labels); None where there is nothing to look at.
SCREENS: dict[str, Callable[[FrozenDataset, str, Parts, Tensor], Screened | None]] = {
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


def find_reversed(split: LinkSplit) -> tuple[int, int]:
    """Count test edges that pass messages in training: as they are, and the other way round."""
    pairs = split.test.pairs[:, split.test.labels == 1]
    base = int(torch.cat([split.message_edges, pairs], dim=1).max()) + 1
    known = split.message_edges[0] * base + split.message_edges[1]
    is_present = torch.isin(pairs[0] * base + pairs[1], known)
    is_reversed = torch.isin(pairs[1] * base + pairs[0], known)
    return (int(is_present.sum()), int(is_reversed.sum()))


def find_shared(split: TripleSplit) -> tuple[int, int]:
    """Count test triples that another part has too, and those of entities or relations that training lacks."""
    base = _one_past_largest(split)
    known = torch.cat([_encode_triples(split.train, base), _encode_triples(split.val, base)])
    test = split.test
    entities, relations = split.train.edge_index.unique(), split.train.edge_type.unique()
    is_seen = torch.isin(test.edge_index, entities).all(dim=0) & torch.isin(test.edge_type, relations)
    n_repeated = int(torch.isin(_encode_triples(test, base), known).sum())
    return n_repeated, int((~is_seen).sum())


def find_answered(split: TripleSplit) -> tuple[int, int]:
    """Count test triples whose two entities another relation links in training, and those linked backwards."""
    n, _ = _one_past_largest(split)
    head, tail = split.train.edge_index
    known, wanted = head * n + tail, split.test.edge_index
    forwards = torch.isin(wanted[0] * n + wanted[1], known)
    backwards = torch.isin(wanted[1] * n + wanted[0], known)
    return int((forwards | backwards).sum()), int(backwards.sum())


def find_inverses(split: TripleSplit) -> tuple[int, int]:
    """Count pairs of relations that are nearly inverses or copies in training, and test triples that follow from one.

    A relation may be nearly its own inverse (symmetric). Toutanova and Chen, 2015; Dettmers et al., 2018.
    """
    base = _one_past_largest(split)
    n, n_relations = base
    train = split.train
    (head, tail), kind = train.edge_index, train.edge_type
    counts = kind.bincount(minlength=n_relations)
    rules: list[tuple[int, int, bool]] = []
    for is_backwards in (False, True):
        ends = tail * n + head if is_backwards else head * n + tail
        first, second = _matches(ends, head * n + tail)
        pairs = torch.stack([kind[first], kind[second]])
        pairs = pairs if is_backwards else pairs[:, pairs[0] != pairs[1]]
        codes, shared = torch.unique(pairs[0] * n_relations + pairs[1], return_counts=True)
        one, other = codes // n_relations, codes % n_relations
        is_near = (shared >= NEARLY * counts[one]) & (shared >= NEARLY * counts[other])
        rules += [(int(a), int(b), is_backwards) for a, b in zip(one[is_near], other[is_near], strict=True)]
    known, is_solved = _encode_triples(train, base), torch.zeros(split.test.edge_type.numel(), dtype=torch.bool)
    for one, other, is_backwards in rules:
        rows = (split.test.edge_type == one).nonzero().flatten()
        ends = split.test.edge_index[:, rows]
        ends = ends.flip(0) if is_backwards else ends
        is_solved[rows] |= torch.isin((ends[0] * n_relations + other) * n + ends[1], known)
    return len({frozenset((one, other)) for one, other, _ in rules}), int(is_solved.sum())


def _matches(wanted: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """Return all pairs of positions ``(i, j)`` with ``wanted[i] == known[j]``."""
    ordered, order = known.sort()
    low, high = torch.searchsorted(ordered, wanted), torch.searchsorted(ordered, wanted, right=True)
    counts = high - low
    first = torch.arange(wanted.numel()).repeat_interleave(counts)
    offset = torch.arange(first.numel()) - (counts.cumsum(0) - counts).repeat_interleave(counts)
    return first, order[low.repeat_interleave(counts) + offset]


def _one_past_largest(split: TripleSplit) -> tuple[int, int]:
    """Return one past the largest entity, and one past the largest relation."""
    parts = (split.train, split.val, split.test)
    entities, relations = (
        max(int(getattr(part, name).max()) for part in parts) for name in ("edge_index", "edge_type")
    )
    return entities + 1, relations + 1


def _encode_triples(part: TriplePart, base: tuple[int, int]) -> Tensor:
    n, n_relations = base
    return (part.edge_index[0] * n_relations + part.edge_type) * n + part.edge_index[1]
