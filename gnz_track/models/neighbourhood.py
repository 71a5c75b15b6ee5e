"""Resource allocation index (Zhou, Lu and Zhang, 2009): common neighbours, each over its degree.

Weighted counts of common neighbours, for pairs of nodes.

Adamic-Adar index (Adamic and Adar, 2003): common neighbours, those with few links of their own weighing more.

Jaccard coefficient (Jaccard, 1901): common neighbours over all neighbours of two nodes.

The nearest points of each point, and nothing learnt: what networks that look for round trips are held against.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.embeddings.fitted import undirected_links
from gnz_track.models.sizes import Sizes
from gnz_track.models.stack import check_count
from gnz_track.types import TaskType

__all__ = ["AdamicAdar", "CommonNeighbours", "Jaccard", "NearestNeighbours", "Real", "ResourceAllocation"]


Real = NDArray[np.float64]
# Pairs that are looked up at a time.
CHUNK = 1 << 16


class CommonNeighbours(nn.Module):
    """A link model whose score is a sum of weights over common neighbours, divided where a score asks for it.

    ``weigh(degrees [n]) -> [n]`` weighs a neighbour; ``divide(sums [p], degrees [p], degrees [p]) -> [p]`` finishes.
    The logit is a positive multiple plus an offset, both fitted: they make a loss of it, and change no ranking.
    """

    task_types = (TaskType.link_pred,)

    def __init__(
        self, weigh: Callable[[Real], Real], divide: Callable[[Real, Real, Real], Real] = lambda sums, *_: sums
    ) -> None:
        super().__init__()
        self._weigh, self._divide = weigh, divide
        self.log_scale, self.offset = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))
        self._links: sparse.csr_matrix | None = None
        self._weighted: sparse.csr_matrix | None = None

    def encode(self, data: Data) -> Tensor:
        """Take the message edges of a graph; return degrees ``[n_nodes, 1]``."""
        if "edge_type" in data:
            raise BadValue("the graph", "one with kinds of edges", "a graph whose edges are all of one kind")
        links = undirected_links(data)
        degrees = np.asarray(links.sum(axis=1)).ravel()
        self._links, self._weighted = links, (links @ sparse.diags(self._weigh(degrees))).tocsr()
        return torch.from_numpy(degrees).float().unsqueeze(1).to(data.edge_index.device)

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        """Return one logit per pair ``[n_pairs]`` of pairs ``[2, n_pairs]``."""
        if self._links is None or self._weighted is None:
            raise BadValue("what pairs are scored on", None, "a graph that was encoded before")
        degrees = codes[:, 0].detach().cpu().double().numpy()
        found = []
        for a, b in (chunk.cpu().numpy() for chunk in pairs.split(CHUNK, dim=1)):
            sums = np.asarray(self._links[a].multiply(self._weighted[b]).sum(axis=1)).ravel()
            found.append(self._divide(sums, degrees[a], degrees[b]))
        scores = torch.from_numpy(np.concatenate(found) if found else np.zeros(0)).float().to(codes.device)
        return scores * self.log_scale.exp() + self.offset


class AdamicAdar(CommonNeighbours):
    """The sum over common neighbours of one over the logarithm of their degree."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        del in_channels, hidden_channels, out_channels
        super().__init__(_one_over_logarithm)


def _one_over_logarithm(degrees: Real) -> Real:
    # A common neighbour has at least two links.
    return 1 / np.log(np.maximum(degrees, 2))


class Jaccard(CommonNeighbours):
    """The share of the neighbours of two nodes that both have."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        del in_channels, hidden_channels, out_channels
        super().__init__(np.ones_like, _over_union)


def _over_union(common: Real, first: Real, second: Real) -> Real:
    union = first + second - common
    return np.divide(common, union, out=np.zeros_like(common), where=union > 0)


class NearestNeighbours(nn.Module):
    """Says that the links of a point to its ``k`` nearest neighbours, and no others, are of the second class.

    Features are coordinates; the nearest are chosen among those that message edges lead to. An undirected link is one
    if it is so from either end. Logits are plus and minus one positive number, which is fitted: it makes a loss of
    them, and changes no decision. Dwivedi et al., JMLR 2023, have it with k = 2 beside their networks.
    """

    task_types = (TaskType.edge_cls,)

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, sizes: Sizes, k: int = 2) -> None:
        super().__init__()
        del in_channels, hidden_channels
        check_count("k", k)
        if sizes.vocabulary or out_channels != 2:
            found = "categories" if sizes.vocabulary else f"edges of {out_channels} classes"
            raise BadValue("the task of NearestNeighbours", found, "coordinates of nodes, and edges of two classes")
        self.k, self.is_directed = k, sizes.is_directed
        self.log_scale = nn.Parameter(torch.zeros(()))

    def forward(self, data: Data) -> Tensor:
        """Score the edges of ``data.edge_label_index``: ``[n_labelled, 2]``."""
        n_nodes, labelled = int(data.num_nodes), data.edge_label_index
        near = self.find_nearest(data.x, data.edge_index)
        codes = near[0] * n_nodes + near[1]
        is_near = torch.isin(labelled[0] * n_nodes + labelled[1], codes)
        if not self.is_directed:
            is_near |= torch.isin(labelled[1] * n_nodes + labelled[0], codes)
        margin = torch.where(is_near, self.log_scale.exp(), -self.log_scale.exp())
        return torch.stack([-margin, margin], dim=1)

    def find_nearest(self, points: Tensor, edge_index: Tensor) -> Tensor:
        """Return the edges ``[2, n]`` from each of the points ``[n_nodes, d]`` to the nearest that edges lead to."""
        edges = torch.unique(edge_index[:, edge_index[0] != edge_index[1]], dim=1)
        ends = points.double()[edges]
        order = (ends[0] - ends[1]).square().sum(dim=1).argsort(stable=True)
        # Stable: the edges of a point stay in the order of their lengths.
        edges = edges[:, order[edges[0, order].argsort(stable=True)]]
        counts = torch.bincount(edges[0])
        first = (counts.cumsum(0) - counts).repeat_interleave(counts)
        return edges[:, torch.arange(edges.size(1), device=edges.device) - first < self.k]


class ResourceAllocation(CommonNeighbours):
    """The sum over common neighbours of one over their degree."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        del in_channels, hidden_channels, out_channels
        super().__init__(_one_over_degree)


def _one_over_degree(degrees: Real) -> Real:
    return 1 / np.maximum(degrees, 1)
