from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from cells import context_of, record
from conftest import free_port
from searches import SCORES, search_of, trial_of

from gnz_track.errors import BadValue, StoreUnreachable
from gnz_track.records import from_json, to_json
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.listings import list_cells
from gnz_track.store.outbox import count_waiting, keep_search, outbox_folder
from gnz_track.store.past_runs import read_run
from gnz_track.store.read_rest import RestReader
from gnz_track.store.read_sql import SqlReader
from gnz_track.store.reader import finished_fingerprints, read_table
from gnz_track.store.replay import replay
from gnz_track.store.row_filters import PastRun
from gnz_track.store.searches import SearchRecord, load_trials, read_searches, rising_best, write_search, write_trials
from gnz_track.store.writer import Store, kill_dead_runs, open_store
from gnz_track.types import Direction


def runs_of(store: Store, kind: str) -> list[PastRun]:
    found = store.search(store.experiments("quick"), {schema.KIND: kind})
    return [read_run(store.address, run.info.run_id) for run in found]


def files_of(run: PastRun) -> dict[str, bytes]:
    folder = Path(run.artifacts.removeprefix("file://"))
    return {name: (folder / name).read_bytes() for name in (schema.SEARCH_FILE, schema.TRIALS_FILE)}


def test_record_comes_back_from_json() -> None:
    one = search_of(seed=3, kind="nested", direction=Direction.down)
    assert from_json(SearchRecord, to_json(one)) == one
    with pytest.raises(BadValue, match="colour"):
        from_json(SearchRecord, json.dumps({**json.loads(to_json(one)), "colour": "red"}))


def test_search_is_one_run_that_can_be_grouped_with_its_cells(store: Store) -> None:
    one = search_of()
    run_id = write_search(store, one)
    store.finish(record(0, context=context_of()))
    (run,) = runs_of(store, schema.SEARCH_RUN)
    assert (run.run_id, run.status) == (run_id, "FINISHED")
    (cell,) = runs_of(store, schema.CELL)
    grouped = (schema.SUITE, schema.SWEEP, schema.TASK, schema.TASK_TYPE, schema.MODEL, schema.METRIC, schema.PROTOCOL)
    assert {run.tags[key] for key in grouped} == {cell.tags[key] for key in grouped}
    assert run.tags[schema.SEARCH] == one.name
    assert json.loads(run.tags[schema.HYPERPARAMETERS]) == dict(one.best)
    seconds, epochs = sum(trial.seconds for trial in one.trials), sum(trial.epochs for trial in one.trials)
    expected = {"val/accuracy": 0.7, "usage/seconds": seconds, "usage/epochs": epochs, "usage/trials": 5}
    assert {key: run.metrics[key] for key in expected} == expected
    assert run.metrics["usage/failed_trials"] == 1
    said = json.loads(files_of(run)[schema.SEARCH_FILE])
    assert (said["sampler"], said["study_seed"], said["space_digest"]) == ("tpe", 7, "abcdef0123456789")
    assert said["cost"]["failed_trials"] == 1
    assert said["versions"]["optuna"] == "5.0.0"
    assert "trials" not in said


def test_search_is_no_cell(store: Store) -> None:
    write_search(store, search_of())
    cell = record(0, context=context_of())
    store.finish(cell)
    assert list(read_table(store.address)["fingerprint"]) == [cell.fingerprint]
    assert list(list_cells(store.address)["fingerprint"]) == [cell.fingerprint]
    assert finished_fingerprints(store.address) == {cell.fingerprint}


def test_search_written_twice_is_one_run_of_the_same_bytes(store: Store) -> None:
    one = search_of()
    first = write_search(store, one)
    (before,) = runs_of(store, schema.SEARCH_RUN)
    history = store.tracking.get_metric_history(first, "curve/val/best")
    files = files_of(before)
    assert write_search(store, one) == first
    (after,) = runs_of(store, schema.SEARCH_RUN)
    assert files_of(after) == files
    assert (after.metrics, after.status) == (before.metrics, "FINISHED")
    assert len(store.tracking.get_metric_history(first, "curve/val/best")) == len(history) == 2


