"""Widths for a budget of parameters: the published counts, the nearest width by trying all, and models of one's own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.budgets import NARROWEST, Width, count_at, find_width, nearest_width, refuse_beyond
from gnz_track.models.building import build, count_parameters
from gnz_track.models.catalogue import MODELS, describe
from gnz_track.models.options import Sizes
from gnz_track.types import TaskType

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "golden" / "budgets.json").read_text())
COUNTS = [(name, model) for name, block in GOLDEN["counts"].items() for model in block["widths"]]


def _sizes(given: dict[str, Any]) -> Sizes:
    lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
    return Sizes(hidden_channels=0, **{**given, **lists})


@pytest.mark.parametrize(("name", "model"), COUNTS)
def test_counts_are_the_published_ones(name: str, model: str) -> None:
    block = GOLDEN["counts"][name]
    task_type, width = TaskType(block["task_type"]), block["widths"][model]
    found = count_at(MODELS.get(model), task_type, _sizes(block["sizes"]), width, options=block["options"])
    assert found == block["parameters"][model]


@pytest.mark.parametrize("case", GOLDEN["more"], ids=lambda case: f"{case['model']} {case['parameters']}")
def test_counts_with_positions_edge_features_and_pairs_are_the_published_ones(case: dict[str, Any]) -> None:
    row, task_type = MODELS.get(case["model"]), TaskType(case["task_type"])
    assert count_at(row, task_type, _sizes(case["sizes"]), case["width"], options=case["options"]) == case["parameters"]


@pytest.mark.parametrize(("budget", "n_layers"), [(100_000, 4), (500_000, 16)])
@pytest.mark.parametrize("model", GOLDEN["nearest"]["100000"])
def test_the_width_of_a_budget_is_the_nearest(model: str, budget: int, n_layers: int) -> None:
    row, sizes = MODELS.get(model), _sizes(GOLDEN["nearest"]["sizes"])
    options = {"n_layers": n_layers}
    found = find_width(row, TaskType.graph_reg, sizes, budget=budget, options=options)
    assert found.hidden_channels == GOLDEN["nearest"][str(budget)][model]
    assert found.n_parameters == count_at(row, TaskType.graph_reg, sizes, found.hidden_channels, options=options)
    refuse_beyond(found, model)


@given(
    steps=st.lists(st.integers(0, 50), min_size=60, max_size=60), budget=st.integers(1, 1000), first=st.integers(0, 100)
)
def test_of_counts_that_never_fall_the_nearest_is_found(steps: list[int], budget: int, first: int) -> None:
    counts = [first + sum(steps[:place]) for place in range(len(steps) + 1)]

    def count(width: int) -> int:
        place = width - NARROWEST
        return counts[place] if place < len(counts) else 10**6

    distances = {width: abs(count(width) - budget) for width in range(NARROWEST, NARROWEST + len(counts) + 1)}
    nearest = min(distances, key=lambda width: (distances[width], width))
    found = nearest_width(count, budget)
    # Where several widths have one count, any of them is as near.
    assert distances[found] == distances[nearest]


def test_counting_draws_nothing_and_builds_what_training_builds() -> None:
    sizes = Sizes(in_channels=7, hidden_channels=9, out_channels=3)
    torch.manual_seed(3)
    before = torch.get_rng_state()
    count = count_at(MODELS.get("GAT"), TaskType.graph_cls, sizes, 9)
    assert torch.equal(torch.get_rng_state(), before)
    assert count == count_parameters(build(MODELS.get("GAT"), TaskType.graph_cls, sizes))


class Looks(nn.Module):
    """A model of one's own that reads a number of its parameters, which a shape does not have."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(in_channels, hidden_channels), nn.Linear(hidden_channels, out_channels)
        self.scale = self.first.weight.abs().max().item()

    def forward(self, data: Data) -> Tensor:
        return self.last(self.first(data.x) / self.scale)


class Fixed(nn.Module):
    """A model that does not ask how wide it is to be."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        del hidden_channels
        self.linear = nn.Linear(in_channels, out_channels)

    def forward(self, data: Data) -> Tensor:
        return self.linear(data.x)


SIZES = Sizes(in_channels=6, hidden_channels=64, out_channels=3)


def test_models_of_ones_own_are_given_a_width() -> None:
    row = describe((Looks, {"node_cls"}))
    torch.manual_seed(3)
    before = torch.get_rng_state()
    found = find_width(row, TaskType.node_cls, SIZES, budget=1003)
    assert torch.equal(torch.get_rng_state(), before)
    # 6 h + h + 3 h + 3
    assert (found.hidden_channels, found.n_parameters, found.error) == (100, 1003, 0.0)


def test_links_are_scored_by_codes_as_wide_as_the_layers() -> None:
    found = find_width(MODELS.get("GCN"), TaskType.link_pred, SIZES, budget=5000)
    h = found.hidden_channels
    assert found.n_parameters == 6 * h + h + h * h + h


def test_options_of_a_row_count_and_options_of_a_cell_come_first() -> None:
    row = replace(MODELS.get("GCN"), options={"n_layers": 4})
    plain, deep = MODELS.get("GCN"), {"n_layers": 4}
    assert count_at(row, TaskType.node_cls, SIZES, 8) == count_at(plain, TaskType.node_cls, SIZES, 8, options=deep)
    assert count_at(row, TaskType.node_cls, SIZES, 8, options={"n_layers": 2}) == count_at(
        plain, TaskType.node_cls, SIZES, 8
    )


def test_a_model_beyond_the_tolerance_is_refused_with_the_nearest_width() -> None:
    row = describe((Fixed, {"node_cls"}))
    found = find_width(row, TaskType.node_cls, SIZES, budget=1000)
    with pytest.raises(BadValue, match=r"is 21; allowed: 1,000 within 5%.*hidden_channels=4095 has 21 \(-97\.9%\)"):
        refuse_beyond(found, "Fixed")
    refuse_beyond(Width(hidden_channels=4, n_parameters=105, budget=100), "at the limit")
    with pytest.raises(BadValue, match="within 1%"):
        refuse_beyond(Width(hidden_channels=4, n_parameters=105, budget=100), "beyond", tolerance=0.01)


@pytest.mark.parametrize("budget", [0, -5, 1e5, True, "100k"])
def test_a_budget_is_a_whole_number(budget: Any) -> None:
    with pytest.raises(BadValue, match="budget is"):
        find_width(MODELS.get("GCN"), TaskType.node_cls, SIZES, budget=budget)


def test_a_mistake_in_the_options_is_told_and_not_tried_twice() -> None:
    with pytest.raises(BadValue, match="hyperparameter of GCN is 'depth'"):
        find_width(MODELS.get("GCN"), TaskType.node_cls, SIZES, budget=1000, options={"depth": 3})


def test_a_budget_does_not_concern_a_rule() -> None:
    sizes = Sizes(in_channels=2, hidden_channels=64, out_channels=2)
    found = find_width(MODELS.get("NearestNeighbours"), TaskType.edge_cls, sizes, budget=100_000)
    assert (found.is_of_rule, found.n_parameters) == (True, 1)
    refuse_beyond(found, "NearestNeighbours")
    assert not find_width(describe((Fixed, {"node_cls"})), TaskType.node_cls, SIZES, budget=1000).is_of_rule
