"""Simple graph convolution (Wu et al., ICML 2019): hops without anything between them, then one linear map."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import APPNP

from gnz_track.models.options import Defaults, Model, Option, count
from gnz_track.types import TaskType

__all__ = ["SGC"]


class SGC(Model):
    """A linear map of features that went ``n_hops`` hops; ``forward(data) -> [n_nodes, out]``. There is no width.

    Hops and map change places, ``S^k (X W) = (S^k X) W``: codes go the hops, which are fewer numbers than features.
    """

    task_types = frozenset(TaskType)
    defaults = Defaults(n_hops=count(2), bias=Option(default=True))

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, **options: Any) -> None:
        del hidden_channels
        super().__init__(options)
        self.map = nn.Linear(in_channels, out_channels, bias=False)
        # A teleport that never happens leaves the hops alone.
        self.hops = APPNP(K=self.options.n_hops, alpha=0.0)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if self.options.bias else None

    def forward(self, data: Data) -> Tensor:
        """Encode the nodes of a graph."""
        found: Any = self.hops(self.map(data.x), data.edge_index)
        return found if self.bias is None else found + self.bias
