"""Tables of parquet files that others wrote: read whole where they are such tables, and not larger than any of ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gnz_track.errors import BadValue

__all__ = ["read_parquet_table"]

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
