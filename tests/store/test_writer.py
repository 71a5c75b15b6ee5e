from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from call_counts import Counted
from cells import ENVIRONMENT, REGRESSION, TASK, cell_of, context_of, failed_record, finished, record, result_of
from file_servers import give, run_server

from gnz_track.errors import StoreUnusable
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.environment import Owner, this_owner
from gnz_track.store.reader import read_table
from gnz_track.store.run_record import record_of_start
from gnz_track.store.writer import Store, kill_dead_runs, now, open_store
from gnz_track.types import Direction, Metric

ACCURACY = Metric(name="accuracy", direction=Direction.up, description="share of right classes")
# As the specification of the store asks: per cell, artifacts included.
MOST_CALLS, MOST_TRANSACTIONS = 8, 8


def count_commits(store: Store) -> list[int]:
    from sqlalchemy import event

    counted = [0]

    def count(_: object) -> None:
        counted[0] += 1

    event.listen(store.tracking.engine, "commit", count)
    return counted


def files_of(folder: Path) -> set[str]:
    return {file.name for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("make", [record, failed_record])
def test_cell_costs_at_most_eight_calls_and_eight_transactions(store: Store, make: Any) -> None:
    store.finish(make(0))  # creates the experiment, once per task
    counted, commits = Counted(store.tracking), count_commits(store)
    store.tracking = counted
    store.finish(make(1))
    assert 0 < counted.calls.total() <= MOST_CALLS, counted.calls
    assert 0 < commits[0] <= MOST_TRANSACTIONS
    store.tracking = counted.store


def test_run_holds_names_params_and_final_metrics(store: Store) -> None:
    run = store.tracking.get_run(store.finish(record(3, lr=0.1, heads=4)))
    assert run.info.run_name == "GCN s3 heads=4 lr=0.1"
    assert (run.info.status, run.info.end_time - run.info.start_time) == ("FINISHED", 12_500)
    expected = {"lr": "0.1", "weight_decay": "0.0005", "batch_size": "0", "hidden_channels": "64", "epochs": "200"}
    names = {"model": "GCN", "task": "cora", "seed": "3", "protocol": "best-val@2"}
    assert run.data.params == {**expected, **names, "heads": "4"}
    metrics = run.data.metrics
    assert metrics["test/accuracy"] == record(3).score
    assert (metrics["test/auc"], metrics["val/accuracy"], metrics["selected_epoch"]) == (0.75, 1.0, 150)
    assert {key for key in metrics if key.startswith("usage/")} == {
        "usage/seconds",
        "usage/cpu_seconds",
        "usage/seconds_per_epoch",
        "usage/peak_rss_mib",
        "usage/parameters",
    }
    tags = run.data.tags
    shown = {"gnz.task": "cora", "gnz.model": "GCN", "gnz.seed": "3", "gnz.sweep": "first", "gnz.metric": "accuracy"}
    shown |= {"gnz.direction": "up", "gnz.protocol": "best-val@2", "gnz.data.digest": "d" * 32, "env.gpu": "none"}
    shown |= {"env.python": "3.11.7", "env.torch": "2.13.0+cpu", "env.device": "cpu", "gnz.env": ENVIRONMENT.digest}
    shown |= {"mlflow.source.git.commit": "c" * 40, "gnz.git.dirty": "true", "mlflow.source.type": "LOCAL"}
    assert shown.items() <= tags.items()
    kept = schema.read_bookkeeping(tags)
    assert (kept[schema.OWNER], kept[schema.RECORD]) == (str(this_owner()), record(3, lr=0.1, heads=4).key)
    assert not {*schema.KEPT_TOGETHER} & {*tags}
    [dataset] = run.inputs.dataset_inputs
    assert (dataset.dataset.name, dataset.dataset.digest) == ("cora", "d" * 32)


def test_final_score_stands_alone_at_step_zero_and_curves_hold_the_selected_epoch(store: Store) -> None:
    run_id = store.finish(record())
    [score] = store.tracking.get_metric_history(run_id, "test/accuracy")
    assert (score.step, score.value) == (0, record().score)
    curve = store.tracking.get_metric_history(run_id, "curve/test/accuracy")
    assert 95 <= len(curve) <= schema.MOST_CURVE_POINTS
    at = {point.step: point.value for point in curve}
    assert {0, 150, 199} <= set(at)
    assert at[150] == record().score


def test_experiment_names_its_primary_metric(store: Store) -> None:
    store.finish(record())
    experiment = store.tracking.get_experiment_by_name("gnz/quick/cora")
    assert experiment.tags["mlflow.experiment.primaryMetric.name"] == "test/accuracy"
    assert experiment.tags["mlflow.experiment.primaryMetric.greaterIsBetter"] == "true"
    assert "accuracy" in experiment.tags["mlflow.note.content"]


def test_failed_cell_is_a_failed_run_with_its_reason_its_traceback_and_its_cell(store: Store, tmp_path: Path) -> None:
    run = store.tracking.get_run(store.finish(failed_record()))
    assert run.info.status == "FAILED"
    assert run.data.tags["gnz.error"] == "ValueError: " + ("odd " * 200)[:300]
    assert not [key for key in run.data.metrics if key.startswith("test/")]
    [traceback] = (tmp_path / "artifacts").rglob("traceback.txt")
    assert traceback.read_text().endswith("ValueError: odd\n")
    [cell] = (tmp_path / "artifacts").rglob("cell.json")
    assert json.loads(cell.read_text())["model"]["name"] == "GCN"


def test_writing_a_record_again_into_its_run_changes_nothing(store: Store) -> None:
    one = record()
    run_id = store.finish(one)
    before = store.tracking.get_run(run_id).to_dictionary()
    curve = len(store.tracking.get_metric_history(run_id, "curve/train/loss"))
    assert store.finish(one, run_id) == run_id
    assert store.tracking.get_run(run_id).to_dictionary() == before
    assert len(store.tracking.get_metric_history(run_id, "curve/train/loss")) == curve


def test_rows_of_a_cell_are_those_that_mlflow_writes(store: Store) -> None:
    one = record(3, lr=0.1, heads=4)
    begun = record_of_start(cell_of(seed=3), context_of(), fingerprint="f", metric=ACCURACY, started_at=now())
    by_mlflow = store.start(begun)
    runs = store.finish(one), store.finish(one, by_mlflow)
    with contextlib.closing(sqlite3.connect(store.address.file)) as connection:
        for table in ("metrics", "latest_metrics", "params"):
            asked = f"SELECT * FROM {table} WHERE run_uuid = ?"  # noqa: S608
            found = [connection.execute(asked, (run,)) for run in runs]
            columns = [name for name, *_ in found[0].description]
            ours, theirs = (
                sorted(str({**dict(zip(columns, row, strict=True)), "run_uuid": ""}) for row in rows) for rows in found
            )
            assert ours
            assert ours == theirs


def test_long_values_are_kept_whole_beside_the_run(store: Store, tmp_path: Path) -> None:
    text = "wide " * 2000
    run = store.tracking.get_run(store.finish(record(aggregation=text)))
    assert run.data.params["aggregation"].startswith("<10000 characters, sha256 ")
    [file] = (tmp_path / "artifacts").rglob("long_params.json")
    assert json.loads(file.read_text()) == {"aggregation": text}


def test_cell_of_many_hours_keeps_its_curve_short(store: Store) -> None:
    n_epochs = 20_000
    losses = tuple(1 / (epoch + 1) for epoch in range(n_epochs))
    result = result_of(cell_of(), series={"train/loss": losses}, selected_epoch=12_345)
    one = finished(result)
    run_id = store.start(one)
    for epoch in range(0, n_epochs, 20):
        store.stream(run_id, {"train/loss": (epoch, losses[epoch])}, at=1000 + epoch)
    store.finish(one, run_id)
    epochs = sorted(point.step for point in store.tracking.get_metric_history(run_id, "curve/train/loss"))
    assert len(epochs) == len(set(epochs)) <= 100
    assert {0, 12_345, n_epochs - 1} <= set(epochs)


def test_long_cell_streams_and_finishes_without_repeating_points(store: Store) -> None:
    cell = cell_of()
    begun = record_of_start(cell, context_of(), fingerprint="f", metric=ACCURACY, started_at=now())
    run_id = store.start(begun)
    assert [run.info.run_id for run in store.running()] == [run_id]
    assert schema.ERROR not in store.tracking.get_run(run_id).data.tags
    store.stream(run_id, {"train/loss": (0, 1.0), "val/accuracy": (0, 0.25)}, at=1234)
    kept = schema.read_bookkeeping(store.tracking.get_run(run_id).data.tags)
    assert (kept[schema.HEARTBEAT], kept[schema.RECORD]) == ("1234", begun.key)
    store.finish(finished(result_of(cell)), run_id)
    steps = [point.step for point in store.tracking.get_metric_history(run_id, "curve/train/loss")]
    assert len(steps) == len(set(steps))
    run = store.tracking.get_run(run_id)
    assert (run.info.status, run.data.tags["gnz.split.digest"]) == ("FINISHED", "split0")
    assert store.running() == []


def test_sweep_has_one_run_with_each_environment_once(store: Store, tmp_path: Path) -> None:
    first = store.open_sweep(context_of())
    assert store.open_sweep(context_of()) == first
    store.finish(record())
    store.finish(record(1))
    assert files_of(tmp_path / "artifacts") == {f"{ENVIRONMENT.digest}.json"}
    store.close_sweep(first)
    assert store.tracking.get_run(first).info.status == "FINISHED"
    assert store.open_sweep(context_of("second")) != first


def test_nothing_is_left_in_the_working_folder(database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    with open_store(str(database)) as store:
        store.finish(failed_record())
    assert list(elsewhere.iterdir()) == []


def test_local_store_writes_ahead(database: Path) -> None:
    import sqlite3

    with open_store(str(database)):
        pass
    connection = sqlite3.connect(database)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_deleted_experiment_is_named(store: Store, database: Path) -> None:
    store.finish(record())
    store.tracking.delete_experiment(store.tracking.get_experiment_by_name("gnz/quick/cora").experiment_id)
    with open_store(str(database)) as again, pytest.raises(StoreUnusable, match="'gnz/quick/cora' was deleted"):
        again.finish(record())


def test_dead_owner_is_reaped_and_a_living_one_is_not(store: Store) -> None:
    me = this_owner()
    dead = Owner(me.host, me.boot, _pid_of_the_dead())
    far, near_pid = Owner("elsewhere", "other", me.pid), Owner(me.host, me.boot, me.pid)
    hour = 3_600_000
    cases = {
        "dead here": (dead, now(), True),
        "alive here": (near_pid, now(), False),
        "alive here, and silent": (near_pid, now() - 5, False),
        "elsewhere, beats": (far, now(), False),
        "elsewhere, silent": (far, now() - 2 * hour, True),
        "process id taken by another": (near_pid, now() - 10_000 * hour, True),
    }
    runs = {}
    for seed, (name, (owner, started_at, _)) in enumerate(cases.items()):
        context = context_of(owner=str(owner))
        begun = record_of_start(cell_of(seed=seed), context, fingerprint=name, metric=ACCURACY, started_at=started_at)
        runs[store.start(begun)] = name
    ended = store.finish(record(9, context=context_of(owner=str(dead))))
    reaped = {runs[one.run_id] for one in kill_dead_runs(store)}
    assert reaped == {name for name, (_, _, is_stale) in cases.items() if is_stale}
    for run_id, name in runs.items():
        run = store.tracking.get_run(run_id)
        assert run.info.status == ("KILLED" if name in reaped else "RUNNING")
        assert run.data.tags.get("gnz.error", "").startswith("Killed: ") == (name in reaped)
    assert store.tracking.get_run(ended).info.status == "FINISHED"
    assert kill_dead_runs(store) == []


def test_runs_of_earlier_versions_keep_their_owners_and_keys(store: Store) -> None:
    from mlflow.entities import RunTag

    me = this_owner()
    begun = record_of_start(
        cell_of(), context_of(owner="nobody"), fingerprint="f", metric=ACCURACY, started_at=now() - 9 * 3_600_000
    )
    run_id = store.start(begun)
    store.tracking.delete_tag(run_id, schema.BOOKKEEPING)
    old = {schema.RECORD: begun.key, schema.OWNER: str(Owner(me.host, me.boot, _pid_of_the_dead()))}
    store.tracking.log_batch(run_id, [], [], [RunTag(*tag) for tag in {**old, schema.HEARTBEAT: str(now())}.items()])
    assert store.runs_of_sweep("quick", "first") == {begun.key: (run_id, "RUNNING")}
    [dead] = kill_dead_runs(store)
    assert (dead.run_id, "runs no more" in dead.reason) == (run_id, True)


def test_heart_of_a_run_of_another_writer_beats_beside_what_that_kept(store: Store, database: Path) -> None:
    run_id = store.open_sweep(context_of())
    with open_store(str(database)) as other:
        other.stream(run_id, {}, at=4321)
    kept = schema.read_bookkeeping(store.tracking.get_run(run_id).data.tags)
    assert (kept[schema.OWNER], kept[schema.HEARTBEAT]) == (str(this_owner()), "4321")


def test_only_cells_that_finished_count_and_each_leads_to_its_sweep(store: Store) -> None:
    sweep = store.open_sweep(context_of())
    runs = {store.finish(record()): "yes", store.finish(failed_record(1)): None}
    for run_id, counts in runs.items():
        tags = store.tracking.get_run(run_id).data.tags
        assert (tags.get("gnz.counts"), tags["mlflow.parentRunId"]) == (counts, sweep)
    begun = record_of_start(cell_of(seed=2), context_of(), fingerprint="f", metric=ACCURACY, started_at=now())
    run_id = store.start(begun)
    assert "gnz.counts" not in store.tracking.get_run(run_id).data.tags
    store.finish(finished(result_of(cell_of(seed=2))), run_id)
    assert store.tracking.get_run(run_id).data.tags["gnz.counts"] == "yes"


def test_experiment_carries_its_views_from_its_start(store: Store) -> None:
    store.start(record_of_start(cell_of(), context_of(), fingerprint="f", metric=ACCURACY, started_at=now()))
    tags = store.tracking.get_experiment_by_name("gnz/quick/cora").tags
    views = {key: json.loads(tags[f"mlflow.sharedViewState.{key}"]) for key in ("gnz-by-model", "gnz-settings")}
    assert [view["name"] for view in views.values()] == ["by model", "settings"]
    state = json.loads(views["gnz-by-model"]["state"])
    assert state["groupBy"]["groupByKeys"] == [{"mode": "param", "groupByData": "model"}]
    assert "metrics.`test/accuracy`" in state["selectedColumns"]
    assert (state["orderByAsc"], state["searchFilter"]) == (False, "tags.`gnz.counts` = 'yes'")


@pytest.mark.parametrize(
    ("version", "n_views"), [(b"3.17.2", 2), (b"3.15.0", 2), (b"3.14.1", 0), (b"2.22.0", 0), (b"?", 0), (None, 0)]
)
def test_server_that_knows_no_views_is_given_none(store: Store, version: bytes | None, n_views: int) -> None:
    with run_server() as server:
        if version is not None:
            server.routes["/version"] = give(version)
        behind = Store(Address(server.address, "server"), store.tracking)
        behind.finish(record())
        behind.finish(record(task=REGRESSION))
        assert server.paths() == ["/version"], "asked once"
    tags = store.tracking.get_experiment_by_name("gnz/quick/cora").tags
    assert len([key for key in tags if key.startswith("mlflow.sharedViewState.")]) == n_views


def test_settings_become_params_and_none_hides_a_name(store: Store) -> None:
    settings = {"dropout": 0.5, "heads": 8, "lr": 0.01, "encoding": "none", "seed": 7}
    one = finished(result_of(cell_of(lr=0.1), settings=settings))
    params = store.tracking.get_run(store.finish(one)).data.params
    assert params["lr"] == "0.1", "what the cell changed"
    assert (params["dropout"], params["heads"], params["encoding"]) == ("0.5", "8", "none")
    assert (params["seed"], params["option seed"]) == ("0", "7")


def test_store_that_goes_away_says_so_in_one_line(postgresql_database: str, tmp_path: Path) -> None:
    import psycopg

    with open_store(postgresql_database, home=tmp_path) as store:
        store.finish(record())
        base, _, name = postgresql_database.rpartition("/")
        with psycopg.connect(f"{base}/postgres", autocommit=True) as connection:
            connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
        with pytest.raises(StoreUnusable, match="holds no such database; check its name") as caught:
            store.finish(record(1))
        assert "\n" not in str(caught.value)


def test_two_writers_name_one_new_dataset_at_once(postgresql_database: str, tmp_path: Path) -> None:
    digests, together = [f"{number:032x}" for number in range(10)], threading.Barrier(2)

    def write(store: Store, seed: int) -> list[str]:
        run_id = store.start(record(seed))
        for digest in digests:
            together.wait(20)
            store._log_dataset(replace(record(seed), dataset_digest=digest), run_id)  # noqa: SLF001  (the race)
        return sorted(one.dataset.digest for one in store.tracking.get_run(run_id).inputs.dataset_inputs)

    with open_store(postgresql_database, home=tmp_path) as one, open_store(postgresql_database, home=tmp_path) as other:
        one.start(record(2))
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(write, (one, other), (0, 1))) == [digests, digests]


CREATE = """
import sys
sys.path.insert(0, {folder!r})
from cells import record
from gnz_track.store.writer import open_store
with open_store({uri!r}, home={home!r}) as store:
    store.finish(record({seed}))
"""


def create_from_several_processes(uri: str, home: Path, n: int = 2) -> None:
    here = str(Path(__file__).parent)
    codes = [CREATE.format(folder=here, uri=uri, home=home, seed=seed) for seed in range(n)]
    codes = [code.replace("PosixPath", "__import__('pathlib').Path") for code in codes]
    running = [subprocess.Popen([sys.executable, "-W", "error", "-c", code], stderr=subprocess.PIPE) for code in codes]
    for process in running:
        _, said = process.communicate(timeout=120)
        assert process.returncode == 0, said.decode()
        assert said == b"", "opening a store is silent"


def test_several_processes_create_one_sqlite_store(tmp_path: Path) -> None:
    uri = f"sqlite:///{tmp_path}/new/gnz.db"
    create_from_several_processes(uri, tmp_path)
    assert sorted(read_table(uri)["seed"]) == [0, 1]


@pytest.mark.slow
def test_several_processes_create_one_postgresql_store(postgresql_database: str, tmp_path: Path) -> None:
    create_from_several_processes(postgresql_database, tmp_path)
    assert sorted(read_table(postgresql_database)["seed"]) == [0, 1]


def test_odd_names_come_back(store: Store) -> None:
    from gnz_track.types import Task

    names = ["it's", 'say "x"', 'it\'s "both"', "100 %", "back\\slash", "a/b", "../up", "é ß", "x_y", "."]
    for n, name in enumerate(names):
        one = record(n, task=Task(name, TASK.task_type), context=context_of(name, suite=name))
        store.finish(one)
    table = read_table(store.address)
    assert sorted(table["task"]) == sorted(names)
    for name in names:
        assert list(store.runs_of_sweep(name, name)) == [record_key(table, name, store)]


def record_key(table: Any, name: str, store: Store) -> str:
    [run_id] = table[table["task"] == name]["run_id"]
    return schema.read_bookkeeping(store.tracking.get_run(run_id).data.tags)[schema.RECORD]


def _pid_of_the_dead() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_store_is_created_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gnz_track.store.files import local_stores

    file = tmp_path / "gnz.db"
    make = local_stores.store_in_file
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))

    def make_half(unfinished: Path, _: object) -> None:
        # As a process ends that is killed half-way through the tables.
        with contextlib.closing(sqlite3.connect(unfinished)) as half:
            half.execute("CREATE TABLE scorers (name)")
        raise KeyboardInterrupt

    monkeypatch.setattr(local_stores, "store_in_file", make_half)
    with pytest.raises(KeyboardInterrupt):
        open_store(str(file))
    assert not file.exists()
    monkeypatch.setattr(local_stores, "store_in_file", make)
    with open_store(str(file)) as store:
        assert store.experiments() == []
    assert not list(tmp_path.glob("*.new*"))


