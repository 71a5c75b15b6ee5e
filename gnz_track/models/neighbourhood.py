"""Scores of links by common neighbours, with no weights but a scale and an offset of the logits.

A score says what a common neighbour weighs by its degree, and what the sum of weights is divided by.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.embeddings.fitted import undirected_links
from gnz_track.types import TaskType

__all__ = ["AdamicAdar", "CommonNeighbours", "Jaccard", "ResourceAllocation"]


Real = NDArray[np.float64]
# Pairs that are looked up at a time.
CHUNK = 1 << 16


class CommonNeighbours(nn.Module):
    """A link model whose score is a sum of weights over common neighbours, divided where a score asks for it.

    The logit is a positive multiple plus an offset, both fitted: they make a loss of it, and change no ranking.
    """

    task_types = (TaskType.link_pred,)

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        del in_channels, hidden_channels, out_channels
        self.log_scale, self.offset = nn.Parameter(torch.zeros(())), nn.Parameter(torch.zeros(()))
        self._links: sparse.csr_matrix | None = None
        self._weighted: sparse.csr_matrix | None = None

    def weigh(self, degrees: Real) -> Real:
        """Return what neighbours of degrees ``[n]`` weigh ``[n]``: all the same, unless a score says otherwise."""
        return np.ones_like(degrees)

    def finish(self, sums: Real, degrees: Real) -> Real:
        """Return scores of sums ``[n_pairs]`` and of the degrees of both nodes ``[2, n_pairs]``: the sums alone."""
        del degrees
        return sums

    def encode(self, data: Data) -> Tensor:
        """Take the message edges of a graph; return degrees ``[n_nodes, 1]``."""
        if "edge_type" in data:
            raise BadValue("the graph", "one with kinds of edges", "a graph whose edges are all of one kind")
        links = undirected_links(data)
        degrees = np.asarray(links.sum(axis=1)).ravel()
        self._links, self._weighted = links, (links @ sparse.diags(self.weigh(degrees))).tocsr()
        return torch.from_numpy(degrees).float().unsqueeze(1).to(data.edge_index.device)

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        """Return one logit per pair ``[n_pairs]`` of pairs ``[2, n_pairs]``."""
        if self._links is None or self._weighted is None:
            raise BadValue("what pairs are scored on", None, "a graph that was encoded before")
        degrees = codes[:, 0].detach().cpu().double().numpy()
        found = []
        for ends in (chunk.cpu().numpy() for chunk in pairs.split(CHUNK, dim=1)):
            sums = np.asarray(self._links[ends[0]].multiply(self._weighted[ends[1]]).sum(axis=1)).ravel()
            found.append(self.finish(sums, degrees[ends]))
        scores = torch.from_numpy(np.concatenate(found) if found else np.zeros(0)).float().to(codes.device)
        return scores * self.log_scale.exp() + self.offset


class AdamicAdar(CommonNeighbours):
    """The sum over common neighbours of one over the logarithm of their degree (Adamic and Adar, 2003)."""

    def weigh(self, degrees: Real) -> Real:
        """Return what neighbours of some degrees weigh; a common one has at least two links."""
        return 1 / np.log(np.maximum(degrees, 2))


class Jaccard(CommonNeighbours):
    """The share of the neighbours of two nodes that both have (Jaccard, 1901)."""

    def finish(self, sums: Real, degrees: Real) -> Real:
        """Return common neighbours over all neighbours ``[n_pairs]``."""
        union = degrees[0] + degrees[1] - sums
        return np.divide(sums, union, out=np.zeros_like(sums), where=union > 0)


class ResourceAllocation(CommonNeighbours):
    """The sum over common neighbours of one over their degree (Zhou, Lu and Zhang, 2009)."""

    def weigh(self, degrees: Real) -> Real:
        """Return what neighbours of some degrees weigh."""
        return 1 / np.maximum(degrees, 1)
