"""Metrics of past cells from their predictions: written once, beside what is there, and what cannot be had is named."""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import balanced_accuracy_score, matthews_corrcoef, r2_score
from stored_sweep import MODELS, RINGS, ROOMS, SEEDS, StoredSweep

from gnz_track import BenchmarkReport, read_predictions, read_table
from gnz_track.errors import BadValue, NothingToCompare, UnknownName
from gnz_track.predictions import rescore
from gnz_track.report.other_metric import by_metric
from gnz_track.runs.plan import Place
from gnz_track.runs.reproduce import Conditions, ReproductionVerdict, reproduce
from gnz_track.store import schema
from gnz_track.store.address import parse_address
from gnz_track.store.artifacts import find_place
from gnz_track.store.cell_files.predictions import PartPredictions, encode_predictions
from gnz_track.store.outbox import Outbox, deliver
from gnz_track.store.past_runs import read_run, read_scores
from gnz_track.store.writer import Store, open_store

# Records as a sweep leaves them: tests/store/cells.py.
sys.path.append(str(Path(__file__).parents[1] / "store"))

from cells import REGRESSION, cell_of, context_of, finished, result_of

PER_TASK = len(MODELS) * len(SEEDS)


@pytest.fixture
def store(stored_sweep: StoredSweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return a copy of the sweep's store; its data are nowhere, so that nothing can be trained."""
    monkeypatch.setenv("GNZ_DATA", str(tmp_path / "nothing"))
    folder = shutil.copytree(Path(stored_sweep.store.removeprefix("sqlite:///")).parent, tmp_path / "copy")
    shutil.rmtree(folder / "data")
    return f"sqlite:///{folder / 'runs.db'}"


def contents(store: str) -> dict[str, Any]:
    with sqlite3.connect(store.removeprefix("sqlite:///")) as database:
        tables = ("runs", "metrics", "latest_metrics", "tags", "params")
        asked = {name: database.execute(f"SELECT * FROM {name}") for name in tables}  # noqa: S608  (names from above)
        return {name: sorted(map(repr, rows)) for name, rows in asked.items()}


def file_of(store: str, run_id: str) -> Path:
    address = parse_address(store)
    with open_store(address) as opened:
        return Path(find_place(address, opened.tracking.get_run(run_id).info.artifact_uri)) / schema.PREDICTIONS_FILE


def test_scores_are_those_of_the_predictions_and_every_run_says_where_they_come_from(store: str) -> None:
    before = read_table(store)
    told: list[tuple[int, int, str]] = []
    found = rescore(["balanced_accuracy", "mcc", "r2"], store, tell=lambda *one: told.append(one))
    assert found.is_whole
    assert told[-1][:2] == (len(before), len(before))
    assert {(RINGS, "r2"), (ROOMS, "mcc"), ("planted_partition", "balanced_accuracy")} < set(
        zip(found.scores["task"], found.scores["metric"], strict=True)
    )
    tests = found.scores[found.scores["part"] == "test"].set_index(["metric", "run_id"])["score"]
    nodes, rings = read_predictions(store, task=ROOMS), read_predictions(store, task=RINGS)
    for (m, s), run_id in np.ndenumerate(nodes.run_ids):
        decided = nodes.outputs[m, s].argmax(axis=1)
        assert tests["balanced_accuracy", run_id] == pytest.approx(balanced_accuracy_score(nodes.targets, decided))
        assert tests["mcc", run_id] == pytest.approx(matthews_corrcoef(nodes.targets, decided))
    for (m, s), run_id in np.ndenumerate(rings.run_ids):
        known = rings.mask[m, s]
        expected = r2_score(rings.targets[known], rings.outputs[m, s, known])
        assert tests["r2", run_id] == pytest.approx(expected, rel=1e-5)
    assert read_scores(parse_address(store), list(before["run_id"]))[nodes.run_ids[0, 0]].keys() == {
        *("accuracy", "f1_macro", "balanced_accuracy", "mcc")
    }
    run = read_run(parse_address(store), nodes.run_ids[0, 0])
    origins = schema.read_origins(run.tags)
    assert set(origins) == {f"{part}/{name}" for part in ("test", "val") for name in ("balanced_accuracy", "mcc")}
    assert all(one.keys() == {"version", "predictions"} for one in origins.values())
    # What is read and published as ever is what it was.
    pd.testing.assert_frame_equal(read_table(store), before)


@pytest.mark.parametrize("is_known", [True, False])
def test_second_call_writes_nothing(store: str, monkeypatch: pytest.MonkeyPatch, *, is_known: bool) -> None:
    if not is_known:
        monkeypatch.setattr("gnz_track.store.reader.KNOWN_REVISIONS", {})
    first = rescore(("nll", "brier"), store, task="planted_partition")
    assert first.n_written == 2 * 2 * PER_TASK
    held = contents(store)
    again = rescore(("nll", "brier"), store, task="planted_partition")
    assert (again.n_written, again.is_whole) == (0, True)
    assert contents(store) == held
    tests = first.scores[first.scores["part"] == "test"].drop(columns="is_new")
    keys = ["run_id", "metric"]
    pd.testing.assert_frame_equal(
        again.scores.drop(columns="is_new").sort_values(keys, ignore_index=True),
        tests.sort_values(keys, ignore_index=True),
    )
    # A metric that training has computed is no news either.
    assert rescore("accuracy", store, task="planted_partition").n_written == 0


def test_sweep_that_found_its_cells_trained_is_scored_whole(store: str) -> None:
    (sweep,) = set(read_table(store)["sweep"])
    found = rescore("mcc", store, sweep=sweep, where={"model": "MLP"})
    assert set(found.scores["model"]) == {"MLP"}
    assert set(found.scores["task"]) == {ROOMS, "planted_partition"}
    for wrong in ({"sweep": "nothing"}, {"task": "nothing"}, {"where": {"model": "nothing"}}):
        with pytest.raises((UnknownName, BadValue)):
            rescore("mcc", store, **wrong)


def test_runs_without_their_predictions_are_named_and_the_rest_goes_on(store: str) -> None:
    gone, cut, edited, *_ = read_table(store, task=ROOMS)["run_id"]
    file_of(store, gone).unlink()
    file_of(store, cut).write_bytes(file_of(store, cut).read_bytes()[:-9])
    content = bytearray(file_of(store, edited).read_bytes())
    content[len(content) // 2] ^= 1
    file_of(store, edited).write_bytes(content)
    found = rescore("nll", store, task=ROOMS)
    assert found.missing == (gone,)
    assert set(found.changed) == {cut, edited}
    assert all("digest mismatch" in reason and "--keep predictions" in reason for reason in found.changed.values())
    assert found.n_written == 2 * (PER_TASK - 3)
    assert not found.is_whole


def test_metric_that_does_not_serve_is_refused_with_those_that_do(store: str) -> None:
    with pytest.raises(BadValue, match=rf"metric is 'rmse'; allowed: of {ROOMS} accuracy.*, nll\."):
        rescore(["nll", "rmse"], store, task=ROOMS)
    with pytest.raises(UnknownName, match="did you mean 'balanced_accuracy'"):
        rescore("balanced_acuracy", store)
    with pytest.raises(BadValue, match="metrics is 'none'"):
        rescore((), store)
    with pytest.raises(NothingToCompare, match="gnz run"):
        rescore("nll", f"{store}x")
    found = rescore(["rmse", "mcc"], store)
    assert found.refused[RINGS] == "mcc (allowed: mae, mse, r2, rmse)"
    assert set(found.refused) == {RINGS, ROOMS, "planted_partition", "les_miserables"}
    assert found.is_whole


def test_reports_are_made_by_any_metric_that_runs_have(store: str, caplog: pytest.LogCaptureFixture) -> None:
    report = BenchmarkReport.from_store(store)
    with pytest.raises(BadValue, match="gnz rescore --metric nll"):
        by_metric(report, "nll")
    scores = rescore("nll", store).scores
    other = by_metric(report, "nll")
    assert "les_miserables" in set(other.table["task"])
    assert RINGS not in set(other.table["task"])
    assert f"{PER_TASK} cells of {RINGS} have no nll" in caplog.text
    assert set(other.table["direction"]) == {"down"}
    of_runs = scores[scores["part"] == "test"].set_index("run_id")["score"]
    assert dict(zip(other.table["run_id"], other.table["score"], strict=True)) == of_runs.to_dict()
    best = other.summary()
    assert len(best) == 3 * len(MODELS)
    # By the metric of its own it is the report that it was.
    own = by_metric(BenchmarkReport.from_store(store, task=ROOMS), "accuracy")
    pd.testing.assert_frame_equal(own.table, BenchmarkReport.from_store(store, task=ROOMS).table)
    with pytest.raises(BadValue, match="a table without a store"):
        by_metric(BenchmarkReport.from_frame(other.table), "nll")


def test_run_that_was_rescored_is_reproduced_as_before(store: str, stored_sweep: StoredSweep) -> None:
    rescore("nll", store, task="planted_partition")
    (run_id, *_) = read_table(store, task="planted_partition", where={"model": "MLP"})["run_id"]
    place = Place(home=stored_sweep.home)
    found = reproduce(run_id, parse_address(store), conditions=Conditions(place=place, device="cpu", trusts_code=False))
    assert found.verdict is ReproductionVerdict.bit_identical
    assert not found.numbers


@pytest.fixture
def empty_store(tmp_path: Path) -> Store:
    return open_store(f"sqlite:///{tmp_path / 'gnz.db'}")


def part_of(part: str, targets: Any) -> PartPredictions:
    wanted = np.asarray(targets, dtype=np.float32)[:, None]
    ids = {"id": np.arange(len(wanted))}
    return PartPredictions(part=part, kind="graph", numbers=ids, targets=wanted, outputs=wanted + np.float32(0.5))


def write(store: Store, folder: Path, parts: list[PartPredictions]) -> str:
    """Write a run of a regression with predictions."""
    with Outbox(folder / "spool", context_of()) as outbox:
        files = {schema.PREDICTIONS_FILE: encode_predictions(parts)}
        outbox.spool(files)
        one = finished(replace(result_of(cell_of("GCN", 0, task=REGRESSION)), files=files))
        return deliver(outbox, store, one, tell=pytest.fail)


def test_predictions_of_validation_alone_give_no_score_on_test(empty_store: Store, tmp_path: Path) -> None:
    run_id = write(empty_store, tmp_path, [part_of("val", [1, 2, 4])])
    found = rescore("rmse", empty_store.address)
    assert found.scores[["part", "score"]].to_numpy().tolist() == [["val", 0.5]]
    assert "rmse" not in read_scores(empty_store.address, [run_id])[run_id]
    held = contents(empty_store.address.uri)
    assert rescore("rmse", empty_store.address).n_written == 0
    assert contents(empty_store.address.uri) == held


def test_metric_that_is_not_defined_is_named(empty_store: Store, tmp_path: Path) -> None:
    run_id = write(empty_store, tmp_path, [part_of("val", [1, 2, 4]), part_of("test", [3, 3, 3])])
    found = rescore(["r2", "rmse"], empty_store.address)
    assert found.undefined == ((run_id, "r2"),)
    assert not found.is_whole
    assert set(read_scores(empty_store.address, [run_id])[run_id]) & {"r2", "rmse"} == {"rmse"}


def test_origins_that_were_edited_are_none() -> None:
    read: Callable[[str], Any] = lambda text: schema.read_origins({schema.ORIGINS: text})  # noqa: E731
    assert read("{") == read("[1]") == read('{"test/nll": 3}') == {}
