"""Curves come back as they were stored, by SQL and by MLflow's own calls alike."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cells import cell_of, context_of, failed_record, finished, record, result_of, sweep_records

from gnz_track.errors import StoreUnusable
from gnz_track.store.curves import Curve
from gnz_track.store.past_runs import read_curves
from gnz_track.store.run_record import RunRecord
from gnz_track.store.writer import Store, open_store

Curves = dict[str, dict[str, Curve]]
Read = Callable[[Store, list[str]], Curves]
UNKNOWN = "0" * 32


@pytest.fixture
def read_both(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Return a function that reads both ways, holds the answers equal, and returns one."""

    def read(store: Store, run_ids: list[str]) -> Curves:
        by_sql = read_curves(store.address, run_ids)
        with monkeypatch.context() as patch:
            patch.setattr("gnz_track.store.reader.KNOWN_REVISIONS", {})
            patch.setattr("gnz_track.store.reader.SqlReader", None)
            by_rest = read_curves(store.address, run_ids)
        assert by_sql == by_rest
        return by_sql

    return read


def curves_of(one: RunRecord) -> dict[str, Curve]:
    return {name: curve for name, curve in one.curves.items() if curve}


def test_curves_are_those_of_the_records(store: Store, read_both: Read) -> None:
    records = {store.finish(one): one for one in sweep_records(context_of())}
    found = read_both(store, list(records))
    assert found == {run_id: curves_of(one) for run_id, one in records.items()}
    assert max(len(curve) for series in found.values() for curve in series.values()) > 90


def test_only_the_runs_asked_for_are_read(store: Store, read_both: Read) -> None:
    run_ids = [store.finish(record(seed)) for seed in range(3)]
    assert set(read_both(store, run_ids[:2])) == set(run_ids[:2])


def test_names_come_back_as_the_schema_says(store: Store, read_both: Read) -> None:
    series = {"train/loss": (1.0, 0.5), "val/hits@10": (0.1, 0.2), "test/f1(macro)": (0.3, 0.4), "val/a_x28_b": (1.0,)}
    run_id = store.finish(finished(result_of(cell_of(), series=series, selected_epoch=1)))
    [found] = read_both(store, [run_id]).values()
    assert found == {
        "train/loss": ((0, 1.0), (1, 0.5)),
        "val/hits_at_10": ((0, 0.1), (1, 0.2)),
        "test/f1(macro)": ((0, 0.3), (1, 0.4)),
        "val/a_x28_b": ((0, 1.0),),
    }


def test_final_metrics_are_no_curves(store: Store, read_both: Read) -> None:
    run_id = store.finish(record())
    assert set(read_both(store, [run_id])[run_id]) == {"train/loss", "val/accuracy", "test/accuracy"}


def test_runs_without_curves_and_unknown_runs_have_none(store: Store, read_both: Read) -> None:
    known, failed = store.finish(record()), store.finish(failed_record())
    found = read_both(store, [UNKNOWN, failed, known, known, ""])
    assert set(found) == {UNKNOWN, failed, known}, "what waits on a disk has no run"
    assert (found[UNKNOWN], found[failed]) == ({}, {})
    assert found[known]


def test_more_runs_than_one_query_takes(store: Store, read_both: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    records = {store.finish(one): one for one in sweep_records(context_of())}
    monkeypatch.setattr("gnz_track.store.read_sql.RUNS_PER_QUERY", 3)
    assert read_both(store, list(records)) == {run_id: curves_of(one) for run_id, one in records.items()}


def test_point_that_was_streamed_and_replayed_is_one_point(store: Store, read_both: Read) -> None:
    one = record()
    run_id = store.start(one)
    store.stream(run_id, {"train/loss": (0, 1.0)}, at=one.started_at + 1)
    with open_store(store.address) as later:
        later.finish(one, run_id)
    assert len(store.tracking.get_metric_history(run_id, "curve/train/loss")) == len(one.curves["train/loss"]) + 1
    assert read_both(store, [run_id]) == {run_id: curves_of(one)}


def test_no_runs_ask_no_store(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.db")
    assert read_curves(missing, []) == {}
    with pytest.raises(StoreUnusable, match="no such file"):
        read_curves(missing, [UNKNOWN])
