"""Principal neighbourhood aggregation (Corso et al., NeurIPS 2020), at the price of a mean.

A message is a linear map of both ends, ``U x_i + V x_j + b``. Its first part is the same for all neighbours of a node
and leaves every aggregation: so neighbours are joined after ``V``, and nothing is computed edge by edge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.utils import scatter

from gnz_track.models.options import Option, choice
from gnz_track.models.stack import Stack
from gnz_track.types import TaskType

__all__ = ["AGGREGATORS", "PNA", "SCALERS", "PrincipalConv"]


# Own part and mapped neighbours of each node: [n, width], [n_edges, width], targets [n_edges], degrees [n, 1].
Aggregate = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def _join(neighbours: Tensor, targets: Tensor, degrees: Tensor, reduce: str) -> Tensor:
    return scatter(neighbours, targets, 0, degrees.size(0), reduce=reduce)


def _sum(own: Tensor, neighbours: Tensor, targets: Tensor, degrees: Tensor) -> Tensor:
    return degrees * own + _join(neighbours, targets, degrees, "sum")


def _mean(own: Tensor, neighbours: Tensor, targets: Tensor, degrees: Tensor) -> Tensor:
    return (degrees > 0) * own + _join(neighbours, targets, degrees, "mean")


def _min(own: Tensor, neighbours: Tensor, targets: Tensor, degrees: Tensor) -> Tensor:
    return (degrees > 0) * own + _join(neighbours, targets, degrees, "min")


def _max(own: Tensor, neighbours: Tensor, targets: Tensor, degrees: Tensor) -> Tensor:
    return (degrees > 0) * own + _join(neighbours, targets, degrees, "max")


def _var(own: Tensor, neighbours: Tensor, targets: Tensor, degrees: Tensor) -> Tensor:
    # What all neighbours share does not vary; less of it is lost to rounding without it.
    del own
    mean = _join(neighbours, targets, degrees, "mean")
    return _join(neighbours.square(), targets, degrees, "mean") - mean.square()


AGGREGATORS: Mapping[str, Aggregate] = {"sum": _sum, "mean": _mean, "min": _min, "max": _max, "var": _var}
# Of degrees [n, 1]; averages are over all nodes of the graph.
SCALERS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "identity": torch.ones_like,
    "amplification": lambda degrees: degrees.log1p() / degrees.log1p().mean(),
    "attenuation": lambda degrees: degrees.log1p().mean() / degrees.clamp(min=1).log1p(),
    "linear": lambda degrees: degrees / degrees.mean(),
}


class PrincipalConv(nn.Module):
    """One aggregator and one scaler: ``forward(x [n, in], edge_index [2, n_edges]) -> [n, out]``."""

    def __init__(self, in_channels: int, out_channels: int, *, aggregator: str, scaler: str) -> None:
        super().__init__()
        self.aggregate, self.scale = AGGREGATORS[aggregator], SCALERS[scaler]
        self.message = nn.Linear(2 * in_channels, in_channels)
        self.update = nn.Linear(2 * in_channels, out_channels)
        self.finish = nn.Linear(out_channels, out_channels)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Encode the nodes of a graph; those without a neighbour aggregate to nothing."""
        sources, targets = edge_index
        for_own, for_neighbour = self.message.weight.chunk(2, dim=1)
        own = functional.linear(x, for_own, self.message.bias)
        neighbours = functional.linear(x, for_neighbour).index_select(0, sources)
        degrees = torch.bincount(targets, minlength=x.size(0)).to(own.dtype).unsqueeze(1)
        joined = self.aggregate(own, neighbours, targets, degrees) * self.scale(degrees)
        from_self, from_joined = self.update.weight.chunk(2, dim=1)
        found = functional.linear(x, from_self, self.update.bias) + functional.linear(joined, from_joined)
        finished: Tensor = self.finish(found)
        return finished


class PNA(Stack):
    """Layers of one aggregator times one scaler, ReLU between them; ``forward(data) -> [n_nodes, out]``.

    ``aggregators`` is sum, mean, min, max or var; ``scalers`` is identity, amplification, attenuation or linear, by
    degrees over their average in the graph that messages go along. There is one tower. The other options are those of
    :mod:`gnz_track.models.stack`.
    """

    # An average over one graph: that of a batch would depend on what else is in it.
    task_types = tuple(kind for kind in TaskType if kind.unit in ("node", "edge", "link"))
    defaults = Stack.defaults.but(
        aggregators=choice("mean", AGGREGATORS),
        scalers=choice("identity", SCALERS),
        towers=Option(1, lambda value: value == 1, "1"),
    )

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one convolution."""
        aggregator, scaler = self.options.aggregators, self.options.scalers
        return PrincipalConv(in_channels, out_channels, aggregator=aggregator, scaler=scaler)
