"""Curves over epochs: thinned to what a chart can show, and as a parquet file with a row per cell, series and epoch."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from gnz_track.errors import BadValue
from gnz_track.store.files.parquet import write_parquet_table
from gnz_track.store.schema import MOST_CURVE_POINTS, MOST_POINTS

__all__ = ["Curve", "fill_up", "is_streamed", "load_curves", "straighten", "thin", "thin_all", "write_curves"]


# A long cell reports its first points all, later ones ever more rarely: some fifty in a day.
FIRST_STREAMED, GROWTH = 20, 1.2

# (epoch, value), epochs rising.
Curve = tuple[tuple[int, float], ...]


def thin(values: Sequence[float], *, keep: int | None = None, limit: int = MOST_CURVE_POINTS) -> Curve:
    """Return some points of a curve, evenly spaced: first, last and ``keep`` are among them.

    Values that are no finite number are left out: MLflow turns an infinity into 1.8e308, which spoils every mean.

    >>> thin([0.9, 0.5, 0.4, 0.3, 0.2], keep=3, limit=3)
    ((0, 0.9), (3, 0.3), (4, 0.2))

    Parameters
    ----------
    values
        Value of each epoch, ``[epochs]``.
    keep
        Epoch that must be among the points.
    limit
        Most points, at least 3.
    """
    n = len(values)
    wanted = set(range(n))
    if n > limit:
        must = {0, n - 1} | ({keep} if keep is not None and 0 <= keep < n else set())
        steps = limit - len(must)
        wanted = must | {round(k * (n - 1) / (steps + 1)) for k in range(1, steps + 1)}
    return tuple((epoch, float(values[epoch])) for epoch in sorted(wanted) if math.isfinite(values[epoch]))


def thin_all(series: Mapping[str, Sequence[float]], *, keep: int | None = None) -> dict[str, Curve]:
    """Thin all series of a cell so that together they fit one request to MLflow."""
    limit = max(3, min(MOST_CURVE_POINTS, MOST_POINTS // max(1, len(series))))
    return {name: thin(values, keep=keep, limit=limit) for name, values in sorted(series.items())}


def straighten(curve: Curve) -> tuple[float, ...]:
    """Return a value for every epoch up to the last kept one, on straight lines between those kept.

    NaN stands before the first. A thinned curve keeps its epochs that way: its tenth point is not its tenth epoch.

    >>> straighten(((0, 1.0), (2, 3.0), (3, 3.5)))
    (1.0, 2.0, 3.0, 3.5)
    """
    values: list[float] = []
    for epoch, value in curve:
        n, before = epoch - len(values) + 1, values[-1] if values else math.nan
        values += [before + (value - before) * step / n for step in range(1, n)] + [value]
    return tuple(values)


def is_streamed(n: int) -> bool:
    """Tell whether the n-th report of a long cell, counted from 1, carries points: the others say that it is alive.

    >>> sum(is_streamed(n) for n in range(1, 24 * 360 + 1))
    53
    """
    return n <= FIRST_STREAMED or _steps(n) > _steps(n - 1)


def fill_up(points: Curve, streamed: Collection[int], *, keep: int | None = None) -> Curve:
    """Return what of a curve is still to be written where some epochs were streamed: together at most a hundred.

    Parameters
    ----------
    points
        All points of the curve.
    streamed
        Epochs that the store has.
    keep
        Epoch that must be written.
    """
    left = [point for point in points if point[0] not in streamed]
    room = max(3, MOST_CURVE_POINTS - len(streamed))
    kept = next((place for place, (epoch, _) in enumerate(left) if epoch == keep), None)
    return tuple(left[place] for place, _ in thin([0.0] * len(left), keep=kept, limit=room))


def _steps(n: int) -> int:
    return math.floor(math.log(n) / math.log(GROWTH))


COLUMNS = ("fingerprint", "series", "epoch", "value")


def write_curves(curves: Mapping[str, Mapping[str, Curve]], path: Path) -> None:
    """Write fingerprint -> series -> points, sorted by all of them."""
    import pyarrow as pa

    rows = [
        (fingerprint, name, epoch, value)
        for fingerprint, series in sorted(curves.items())
        for name, points in sorted(series.items())
        for epoch, value in sorted(points)
    ]
    kinds = (pa.string(), pa.string(), pa.int64(), pa.float64())
    columns = list(zip(*rows, strict=True)) or [()] * len(COLUMNS)
    table = pa.table({name: pa.array(values, kind) for name, values, kind in zip(COLUMNS, columns, kinds, strict=True)})
    write_parquet_table(table, path)


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
