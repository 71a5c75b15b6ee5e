"""Sweeps into a real store: what was done is kept, what is left is trained, and nothing is trained or written twice."""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import own_nets
import pandas as pd
import pytest
from call_counts import Counted
from servers import free_port

from gnz_track.errors import BadValue, OutboxBusy, StoreUnreachable, StoreUnusable
from gnz_track.runs import sweep_writer as writer
from gnz_track.runs.executors import events
from gnz_track.runs.executors.choice import choose_executor
from gnz_track.runs.executors.events import Done, Event, Points, Started, Tell, ignore
from gnz_track.runs.executors.fork_server import open_fork_server
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Plan
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.run_one import run_one
from gnz_track.runs.sweep import Sweep, name_sweep, run_sweep, say_once
from gnz_track.runs.sweep_writer import SweepWriter, Tracking
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.cell_files.kept_files import files_from_tag
from gnz_track.store.outbox import count_waiting, file_stem, outbox_folder
from gnz_track.store.past_runs import read_curves, read_sweep_run
from gnz_track.store.reader import finished_fingerprints, open_reader, read_published, read_table
from gnz_track.store.replay import replay
from gnz_track.store.sweep_manifest import PLAN_COLUMNS, is_concluded, plan_to_json, read_plan
from gnz_track.store.writer import Store, now, open_store
from gnz_track.types import Cell, CellResult, Direction, Failure, Status

Cells = Callable[..., list[Cell]]
# As the specification of the store asks.
MOST_CALLS = 8


@pytest.fixture
def cells(cell_on: Callable[..., Cell], world: Callable[[str], Any]) -> Cells:
    """Return a function that makes small cells of one model, by seed."""

    def cells(n: int, model: object = "GCN", *, epochs: int = 2) -> list[Cell]:
        return [cell_on(world("nodes"), model, seed=seed, epochs=epochs) for seed in range(n)]

    return cells


def sweep(chosen: Sequence[Cell], address: Address, *, tell: Tell = ignore, **options: Any) -> Sweep:
    """Do what ``gnz run`` does with cells."""
    suite, is_fresh = options.pop("suite", "quick"), options.pop("is_fresh", False)
    plan = Plan(cells=tuple(chosen), skipped=())
    remaining = find_remaining(plan, address, is_fresh=is_fresh)
    name = name_sweep(plan.cells, suite=suite, is_fresh=is_fresh)
    tracking = Tracking(address=address, sweep=name, suite=suite)
    return run_sweep(remaining, tracking, execute=options.pop("execute", run_inline), tell=tell, **options)


def after(kind: type[Event], number: int, act: Callable[[], None]) -> Tell:
    """Return a listener that acts at the given event of a kind, counted from 1."""
    seen = Counter[type]()

    def hear(event: Event) -> None:
        seen[type(event)] += 1
        if isinstance(event, kind) and seen[kind] == number:
            act()

    return hear


def both(*listeners: Tell) -> Tell:
    def hear(event: Event) -> None:
        for listener in listeners:
            listener(event)

    return hear


def interrupt() -> None:
    raise KeyboardInterrupt


def statuses(address: Address, **tags: str) -> Counter[str]:
    """Return how many runs of cells stand how."""
    with open_store(address) as store:
        found = store.search(store.experiments(), {"gnz.kind": "cell", **tags})
    return Counter(run.info.status for run in found)


def seeds(result: Sweep) -> list[int]:
    """Return the seeds of the cells that this call trained."""
    return [one.cell.seed for one in result.results]


def check_whole(result: Sweep, chosen: Sequence[Cell]) -> None:
    """See that a sweep's table has every cell finished, in the order of the plan."""
    assert list(result.table["fingerprint"]) == [fingerprint(cell) for cell in chosen]
    assert set(result.table["status"]) == {"finished"}
    assert result.table["score"].notna().all()


# One call and another -----------------------------------------------------------------------------------------------


def test_sweep_is_written_and_its_table_is_that_of_the_store(address: Address, cells: Cells) -> None:
    chosen = cells(3)
    result = sweep(chosen, address)
    check_whole(result, chosen)
    assert result.notices == ()
    assert count_waiting(outbox_folder(address)) == {}
    stored = read_table(address, sweep=result.name)
    pd.testing.assert_frame_equal(result.table, stored.set_index("run_id").loc[result.table["run_id"]].reset_index())
    with open_store(address) as store:
        assert store.running() == []
        [run] = store.search(store.experiments("quick"), {"gnz.kind": "sweep"})
        assert (run.info.status, run.data.tags["gnz.sweep"]) == ("FINISHED", result.name)
        assert run.data.tags["gnz.table"], "the table was published"
    [plan] = address.file.parent.rglob("plan.json")
    assert plan.is_file()
    wanted = read_plan(address, result.name)
    assert wanted is not None
    assert wanted.fingerprints == set(map(fingerprint, chosen))
    for cell in wanted.cells:
        [row] = result.table[result.table["fingerprint"] == cell["fingerprint"]].to_dict("records")
        assert {name: row[name] for name in PLAN_COLUMNS} == cell


