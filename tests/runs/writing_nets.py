"""Models that write into all that they are given, by every name that Torch has for it; not a test itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv


def _by_array(tensor: Tensor) -> None:
    np.asarray(tensor.detach().numpy())[...] = 3


WAYS: dict[str, Callable[[Tensor], Any]] = {
    "in place": lambda tensor: tensor.mul_(0),
    "by index": lambda tensor: tensor.__setitem__(..., 3),
    "by data": lambda tensor: tensor.data.fill_(3),
    "detached": lambda tensor: tensor.detach().fill_(3),
    "by array": _by_array,
    "by storage": lambda tensor: tensor.untyped_storage().fill_(1),
}


def tensors_of(given: Any) -> Iterator[Tensor]:
    """Yield the tensors of an input, and those that hang on them under a public name."""
    if isinstance(given, Data):
        for name in given.keys():  # noqa: SIM118  (a graph is no mapping)
            yield from tensors_of(given[name])
    elif isinstance(given, Tensor):
        structure, pattern = getattr(given, "gnz_structure", None), vars(given).get("pattern")
        if structure is not None:
            yield structure.degrees
            yield structure.normalised_weights(torch.float32)
            yield structure.blocks("looped", 2).columns
            for found in (structure.plain, structure.looped):
                yield from (found.columns, found.pointers, found.order, *found.transposed)
        if pattern is not None:
            yield from (pattern.columns, given.values, *pattern.transposed)
        yield given


class Harmless(nn.Module):
    """A node encoder of one layer, and link scorer, that keeps to itself."""

    task_types = ("node_cls", "graph_cls", "graph_reg", "link_pred", "edge_cls")
    way: ClassVar[str] = ""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.layer = GCNConv(in_channels, out_channels or hidden_channels)

    def forward(self, data: Data) -> Tensor:
        """Return codes, and leave the input in ruins."""
        if self.training:
            # The way back goes through what went in.
            codes: Tensor = self.layer(torch.clone(data.x), data.edge_index.clone())
        else:
            codes = self.layer(data.x, data.edge_index)
        self.ruin(data)
        return codes

    def ruin(self, *given: Any) -> None:
        """Write into all that was given."""
        for item in given:
            for tensor in tensors_of(item) if self.way else ():
                if not tensor.requires_grad and tensor.numel():
                    WAYS[self.way](tensor)
            if self.way and isinstance(item, Data):
                item.edge_index = item.edge_index[:, :1]


class HarmlessScorer(Harmless):
    """The same for links, with a decoder of its own."""

    task_types = ("link_pred",)

    def encode(self, data: Data) -> Tensor:
        """Return codes."""
        return self.forward(data)

    def decode(self, codes: Tensor, pairs: Tensor, *more: Any) -> Tensor:
        """Return dot products, and leave codes and pairs in ruins."""
        ends = pairs.clone()
        scores = (codes[ends[0]] * codes[ends[1]]).sum(dim=-1)
        self.ruin(codes, pairs, *more)
        return scores


HARMFUL = {way: type("Harmful", (Harmless,), {"way": way, "__module__": __name__}) for way in WAYS}
HARMFUL_SCORERS = {way: type("HarmfulScorer", (HarmlessScorer,), {"way": way, "__module__": __name__}) for way in WAYS}
