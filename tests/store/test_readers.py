from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cells import REGRESSION, TASK, context_of, failed_record, record, sweep_records
from conftest import mlflow_server
from searches import search_of

from gnz_track.errors import BadValue, GnzError, UnknownName
from gnz_track.store import read_sql as sql_reader
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.read_rest import RestReader
from gnz_track.store.read_sql import SqlReader, keep_open, revision_of
from gnz_track.store.reader import finished_fingerprints, publish_table, read_published, read_table, read_tensor
from gnz_track.store.results_table import COLUMNS, one_row_per_cell, tensor_of
from gnz_track.store.row_filters import RunFilter
from gnz_track.store.searches import read_searches, write_search
from gnz_track.store.writer import Store, open_store
from gnz_track.types import Task

SWEEP = RunFilter(sweep="first")


def fill(store: Store, sweep: str = "first") -> str:
    context = context_of(sweep)
    run_id = store.open_sweep(context)
    for one in sweep_records(context):
        store.finish(one)
    return run_id


def tables_of(address: Address, wanted: RunFilter = SWEEP) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what SQL and what MLflow's search read."""
    return one_row_per_cell(SqlReader(address).table(wanted)), one_row_per_cell(RestReader(address).table(wanted))


def same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, check_exact=True)


def check_three_readers(store: Store) -> None:
    run_id = fill(store)
    by_sql, by_rest = tables_of(store.address)
    same(by_sql, by_rest)
    assert len(by_sql) == 10
    assert store.address.is_database
    assert read_published(SqlReader(store.address), "first") is None
    same(publish_table(store, "quick", "first", run_id=run_id), by_sql)
    published = read_published(SqlReader(store.address), "first")
    assert published is not None
    same(one_row_per_cell(published), by_sql)
    same(read_table(store.address, sweep="first"), by_sql)
    found = SqlReader(store.address).experiments_with(schema.TASK, most=9)
    assert {task for _, task in found} == set(by_sql["task"])
    assert found == RestReader(store.address).experiments_with(schema.TASK, most=9)
    assert found[:1] == SqlReader(store.address).experiments_with(schema.TASK, most=1)


OPENINGS = """
import sys
from gnz_track.store.address import parse_address
from gnz_track.store.read_sql import keep_open
from gnz_track.store.reader import read_table

opened = []
sys.addaudithook(lambda event, values: opened.append(event) if event == "sqlite3.connect" else None)
address = parse_address(sys.argv[1])
with keep_open(address):
    for _ in range(3):
        read_table(address, sweep="first")
kept = len(opened)
read_table(address, sweep="first")
print(kept, len(opened) > 1 + kept)
"""


