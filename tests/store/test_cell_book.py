"""Cells survive being written as a book, and reading a book runs nothing."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from cells import PROTOCOL, REGRESSION, TASK, cell_of, context_of, record
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.store import schema
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.cell_book import digest_of_book, read_book, write_book
from gnz_track.store.past_runs import read_run, read_sweep_run
from gnz_track.store.schema import book_file
from gnz_track.store.writer import Store
from gnz_track.types import Cell, ModelRow, Optimiser, Task, TaskType

finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(st.integers(-(2**70), 2**70), finite, st.booleans(), st.text(max_size=300))
hyperparameters = st.dictionaries(st.text(min_size=1, max_size=8), values, max_size=4).map(
    lambda found: tuple(sorted(found.items()))
)
models = st.builds(
    ModelRow,
    name=st.text(min_size=1, max_size=8),
    task_types=st.just((TaskType.node_cls,)),
    target=st.sampled_from(["", "nets:Net"]),
    payload=st.binary(max_size=40),
    source_digest=st.text("0123456789abcdef", max_size=32),
    is_encoder=st.booleans(),
)
protocols = finite.map(lambda lr: replace(PROTOCOL, optimisers={TaskType.node_cls: Optimiser(lr=lr)}))
cells = st.builds(
    Cell,
    task=st.sampled_from([TASK, REGRESSION, Task("mine", TaskType.node_cls, "mypkg.data:load", epochs=3)]),
    model=models,
    seed=st.integers(0, 2**31 - 1),
    protocol=protocols,
    epochs=st.integers(1, 500),
    dataset_digest=st.just("d" * 32),
    data=st.just(""),
    hyperparameters=hyperparameters,
)


@given(st.lists(cells, max_size=5))
def test_cells_survive_the_book(chosen: list[Cell]) -> None:
    by_fingerprint = {fingerprint(cell): cell for cell in chosen}
    text = write_book(by_fingerprint, numbers=7)
    cells, numbers = read_book(text)
    assert (cells, numbers) == (by_fingerprint, 7)
    assert [fingerprint(cell) for cell in cells.values()] == list(cells)
    assert write_book(dict(reversed(by_fingerprint.items())), numbers=7) == text


def test_what_cells_share_is_said_once() -> None:
    text = write_book({str(seed): cell_of(seed=seed) for seed in range(500)}, numbers=1)
    assert [len(json.loads(text)[shelf]) for shelf in ("tasks", "models", "protocols", "cells")] == [1, 1, 1, 500]
    assert len(text) < 500 * 200


def test_where_data_lie_and_what_trains_is_no_part_of_the_book() -> None:
    there, here = cell_of(), replace(cell_of(), data="elsewhere", device="cuda:1")
    assert write_book({"f": there}, numbers=1) == write_book({"f": here}, numbers=1)


def test_loader_without_a_name_is_left_out() -> None:
    cell = replace(cell_of(), task=Task("mine", TaskType.node_cls, lambda: None))
    assert read_book(write_book({"f": cell}, numbers=1))[0]["f"].task.loader is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "nothing",
        write_book({"f": cell_of()}, numbers=1).replace('"format": 1', '"format": 2'),
        write_book({"f": cell_of()}, numbers=1).replace('"payload": ""', '"payload": "?"'),
        write_book({"f": cell_of()}, numbers=1).replace('"patience"', '"colour"'),
        write_book({"f": cell_of()}, numbers=1).replace('"model": "', '"model": "x'),
    ],
)
def test_what_is_no_book_is_refused(text: str) -> None:
    with pytest.raises(BadValue, match="a book of cells"):
        read_book(text)


def test_book_lies_in_the_run_of_its_sweep_under_the_digest_that_cells_bear(store: Store) -> None:
    first, second = (write_book({"f": cell_of(seed=seed)}, numbers=1) for seed in (0, 1))
    runs = {}
    for text in (first, second):
        # The same sweep with other cells, as one that was named by hand: neither book takes the place of the other.
        context = context_of(book=text)
        store.close_sweep(store.open_sweep(context))
        runs[text] = store.finish(record(context=context, attempt=str(len(runs) + 1)))
    sweep = read_sweep_run(store.address, suite="quick", sweep="first")
    assert sweep is not None
    for text, run_id in runs.items():
        digest = schema.read_bookkeeping(read_run(store.address, run_id).tags)[schema.BOOK]
        assert digest == digest_of_book(text)
        assert read_artifact(store.address, sweep.artifacts, book_file(digest)) == text
