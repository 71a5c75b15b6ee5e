"""The ways to split, and parts of nodes, labelled edges and graphs by (dataset digest, policy, seed).

No global generator is read or moved. Of ``n`` folds of graphs, which no seed changes, seed ``s`` is repetition
``s // n`` of fold ``s % n``: five folds, each with four seeds of the training, are the seeds 0 to 19. A fold is tested,
the next one validates, the others train (Stone: Cross-validatory choice and assessment of statistical predictions,
1974).

Nodes in folds are those of GLEMOS (Park et al., NeurIPS 2023), the same for every graph of so many nodes: fold ``i`` of
five is tested, and a fifth of the others validates, which makes 64/16/20. The order is that of scikit-learn's ``KFold``
and ``train_test_split`` with the published seeds, so that both draw the same nodes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from torch import Generator, Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.mapped_tensors import digest_of
from gnz_track.datasets.splits.temporal import TEMPORAL, cut_in_time, times_of
from gnz_track.errors import BadValue, SplitImpossible
from gnz_track.seeds import derive

__all__ = [
    "FOLDS",
    "LINK_SHARES",
    "NODE_FOLDS",
    "POLICIES",
    "Fold",
    "Parts",
    "check_policy",
    "draw_folds",
    "draw_node_fold",
    "fold_columns",
    "fold_of",
    "label_pointer",
    "split_edges",
    "split_graphs",
    "split_nodes",
    "take_training",
    "takes_published",
]

POLICIES: dict[str, str] = {
    "published": "masks, split columns and parts as published, drawn by seed where there are none",
    "random": "always drawn by seed",
    "five_folds": "as published; graphs without parts in five folds, of which the seed chooses one",
    "ten_folds": "as published; graphs without parts in ten folds, of which the seed chooses one",
    "fifths": "always drawn: 64/16/20 of linked nodes in five folds, of which the seed chooses one, and of links",
    TEMPORAL: "by time or year of nodes, edges or graphs: the earliest train, the latest are tested",
}
# Policy -> into how many folds it divides graphs without parts.
FOLDS: dict[str, int] = {"five_folds": 5, "ten_folds": 10}
# Policy -> into how many folds it divides the nodes of a graph.
NODE_FOLDS: dict[str, int] = {"fifths": 5}
# Policy -> the shares of links for validation and for test, where they are not the usual ones.
LINK_SHARES: dict[str, tuple[float, float]] = {"fifths": (0.16, 0.2)}
_NEVER_PUBLISHED = frozenset({"random", "fifths", TEMPORAL})
_TRAIN, _TRAIN_AND_VAL = 0.6, 0.8
_HELD_OUT_OF_GRAPHS = 0.1
_IN_TRAIN, _IN_VAL, _IN_TEST = range(3)
FOLD_SEED = 101
VALIDATION = 0.2


@dataclass(frozen=True, eq=False)
class Parts:
    """Disjoint ascending numbers of nodes, graphs or labelled edges, each an int64 vector."""

    train: Tensor
    val: Tensor
    test: Tensor

    @cached_property
    def digest(self) -> str:
        """The md5 over names and index bytes."""
        return digest_of(self.items())

    def items(self) -> Mapping[str, Tensor]:
        """Return the parts by name."""
        return {"train": self.train, "val": self.val, "test": self.test}

    @property
    def sizes(self) -> tuple[int, int]:
        """Numbers in training and in test, as the test for overlapping splits asks."""
        return self.train.numel(), self.test.numel()


def take_training(parts: Parts, size: int, dataset: FrozenDataset, *, seed: int) -> Parts:
    """Return parts of which training has so many examples, drawn by seed; the smaller of two sizes is a part of both.

    Validation and test stay as they are. More than there are is refused.

    Parameters
    ----------
    parts
        Parts of a dataset.
    size
        Number of examples of training.
    dataset
        The dataset, whose digest the draw depends on.
    seed
        Seed of the split.
    """
    n = parts.train.numel()
    if not 1 <= size <= n:
        raise BadValue(f"train_size on {dataset.name}", size, f"a whole number from 1 to {n}, seed {seed}")
    generator = Generator().manual_seed(derive(seed, dataset.digest, "train_size"))
    return replace(parts, train=parts.train[torch.randperm(n, generator=generator)[:size]].sort().values)


def split_nodes(dataset: FrozenDataset, *, policy: str, seed: int) -> Parts:
    """Split the labelled nodes, numbered through all graphs.

    "published" takes the masks of the dataset; of several columns, the one of number ``seed`` modulo their count.
    Without masks, the nodes of graphs with published parts follow their graph. Else, and under "random", 60/20/20 are
    drawn by seed within each class; under "temporal" they are 60/20/20 by time. Folds concern graphs only, but for
    those of "fifths", see :func:`draw_node_fold`.

    Parameters
    ----------
    dataset, policy, seed
    """
    check_policy(policy)
    labels = _node_labels(dataset, policy)
    has_masks = all(f"{name}_mask" in dataset.tensors for name in ("train", "val", "test"))
    if policy in NODE_FOLDS:
        nodes = _numbers_where(_is_labelled(labels) & _is_linked(dataset))
        parts = Parts(*draw_node_fold(nodes, n_folds=NODE_FOLDS[policy], seed=seed))
    elif policy == TEMPORAL:
        parts = _split_by_time(dataset, "node", _is_labelled(labels), (_TRAIN, _TRAIN_AND_VAL))
    elif takes_published(policy) and has_masks:
        parts = _split_by_masks(dataset, "mask", _is_labelled(labels), seed)
    elif takes_published(policy) and dataset.split is not None:
        graphs = split_graphs(dataset, policy=policy, seed=seed)
        parts = _within_graphs(dataset.node_ptr, graphs, _is_labelled(labels))
    else:
        generator = Generator().manual_seed(derive(seed, dataset.digest, policy, "nodes"))
        parts = _split_by_class(labels, generator)
    return _checked_parts(parts, dataset, policy)


def split_edges(dataset: FrozenDataset, *, policy: str, seed: int) -> Parts:
    """Split the labelled edges, columns of ``edge_label_index`` through all graphs.

    "published" takes ``train_edge_mask``, ``val_edge_mask`` and ``test_edge_mask`` as :func:`split_nodes` takes masks
    of nodes. Otherwise the edges of several graphs follow their graph, as :func:`split_graphs` has it, and those of one
    graph are drawn by seed, 60/20/20 within each class. Under "temporal" it is 60/20/20 by time.

    Parameters
    ----------
    dataset, policy, seed
    """
    check_policy(policy)
    labels = _edge_labels(dataset, policy)
    has_masks = all(f"{name}_edge_mask" in dataset.tensors for name in ("train", "val", "test"))
    if takes_published(policy) and has_masks:
        parts = _split_by_masks(dataset, "edge_mask", _is_labelled(labels), seed)
    elif policy == TEMPORAL:
        parts = _split_by_time(dataset, "edge", _is_labelled(labels), (_TRAIN, _TRAIN_AND_VAL))
    elif len(dataset) > 1:
        graphs = split_graphs(dataset, policy=policy, seed=seed)
        parts = _within_graphs(label_pointer(dataset), graphs, _is_labelled(labels))
    else:
        parts = _split_by_class(labels, Generator().manual_seed(derive(seed, dataset.digest, policy, "edges")))
    return _checked_parts(parts, dataset, policy)


def split_graphs(dataset: FrozenDataset, *, policy: str, seed: int) -> Parts:
    """Split the graphs: the published parts where the dataset has them, else 80/10/10 by seed or time, or folds.

    Of several columns of parts, and of folds, the seed chooses one, as the module says.

    Parameters
    ----------
    dataset, policy, seed
    """
    check_policy(policy)
    split = dataset.split if takes_published(policy) else None
    if split is None and policy in FOLDS:
        split = fold_columns(draw_folds(dataset, n_folds=FOLDS[policy]), FOLDS[policy])
    if split is not None:
        chosen = split if split.dim() == 1 else split[:, seed % split.size(1)]
        return _checked_parts(Parts(*(_numbers_where(chosen == part) for part in range(3))), dataset, policy)
    n = len(dataset)
    if n < 3:
        raise SplitImpossible(dataset.name, policy, f"{n} graphs, at least 3 are needed")
    if policy == TEMPORAL:
        shares = (1 - 2 * _HELD_OUT_OF_GRAPHS, 1 - _HELD_OUT_OF_GRAPHS)
        return _split_by_time(dataset, "graph", torch.ones(n, dtype=torch.bool), shares)
    n_held_out = max(1, round(_HELD_OUT_OF_GRAPHS * n))
    order = torch.randperm(n, generator=Generator().manual_seed(derive(seed, dataset.digest, policy, "graphs")))
    drawn = order.split([n - 2 * n_held_out, n_held_out, n_held_out])
    return Parts(*(part.sort().values for part in drawn))


def label_pointer(dataset: FrozenDataset) -> Tensor:
    """Return the first labelled edge of each graph, and one past the last: ``[n_graphs + 1]``."""
    field = dataset.card.fields["edge_label_index"]
    if field.along == "fixed":
        return torch.arange(len(dataset) + 1) * field.stride
    return dataset.tensors["cut/edge_label_index" if field.along == "own" else f"ptr/{field.along}"]


@dataclass(frozen=True)
class Fold:
    """A fold that a seed stands for: its number, that of all folds, and how often it was trained before."""

    number: int
    n_folds: int
    repetition: int


def fold_of(dataset: FrozenDataset, *, policy: str, seed: int) -> Fold | None:
    """Return the fold of graphs that a seed stands for under a policy; None where graphs are not in folds.

    >>> from gnz_track.datasets.preparation import prepare
    >>> fold_of(prepare("csl_generated", seed=0), policy="published", seed=13)
    Fold(number=3, n_folds=5, repetition=2)

    Parameters
    ----------
    dataset, policy, seed
    """
    check_policy(policy)
    n_folds = FOLDS.get(policy, 0)
    if takes_published(policy) and dataset.split is not None:
        n_folds = 0 if dataset.split.dim() == 1 else dataset.split.size(1)
    return Fold(seed % n_folds, n_folds, seed // n_folds) if n_folds else None


def draw_folds(dataset: FrozenDataset, *, n_folds: int) -> Tensor:
    """Return the fold of each graph ``[n_graphs]``: as many of each class in each of them, to within one graph.

    Folds are drawn from the digest of the dataset, and so are the same for all seeds.
    """
    n, y = len(dataset), dataset.tensors.get("y")
    are_classes = y is not None and y.numel() == n and not y.is_floating_point()
    labels = y.flatten() if y is not None and are_classes else torch.zeros(n, dtype=torch.int64)
    order = torch.randperm(n, generator=Generator().manual_seed(derive(n_folds, dataset.digest, "folds")))
    order = order[labels[order].argsort(stable=True)]
    fold = torch.empty(n, dtype=torch.int64)
    fold[order] = torch.arange(n) % n_folds
    return fold


def fold_columns(fold: Tensor, n_folds: int) -> Tensor:
    """Return the part ``[n, n_folds]`` of each graph in each fold, from the fold ``[n]`` that tests it."""
    ahead = (fold[:, None] - torch.arange(n_folds)) % n_folds
    return torch.where(ahead == 0, _IN_TEST, torch.where(ahead == 1, _IN_VAL, _IN_TRAIN))


def draw_node_fold(nodes: Tensor, *, n_folds: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return training, validation and test nodes, ascending, of fold ``seed % n_folds`` of some nodes.

    The first ``n % n_folds`` folds are one node larger than the others.

    Parameters
    ----------
    nodes
        ``[n]``.
    n_folds, seed
    """
    fold, n = seed % n_folds, nodes.numel()
    order = np.arange(n)
    # The legacy generator, because its stream is the published one and never changes.
    np.random.RandomState(FOLD_SEED).shuffle(order)
    chosen = np.zeros(n, dtype=bool)
    chosen[np.array_split(order, n_folds)[fold]] = True
    rest = np.flatnonzero(~chosen)
    drawn = np.random.RandomState(fold * FOLD_SEED).permutation(rest.size)
    n_val = math.ceil(VALIDATION * rest.size)
    places = (rest[drawn[n_val:]], rest[drawn[:n_val]], np.flatnonzero(chosen))
    train, val, test = (nodes[torch.from_numpy(np.sort(found))] for found in places)
    return train, val, test


