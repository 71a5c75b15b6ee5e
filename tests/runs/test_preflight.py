"""The first cells of a sweep tell whether any of it can be trained."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import own_nets
import pytest

from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.plan import Plan
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.run_one import lost_result, run_one
from gnz_track.runs.sweep import Preflight, Sweep, order_for_preflight, run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store.address import Address
from gnz_track.store.reader import read_table
from gnz_track.types import Cell

REASON = r"LookupError: .* \(own_nets.py, line \d+, in forward\)"


@pytest.fixture
def make(cell_on: Callable[..., Cell], world: Callable[[str], Any]) -> Callable[..., list[Cell]]:
    """Return a function that makes cells of two epochs by seed, on one of the small datasets."""

    def make(model: object, n: int = 3, kind: str = "nodes") -> list[Cell]:
        return [cell_on(world(kind), model, seed=seed, epochs=2) for seed in range(n)]

    return make


def sweep(cells: list[Cell], address: Address) -> Sweep:
    remaining = find_remaining(Plan(cells=tuple(cells), skipped=()), address)
    return run_sweep(remaining, Tracking(address=address, sweep="one", suite="quick"), execute=run_inline)


def test_one_cell_of_each_kind_comes_before_all_others(make: Callable[..., list[Cell]]) -> None:
    cells = [*make("GCN"), *make("MLP"), *make("GCN", kind="graphs")]
    ordered = order_for_preflight(cells)
    assert [(cell.task.name, cell.model.name) for cell in ordered[:3]] == [
        (cells[place].task.name, cells[place].model.name) for place in (0, 3, 6)
    ]
    assert ordered[3:] == [cells[place] for place in (1, 2, 4, 5, 7, 8)]


def test_sweep_of_which_every_cell_fails_alike_ends_at_once(make: Callable[..., list[Cell]], address: Address) -> None:
    cells = [*make(own_nets.FailsForward), *make(own_nets.FailsForward, kind="graphs")]
    found = sweep(cells, address)
    assert [one.cell.seed for one in found.results] == [0, 0], "one of each task"
    assert re.fullmatch(REASON, found.refusal)
    assert list(read_table(address)["status"]) == ["failed"] * 2
    again = sweep(cells, address)
    assert again.refusal, "what failed is tried again"


def test_anything_that_may_finish_lets_a_sweep_go_on(make: Callable[..., list[Cell]], address: Address) -> None:
    found = sweep([*make(own_nets.FailsForward), *make("MLP")], address)
    assert found.refusal == ""
    assert sorted(found.table["status"]) == ["failed"] * 3 + ["finished"] * 3
    assert sweep(make(own_nets.FailsForward) + make("MLP"), address).refusal == "", "some of it has finished before"


def test_failures_that_differ_or_are_chance_prove_nothing(make: Callable[..., list[Cell]]) -> None:
    first, second, third = make(own_nets.FailsForward)
    alike = run_one(first)
    assert Preflight([first, second]).take(alike)
    lost = Preflight([first, second])
    assert not lost.take(lost_result(first, "WorkerDied", "gone"))
    assert not lost.take(run_one(second))
    assert lost.reason == ""
    [other] = make(own_nets.FailsBackward, 1)
    differing = Preflight([first, other])
    assert not differing.take(alike)
    assert not differing.take(run_one(other))
    assert not differing.take(run_one(third))
    assert differing.reason == ""


@pytest.mark.parametrize("model", [own_nets.FailsToBuild, own_nets.FailsForward, own_nets.FailsBackward])
def test_whatever_a_step_meets_is_found(make: Callable[..., list[Cell]], model: object) -> None:
    cells = make(model, 2)
    preflight = Preflight(cells)
    assert preflight.take(run_one(cells[0]))
    assert preflight.reason


def test_what_comes_later_is_not_taken_for_it(make: Callable[..., list[Cell]]) -> None:
    cells = make(own_nets.FailsLate, 2)
    assert not Preflight(cells).take(run_one(cells[0]))