@pytest.mark.parametrize("direction", list(Direction))
def test_search_that_went_on_updates_its_run(store: Store, direction: Direction) -> None:
    better = (*SCORES, 0.75) if direction is Direction.up else (*SCORES, 0.5)
    best = {"best_score": better[-1], "best_number": 5, "best": dict(trial_of(5, better[-1]).hyperparameters)}
    begun = search_of(scores=SCORES[:2], direction=direction)
    whole = replace(search_of(scores=better, direction=direction), **best)
    assert write_search(store, begun) == write_search(store, whole)
    (run,) = runs_of(store, schema.SEARCH_RUN)
    assert (run.metrics["val/accuracy"], run.metrics["usage/trials"]) == (better[-1], 6)
    assert read_searches(store.address) == (whole,)


def test_search_whose_trials_all_failed_is_a_failed_run_until_one_succeeds(store: Store) -> None:
    run_id = write_search(store, search_of(scores=(None, None)))
    failed = read_run(store.address, run_id)
    assert failed.status == "FAILED"
    assert failed.tags[schema.ERROR] == "all 2 trials failed: Diverged: loss is nan"
    assert "val/accuracy" not in failed.metrics
    assert read_searches(store.address)[0].best_number is None
    assert write_search(store, search_of(scores=(None, None, None))) == run_id
    assert read_run(store.address, run_id).tags[schema.ERROR].startswith("all 3 trials failed")
    assert write_search(store, search_of(scores=(None, None, 0.5))) == run_id
    ended = read_run(store.address, run_id)
    assert (ended.status, ended.tags[schema.ERROR]) == ("FINISHED", "")


def test_same_study_for_another_sweep_is_another_run(store: Store) -> None:
    for sweep in ("first", "second"):
        write_search(store, search_of(sweep=sweep))
    assert len(runs_of(store, schema.SEARCH_RUN)) == 2
    assert [one.sweep for one in read_searches(store.address, sweep="second")] == ["second"]


def test_search_for_no_sweep_becomes_that_of_the_first_sweep_and_is_told_once(store: Store) -> None:
    alone = search_of(sweep="")
    run_id = write_search(store, replace(alone, trials=alone.trials[:2]))
    assert write_search(store, alone) == run_id, "it went on"
    assert read_searches(store.address) == (alone,)
    assert write_search(store, search_of()) == run_id
    assert read_searches(store.address) == read_searches(store.address, sweep="first") == (search_of(),)
    (run,) = runs_of(store, schema.SEARCH_RUN)
    assert (run.tags[schema.SWEEP], run.tags[schema.RECORD]) == ("first", search_of().key)
    # Asked for again by itself, it is there; another sweep has it too, as ever.
    assert write_search(store, alone) == run_id
    assert write_search(store, search_of(sweep="second")) != run_id
    assert [one.sweep for one in read_searches(store.address)] == ["first", "second"]


def test_search_that_went_on_behind_its_sweep_is_told_beside_it_until_the_next_sweep(store: Store) -> None:
    write_search(store, search_of())
    longer = search_of(scores=(*SCORES, 0.5))
    run_id = write_search(store, replace(longer, sweep=""))
    assert [(one.sweep, len(one.trials)) for one in read_searches(store.address)] == [("", 6), ("first", 5)]
    assert write_search(store, replace(longer, sweep="second")) == run_id
    assert [(one.sweep, len(one.trials)) for one in read_searches(store.address)] == [("first", 5), ("second", 6)]


