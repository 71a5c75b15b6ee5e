"""Parquet files: ours written whole, and those of others read where they are tables no larger than any of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.files import write_whole

__all__ = ["read_parquet_table", "write_parquet_table"]

# A hundred times the largest sweep that was measured. A small file may hold a huge table.
MOST_ROWS, MOST_BYTES = 10_000_000, 4 * 2**30


def read_parquet_table(path: Path) -> Any:
    """Return the table of a file; what is none, or is too large, is a :class:`BadValue`."""
    import pyarrow.parquet as pq
    from pyarrow import ArrowException

    try:
        about = pq.read_metadata(path)
        size = sum(about.row_group(n).total_byte_size for n in range(about.num_row_groups))
        if about.num_rows > MOST_ROWS or size > MOST_BYTES:
            allowed = f"at most {MOST_ROWS} rows and {MOST_BYTES} bytes"
            raise BadValue(f"size of {path.name}", f"{about.num_rows} rows, {size} bytes", allowed)
        # One thread: small tables gain nothing by more, and cells may be training beside.
        return pq.read_table(path, use_threads=False)
    except (ArrowException, OSError) as error:
        raise BadValue("results table", path.name, f"a parquet file ({error})") from error


def write_parquet_table(table: Any, path: Path, *, rows_per_group: int | None = None) -> None:
    """Write a table of Arrow so that equal tables give equal bytes, and readers see all of it or none.

    Parameters
    ----------
    table
        The table.
    path
        File to write.
    rows_per_group
        Rows that are compressed together.
    """
    import pyarrow.parquet as pq

    with write_whole(path) as unfinished:
        pq.write_table(
            table, unfinished, compression="zstd", version="2.6", row_group_size=rows_per_group, store_schema=False
        )
