"""Layers one after another, and the options that every such stack has.

``n_layers``
    how many layers there are, from 1 upwards.
``dropout``
    the probability with which a number is dropped while training, from 0 up to but not 1: on what enters every layer
    but the first, and the read-out. Some models drop more; they say so.
``norm``
    what follows every hidden layer, before the activation: ``none``; ``batch``, over the nodes of a batch (Ioffe and
    Szegedy, 2015); ``layer``, over the numbers of each node (Ba et al., 2016).
``jumping``
    jumping knowledge (Xu et al., 2018): ``none``, the last layer gives the codes; ``cat`` and ``max``, all layers are
    hidden ones, and a linear read-out sees their codes side by side, or the largest number at each place; ``last``, it
    sees those of the last of them alone.
``act``
    where a model has a choice: what bends the codes of hidden layers, ``relu``, ``tanh`` or ``elu``.
``heads``
    where a model has attention: how many, side by side, in every hidden layer. The layer that gives the codes has one.

Without ``jumping`` the last layer is no hidden one, so that a single layer knows neither ``norm`` nor ``heads``.
"""

from __future__ import annotations

import functools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.models.options import Defaults, Model, choice, count, fixed, probability

__all__ = ["ACTIVATIONS", "JOINS", "NORMS", "AttentionStack", "Join", "Stack"]

# Each takes the width that it is to normalise.
NORMS: dict[str, Callable[[int], nn.Module]] = {"none": nn.Identity, "batch": nn.BatchNorm1d, "layer": nn.LayerNorm}


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "elu": nn.ELU}


class Join(NamedTuple):
    """A way to make one code of those of several layers; it may be as wide as all of them, or read but the last."""

    join: Callable[[list[Tensor]], Tensor]
    adds_widths: bool = False
    reads_all: bool = True

    def width(self, width: int, n_layers: int) -> int:
        """Return how wide the joined codes of layers of some width are."""
        return width * n_layers if self.adds_widths else width

    def keep(self, codes: list[Tensor], h: Tensor) -> list[Tensor]:
        """Return the codes of layers with those of one more; memory is held by every one that is kept."""
        return [*codes, h] if self.reads_all else [h]


def _take_last(codes: list[Tensor]) -> Tensor:
    return codes[-1]


def _take_largest(codes: list[Tensor]) -> Tensor:
    return functools.reduce(torch.maximum, codes)


def _set_side_by_side(codes: list[Tensor]) -> Tensor:
    return torch.cat(codes, dim=1)


JOINS = {
    "none": Join(_take_last, reads_all=False),
    "cat": Join(_set_side_by_side, adds_widths=True),
    "max": Join(_take_largest),
    "last": Join(_take_last),
}


class Stack(Model):
    """Layers of one kind with norm, activation and dropout between them; ``forward(data) -> [n_nodes, out]``.

    A member of the family says what ``make_layer`` makes, and which of the options it has otherwise. Parameters are
    drawn in the order of the layers, the read-out at the end.
    """

    defaults = Defaults(
        n_layers=count(2),
        heads=fixed(1),
        dropout=probability(0.0),
        norm=choice("none", NORMS),
        jumping=choice("none", JOINS),
        act=fixed("relu"),
    )
    drops_input: ClassVar[bool] = False
    sees_edges: ClassVar[bool] = True

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, **options: Any) -> None:
        super().__init__(options)
        chosen, width = self.options, self.hidden_width(hidden_channels)
        self.is_jumping = chosen.jumping != "none"
        self.dropout, self.activation = nn.Dropout(chosen.dropout), ACTIVATIONS[chosen.act]()
        # One after the other, which training on a CPU does in one go; codes that are joined are not dropped.
        drops = chosen.dropout and not self.is_jumping
        self.bend = nn.Sequential(self.activation, self.dropout) if drops else self.activation
        self.names = [_name_layer(place) for place in range(chosen.n_layers)]
        self.hidden_names = self.names if self.is_jumping else self.names[:-1]
        entering = in_channels
        for name in self.hidden_names:
            self.add_module(name, self.make_layer(entering, hidden_channels))
            entering = width
        if self.is_jumping:
            self.readout = nn.Linear(JOINS[chosen.jumping].width(width, chosen.n_layers), out_channels)
        else:
            self.add_module(self.names[-1], self.make_last(entering, out_channels))
        # Nothing where nothing is asked for: a module costs time even if it does nothing.
        is_normed = chosen.norm != "none"
        self.norms = nn.ModuleList(NORMS[chosen.norm](width) for _ in self.hidden_names) if is_normed else ()

    @abstractmethod
    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return one layer; of a hidden one ``out_channels`` are the hidden channels."""

    def make_last(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return the layer that gives the codes: one as the others, unless a class says otherwise."""
        return self.make_layer(in_channels, out_channels)

    def hidden_width(self, hidden_channels: int) -> int:
        """Return how wide what leaves a hidden layer is."""
        return int(self.options.heads) * hidden_channels

    def forward(self, data: Data) -> Tensor:
        """Encode the nodes of a graph."""
        h = self._drop(data.x) if self.drops_input else data.x
        join = JOINS[self.options.jumping]
        codes: list[Tensor] = []
        for place in range(len(self.hidden_names)):
            h = self._apply_layer(place, self._drop(h) if codes else h, data)
            h = self.bend(self.norms[place](h) if self.norms else h)
            codes = join.keep(codes, h) if self.is_jumping else codes
        if self.is_jumping:
            return self.readout(self._drop(join.join(codes)))
        return self._apply_layer(len(self.names) - 1, h, data)

    def _drop(self, h: Tensor) -> Tensor:
        return self.dropout(h) if self.options.dropout else h

    def _apply_layer(self, place: int, h: Tensor, data: Data) -> Tensor:
        layer = getattr(self, self.names[place])
        if not self.sees_edges:
            return layer(h)
        # Where a loss sees few nodes, layers may be given those edges alone that lead there.
        edges = data.layer_edges[place] if "layer_edges" in data else data.edge_index
        return layer(h, edges)

    def chain(self) -> list[nn.Module]:
        """Return the layers, where each sees nothing but the last one's codes, bent; none where there is more to it."""
        is_bent = not self.options.dropout or type(self.activation) in (nn.ReLU, nn.ELU)
        is_chain = self.sees_edges and not self.norms and not self.is_jumping and is_bent
        return [getattr(self, name) for name in self.names] if is_chain else []


class AttentionStack(Stack):
    """Layers of ``heads`` side by side, and a last one of one head; ``attention`` is what they are made of."""

    defaults = Stack.defaults.but(heads=count(1))
    attention: ClassVar[Callable[..., nn.Module]]

    def make_layer(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return a hidden layer, whose attention is dropped as features are."""
        heads, dropout = self.options.heads, self.options.dropout
        return type(self).attention(in_channels, out_channels, heads=heads, dropout=dropout)

    def make_last(self, in_channels: int, out_channels: int) -> nn.Module:
        """Return the layer that gives the codes."""
        dropout = self.options.dropout
        return type(self).attention(in_channels, out_channels, heads=1, concat=False, dropout=dropout)


def _name_layer(place: int) -> str:
    """Return the name of a layer in a model's state; the first two are those of the published models."""
    return ("first", "second")[place] if place < 2 else f"layer_{place + 1}"
