"""Models of one's own, to be imported by name."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data


class Plain(torch.nn.Module):
    """Declares no space; its option ``dropout`` is one that is known, ``power`` is one that nobody knows."""

    task_types: ClassVar[set[str]] = {"node_cls"}

    def __init__(self, a: int, b: int, c: int, *, dropout: float = 0.1, power: int = 1) -> None:
        super().__init__()
        self.power = power
        self.layers = torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.Dropout(dropout), torch.nn.Linear(b, c))

    def forward(self, data: Data) -> Tensor:
        out: Tensor = self.layers(data.x**self.power)
        return out


class Declared(Plain):
    """Declares what is to be searched."""

    search_space: ClassVar[dict[str, Any]] = {"power": [1, 2, 3], "lr": {"low": 0.001, "high": 0.1, "log": True}}


class Mistaken(Plain):
    """Declares what it does not take."""

    search_space: ClassVar[dict[str, Any]] = {"depth": [1, 2]}


class Fixed(Plain):
    """Declares that there is nothing to search."""

    search_space: ClassVar[dict[str, Any]] = {}


class Sulking(Plain):
    """Fails on its second option, and with ``power=3`` always."""

    search_space: ClassVar[dict[str, Any]] = {"power": [1, 2, 3]}

    def forward(self, data: Data) -> Tensor:
        if self.power == 3:
            message = "it does not feel like it"
            raise RuntimeError(message)
        return super().forward(data)


class Broken(Plain):
    """Fails always."""

    def forward(self, data: Data) -> Tensor:
        del data
        message = "nothing works"
        raise RuntimeError(message)
