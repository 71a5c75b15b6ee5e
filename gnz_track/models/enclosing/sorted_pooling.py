"""A network of whole graphs whose nodes are put in order (Zhang et al., AAAI 2018)."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch_geometric.nn import GATConv, GCNConv, SAGEConv, SortAggregation

__all__ = ["CONVOLUTIONS", "SMALLEST_K", "SortedPooling"]

CONVOLUTIONS: Mapping[str, Callable[[int, int], nn.Module]] = {
    "GCN": GCNConv,
    "SAGE": SAGEConv,
    "GAT": functools.partial(GATConv, heads=1),
}
_FIRST, _SECOND, _KERNEL, _DROPOUT = 16, 32, 5, 0.5
# What the convolution over nodes needs, and the least that is published.
SMALLEST_K = 10


class SortedPooling(nn.Module):
    """Convolutions, the ``k`` nodes that are last in order, a convolution along these, and a perceptron.

    ``k`` is told by :meth:`settle`, and the perceptron has no shape before.
    """

    def __init__(self, in_channels: int, conv: str, *, n_hidden: int, hidden: int, mlp_hidden: int) -> None:
        super().__init__()
        widths = [in_channels, *[hidden] * n_hidden, 1]
        make = CONVOLUTIONS[conv]
        self.layers = nn.ModuleList(make(a, b) for a, b in itertools.pairwise(widths))
        self.k, self.width = 0, hidden * n_hidden + 1
        self.of_nodes = nn.Conv1d(1, _FIRST, self.width, stride=self.width)
        self.along_nodes = nn.Conv1d(_FIRST, _SECOND, _KERNEL)
        self.pool = nn.MaxPool1d(2)
        self.first, self.second = nn.LazyLinear(mlp_hidden), nn.Linear(mlp_hidden, 1)
        self.dropout = nn.Dropout(_DROPOUT)

    def settle(self, k: int) -> None:
        """Say how many nodes of a graph are read; where the perceptron has no shape yet, it gets one."""
        self.k = max(SMALLEST_K, k)
        if isinstance(self.first.weight, nn.parameter.UninitializedParameter):
            self.first(torch.zeros(1, (self.k // 2 - _KERNEL + 1) * _SECOND, device=self.second.weight.device))

    def forward(self, x: Tensor, edge_index: Tensor, graph: Tensor, n_graphs: int) -> Tensor:
        """Return one logit per graph ``[n_graphs]``.

        Parameters
        ----------
        x
            features of the nodes of all graphs ``[n, in]``
        edge_index
            edges of all graphs ``[2, n_edges]``
        graph
            the graph of each node ``[n]``
        n_graphs
            how many graphs there are
        """
        codes = [x]
        for layer in self.layers:
            codes.append(layer(codes[-1], edge_index).tanh())
        chosen = SortAggregation(self.k)(torch.cat(codes[1:], dim=1), graph, dim_size=n_graphs)
        h = self.pool(self.of_nodes(chosen.unsqueeze(1)).relu())
        h = self.along_nodes(h).relu().flatten(1)
        logits: Tensor = self.second(self.dropout(self.first(h).relu()))
        return logits.squeeze(1)