def test_load_of_the_machine_is_in_the_run_of_a_sweep_that_asks_for_it(address: Address, cells: Cells) -> None:
    for name, is_asked in (("with", True), ("without", False)):
        plan = Plan(cells=tuple(cells(1)), skipped=())
        tracking = Tracking(address=address, sweep=name, suite="quick", system_metrics=is_asked)
        # Samples are a second apart.
        wait = after(Done, 1, lambda: time.sleep(1.5))
        run_sweep(find_remaining(plan, address, is_fresh=True), tracking, execute=run_inline, tell=wait)
        run = read_sweep_run(address, suite="quick", sweep=name)
        assert run is not None
        assert ("system/cpu_utilization_percentage" in run.metrics) is is_asked
        assert run.metrics["cells/finished"] == 1


def test_cells_bear_the_names_of_the_searches_that_chose_them(address: Address, cells: Cells) -> None:
    chosen = cells(3)
    names = {fingerprint(chosen[1]): "quick nodes GCN", "of another sweep": "another"}
    tracking = Tracking(address=address, sweep="tuned", suite="quick", searches=names)
    plan = Plan(cells=tuple(chosen), skipped=())
    result = run_sweep(find_remaining(plan, address), tracking, execute=run_inline)
    assert list(result.table["search"]) == ["", "quick nodes GCN", ""]
    stored = read_table(address, sweep="tuned")
    assert dict(zip(stored["seed"], stored["search"], strict=True)) == {0: "", 1: "quick nodes GCN", 2: ""}


def test_finished_sweep_trains_nothing_and_gives_the_same_table(address: Address, cells: Cells) -> None:
    chosen = cells(2)
    first = sweep(chosen, address)
    again = sweep(chosen, address)
    assert again.results == ()
    assert again.name == first.name
    pd.testing.assert_frame_equal(again.table, first.table)
    assert statuses(address) == {"FINISHED": 2}
    pd.testing.assert_frame_equal(read_table(address, sweep=first.name), read_table(address))


def content_of(address: Address) -> str:
    with contextlib.closing(sqlite3.connect(address.file)) as connection:
        return "\n".join(connection.iterdump())


def test_finished_sweep_is_asked_for_again_without_a_write(address: Address, cells: Cells) -> None:
    first = sweep(cells(2), address)
    before = content_of(address)
    again = sweep(cells(2), address)
    assert content_of(address) == before
    assert (again.name, again.results, again.notices) == (first.name, (), ())
    pd.testing.assert_frame_equal(again.table, first.table)


def _leave_running(address: Address) -> None:
    with contextlib.closing(sqlite3.connect(address.file)) as connection, connection:
        connection.execute("UPDATE runs SET status = 'RUNNING', end_time = NULL WHERE name LIKE 'sweep %'")


def _lose_file(name: str) -> Callable[[Address], None]:
    def lose(address: Address) -> None:
        (found,) = address.file.parent.rglob(name)
        found.unlink()

    return lose


@pytest.mark.parametrize("change", [_leave_running, _lose_file(schema.PLAN_FILE), _lose_file(schema.TABLE_FILE)])
def test_finished_sweep_is_written_once_more_where_something_is_left_to_do(
    change: Callable[[Address], None], address: Address, cells: Cells
) -> None:
    first = sweep(cells(2), address)
    change(address)
    again = sweep(cells(2), address)
    assert again.results == ()
    pd.testing.assert_frame_equal(again.table, first.table)
    plan = read_plan(address, first.name)
    assert plan is not None
    assert is_concluded(address, first.name, plan=plan_to_json(plan))


def test_part_of_a_sweep_leaves_the_rest(address: Address, cells: Cells) -> None:
    chosen = cells(4)
    part = sweep(chosen[1:3], address)
    rest = sweep(chosen, address)
    assert seeds(rest) == [0, 3]
    check_whole(rest, chosen)
    assert part.name != rest.name
    assert list(rest.table["sweep"]) == [rest.name, part.name, part.name, rest.name]
    assert statuses(address) == {"FINISHED": 4}


