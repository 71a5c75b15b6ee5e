from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
from cells import REGRESSION, cell_of, context_of, failed_record, record, sweep_records
from conftest import mlflow_server

from gnz_track.errors import UnknownName
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.listings import CELL_COLUMNS, SWEEP_COLUMNS, has_tables, list_cells, list_failures, list_sweeps
from gnz_track.store.read_rest import RestReader
from gnz_track.store.read_sql import SqlReader
from gnz_track.store.results_table import sort_rows
from gnz_track.store.row_filters import RunFilter
from gnz_track.store.run_record import RunRecord, SweepContext, record_of_start
from gnz_track.store.writer import Store, open_store
from gnz_track.types import Direction, Metric

ACCURACY = Metric(name="accuracy", direction=Direction.up, description="")


def begun(seed: int, context: SweepContext, at: int = 1_760_000_500_000) -> RunRecord:
    """Return the start of a cell that has the fingerprint of ``record(seed)``."""
    fingerprint = record(seed).fingerprint
    return record_of_start(cell_of(seed=seed), context, fingerprint=fingerprint, metric=ACCURACY, started_at=at)


def fill(store: Store) -> None:
    """Write one sweep that ended, one that runs with a cell in every state, and one that has no cells yet."""
    first = context_of("first")
    run_id = store.open_sweep(first)
    for one in sweep_records(first):
        store.finish(one)
    store.close_sweep(run_id)
    second = context_of("it's second")
    store.open_sweep(second)
    store.finish(record(0, context=second))
    store.finish(failed_record(1, context=second))
    store.start(begun(2, second))
    store.kill(store.start(begun(3, second)), "Killed: its owner runs no more")
    store.open_sweep(context_of("third", suite="classic"))


def check_readers_agree(address: Address) -> None:
    for wanted, columns, n in (
        (RunFilter(in_any_state=True), CELL_COLUMNS, 14),
        (RunFilter(in_any_state=True, sweep="it's second", tasks=("cora",)), CELL_COLUMNS, 4),
        (RunFilter(in_any_state=True, kind=schema.SWEEP_RUN), SWEEP_COLUMNS, 3),
        (RunFilter(kind=schema.SWEEP_RUN, suite="quick"), SWEEP_COLUMNS, 1),
    ):
        by_sql, by_rest = (reader(address).table(wanted, columns=columns) for reader in (SqlReader, RestReader))
        assert len(by_sql) == n
        pd.testing.assert_frame_equal(sort_rows(by_sql), sort_rows(by_rest), check_exact=True)


def test_readers_agree_in_every_state_on_sqlite(store: Store) -> None:
    fill(store)
    check_readers_agree(store.address)


def test_readers_agree_in_every_state_on_postgresql(postgresql_database: str, tmp_path: Path) -> None:
    address = parse_address(postgresql_database, home=tmp_path)
    assert not has_tables(address)
    assert not has_tables(address), "asking has made tables"
    with open_store(address) as store:
        fill(store)
    assert has_tables(address)
    check_readers_agree(address)
    assert [row.sweep for row in list_sweeps(address)] == ["first", "it's second", "third"]


def test_server_lists_what_its_database_lists(store: Store, database: Path, tmp_path: Path) -> None:
    fill(store)
    with mlflow_server(database, tmp_path) as uri:
        served = parse_address(uri)
        assert list_sweeps(served) == list_sweeps(store.address)
        pd.testing.assert_frame_equal(list_cells(served), list_cells(store.address), check_exact=True)


def test_sweeps_are_counted(store: Store) -> None:
    fill(store)
    first, second, third = list_sweeps(store.address)
    assert (first.sweep, first.suite, first.status) == ("first", "quick", "finished")
    assert (first.n_finished, first.n_failed, first.n_running, first.n_killed) == (9, 1, 0, 0)
    assert (first.tasks, first.models, first.seeds) == (("cora", "zinc"), ("GAT", "GCN"), (0, 1, 2))
    assert first.started.timestamp() == min(one.started_at for one in sweep_records(context_of())) / 1000
    assert (second.status, second.n_finished, second.n_failed, second.n_running, second.n_killed) == (
        "running",
        *(1, 1, 1, 1),
    )
    assert (third.suite, third.status, third.n_finished, third.tasks) == ("classic", "running", 0, ())