def test_half_written_search_is_not_read_and_is_completed_by_the_next_writing(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = search_of()

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(store, "write_text", die)
        with pytest.raises(KeyboardInterrupt):
            write_search(store, one)
    (run,) = runs_of(store, schema.SEARCH_RUN)
    assert run.status == "RUNNING"
    assert read_searches(store.address) == ()
    assert kill_dead_runs(store) == [], "its owner lives"
    assert write_search(store, one) == run.run_id
    assert read_searches(store.address) == (one,)


def many() -> tuple[SearchRecord, ...]:
    """Return searches of three models, one of them by seed, of two sweeps and two tasks, in the order of reading."""
    nested = [search_of("GIN", name=f"quick cora GIN s{seed}", kind="nested", seed=seed) for seed in (2, 10)]
    other = search_of("GCN", sweep="second's", name="quick pubmed GCN", task="pubmed", dataset="pubmed")
    return (search_of("GAT", scores=(None,)), search_of("GCN"), *nested, other)


def check_readers(store: Store) -> None:
    searches = many()
    for one in reversed(searches):
        write_search(store, one)
    store.finish(record(0, context=context_of()))
    assert store.address.is_database
    assert read_searches(store.address) == searches
    for names, expected in (
        ({"sweep": "second's"}, searches[4:]),
        ({"task": "cora", "model": "GIN"}, searches[2:4]),
        ({"suite": "quick", "model": "GCN"}, (searches[1], searches[4])),
        ({"suite": "other"}, ()),
    ):
        tags = {schema.KIND: schema.SEARCH_RUN, **{f"gnz.{name}": value for name, value in names.items()}}
        by_sql, by_rest = (reader(store.address).runs(tags) for reader in (SqlReader, RestReader))
        assert by_sql == by_rest
        assert len(by_sql) == len(expected)
        assert read_searches(store.address, **names) == expected


def test_readers_agree_on_sqlite(store: Store) -> None:
    check_readers(store)


def test_readers_agree_on_postgresql(postgresql_database: str, tmp_path: Path) -> None:
    with open_store(postgresql_database, home=tmp_path) as store:
        check_readers(store)


def test_store_that_is_not_there_has_no_searches(tmp_path: Path) -> None:
    assert read_searches(str(tmp_path / "none.db")) == ()
    assert not (tmp_path / "none.db").exists()


def test_search_whose_files_are_gone_is_left_out_with_a_warning(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    lost, torn, whole = search_of("GAT"), search_of("GCN"), search_of("GIN")
    folders = [Path(read_run(store.address, write_search(store, one)).artifacts[7:]) for one in (lost, torn, whole)]
    (folders[0] / schema.TRIALS_FILE).unlink()
    (folders[1] / schema.SEARCH_FILE).write_text("{")
    assert read_searches(store.address) == (whole,)
    assert [words.count("is left out") for words in caplog.messages] == [1, 1]


def test_trials_are_equal_bytes_whatever_their_order(tmp_path: Path) -> None:
    one = search_of()
    for name, trials in (("a", one.trials), ("b", one.trials[::-1])):
        write_trials(trials, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert load_trials(tmp_path / "a") == one.trials
    table = pd.read_parquet(tmp_path / "a")
    assert list(table["value/lr"]) == [0.001, 0.002, 0.003, 0.004, 0.005]
    assert table["value/hidden_channels"].dtype == "int64"


def test_trials_of_mixed_values_are_written(tmp_path: Path) -> None:
    values = ({"depth": 2, "lr": 1, "norm": "batch"}, {"depth": "deep", "lr": 0.5}, {"norm": True})
    trials = tuple(trial_of(n, 0.5, hyperparameters=one) for n, one in enumerate(values))
    write_trials(trials, tmp_path / "trials.parquet")
    assert load_trials(tmp_path / "trials.parquet") == trials
    table = pd.read_parquet(tmp_path / "trials.parquet")
    assert list(table["value/depth"].dropna()) == ["2", "deep"]
    assert list(table["value/lr"].dropna()) == [1.0, 0.5]
    write_trials((), tmp_path / "none.parquet")
    assert load_trials(tmp_path / "none.parquet") == ()


@pytest.mark.parametrize(("direction", "expected"), [(Direction.up, [0, 3]), (Direction.down, [0, 1])])
def test_best_rises_only_with_better_trials(direction: Direction, expected: list[int]) -> None:
    assert [number for number, _ in rising_best(search_of(direction=direction))] == expected


@pytest.fixture
def data_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


def away() -> Address:
    return parse_address(f"http://127.0.0.1:{free_port()}")


@pytest.mark.usefixtures("data_home")
def test_search_waits_on_disk_while_the_store_is_away_and_is_replayed_once(store: Store) -> None:
    address = away()
    begun, whole = search_of(scores=SCORES[:2]), search_of()
    for one in (begun, whole):
        run_id, notice = keep_search(address, one)
        assert run_id == ""
        assert "waits on this disk: gnz sync" in notice
    folder = outbox_folder(address)
    assert list(count_waiting(folder).values()) == [2]
    done = replay(folder, store)
    assert (len(done.written), len(done.present), done.refused) == (1, 1, ())
    assert read_searches(store.address) == (whole,), "the state before came last"
    assert len(runs_of(store, schema.SEARCH_RUN)) == 1
    assert count_waiting(folder) == {}
    assert replay(folder, store).written == ()


@pytest.mark.usefixtures("data_home")
def test_search_that_is_written_leaves_nothing_on_disk(store: Store) -> None:
    run_id, notice = keep_search(store.address, search_of())
    assert (bool(run_id), notice) == (True, "")
    assert keep_search(store.address, search_of("GAT"))[0] != run_id
    assert not list(outbox_folder(store.address).glob("*.jsonl"))
    assert read_searches(store.address) == (search_of("GAT"), search_of())


@pytest.mark.usefixtures("data_home")
def test_older_state_that_waits_does_not_come_after_a_newer_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, whole = search_of(scores=SCORES[:2]), search_of()

    def gone(*_: object) -> str:
        raise StoreUnreachable("there", "it is away")

    with monkeypatch.context() as patched:
        patched.setattr("gnz_track.store.outbox.write_search", gone)
        assert keep_search(store.address, begun)[0] == ""
    assert list(count_waiting(outbox_folder(store.address)).values()) == [1]
    keep_search(store.address, whole)
    assert replay(outbox_folder(store.address), store).written == ()
    assert read_searches(store.address) == (whole,)


@pytest.mark.usefixtures("data_home")
def test_search_that_the_store_refuses_waits_and_is_named(store: Store) -> None:
    address = away()
    refused = [search_of(scores=SCORES[:n], task="t" * 300) for n in (2, 5)]
    for one in (*refused, search_of()):
        keep_search(address, one)
    done = replay(outbox_folder(address), store)
    assert (len(done.written), len(done.refused), done.present) == (1, 1, ())
    assert "at most 256 characters" in done.refused[0]
    assert list(count_waiting(outbox_folder(address)).values()) == [2], "no state of it is given up"
    assert read_searches(store.address) == (search_of(),)


@pytest.mark.usefixtures("data_home")
def test_torn_line_of_a_search_is_kept_aside(store: Store) -> None:
    address = away()
    keep_search(address, search_of())
    keep_search(address, search_of(scores=(*SCORES, 0.9)))
    (path,) = outbox_folder(address).glob("*.jsonl")
    path.write_bytes(path.read_bytes()[:-50])
    done = replay(outbox_folder(address), store)
    assert (len(done.written), len(done.corrupted)) == (1, 1)
    assert read_searches(store.address) == (search_of(),)


def test_cell_bears_the_name_of_its_search_and_keeps_its_fingerprint(store: Store) -> None:
    plain = record(0, context=context_of())
    chosen = replace(record(1, context=context_of()), search="quick cora GCN")
    assert replace(chosen, search="").key == chosen.key
    for one in (plain, chosen):
        store.finish(one)
    table = read_table(store.address)
    assert dict(zip(table["seed"], table["search"], strict=True)) == {0: "", 1: "quick cora GCN"}


def test_tracking_has_no_searches_unless_it_is_told() -> None:
    assert Tracking(address=parse_address("x.db"), sweep="first").searches == {}


def test_keys_tell_searches_apart() -> None:
    keys = {one.key for one in many()}
    assert len(keys) == len(many())
    expected = hashlib.sha256(json.dumps(["quick", "first", "quick cora GCN"]).encode()).hexdigest()[:32]
    assert search_of().key == expected
