"""What a store knows that speaks for one setting or another: scores of past graphs, and their features."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gnz_track.errors import BadValue
from gnz_track.kinds import TaskType
from gnz_track.selection.features.feature_sets import FEATURE_SETS
from gnz_track.selection.matrix import PerformanceMatrix, matrix_from_table
from gnz_track.selection.past_graphs import features_of_tasks
from gnz_track.store.address import Address
from gnz_track.store.reading import read_table
from gnz_track.store.results import empty_table
from gnz_track.store.sweeps import has_tables

__all__ = ["FEWEST_GRAPHS", "Evidence", "gather_evidence"]

FEWEST_GRAPHS, FEWEST_SETTINGS = 3, 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """Scores and features ``[graphs, d]`` of past graphs, in one order; ``sizes [graphs]`` are nodes and edges."""

    task_type: TaskType
    matrix: PerformanceMatrix
    features: NDArray[np.float64]
    sizes: NDArray[np.float64]
    notes: tuple[str, ...] = ()


def gather_evidence(address: Address, task_type: TaskType, *, features: str, home: Path, without: str = "") -> Evidence:
    """Return what a store knows of a kind of problem, but for one task; too little is refused with what is needed."""
    table = read_table(address) if has_tables(address) else empty_table()
    kind = table[(table["task_type"] == task_type) & (table["status"] == "finished") & (table["task"] != without)]
    if kind.empty:
        raise _too_little(task_type, address, 0)
    matrix = matrix_from_table(kind, task_type)
    described = features_of_tasks(kind, matrix.graphs, name=features, home=home)
    missing = [name for name in matrix.graphs if name not in described]
    kept = matrix.take([name for name in matrix.graphs if name in described]) if described else matrix
    n_useful = int((np.isfinite(kept.scores).sum(axis=1) >= FEWEST_SETTINGS).sum()) if described else 0
    if n_useful < FEWEST_GRAPHS:
        raise _too_little(task_type, address, n_useful, missing)
    rows = np.stack([described[name] for name in kept.graphs])
    return Evidence(
        task_type=task_type,
        matrix=kept,
        features=rows,
        sizes=_sizes(rows, features),
        notes=_notes(kind, kept, missing),
    )


def _too_little(task_type: TaskType, address: Address, n: int, missing: list[str] | None = None) -> BadValue:
    lost = f" (of {', '.join(missing)} the data are not here: gnz data get)" if missing else ""
    allowed = (
        f"at least {FEWEST_GRAPHS} past tasks of one metric, with {FEWEST_SETTINGS} settings or more each{lost}; "
        "nothing can be learnt from fewer"
    )
    command = f"gnz run --task-type {task_type} --suite quick --seeds 0-2"
    return BadValue(f"number of {task_type} tasks to learn from in {address}", n, allowed, command=command)


def _sizes(rows: NDArray[np.float64], features: str) -> NDArray[np.float64]:
    names = FEATURE_SETS.get(features).names
    both = [names.index("n_nodes.log"), names.index("n_edges.log")]
    return np.asarray(np.expm1(rows[:, both]).sum(axis=1))


def _notes(kind: pd.DataFrame, matrix: PerformanceMatrix, missing: list[str]) -> tuple[str, ...]:
    notes = []
    others = sorted(set(kind["metric"]) - {matrix.metric})
    if others:
        n = kind[kind["metric"].isin(others)]["task"].nunique()
        notes.append(f"{n} tasks scored by {', '.join(others)} say nothing here: scores are in {matrix.metric}")
    if missing:
        notes.append(f"the data of {', '.join(missing)} are not on this machine; fetch with: gnz data get")
    share = matrix.n_known / matrix.scores.size
    if share < 1:
        notes.append(f"{1 - share:.0%} of the cells of past graphs were never run and are filled in")
    return tuple(notes)
