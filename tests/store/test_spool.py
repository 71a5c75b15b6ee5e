from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cells import ENVIRONMENT, context_of, failed_record, record, sweep_records
from conftest import free_port

from gnz_track.errors import OutboxBusy, OutboxCorrupted, StoreUnreachable
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.outbox import Outbox, count_waiting, deliver
from gnz_track.store.reader import open_reader, read_published, read_table
from gnz_track.store.replay import replay
from gnz_track.store.sweep_manifest import SweepPlan, plan_to_json
from gnz_track.store.writer import Store, open_store


def fill(folder: Path) -> Path:
    context = context_of()
    with Outbox(folder, context) as outbox:
        for one in sweep_records(context):
            outbox.append(one)
    return outbox.path


def n_runs(store: Store) -> int:
    return len(store.runs_of_sweep("quick", "first"))


def n_runs_of_any_state(store: Store) -> int:
    return len(store.search(store.experiments("quick"), {"gnz.kind": "cell"}))


def test_replay_writes_everything_once(store: Store, tmp_path: Path) -> None:
    path = fill(tmp_path / "spool")
    assert count_waiting(tmp_path / "spool") == {"first": 10}
    done = replay(tmp_path / "spool", store)
    assert (len(done.written), done.present, done.corrupted, done.busy) == (10, (), (), ())
    assert len(read_table(store.address)) == 10
    assert not path.exists()
    assert count_waiting(tmp_path / "spool") == {}
    assert replay(tmp_path / "spool", store).written == ()
    assert n_runs_of_any_state(store) == 10


def test_replay_after_a_crash_between_writing_and_marking_writes_nothing_twice(store: Store, tmp_path: Path) -> None:
    fill(tmp_path / "spool")
    one = record(0, model="GCN")
    store.finish(one)
    done = replay(tmp_path / "spool", store)
    assert (len(done.written), done.present) == (9, (one.key,))
    assert n_runs_of_any_state(store) == 10


def test_replay_completes_a_run_that_a_crash_left_half_written(store: Store, tmp_path: Path) -> None:
    fill(tmp_path / "spool")
    one = record(0, model="GCN")
    begun = store.start(one)
    store._log_batch(one, begun, tags={}, is_new=False)  # noqa: SLF001  (what finish does before it ends the run)
    replay(tmp_path / "spool", store)
    run = store.tracking.get_run(begun)
    assert (run.info.status, run.data.metrics["test/accuracy"]) == ("FINISHED", one.score)
    assert len(store.tracking.get_metric_history(begun, "curve/train/loss")) == len(one.curves["train/loss"])
    assert n_runs_of_any_state(store) == 10


def test_two_attempts_at_one_cell_are_two_runs(store: Store, tmp_path: Path) -> None:
    with Outbox(tmp_path / "spool", context_of()) as outbox:
        for one in (failed_record(0, attempt="1"), record(0, attempt="2"), record(0, attempt="2")):
            outbox.append(one)
    assert len(replay(tmp_path / "spool", store).written) == 2
    assert n_runs(store) == 2


def test_torn_line_and_garbage_are_named_and_kept_and_the_rest_is_replayed(store: Store, tmp_path: Path) -> None:
    path = fill(tmp_path / "spool")
    lines = path.read_bytes().splitlines(keepends=True)
    changed = lines[2].replace(b"GCN", b"GAT")  # whole JSON, and yet another record than was written
    assert changed != lines[2]
    path.write_bytes(b"".join([*lines[:2], b"\x00\xff garbage\n", changed, *lines[3:-1], lines[-1][:40]]))
    done = replay(tmp_path / "spool", store)
    assert [place.rpartition(":")[2] for place in done.corrupted] == ["3", "4", "12"]
    assert (len(done.written), n_runs(store)) == (8, 8)
    assert path.exists(), "a spool with bad lines is not removed"
    [aside] = done.aside
    assert b"\x00\xff garbage" in Path(aside).read_bytes()
    with pytest.raises(OutboxCorrupted, match=r"first\.jsonl:3, "):
        done.check()
    again = replay(tmp_path / "spool", store)
    assert (again.written, len(again.present), n_runs(store)) == ((), 8, 8)


def test_spool_that_was_torn_takes_further_records(store: Store, tmp_path: Path) -> None:
    path = fill(tmp_path / "spool")
    path.write_bytes(path.read_bytes()[:-30])
    elsewhere = context_of(environment=replace(ENVIRONMENT, cpu="another processor"))
    with Outbox(tmp_path / "spool", elsewhere) as outbox:
        outbox.append(record(7, context=elsewhere))
    done = replay(tmp_path / "spool", store)
    assert (len(done.written), len(done.corrupted)) == (10, 1)
    assert 7 in set(read_table(store.address)["seed"])
    kept = {file.stem for file in (tmp_path / "artifacts").rglob("environments/*.json")}
    assert kept == {ENVIRONMENT.digest, elsewhere.environment.digest}, "the first line after a torn one was lost"


