"""Networks on dense tensors: one number for every pair of nodes and channel. For small graphs.

The tensor of a graph ``[channels, n, n]`` has its edges in the first channel, its edge features in the next ones where
they are asked for, and the features and the encoding of its nodes on the diagonals of the rest. Graphs of a batch are
taken one after another, so that nothing is padded and nothing is normalised across graphs. First the frame, then
RingGNN (Chen et al., NeurIPS 2019) and ThreeWLGNN, the provably powerful graph network (Maron et al., NeurIPS 2019).
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.deep.readouts import MLPReadout
from gnz_track.models.options import Defaults, Model, Option, Sizes, count
from gnz_track.types import TaskType

__all__ = ["MOST_NODES", "DenseNetwork", "RingGNN", "ThreeWLGNN", "count_channels", "equivariant_basis"]

# A tensor has this number squared times the width entries for every layer.
MOST_NODES = 512
N_BASIS = 15


class Piece(NamedTuple):
    """One graph: its tensor, and its labelled edges ``[2, n]`` where there are any."""

    tensor: Tensor
    pairs: Tensor | None


def count_channels(sizes: Sizes, *, edge_features: bool) -> int:
    """Return the channels of the tensor of a graph."""
    if edge_features and not sizes.edge_channels:
        raise BadValue("edge_features", value=True, allowed="False: the message edges of this task have no features")
    of_edges = sum(sizes.edge_vocabulary) or sizes.edge_channels
    return 1 + edge_features * of_edges + (sum(sizes.vocabulary) or sizes.in_channels) + sizes.n_encoding


class DenseNetwork(Model):
    """Blocks on the tensor of a graph, each read out; the answer is the sum of what all of them say.

    ``pool`` makes one number of a channel's entries, those of the diagonal apart from the others.
    """

    defaults = Defaults(n_layers=count(2), edge_features=Option(default=False))

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        task_type: TaskType,
        sizes: Sizes,
        **options: Any,
    ) -> None:
        del in_channels, out_channels
        super().__init__(options)
        self.sizes, self.edge_features = sizes, self.options.edge_features
        self.view = _VIEWS[task_type]
        first, n_layers = count_channels(sizes, edge_features=self.edge_features), self.options.n_layers
        entering = [first, *[hidden_channels] * (n_layers - 1)]
        self.blocks = nn.ModuleList(self.make_block(channels, hidden_channels) for channels in entering)
        self.heads = nn.ModuleList(_HEADS[task_type](2 * hidden_channels, sizes.out_channels) for _ in entering)

    @abstractmethod
    def make_block(self, in_channels: int, width: int) -> nn.Module:
        """Return a block of tensors ``[in_channels, n, n]`` that gives ``[width, n, n]``."""

    @abstractmethod
    def pool(self, entries: Tensor) -> Tensor:
        """Return one number for each row of ``[..., n]``."""

    def forward(self, data: Data) -> Tensor:
        """Return what the task type asks for, graph after graph."""
        return torch.cat([self._answer(piece) for piece in self.pieces(data)])

    def _answer(self, piece: Piece) -> Tensor:
        h, answers = piece.tensor, []
        for block, head in zip(self.blocks, self.heads, strict=True):
            h = block(h)
            answers.append(head(self.view(h, piece.pairs, self.pool)))
        return torch.stack(answers).sum(dim=0)

    def pieces(self, data: Data) -> Iterator[Piece]:
        """Yield the graphs of a batch, one after another."""
        graph = data.batch if data.batch is not None else data.edge_index.new_zeros(data.num_nodes)
        n_graphs = data.num_graphs if data.batch is not None else 1
        sizes = torch.bincount(graph, minlength=n_graphs)
        if int(sizes.max()) > MOST_NODES:
            raise BadValue(f"the nodes of a graph for {type(self).__name__}", int(sizes.max()), f"at most {MOST_NODES}")
        dtype = next(self.parameters()).dtype
        on_nodes, on_edges = self._channels_of_nodes(data, dtype), self._channels_of_edges(data, dtype)
        order = graph[data.edge_index[0]].argsort(stable=True)
        n_edges = torch.bincount(graph[data.edge_index[0]], minlength=n_graphs).tolist()
        pairs = data.get("edge_label_index")
        n_pairs = [0] * n_graphs if pairs is None else torch.bincount(graph[pairs[0]], minlength=n_graphs).tolist()
        first = 0
        cuts = zip(on_nodes.split(sizes.tolist()), order.split(n_edges), _cut(pairs, n_pairs), strict=True)
        for nodes, edges, own_pairs in cuts:
            tensor = _tensor(nodes, data.edge_index[:, edges] - first, on_edges[edges])
            yield Piece(tensor, None if own_pairs is None else own_pairs - first)
            first += nodes.size(0)

    def _channels_of_nodes(self, data: Data, dtype: torch.dtype) -> Tensor:
        features = _spread(data.x, self.sizes.vocabulary).to(dtype)
        return torch.cat([features, data.encoding], dim=1) if self.sizes.n_encoding else features

    def _channels_of_edges(self, data: Data, dtype: torch.dtype) -> Tensor:
        ones = torch.ones(data.edge_index.size(1), 1, dtype=dtype, device=data.edge_index.device)
        if not self.edge_features:
            return ones
        given = data.edge_attr.reshape(ones.size(0), -1)
        return torch.cat([ones, _spread(given, self.sizes.edge_vocabulary).to(dtype)], dim=1)


def _spread(values: Tensor, vocabulary: tuple[int, ...]) -> Tensor:
    """Return real features as they are, and every column of categories as as many columns of 0 and 1."""
    if not vocabulary:
        return values
    columns = values.reshape(values.size(0), -1).unbind(dim=1)
    one_hot = [functional.one_hot(column, size) for column, size in zip(columns, vocabulary, strict=True)]
    return torch.cat(one_hot, dim=1)


def _tensor(nodes: Tensor, edges: Tensor, on_edges: Tensor) -> Tensor:
    """Return the tensor of one graph of node channels ``[n, a]``, edges ``[2, m]`` and their channels ``[m, b]``."""
    n = nodes.size(0)
    between = nodes.new_zeros(n, n, on_edges.size(1))
    between[edges[0], edges[1]] = on_edges
    return torch.cat([between.permute(2, 0, 1), torch.diag_embed(nodes.t())])


def _cut(pairs: Tensor | None, counts: list[int]) -> list[Tensor | None]:
    return [None] * len(counts) if pairs is None else list(pairs.split(counts, dim=1))


Pool = Callable[[Tensor], Tensor]


def _without_diagonal(h: Tensor) -> Tensor:
    """Return the entries off the diagonal ``[width, n, n - 1]`` of ``[width, n, n]``; of one node, a single zero."""
    n = h.size(1)
    if n == 1:
        return h.new_zeros(h.size(0), 1, 1)
    return h.flatten(1)[:, 1:].view(h.size(0), n - 1, n + 1)[:, :, :-1].reshape(h.size(0), n, n - 1)


def _view_graph(h: Tensor, pairs: Tensor | None, pool: Pool) -> Tensor:
    del pairs
    diagonal = h.diagonal(dim1=1, dim2=2)
    return torch.cat([pool(diagonal), pool(_without_diagonal(h).flatten(1))]).unsqueeze(0)


def _view_nodes(h: Tensor, pairs: Tensor | None, pool: Pool) -> Tensor:
    del pairs
    return torch.cat([h.diagonal(dim1=1, dim2=2), pool(_without_diagonal(h))]).t()


def _view_edges(h: Tensor, pairs: Tensor | None, pool: Pool) -> Tensor:
    del pool
    first, second = h.new_zeros((2, 0), dtype=torch.int64) if pairs is None else pairs
    return torch.cat([h[:, first, second], h[:, second, first]]).t()


_VIEWS: dict[TaskType, Callable[[Tensor, Tensor | None, Pool], Tensor]] = {
    TaskType.node_cls: _view_nodes,
    TaskType.graph_cls: _view_graph,
    TaskType.graph_reg: _view_graph,
    TaskType.edge_cls: _view_edges,
    TaskType.node_reg: _view_nodes,
    TaskType.edge_reg: _view_edges,
}
_HEADS: dict[TaskType, Callable[[int, int], nn.Module]] = {
    **dict.fromkeys((TaskType.node_cls, TaskType.node_reg, TaskType.graph_cls, TaskType.graph_reg), nn.Linear),
    **dict.fromkeys((TaskType.edge_cls, TaskType.edge_reg), MLPReadout),
}


class RingGNN(DenseNetwork):
    """Every block adds a linear equivariant map and the product of two others; ``mixing`` is what that begins with.

    Read out by sums, as published.
    """

    defaults = DenseNetwork.defaults.but(mixing=Option(0.02))

    def make_block(self, in_channels: int, width: int) -> nn.Module:
        """Return a linear map plus a product of two others."""
        return _RingBlock(in_channels, width, self.options.mixing)

    def pool(self, entries: Tensor) -> Tensor:
        """Return the sum of each row of ``[..., n]``."""
        return entries.sum(dim=-1)


class _RingBlock(nn.Module):
    def __init__(self, in_channels: int, out_channels: int, mixing: float) -> None:
        super().__init__()
        self.maps = nn.ModuleList(_EquivariantMap(in_channels, out_channels) for _ in range(3))
        self.mixing = nn.Parameter(torch.tensor([1.0, mixing]))

    def forward(self, h: Tensor) -> Tensor:
        once, left, right = (each(h) for each in self.maps)
        return (self.mixing[0] * once + self.mixing[1] * (left @ right)).relu()


class _EquivariantMap(nn.Module):
    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        deviation = math.sqrt(2.0 / (in_channels + out_channels))
        self.weight = nn.Parameter(torch.randn(out_channels, N_BASIS * in_channels) * deviation)
        self.bias = nn.Parameter(torch.zeros(out_channels, 1, 1))
        self.bias_of_diagonal = nn.Parameter(torch.zeros(out_channels, 1))

    def forward(self, h: Tensor) -> Tensor:
        n = h.size(1)
        out = (self.weight @ equivariant_basis(h).flatten(2).flatten(0, 1)).view(-1, n, n)
        return out + self.bias + torch.diag_embed(self.bias_of_diagonal.expand(-1, n))


def equivariant_basis(h: Tensor) -> Tensor:
    """Return the linear maps ``[15, channels, n, n]`` of ``[channels, n, n]`` that do not ask which node is which.

    They are a basis of all such maps (Maron et al., ICLR 2019); sums are means here, so that sizes can be compared.
    """
    n = h.size(1)
    diagonal = h.diagonal(dim1=1, dim2=2)
    rows, columns = h.mean(dim=2), h.mean(dim=1)
    trace, total = (part.mean(dim=1, keepdim=True).expand(-1, n) for part in (diagonal, rows))
    vectors = (diagonal, trace, rows, columns, total)
    on_diagonal = [torch.diag_embed(vector) for vector in vectors]
    across = [vector.unsqueeze(1).expand_as(h) for vector in (diagonal, rows, columns)]
    down = [vector.unsqueeze(2).expand_as(h) for vector in (diagonal, rows, columns, trace, total)]
    return torch.stack([*on_diagonal, *across, *down, h, h.transpose(1, 2)])


class ThreeWLGNN(DenseNetwork):
    """Every block multiplies two perceptrons of the tensor as matrices, and sees what entered it beside the product.

    The perceptrons have ``depth`` layers, entry by entry. Read out by maxima, as published.
    """

    defaults = DenseNetwork.defaults.but(n_layers=3, depth=count(2))

    def make_block(self, in_channels: int, width: int) -> nn.Module:
        """Return a product of two perceptrons."""
        return _ProductBlock(in_channels, width, self.options.depth)

    def pool(self, entries: Tensor) -> Tensor:
        """Return the largest number of each row of ``[..., n]``."""
        return entries.amax(dim=-1)


class _ProductBlock(nn.Module):
    def __init__(self, in_channels: int, width: int, depth: int) -> None:
        super().__init__()
        self.left, self.right = (_perceptron(in_channels, width, depth) for _ in range(2))
        self.join = nn.Conv2d(in_channels + width, width, 1)

    def forward(self, h: Tensor) -> Tensor:
        return self.join(torch.cat([h, self.left(h) @ self.right(h)]))  # type: ignore[no-any-return]


def _perceptron(in_channels: int, width: int, depth: int) -> nn.Sequential:
    widths = [in_channels, *[width] * depth]
    layers = [(nn.Conv2d(first, last, 1), nn.ReLU()) for first, last in itertools.pairwise(widths)]
    return nn.Sequential(*itertools.chain.from_iterable(layers))