def test_one_task_and_model_narrow_what_is_counted(store: Store) -> None:
    fill(store)
    [first] = list_sweeps(store.address, task="zinc")
    assert (first.sweep, first.n_finished, first.tasks) == ("first", 4, ("zinc",))
    [gat] = list_sweeps(store.address, model="GAT")
    assert (gat.n_finished, gat.n_failed) == (4, 1)
    assert [row.sweep for row in list_sweeps(store.address, suite="classic")] == ["third"]
    assert set(list_cells(store.address, sweep="first", task="cora", model="GAT")["seed"]) == {0, 1, 2}


def test_cell_stands_as_its_finished_run_or_else_its_latest(store: Store) -> None:
    context = context_of()
    store.kill(store.start(begun(0, context, at=1)), "Killed: by a test")
    store.finish(record(0))
    store.start(begun(0, context))  # later than the one that finished
    store.finish(failed_record(1, attempt="1"))
    latest = store.start(begun(1, context))
    cells = list_cells(store.address)
    assert cells["status"].tolist() == ["finished", "running"]
    assert cells["run_id"].tolist()[1] == latest
    assert [(row.status, row.n_finished, row.n_running) for row in list_sweeps(store.address)] == [("", 1, 1)]


def test_same_cell_in_two_sweeps_is_listed_in_both(store: Store) -> None:
    for name in ("a", "b"):
        store.finish(record(0, context=context_of(name)))
    assert list_cells(store.address)["sweep"].tolist() in (["a", "b"], ["b", "a"])
    assert [row.n_finished for row in list_sweeps(store.address)] == [1, 1]


def test_failures_are_grouped_by_reason(store: Store) -> None:
    fill(store)
    store.finish(failed_record(4, task=REGRESSION))
    odd, killed = list_failures(list_cells(store.address))
    assert odd.reason.startswith("ValueError: odd")
    assert (odd.status, odd.sweeps) == ("failed", ("first", "it's second"))
    assert sorted(odd.cells) == ["cora GAT s2", "cora GCN s1", "zinc GCN s4"]
    assert len(set(odd.run_ids)) == 3
    assert (killed.status, killed.cells) == ("killed", ("cora GCN s3",))
    assert killed.reason == "Killed: its owner runs no more"


def test_failures_name_the_variant_that_failed(store: Store) -> None:
    store.finish(record(0))
    for place, protocol in enumerate(("dwivedi-100k@1", "dwivedi-100k-pe@1")):
        failed = failed_record(0, model="GAT", lr=0.5)
        store.finish(dataclasses.replace(failed, fingerprint=f"{place:032}", protocol=protocol))
    store.finish(failed_record(1, lr=0.5))
    store.finish(record(1))
    (found,) = list_failures(list_cells(store.address))
    assert sorted(found.cells) == [
        "cora GAT dwivedi-100k-pe@1 s0",
        "cora GAT dwivedi-100k@1 s0",
        "cora GCN lr=0.5 s1",
    ]


@pytest.mark.parametrize(
    ("names", "near"),
    [
        ({"sweep": "frist"}, ["first"]),
        ({"suite": "quik"}, ["quick"]),
        ({"task": "coraa"}, ["cora"]),
        ({"model": "gcn"}, ["GCN"]),
        ({"suite": "classic", "sweep": "first"}, []),
    ],
)
def test_unknown_name_is_told_with_what_is_near(names: dict[str, str], near: list[str], store: Store) -> None:
    fill(store)
    with pytest.raises(UnknownName, match="gnz ls") as caught:
        list_cells(store.address, **names)
    assert caught.value.near == near


def test_asking_makes_nothing(tmp_path: Path) -> None:
    assert not has_tables(parse_address(str(tmp_path / "new" / "gnz.db")))
    assert not (tmp_path / "new").exists()


def test_empty_store_has_no_sweeps(store: Store) -> None:
    assert has_tables(store.address)
    assert list_sweeps(store.address) == []
    assert list_failures(list_cells(store.address)) == []
