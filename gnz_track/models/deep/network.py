"""The frame of all deep networks: embed, convolve ``n_layers`` times, read out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.deep.edge_kinds import EDGE_CODES, ISOTROPIC
from gnz_track.models.deep.inputs import EdgeInput, NodeInput
from gnz_track.models.deep.readouts import POOLS, make_readout
from gnz_track.models.options import Defaults, Model, choice, count, fixed, probability
from gnz_track.models.sizes import Sizes
from gnz_track.types import TaskType

__all__ = ["Convolution", "DeepNetwork", "Frame", "Layer", "OnEdges"]


@dataclass(frozen=True, kw_only=True)
class Frame:
    """Facts that all layers of a network share, checked.

    ``edge_codes`` says whether layers are given a code of every edge, ``edge_features`` that it begins with the
    features of the edge.
    """

    task_type: TaskType
    sizes: Sizes
    width: int
    n_layers: int
    dropout: float
    readout: str
    edge_codes: bool
    edge_features: bool

    def __post_init__(self) -> None:
        if self.width < 4:
            raise BadValue("the width of a deep network", self.width, "4 and more: its read-out ends in a quarter")
        if self.edge_features and not self.edge_codes:
            raise BadValue("edge_features", value=True, allowed="False, or edge_repr='edge_repr', which keeps them")


class Convolution(nn.Module):
    """A map of the codes of nodes and of edges, by which layers differ."""

    @abstractmethod
    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Return the new codes of nodes and of edges.

        Parameters
        ----------
        h
            codes of nodes ``[n_nodes, width]``
        e
            codes of message edges ``[n_edges, width]``, None where there are none
        data
            the graph, whose ``edge_index [2, n_edges]`` messages go along
        """


class OnEdges(Convolution):
    """A convolution of nodes alone, such as PyG's, that leaves the codes of edges as they are."""

    def __init__(self, convolution: nn.Module) -> None:
        super().__init__()
        self.convolution = convolution

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Convolve the codes of nodes.

        Parameters
        ----------
        h, e, data
            those of :class:`Convolution`
        """
        return self.convolution(h, data.edge_index), e


class Layer(Convolution):
    """One convolution, then normalise, bend, add what entered, and drop; for the codes of edges too where there are.

    ``convolution(h, e, data)`` returns the new codes of both. ``bends_nodes`` is False where it has bent those of nodes
    already.
    """

    def __init__(
        self,
        convolution: nn.Module,
        frame: Frame,
        *,
        bend: Callable[[Tensor], Tensor] = torch.relu,
        bends_nodes: bool = True,
    ) -> None:
        super().__init__()
        self.convolution, self.dropout = convolution, frame.dropout
        self.bend, self.bends_nodes = bend, bends_nodes
        self.norm = nn.BatchNorm1d(frame.width)
        self.edge_norm = nn.BatchNorm1d(frame.width) if frame.edge_codes else None

    def forward(self, h: Tensor, e: Tensor | None, data: Data) -> tuple[Tensor, Tensor | None]:
        """Renew the codes of nodes and of edges.

        Parameters
        ----------
        h, e, data
            those of :class:`Convolution`
        """
        new_h, new_e = self.convolution(h, e, data)
        if self.edge_norm is not None and e is not None:
            e = self._drop(e + self.bend(self.edge_norm(new_e)))
        new_h = self.norm(new_h)
        return self._drop(h + (self.bend(new_h) if self.bends_nodes else new_h)), e

    def _drop(self, h: Tensor) -> Tensor:
        return functional.dropout(h, self.dropout, self.training) if self.dropout else h


class DeepNetwork(Model):
    """Layers between an embedding and a read-out; serves every task type.

    ``forward(data)`` returns what the task type asks for; where links are predicted, ``encode`` and ``decode`` do.
    A member of the family says what ``make_layer`` makes, and which of the options it has otherwise. Layers are
    ``heads * hidden_channels`` wide.
    """

    defaults = Defaults(
        n_layers=count(4),
        heads=fixed(1),
        dropout=probability(0.0),
        readout=choice("mean", POOLS),
        edge_repr=fixed(ISOTROPIC),
        edge_features=fixed(value=False),
    )

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
        chosen = self.options
        frame = Frame(
            task_type=task_type,
            sizes=sizes,
            width=chosen.heads * hidden_channels,
            n_layers=chosen.n_layers,
            dropout=chosen.dropout,
            readout=chosen.readout,
            edge_codes=self.has_edge_codes(),
            edge_features=chosen.edge_features,
        )
        self.width = self.code_width(frame)
        self.nodes = NodeInput(sizes, frame.width)
        has_features = frame.edge_features
        self.edges = EdgeInput(sizes, frame.width, has_features=has_features) if frame.edge_codes else None
        self.layers = nn.ModuleList(
            [*(self.make_layer(frame) for _ in range(frame.n_layers - 1)), self.make_last(frame)]
        )
        self.readout = self.make_readout(frame)

    def has_edge_codes(self) -> bool:
        """Tell whether layers are given a code of every edge."""
        return bool(self.options.edge_repr == EDGE_CODES)

    @abstractmethod
    def make_layer(self, frame: Frame) -> Convolution:
        """Return one layer."""

    def make_last(self, frame: Frame) -> Convolution:
        """Return the last layer: one as the others, unless a class says otherwise."""
        return self.make_layer(frame)

    def code_width(self, frame: Frame) -> int:
        """Return how wide the codes are that :meth:`encode` returns."""
        return frame.width

    def make_readout(self, frame: Frame) -> nn.Module:
        """Return the read-out of these codes."""
        return make_readout(frame.task_type, frame.sizes, frame.width, pool=frame.readout)

    def join(self, codes: list[Tensor]) -> Tensor:
        """Return the codes of nodes from those of the embedding and of every layer: the last."""
        return codes[-1]

    def encode(self, data: Data) -> Tensor:
        """Return the codes of nodes ``[n_nodes, width]``."""
        h = self.nodes(data)
        e = self.edges(data) if self.edges is not None else None
        codes = [h]
        for layer in self.layers:
            h, e = layer(h, e, data)
            codes.append(h)
        return self.join(codes)

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        """Return one logit per pair ``[n_pairs]`` of pairs ``[2, n_pairs]``."""
        logits: Tensor = self.readout.decode(codes, pairs)  # type: ignore[operator]
        return logits.squeeze(1)

    def forward(self, data: Data) -> Any:
        """Return what the task type asks for."""
        return self.readout(self.encode(data), data)