def test_cell_that_another_suite_finished_is_not_trained_again(address: Address, cells: Cells) -> None:
    chosen = cells(2)
    sweep(chosen[:1], address, suite="other")
    result = sweep(chosen, address)
    assert seeds(result) == [1]
    assert list(result.table["suite"]) == ["other", "quick"]


def test_failed_cell_is_tried_again_and_counts_once_it_finishes(
    address: Address, cells: Cells, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ANNOUNCE", raising=False)
    chosen = [*cells(2), *cells(1, own_nets.Announces)]
    failing = sweep(chosen, address)
    assert list(failing.table["status"]) == ["finished", "finished", "failed"]
    assert list(failing.table["error"])[2].startswith("KeyError: 'ANNOUNCE'")
    assert failing.notices == ()
    again = sweep(chosen, address)
    assert [one.cell.model.name for one in again.results] == ["Announces"]
    assert statuses(address) == {"FINISHED": 2, "FAILED": 2}
    monkeypatch.setenv("ANNOUNCE", str(tmp_path / "here"))
    finished = sweep(chosen, address)
    assert finished.name == failing.name
    check_whole(finished, chosen)
    assert sweep(chosen, address).results == ()
    assert statuses(address) == {"FINISHED": 3, "FAILED": 2}
    assert list(read_table(address, sweep=finished.name)["status"]) == ["finished"] * 3


def test_fresh_sweep_trains_everything_again_and_counts(address: Address, cells: Cells) -> None:
    chosen = cells(2)
    first = sweep(chosen, address)
    fresh = sweep(chosen, address, is_fresh=True)
    assert seeds(fresh) == [0, 1]
    assert fresh.name not in {first.name, sweep(chosen[:1], address, is_fresh=True).name}
    assert set(fresh.table["sweep"]) == {fresh.name}
    assert fresh.series() == first.series()
    assert statuses(address) == {"FINISHED": 5}
    assert len(read_table(address)) == 2


def test_name_of_a_sweep_is_that_of_its_cells(cells: Cells) -> None:
    chosen = cells(3)
    name = name_sweep(chosen, suite="quick")
    assert name == name_sweep(reversed(chosen), suite="quick")
    others = [name_sweep(chosen[:2], suite="quick"), name_sweep(chosen, suite="big")]
    fresh = [name_sweep(chosen, suite="quick", is_fresh=True) for _ in range(2)]
    assert len({name, *others, *fresh}) == 5
    assert name.startswith("quick-")


def test_cells_are_trained_longest_first_by_past_durations(address: Address, cells: Cells) -> None:
    sweep([*cells(1), *cells(1, "GAT")], address)
    known = read_table(address).set_index("model")["seconds_per_epoch"]
    slow, quick = ("GAT", "GCN") if known["GAT"] > known["GCN"] else ("GCN", "GAT")
    started: list[str] = []
    chosen = [*cells(1, quick, epochs=3), *cells(1, slow, epochs=3), *cells(1, "MLP", epochs=3)]
    result = sweep(chosen, address, tell=lambda event: _note_start(event, started))
    assert started == ["MLP", slow, quick]
    check_whole(result, chosen)


def _note_start(event: Event, started: list[str]) -> None:
    if isinstance(event, Started):
        started.append(event.cell.model.name)


def test_results_do_not_depend_on_workers_or_order(address: Address, cells: Cells) -> None:
    chosen = [*cells(3, "GraphSAGE", epochs=3), *cells(3, own_nets.Meddler, epochs=3)]
    expected = sweep(chosen, address).series()
    assert expected == {fingerprint(cell): run_one(cell).series for cell in chosen}
    with open_fork_server() as fork_server:
        for jobs, order in ((1, chosen), (2, chosen[::-1])):
            execute = choose_executor(jobs=jobs, timeout=120, fork_server=fork_server)
            result = sweep(order, address, execute=execute, is_fresh=True)
            check_whole(result, order)
            assert result.series() == expected
    assert statuses(address) == {"FINISHED": 18}


# Interrupts ---------------------------------------------------------------------------------------------------------


def _children() -> set[int]:
    return {int(pid) for task in Path("/proc/self/task").iterdir() for pid in (task / "children").read_text().split()}


@pytest.mark.parametrize("jobs", [1, 2])
def test_interrupted_sweep_keeps_what_was_done_and_is_completed_later(
    jobs: int, address: Address, cells: Cells
) -> None:
    chosen, before = cells(5), _children()
    execute = choose_executor(jobs=jobs)
    with pytest.raises(KeyboardInterrupt):
        sweep(chosen, address, execute=execute, tell=after(Started, 3, interrupt))
    assert _children() == before
    stood = statuses(address)
    # Of three that were begun, each worker was at one.
    assert set(stood) == {"FINISHED", "KILLED"}
    assert stood.total() == 3
    assert stood["KILLED"] <= jobs
    assert count_waiting(outbox_folder(address)) == {}
    done = set(read_table(address)["seed"])
    result = sweep(chosen, address)
    assert set(seeds(result)) == set(range(5)) - done
    check_whole(result, chosen)
    assert statuses(address) == {"FINISHED": 5, "KILLED": stood["KILLED"]}
    assert result.notices == ()


def test_killed_run_says_why(address: Address, cells: Cells) -> None:
    with pytest.raises(KeyboardInterrupt):
        sweep(cells(2), address, tell=after(Started, 2, interrupt))
    with open_store(address) as store:
        [run] = store.search(store.experiments(), {"gnz.kind": "cell"}, "attributes.status = 'KILLED'")
        [of_sweep] = store.search(store.experiments(), {"gnz.kind": "sweep"})
    assert run.data.tags["gnz.error"] == "Killed: the sweep was interrupted"
    assert (run.data.tags["gnz.seed"], run.data.tags["gnz.fingerprint"]) == ("1", fingerprint(cells(2)[1]))
    assert of_sweep.info.status == "KILLED", "nobody shall take it for a whole sweep"


# Stores that go away ------------------------------------------------------------------------------------------------


def test_one_reason_is_told_once_and_what_follows_from_it_stays() -> None:
    gone, locked = (StoreUnreachable("postgresql://u:***@h/db", reason) for reason in ("gone. Really", "locked"))
    found = say_once([f"{gone}. Past runs are unknown.", f"{gone}. Training goes on.", f"{locked}. Training goes on."])
    assert found == (f"{gone}. Past runs are unknown.", "Training goes on.", f"{locked}. Training goes on.")


def test_store_that_is_away_costs_nothing(address: Address, cells: Cells) -> None:
    away, chosen = parse_address(f"http://127.0.0.1:{free_port()}"), cells(3)
    result = sweep(chosen[:2], away)
    check_whole(result, chosen[:2])
    assert list(result.table["run_id"]) == ["", ""]
    assert count_waiting(outbox_folder(away)) == {result.name: 2}
    assert "Training goes on; results wait on this disk." in " ".join(result.notices)
    assert sum("does not answer" in notice for notice in result.notices) == 1
    waits = "2 results and the sweep's plan and table wait on this disk; when the store answers again, type: gnz sync"
    assert any(notice.startswith(waits) for notice in result.notices)
    again = sweep(chosen, away)
    assert seeds(again) == [2]
    check_whole(again, chosen)
    assert count_waiting(outbox_folder(away)) == {result.name: 2, again.name: 1}
    with open_store(address) as store:
        assert len(replay(outbox_folder(away), store).written) == 3
    for name, n_cells in ((result.name, 2), (again.name, 3)):
        plan, table = read_plan(address, name), read_published(open_reader(address), name)
        assert plan is not None, "the plan waits with the results"
        assert len(plan.cells) == n_cells
        assert table is not None
    stored = read_table(address)
    assert dict(zip(stored["seed"], stored["score"], strict=True)) == dict(
        zip(again.table["seed"], again.table["score"], strict=True)
    )
    curves = read_curves(address, stored["run_id"])
    for row in stored.itertuples():
        series = (result.series() | again.series())[row.fingerprint]
        assert {name: tuple(value for _, value in points) for name, points in curves[row.run_id].items()} == series
    assert statuses(address) == {"FINISHED": 3}


def test_store_that_goes_and_comes_back_has_all(address: Address, cells: Cells) -> None:
    aside, chosen = address.file.with_name("aside.db"), cells(5)
    goes = after(Done, 2, lambda: _move(address.file, aside))
    comes = after(Done, 4, lambda: _move(aside, address.file))
    result = sweep(chosen, address, tell=both(goes, comes))
    check_whole(result, chosen)
    assert sorted(result.table["run_id"]) == sorted(read_table(address)["run_id"]), "those that waited have runs too"
    said = " ".join(result.notices)
    assert f"{address}' does not answer: its file was removed; put it back" in said
    assert "3 results that waited are written" in said
    assert count_waiting(outbox_folder(address)) == {}
    assert statuses(address) == {"FINISHED": 5}
    assert sweep(chosen, address).results == ()


def _move(source: Path, target: Path) -> None:
    source.rename(target)


def test_file_that_is_overwritten_is_named_and_what_follows_waits(address: Address, cells: Cells) -> None:
    chosen = cells(4)
    spoil = after(Done, 2, lambda: _overwrite(address.file))
    result = sweep(chosen, address, tell=spoil)
    check_whole(result, chosen)
    assert str(address) in " ".join(result.notices)
    assert "gnz sync" in " ".join(result.notices)
    assert count_waiting(outbox_folder(address)) == {result.name: 4}, "what the file had that is gone is nowhere else"
    with pytest.raises(StoreUnusable, match=r"disk image is malformed|file is not a database"):
        sweep(chosen, address)
    address.file.unlink()
    set_aside(address, chosen)
    again = sweep(chosen, address)
    assert again.results == (), "what waits on the disk was trained again"
    check_whole(again, chosen)


def set_aside(address: Address, chosen: list[Cell]) -> None:
    """Type the command that a call names which finds what sqlite left of a file that is gone."""
    with pytest.raises(StoreUnusable, match=r"gnz\.db-wal") as caught:
        sweep(chosen, address)
    assert not address.file.exists()
    subprocess.run(["sh", "-c", str(caught.value).partition("begin anew: ")[2]], check=True)  # noqa: S607


@pytest.mark.parametrize("endings", [("",), ("", "-wal", "-shm")])
def test_store_removed_under_a_sweep_costs_no_result(endings: tuple[str, ...], address: Address, cells: Cells) -> None:
    chosen = cells(5)
    result = sweep(chosen, address, tell=after(Done, 2, lambda: _remove(address.file, endings)))
    assert result.table["status"].tolist() == ["finished"] * 5
    assert "its file was removed" in " ".join(result.notices)
    if endings == ("",):
        assert count_waiting(outbox_folder(address)) == {result.name: 5}
        assert not address.file.exists(), "a store began beside what another left"
        set_aside(address, chosen)
        result = sweep(chosen, address)
        assert result.results == ()
    check_whole(result, chosen)
    assert statuses(address) == {"FINISHED": 5}
    assert integrity(address.file) == "ok"


def test_store_replaced_under_a_sweep_is_named_and_gets_all_of_it(
    address: Address, cells: Cells, tmp_path: Path
) -> None:
    backup, chosen = tmp_path / "backup.db", cells(6)
    sweep(chosen[:2], address)
    shutil.copy(address.file, backup)
    sweep(chosen[2:3], address)

    def restore() -> None:
        _remove(address.file, ("", "-wal", "-shm"))
        shutil.copy(backup, address.file)

    result = sweep(chosen, address, tell=after(Done, 1, restore))
    assert "its file was replaced by another one" in " ".join(result.notices)
    assert integrity(address.file) == "ok"
    # What an earlier call wrote after the backup went with the file; the same call trains it again, and no other.
    again = sweep(chosen, address)
    assert seeds(again) == [2]
    check_whole(again, chosen)
    assert statuses(address) == {"FINISHED": 6}


def _remove(file: Path, endings: tuple[str, ...]) -> None:
    for ending in endings:
        file.with_name(file.name + ending).unlink(missing_ok=True)


def integrity(file: Path) -> str:
    with contextlib.closing(sqlite3.connect(file)) as connection:
        return str(connection.execute("PRAGMA integrity_check").fetchone()[0])


def _overwrite(file: Path) -> None:
    new = file.with_name("new.db")
    new.write_bytes(b"no database " * 1000)
    new.replace(file)


def test_experiment_that_is_deleted_meanwhile_is_named_and_nothing_is_lost(address: Address, cells: Cells) -> None:
    chosen = cells(4)
    name = f"gnz/quick/{chosen[0].task.name}"
    result = sweep(chosen, address, tell=after(Done, 2, lambda: _delete(address, name)))
    check_whole(result, chosen)
    said = " ".join(result.notices)
    assert str(address) in said
    assert "waits on this disk: gnz sync" in said
    assert "deleted" in said
    assert count_waiting(outbox_folder(address)) == {result.name: 2}
    with open_store(address) as store:
        store.tracking.restore_experiment(store.tracking.get_experiment_by_name(name).experiment_id)
        assert len(replay(outbox_folder(address), store).written) == 2
    assert statuses(address) == {"FINISHED": 4}
    assert sweep(chosen, address).results == ()


def _delete(address: Address, name: str) -> None:
    with open_store(address) as store:
        store.tracking.delete_experiment(store.tracking.get_experiment_by_name(name).experiment_id)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"task": "t" * 300}, "name of a task is 'ttt.*allowed: at most 242 characters"),
        ({"model": "m" * 10_000}, "name of a model is 'mmm.*allowed: at most 8000 characters"),
        ({"model": "\ud800"}, "name of a model is .*no half characters"),
        ({"model": "a\0b"}, "name of a model is .*no zero bytes"),
        ({"values": (("h" * 251, 1),)}, "name of a metric or hyperparameter is 'hhh.*1 to 250 characters"),
        ({"values": (("lr", float("inf")),)}, "hyperparameter 'lr' is inf"),
        ({"suite": "s" * 300}, "name of a suite is 'sss.*at most 256 characters"),
    ],
)
def test_what_no_store_takes_is_told_before_the_first_cell(
    changed: dict[str, Any], said: str, address: Address, cells: Cells
) -> None:
    (cell,) = cells(1)
    cell = replace(
        cell,
        task=replace(cell.task, name=changed.get("task", cell.task.name)),
        model=replace(cell.model, name=changed.get("model", cell.model.name)),
        hyperparameters=changed.get("values", cell.hyperparameters),
    )
    told: list[Event] = []
    with pytest.raises(BadValue, match=said):
        sweep([cell], address, tell=told.append, suite=changed.get("suite", "quick"))
    assert not told
    assert read_table(address).empty
    assert not outbox_folder(address).exists()


