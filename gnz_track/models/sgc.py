"""Simple graph convolution (Wu et al., ICML 2019): hops without anything between them, then one linear map."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import APPNP

from gnz_track.errors import BadValue
from gnz_track.types import TaskType

__all__ = ["SGC"]


class SGC(nn.Module):
    """A linear map of features that went ``n_hops`` hops; ``forward(data) -> [n_nodes, out]``. There is no width.

    Hops and map change places, ``S^k (X W) = (S^k X) W``: codes go the hops, which are fewer numbers than features.
    """

    task_types = frozenset(TaskType)

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, n_hops: int = 2, bias: bool = True
    ) -> None:
        super().__init__()
        del hidden_channels
        if not isinstance(n_hops, int) or n_hops < 1:
            raise BadValue("n_hops", n_hops, "a whole number from 1 upwards")
        self.map = nn.Linear(in_channels, out_channels, bias=False)
        # A teleport that never happens leaves the hops alone.
        self.hops = APPNP(K=n_hops, alpha=0.0)
        self.bias = nn.Parameter(torch.zeros(out_channels)) if bias else None

    def forward(self, data: Data) -> Tensor:
        """Encode the nodes of a graph."""
        found: Any = self.hops(self.map(data.x), data.edge_index)
        return found if self.bias is None else found + self.bias
