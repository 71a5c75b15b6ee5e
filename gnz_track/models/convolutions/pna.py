"""Principal neighbourhood aggregation (Corso et al., NeurIPS 2020)."""

from __future__ import annotations

from torch import nn

from gnz_track.models.convolutions.principal import AGGREGATORS, SCALERS, PrincipalConv
from gnz_track.models.options import Option, choice
from gnz_track.models.stack import Stack
from gnz_track.types import TaskType

__all__ = ["PNA"]


class PNA(Stack):
    """Layers of one aggregator times one scaler, ReLU between them; ``forward(data) -> [n_nodes, out]``.

    ``aggregators`` is sum, mean, min, max or var; ``scalers`` is identity, amplification, attenuation or linear, by
    degrees over their average in the graph that messages go along. There is one tower. The other options are those of
    :mod:`gnz_track.models.stack`.
    """

    # An average over one graph: that of a batch would depend on what else is in it.
    task_types = (TaskType.node_cls, TaskType.link_pred, TaskType.edge_cls)
    defaults = Stack.defaults.but(
        aggregators=choice("mean", AGGREGATORS),
        scalers=choice("identity", SCALERS),
        towers=Option(1, lambda value: value == 1, "1"),
    )

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one convolution."""
        aggregator, scaler = self.options.aggregators, self.options.scalers
        return PrincipalConv(in_channels, out_channels, aggregator=aggregator, scaler=scaler)