def test_longest_names_that_are_let_through_are_stored(address: Address, cells: Cells) -> None:
    (cell,) = cells(1)
    cell = replace(
        cell,
        task=replace(cell.task, name="t" * 242),
        model=replace(cell.model, name="m" * 8000),
    )
    result = sweep([cell], address)
    check_whole(result, [cell])
    assert count_waiting(outbox_folder(address)) == {}
    assert read_table(address)["model"].tolist() == ["m" * 8000]


def test_refused_record_is_set_aside_and_no_later_sweep_waits_for_it(address: Address, cells: Cells) -> None:
    chosen = cells(3)
    with refusing(chosen[0]):
        result = sweep(chosen, address)
    check_whole(result, chosen)
    (told,) = (notice for notice in result.notices if "gnz sync" in notice and "the store refused" in notice)
    assert chosen[0].task.name in told
    folder = outbox_folder(address)
    assert [path.name for path in folder.glob("*.jsonl")] == []
    (reasons,) = folder.glob("refused/*.reasons")
    assert "at most 8000 characters" in reasons.read_text()
    assert sorted(read_table(address)["seed"]) == [1, 2]
    later = sweep(cells(5), address)
    assert seeds(later) == [3, 4], "what is kept on this disk was trained again"
    assert not any("refused" in notice for notice in later.notices)


