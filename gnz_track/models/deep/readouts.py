"""From the codes of nodes to what a task asks for."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import Set2Set, global_add_pool, global_max_pool, global_mean_pool

from gnz_track.models.options import Sizes
from gnz_track.types import TaskType

__all__ = ["POOLS", "EdgeReadout", "GraphReadout", "MLPReadout", "NodeReadout", "TwoLevelReadout", "make_readout"]

# How the codes of the nodes of a graph become one.
POOLS: dict[str, Callable[..., Tensor]] = {"mean": global_mean_pool, "sum": global_add_pool, "max": global_max_pool}


class MLPReadout(nn.Sequential):
    """Linear maps from ``width`` to half of it, to a quarter, and to ``out_channels``, ReLU between them."""

    def __init__(self, width: int, out_channels: int) -> None:
        halves = (width, width // 2, width // 4)
        super().__init__(
            nn.Linear(halves[0], halves[1]),
            nn.ReLU(),
            nn.Linear(halves[1], halves[2]),
            nn.ReLU(),
            nn.Linear(halves[2], out_channels),
        )


class NodeReadout(nn.Module):
    """One row per node ``[n_nodes, out_channels]``."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def forward(self, codes: Tensor, data: Data) -> Tensor:
        """Read out every node."""
        del data
        return self.head(codes)  # type: ignore[no-any-return]


class GraphReadout(nn.Module):
    """One row per graph ``[n_graphs, out_channels]``, of the pooled codes of its nodes."""

    def __init__(self, head: nn.Module, pool: str) -> None:
        super().__init__()
        self.head, self.pool = head, pool

    def forward(self, codes: Tensor, data: Data) -> Tensor:
        """Read out every graph of a batch."""
        return self.head(POOLS[self.pool](codes, data.batch, size=data.num_graphs))  # type: ignore[no-any-return]


class EdgeReadout(nn.Module):
    """One row per pair of nodes ``[n_pairs, out_channels]``, of the codes of its first and its second node."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.head = head

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        """Read out pairs ``[2, n_pairs]``."""
        ends = (codes.index_select(0, end) for end in pairs)
        return self.head(torch.cat(list(ends), dim=1))  # type: ignore[no-any-return]

    def forward(self, codes: Tensor, data: Data) -> Tensor:
        """Read out the labelled edges of a graph."""
        return self.decode(codes, data.edge_label_index)


class TwoLevelReadout(nn.Module):
    """A row per node and a row per graph: ``([n_nodes, out_channels], [n_graphs, n_graph_targets])``.

    Graphs are read by one step of Set2Set (Vinyals et al., ICLR 2016).
    """

    def __init__(self, width: int, out_channels: int, n_graph_targets: int) -> None:
        super().__init__()
        self.pool = Set2Set(width, processing_steps=1)
        self.nodes, self.graphs = MLPReadout(width, out_channels), MLPReadout(2 * width, n_graph_targets)

    def forward(self, codes: Tensor, data: Data) -> tuple[Tensor, Tensor]:
        """Read out nodes and graphs of a batch."""
        return self.nodes(codes), self.graphs(self.pool(codes, data.batch, dim_size=data.num_graphs))


def make_readout(task_type: TaskType, sizes: Sizes, width: int, *, pool: str) -> nn.Module:
    """Return the read-out of a task type.

    Parameters
    ----------
    task_type
        the kind of problem
    sizes
        facts of the data, ``out_channels`` among them
    width
        width of the codes that are read
    pool
        a name in :data:`POOLS`, by which the codes of a graph become one
    """
    return _READOUTS[task_type](sizes, width, pool)


_READOUTS: dict[TaskType, Callable[[Sizes, int, str], nn.Module]] = {
    TaskType.node_cls: lambda sizes, width, _: NodeReadout(MLPReadout(width, sizes.out_channels)),
    TaskType.graph_cls: lambda sizes, width, pool: GraphReadout(MLPReadout(width, sizes.out_channels), pool),
    TaskType.graph_reg: lambda sizes, width, pool: GraphReadout(MLPReadout(width, sizes.out_channels), pool),
    TaskType.link_pred: lambda _, width, __: EdgeReadout(MLPReadout(2 * width, 1)),
    TaskType.edge_cls: lambda sizes, width, _: EdgeReadout(MLPReadout(2 * width, sizes.out_channels)),
    TaskType.multi_task: lambda sizes, width, _: TwoLevelReadout(width, sizes.out_channels, sizes.n_graph_targets),
    TaskType.node_reg: lambda sizes, width, _: NodeReadout(MLPReadout(width, sizes.out_channels)),
    TaskType.edge_reg: lambda sizes, width, _: EdgeReadout(MLPReadout(2 * width, sizes.out_channels)),
}