def _node_labels(dataset: FrozenDataset, policy: str) -> Tensor:
    labels = dataset.tensors.get("y")
    if labels is None or labels.dim() == 0 or labels.size(0) != dataset.n_nodes:
        found = "no y" if labels is None else f"y of shape {list(labels.shape)}"
        reason = f"it has {dataset.n_nodes} nodes and {found}; one label a node is needed"
        raise SplitImpossible(dataset.name, policy, reason)
    return labels.squeeze(1) if labels.dim() > 1 and labels.size(1) == 1 else labels


def _is_labelled(labels: Tensor) -> Tensor:
    if labels.is_floating_point():
        return ~labels.isnan().reshape(labels.size(0), -1).all(dim=1)
    return (labels.reshape(labels.size(0), -1) >= 0).any(dim=1)


def _is_linked(dataset: FrozenDataset) -> Tensor:
    """Tell of each node ``[n_nodes]`` whether it has an edge to another one."""
    source, target = dataset.global_edge_index
    is_linked = torch.zeros(dataset.n_nodes, dtype=torch.bool)
    is_linked[torch.cat([source, target])[(source != target).repeat(2)]] = True
    return is_linked


def _edge_labels(dataset: FrozenDataset, policy: str) -> Tensor:
    """Return the labels of the labelled edges ``[n]``; they and their edges must fit each other and the graphs."""
    edges, labels = dataset.tensors.get("edge_label_index"), dataset.tensors.get("edge_label")
    if edges is None or labels is None or edges.dim() != 2 or edges.size(0) != 2 or labels.numel() != edges.size(1):
        shapes = ["nothing" if found is None else str(list(found.shape)) for found in (edges, labels)]
        reason = f"edge_label_index is {shapes[0]} and edge_label is {shapes[1]}; [2, n] and [n] are needed"
        raise SplitImpossible(dataset.name, policy, reason)
    limits = dataset.node_ptr.diff().repeat_interleave(label_pointer(dataset).diff())
    is_outside = ((edges < 0) | (edges >= limits)).any(dim=0)
    if is_outside.any():
        pair = edges[:, int(is_outside.nonzero()[0])].tolist()
        reason = f"the labelled edge {pair} names a node that its graph does not have"
        raise SplitImpossible(dataset.name, policy, reason)
    if not dataset.is_directed:
        _check_listed_once(dataset, edges, policy)
    return labels.flatten()


