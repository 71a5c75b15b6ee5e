"""Rows of records that were just written are those that readers give."""

from __future__ import annotations

import pandas as pd
import pytest
from cells import cell_of, context_of, finished, record, result_of, sweep_records

from gnz_track.records import from_json, to_json
from gnz_track.store.read_rest import RestReader
from gnz_track.store.reader import read_table
from gnz_track.store.results_table import COLUMNS, empty_table, one_row_per_cell, table_of_records
from gnz_track.store.row_filters import RunFilter
from gnz_track.store.run_record import RunRecord
from gnz_track.store.writer import Store


def same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, check_exact=True)


def test_rows_are_those_of_all_readers(store: Store) -> None:
    records = list(sweep_records(context_of()))
    recorded = table_of_records([(store.finish(one), one) for one in records])
    assert list(recorded["seed"]) == [one.seed for one in records], "the order is the given one"
    same(one_row_per_cell(recorded), read_table(store.address))
    same(one_row_per_cell(recorded), one_row_per_cell(RestReader(store.address).table(RunFilter())))


def test_rows_of_odd_results_are_those_of_readers(store: Store) -> None:
    odd = {"score": float("nan"), "scores": {"accuracy": float("nan")}}
    scores = {"accuracy": 1 / 3, "hits@10": 0.25, "accuracy_on_training": 0.5}
    records = [
        finished(result_of(cell_of(seed=0), **odd)),
        finished(result_of(cell_of(seed=1), score=0.25, metric="hits@10", scores=scores)),
        finished(result_of(cell_of(seed=2, norm="é" * 5000), peak_device_mib=0.1, n_parameters=None)),
    ]
    recorded = table_of_records([(store.finish(one), one) for one in records])
    same(one_row_per_cell(recorded), read_table(store.address))
    assert list(recorded["status"]) == ["failed", "finished", "finished"]
    assert list(recorded["score"])[1] == 0.25
    on_training = recorded["score_on_training"].tolist()
    assert pd.isna(on_training[:2]).all(), "that of another metric is none of this one"
    assert on_training[2] == 0.96875


def test_record_that_waits_gives_the_row_that_it_will_have(store: Store) -> None:
    one = record(3, lr=0.1)
    waiting = table_of_records([("", from_json(RunRecord, to_json(one)))])
    [run_id] = waiting["run_id"]
    assert run_id == ""
    written = table_of_records([(store.finish(one), one)])
    same(waiting.drop(columns="run_id"), written.drop(columns="run_id"))


def test_no_records_are_the_empty_table() -> None:
    same(table_of_records([]), empty_table())


@pytest.mark.parametrize("column", COLUMNS)
def test_types_do_not_depend_on_the_content(column: str) -> None:
    assert table_of_records([("", record())])[column].dtype == empty_table()[column].dtype
