"""What was edited by hand, or written by another tool, is named and left out, and stops no reader."""

from __future__ import annotations

import contextlib
import logging
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from cells import context_of, record, sweep_records

from gnz_track.store import row_filters as legible
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.listings import list_cells, list_failures, list_sweeps
from gnz_track.store.past_runs import read_curves, read_run, read_scores
from gnz_track.store.read_rest import RestReader
from gnz_track.store.read_sql import SqlReader
from gnz_track.store.reader import finished_fingerprints, read_table, read_tensor
from gnz_track.store.results_table import BESIDE, COLUMNS, COUNT, FINAL, PARAM, RUN, TAG, one_row_per_cell, tensor_of
from gnz_track.store.row_filters import RunFilter
from gnz_track.store.searches import read_searches
from gnz_track.store.sweep_manifest import read_wanted_cells
from gnz_track.store.writer import Store, open_store

JUNK_TEXTS = ["banana", "", "NaN", "1e999", "-1.5", '{"a": ', '{"a": [1]}', '{"a": 1, "a": 2}', "[]", "\U0001f34c" * 40]
JUNK_NUMBERS: list[Any] = [float("inf"), -1.7976931348623157e308, "banana", 0.5, 1e300]
N_RUNS = 10
# Those of a run that somebody can edit to what they are not, but for the time, which has a test of its own.
JUNK_COLUMNS = [name for name in COLUMNS if name not in {"run_id", "status", "start_time"}]


