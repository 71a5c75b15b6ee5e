from __future__ import annotations

import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from result_rows import SIX, row, table_of

from gnz_track.errors import BadValue
from gnz_track.store.results_table import COLUMNS, empty_table, load_table, sort_rows, write_table


def test_types_of_columns_do_not_depend_on_the_content() -> None:
    types = {name: str(kind) for name, kind in empty_table().dtypes.items()}
    assert types == {name: kind for name, (_, _, kind) in COLUMNS.items()}
    for rows in (SIX, [row("a", "GCN", 0, None)], [{"seed": None}]):
        assert {name: str(kind) for name, kind in table_of(*rows).dtypes.items()} == types


def test_table_comes_back_from_parquet(tmp_path: Path) -> None:
    table = table_of(*SIX, row("c", "GCN", 0, None, error="ValueError: é"), row("c", "GCN", 1, 0.1 + 0.2))
    write_table(table, tmp_path / "results.parquet")
    pd.testing.assert_frame_equal(load_table(tmp_path / "results.parquet"), sort_rows(table), check_exact=True)
    write_table(empty_table(), tmp_path / "empty.parquet")
    pd.testing.assert_frame_equal(load_table(tmp_path / "empty.parquet"), empty_table())


@settings(max_examples=15, deadline=None)
@given(st.permutations(range(len(SIX))))
def test_equal_tables_are_equal_bytes(order: list[int]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        a, b = Path(temporary) / "a.parquet", Path(temporary) / "b.parquet"
        write_table(table_of(*SIX), a)
        write_table(table_of(*(SIX[n] for n in order)), b)
        assert a.read_bytes() == b.read_bytes()
        assert [file.name for file in sorted(Path(temporary).iterdir())] == ["a.parquet", "b.parquet"]


def test_another_parquet_file_is_refused(tmp_path: Path) -> None:
    pd.DataFrame({"score": [1.0]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(BadValue, match="columns of a results table is 'score'"):
        load_table(tmp_path / "other.parquet")


def test_table_of_an_earlier_version_names_no_search(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    write_table(table_of(*SIX), tmp_path / "now.parquet")
    pq.write_table(pq.read_table(tmp_path / "now.parquet").drop(["search"]), tmp_path / "before.parquet")
    pd.testing.assert_frame_equal(load_table(tmp_path / "before.parquet"), load_table(tmp_path / "now.parquet"))
    with pytest.raises(BadValue, match="a table that has search"):
        load_table(tmp_path / "before.parquet", is_of_now=True)
    pq.write_table(pq.read_table(tmp_path / "now.parquet").drop(["score"]), tmp_path / "other.parquet")
    with pytest.raises(BadValue, match="a table that has score"):
        load_table(tmp_path / "other.parquet")
