"""Only the best cell of a task and model keeps weights: whatever the order, the ties, the interrupts and the store."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from servers import mlflow_server

from gnz_track import load_model, read_table
from gnz_track.errors import StoreUnusable
from gnz_track.runs.executors.events import Done, Event, Tell, ignore
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.plan import Plan
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.sweep import Sweep, run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.cell_files.kept_files import files_from_tag
from gnz_track.store.outbox import outbox_folder
from gnz_track.store.replay import replay
from gnz_track.store.writer import Store, open_store
from gnz_track.types import Cell, CellResult

MODEL = {schema.WEIGHTS_FILE, schema.MLMODEL_FILE}


@pytest.fixture
def cells(cell_on: Callable[..., Cell], world: Callable[[str], Any]) -> list[Cell]:
    """Return four cells of two models each."""
    found = [cell_on(world("nodes"), model, seed=seed) for model in ("GCN", "MLP") for seed in range(4)]
    return [replace(cell, keep="best") for cell in found]


def scored(scores: Sequence[float]) -> Any:
    """Return an executor whose cells get these scores on validation, by seed, at every epoch."""

    def execute(cells: Sequence[Cell], tell: Tell) -> Iterator[CellResult]:
        for result in run_inline(cells, tell):
            series = {**result.series, "val/accuracy": (scores[result.cell.seed],) * 3}
            yield replace(result, series=series)

    return execute


def sweep(cells: Sequence[Cell], address: Address, *, tell: Tell = ignore, execute: Any = run_inline) -> Sweep:
    remaining = find_remaining(Plan(cells=tuple(cells), skipped=()), address)
    return run_sweep(remaining, Tracking(address=address, sweep="best", suite="quick"), execute=execute, tell=tell)


def kept(address: Address) -> dict[str, set[int]]:
    """Return model -> seeds of its runs that have weights; what a run names is what lies there."""
    found: dict[str, set[int]] = {}
    with open_store(address) as store:
        for run in store.cells_of_sweep("quick", "best"):
            named = set(files_from_tag(run.data.tags.get(schema.FILES, ""))) & MODEL
            folder = Path(run.info.artifact_uri.removeprefix("file://"))
            assert named == {name for name in MODEL if (folder / name).is_file()}
            assert named in (set(), MODEL)
            assert (run.data.tags.get(schema.LOGGED_MODELS, "[]") != "[]") is bool(named)
            assert "predictions.parquet" in files_from_tag(run.data.tags.get(schema.FILES, ""))
            if named:
                found.setdefault(run.data.tags[schema.MODEL], set()).add(int(run.data.tags[schema.SEED]))
    return found


def best_of(table: Any, address: Address) -> dict[str, set[int]]:
    """Return model -> seed of the best on validation, the smallest of equal ones."""
    found: dict[str, tuple[float, int]] = {}
    with open_store(address) as store:
        for run in store.cells_of_sweep("quick", "best"):
            model, seed = run.data.tags[schema.MODEL], int(run.data.tags[schema.SEED])
            place = (-run.data.metrics["val/accuracy"], seed)
            found[model] = min(found.get(model, place), place)
    assert len(table) == 8
    return {model: {seed} for model, (_, seed) in found.items()}


def test_best_of_each_model_keeps_its_weights(address: Address, cells: list[Cell]) -> None:
    done = sweep(cells, address)
    assert done.notices == ()
    assert kept(address) == best_of(done.table, address)


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 0, 3, 1)])
def test_order_decides_nothing_and_of_equal_ones_the_smallest_seed_stays(
    order: Sequence[int], address: Address, cells: list[Cell]
) -> None:
    chosen = [cells[place] for place in order]
    sweep(chosen, address, execute=scored((0.25, 0.5, 0.5, 0.25)))
    assert kept(address) == {"GCN": {1}}


@pytest.mark.parametrize("scores", [(0.1, 0.2, 0.3, 0.4), (0.4, 0.3, 0.2, 0.1), (0.1, 0.3, 0.3, 0.2)])
def test_interrupted_sweep_has_its_best_and_goes_on(
    scores: Sequence[float], address: Address, cells: list[Cell]
) -> None:
    chosen = cells[:4]

    def interrupt(event: Event) -> None:
        if isinstance(event, Done) and event.result.cell.seed == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sweep(chosen, address, execute=scored(scores), tell=interrupt)
    assert kept(address) == {"GCN": {0 if scores[0] >= scores[1] else 1}}
    sweep(chosen, address, execute=scored(scores))
    assert kept(address) == {"GCN": {max(range(4), key=lambda seed: (scores[seed], -seed))}}
    sweep(chosen, address, execute=scored(scores))
    assert kept(address) == {"GCN": {max(range(4), key=lambda seed: (scores[seed], -seed))}}


def test_process_that_dies_before_the_end_leaves_the_best_and_the_next_one_clears_up(
    address: Address, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    from gnz_track.runs import sweep_writer

    with monkeypatch.context() as patched:
        patched.setattr(sweep_writer, "drop_beaten", lambda *_: [])
        sweep(cells[:3], address, execute=scored((0.1, 0.2, 0.15)))
    assert kept(address) == {"GCN": {0, 1}}, "the third was never better"
    sweep(cells[:4], address, execute=scored((0.1, 0.2, 0.15, 0.2)))
    assert kept(address) == {"GCN": {1}}


def test_store_that_was_away_gets_the_best_alone(
    address: Address, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    away = StoreUnusable(address, "it is away", remedy="wait")

    def refuse(*_: object, **__: object) -> None:
        raise away

    with monkeypatch.context() as patched:
        patched.setattr(Store, "keep_files", refuse)
        done = sweep(cells[:4], address, execute=scored((0.1, 0.2, 0.3, 0.2)))
    assert any("files of cells wait on this disk" in notice for notice in done.notices)
    with open_store(address) as store:
        assert replay(outbox_folder(address), store).lost_files == ()
    assert kept(address) == {"GCN": {2}}


def test_weights_that_cannot_be_removed_are_told_and_removed_the_next_time(
    address: Address, cells: list[Cell], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnusable(address, "its files cannot be removed", remedy="ask its owner")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "remove_files", refuse)
        done = sweep(cells[:2], address, execute=scored((0.1, 0.2)))
    assert any("cannot be removed" in notice for notice in done.notices)
    sweep(cells[:2], address)
    assert kept(address) == {"GCN": {1}}


@pytest.mark.slow
def test_behind_a_server_the_best_alone_is_left(
    empty_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cells: list[Cell]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    database = Path(shutil.copy(empty_database, tmp_path / "gnz.db"))
    with mlflow_server(database, tmp_path) as uri:
        address = parse_address(uri)
        done = sweep(cells[:3], address, execute=scored((0.1, 0.3, 0.2)))
        assert done.notices == ()
        [file] = tmp_path.rglob("model.safetensors")
        model = load_model(store=address, where={"model": "GCN"})
        assert file.parents[2].name == done.table["run_id"][1]
    assert not model.training


def test_weights_that_were_asked_for_stay(address: Address, cells: list[Cell]) -> None:
    sweep([replace(cell, keep="weights") for cell in cells[:2]], address)
    sweep(cells[:4], address, execute=scored((0.1, 0.2, 0.3, 0.4)))
    assert kept(address) == {"GCN": {0, 1, 3}}


def test_weights_that_a_beaten_cell_got_later_stay(address: Address, cells: list[Cell]) -> None:
    execute = scored((0.1, 0.2, 0.3, 0.15))
    done = sweep(cells[:3], address, execute=execute)
    assert kept(address) == {"GCN": {2}}
    [result] = scored((0.1,) * 4)([replace(cells[0], keep="weights")], ignore)
    with open_store(address) as store:
        store.add_files(done.table["run_id"][0], {name: result.files[name] for name in MODEL})
    sweep(cells[:4], address, execute=execute)
    assert kept(address) == {"GCN": {0, 2}}


def test_cell_that_two_machines_trained_at_once_keeps_one_copy_with_the_run_that_readers_take(
    address: Address, cells: list[Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each has a spool of its own: neither knows what the other writes."""

    def train_elsewhere(event: Event) -> None:
        if isinstance(event, Done) and event.result.cell.seed == 1:
            with monkeypatch.context() as patched:
                patched.setenv("XDG_DATA_HOME", str(tmp_path / "elsewhere"))
                run_sweep(beforehand, Tracking(address=address, sweep="best", suite="quick"), execute=execute)

    execute = scored((0.1, 0.3, 0.2, 0.3))
    beforehand = find_remaining(Plan(cells=tuple(cells[:3]), skipped=()), address)
    sweep(cells[:3], address, execute=execute, tell=train_elsewhere)
    with open_store(address) as store:
        runs = store.cells_of_sweep("quick", "best")
        assert len(runs) == 6
        [named] = [run for run in runs if schema.WEIGHTS_FILE in run.data.tags[schema.FILES]]
    assert kept(address) == {"GCN": {1}}
    assert named.info.run_id in set(read_table(address)["run_id"])


def test_score_that_is_no_number_is_the_worst(address: Address, cells: list[Cell]) -> None:
    sweep(cells[:3], address, execute=scored((float("nan"), 0.1, float("nan"))))
    assert kept(address) == {"GCN": {1}}
