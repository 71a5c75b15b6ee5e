"""Matrices of other people, and for them: CSV that anyone can write, and ``.npz`` that keeps all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.kinds import Direction
from gnz_track.selection.matrix import PerformanceMatrix, Setting, bare_matrix

__all__ = ["read_matrix", "write_matrix"]

_GRAPH = "graph"
_ARRAYS = ("scores", "seconds", "spread")


def write_matrix(matrix: PerformanceMatrix, path: str | Path) -> None:
    """Write a matrix as ``.csv`` (a row per graph, a column per setting, empty where unknown) or as ``.npz``.

    CSV holds labels and scores alone; ``.npz`` holds seconds and ids of runs too, and no pickle.
    """
    path = Path(path)
    _known_form(path, _WRITERS)(matrix, path)


def read_matrix(path: str | Path, *, metric: str = "", direction: Direction | str = Direction.up) -> PerformanceMatrix:
    """Read a matrix; ``metric`` and ``direction`` say what the scores of a CSV are, which does not say it."""
    path = Path(path)
    if not path.is_file():
        raise BadValue("the matrix", str(path), "a file that exists")
    try:
        found: PerformanceMatrix = _known_form(path, _READERS)(path, metric or "score", Direction(direction))
    except (OSError, ValueError, KeyError) as error:
        raise BadValue("the matrix", str(path), f"a file that reads ({type(error).__name__}: {error})") from error
    return found


def _known_form(path: Path, forms: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
    if path.suffix.lower() not in forms:
        raise BadValue("the matrix", str(path), f"a file that ends in {', '.join(forms)}")
    return forms[path.suffix.lower()]


def _write_csv(matrix: PerformanceMatrix, path: Path) -> None:
    names = [json.dumps([one.model, json.loads(one.hyperparameters), one.protocol]) for one in matrix.settings]
    frame = pd.DataFrame(matrix.scores, index=pd.Index(matrix.graphs, name=_GRAPH), columns=names)
    frame.to_csv(path, lineterminator="\n")


def _read_csv(path: Path, metric: str, direction: Direction) -> PerformanceMatrix:
    frame = pd.read_csv(path)
    if frame.columns[0] != _GRAPH:
        raise BadValue(f"first column of {path.name}", str(frame.columns[0]), f"{_GRAPH!r}, then one per setting")
    frame = frame.set_index(_GRAPH)
    scores = frame.to_numpy(dtype=np.float64)
    settings = tuple(_setting(str(name)) for name in frame.columns)
    graphs = tuple(str(name) for name in frame.index)
    for kind, names in (("graph", graphs), ("setting", [one.label + one.protocol for one in settings])):
        if len(set(names)) < len(names):
            raise BadValue(f"{kind}s of {path.name}", "one that repeats", f"each {kind} once")
    return replace(bare_matrix(graphs, settings, metric, direction), scores=scores)


def _setting(name: str) -> Setting:
    """Read the head of a column: what :func:`write_matrix` wrote, or any other text as the name of a model."""
    try:
        model, values, protocol = json.loads(name)
        return Setting(str(model), json.dumps(dict(values), sort_keys=True), str(protocol))
    except (ValueError, TypeError):
        return Setting(name)


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


def _read_npz(path: Path, metric: str, direction: Direction) -> PerformanceMatrix:
    del metric, direction
    with np.load(path, allow_pickle=False) as found:
        words = json.loads(str(found["words"]))
        arrays = {name: found[name] for name in _ARRAYS}
    settings = tuple(Setting(*parts) for parts in words["settings"])
    bare = bare_matrix(words["graphs"], settings, words["metric"], Direction(words["direction"]))
    matrix = replace(bare, **arrays)
    for place in np.ndindex(matrix.scores.shape):
        matrix.run_ids[place] = tuple(words["run_ids"][place[0]][place[1]])
    return matrix


_WRITERS = {".csv": _write_csv, ".npz": _write_npz}
_READERS = {".csv": _read_csv, ".npz": _read_npz}
