"""Principal neighbourhood aggregation (Corso et al., NeurIPS 2020)."""

from __future__ import annotations

import functools

from gnz_track.errors import BadValue
from gnz_track.models.convolutions.principal import AGGREGATORS, SCALERS, PrincipalConv
from gnz_track.models.stack import Stack, StackOptions, check_choice
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

    def __init__(  # noqa: PLR0913  (each is an option that a search tunes)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        n_layers: int = 2,
        dropout: float = 0.0,
        norm: str = "none",
        jumping: str = "none",
        aggregators: str = "mean",
        scalers: str = "identity",
        towers: int = 1,
    ) -> None:
        check_choice("aggregators", aggregators, AGGREGATORS)
        check_choice("scalers", scalers, SCALERS)
        if towers != 1:
            raise BadValue("towers", towers, "1")
        options = StackOptions(n_layers=n_layers, dropout=dropout, norm=norm, jumping=jumping)
        layer = functools.partial(PrincipalConv, aggregator=aggregators, scaler=scalers)
        super().__init__((in_channels, hidden_channels, out_channels), options, hidden=layer, last=layer)