@contextlib.contextmanager
def refusing(cell: Cell) -> Iterator[None]:
    """Let the digest of one cell's split be one that no store takes; nothing of that was known before."""
    whole = writer.record_of

    def record_of(result: CellResult, *arguments: Any, **facts: Any) -> Any:
        made = whole(result, *arguments, **facts)
        return replace(made, split_digest="s" * 9000) if result.cell == cell else made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writer, "record_of", record_of)
        yield


def test_failure_in_bytes_that_are_no_text_is_stored(address: Address, cells: Cells) -> None:
    def fail(cells: Sequence[Cell], _: Tell) -> Iterator[CellResult]:
        failure = Failure(kind="OSError", message="no \udcff\0", traceback="no \udcff\0")
        for cell in cells:
            yield CellResult(
                cell=cell, status=Status.failed, metric="accuracy", direction=Direction.up, failure=failure
            )

    remaining = find_remaining(Plan(cells=tuple(cells(1)), skipped=()), address)
    result = run_sweep(remaining, Tracking(address=address, sweep="odd"), execute=fail)
    assert read_table(address)["error"].tolist() == ["OSError: no \\udcff\\x00"]
    assert result.notices == ()


# Disks and locks ----------------------------------------------------------------------------------------------------


def test_spool_without_a_place_is_named_before_any_training(address: Address, cells: Cells, tmp_path: Path) -> None:
    (tmp_path / "data" / "gnz_track").mkdir(parents=True)
    (tmp_path / "data" / "gnz_track" / "spool").write_text("in the way", encoding="utf-8")
    for store in (address, parse_address(f"http://127.0.0.1:{free_port()}")):
        heard: list[Event] = []
        with pytest.raises(BadValue, match=r"nothing was trained\. Try: set XDG_DATA_HOME") as caught:
            sweep(cells(2), store, tell=heard.append)
        assert str(outbox_folder(store)) in str(caught.value)
        assert heard == []
    assert statuses(address) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_spool_that_is_read_only_is_named_before_any_training(address: Address, cells: Cells, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o500)
    heard: list[Event] = []
    with pytest.raises(StoreUnusable, match="XDG_DATA_HOME"):
        sweep(cells(2), address, tell=heard.append)
    assert heard == []


