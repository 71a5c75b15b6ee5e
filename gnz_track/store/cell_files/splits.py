"""A split as a file: the numbers of the examples of each part, which cells of one split digest share."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.store.cell_files.parquet_bytes import read_groups, write_groups
from gnz_track.store.schema import SPLIT_FILE

__all__ = ["Split", "decode_split", "encode_split"]

# Part -> columns of the examples in it: ``id`` of nodes, graphs and labelled edges; of links and triples their ends,
# and in ``label`` whether they are there, or were drawn.
Split = Mapping[str, Mapping[str, NDArray[np.int64]]]
NUMBERS = ("id", "head", "relation", "tail", "label")


def encode_split(split: Split) -> bytes:
    """Return a split as a file of parquet, its parts in their order; all have the same columns."""
    import pyarrow as pa

    tables = []
    for part, numbers in split.items():
        arrays = [pa.array(numbers[name], pa.int64()) for name in NUMBERS if name in numbers]
        word = pa.repeat(pa.scalar(part, pa.string()), len(arrays[0]))
        names = ["part", *(name for name in NUMBERS if name in numbers)]
        fields = [pa.field(name, pa.int64() if name in NUMBERS else pa.string(), nullable=False) for name in names]
        tables.append(pa.table([word, *arrays], schema=pa.schema(fields)))
    return write_groups(tables, words=("part",))


def decode_split(content: bytes) -> dict[str, dict[str, NDArray[np.int64]]]:
    """Return what :func:`encode_split` was given; a part without examples is not there."""
    import pyarrow as pa

    columns = {"part": (pa.string(),), **dict.fromkeys(NUMBERS, (pa.int64(),))}
    file = read_groups(content, columns, name=SPLIT_FILE)
    try:
        table = file.read(use_threads=False)
        parts = np.array(table["part"].to_pylist(), dtype=object)
    except (pa.ArrowException, OSError, KeyError) as error:
        raise BadValue("file of a cell", SPLIT_FILE, f"one that was written whole ({error})") from error
    names = [name for name in NUMBERS if name in table.column_names]
    return {str(part): {name: table[name].to_numpy()[parts == part] for name in names} for part in dict.fromkeys(parts)}
