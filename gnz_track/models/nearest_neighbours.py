"""The nearest points of each point, and nothing learnt: what networks that look for round trips are held against."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.options import Defaults, Model, Sizes, count
from gnz_track.types import TaskType

__all__ = ["NearestNeighbours"]


class NearestNeighbours(Model):
    """Says that the links of a point to its ``k`` nearest neighbours, and no others, are of the second class.

    Features are coordinates; the nearest are chosen among those that message edges lead to. An undirected link is one
    if it is so from either end. Logits are plus and minus one positive number, which is fitted: it makes a loss of
    them, and changes no decision. Dwivedi et al., JMLR 2023, have it with k = 2 beside their networks.
    """

    task_types = (TaskType.edge_cls,)
    defaults = Defaults(k=count(2))

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, sizes: Sizes, **options: Any
    ) -> None:
        del in_channels, hidden_channels
        super().__init__(options)
        if sizes.vocabulary or out_channels != 2:
            found = "categories" if sizes.vocabulary else f"edges of {out_channels} classes"
            raise BadValue("the task of NearestNeighbours", found, "coordinates of nodes, and edges of two classes")
        self.k, self.is_directed = self.options.k, sizes.is_directed
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
