"""The graph-agnostic baseline of the deep networks."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.models.deep.network import DeepNetwork, Frame
from gnz_track.models.sizes import Sizes
from gnz_track.types import TaskType

__all__ = ["DeepMLP"]


class DeepMLP(DeepNetwork):
    """Linear layers with a ReLU, on every node alone: no norm, and what enters a layer is not added."""

    def __init__(  # noqa: PLR0913  (each option is one that a search may tune)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        task_type: TaskType,
        sizes: Sizes,
        n_layers: int = 4,
        dropout: float = 0.0,
        readout: str = "mean",
    ) -> None:
        del in_channels, out_channels
        frame = Frame(
            task_type=task_type, sizes=sizes, width=hidden_channels, n_layers=n_layers, dropout=dropout, readout=readout
        )
        super().__init__(frame, lambda _: _Layer(hidden_channels, dropout))


class _Layer(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.linear, self.dropout = nn.Linear(width, width), nn.Dropout(dropout)

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        del data
        return self.dropout(self.linear(h).relu()), e
