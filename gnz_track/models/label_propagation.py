"""Label propagation (Zhu and Ghahramani, 2002), in the form of Huang et al. (ICLR 2021): no weights."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import LabelPropagation as Propagation
from torch_geometric.utils import to_undirected

from gnz_track.errors import BadValue
from gnz_track.models.options import Defaults, Model, Option, count
from gnz_track.types import TaskType

__all__ = ["LabelPropagation"]


class LabelPropagation(Model):
    """Classes of training nodes, passed on ``num_layers`` times; ``forward(data) -> [n_nodes, out_channels]``.

    A step keeps the share ``1 - alpha`` of what was there at first, and takes ``alpha`` of the mean over neighbours,
    symmetrically normalised. The labels are those that ``data.y`` shows, where all but training labels are -1. Logits
    are a positive multiple of what arrives, which is fitted: it makes a loss of it, and changes no decision.
    """

    task_types = (TaskType.node_cls,)
    defaults = Defaults(alpha=Option(0.9, lambda share: 0 <= share <= 1, "a number from 0 to 1"), num_layers=count(2))

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, **options: Any) -> None:
        del in_channels, hidden_channels
        super().__init__(options)
        self.propagation = Propagation(num_layers=self.options.num_layers, alpha=self.options.alpha)
        self.n_classes = out_channels
        self.log_scale = nn.Parameter(torch.zeros(()))

    def forward(self, data: Data) -> Tensor:
        """Pass the labels on, both ways along every edge."""
        labels = data.y
        if labels is not None and labels.dim() > 1:
            raise BadValue("the labels of the graph", f"{labels.size(1)} of each node", "one class of each node")
        if labels is None or not bool((labels >= 0).any()):
            raise BadValue("the labels of the graph", "none shown", "a graph some of whose nodes are for training")
        shown = functional.one_hot(labels.clamp(min=0), self.n_classes).float() * (labels >= 0).unsqueeze(1)
        edges = to_undirected(data.edge_index, num_nodes=int(data.num_nodes))
        passed: Tensor = self.propagation(shown, edges)
        return passed * self.log_scale.exp()
