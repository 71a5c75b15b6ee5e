"""Deep Graph Infomax (Velickovic et al., ICLR 2019): to pre-train an encoder with, and as codes for a linear map.

``DGI`` and ``DGIWrapper`` are never a row of a report, because their loss is not a metric on anything held out; the
linear map is, which held-out labels can score. For its codes features are mapped before they are shuffled, which is the
same as after, and half the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import DeepGraphInfomax, GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from gnz_track.models.embeddings.fitted import FittedEmbedding
from gnz_track.models.options import choice
from gnz_track.optimisers import Adam

__all__ = ["DGI", "ENCODERS", "SUMMARIES", "DGILinear", "DGIWrapper", "Infomax", "fit_infomax"]
EPOCHS, LR = 300, 1e-3
# Name -> what bends the codes, given the width.
ENCODERS: Mapping[str, Callable[[int], nn.Module]] = {
    "prelu": nn.PReLU,
    "relu": lambda _: nn.ReLU(),
    "tanh": lambda _: nn.Tanh(),
}
# Name -> from codes [n_nodes, width] to what is said of the graph [width], before it is pressed between 0 and 1.
SUMMARIES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "mean": lambda codes: codes.mean(dim=0),
    "max": lambda codes: codes.amax(dim=0),
    "min": lambda codes: codes.amin(dim=0),
    "var": lambda codes: codes.var(dim=0),
}


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


@dataclass(frozen=True)
class Infomax:
    """The width of codes, what bends them, and what summarises a graph."""

    width: int
    encoder_act: str
    summary: str


def fit_infomax(how: Infomax, x: Tensor, edge_index: Tensor, generator: Generator) -> Tensor:
    """Return codes ``[n_nodes, width]``.

    Parameters
    ----------
    how
        width, activation and summary
    x
        features ``[n_nodes, in]``; those that ask for a gradient are a first guess, and learnt
    edge_index
        edges that messages go along ``[2, n_edges]``
    generator
        draws first weights and shuffles
    """
    features = [x.detach().clone().requires_grad_()] if x.requires_grad else []
    net = _InfomaxNet(how, x.size(1), _adjacency(edge_index, x.size(0)), generator).to(edge_index.device)
    optimiser = Adam([*net.parameters(), *features], lr=LR)
    given = features[0] if features else x
    with torch.enable_grad():
        for _ in range(EPOCHS):
            optimiser.zero_grad()
            net.loss(given, torch.randperm(x.size(0), generator=generator)).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    with torch.no_grad():
        return net.encode(functional.linear(given, net.weight)).detach()


def _adjacency(edge_index: Tensor, n_nodes: int) -> Tensor:
    """Return the normalised adjacency with loops ``[n_nodes, n_nodes]``, targets in rows (Kipf and Welling, 2017)."""
    ends, weights = gcn_norm(edge_index, num_nodes=n_nodes)
    return torch.sparse_coo_tensor(ends.flip(0), weights, (n_nodes, n_nodes), check_invariants=False).coalesce()


class _InfomaxNet(nn.Module):
    def __init__(self, how: Infomax, in_channels: int, adjacency: Tensor, generator: Generator) -> None:
        super().__init__()
        self.how, self.adjacency = how, adjacency
        self.weight = nn.Parameter(torch.empty(how.width, in_channels))
        nn.init.xavier_uniform_(self.weight, generator=generator)
        self.bias = nn.Parameter(torch.zeros(how.width))
        self.act = ENCODERS[how.encoder_act](how.width)
        self.judge = nn.Parameter(torch.empty(how.width, how.width))
        nn.init.uniform_(self.judge, -(how.width**-0.5), how.width**-0.5, generator=generator)

    def encode(self, mapped: Tensor) -> Tensor:
        codes: Tensor = self.act(torch.sparse.mm(self.adjacency, mapped) + self.bias)  # type: ignore[no-untyped-call]
        return codes

    def loss(self, x: Tensor, order: Tensor) -> Tensor:
        mapped = functional.linear(x, self.weight)
        codes, shuffled = self.encode(mapped), self.encode(mapped.index_select(0, order.to(mapped.device)))
        summary = self.judge @ SUMMARIES[self.how.summary](codes).sigmoid()
        return functional.softplus(-(codes @ summary)).mean() + functional.softplus(shuffled @ summary).mean()


class DGILinear(FittedEmbedding):
    """Codes as wide as ``hidden_channels`` by 300 steps of infomax, then a linear map.

    ``encoder_act`` bends the codes: prelu, relu or tanh; ``summary`` of all codes is mean, max, min or var.
    """

    defaults = FittedEmbedding.defaults.but(encoder_act=choice("prelu", ENCODERS), summary=choice("mean", SUMMARIES))

    def embed(self, data: Data, generator: Generator) -> Tensor:
        """Return codes ``[n_nodes, width]``."""
        how = Infomax(self.linear.in_features, self.options.encoder_act, self.options.summary)
        return fit_infomax(how, data.x, data.edge_index, generator)