def test_a_store_that_is_kept_open_is_opened_once(store: Store) -> None:
    fill(store)
    done = subprocess.run(
        [sys.executable, "-c", OPENINGS, str(store.address)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "True"]


def check_kept_open(store: Store) -> None:
    with keep_open(store.address):
        assert revision_of(store.address)
        assert read_table(store.address).empty
        fill(store)
        same(read_table(store.address, sweep="first"), tables_of(store.address)[0])
    with pytest.raises(OSError, match="of the caller"), keep_open(store.address):
        raise OSError("of the caller")


def test_what_is_written_meanwhile_is_read_of_a_store_that_is_kept_open(store: Store) -> None:
    check_kept_open(store)


def test_a_database_on_a_server_is_kept_open_too(postgresql_database: str, tmp_path: Path) -> None:
    with open_store(postgresql_database, home=tmp_path) as store:
        check_kept_open(store)


def test_a_store_that_does_not_exist_is_not_made_by_keeping_it_open(tmp_path: Path) -> None:
    with keep_open(parse_address(str(tmp_path / "gnz.db"))):
        assert not list(tmp_path.iterdir())


def test_three_readers_agree_on_sqlite(store: Store) -> None:
    check_three_readers(store)


def test_three_readers_agree_on_postgresql(postgresql_database: str, tmp_path: Path) -> None:
    with open_store(postgresql_database, home=tmp_path) as store:
        check_three_readers(store)


def test_server_tells_the_same_as_its_database(database: Path, tmp_path: Path) -> None:
    with mlflow_server(database, tmp_path) as uri, open_store(uri) as store:
        run_id = fill(store)
        by_sql, _ = tables_of(parse_address(str(database)))
        assert len(by_sql) == 10
        same(read_table(uri, sweep="first"), by_sql)
        same(publish_table(store, "quick", "first", run_id=run_id), by_sql)
        published = read_published(RestReader(store.address), "first")
        assert published is not None, "the table did not come back through the server"
        same(one_row_per_cell(published), by_sql)
        assert finished_fingerprints(uri) == set(by_sql[by_sql["status"] == "finished"]["fingerprint"])
        store.finish(record(7))
        assert read_published(RestReader(store.address), "first") is None, "a stale table was taken"
        assert len(read_table(uri, sweep="first")) == 11
        for found in (search_of("GIN", kind="nested", seed=2), search_of()):
            write_search(store, found)
        assert read_searches(uri) == (search_of(), search_of("GIN", kind="nested", seed=2))
        artifacts = [file.name for file in (tmp_path / "served").rglob("*") if file.is_file()]
        assert sorted(artifacts) == sorted([*artifacts_expected()])


def artifacts_expected() -> list[str]:
    files = ["cell.json", "traceback.txt", "results.parquet", f"{context_of().environment.digest}.json"]
    return [*files, *(["search.json", "trials.parquet"] * 2)]


def test_table_says_what_the_records_said(store: Store) -> None:
    fill(store)
    table = read_table(store.address)
    expected = {one.fingerprint: one for one in sweep_records(context_of())}
    assert list(table.columns) == list(COLUMNS)
    assert set(table["fingerprint"]) == set(expected)
    for row in table.to_dict("records"):
        said = expected[row["fingerprint"]]
        names = ("sweep", "suite", "task", "model", "seed", "metric", "protocol", "hyperparameters", "split_digest")
        assert {name: row[name] for name in names} == {name: getattr(said, name) for name in names}
        assert (row["status"], row["direction"]) == (str(said.status), str(said.direction))
        assert row["start_time"].timestamp() == said.started_at / 1000
        assert row["seconds"] == said.seconds
        if said.score is not None:
            assert (row["score"], row["selected_epoch"], row["n_parameters"]) == (said.score, 150, 1433)
            assert (row["score_on_training"], row["score_at_best_validation"]) == (0.96875, 0.75)
            assert (row["n_train"], row["n_test"], row["n_epochs"]) == (1080, 540, 200), "all epochs that were trained"
            assert (row["baseline"], row["model_source"]) == (0.3125, said.model_source)
            assert row["model_digest"] == said.model_digest
        else:
            assert pd.isna(row["score"])
            assert pd.isna(row["selected_epoch"])
            assert pd.isna(row["n_train"])
            assert pd.isna(row["n_epochs"])
            assert row["error"].startswith("ValueError: odd")


def test_score_is_the_one_at_the_selected_epoch_and_not_the_last(store: Store) -> None:
    one = record()
    store.finish(one)
    [score] = read_table(store.address)["score"]
    assert score == one.score
    assert score != dict(one.curves["test/accuracy"])[199]


def test_selections_hold_what_they_name(store: Store) -> None:
    fill(store, "first")
    fill(store, "second's")
    address = store.address
    assert set(read_table(address, sweep="second's")["sweep"]) == {"second's"}
    assert set(read_table(address, task="zinc")["task"]) == {"zinc"}
    same(read_table(address, experiment="gnz/quick/zinc"), read_table(address, task="zinc"))
    assert read_table(address, suite="none").empty
    assert read_table(address, sweep="none").empty
    some = read_table(address, where={"model": "GAT", "seed": [0, 2], "task": "cora"})
    assert sorted(some["seed"]) == [0, 2]
    for wanted in (
        RunFilter(sweep="second's", tasks=("cora",)),
        RunFilter(tasks=("zinc", "cora")),
        RunFilter(experiment="gnz/quick/zinc"),
        RunFilter(),
    ):
        same(*tables_of(address, wanted))


def test_several_tasks_are_those_and_no_other(store: Store) -> None:
    run_id = fill(store)
    third = Task("a_third", TASK.task_type)
    store.finish(record(0, task=third))
    wanted = RunFilter(tasks=("zinc", "a_third"))
    by_sql, by_rest = tables_of(store.address, wanted)
    same(by_sql, by_rest)
    assert by_sql["task"].value_counts().to_dict() == {"zinc": 4, "a_third": 1}
    same(read_table(store.address, task=["zinc", "a_third"]), by_sql)
    same(read_table(store.address, task=("cora", "cora")), read_table(store.address, task="cora"))
    same(read_table(store.address, task=[]), read_table(store.address))
    assert read_table(store.address, task=["none", "zin_", "zin%"]).empty
    publish_table(store, "quick", "first", run_id=run_id)
    assert read_published(SqlReader(store.address), "first") is not None
    same(read_table(store.address, sweep="first", task=["zinc", "a_third"]), by_sql)


def test_published_table_is_cut_to_the_task(store: Store) -> None:
    run_id = fill(store)
    live = read_table(store.address, sweep="first", task="zinc")
    publish_table(store, "quick", "first", run_id=run_id)
    same(read_table(store.address, sweep="first", task="zinc"), live)
    same(read_table(store.address, sweep="first", experiment="gnz/quick/zinc"), live)
    assert read_table(store.address, sweep="first", suite="other").empty


def test_unknown_column_is_refused(store: Store) -> None:
    for options in ({"where": {"modle": "GCN"}}, {"columns": ("modle",)}, {"columns": "modle"}):
        with pytest.raises(UnknownName, match="unknown column 'modle'; did you mean 'model'"):
            read_table(store.address, **options)
    with pytest.raises(UnknownName, match="unknown column 'modle'; did you mean 'model'"):
        read_tensor(store.address, where={"modle": "GCN"})


def test_one_value_and_a_collection_of_one_are_alike(store: Store) -> None:
    fill(store)
    expected = read_table(store.address).query("model == 'GCN'").reset_index(drop=True)
    models = read_tensor(store.address, where={"model": "GCN"}).models
    assert {name.split()[0] for name in models} == {"GCN"}
    for one in ("GCN", ["GCN"], ("GCN",), {"GCN": 1}, np.array(["GCN"]), pd.Series(["GCN"])):
        same(read_table(store.address, where={"model": one}), expected)
        assert read_tensor(store.address, where={"model": one}).models == models
    # What can be gone through once.
    same(read_table(store.address, where={"model": iter(["GCN"])}), expected)
    assert read_tensor(store.address, where={"model": iter(["GCN"])}).models == models


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ("model = 'GCN'", "where is .* allowed: columns and what they are to be"),
        ({"seed": "1"}, "wanted seed is '1'; allowed: a number"),
        ({"model": 3}, "wanted model is 3; allowed: a text"),
        ({"model": ["GCN", 3]}, "wanted model is 3"),
    ],
)
def test_values_of_another_kind_than_the_column_are_refused(store: Store, where: Any, told: str) -> None:
    for read in (read_table, read_tensor):
        with pytest.raises(BadValue, match=told):
            read(store.address, where=where)


