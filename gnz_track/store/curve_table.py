"""Curves of cells as one parquet file: a row per cell, series and epoch; equal curves give equal bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gnz_track.errors import BadValue
from gnz_track.store.curves import Curve

__all__ = ["load_curves", "write_curves"]

COLUMNS = ("fingerprint", "series", "epoch", "value")


def write_curves(curves: Mapping[str, Mapping[str, Curve]], path: Path) -> None:
    """Write fingerprint -> series -> points, sorted by all of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = [
        (fingerprint, name, epoch, value)
        for fingerprint, series in sorted(curves.items())
        for name, points in sorted(series.items())
        for epoch, value in sorted(points)
    ]
    kinds = (pa.string(), pa.string(), pa.int64(), pa.float64())
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    table = pa.table({name: pa.array(values, kind) for name, values, kind in zip(COLUMNS, columns, kinds, strict=True)})
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    pq.write_table(table, unfinished, compression="zstd", version="2.6", store_schema=False)
    unfinished.replace(path)


def load_curves(path: Path) -> dict[str, dict[str, Curve]]:
    """Return what :func:`write_curves` wrote."""
    import pyarrow.parquet as pq

    table = pq.read_table(path, use_threads=False)
    if tuple(table.column_names) != COLUMNS:
        raise BadValue(f"columns of {path.name}", ", ".join(table.column_names), ", ".join(COLUMNS))
    found: dict[str, dict[str, list[tuple[int, float]]]] = {}
    for fingerprint, name, epoch, value in zip(*(table[column].to_pylist() for column in COLUMNS), strict=True):
        found.setdefault(fingerprint, {}).setdefault(name, []).append((epoch, value))
    return {key: {name: tuple(points) for name, points in series.items()} for key, series in found.items()}