def _check_listed_once(dataset: FrozenDataset, edges: Tensor, policy: str) -> None:
    """Raise where both directions of an undirected edge have a label: they would fall into two parts."""
    first = dataset.node_ptr[:-1].repeat_interleave(label_pointer(dataset).diff())
    codes = (edges.min(dim=0).values + first) * dataset.n_nodes + edges.max(dim=0).values + first
    n_repeated = codes.numel() - torch.unique(codes).numel()
    if n_repeated:
        reason = f"{n_repeated} labelled edges of an undirected graph are listed again, as they are or reversed"
        raise SplitImpossible(dataset.name, policy, reason)


def _within_graphs(pointer: Tensor, graphs: Parts, is_labelled: Tensor) -> Parts:
    """Return what lies in the graphs of each part, given where each graph begins ``[n_graphs + 1]``."""
    graph = torch.arange(pointer.numel() - 1).repeat_interleave(pointer.diff())
    return Parts(*(_numbers_where(torch.isin(graph, part) & is_labelled) for part in graphs.items().values()))


def _split_by_masks(dataset: FrozenDataset, suffix: str, is_labelled: Tensor, seed: int) -> Parts:
    masks = {f"{name}_{suffix}": dataset.tensors[f"{name}_{suffix}"].bool() for name in ("train", "val", "test")}
    for name, mask in masks.items():
        if len(mask) != len(is_labelled):
            raise SplitImpossible(
                dataset.name, "published", f"{name} has {len(mask)} rows, {len(is_labelled)} are needed"
            )
    chosen = (mask if mask.dim() == 1 else mask[:, seed % mask.size(1)] for mask in masks.values())
    return Parts(*(_numbers_where(mask & is_labelled) for mask in chosen))