@pytest.mark.parametrize("ending", [".jsonl", ".done"])
def test_disk_that_refuses_for_a_while_costs_nothing_and_doubles_nothing(
    ending: str, address: Address, cells: Cells
) -> None:
    chosen = cells(5)
    file = outbox_folder(address) / (file_stem(name_sweep(chosen, suite="quick")) + ending)

    def put_in_the_way() -> None:
        file.rename(file.with_name("aside"))
        file.mkdir()

    def take_away() -> None:
        file.rmdir()
        file.with_name("aside").rename(file)

    result = sweep(chosen, address, tell=both(after(Done, 2, put_in_the_way), after(Done, 4, take_away)))
    check_whole(result, chosen)
    assert all(result.table["run_id"])
    assert any("nothing can be written to" in notice for notice in result.notices)
    assert statuses(address) == {"FINISHED": 5}
    assert count_waiting(outbox_folder(address)) == {}
    assert sweep(chosen, address).results == ()


@pytest.mark.usefixtures("address")
def test_neither_disk_nor_store_ends_the_sweep_with_a_reason(cells: Cells) -> None:
    away, chosen = parse_address(f"http://127.0.0.1:{free_port()}"), cells(4)
    folder = outbox_folder(away)
    file = folder / (file_stem(name_sweep(chosen, suite="quick")) + ".jsonl")
    heard: list[Event] = []

    def fill_the_disk() -> None:
        # No file may grow beyond what this one has: writing fails as it does on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size, limits[1]))

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        with pytest.raises(BadValue, match=r"2 results of this call are kept.* Try: make room, then") as caught:
            sweep(chosen, away, tell=both(after(Done, 2, fill_the_disk), heard.append))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(folder) in str(caught.value)
    assert [event.cell.seed for event in heard if isinstance(event, Started)] == [0, 1, 2], "it trained on in vain"
    assert list(count_waiting(folder).values()) == [2]
    result = sweep(chosen, away)
    assert seeds(result) == [2, 3]
    check_whole(result, chosen)


