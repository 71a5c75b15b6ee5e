"""Past scores as graphs x settings: what a selector learns from.

A setting is a model with its hyperparameters under a protocol. Cells that nobody has run are missing and stay so; each
cell remembers the runs that it is the mean of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gnz_track.errors import BadValue, NothingToCompare
from gnz_track.stats.inputs import read_direction
from gnz_track.types import Direction, TaskType, untuned_name

__all__ = ["ModelSetting", "PerformanceMatrix", "bare_matrix", "comparable_rows", "matrix_from_table"]

Real = NDArray[np.float64]


@dataclass(frozen=True, order=True)
class ModelSetting:
    """A model, what its cells changed (as JSON, keys sorted), and the protocol that they were run under."""

    model: str
    hyperparameters: str = "{}"
    protocol: str = ""

    @property
    def label(self) -> str:
        """Model and hyperparameters, as people read them."""
        return " ".join([self.model, *(f"{name}={value}" for name, value in self.options.items())])

    @property
    def options(self) -> Mapping[str, Any]:
        """The hyperparameters by name."""
        found: dict[str, Any] = json.loads(self.hyperparameters or "{}")
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class PerformanceMatrix:
    """Mean scores ``[graphs, settings]`` of one metric, NaN where nothing has finished; every seed weighs the same.

    ``run_ids [graphs, settings]`` are tuples of all runs behind each mean, each once, ``seconds`` what one of them
    took, and ``spread`` the standard deviation over seeds, NaN below two of them.
    """

    graphs: tuple[str, ...]
    settings: tuple[ModelSetting, ...]
    scores: Real
    metric: str
    direction: Direction
    run_ids: NDArray[np.object_]
    seconds: Real
    spread: Real

    @property
    def signed(self) -> Real:
        """Scores where higher is better, whatever the direction of the metric."""
        return self.scores if self.direction is Direction.up else -self.scores

    @property
    def n_known(self) -> int:
        """Cells that have a score."""
        return int(np.isfinite(self.scores).sum())

    def without(self, graph: str) -> PerformanceMatrix:
        """Return the matrix without a graph, which may be absent already."""
        return self.take([name for name in self.graphs if name != graph])

    def take(self, graphs: Sequence[str]) -> PerformanceMatrix:
        """Return the rows of some graphs, and the settings that any of them knows."""
        for name in graphs:
            if name not in self.graphs:
                raise BadValue("a graph of the matrix", name, ", ".join(self.graphs))
        rows = np.array([self.graphs.index(name) for name in graphs], dtype=np.int64)
        kept = np.flatnonzero(np.isfinite(self.scores[rows]).any(axis=0))
        return replace(
            self,
            graphs=tuple(graphs),
            settings=tuple(self.settings[column] for column in kept),
            scores=self.scores[np.ix_(rows, kept)],
            run_ids=self.run_ids[np.ix_(rows, kept)],
            seconds=self.seconds[np.ix_(rows, kept)],
            spread=self.spread[np.ix_(rows, kept)],
        )

    def __str__(self) -> str:
        share = self.n_known / max(self.scores.size, 1)
        shape = f"{len(self.graphs)} graphs x {len(self.settings)} settings"
        return f"{shape}, {self.metric}, {self.n_known} cells known ({share:.0%})"


def matrix_from_table(
    table: pd.DataFrame, task_type: TaskType | str, *, metric: str = "", protocol: str = ""
) -> PerformanceMatrix:
    """Return the matrix of a results table for a kind of problem.

    Rows count as in :func:`comparable_rows`. Settings under several protocols are settings of their own.

    Parameters
    ----------
    table, task_type, metric, protocol
        As in :func:`comparable_rows`.
    """
    rows = comparable_rows(table, task_type, metric=metric, protocol=protocol)
    labels = zip(rows["model"], rows["hyperparameters"], rows["protocol"], strict=True)
    # Who found a setting makes it no other one.
    owners = [ModelSetting(untuned_name(model), values or "{}", name) for model, values, name in labels]
    graphs, settings = tuple(sorted(set(rows["task"]))), tuple(sorted(set(owners)))
    matrix = bare_matrix(graphs, settings, str(rows["metric"].iloc[0]), Direction(rows["direction"].iloc[0]))
    at_row = {name: place for place, name in enumerate(graphs)}
    at_column = {one: place for place, one in enumerate(settings)}
    placed = rows.assign(row=[at_row[task] for task in rows["task"]], column=[at_column[one] for one in owners])
    # A winner of a search may have the defaults, and then its seeds were trained twice: each seed counts once.
    of_seeds = placed.groupby(["row", "column", "seed"], dropna=False)[["score", "seconds"]].mean()
    of_cells = of_seeds.groupby(["row", "column"])
    means, spreads = of_cells.mean(), of_cells["score"].std(ddof=1)
    at = tuple(means.index.get_level_values(side).to_numpy() for side in ("row", "column"))
    matrix.scores[at], matrix.seconds[at], matrix.spread[at] = means["score"], means["seconds"], spreads
    for place, ids in placed.groupby(["row", "column"])["run_id"].agg(list).items():
        matrix.run_ids[place] = tuple(dict.fromkeys(ids))
    return matrix


def bare_matrix(
    graphs: Sequence[str], settings: Sequence[ModelSetting], metric: str, direction: Direction | str
) -> PerformanceMatrix:
    """Return a matrix in which nothing is known.

    Parameters
    ----------
    graphs, settings
        Its rows and columns.
    metric, direction
        The metric, and which scores are better.
    """
    shape = (len(graphs), len(settings))
    run_ids = np.empty(shape, dtype=object)
    for place in np.ndindex(shape):
        run_ids[place] = ()
    unknown = [np.full(shape, np.nan) for _ in range(3)]
    return PerformanceMatrix(
        graphs=tuple(graphs),
        settings=tuple(settings),
        scores=unknown[0],
        metric=metric,
        direction=read_direction(direction),
        run_ids=run_ids,
        seconds=unknown[1],
        spread=unknown[2],
    )


def comparable_rows(
    table: pd.DataFrame, task_type: TaskType | str, *, metric: str = "", protocol: str = ""
) -> pd.DataFrame:
    """Return the rows of a results table that tell of one kind of problem, and may be set against each other.

    Failed cells are left out. A task counts by the latest version of its data, and under each protocol by the number of
    epochs at which most settings are known.

    Parameters
    ----------
    table
        A results table.
    task_type
        The kind of problem.
    metric
        Metric; without, the one that most tasks of that kind have.
    protocol
        Label of a protocol; without, all of them.
    """
    task_type = TaskType(task_type)
    kind = table[(table["task_type"] == task_type) & (table["status"] == "finished") & table["score"].notna()]
    known = sorted(set(kind["protocol"]))
    if protocol:
        kind = kind[kind["protocol"] == protocol]
    if kind.empty:
        there = f"those there are under {', '.join(known)}; " if known else ""
        under = f" under protocol {protocol}" if protocol else ""
        flag = f" --protocol {protocol.split('@', maxsplit=1)[0]}" if protocol else ""
        command = f"gnz run --task-type {task_type} --suite quick{flag}"
        raise NothingToCompare(f"no finished cell of {task_type}{under}; {there}train some with: {command}")
    chosen = metric or str(kind.groupby("metric")["task"].nunique().sort_values(kind="stable").index[-1])
    of_metric = kind[kind["metric"] == chosen]
    if of_metric.empty:
        raise BadValue("metric", metric, ", ".join(sorted(set(kind["metric"]))))
    return _of_usual_epochs(_of_latest_data(of_metric))


def _of_latest_data(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each task on the latest of its data.

    Data that several seeds share are there once, and the latest counts for all seeds; tasks whose data are drawn anew
    for every seed have the latest of each.
    """
    n_seeds = rows.groupby(["task", "dataset_digest"])["seed"].nunique()
    are_shared = rows["task"].map(n_seeds.groupby("task").max()) > 1
    groups = [rows["task"], rows["seed"].where(~are_shared, -1)]
    newest = rows.sort_values("start_time", kind="stable").groupby(groups)["dataset_digest"].transform("last")
    return rows[rows["dataset_digest"] == newest.reindex(rows.index)]


def _of_usual_epochs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each task and protocol with the number of epochs at which most settings, then cells, are."""
    setting = rows["model"] + " " + rows["hyperparameters"]
    counts = rows.assign(setting=setting).groupby(["task", "protocol", "epochs"])["setting"].agg(["nunique", "size"])
    ordered = counts.reset_index().sort_values(["nunique", "size", "epochs"], kind="stable")
    usual = ordered.drop_duplicates(["task", "protocol"], keep="last").set_index(["task", "protocol"])["epochs"]
    owners = pd.MultiIndex.from_frame(rows[["task", "protocol"]])
    return rows[rows["epochs"].to_numpy() == usual.reindex(owners).to_numpy()]
