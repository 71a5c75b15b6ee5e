"""Several labels of nodes, numbers of nodes, and numbers of edges, all of them readable from features and neighbours.

Groups that overlap are those of the mixed-membership model (Airoldi et al., JMLR 2008) with memberships of 0 and 1.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Generator
from torch_geometric.data import Data

from gnz_track.datasets.collation import PartedGraphs
from gnz_track.datasets.generators.draws import GraphDraw, draw_masks, draw_parts
from gnz_track.seeds import derive

__all__ = ["overlapping_groups", "smoothed_numbers", "tie_strengths"]

Array = np.ndarray[Any, Any]
# A node belongs to a group with this probability, and is joined to another one for each group that both belong to.
_P_MEMBER, _P_JOINED, _P_BETWEEN = 0.3, 0.06, 0.01


def overlapping_groups(
    *, n_groups: int, n_nodes: int, n_features: int, sizes: tuple[int, int, int], seed: int
) -> PartedGraphs:
    """Draw graphs of nodes that belong to any number of groups; y ``[n, n_groups]`` tells to which, as 0 and 1.

    x are sums of the means of the groups of a node, buried in noise; the means are those of all graphs, so that what is
    learnt on some holds on others. Whole graphs are for training, for validation and for test.

    Parameters
    ----------
    n_groups, n_nodes, n_features
    sizes
        Graphs of each part.
    seed
    """
    means = np.random.default_rng(derive(seed, "overlapping_groups", "means")).normal(size=(n_groups, n_features))
    make = partial(_overlapping_graph, means, n_nodes)
    return draw_parts("overlapping_groups", make, sizes=sizes, seed=seed)


def _overlapping_graph(means: Array, n_nodes: int, draw: GraphDraw) -> list[Data]:
    rng = draw.rng
    member = (rng.random((n_nodes, len(means))) < _P_MEMBER).astype(np.float32)
    n_shared = member @ member.T
    p = 1.0 - (1.0 - _P_BETWEEN) * (1.0 - _P_JOINED) ** n_shared
    above = np.triu(rng.random((n_nodes, n_nodes)) < p, k=1)
    # No product of matrices: libraries add its terms in orders of their own.
    x = (member[:, :, None] * means).sum(axis=1) + 2.0 * rng.normal(size=(n_nodes, means.shape[1]))
    return [_real_graph(x, above | above.T, y=torch.from_numpy(member))]


def smoothed_numbers(*, n_nodes: int, n_features: int, mean_degree: float, seed: int) -> Data:
    """Draw a number for each node of a random graph: y ``[n]`` is its own signal and the mean of its neighbours'.

    The signal of a node is a fixed mixture of its x; a tenth of y is noise. Ten random splits divide 20/20/60.

    Parameters
    ----------
    n_nodes, n_features, mean_degree, seed
    """
    rng = np.random.default_rng(seed)
    joined = _join(n_nodes, mean_degree, rng)
    x = rng.normal(size=(n_nodes, n_features))
    signal = (x * rng.normal(size=n_features)).sum(axis=1) / np.sqrt(n_features)
    degree = np.maximum(joined.sum(axis=1), 1)
    y = signal + 2.0 * np.where(joined, signal, 0.0).sum(axis=1) / degree
    y = y + 0.1 * y.std() * rng.normal(size=n_nodes)
    masks = draw_masks(n_nodes, (0.2, 0.4), Generator().manual_seed(seed))
    return _real_graph(x, joined, y=torch.from_numpy(y.astype(np.float32)), **masks)


def tie_strengths(*, n_nodes: int, n_features: int, mean_degree: float, seed: int) -> Data:
    """Draw a number for each edge of a random graph: edge_label ``[m]`` is how near the places of its two ends are.

    Every node has a place in ``n_features`` dimensions, and x is that place buried in noise; a tenth of the numbers is
    noise too. Each edge is listed once in edge_label_index.

    Parameters
    ----------
    n_nodes, n_features, mean_degree, seed
    """
    rng = np.random.default_rng(seed)
    joined = _join(n_nodes, mean_degree, rng)
    place = rng.normal(size=(n_nodes, n_features))
    x = place + 0.3 * rng.normal(size=place.shape)
    pairs = np.stack(np.triu(joined).nonzero())
    near = (place[pairs[0]] * place[pairs[1]]).sum(axis=1) / np.sqrt(n_features)
    near = near + 0.1 * near.std() * rng.normal(size=near.shape)
    labels = {
        "edge_label_index": torch.from_numpy(pairs),
        "edge_label": torch.from_numpy(near.astype(np.float32)),
    }
    return _real_graph(x, joined, **labels)


def _join(n_nodes: int, mean_degree: float, rng: np.random.Generator) -> Array:
    """Join every pair of different nodes with the same probability ``[n, n]``."""
    above = np.triu(rng.random((n_nodes, n_nodes)) < mean_degree / (n_nodes - 1), k=1)
    joined: Array = above | above.T
    return joined


def _real_graph(x: Array, joined: Array, **fields: torch.Tensor) -> Data:
    edges = torch.from_numpy(np.stack(joined.nonzero()))
    return Data(x=torch.from_numpy(x.astype(np.float32)), edge_index=edges, **fields)
