"""Series of a cell as a file: the value of every series at every epoch, where a store's own metrics are thinned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnz_track.errors import BadValue
from gnz_track.store.cell_files.parquet_bytes import read_groups, write_groups
from gnz_track.store.schema import SERIES_FILE

__all__ = ["decode_series", "encode_series"]

COLUMNS = ("series", "epoch", "value")


def encode_series(series: Mapping[str, Sequence[float]]) -> bytes:
    """Return series as a file of parquet, sorted by name and epoch; what is no finite number is there as it is."""
    import pyarrow as pa

    names = sorted(series)
    lengths = [len(series[name]) for name in names]
    columns = (
        pa.array([name for name, n in zip(names, lengths, strict=True) for _ in range(n)], pa.string()),
        pa.array([epoch for n in lengths for epoch in range(n)], pa.int64()),
        pa.array([float(value) for name in names for value in series[name]], pa.float64()),
    )
    fields = [pa.field(name, column.type, nullable=False) for name, column in zip(COLUMNS, columns, strict=True)]
    return write_groups([pa.table(list(columns), schema=pa.schema(fields))], words=("series",))


def decode_series(content: bytes) -> dict[str, tuple[float, ...]]:
    """Return what :func:`encode_series` was given."""
    import pyarrow as pa

    kinds = (pa.string(), pa.int64(), pa.float64())
    file = read_groups(content, {name: (kind,) for name, kind in zip(COLUMNS, kinds, strict=True)}, name=SERIES_FILE)
    try:
        table = file.read(use_threads=False)
        rows = zip(*(table[name].to_pylist() for name in COLUMNS), strict=True)
    except (pa.ArrowException, OSError, KeyError, UnicodeError) as error:
        raise BadValue("file of a cell", SERIES_FILE, f"one that was written whole ({error})") from error
    found: dict[str, list[float]] = {}
    for name, _, value in rows:
        found.setdefault(name, []).append(value)
    return {name: tuple(values) for name, values in found.items()}
