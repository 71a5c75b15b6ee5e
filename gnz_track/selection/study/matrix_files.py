"""Matrices of other people, and for them: CSV that anyone can write, and ``.npz`` that keeps all."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.selection.graph_files import open_archive
from gnz_track.selection.matrix import ModelSetting, PerformanceMatrix, bare_matrix
from gnz_track.stats.inputs import read_direction
from gnz_track.training.metrics import METRICS
from gnz_track.types import Direction

__all__ = ["read_matrix", "write_matrix"]

_ARRAYS = ("scores", "seconds", "spread")
_HEAD = re.compile(r"graph(?: \((?P<metric>.*), (?P<direction>up|down)\))?", re.DOTALL)
# How tables write that a cell is unknown.
_UNKNOWN = frozenset({"", "na", "n/a", "#n/a", "<na>", "nan", "-nan", "null", "none"})


def write_matrix(matrix: PerformanceMatrix, path: str | Path) -> None:
    """Write a matrix as ``.csv`` (a row per graph, a column per setting, empty where unknown) or as ``.npz``.

    CSV holds labels and scores, and metric and direction in the head of its first column: ``graph (rmse, down)``;
    ``.npz`` holds seconds and ids of runs too, and no pickle.
    """
    path = Path(path)
    write = _known_form(path, _WRITERS)
    try:
        write(matrix, path)
    except OSError as error:
        reason = f"a path in a folder that exists and can be written ({error.strerror or error})"
        raise BadValue("the file of the matrix", str(path), reason) from error


def read_matrix(path: str | Path, *, metric: str = "", direction: Direction | str | None = None) -> PerformanceMatrix:
    """Read a matrix.

    The file of somebody else is a CSV whose first column is ``graph``, or ``graph (rmse, down)``, followed by one
    column per setting.

    Parameters
    ----------
    path
        A CSV file.
    metric
        Metric where the file does not tell; without a word of either, a metric ``score``, higher is better.
    direction
        Its direction where the file does not tell; needed but for metrics of this package, which have
        their own and no other.
    """
    path = Path(path)
    if direction is not None and direction not in set(Direction):
        raise BadValue("direction", direction, ", ".join(Direction))
    if not path.is_file():
        raise BadValue("the matrix", str(path), "a file that exists")
    found: PerformanceMatrix = _known_form(path, _READERS)(path, metric, direction)
    for name, given, own in (("metric", metric, found.metric), ("direction", direction, found.direction)):
        if given and given != own:
            raise BadValue(name, str(given), f"{str(own)!r}, as {path.name} says, or nothing")
    return found


def _known_form(path: Path, forms: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    if path.suffix.lower() not in forms:
        raise BadValue("the matrix", str(path), f"a file that ends in {', '.join(forms)}")
    return forms[path.suffix.lower()]


def _write_csv(matrix: PerformanceMatrix, path: Path) -> None:
    names = [json.dumps([one.model, json.loads(one.hyperparameters), one.protocol]) for one in matrix.settings]
    head = f"graph ({matrix.metric}, {matrix.direction})"
    frame = pd.DataFrame(matrix.scores, index=pd.Index(matrix.graphs, name=head), columns=names)
    frame.to_csv(path, lineterminator="\n", encoding="utf-8")


def _read_csv(path: Path, metric: str, direction: str | None) -> PerformanceMatrix:
    (_, head), *rows = _read_lines(path)
    first = _HEAD.fullmatch(head[0].strip())
    if first is None:
        allowed = "'graph', or 'graph (rmse, down)' with its metric and direction, then one column per setting"
        raise BadValue(f"first column of {path.name}", head[0], f"{allowed}, with commas between")
    n_columns = _count_columns(path, head, rows)
    settings = tuple(_read_setting(name) for name in head[1:n_columns])
    graphs = [row[0] for _, row in rows]
    _refuse_repeated(path, "graph", graphs)
    _refuse_repeated(path, "setting", [one.label for one in settings], settings)
    name = first["metric"] or metric
    towards = _read_direction(path, name, first["direction"] or direction)
    matrix = bare_matrix(graphs, settings, name or "score", towards)
    for place, (line, row) in enumerate(rows):
        if not row[0].strip():
            raise BadValue(f"the graph in line {line} of {path.name}", row[0], "a name")
        for column in range(1, n_columns):
            where = f"{settings[column - 1].label!r} of graph {row[0]!r} in line {line} of {path.name}"
            matrix.scores[place, column - 1] = _read_score(row[column], where)
    return matrix


def _read_direction(path: Path, metric: str, said: str | None) -> Direction:
    """Return the direction of a metric: as it is said, or as this package knows it; both must be the same."""
    known = METRICS.get(metric).direction if metric in METRICS else None
    if said is None and known is None and metric:
        allowed = f"{', '.join(Direction)}: {metric} is no metric of this package, which could know it"
        command = f"read_matrix({path.name!r}, metric={metric!r}, direction='down')"
        raise BadValue(f"direction of {metric} in {path.name}", None, allowed, command=command)
    if said is not None and known is not None and said != known:
        allowed = f"{str(known)!r}, as this package knows it; scores that were turned around need another name"
        raise BadValue(f"direction of {metric} in {path.name}", str(said), allowed)
    return read_direction(said or known or Direction.up)


def _read_lines(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV with the line that each ends in, without blank ones; the first is that of names."""
    try:
        # Spreadsheets begin a file with a mark of its encoding.
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            rows = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except (OSError, UnicodeError, csv.Error) as error:
        raise BadValue("the matrix", str(path), f"a file that reads ({type(error).__name__}: {error})") from error
    if not rows:
        raise BadValue("the matrix", str(path), "a file with a first line 'graph,' and one name per setting")
    return rows


