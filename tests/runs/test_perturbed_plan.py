"""Cells on perturbed graphs: trained on them, apart from the originals, found again, and never paired with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.perturbations import ORIGINAL, PERTURBATIONS
from gnz_track.errors import UnknownName
from gnz_track.problems.inputs import collection_of, whole_graph_of
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.fingerprint import NUMBERS, fingerprint
from gnz_track.runs.plan import Plan, perturb_plan
from gnz_track.runs.protocol_resolution import settings_of
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.run_one import run_one
from gnz_track.runs.sweep import run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.stats.comparison.choices import Choices
from gnz_track.stats.comparison.compare import compare
from gnz_track.store.address import Address
from gnz_track.store.cell_book import read_book, write_book
from gnz_track.types import Cell, CellSettings

WORLDS = ["nodes", "graphs", "graphs, labels", "numbers", "links", "edges", "edges, several graphs"]


def settings_under(cell: Cell, name: str) -> CellSettings:
    settings = replace(settings_of(cell, is_multi_label=False), hidden_channels=8, perturbation=name)
    return replace(settings, optimiser=replace(settings.optimiser, batch_size=0))


@pytest.mark.parametrize("kind", WORLDS)
def test_every_task_type_trains_under_every_perturbation(
    kind: str, world: Callable[[str], Any], cell_on: Callable[..., Cell]
) -> None:
    for name in ("empty-graph", "complete-graph", "random-graph", "shuffled-features", "complete-features"):
        result = run_one(cell_on(world(kind), "GCN", epochs=1, perturbation=name))
        assert result.failure is None, (name, result.failure)


def test_a_cell_is_trained_on_the_perturbed_graphs(world: Callable[[str], Any], cell_on: Callable[..., Cell]) -> None:
    original = cell_on(world("graphs"), "GCN")
    scores = {name: run_one(replace(original, perturbation=name)).series["train/loss"] for name in ("", "empty-graph")}
    assert scores[""] != scores["empty-graph"]
    # A model that looks at no edge does not see that they are gone.
    blind = cell_on(world("graphs"), "MLP")
    assert (
        run_one(blind).series["train/loss"] == run_one(replace(blind, perturbation="empty-graph")).series["train/loss"]
    )


def test_inputs_are_those_of_the_perturbation(
    world: Callable[[str], Any], frozen: Callable[[Any], FrozenDataset], cell_on: Callable[..., Cell]
) -> None:
    cell, dataset = cell_on(world("graphs")), frozen(world("graphs"))
    plain = collection_of(dataset, settings_under(cell, ""))
    empty = collection_of(dataset, settings_under(cell, "empty-graph"))
    assert empty.edge_index.shape == (2, 0)
    assert torch.equal(empty.node["x"], plain.node["x"])
    complete = collection_of(dataset, settings_under(cell, "complete-graph"))
    sizes = dataset.node_ptr.diff()
    assert torch.equal(complete.edge_ptr.diff(), sizes * (sizes - 1))
    assert int(complete.edge_index.max()) < int(sizes.max()), "edges count within each graph"
    one_hot = collection_of(dataset, settings_under(cell, "complete-features"))
    assert one_hot.node["x"].shape == (dataset.n_nodes, int(sizes.max()))
    assert torch.equal(one_hot.edge_index, plain.edge_index)


def test_features_made_of_edges_are_made_before_edges_go(
    world: Callable[[str], Any], frozen: Callable[[Any], FrozenDataset], cell_on: Callable[..., Cell]
) -> None:
    cell, dataset = cell_on(world("nodes, no features")), frozen(world("nodes, no features"))
    plain, empty = (
        whole_graph_of(dataset, dataset.global_edge_index, settings_under(cell, name)) for name in ("", "empty-graph")
    )
    assert torch.equal(torch.as_tensor(plain.x), torch.as_tensor(empty.x))
    assert empty.num_edges == 0


def test_draws_depend_on_seed_and_name_and_nothing_else(
    world: Callable[[str], Any], frozen: Callable[[Any], FrozenDataset], cell_on: Callable[..., Cell]
) -> None:
    cell, dataset = cell_on(world("graphs")), frozen(world("graphs"))
    first, again = (collection_of(dataset, settings_under(cell, "random-graph")).edge_index for _ in range(2))
    other = collection_of(dataset, settings_under(replace(cell, seed=1), "random-graph")).edge_index
    assert torch.equal(first, again)
    assert first.shape != other.shape or not torch.equal(first, other)


def test_kinds_of_edges_are_not_perturbed(world: Callable[[str], Any], cell_on: Callable[..., Cell]) -> None:
    result = run_one(cell_on(world("triples"), "GCN", perturbation="empty-graph"))
    assert result.failure is not None
    assert "edges have kinds, for which 'empty-graph' means nothing" in result.failure.message


def test_names_keep_versions_apart(world: Callable[[str], Any], cell_on: Callable[..., Cell]) -> None:
    original = cell_on(world("graphs"))
    changed = replace(original, perturbation="empty-graph")
    assert changed.task.name == "graphs~empty-graph"
    assert changed.task.dataset == original.task.dataset
    assert replace(changed, seed=5).task.name == "graphs~empty-graph", "once, however often a cell is copied"
    assert changed.source_task == original.task == original.source_task
    assert fingerprint(changed) != fingerprint(original)
    (read,) = read_book(write_book({"a": changed}, numbers=NUMBERS))[0].values()
    assert (read.perturbation, read.task.name) == ("empty-graph", "graphs~empty-graph")
    assert fingerprint(read) == fingerprint(changed)


def test_plans_with_every_perturbation(world: Callable[[str], Any], cell_on: Callable[..., Cell]) -> None:
    cells = tuple(cell_on(world("graphs"), seed=seed) for seed in (0, 1))
    plan = perturb_plan(Plan(cells=cells, skipped=()), PERTURBATIONS)
    assert len(plan.cells) == len({fingerprint(cell) for cell in plan.cells}) == 2 * len(PERTURBATIONS)
    assert [fingerprint(cell) for cell in plan.cells[:2]] == [fingerprint(cell) for cell in cells]
    with pytest.raises(UnknownName, match="did you mean 'empty-graph'"):
        perturb_plan(plan, ["emptygraph"])


def test_a_sweep_on_versions_is_resumed_and_never_paired_with_the_originals(
    world: Callable[[str], Any], cell_on: Callable[..., Cell], address: Address
) -> None:
    originals = tuple(
        cell_on(world("graphs"), model, seed=seed, epochs=2) for model in ("GCN", "MLP") for seed in range(3)
    )
    plan = perturb_plan(Plan(cells=originals, skipped=()), [ORIGINAL, "empty-graph"])
    remaining = find_remaining(plan, address)
    sweep = run_sweep(remaining, Tracking(address=address, sweep="s"), execute=run_inline)
    assert len(sweep.table) == 12
    assert find_remaining(plan, address).cells == ()
    comparison = compare(sweep.table, Choices())
    assert [task.task for task in comparison.tasks] == ["graphs", "graphs~empty-graph"]
    for task in comparison.tasks:
        assert {(pair.first, pair.second) for pair in task.pairs} <= {("GCN", "MLP"), ("MLP", "GCN")}
        assert all(cell.n_finished == cell.n_planned == 3 for cell in task.cells)
