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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.errors import BadValue

__all__ = [
    "ACTIVATIONS",
    "JOINS",
    "NORMS",
    "Join",
    "Stack",
    "StackOptions",
    "check_choice",
    "check_count",
    "check_probability",
]

# Each takes the width that it is to normalise.
NORMS: dict[str, Callable[[int], nn.Module]] = {"none": nn.Identity, "batch": nn.BatchNorm1d, "layer": nn.LayerNorm}


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": torch.relu, "tanh": torch.tanh, "elu": functional.elu}


class Join(NamedTuple):
    """How the codes of several layers become one, and whether this one is as wide as all of them."""

    join: Callable[[list[Tensor]], Tensor]
    adds_widths: bool = False


def _take_last(codes: list[Tensor]) -> Tensor:
    return codes[-1]


def _take_largest(codes: list[Tensor]) -> Tensor:
    return functools.reduce(torch.maximum, codes)


def _set_side_by_side(codes: list[Tensor]) -> Tensor:
    return torch.cat(codes, dim=1)


JOINS = {
    "none": Join(_take_last),
    "cat": Join(_set_side_by_side, adds_widths=True),
    "max": Join(_take_largest),
    "last": Join(_take_last),
}


@dataclass(frozen=True, kw_only=True)
class StackOptions:
    """The options of one stack, checked."""

    n_layers: int
    dropout: float
    norm: str
    jumping: str
    heads: int = 1
    act: str = "relu"

    def __post_init__(self) -> None:
        check_count("n_layers", self.n_layers)
        check_count("heads", self.heads)
        check_probability("dropout", self.dropout)
        check_choice("norm", self.norm, NORMS)
        check_choice("jumping", self.jumping, JOINS)
        check_choice("act", self.act, ACTIVATIONS)

    @property
    def is_jumping(self) -> bool:
        """Whether the codes of all layers are read."""
        return self.jumping != "none"

    @property
    def is_normed(self) -> bool:
        """Whether hidden layers are normalised."""
        return self.norm != "none"

    def join(self, codes: list[Tensor]) -> Tensor:
        """Join the codes of the hidden layers, each ``[n_nodes, width]``."""
        return JOINS[self.jumping].join(codes)

    def joined_width(self, width: int) -> int:
        """Return how wide the joined codes of hidden layers of some width are."""
        return width * self.n_layers if JOINS[self.jumping].adds_widths else width


class Stack(nn.Module):
    """Layers of one kind with norm, activation and dropout between them; ``forward(data) -> [n_nodes, out]``.

    ``hidden(in, width)`` makes a hidden layer, ``last(in, out)`` the one that gives the codes. Parameters are drawn
    in the order of the layers, the read-out at the end.
    """

    drops_input = False
    sees_edges = True

    def __init__(
        self,
        widths: tuple[int, int, int],
        options: StackOptions,
        *,
        hidden: Callable[[int, int], nn.Module],
        last: Callable[[int, int], nn.Module],
    ) -> None:
        super().__init__()
        in_channels, hidden_channels, out_channels = widths
        width = options.heads * hidden_channels
        self.options, self.dropout = options, nn.Dropout(options.dropout)
        self.names = [_name_layer(place) for place in range(options.n_layers)]
        self.hidden_names = self.names if options.is_jumping else self.names[:-1]
        entering = in_channels
        for name in self.hidden_names:
            self.add_module(name, hidden(entering, hidden_channels))
            entering = width
        if options.is_jumping:
            self.readout = nn.Linear(options.joined_width(width), out_channels)
        else:
            self.add_module(self.names[-1], last(entering, out_channels))
        # Nothing where nothing is asked for: a module costs time even if it does nothing.
        self.norms = nn.ModuleList(NORMS[options.norm](width) for _ in self.hidden_names) if options.is_normed else ()

    def activate(self, h: Tensor) -> Tensor:
        """Bend the codes of a hidden layer."""
        return ACTIVATIONS[self.options.act](h)

    def forward(self, data: Data) -> Tensor:
        """Encode the nodes of a graph."""
        h = self._drop(data.x) if self.drops_input else data.x
        codes: list[Tensor] = []
        for place, name in enumerate(self.hidden_names):
            h = self._apply_layer(name, self._drop(h) if codes else h, data)
            h = self.activate(self.norms[place](h) if self.norms else h)
            # Only jumping needs more than the last, and memory is held by every one.
            codes = [*codes, h] if self.options.is_jumping else [h]
        if self.options.is_jumping:
            return self.readout(self._drop(self.options.join(codes)))
        return self._apply_layer(self.names[-1], self._drop(h) if codes else h, data)

    def _drop(self, h: Tensor) -> Tensor:
        return self.dropout(h) if self.options.dropout else h

    def _apply_layer(self, name: str, h: Tensor, data: Data) -> Tensor:
        layer = getattr(self, name)
        return layer(h, data.edge_index) if self.sees_edges else layer(h)


def _name_layer(place: int) -> str:
    """Return the name of a layer in a model's state; the first two are those of the published models."""
    return ("first", "second")[place] if place < 2 else f"layer_{place + 1}"


def check_count(name: str, value: Any) -> None:
    """Refuse what is no whole number from 1 upwards."""
    if type(value) is not int or value < 1:
        raise BadValue(name, value, "a whole number from 1 upwards")


def check_probability(name: str, value: Any) -> None:
    """Refuse what is no probability of dropping, which may not be 1."""
    if type(value) not in (int, float) or not 0 <= value < 1:
        raise BadValue(name, value, "a number from 0 up to but not 1")


def check_choice(name: str, value: Any, table: Mapping[str, object]) -> None:
    """Refuse what is no name in a table."""
    if not isinstance(value, str) or value not in table:
        raise BadValue(name, value, ", ".join(table))