def test_record_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "from cells import ENVIRONMENT, context_of, record\n"
        "from gnz_track.store.outbox import Outbox\n"
        f"outbox = Outbox(Path({str(tmp_path)!r}), context_of())\n"
        "outbox.__enter__()\n"
        "outbox.append(record(5))\n"
        "os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)
    assert done.returncode == -9
    assert count_waiting(tmp_path) == {"first": 1}


def test_spool_in_use_is_left_alone(store: Store, tmp_path: Path) -> None:
    with Outbox(tmp_path, context_of()) as outbox:
        outbox.append(record())
        assert replay(tmp_path, store).busy == ("first",)
        with pytest.raises(OutboxBusy, match="'first' is being written"), Outbox(tmp_path, context_of()):
            pass
    assert len(replay(tmp_path, store).written) == 1


def test_delivery_marks_what_the_store_took(store: Store, tmp_path: Path) -> None:
    with Outbox(tmp_path, context_of()) as outbox:
        run_id = deliver(outbox, store, record())
        assert store.tracking.get_run(run_id).info.status == "FINISHED"
    assert count_waiting(tmp_path) == {}
    done = replay(tmp_path, store)
    assert (done.written, done.present, n_runs(store)) == ((), (), 1)
    assert not outbox.path.exists(), "nothing is left of a spool whose records are all in the store"


def test_store_that_is_away_loses_nothing(store: Store, tmp_path: Path) -> None:
    uri = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(StoreUnreachable, match="does not answer"):
        open_store(uri)
    with Outbox(tmp_path, context_of()) as outbox, pytest.raises(StoreUnreachable, match="gnz sync"):
        deliver(outbox, None, record())
    assert len(replay(tmp_path, store).written) == 1
    assert len(read_table(store.address)) == 1


def test_replay_brings_the_environment(store: Store, tmp_path: Path) -> None:
    fill(tmp_path / "spool")
    replay(tmp_path / "spool", store)
    [file] = (tmp_path / "artifacts").rglob(f"{context_of().environment.digest}.json")
    assert json.loads(file.read_text())["packages"]["numpy"] == "2.4.0"


def test_record_that_the_store_refuses_is_named_and_holds_up_no_other(store: Store, tmp_path: Path) -> None:
    with Outbox(tmp_path, context_of()) as outbox:
        outbox.append(replace(record(0), split_digest="s" * 9000))
        outbox.append(record(1))
    done = replay(tmp_path, store)
    assert len(done.written) == 1
    [refused] = done.refused
    assert "tag gnz.split.digest" in refused
    assert count_waiting(tmp_path) == {"first": 1}
    assert list(read_table(store.address)["seed"]) == [1]


def test_replayed_sweep_is_not_left_running(store: Store, tmp_path: Path) -> None:
    fill(tmp_path / "spool")
    replay(tmp_path / "spool", store)
    assert store.running() == []


@pytest.mark.parametrize(("killed", "status"), [("", "FINISHED"), ("Killed: the sweep was interrupted", "KILLED")])
def test_end_that_the_store_was_not_told_brings_plan_and_table(
    killed: str, status: str, store: Store, tmp_path: Path
) -> None:
    context = context_of()
    plan = plan_to_json(SweepPlan(cells=(), left_out=(("cora", "GIN", "no such task"),)))
    run_id = store.open_sweep(context)
    with Outbox(tmp_path, context) as outbox:
        deliver(outbox, store, record())
        outbox.append_end(plan, killed=killed)
        assert outbox.waiting == "the sweep's plan and table"
    assert outbox.path.exists(), "nothing of it was told yet"
    assert count_waiting(tmp_path) == {}
    done = replay(tmp_path, store)
    assert (done.written, len(done.ended), done.is_left_over) == ((), 1, False)
    assert not outbox.path.exists()
    run = store.tracking.get_run(run_id)
    assert (run.info.status, run.data.tags["gnz.error"]) == (status, killed)
    assert read_artifact(store.address, run.info.artifact_uri, "plan.json") == plan
    table = read_published(open_reader(store.address), "first")
    assert table is not None
    assert len(table) == 1


def test_end_whose_sweep_cannot_be_read_is_left_and_the_line_is_named(store: Store, tmp_path: Path) -> None:
    with Outbox(tmp_path, context_of()) as outbox:
        outbox.append_end("{}")
    lines = outbox.path.read_bytes().splitlines()
    outbox.path.write_bytes(b"\n".join([b"garbage", *lines[1:]]) + b"\n")
    done = replay(tmp_path, store)
    assert (len(done.corrupted), done.ended) == (1, ())


def test_names_of_sweeps_stay_apart_as_files(tmp_path: Path) -> None:
    paths = {Outbox(tmp_path, context_of(name)).path for name in ("a b", "a_b", "a/b", "../a", "é", "e")}
    assert len(paths) == 6
    assert {path.parent for path in paths} == {tmp_path}
