"""Predictions of a cell as a file: a row an example of validation and test, with its target and the model's outputs."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.store.cell_files.parquet_bytes import read_groups, write_groups
from gnz_track.store.schema import PREDICTIONS_FILE

__all__ = ["RANKS", "PartPredictions", "decode_predictions", "encode_predictions"]

WORDS = ("part", "kind")
# What tells an example from others, and what else is known of it; not every kind of example has all of these.
NUMBERS = ("id", "head", "relation", "tail", "batch")
RANKS = ("rank_of_tail", "rank_of_head")


@dataclass(frozen=True, eq=False)
class PartPredictions:
    """Outputs of a model ``[n, width]`` for the examples of one kind in one part, logits or values, and their targets.

    ``numbers`` are columns ``[n]``: ``id`` tells examples of a dataset apart; edges, links and triples have ends, those
    that are scored in batches a ``batch``. ``targets`` are classes ``[n]`` or numbers ``[n, k]``. ``ranks`` are those
    of true triples among their candidates, NaN for false ones.
    """

    part: str
    kind: str
    numbers: Mapping[str, NDArray[np.int64]]
    targets: NDArray[Any]
    outputs: NDArray[np.float32]
    ranks: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


def encode_predictions(parts: Sequence[PartPredictions]) -> bytes:
    """Return predictions as a file of parquet; all parts have the same columns, or lack ranks."""
    ranks = [name for name in RANKS if any(name in one.ranks for one in parts)]
    return write_groups([_table_of(one, ranks) for one in parts], words=WORDS)


def decode_predictions(
    content: bytes, *, parts: Collection[str] = (), columns: Sequence[str] = ()
) -> list[PartPredictions]:
    """Return the predictions that a file holds.

    Parameters
    ----------
    content
        Bytes of the file.
    parts
        Parts that are wanted; empty: all.
    columns
        Columns that are wanted beside the outputs, where the file has them; empty: all. Targets that are not wanted
        are empty.
    """
    import pyarrow as pa

    file = read_groups(content, _columns(), name=PREDICTIONS_FILE)
    missing = [name for name in (*WORDS, "id", "target", "outputs") if name not in file.schema_arrow.names]
    if missing:
        raise BadValue(f"columns of {PREDICTIONS_FILE}", f"no {', '.join(missing)}", ", ".join(_columns()))
    try:
        asked = [*columns, "outputs"] if columns else None
        words = {n: _words_of(file, n) for n in range(file.metadata.num_row_groups)}
        return [
            _part_of(file.read_row_group(n, asked, use_threads=False), part, kind)
            for n, (part, kind) in words.items()
            if not parts or part in parts
        ]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadValue("file of a cell", PREDICTIONS_FILE, f"one that was written whole ({error})") from error


@functools.cache
def _columns() -> dict[str, tuple[Any, ...]]:
    """Return the types that each column may have."""
    import pyarrow as pa

    rows = pa.list_(pa.field("element", pa.float32(), nullable=False))
    return {
        **dict.fromkeys(WORDS, (pa.string(),)),
        **dict.fromkeys(NUMBERS, (pa.int64(),)),
        "target": (pa.int64(), rows),
        "outputs": (rows,),
        **dict.fromkeys(RANKS, (pa.float64(),)),
    }


def _table_of(one: PartPredictions, ranks: Sequence[str]) -> Any:
    import pyarrow as pa

    n = len(one.outputs)
    none = np.full(n, np.nan)
    columns = {
        **{name: _repeat(getattr(one, name), n) for name in WORDS},
        **{name: pa.array(one.numbers[name], pa.int64()) for name in NUMBERS if name in one.numbers},
        "target": _rows(one.targets) if one.targets.ndim > 1 else pa.array(one.targets, pa.int64()),
        "outputs": _rows(one.outputs),
        **{name: pa.array(one.ranks.get(name, none), pa.float64()) for name in ranks},
    }
    fields = [pa.field(name, column.type, nullable=False) for name, column in columns.items()]
    return pa.table(list(columns.values()), schema=pa.schema(fields))


def _repeat(word: str, n: int) -> Any:
    import pyarrow as pa

    return pa.repeat(pa.scalar(word, pa.string()), n)


def _rows(values: NDArray[Any]) -> Any:
    """Return an array ``[n, width]`` as one list a row."""
    import pyarrow as pa

    n, width = values.shape
    ends = pa.array(np.arange(n + 1, dtype=np.int32) * width)
    flat = pa.array(np.ascontiguousarray(values, dtype=np.float32).ravel())
    return pa.ListArray.from_arrays(ends, flat, type=_columns()["outputs"][0])


def _words_of(file: Any, group: int) -> list[str]:
    """Return the part and the kind of examples of a group, which has one of each."""
    about = file.metadata.row_group(group)
    found = []
    for place, name in enumerate(file.schema_arrow.names):
        if name in WORDS:
            statistics = about.column(place).statistics
            if statistics is None or not statistics.has_min_max or statistics.min != statistics.max:
                message = f"a group of rows is of several {name}s"
                raise ValueError(message)
            found.append(str(statistics.min))
    return found


def _part_of(table: Any, part: str, kind: str) -> PartPredictions:
    names = table.column_names
    return PartPredictions(
        part=part,
        kind=kind,
        numbers={name: table[name].to_numpy() for name in NUMBERS if name in names},
        targets=_targets_of(table),
        outputs=_matrix(table["outputs"]),
        ranks={name: table[name].to_numpy() for name in RANKS if name in names},
    )


def _targets_of(table: Any) -> NDArray[Any]:
    if "target" not in table.column_names:
        return np.empty(0)
    target = table["target"]
    found: NDArray[Any] = _matrix(target) if str(target.type).startswith("list") else target.to_numpy()
    return found


def _matrix(column: Any) -> NDArray[np.float32]:
    """Return lists of equal length as ``[n, width]``."""
    rows = column.combine_chunks()
    widths = np.diff(rows.offsets.to_numpy())
    width = int(widths[0]) if len(widths) else 0
    if (widths != width).any():
        message = "its rows are of several widths"
        raise ValueError(message)
    values: NDArray[np.float32] = rows.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(widths), width)
