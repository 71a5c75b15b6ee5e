from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.store.curves import load_curves, write_curves

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
POINTS = st.dictionaries(st.integers(0, 1000), st.floats(allow_nan=False), min_size=1, max_size=5).map(
    lambda points: tuple(sorted(points.items()))
)
CURVES = st.dictionaries(NAMES, st.dictionaries(NAMES, POINTS, min_size=1, max_size=3), max_size=4)


@given(CURVES)
def test_what_is_written_is_read_and_the_order_does_not_matter(curves: dict[str, dict[str, object]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, other = Path(folder) / "one.parquet", Path(folder) / "other.parquet"
        write_curves(curves, one)  # type: ignore[arg-type]
        backwards = {key: dict(reversed(series.items())) for key, series in reversed(curves.items())}
        write_curves(backwards, other)  # type: ignore[arg-type]
        assert load_curves(one) == curves
        assert one.read_bytes() == other.read_bytes()


def test_table_of_something_else_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "a.parquet")
    with pytest.raises(BadValue, match=r"columns of a.parquet is 'a'; allowed: fingerprint, series, epoch, value"):
        load_curves(tmp_path / "a.parquet")