def test_value_that_no_cell_has_leaves_no_row(store: Store) -> None:
    fill(store)
    for options in ({"where": {"model": "GTA"}}, {"where": {"seed": 99}}, {"task": "coar"}, {"where": {"model": []}}):
        assert read_table(store.address, **options).empty


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"where": {"model": "GTC"}}, "unknown model 'GTC'; did you mean 'GAT'"),
        ({"where": {"model": ["GCN", "GTC"]}}, "unknown model 'GTC'"),
        ({"where": {"task": "coar", "seed": 0}}, "unknown task 'coar'; did you mean 'cora'"),
        ({"task": ("cora", "coar")}, "unknown task 'coar'; did you mean 'cora'"),
        ({"task": "coar", "where": {"task": "cora"}}, "unknown task 'coar'; did you mean 'cora'"),
        ({"sweep": "frist"}, "unknown sweep 'frist'; did you mean 'first'"),
        ({"suite": "quik"}, "unknown suite 'quik'; did you mean 'quick'"),
        ({"experiment": "gnz/quick/coar"}, "unknown experiment .* did you mean 'gnz/quick/cora'"),
    ],
    ids=str,
)
def test_array_is_refused_for_a_name_that_nothing_bears(store: Store, options: Any, told: str) -> None:
    fill(store)
    with pytest.raises(UnknownName, match=told):
        read_tensor(store.address, **options)


