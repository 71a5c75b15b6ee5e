"""Descriptors of examples: numbers by which a test set is cut into slices, from the frozen data alone.

Graphs are taken as undirected and simple here: two nodes are neighbours where an edge joins them in either direction,
once however often it is listed, and no node is a neighbour of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gnz_track.datasets.card import CARD, read_card
from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.homes import data_home, folder_name, frozen_folder
from gnz_track.errors import DataUnusable
from gnz_track.types import TaskType

if TYPE_CHECKING:
    from gnz_track.datasets.frozen import FrozenDataset
    from gnz_track.store.cell_files.joined_predictions import Predictions

__all__ = [
    "describe_edges",
    "describe_examples",
    "describe_graphs",
    "describe_links",
    "describe_nodes",
    "describe_tested",
    "find_data",
]

LOG = logging.getLogger(__name__)
# Of examples with one number or class -> the task type whose descriptors they have; the others are graphs.
KINDS = {"node": TaskType.node_cls, "edge": TaskType.edge_cls}

Real = NDArray[np.float64]
Whole = NDArray[np.int64]


def describe_examples(dataset: FrozenDataset, task_type: TaskType, ids: Whole, train: Whole) -> Mapping[str, Real]:
    """Return what is known of each example of a task: name of the descriptor -> ``[n_examples]``.

    Tasks whose examples are of several kinds (``multi_task``) have no descriptors.

    Parameters
    ----------
    dataset
        Frozen data of the task.
    task_type
        Type of the task, which says what an example is.
    ids
        Numbers of the examples: nodes or graphs ``[n_examples]``, or the ends of links ``[n_examples, 2]``, or triples
        of head, relation and tail ``[n_examples, 3]``.
    train
        Those of the training set, in the same form.
    """
    describe = _DESCRIBE.get(task_type)
    return {} if describe is None else describe(dataset, np.asarray(ids), np.asarray(train))


def find_data(task: str, dataset: str, digest: str) -> FrozenDataset | None:
    """Return the frozen data of a task where they are on this machine, with this digest; nothing is fetched or made.

    Parameters
    ----------
    task, dataset
        Names of the task and of its dataset.
    digest
        Digest of the data.
    """
    home = data_home()
    folders = [home / "custom" / folder_name(task) / digest]
    if dataset in DATASETS:
        folders.insert(0, frozen_folder(DATASETS.get(dataset), seed=0, home=home))
    try:
        for folder in folders:
            if (folder / CARD).is_file() and read_card(folder / CARD).digest == digest:
                # Torch, which nobody waits for where the data are not here.
                from gnz_track.datasets.frozen import open_frozen

                return open_frozen(folder)
    except DataUnusable as error:
        LOG.warning("slices of %s are left out: %s", task, error)
    return None


def describe_tested(dataset: FrozenDataset, test: Predictions) -> Mapping[str, Real]:
    """Return descriptors of the tested examples ``[n_examples]``, without those that are the same for all.

    The distance to the training set is known where all seeds have one split, which is found again by its digest.
    """
    train = _training_part(dataset, test)
    rows = np.stack([test.ends["head"], test.ends["tail"]], axis=1) if test.ends else test.ids
    none = np.empty((0, *rows.shape[1:]), dtype=np.int64)
    found = describe_examples(dataset, KINDS.get(test.kind, TaskType.graph_cls), rows, none if train is None else train)
    if test.kind == "edge":
        found = {**found, "class": np.asarray(test.targets, dtype=np.float64)}
    return {
        name: values
        for name, values in found.items()
        if len(np.unique(values)) > 1 and (train is not None or not name.startswith("distance"))
    }


def _training_part(dataset: FrozenDataset, test: Predictions) -> Whole | None:
    """Return the training nodes that all seeds share; None where each has its own, or where they are not found."""
    if len(set(test.split_digests)) > 1 or test.kind != "node":
        return None
    from gnz_track.datasets.splits.nodes_and_graphs import split_nodes

    for policy in ("published", "random"):
        parts = split_nodes(dataset, policy=policy, seed=test.seeds[0])
        if parts.digest == test.split_digests[0]:
            found: Whole = parts.train.numpy()
            return found
    return None


def describe_nodes(dataset: FrozenDataset, ids: Whole, train: Whole) -> Mapping[str, Real]:
    """Return degree, homophily, class and distance to the training set of nodes, each ``[n_examples]``.

    The homophily of a node is the share of its labelled neighbours that have its label, NaN where it has none; the
    distance is the number of edges to the nearest training node, infinite where no path leads to one.

    Parameters
    ----------
    dataset
        Frozen data.
    ids
        Nodes to describe, numbered through all graphs ``[n_examples]``.
    train
        Nodes of the training set ``[n_train]``.
    """
    adjacency = _adjacency(dataset)
    found = {"degree": np.diff(adjacency.indptr)[ids].astype(np.float64)}
    found["distance to training"] = _distances(adjacency, train)[ids]
    labels = _labels(dataset)
    if labels is not None and len(labels) == dataset.n_nodes:
        found["homophily"] = _homophily(adjacency, labels)[ids]
        found["class"] = labels[ids].astype(np.float64)
    return found


def describe_graphs(dataset: FrozenDataset, ids: Whole) -> Mapping[str, Real]:
    """Return the numbers of nodes and edges, the mean degree and the class of graphs ``ids [n_examples]``."""
    nodes = np.diff(dataset.node_ptr.numpy()).astype(np.float64)
    columns = np.diff(dataset.edge_ptr.numpy()).astype(np.float64)
    found = {
        "nodes": nodes[ids],
        "edges": columns[ids] / 2,
        "mean degree": np.divide(columns, nodes, out=np.zeros_like(nodes), where=nodes > 0)[ids],
    }
    labels = _labels(dataset)
    if labels is not None and len(labels) == len(dataset):
        found["class"] = labels[ids].astype(np.float64)
    return found


def describe_links(dataset: FrozenDataset, ids: Whole, train: Whole) -> Mapping[str, Real]:
    """Return smaller degree, larger degree and common neighbours of the two ends, each ``[n_examples]``.

    Neighbours are those of the training links alone: a link that is asked for is no edge yet.

    Parameters
    ----------
    dataset
        Frozen data, for the number of nodes.
    ids
        Ends of the links ``[n_examples, 2]``, or triples ``[n_examples, 3]`` with the relation between the ends.
    train
        Training links in the same form.
    """
    return _describe_ends(_symmetric(train[:, 0], train[:, -1], dataset.n_nodes), ids)


def describe_edges(dataset: FrozenDataset, ids: Whole) -> Mapping[str, Real]:
    """Return what :func:`describe_links` does of labelled edges ``ids [n_examples, 2]``; the graph is known whole."""
    return _describe_ends(_adjacency(dataset), ids)


def _describe_ends(adjacency: sparse.csr_array, ids: Whole) -> Mapping[str, Real]:
    heads, tails = ids[:, 0], ids[:, -1]
    degrees = np.diff(adjacency.indptr).astype(np.float64)
    common = np.asarray(adjacency[heads].multiply(adjacency[tails]).sum(axis=1), dtype=np.float64).ravel()
    return {
        "smaller degree": np.minimum(degrees[heads], degrees[tails]),
        "larger degree": np.maximum(degrees[heads], degrees[tails]),
        "common neighbours": common,
    }


_DESCRIBE: dict[TaskType, Callable[[FrozenDataset, Whole, Whole], Mapping[str, Real]]] = {
    TaskType.node_cls: describe_nodes,
    TaskType.graph_cls: lambda dataset, ids, _: describe_graphs(dataset, ids),
    TaskType.graph_reg: lambda dataset, ids, _: describe_graphs(dataset, ids),
    TaskType.link_pred: describe_links,
    TaskType.edge_cls: lambda dataset, ids, _: describe_edges(dataset, ids),
    TaskType.node_reg: describe_nodes,
    TaskType.edge_reg: lambda dataset, ids, _: describe_edges(dataset, ids),
}


def _labels(dataset: FrozenDataset) -> NDArray[Any] | None:
    """Return one whole number an example; None where labels are several columns, or numbers to predict."""
    y = dataset.tensors.get("y")
    if y is None or y.is_floating_point() or (y.dim() > 1 and y.size(1) != 1):
        return None
    return np.asarray(y.flatten().numpy())


def _adjacency(dataset: FrozenDataset) -> sparse.csr_array:
    heads, tails = dataset.global_edge_index.numpy()
    return _symmetric(heads, tails, dataset.n_nodes)


def _symmetric(heads: Whole, tails: Whole, n_nodes: int) -> sparse.csr_array:
    """Return the adjacency ``[n_nodes, n_nodes]`` of ones, in both directions and without loops."""
    keep = heads != tails
    both = np.concatenate([heads[keep], tails[keep]]), np.concatenate([tails[keep], heads[keep]])
    adjacency = sparse.csr_array((np.ones(len(both[0])), both), shape=(n_nodes, n_nodes))
    adjacency.sum_duplicates()
    adjacency.data[:] = 1
    return adjacency


def _homophily(adjacency: sparse.csr_array, labels: NDArray[Any]) -> Real:
    rows = np.repeat(np.arange(len(labels)), np.diff(adjacency.indptr))
    is_known = (labels[rows] >= 0) & (labels[adjacency.indices] >= 0)
    alike = np.bincount(rows, is_known & (labels[rows] == labels[adjacency.indices]), minlength=len(labels))
    known = np.bincount(rows, is_known, minlength=len(labels))
    shares: Real = np.divide(alike, known, out=np.full(len(labels), np.nan), where=known > 0)
    return shares


def _distances(adjacency: sparse.csr_array, sources: Whole) -> Real:
    """Return the number of edges from each node to the nearest source, by layers of a breadth-first search."""
    found = np.full(adjacency.shape[0], np.inf)
    layer = np.zeros(adjacency.shape[0])
    layer[sources] = 1
    steps = 0
    while layer.any():
        found[layer > 0] = steps
        steps += 1
        layer = ((adjacency @ layer) > 0) & np.isinf(found)
        layer = layer.astype(np.float64)
    return found