def _split_by_class(labels: Tensor, generator: Generator) -> Parts:
    """Cut every class in random order at 60 % and 80 %; labels of several columns form one class."""
    nodes = _numbers_where(_is_labelled(labels))
    nodes = nodes[torch.randperm(nodes.numel(), generator=generator)]
    classes = labels[nodes].long() if labels.dim() == 1 and not labels.is_floating_point() else torch.zeros_like(nodes)
    by_class = classes.argsort(stable=True)
    nodes, sizes = nodes[by_class], torch.unique(classes, return_counts=True)[1]
    rank = torch.arange(nodes.numel()) - (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
    size = sizes.repeat_interleave(sizes).double()
    to_val = rank >= (_TRAIN * size).round()
    to_test = rank >= (_TRAIN_AND_VAL * size).round()
    return Parts(*(nodes[mask].sort().values for mask in (~to_val, to_val & ~to_test, to_test)))


def _split_by_time(dataset: FrozenDataset, unit: str, is_labelled: Tensor, shares: tuple[float, float]) -> Parts:
    examples = _numbers_where(is_labelled)
    times = times_of(dataset, unit, is_labelled.numel())[examples]
    return Parts(*(examples[places] for places in cut_in_time(times, shares, dataset, unit)))


def _numbers_where(mask: Tensor) -> Tensor:
    return mask.nonzero().squeeze(1)


def _checked_parts(parts: Parts, dataset: FrozenDataset, policy: str) -> Parts:
    for name, part in parts.items().items():
        if not part.numel():
            raise SplitImpossible(dataset.name, policy, f"its {name} part is empty")
    together = torch.cat(list(parts.items().values()))
    n_shared = together.numel() - torch.unique(together).numel()
    if n_shared:
        raise SplitImpossible(dataset.name, policy, f"its parts are not disjoint, {n_shared} are in more than one")
    return parts


def check_policy(policy: str) -> None:
    """Raise where a split policy has no such name."""
    if policy not in POLICIES:
        raise BadValue("split policy", policy, " or ".join(POLICIES))


def takes_published(policy: str) -> bool:
    """Tell whether parts that a dataset brings are taken."""
    return policy not in _NEVER_PUBLISHED
