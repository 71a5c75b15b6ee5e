"""Parquet files as bytes: equal tables give equal bytes, and what is read has the columns and the size that it may."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from gnz_track.errors import BadValue

__all__ = ["read_groups", "write_groups"]

# A file of a cell has some thousand rows; a small file may say that it holds a huge table, whose rows may be long.
MOST_ROWS, MOST_VALUES, MOST_BYTES = 10_000_000, 2**27, 2**30


def write_groups(tables: Sequence[Any], *, words: Sequence[str] = ()) -> bytes:
    """Return tables of one schema as a file, each a group of rows that can be read alone.

    Nothing of the time or the machine is in it: equal tables give equal bytes.

    Parameters
    ----------
    tables
        Tables of Arrow.
    words
        Columns of few different texts; which of them a group holds is told without reading it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    output = pa.BufferOutputStream()
    how = {"compression": "zstd", "version": "2.6", "store_schema": False, "write_statistics": list(words)}
    with pq.ParquetWriter(output, tables[0].schema, use_dictionary=list(words), **how) as writer:
        for table in tables:
            writer.write_table(table, row_group_size=max(1, table.num_rows))
    content: bytes = output.getvalue().to_pybytes()
    return content


def read_groups(content: bytes, columns: Mapping[str, Sequence[Any]], *, name: str) -> Any:
    """Return an open file of parquet whose columns are among those given, each of one of its types.

    Parameters
    ----------
    content
        Bytes of the file.
    columns
        Column -> types of Arrow that it may have.
    name
        Name of the file, for errors.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        about = file.metadata
        groups = [about.row_group(n) for n in range(about.num_row_groups)]
        size = sum(group.total_byte_size for group in groups)
        n_values = sum(group.column(place).num_values for group in groups for place in range(group.num_columns))
        if about.num_rows > MOST_ROWS or n_values > MOST_VALUES or size > MOST_BYTES:
            found = f"{about.num_rows} rows, {n_values} values, {size} bytes"
            allowed = f"at most {MOST_ROWS} rows, {MOST_VALUES} values and {MOST_BYTES} bytes"
            raise BadValue(f"size of {name}", found, allowed)
        counts = Counter(file.schema_arrow.names)
        # What is missing among its values, or is there twice, was written by somebody else.
        wrong = [
            one.name
            for one in file.schema_arrow
            if one.type not in columns.get(one.name, ()) or one.nullable or counts[one.name] > 1
        ]
    except (pa.ArrowException, OSError) as error:
        raise BadValue("file of a cell", name, f"a parquet file ({error})") from error
    if wrong:
        raise BadValue(f"columns of {name}", ", ".join(wrong), ", ".join(columns))
    return file
