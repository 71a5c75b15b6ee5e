"""What a cell asks of its machine: never less than was seen, and no whole GPU where a part has done."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.runs.executors.ray.resources import (
    CONTEXT_MIB,
    MARGIN,
    Footprints,
    ResourceRequest,
    check_share,
    check_share_is_taken,
)
from gnz_track.store.results_table import make_table
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, CellResult, Direction, ModelRow, Status, Task, TaskType

PAIR = ("nodes", "GCN")
mib = st.floats(0, 1e6, allow_nan=False)


def cell(model: str = "GCN", *, device: str = "cpu", seed: int = 0) -> Cell:
    return Cell(
        task=Task("nodes", TaskType.node_cls),
        model=ModelRow(name=model, task_types=(TaskType.node_cls,), target="nets:Net"),
        seed=seed,
        protocol=PROTOCOLS.get("graphnetz"),
        epochs=1,
        dataset_digest="",
        data="",
        device=device,
    )


def ended(of: Cell, *, host: float | None = None, device: float | None = None) -> CellResult:
    facts = {"status": Status.finished, "metric": "accuracy", "direction": Direction.up}
    return CellResult(cell=of, peak_rss_mib=host, peak_device_mib=device, **facts)


def test_nothing_is_known_of_a_first_cell() -> None:
    assert Footprints().resources(cell()) == ResourceRequest(cpus=1.0, gpus=0.0, memory=0)
    assert Footprints().resources(cell(device="cuda")) == ResourceRequest(cpus=1.0, gpus=1.0, memory=0)


def test_memory_is_what_was_seen_and_a_quarter_more() -> None:
    footprints = Footprints({PAIR: (800.0, 0.0)})
    assert footprints.resources(cell(seed=7)).memory == 1000 * 2**20
    assert footprints.resources(cell("MLP")).memory == 0, "another model says nothing"


@given(st.lists(mib, min_size=1))
def test_no_repetition_of_what_was_seen_asks_for_less(peaks: list[float]) -> None:
    footprints = Footprints()
    for peak in peaks:
        footprints.learn(ended(cell(), host=peak))
    assert footprints.resources(cell()).memory >= MARGIN * max(peaks) * 2**20
    assert footprints.resources(cell()).gpus == 0.0, "a cell on a processor has no need of a GPU"


def test_cells_that_tell_nothing_change_nothing() -> None:
    footprints = Footprints({PAIR: (800.0, 100.0)})
    before = footprints.resources(cell(device="cuda"))
    footprints.learn(ended(cell()))
    assert footprints.resources(cell(device="cuda")) == before


@given(peak=st.floats(1.0, 1e5), size=st.floats(1024.0, 2e5))
def test_cells_that_share_a_gpu_fit_on_it(peak: float, size: float) -> None:
    footprints = Footprints()
    footprints.learn(ended(cell(device="cuda"), device=peak), device_mib=size)
    share = footprints.resources(cell(device="cuda", seed=1)).gpus
    assert 0 < share <= 1
    # Shares are twentieths, so that many of them make one.
    assert math.isclose(20 * share, round(20 * share))
    n_at_once = math.floor(1 / share + 1e-9)
    assert n_at_once == 1 or n_at_once * (MARGIN * peak + CONTEXT_MIB) <= size * (1 + 1e-9)


@pytest.mark.parametrize(("peak", "share"), [(100.0, 0.1), (819.2, 0.2), (8000.0, 1.0), (20000.0, 1.0)])
def test_share_of_a_gpu_of_8_gib(peak: float, share: float) -> None:
    # (1.25 * 100 + 512) / 8192 = 0.078, and (1.25 * 819.2 + 512) / 8192 = 0.1875.
    footprints = Footprints()
    footprints.learn(ended(cell(device="cuda:0"), device=peak), device_mib=8192.0)
    assert footprints.resources(cell(device="cuda:1")).gpus == share


def test_smallest_gpu_says_how_many_fit() -> None:
    footprints = Footprints()
    for size in (80000.0, 8000.0, 40000.0):
        footprints.learn(ended(cell(device="cuda"), device=1000.0), device_mib=size)
    # (1.25 * 1000 + 512) / 8000 = 0.22
    assert footprints.resources(cell(device="cuda")).gpus == 0.25


def test_past_runs_alone_do_not_tell_how_large_a_gpu_is() -> None:
    assert Footprints({PAIR: (100.0, 100.0)}).resources(cell(device="cuda")).gpus == 1.0


def test_declared_share_is_taken_as_it_is() -> None:
    footprints = Footprints({PAIR: (100.0, 30000.0)}).with_share(0.3)
    footprints.learn(ended(cell(device="cuda"), device=30000.0), device_mib=40000.0)
    assert footprints.resources(cell(device="cuda")) == ResourceRequest(gpus=0.3, memory=125 * 2**20)
    assert footprints.resources(cell()).gpus == 0.0


def test_rows_of_past_runs_tell_the_most_of_each_pair() -> None:
    columns: dict[str, Any] = {
        "task": ["nodes", "nodes", "nodes", "edges"],
        "model": ["GCN", "GCN", "MLP", "GCN"],
        "peak_rss_mib": [400.0, 800.0, None, 1600.0],
        "peak_device_mib": [None, 10.0, None, None],
    }
    footprints = Footprints.of(make_table(columns))
    assert footprints.resources(cell()).memory == 1000 * 2**20
    assert footprints.resources(cell("MLP")).memory == 0
    other = replace(cell(), task=Task("edges", TaskType.node_cls))
    assert footprints.resources(other).memory == 2000 * 2**20
    assert Footprints.of(make_table({})).resources(cell()) == ResourceRequest()


@pytest.mark.parametrize("check", [check_share, lambda share: Footprints(share=share)])
@pytest.mark.parametrize("share", [-0.1, 1.01, float("nan"), float("inf")])
def test_share_that_is_none_is_refused(check: Callable[[float], object], share: float) -> None:
    with pytest.raises(BadValue, match=r"gpu_share is .*; allowed: a part of one GPU, above 0 and up to 1"):
        check(share)


def test_shares_that_can_be() -> None:
    for share in (0.0, 0.05, 1.0):
        check_share(share)


def test_share_that_no_cell_takes_is_refused() -> None:
    with pytest.raises(BadValue, match=r"gpu_share is 0.5; .*all trained on cpu.*--device cuda --gpu-share 0.5"):
        check_share_is_taken(0.5, [cell(), cell("MLP")])
    for share, cells in ((0.5, [cell(), cell(device="cuda:1")]), (0.0, [cell()]), (0.5, [])):
        check_share_is_taken(share, cells)
