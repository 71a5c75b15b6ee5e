"""Deep graph attention (Velickovic et al., ICLR 2018)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GATConv

from gnz_track.models.deep.network import (
    DeepNetwork,
    Layer,
    OnEdges,
    choose_convolution,
    make_edge_frame,
    softmax_to,
    sum_to,
)
from gnz_track.models.sizes import Sizes
from gnz_track.models.stack import check_count
from gnz_track.types import TaskType

__all__ = ["DeepGAT"]


class DeepGAT(DeepNetwork):
    """Attention over neighbours without loops and without bias; layers are ``heads * hidden_channels`` wide.

    The last layer has one head of that width.
    """

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        task_type: TaskType,
        sizes: Sizes,
        n_layers: int = 4,
        heads: int = 8,
        dropout: float = 0.0,
        readout: str = "mean",
        edge_repr: str = "edge_feat",
        edge_features: bool = False,
    ) -> None:
        del in_channels, out_channels
        check_count("heads", heads)
        width = heads * hidden_channels
        frame = make_edge_frame(
            edge_repr,
            task_type=task_type,
            sizes=sizes,
            width=width,
            n_layers=n_layers,
            dropout=dropout,
            readout=readout,
            edge_features=edge_features,
        )
        make = choose_convolution(edge_repr, _Sum, _attention, _EdgeAttention)
        super().__init__(
            frame,
            lambda place: Layer(make(width, 1 if place == n_layers - 1 else heads), frame, bend=functional.elu),
        )


class _Sum(nn.Module):
    """The sum over neighbours, all heads alike."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        del heads
        self.linear = nn.Linear(width, width, bias=False)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        return sum_to(self.linear(h).index_select(0, source), target, h.size(0)), e


def _attention(width: int, heads: int) -> nn.Module:
    return OnEdges(GATConv(width, width // heads, heads=heads, add_self_loops=False, bias=False))


class _EdgeAttention(nn.Module):
    """Attention by the codes of an edge and of both its ends, head by head; the same three make its next code."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.of_nodes, self.of_edges = (nn.Linear(width, width, bias=False) for _ in range(2))
        each = width // heads
        self.score = nn.ModuleList(nn.Linear(3 * each, 1, bias=False) for _ in range(heads))
        self.renew = nn.ModuleList(nn.Linear(3 * each, each) for _ in range(heads))

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        source, target = data.edge_index
        n_nodes, nodes = h.size(0), self._by_head(self.of_nodes(h))
        edges, sources = self._by_head(self.of_edges(e)), nodes.index_select(0, source)
        all_three = torch.cat([edges, sources, nodes.index_select(0, target)], dim=2)
        scores = torch.cat([score(all_three[:, head]) for head, score in enumerate(self.score)], dim=1)
        weights = softmax_to(functional.leaky_relu(scores, 0.2), target, n_nodes)
        renewed = torch.cat([renew(all_three[:, head]) for head, renew in enumerate(self.renew)], dim=1)
        return sum_to((weights.unsqueeze(2) * sources).flatten(1), target, n_nodes), renewed

    def _by_head(self, codes: Tensor) -> Tensor:
        """Return codes ``[n, width]`` as ``[n, heads, width / heads]``."""
        return codes.view(codes.size(0), self.heads, codes.size(1) // self.heads)