def test_array_of_known_names_that_never_met_is_empty(store: Store) -> None:
    assert read_tensor(store.address).X.shape == (0, 0, 0), "nothing was named, and there is nothing"
    with pytest.raises(UnknownName, match="unknown task 'cora'; known: none"):
        read_tensor(store.address, task="cora")
    fill(store)
    assert read_tensor(store.address, where={"status": "failed"}).X.shape == (0, 0, 0)
    store.open_sweep(context_of("of others' cells"))
    assert read_tensor(store.address, where={"seed": 99}).X.shape == (0, 0, 0)
    assert read_tensor(store.address, sweep="of others' cells").X.shape == (0, 0, 0)
    some = read_tensor(store.address, where={"task": "zinc", "seed": range(100)})
    assert some.mask.sum() == 4, "seeds that nobody has run are no mistake"


def test_array_of_several_numbers_of_epochs_names_the_choice(store: Store) -> None:
    fill(store)
    for one in sweep_records(context_of("longer")):
        store.finish(
            dataclasses.replace(one, fingerprint=f"{one.fingerprint[:-1]}+", params={**one.params, "epochs": "300"})
        )
    with pytest.raises(
        BadValue, match=r"epochs of 'cora' is '200 \(5 cells\), 300 \(5 cells\)'.*Try: where=\{'epochs': 300\}"
    ):
        read_tensor(store.address)
    for choice in ({"where": {"epochs": 300}}, {"sweep": "longer"}):
        found = read_tensor(store.address, **choice)
        np.testing.assert_array_equal(found.mask, read_tensor(store.address, sweep="first").mask)


def test_finished_run_counts_before_failed_one_and_later_before_earlier(store: Store) -> None:
    store.finish(record(0, attempt="1"))
    store.finish(failed_record(0, attempt="2"))
    [row] = read_table(store.address).to_dict("records")
    assert row["status"] == "finished"
    latest = store.finish(record(0, attempt="3"))
    [row] = read_table(store.address).to_dict("records")
    assert row["run_id"] == latest


def test_running_and_killed_runs_are_no_results(store: Store) -> None:
    store.start(record(0))
    store.kill(store.start(record(1)), "Killed: by a test")
    assert read_table(store.address).empty
    assert finished_fingerprints(store.address) == set()


def test_table_is_stale_once_a_run_is_deleted(store: Store) -> None:
    run_id = fill(store)
    table = publish_table(store, "quick", "first", run_id=run_id)
    assert read_published(SqlReader(store.address), "first") is not None
    store.tracking.delete_run(table["run_id"][0])
    for reader in (SqlReader, RestReader):
        assert read_published(reader(store.address), "first") is None
    assert len(read_table(store.address, sweep="first")) == 9
    same(*tables_of(store.address))


def test_table_is_stale_once_a_cell_is_added(store: Store) -> None:
    run_id = fill(store)
    publish_table(store, "quick", "first", run_id=run_id)
    store.finish(record(9))
    for reader in (SqlReader, RestReader):
        assert read_published(reader(store.address), "first") is None
    assert 9 in set(read_table(store.address, sweep="first")["seed"])


def test_table_whose_bytes_were_changed_is_not_taken(store: Store, tmp_path: Path) -> None:
    run_id = fill(store)
    publish_table(store, "quick", "first", run_id=run_id)
    [file] = (tmp_path / "artifacts").rglob("results.parquet")
    file.write_bytes(file.read_bytes()[:-1] + b"x")
    assert read_published(SqlReader(store.address), "first") is None
    assert len(read_table(store.address, sweep="first")) == 10
    file.unlink()
    assert read_published(SqlReader(store.address), "first") is None