@pytest.fixture(scope="module")
def template(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file of a store with one sweep."""
    file = Path(shutil.copy(empty_database, tmp_path_factory.mktemp("filled") / "gnz.db"))
    context = context_of()
    with open_store(str(file)) as store:
        run_id = store.open_sweep(context)
        for one in sweep_records(context):
            store.finish(one)
        store.close_sweep(run_id)
    return file


@pytest.fixture(scope="module")
def larger_template(template: Path) -> Path:
    """Return the file of that store with a run for each column that can be edited."""
    file = Path(shutil.copy(template, template.with_name("larger.db")))
    with open_store(str(file)) as store:
        for seed in range(len(JUNK_COLUMNS) - N_RUNS):
            store.finish(record(10 + seed))
    return file


@pytest.fixture
def filled(template: Path, tmp_path: Path) -> Address:
    # Where its artifacts are: a store that lies elsewhere than they is spoken of.
    return parse_address(str(shutil.copy(template, template.with_name(f"{tmp_path.name}.db"))))


@pytest.fixture
def many(larger_template: Path, tmp_path: Path) -> Address:
    return parse_address(str(shutil.copy(larger_template, larger_template.with_name(f"{tmp_path.name}.db"))))


def runs_in(address: Address) -> list[str]:
    with contextlib.closing(sqlite3.connect(address.file)) as connection:
        rows = connection.execute("SELECT run_uuid FROM tags WHERE key = 'gnz.kind' AND value = 'cell' ORDER BY 1")
        return [run for (run,) in rows]


def test_what_the_writer_wrote_is_read_and_spoken_of_nowhere(filled: Address, caplog: pytest.LogCaptureFixture) -> None:
    for reader in (SqlReader, RestReader):
        table = reader(filled).table(RunFilter())
        assert set(table["baseline"].dropna()) == {0.3125}
    assert caplog.messages == []


def change(address: Address, edits: list[tuple[str, tuple[Any, ...]]]) -> None:
    """Change the tables as somebody does who has them open."""
    with contextlib.closing(sqlite3.connect(address.file)) as connection:
        for text, values in edits:
            connection.execute(text, values)
        connection.commit()


def edit(run: str, column: str, junk: Any) -> tuple[str, tuple[Any, ...]] | None:
    """Return what puts junk where a column of the results table comes from; None where it cannot stand there."""
    place, key, _ = COLUMNS[column]
    is_text = isinstance(junk, str)
    tables = {TAG: "tags", PARAM: "params"}
    if place in tables:
        return f"UPDATE {tables[place]} SET value = ? WHERE run_uuid = ? AND key = ?", (str(junk), run, key)  # noqa: S608
    if place in {FINAL, BESIDE} or column == "score":
        wanted = key if place == FINAL else schema.ON_TRAINING if place == BESIDE else ""
        where = "key = ?" if place == FINAL else "key LIKE 'test/%' AND key LIKE '%' || ?"
        return f"UPDATE latest_metrics SET value = ? WHERE run_uuid = ? AND {where}", (junk, run, wanted)  # noqa: S608
    if place == COUNT:
        text = "UPDATE latest_metrics SET step = ? WHERE run_uuid = ? AND key = ?"
        return (text, (junk, run, key)) if is_text else None
    if place == RUN and column == "start_time" and is_text:
        return f"UPDATE runs SET {column} = ? WHERE run_uuid = ?", (junk, run)  # noqa: S608
    return None


def read_all(address: Address) -> pd.DataFrame:
    """Call every reader, and return the results table."""
    table = read_table(address)
    # Whatever the cells are, the array is made or its refusal is told; neither is a traceback.
    tensor_of(table)
    read_tensor(address)
    read_table(address, columns=("task", "score"))
    read_wanted_cells(address, "first")
    runs = runs_in(address)
    read_curves(address, runs)
    read_scores(address, runs)
    for run in runs[:2]:
        read_run(address, run)
    cells = list_cells(address)
    list_failures(cells)
    list_sweeps(address)
    read_searches(address)
    assert finished_fingerprints(address) == set(table["fingerprint"][table["status"] == "finished"])
    return table


@pytest.mark.parametrize("junk", [*JUNK_TEXTS, *(one for one in JUNK_NUMBERS if one != "banana")])
def test_no_junk_in_any_column_stops_a_reader(
    junk: Any, many: Address, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legible, "MOST_NAMED", len(COLUMNS))
    runs = runs_in(many)
    change(many, [made for run, column in zip(runs, JUNK_COLUMNS, strict=False) if (made := edit(run, column, junk))])
    left_out = set(runs) - set(read_all(many)["run_id"])
    said = " ".join(caplog.messages)
    assert {run for run in left_out if run in said} == left_out
    by_rest = one_row_per_cell(RestReader(many).table(RunFilter()))
    pd.testing.assert_frame_equal(by_rest, one_row_per_cell(SqlReader(many).table(RunFilter())))


def test_no_junk_for_a_time_stops_a_reader(many: Address, caplog: pytest.LogCaptureFixture) -> None:
    # MLflow itself reads no start_time that is none, so there is no answer of a server to compare with.
    runs = runs_in(many)[: len(JUNK_TEXTS)]
    change(many, [made for run, junk in zip(runs, JUNK_TEXTS, strict=True) if (made := edit(run, "start_time", junk))])
    assert set(runs_in(many)) - set(read_all(many)["run_id"]) == set(runs)
    assert f"{len(runs) - legible.MOST_NAMED} more runs" in caplog.messages[-1]


@pytest.mark.parametrize(
    ("column", "junk", "said"),
    [
        ("seed", "banana", "its tag gnz.seed is 'banana'"),
        ("seed", "", "its tag gnz.seed is ''"),
        ("direction", "sideways", "its tag gnz.direction is 'sideways'"),
        ("category", "fruit", "its tag gnz.category is 'fruit'"),
        ("task_type", "fruit", "its tag gnz.task_type is 'fruit'"),
        ("hyperparameters", '{"lr": ', "its tag gnz.hyperparameters is '{\"lr\": '"),
        ("hyperparameters", '{"lr": 1, "lr": 2}', "its tag gnz.hyperparameters is"),
        ("hyperparameters", '{"lr": NaN}', "its tag gnz.hyperparameters is"),
        ("task", "", "its tag gnz.task is ''"),
        ("score", float("inf"), "its score is inf"),
        ("epochs", "many", "its param epochs is 'many'"),
    ],
)
def test_what_cannot_be_read_is_named_once_and_left_out(
    column: str, junk: Any, said: str, filled: Address, caplog: pytest.LogCaptureFixture
) -> None:
    (run,) = read_table(filled, task="cora", where={"model": "GAT", "seed": 1})["run_id"]
    made = edit(run, column, junk)
    assert made is not None
    change(filled, [made])
    for _ in range(2):
        table = read_all(filled)
        assert run not in set(table["run_id"])
        assert len(table) == N_RUNS - 1
    told = [message for message in caplog.messages if run in message]
    assert len(told) == 1
    assert said in told[0]


def test_cost_that_cannot_be_read_is_missing_and_costs_no_score(
    filled: Address, caplog: pytest.LogCaptureFixture
) -> None:
    run = runs_in(filled)[0]
    made = edit(run, "seconds", "long")
    assert made is not None
    change(filled, [made])
    table = read_all(filled).set_index("run_id")
    assert len(table) == N_RUNS
    assert pd.isna(table.loc[run, "seconds"])
    assert [f"run {run}" in message and "'long'" in message for message in caplog.messages] == [True]


def test_score_that_is_no_number_is_no_zero(store: Store) -> None:
    from mlflow.entities import Metric

    run_id = store.finish(record(0))
    store.finish(record(1))
    (before,) = (one for one in read_table(store.address).itertuples() if one.run_id == run_id)
    store.tracking.log_batch(run_id, [Metric(f"test/{before.metric}", float("nan"), 2**42, 1)], [], [])
    for reader in (SqlReader, RestReader):
        assert reader(store.address).table(RunFilter())["seed"].tolist() == [1], reader.__name__
    assert read_scores(store.address, [run_id])[run_id].get(before.metric) is None
    assert f"test/{before.metric}" not in read_run(store.address, run_id).metrics


def test_keys_of_other_tools_are_read(store: Store) -> None:
    from mlflow.entities import Metric

    run_id = store.finish(record(0))
    store.tracking.log_batch(
        run_id, [Metric("test/_xffffffff_", 1.0, 1, 0), Metric("curve/_xffffffff_", 1.0, 1, 0)], [], []
    )
    assert read_scores(store.address, [run_id])[run_id]["_xffffffff_"] == 1.0
    assert read_curves(store.address, [run_id])[run_id]["_xffffffff_"] == ((0, 1.0),)


def test_many_runs_that_cannot_be_read_are_told_in_few_lines(
    store: Store, caplog: pytest.LogCaptureFixture, database: Path
) -> None:
    for seed in range(8):
        store.finish(record(seed))
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute("UPDATE tags SET value = 'banana' WHERE key = 'gnz.seed'")
        connection.commit()
    with caplog.at_level(logging.WARNING):
        assert read_table(store.address).empty
    assert len(caplog.messages) == 6
    assert "3 more runs" in caplog.messages[-1]
