"""Layers that pass no messages, those of Torch among them, accelerated and used as people use them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import InnerProductDecoder, Linear
from torch_geometric.nn.aggr import MaxAggregation, MeanAggregation, SumAggregation
from trials import N_NODES, Tally, Trial, random_features
from uses import DTYPES, USES, Use
from writes import SPOILING, WRITING

# Torch warns of its own modes, and of PyG's ways in them.
pytestmark = pytest.mark.filterwarnings("ignore")


class _Within(nn.Module):
    """A layer of Torch in the place of one that passes messages."""

    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.layer = layer

    def reset_parameters(self) -> None:
        for module in self.layer.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        del edge_index
        return self.layer(x)


class _Grouped(nn.Module):
    """Pooling of rows whose groups lie in any order, one of which is empty."""

    def __init__(self, pooling: nn.Module, n_groups: int | None = 5) -> None:
        super().__init__()
        self.pooling, self.n_groups = pooling, n_groups

    def forward(self, x: Tensor) -> Tensor:
        groups = torch.arange(x.size(0)) * 5 % 4
        return self.pooling(x, groups, dim_size=self.n_groups)


class _Paired(nn.Module):
    """Products of pairs of rows, one of them with itself."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.product, self.options = InnerProductDecoder(), options

    def forward(self, x: Tensor) -> Tensor:
        first = torch.arange(2 * x.size(0)) % x.size(0)
        return self.product(x, torch.stack([first, first * 7 % x.size(0)]), **self.options).unsqueeze(1)


# So wide that a linear map of few outputs has a kernel.
WIDE = 1400
OF_TORCH: dict[str, Callable[[], nn.Module]] = {
    "ReLU": nn.ReLU,
    "ReLU in place": lambda: nn.Sequential(nn.Linear(WIDE, 3), nn.ReLU(inplace=True)),
    "ELU": nn.ELU,
    "ELU of another slope": lambda: nn.ELU(0.3),
    "Dropout": lambda: nn.Dropout(0.4),
    "Linear": lambda: nn.Linear(WIDE, 7),
    "Linear without bias": lambda: nn.Linear(WIDE, 5, bias=False),
    "PyG's Linear": lambda: Linear(WIDE, 7),
    "sums of groups": lambda: _Grouped(SumAggregation()),
    "means of groups": lambda: _Grouped(MeanAggregation()),
    "the largest of groups": lambda: _Grouped(MaxAggregation()),
    "as many groups as there are": lambda: _Grouped(MaxAggregation(), None),
    "too few groups": lambda: _Grouped(MeanAggregation(), 2),
    "products of pairs": lambda: _Paired(sigmoid=False),
    "probabilities of pairs": _Paired,
    "ReLU and Dropout": lambda: nn.Sequential(nn.ReLU(), nn.Dropout(0.4)),
    "ELU and Dropout of a part": lambda: nn.Sequential(nn.Sequential(nn.ELU(), nn.Dropout(0.4)), nn.Dropout(0.1)),
    "a wide Linear": lambda: nn.Linear(WIDE, 40),
    "a perceptron": lambda: nn.Sequential(nn.Linear(WIDE, 6), nn.ELU(), nn.Dropout(0.2), nn.Linear(6, 2), nn.ReLU()),
}


def _seeded(build: Callable[[], nn.Module], dtype: torch.dtype) -> nn.Module:
    torch.manual_seed(4)
    return _Within(build()).to(dtype)


def _hold_of_torch(uses: dict[str, Use], dtypes: tuple[torch.dtype, ...], forms: tuple[str, ...]) -> None:
    tally = Tally()
    kinds = itertools.product(OF_TORCH.items(), uses.items(), dtypes, forms)
    wide = random_features(N_NODES, WIDE)
    for (layer, build), (name, use), dtype, form in kinds:
        x = torch.where(wide > 1.5, wide, 0.0) if form.startswith("sparse") else wide
        options = {"call": use, "x": x, "order": 1, "dtype": dtype, "form": form}
        tally.add(f"{layer}, {dtype}, {form}, {name}", Trial(functools.partial(_seeded, build, dtype), **options))
    print(f"\n{tally}")  # noqa: T201
    assert not tally.different


# What needs a layer that passes messages.
_OTHERS = {"explained", "attention explained", "scripted", "summarised", "Hessian", "third derivative"}


def test_uses_of_layers_of_torch() -> None:
    few = {name: use for place, (name, use) in enumerate(USES.items()) if place % 3 == 0 and name not in _OTHERS}
    _hold_of_torch(few, (torch.float32,), ("ordinary",))


@pytest.mark.slow
def test_uses_of_layers_of_torch_in_all_forms() -> None:
    _hold_of_torch({name: use for name, use in USES.items() if name not in _OTHERS}, DTYPES, ("ordinary", "sparse"))
    # Through what is not a number the kernels go back otherwise; training ends there.
    writing = {name: use for name, use in {**WRITING, **SPOILING}.items() if name != "features: nan"}
    _hold_of_torch(writing, DTYPES, ("ordinary", "sparse and lent"))