HOLD = (
    "import fcntl, sys; h = open(sys.argv[1], 'a'); fcntl.flock(h, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"
)


def test_sweep_that_another_process_writes_is_refused(address: Address, cells: Cells) -> None:
    chosen, heard = cells(2), list[Event]()
    folder = outbox_folder(address)
    folder.mkdir(parents=True)
    lock = folder / (file_stem(name_sweep(chosen, suite="quick")) + ".lock")
    with subprocess.Popen([sys.executable, "-c", HOLD, str(lock)], stdin=-1, stdout=-1) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(OutboxBusy, match="is being written by another process"):
            sweep(chosen, address, tell=heard.append)
        assert heard == []
        check_whole(sweep(chosen[:1], address), chosen[:1])
        other.communicate()
    check_whole(sweep(chosen, address), chosen)


# What a cell costs, and long cells ----------------------------------------------------------------------------------


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[Counted]:
    """Return what counts the calls of stores that sweeps open from now on."""
    opened: list[Counted] = []

    def open_counted(address: Address) -> Store:
        store = open_store(address)
        store.tracking = Counted(store.tracking)
        opened.append(store.tracking)
        return store

    monkeypatch.setattr(writer, "open_store", open_counted)
    return opened


def test_short_cell_costs_at_most_eight_calls(address: Address, cells: Cells, counted: list[Counted]) -> None:
    chosen = [*cells(4), *cells(2, own_nets.FailsForward)]
    seen: list[int] = []
    sweep(chosen, address, tell=lambda event: isinstance(event, Done) and seen.append(counted[0].calls.total()))
    # The first cell of a task creates its experiment.
    per_cell = [later - earlier for earlier, later in itertools.pairwise(seen)]
    assert len(per_cell) == 5
    assert all(0 < n <= MOST_CALLS for n in per_cell), counted[0].calls
    assert len(counted) == 1