def _count_columns(path: Path, head: list[str], rows: Sequence[tuple[int, list[str]]]) -> int:
    """Return how many columns have a name; commas behind the last are left out, and a value there is refused."""
    n_columns = max(number for number, name in enumerate(head, 1) if name.strip())
    for number, name in enumerate(head[:n_columns], 1):
        if not name.strip():
            raise BadValue(f"the name of column {number} of {path.name}", name, "the name of a setting")
    for line, row in rows:
        if len(row) < n_columns or any(cell.strip() for cell in row[n_columns:]):
            allowed = f"{n_columns}, one under each name, empty where a score is unknown"
            raise BadValue(f"number of cells in line {line} of {path.name}", len(row), allowed)
    return n_columns


def _refuse_repeated(path: Path, kind: str, labels: Sequence[str], keys: Sequence[Any] | None = None) -> None:
    counts = Counter(labels if keys is None else keys)
    for label, key in zip(labels, labels if keys is None else keys, strict=True):
        if counts[key] > 1:
            raise BadValue(f"a {kind} of {path.name}", label, f"each {kind} once; this one stands there twice")


def _read_score(text: str, where: str) -> float:
    if text.strip().lower() in _UNKNOWN:
        return float("nan")
    try:
        score = float(text)
    except ValueError:
        score = float("inf")
    if not np.isfinite(score):
        raise BadValue(f"the score of {where}", text, "a finite number, or nothing where it is unknown")
    return score


def _read_setting(name: str) -> ModelSetting:
    """Read the head of a column: what :func:`write_matrix` wrote, or any other text as the name of a model."""
    try:
        model, values, protocol = json.loads(name)
        return ModelSetting(str(model), json.dumps(dict(values), sort_keys=True), str(protocol))
    except (ValueError, TypeError, RecursionError):
        return ModelSetting(name.strip())


def _write_npz(matrix: PerformanceMatrix, path: Path) -> None:
    words = {
        "settings": [[one.model, one.hyperparameters, one.protocol] for one in matrix.settings],
        "graphs": list(matrix.graphs),
        "metric": matrix.metric,
        "direction": str(matrix.direction),
        "run_ids": matrix.run_ids.tolist(),
    }
    with path.open("wb") as file:
        arrays = {name: getattr(matrix, name) for name in _ARRAYS}
        np.savez_compressed(file, words=np.array(json.dumps(words)), allow_pickle=False, **arrays)


def _read_npz(path: Path, metric: str, direction: str | None) -> PerformanceMatrix:
    del metric, direction
    with open_archive("the matrix", path) as found:
        missing = [name for name in ("words", *_ARRAYS) if name not in found.files]
        if missing:
            allowed = "an archive that write_matrix wrote"
            raise BadValue(f"arrays of {path.name}", ", ".join(found.files), f"{allowed}; {missing[0]} is missing")
        text, arrays = str(found["words"]), {name: found[name] for name in _ARRAYS}
    try:
        words = json.loads(text)
        settings = tuple(ModelSetting(*parts) for parts in words["settings"])
        bare = bare_matrix(words["graphs"], settings, words["metric"], Direction(words["direction"]))
        run_ids = [[tuple(ids) for ids in row] for row in words["run_ids"]]
    except (ValueError, TypeError, KeyError) as error:
        reason = f"what write_matrix wrote ({type(error).__name__}: {error})"
        raise BadValue(f"'words' of {path.name}", text[:60], reason) from error
    shape = bare.scores.shape
    for name, array in arrays.items():
        if array.shape != shape or array.dtype.kind != "f":
            allowed = f"real numbers {shape}, a row per graph and a column per setting"
            raise BadValue(f"{name!r} of {path.name}", f"{array.dtype} {array.shape}", allowed)
    if len(run_ids) != shape[0] or any(len(row) != shape[1] for row in run_ids):
        raise BadValue(f"ids of runs in {path.name}", f"{len(run_ids)} rows", f"lists of ids {shape}, one per cell")
    for place in np.ndindex(shape):
        bare.run_ids[place] = run_ids[place[0]][place[1]]
    return replace(bare, **arrays)


_WRITERS = {".csv": _write_csv, ".npz": _write_npz}
_READERS = {".csv": _read_csv, ".npz": _read_npz}
