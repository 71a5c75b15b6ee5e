"""Circles with skip links, drawn here: all nodes look alike to message passing, and the lengths of the skips differ."""

from __future__ import annotations

import numpy as np
import torch
from torch_geometric.data import Data

from gnz_track.datasets.folds import fold_columns
from gnz_track.datasets.parted import PartedGraphs

__all__ = ["skip_link_circles"]


def skip_link_circles(*, n_nodes: int, skips: tuple[int, ...], n_copies: int, n_folds: int, seed: int) -> PartedGraphs:
    """Draw circles with skips of several lengths, their nodes in no order; y ``[1]`` tells the length.

    x ``[n, 1]`` is 0 everywhere. Murphy, Srinivasan, Rao, Ribeiro: Relational Pooling for Graph Representations, ICML
    2019.

    Parameters
    ----------
    n_nodes, skips
    n_copies
        Graphs of each length.
    n_folds
        Columns of parts: a graph is in the test part of one, in the validation part of the column before, and in the
        training part of all others; all parts have all classes alike.
    seed
    """
    rng = np.random.default_rng(seed)
    fold = rng.permuted(np.tile(np.arange(n_copies) % n_folds, (len(skips), 1)), axis=1).ravel()
    order = rng.permutation(len(skips) * n_copies)
    graphs = [_circle(n_nodes, skips[place // n_copies], place // n_copies, rng) for place in order]
    return PartedGraphs(graphs, fold_columns(torch.from_numpy(fold[order]), n_folds))


def _circle(n_nodes: int, skip: int, kind: int, rng: np.random.Generator) -> Data:
    """Join every node of a circle with the next one and with the one ``skip`` steps ahead."""
    name = rng.permutation(n_nodes)
    first = np.tile(np.arange(n_nodes), 2)
    second = (first + np.array([1, skip]).repeat(n_nodes)) % n_nodes
    pairs = np.stack([name[first], name[second]])
    both = np.concatenate([pairs, pairs[::-1]], axis=1)
    edges = torch.from_numpy(both[:, np.lexsort(both[::-1])])
    return Data(x=torch.zeros(n_nodes, 1, dtype=torch.int64), edge_index=edges, y=torch.tensor([kind]))