def test_cells_of_a_split_share_its_file_and_leave_their_own(address: Address, cells: Cells) -> None:
    chosen = [replace(cell, keep="predictions") for model in ("GCN", "MLP") for cell in cells(2, model)]
    done = sweep(chosen, address)
    assert done.notices == ()
    found = [files_from_tag(tag) for _, _, tag in open_reader(address).kept_files(list(done.table["run_id"]))]
    assert all({"predictions.parquet", "config.json", "curves.parquet"} <= set(files) for files in found)
    assert sum("split.parquet" in files for files in found) == len(set(done.table["split_digest"]))
    assert all(not result.files for result in done.results), "a sweep holds the files of all of its cells"


def test_cell_with_files_costs_at_most_eight_calls(address: Address, cells: Cells, counted: list[Counted]) -> None:
    chosen = [replace(cell, keep="predictions") for cell in cells(5)]
    seen: list[int] = []
    sweep(chosen, address, tell=lambda event: isinstance(event, Done) and seen.append(counted[0].calls.total()))
    n_uploads = 4
    assert all(later - earlier + n_uploads <= MOST_CALLS for earlier, later in itertools.pairwise(seen))


def stream_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "STREAM_INTERVAL", 0.0)


def test_long_cell_streams_into_one_run(address: Address, cells: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    stream_always(monkeypatch)
    chosen, beats, started = cells(1, epochs=4), list[int](), list[int]()

    def watch(event: Event) -> None:
        if isinstance(event, Started):
            started.append(now())
            time.sleep(0.005)
        if isinstance(event, Points):
            with open_store(address) as store:
                [run] = _running_cells(store)
            beats.append(int(schema.read_bookkeeping(run.data.tags)[schema.HEARTBEAT]))
            assert run.data.metrics["curve/train/loss"] == event.rows[-1][1]["train/loss"]

    result = sweep(chosen, address, tell=watch)
    check_whole(result, chosen)
    assert len(beats) == 4
    assert beats == sorted(beats)
    assert beats[0] >= started[0]
    [run_id] = result.table["run_id"]
    with open_store(address) as store:
        run = store.tracking.get_run(run_id)
        history = store.tracking.get_metric_history(run_id, "curve/train/loss")
    assert [point.step for point in history] == [0, 1, 2, 3]
    assert tuple(point.value for point in history) == result.series()[fingerprint(chosen[0])]["train/loss"]
    assert run.info.start_time <= started[0], "a run starts when its cell does, not when it is first heard of"
    assert statuses(address) == {"FINISHED": 1}


def _running_cells(store: Store) -> list[Any]:
    return [run for run in store.running() if run.data.tags["gnz.kind"] == "cell"]


def test_long_cell_that_is_interrupted_is_one_killed_run(
    address: Address, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_always(monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        sweep(cells(1, epochs=4), address, tell=after(Points, 2, interrupt))
    assert statuses(address) == {"KILLED": 1}
    result = sweep(cells(1, epochs=4), address)
    check_whole(result, cells(1, epochs=4))
    assert statuses(address) == {"KILLED": 1, "FINISHED": 1}


def test_long_cell_whose_store_goes_away_is_completed_in_its_run(
    address: Address, cells: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream_always(monkeypatch)
    aside, chosen = address.file.with_name("aside.db"), cells(1, epochs=4)
    goes = after(Points, 2, lambda: _move(address.file, aside))
    comes = after(Done, 1, lambda: _move(aside, address.file))
    result = sweep(chosen, address, tell=both(goes, comes))
    check_whole(result, chosen)
    assert statuses(address) == {"FINISHED": 1}
    [run_id] = read_table(address)["run_id"]
    read = read_curves(address, [run_id])[run_id]
    expected = result.series()[fingerprint(chosen[0])]
    assert {name: tuple(value for _, value in points) for name, points in read.items()} == expected


def test_streamed_value_that_is_no_number_is_left_out(address: Address, cells: Cells) -> None:
    [cell] = cells(1)
    tracking = Tracking(address=address, sweep="odd", suite="quick")
    with SweepWriter(tracking, plan=Plan(cells=(cell,), skipped=())) as writer:
        writer.take(Started(cell=cell))
        row = {"train/loss": 0.5, "val/accuracy": float("inf"), "test/accuracy": float("nan")}
        writer.take(Points(cell=cell, rows=((0, row),)))
    assert writer.notices == []
    with open_store(address) as store:
        [run] = store.search(store.experiments(), {"gnz.kind": "cell"})
    assert run.data.metrics == {"curve/train/loss": 0.5}
    assert run.info.status == "KILLED"
    assert finished_fingerprints(address) == set()
