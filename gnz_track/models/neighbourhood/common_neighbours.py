"""Weighted counts of common neighbours, for pairs of nodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.adjacency import undirected_links
from gnz_track.types import TaskType

__all__ = ["CommonNeighbours", "Real"]

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
