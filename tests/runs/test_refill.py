"""Runs of a sweep that lack predictions get them: where all numbers come out the same, and after an interrupt too."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gnz_track import load_model, read_predictions
from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import BadValue, StoreUnusable, UnknownName
from gnz_track.models.catalogue import describe
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.runs.refill import Refill, refill
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.reproduce import Conditions, reproduce
from gnz_track.runs.sweep import run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store.address import Address
from gnz_track.store.artifacts import find_place
from gnz_track.store.past_runs import read_run
from gnz_track.training.protocols import PROTOCOLS

Again = Callable[..., Refill]
TASK = "planted_partition"


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frozen")


@pytest.fixture
def run_ids(address: Address, home: Path) -> list[str]:
    """Return the runs of a sweep of two models and two seeds, of which the first alone has predictions."""
    tasks, models = [TASKS.get(TASK)], [describe("GCN"), describe("MLP")]
    plan = make_plan(tasks, models, seeds=[0, 1], protocol=PROTOCOLS.get("graphnetz"), epochs=2, place=Place(home=home))
    cells = [replace(cell, keep="nothing" if n else "predictions") for n, cell in enumerate(plan.cells)]
    remaining = find_remaining(Plan(cells=tuple(cells), skipped=()), address)
    return list(run_sweep(remaining, Tracking(address=address, sweep="past"), execute=run_inline).table["run_id"])


@pytest.fixture
def again(address: Address, home: Path) -> Again:
    return lambda **more: refill("past", address, conditions=Conditions(place=Place(home=home)), **more)


def test_runs_that_lack_weights_get_them(address: Address, home: Path, run_ids: list[str], again: Again) -> None:
    reproduce(run_ids[1], address, conditions=Conditions(place=Place(home=home)), keep="weights")
    found = again(keep="weights")
    assert (found.keep, found.had, len(found.got), dict(found.left_out)) == ("weights", (run_ids[1],), 3, {})
    assert all("model" in files_of(address, run_id) for run_id in run_ids)
    assert not load_model(run_ids[0], store=address).training
    with pytest.raises(UnknownName, match="files to keep of a sweep 'best'"):
        again(keep="best")


def files_of(address: Address, run_id: str) -> set[str]:
    folder = Path(find_place(address, read_run(address, run_id).artifacts))
    return {path.name for path in folder.iterdir()} if folder.is_dir() else set()


def test_runs_that_lack_predictions_get_them_and_no_other_is_trained(
    address: Address, run_ids: list[str], again: Again
) -> None:
    told: list[tuple[int, int, str]] = []
    found = again(tell=lambda *what: told.append(what))
    assert (set(found.had), set(found.got), dict(found.left_out)) == ({run_ids[0]}, set(run_ids[1:]), {})
    assert [one[:2] for one in told] == [(1, 3), (2, 3), (3, 3)]
    predictions = read_predictions(address, task=TASK)
    assert predictions.outputs.shape[:2] == (2, 2)
    right = (predictions.outputs.argmax(axis=-1) == predictions.targets) & predictions.mask
    scores = [read_run(address, run_id).metrics["test/accuracy"] for run_id in run_ids]
    assert sorted((right.sum(axis=2) / predictions.mask.sum(axis=2)).ravel()) == pytest.approx(sorted(scores))
    # One file does for all models of a split.
    assert sum("split.parquet" in files_of(address, run_id) for run_id in run_ids) == 2
    once_more = again()
    assert (len(once_more.had), once_more.got) == (4, ())


def test_lost_and_changed_files_are_made_again(address: Address, run_ids: list[str], again: Again) -> None:
    again()
    before = read_predictions(address, task=TASK).outputs
    for run_id, content in zip(run_ids[:2], (None, b"PAR1"), strict=True):
        file = Path(find_place(address, read_run(address, run_id).artifacts)) / "predictions.parquet"
        file.unlink() if content is None else file.write_bytes(content)
    assert set(again().got) == set(run_ids[:2])
    assert np.array_equal(read_predictions(address, task=TASK).outputs, before, equal_nan=True)


def test_run_with_weights_whose_other_files_are_gone_is_made_whole(
    address: Address, run_ids: list[str], again: Again
) -> None:
    again(keep="weights")
    before = files_of(address, run_ids[0])
    for run_id, name in zip(run_ids, ("predictions.parquet", "model/MLmodel"), strict=False):
        (Path(find_place(address, read_run(address, run_id).artifacts)) / name).unlink()
    assert set(again().got) == {run_ids[0]}, "who asks for predictions does not ask for models"
    assert set(again(keep="weights").got) == {run_ids[1]}
    assert files_of(address, run_ids[0]) == before


def test_store_that_takes_no_more_files_ends_the_call(address: Address, run_ids: list[str], again: Again) -> None:
    assert address.artifacts is not None
    root, aside = address.artifacts, address.artifacts.with_name("aside")
    trained: list[str] = []

    def block(n_done: int, total: int, label: str) -> None:
        trained.append(f"{label}, {n_done} of {total}")
        root.rename(aside)
        root.write_text("no folder")

    with pytest.raises(StoreUnusable, match="1 of 3 runs got predictions; the same command goes on from there"):
        again(tell=block)
    assert len(trained) == 1
    root.unlink()
    aside.rename(root)
    found = again()
    assert (len(found.had), len(found.got)) == (2, 2)
    assert set(found.had) | set(found.got) == set(run_ids)


def test_other_numbers_keep_no_files(address: Address, run_ids: list[str], again: Again) -> None:
    with closing(sqlite3.connect(address.file)) as connection, connection:
        for table in ("metrics", "latest_metrics"):
            shift = f"UPDATE {table} SET value = value - 0.25 WHERE run_uuid = ? AND key = 'test/accuracy'"  # noqa: S608
            connection.execute(shift, (run_ids[2],))
    found = again()
    assert set(found.got) == {run_ids[1], run_ids[3]}
    assert list(found.left_out) == [run_ids[2]]
    assert "its numbers came out otherwise" in found.left_out[run_ids[2]]
    assert not files_of(address, run_ids[2])


@pytest.mark.usefixtures("run_ids")
def test_interrupted_it_goes_on_where_it_was(again: Again) -> None:
    def interrupt(n_done: int, total: int, label: str) -> None:
        del total, label
        if n_done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        again(tell=interrupt)
    found = again()
    assert (len(found.had), len(found.got)) == (3, 1)


def test_what_is_too_large_says_the_option(run_ids: list[str], again: Again) -> None:
    found = again(keep_at_most=1024)
    assert set(found.left_out) == set(run_ids[1:])
    assert all("to keep it: --keep-at-most 1MiB" in reason for reason in found.left_out.values())


def test_runs_that_cannot_be_rebuilt_are_left_out(run_ids: list[str], address: Address, again: Again) -> None:
    with closing(sqlite3.connect(address.file)) as connection, connection:
        changed = "UPDATE tags SET value = '{}' WHERE run_uuid = ? AND key = 'gnz.bookkeeping'"
        connection.execute(changed, (run_ids[1],))
    found = again()
    assert set(found.got) == set(run_ids[2:])
    assert "without the book of its cells" in found.left_out[run_ids[1]]


@pytest.mark.usefixtures("run_ids")
def test_sweep_that_is_none_and_sizes_that_are_none_are_refused(address: Address, again: Again) -> None:
    with pytest.raises(UnknownName, match="past"):
        refill("pats", address, conditions=Conditions())
    with pytest.raises(BadValue, match="--keep-at-most is 0"):
        again(keep_at_most=0)
    with pytest.raises(BadValue, match="device is 'nosuch'"):
        refill("past", address, conditions=Conditions(device="nosuch"))
