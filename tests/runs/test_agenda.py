"""What is left of a plan, in which order, and how long it may take."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from servers import free_port

from gnz_track.errors import StoreUnusable
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Plan
from gnz_track.runs.remaining import OF_COSTS, Paces, RemainingCells, find_remaining
from gnz_track.store.address import Address, parse_address
from gnz_track.store.environment import collect_environment
from gnz_track.store.outbox import Outbox, outbox_folder
from gnz_track.store.reader import read_table
from gnz_track.store.run_record import RunRecord, SweepContext, record_of
from gnz_track.store.writer import open_store
from gnz_track.types import Cell, CellResult, Direction, Failure, Status

Make = Callable[..., Cell]


@pytest.fixture
def cell(cell_on: Callable[..., Cell], world: Callable[[str], Any]) -> Make:
    """Return a function from a model and a seed to a cell of ten epochs."""
    return lambda model="GCN", seed=0, *, name="nodes", epochs=10: cell_on(world(name), model, seed=seed, epochs=epochs)


def context(sweep: str = "earlier") -> SweepContext:
    return SweepContext(sweep=sweep, suite="quick", environment=collect_environment())


def past(cell: Cell, *, pace: float | None = 0.5, sweep: str = "earlier", attempt: str = "1") -> RunRecord:
    """Return the record of a cell; failed where it has no pace."""
    is_finished = pace is not None
    result = CellResult(
        cell=cell,
        status=Status.finished if is_finished else Status.failed,
        metric="accuracy",
        direction=Direction.up,
        score=0.5 if is_finished else None,
        scores={"accuracy": 0.5} if is_finished else {},
        seconds_per_epoch=pace,
        failure=None if is_finished else Failure(kind="ValueError", message="odd", traceback=""),
    )
    ended_at = 1_760_000_000_000 + int(attempt)
    return record_of(result, context(sweep), fingerprint=fingerprint(cell), ended_at=ended_at, attempt=attempt)


def store(address: Address, records: Iterable[RunRecord]) -> list[str]:
    with open_store(address) as opened:
        return [opened.finish(record) for record in records]


def remaining_of(cells: Iterable[Cell], address: Address, **options: Any) -> RemainingCells:
    return find_remaining(Plan(cells=tuple(cells), skipped=()), address, **options)


def test_nothing_is_known_and_nothing_is_written(address: Address, cell: Make, tmp_path: Path) -> None:
    address.file.unlink()
    cells = [cell(seed=seed) for seed in (2, 0, 1)]
    remaining = remaining_of(cells, address)
    assert (list(remaining.cells), remaining.notices) == (cells, ())
    assert remaining.finished.empty
    assert remaining.paces.total(remaining.cells) is None
    assert list(tmp_path.iterdir()) == []


def test_finished_cells_count_whatever_sweep_they_come_from(address: Address, cell: Make) -> None:
    cells = [cell(seed=seed) for seed in range(4)]
    elsewhere = [cell("MLP"), replace(cells[3], epochs=11)]
    run_ids = store(address, map(past, [*cells[:2], *elsewhere]))
    remaining = remaining_of(cells, address)
    assert list(remaining.cells) == cells[2:]
    assert list(remaining.finished["run_id"]) == run_ids[:2]
    assert set(remaining.finished["sweep"]) == {"earlier"}


def test_rows_are_read_when_they_are_asked_for(address: Address, cell: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    cells = [cell(seed=seed) for seed in range(3)]
    store(address, map(past, cells[:2]))
    read: list[tuple[str, ...]] = []

    def spy(*given: Any, columns: Iterable[str] = (), **more: Any) -> Any:
        read.append(tuple(columns))
        return read_table(*given, **more, **({"columns": tuple(columns)} if columns else {}))

    monkeypatch.setattr("gnz_track.runs.remaining.read_table", spy)
    remaining = remaining_of(cells, address)
    assert remaining.done == {fingerprint(one) for one in cells[:2]}
    assert read == [OF_COSTS]
    assert sorted(remaining.finished["seed"]) == [0, 1]
    assert read == [OF_COSTS, ()]
    assert sorted(remaining.finished["seed"]) == [0, 1]
    assert len(read) == 2, "once"
    assert remaining_of(cells[:2], address).cells == ()
    assert len(read) == 2, "where nothing is left, nobody asks what it would cost"


def test_what_comes_between_is_trained_and_is_no_row_of_before(address: Address, cell: Make) -> None:
    cells = [cell(seed=seed) for seed in range(2)]
    store(address, [past(cells[0])])
    remaining = remaining_of(cells, address)
    store(address, [past(cells[1])])
    assert list(remaining.cells) == cells[1:]
    assert list(remaining.finished["seed"]) == [0]


def test_failed_cells_are_tried_again_and_a_finished_attempt_counts(address: Address, cell: Make) -> None:
    cells = [cell(seed=seed) for seed in range(2)]
    store(address, [past(cells[0], pace=None), past(cells[1], pace=None)])
    assert list(remaining_of(cells, address).cells) == cells
    [_, latest, _] = store(
        address,
        [past(cells[0], attempt="2"), past(cells[0], attempt="3"), past(cells[0], pace=None, attempt="4")],
    )
    remaining = remaining_of(cells, address)
    assert list(remaining.cells) == cells[1:]
    assert list(remaining.finished["run_id"]) == [latest]


def test_records_that_wait_on_this_disk_count(address: Address, cell: Make) -> None:
    cells = [cell(seed=seed) for seed in range(3)]
    store(address, [past(cells[0])])
    with Outbox(outbox_folder(address), context("waiting")) as outbox:
        outbox.append(past(cells[1], sweep="waiting"))
        outbox.append(past(cells[2], sweep="waiting", pace=None))
    remaining = remaining_of(cells, address)
    assert list(remaining.cells) == cells[2:]
    assert sorted(remaining.finished["sweep"]) == ["earlier", "waiting"]


def test_record_that_waits_and_is_stored_as_well_is_one_row_with_its_run(address: Address, cell: Make) -> None:
    one = past(cell())
    with Outbox(outbox_folder(address), context()) as outbox:
        outbox.append(one)
    run_ids = store(address, [one])
    assert list(remaining_of([cell()], address).finished["run_id"]) == run_ids


def test_fresh_means_everything_again(address: Address, cell: Make) -> None:
    cells = [cell(seed=seed) for seed in range(2)]
    store(address, map(past, cells))
    remaining = remaining_of(cells, address, is_fresh=True)
    assert list(remaining.cells) == cells
    assert remaining.finished.empty
    assert remaining.paces.total(cells) == 10.0, "past durations are known all the same"


def test_longest_come_first_and_before_them_what_nobody_has_seen(address: Address, cell: Make) -> None:
    paces = {"GCN": 0.5, "MLP": 0.25, "GAT": 2.0}
    store(address, [past(cell(model), pace=pace) for model, pace in paces.items()])
    # The second MLP has many epochs: it is the time of the cell that counts.
    wanted = [cell("MLP", 1), cell("GCN", 1), cell("GAT", 1), cell("GraphSAGE", 1), cell("MLP", 2, epochs=30)]
    remaining = remaining_of(wanted, address)
    assert [(one.model.name, one.seed) for one in remaining.cells] == [
        ("GraphSAGE", 1),
        ("GAT", 1),
        ("MLP", 2),
        ("GCN", 1),
        ("MLP", 1),
    ]
    assert [remaining.paces.seconds(one) for one in remaining.cells] == [None, 20.0, 7.5, 5.0, 2.5]


def test_store_that_is_away_is_named_and_the_disk_still_counts(address: Address, cell: Make) -> None:
    away = parse_address(f"http://127.0.0.1:{free_port()}")
    cells = [cell(seed=seed) for seed in range(2)]
    with Outbox(outbox_folder(away), context()) as outbox:
        outbox.append(past(cells[0]))
    remaining = remaining_of(cells, away)
    assert list(remaining.cells) == cells[1:]
    [notice] = remaining.notices
    assert str(away) in notice
    assert f"gnz sync --store {away}. Past runs are unknown" in notice
    assert outbox_folder(away) != outbox_folder(address)


def test_store_that_is_none_is_refused(address: Address, cell: Make) -> None:
    address.file.write_bytes(b"no database " * 1000)
    with pytest.raises(StoreUnusable, match="not a database"):
        remaining_of([cell()], address)


def test_cell_wanted_twice_is_trained_once(address: Address, cell: Make) -> None:
    assert len(remaining_of([cell(), replace(cell(), device="cuda")], address).cells) == 1


# Paces --------------------------------------------------------------------------------------------------------------


def test_pace_is_the_median_of_what_was_seen(cell: Make) -> None:
    one = cell()
    paces = Paces({("nodes", "GCN"): 1.0})
    assert paces.seconds(one) == 10.0
    for seconds in (20.0, 30.0, 1000.0):
        paces.learn(one, seconds)
    assert paces.seconds(one) == 30.0, "what was expected is no match for what was seen"
    assert paces.seconds(cell("MLP")) is None


def test_what_was_expected_of_others_is_corrected_by_what_was_seen(cell: Make) -> None:
    paces = Paces({("nodes", "GCN"): 1.0, ("nodes", "GAT"): 3.0, ("nodes", "MLP"): 0.5})
    paces.learn(cell(), 130.0)
    assert paces.seconds(cell("GAT")) == 13 * 30
    paces.learn(cell("GAT"), 30.0)
    assert paces.seconds(cell("MLP", epochs=20)) == (130 + 30) / (10 + 30) * 10
    paces.learn(cell("SGC"), 1e9)
    assert paces.seconds(cell("MLP", epochs=20)) == 40.0, "nothing was expected of it"


def test_pair_never_seen_counts_as_the_average_of_the_rest(cell: Make) -> None:
    paces = Paces({("nodes", "GCN"): 1.0, ("nodes", "GAT"): 3.0})
    assert paces.total([cell(), cell("GAT"), cell("MLP"), cell("MLP", 1)]) == 10 + 30 + 20 + 20
    assert paces.total([cell("MLP")]) is None
    assert paces.total([]) == 0.0
    assert math.isclose(paces.total([cell(epochs=1)]) or 0, 1.0)