def dump_of(file: Path) -> tuple[Any, ...]:
    """Return settings and content of a store, but for where and when it was made."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        asked = ("journal_mode", "page_size", "auto_vacuum", "encoding", "user_version", "application_id")
        settings = [connection.execute(f"PRAGMA {setting}").fetchone() for setting in asked]
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        (place,) = connection.execute("SELECT artifact_location FROM experiments").fetchone()
        assert place == (file.parent / "artifacts" / "0").as_uri()
        connection.execute("UPDATE experiments SET artifact_location = '', creation_time = 0, last_update_time = 0")
        # Indexes are made in an order that differs from one migration to the next.
        return settings, sorted(connection.iterdump())


def make_store(folder: Path) -> Path:
    folder.mkdir()
    with open_store(str(folder / "gnz.db")):
        return folder / "gnz.db"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a user who has made no store yet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


def test_next_store_of_a_user_is_as_the_first_one(tmp_path: Path, home: Path) -> None:
    first = dump_of(make_store(tmp_path / "first"))
    [kept] = home.rglob("*.db")
    kept.touch()
    before = kept.stat().st_mtime_ns
    assert dump_of(make_store(tmp_path / "next")) == first
    assert kept.stat().st_mtime_ns == before
    with contextlib.closing(sqlite3.connect(kept)) as connection:
        assert not connection.execute("SELECT * FROM experiments").fetchall()
    assert files_of(home) == {kept.name}


TRIGGER = "CREATE TRIGGER t AFTER INSERT ON runs BEGIN DELETE FROM runs; END"


@pytest.mark.parametrize("spoil", ["", "no database", TRIGGER])
def test_kept_tables_that_are_none_are_made_anew(tmp_path: Path, home: Path, spoil: str) -> None:
    make_store(tmp_path / "first")
    [kept] = home.rglob("*.db")
    if spoil is TRIGGER:
        with contextlib.closing(sqlite3.connect(kept)) as connection:
            connection.execute(spoil)
    else:
        kept.write_text(spoil)
    for file in (make_store(tmp_path / "next"), kept):
        with contextlib.closing(sqlite3.connect(file)) as connection:
            objects = connection.execute("SELECT type FROM sqlite_master WHERE tbl_name = 'runs'").fetchall()
        assert {kind for (kind,) in objects} == {"table", "index"}


def test_store_is_made_where_no_tables_can_be_kept(tmp_path: Path, home: Path) -> None:
    home.write_text("a file in the way of the folder")
    assert dump_of(make_store(tmp_path / "first"))[1]