@pytest.mark.parametrize("is_known", [True, False], ids=["SQL", "search"])
def test_few_columns_are_those_of_the_whole_table(
    store: Store, monkeypatch: pytest.MonkeyPatch, *, is_known: bool
) -> None:
    run_id = fill(store)
    for one in sweep_records(context_of("second")):
        store.finish(one)
    whole = read_table(store.address, where={"model": "GCN"})
    if not is_known:
        monkeypatch.setattr("gnz_track.store.reader.KNOWN_REVISIONS", {})
    for columns in (("score",), ("seed", "task", "metric"), ("error", "run_id", "start_time"), tuple(COLUMNS)):
        found = read_table(store.address, where={"model": "GCN"}, columns=columns)
        order = ["run_id"] if "run_id" in columns else list(columns)
        expected = whole[list(columns)].sort_values(order, ignore_index=True)
        same(found.sort_values(order, ignore_index=True), expected)
    publish_table(store, "quick", "first", run_id=run_id)
    assert list(read_table(store.address, sweep="first", columns=("seed", "score"))) == ["seed", "score"]
    with pytest.raises(UnknownName, match="colour"):
        read_table(store.address, columns=("colour",))
    assert list(read_table(store.address, columns="score")) == ["score"]


def test_array_of_scores_is_that_of_the_whole_table(store: Store) -> None:
    fill(store)
    found, expected = read_tensor(store.address, sweep="first"), tensor_of(read_table(store.address, sweep="first"))
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.run_ids, expected.run_ids)
    np.testing.assert_array_equal(found.mask, expected.mask)
    assert found.mask.sum() == 9
    assert (found.tasks, found.models, found.seeds) == (expected.tasks, expected.models, expected.seeds)
    one = read_tensor(store.address, where={"model": found.models[0]})
    assert one.models == found.models[:1]
    assert np.nansum(one.X) == np.nansum(found.X[:, 0])


def test_finished_fingerprints_are_those_of_finished_cells_only(store: Store) -> None:
    fill(store)
    expected = {one.fingerprint for one in sweep_records(context_of()) if one.score is not None}
    assert finished_fingerprints(store.address) == expected


def test_store_that_is_not_there_yet_has_no_fingerprints_and_no_table(tmp_path: Path) -> None:
    uri = str(tmp_path / "none.db")
    assert finished_fingerprints(uri) == set()
    with pytest.raises(GnzError, match="no such file"):
        read_table(uri)
    assert not list(tmp_path.iterdir()), "reading created something"


def test_unknown_revision_is_read_the_slow_way_with_a_word(
    store: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    fill(store)
    known = read_table(store.address)
    monkeypatch.setattr("gnz_track.store.reader.KNOWN_REVISIONS", {"0000": "9.9"})
    monkeypatch.setattr("gnz_track.store.reader.SqlReader", None)
    same(read_table(store.address), known)
    assert "unknown revision" in caplog.text
    assert finished_fingerprints(store.address)


def test_tables_of_the_installed_mlflow_are_known(store: Store) -> None:
    assert sql_reader.revision_of(store.address) in sql_reader.KNOWN_REVISIONS


def test_reader_cannot_write(store: Store) -> None:
    from sqlalchemy import exc

    fill(store)
    reading = sql_reader._reading(store.address)  # noqa: SLF001  (no reader of ours tries to write)
    with pytest.raises(GnzError, match="readonly") as caught, reading as (connection, sql):
        connection.execute(sql("DELETE FROM tags"))
    assert isinstance(caught.value.__cause__, exc.OperationalError)


def test_reading_by_sql_imports_neither_mlflow_nor_torch(store: Store) -> None:
    run_id = fill(store)
    publish_table(store, "quick", "first", run_id=run_id)
    code = (
        "import sys\n"
        "from gnz_track.store.reader import read_table, finished_fingerprints\n"
        f"assert len(read_table({str(store.address.file)!r}, sweep='first')) == 10\n"
        f"assert len(read_table({str(store.address.file)!r})) == 10\n"
        f"assert len(finished_fingerprints({str(store.address.file)!r})) == 9\n"
        "import gnz_track.store.outbox, gnz_track.store.writer, gnz_track.store.environment\n"
        "print(sorted({'mlflow', 'torch'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.returncode) == ("[]", 0), done.stderr


def test_regression_is_down(store: Store) -> None:
    store.finish(record(0, task=REGRESSION))
    [row] = read_table(store.address).to_dict("records")
    assert (row["metric"], row["direction"]) == ("mae", "down")
