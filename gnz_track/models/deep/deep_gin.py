"""Deep graph isomorphism network, read out from every layer (Xu et al., ICLR 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GINConv

from gnz_track.models.deep.network import Convolution, DeepNetwork, Frame, Layer, OnEdges
from gnz_track.models.deep.readouts import EdgeReadout, GraphReadout, MLPReadout, NodeReadout, make_readout
from gnz_track.types import TaskType

__all__ = ["DeepGIN"]


class DeepGIN(DeepNetwork):
    """A perceptron of the sum over neighbours; the answer is the sum of the answers of all layers and the embedding."""

    defaults = DeepNetwork.defaults.but(readout="sum")

    def make_layer(self, frame: Frame) -> Convolution:
        """Return a layer whose convolution is a perceptron of the sum over neighbours."""
        width = frame.width
        perceptron = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.ReLU(), nn.Linear(width, width))
        return Layer(OnEdges(GINConv(perceptron, train_eps=True)), frame)

    def code_width(self, frame: Frame) -> int:
        """Return how wide the codes of the embedding and of all layers are, side by side."""
        return frame.width * (frame.n_layers + 1)

    def make_readout(self, frame: Frame) -> nn.Module:
        """Return one read-out for each of these codes: linear, but for pairs of nodes."""
        n_codes, out_channels = frame.n_layers + 1, frame.sizes.out_channels
        if frame.task_type in (TaskType.link_pred, TaskType.edge_cls):
            out_channels = 1 if frame.task_type is TaskType.link_pred else out_channels
            return EdgeReadout(
                _SummedHeads([MLPReadout(2 * frame.width, out_channels) for _ in range(n_codes)], n_ends=2)
            )
        if frame.task_type is TaskType.multi_task:
            return make_readout(frame.task_type, frame.sizes, self.width, pool=frame.readout)
        head = _SummedHeads([nn.Linear(frame.width, out_channels) for _ in range(n_codes)])
        return NodeReadout(head) if frame.task_type is TaskType.node_cls else GraphReadout(head, frame.readout)

    def join(self, codes: list[Tensor]) -> Tensor:
        """Return all codes side by side."""
        return torch.cat(codes, dim=1)


class _SummedHeads(nn.Module):
    """One head for each code among those side by side; of pairs, the codes of both ends follow one another."""

    def __init__(self, heads: list[nn.Module], *, n_ends: int = 1) -> None:
        super().__init__()
        self.heads, self.n_ends = nn.ModuleList(heads), n_ends

    def forward(self, codes: Tensor) -> Tensor:
        width = codes.size(1) // (self.n_ends * len(self.heads))
        by_code = codes.view(codes.size(0), self.n_ends, len(self.heads), width)
        answers = [head(by_code[:, :, place].flatten(1)) for place, head in enumerate(self.heads)]
        return torch.stack(answers).sum(dim=0)
