"""Deep Graph Infomax (Velickovic et al., ICLR 2019): a pre-training utility.

Never a row of a report, because its loss is not a metric on anything held out.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import DeepGraphInfomax, GCNConv

__all__ = ["DGI", "DGIWrapper"]


class DGIWrapper(nn.Module):
    """Pre-train any node encoder by telling its graph from one with shuffled features.

    ``forward(data) -> (codes [n_nodes, hidden], codes of the shuffled graph, summary [hidden])``.
    """

    def __init__(self, encoder: nn.Module, hidden_channels: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.infomax = DeepGraphInfomax(hidden_channels, _OnTensors(encoder), summary=_summarise, corruption=_shuffle)

    def forward(self, data: Data) -> tuple[Tensor, Tensor, Tensor]:
        """Return codes of the graph, codes of the shuffled graph, and the summary."""
        codes: tuple[Tensor, Tensor, Tensor] = self.infomax(data.x, data.edge_index)
        return codes

    def loss(self, codes: Tensor, shuffled: Tensor, summary: Tensor) -> Tensor:
        """Return the binary cross-entropy between the two kinds of code (a scalar).

        Parameters
        ----------
        codes, shuffled
            codes of the graph and of the shuffled one ``[n_nodes, hidden]``
        summary
            summary of the graph ``[hidden]``
        """
        return self.infomax.loss(codes, shuffled, summary)


class DGI(nn.Module):
    """Deep Graph Infomax over one convolution with PReLU: ``DGI(in_channels, hidden_channels)``."""

    def __init__(self, in_channels: int, hidden_channels: int = 512) -> None:
        super().__init__()
        self.wrapper = DGIWrapper(_ConvolutionEncoder(in_channels, hidden_channels), hidden_channels)

    def forward(self, data: Data) -> tuple[Tensor, Tensor, Tensor]:
        """Return codes of the graph, codes of the shuffled graph, and the summary."""
        return self.wrapper(data)

    def loss(self, codes: Tensor, shuffled: Tensor, summary: Tensor) -> Tensor:
        """Return the binary cross-entropy between the two kinds of code (a scalar).

        Parameters
        ----------
        codes, shuffled, summary
            what ``forward`` returns
        """
        return self.wrapper.loss(codes, shuffled, summary)


class _ConvolutionEncoder(nn.Module):
    def __init__(self, in_channels: int, hidden_channels: int) -> None:
        super().__init__()
        self.convolution = GCNConv(in_channels, hidden_channels)
        self.activation = nn.PReLU(hidden_channels)

    def forward(self, data: Data) -> Tensor:
        return self.activation(self.convolution(data.x, data.edge_index))


class _OnTensors(nn.Module):
    """Let PyG call an encoder of ``Data`` with tensors."""

    def __init__(self, encoder: nn.Module) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.encoder(Data(x=x, edge_index=edge_index))


def _shuffle(x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
    return x[torch.randperm(x.size(0))], edge_index


def _summarise(codes: Tensor, *_: object) -> Tensor:
    return codes.mean(dim=0).sigmoid()
