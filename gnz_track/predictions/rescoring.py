"""Metrics of past cells, computed from their stored predictions and written beside their scores; nothing is trained.

A score is that of training with the metric, to the bit: the same function of the same arrays. A protocol that selects
an epoch has selected it by the metric of the task, and the predictions are those of this epoch.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from gnz_track import __version__
from gnz_track.errors import BadValue, GnzError, NothingToCompare, StoreUnusable
from gnz_track.problems.scoring import kind_of_rows, mean_errors, score_answers, score_errors
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.cell_files.joined_predictions import read_kept_file
from gnz_track.store.cell_files.kept_files import files_from_tag
from gnz_track.store.cell_files.predictions import PartPredictions, decode_predictions
from gnz_track.store.listings import has_tables
from gnz_track.store.past_runs import read_scores
from gnz_track.store.reader import check_known, open_reader, read_table
from gnz_track.store.row_filters import Where, asked_names, read_where
from gnz_track.store.sweep_manifest import read_wanted_cells
from gnz_track.store.writer import Store, open_store
from gnz_track.training.metrics import METRICS, Kind, MetricRow, metrics_of
from gnz_track.types import TaskType

__all__ = ["Rescoring", "kind_of", "rescore", "score_predictions"]

DIGITS = 16
COLUMNS = ("run_id", "task", "model", "seed", "part", "metric", "score", "is_new")
RANKS = ("rank_of_tail", "rank_of_head")


@dataclass(frozen=True, eq=False)
class Rescoring:
    """Scores of past cells by some metrics, and what was left out.

    ``scores`` has a row a run, part and metric; ``is_new`` where it was written by this call. ``missing`` are runs
    without predictions, ``changed`` those whose file is not what they left, with the reason. ``undefined`` are runs and
    metrics that are not defined there. ``refused`` says of a task which metrics do not serve it, and which do.
    """

    scores: pd.DataFrame
    missing: tuple[str, ...] = ()
    changed: Mapping[str, str] = field(default_factory=dict)
    undefined: tuple[tuple[str, str], ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_written(self) -> int:
        """Number of scores that this call has written."""
        return int(self.scores["is_new"].sum())

    @property
    def is_whole(self) -> bool:
        """Whether every cell has every metric that serves it."""
        return not (self.missing or self.changed or self.undefined)


def rescore(
    metrics: str | Sequence[str],
    uri: str | Address = "",
    *,
    sweep: str = "",
    task: str = "",
    where: Where | None = None,
    tell: Callable[[int, int, str], None] | None = None,
) -> Rescoring:
    """Compute metrics of past cells from their predictions, and write them into their runs; nothing is trained.

    A score that a run has already stays as it is. Runs without predictions, and those whose file was changed, are
    named in the answer, and the rest goes on.

    Parameters
    ----------
    metrics
        Names of metrics, or one name.
    uri
        Address of the store; empty: the default store.
    sweep
        Only the cells that a sweep wanted.
    task
        Only the cells of a task.
    where
        Columns of the results table, and the value or collection of values that rows must have.
    tell
        Is told of each cell: how many are done, of how many, and which one.
    """
    address = uri if isinstance(uri, Address) else parse_address(uri)
    wanted = [METRICS.get(name) for name in dict.fromkeys([metrics] if isinstance(metrics, str) else metrics)]
    if not wanted:
        raise BadValue("metrics", "none", ", ".join(METRICS))
    past = _PastCells(address, _cells_of(address, sweep=sweep, task=task, where=where), wanted)
    serving = past.find_serving()
    refused = _refuse(serving, wanted, done={entry["metric"] for entry in past.known})
    found, missing, changed, undefined = list(past.known), [], dict[str, str](), list[tuple[str, str]]()
    with contextlib.ExitStack() as stack:
        store: Store | None = None
        for n, run_id in enumerate(past.left, 1):
            try:
                new = past.score(run_id)
            except StoreUnusable:
                # No fault of this run alone.
                raise
            except GnzError as error:
                changed[run_id], new = str(error), []
            if new is None:
                missing.append(run_id)
            undefined += [(run_id, one["metric"]) for one in new or () if not math.isfinite(one["score"])]
            entries = [one for one in new or () if math.isfinite(one["score"])]
            if entries:
                store = store or stack.enter_context(open_store(address))
                past.write(store, run_id, entries)
            found += entries
            if tell:
                tell(n, len(past.left), past.label(run_id))
    table = pd.DataFrame(found, columns=list(COLUMNS))
    left_out = tuple(missing), changed, tuple(undefined)
    return Rescoring(table, *left_out, refused)


def _cells_of(address: Address, *, sweep: str, task: str, where: Where | None) -> pd.DataFrame:
    """Return the finished cells that are meant; a name that nothing bears is refused."""
    if not has_tables(address):
        raise NothingToCompare(f"there is nothing in {address} yet; fill it with: gnz run")
    values = read_where(where)
    if sweep:
        rows = read_wanted_cells(address, sweep).table
        for column, allowed in {**values, **({"task": [task]} if task else {})}.items():
            rows = rows[rows[column].isin(allowed)]
    else:
        rows = read_table(address, task=task, where=values)
    if rows.empty:
        check_known(address, asked_names(values, sweep=sweep, task=task), rows)
    return rows[(rows["status"] == "finished") & (rows["run_id"] != "")].reset_index(drop=True)


class _PastCells:
    """Finished cells: which metrics each has, which are left, and its predictions."""

    def __init__(self, address: Address, rows: pd.DataFrame, wanted: Sequence[MetricRow]) -> None:
        self.address = address
        self.rows = {str(row.run_id): row for row in rows.itertuples()}
        scores = read_scores(address, list(self.rows))
        names = {row.name: schema.original_key(schema.legal_key(row.name)) for row in wanted}
        self.known = [
            _entry(row, "test", name, scores[run_id][key], is_new=False)
            for run_id, row in self.rows.items()
            for name, key in names.items()
            if key in scores[run_id]
        ]
        left = {run_id: [row for row in wanted if names[row.name] not in scores[run_id]] for run_id in self.rows}
        self.left = {run_id: metrics for run_id, metrics in left.items() if metrics}
        kept = open_reader(address).kept_files(list(self.left))
        self._files = {run_id: (place, files_from_tag(tag).get(schema.PREDICTIONS_FILE)) for run_id, place, tag in kept}

    def read(self, run_id: str) -> list[PartPredictions]:
        """Return the predictions of a run; none where it has none, or they are gone."""
        place, file = self._files.get(run_id, ("", None))
        if file is None:
            return []
        content = read_kept_file(self.address, run_id, place, schema.PREDICTIONS_FILE, file)
        return [] if content is None else decode_predictions(content)

    def score(self, run_id: str) -> list[dict[str, Any]] | None:
        """Return an entry for each part of a run and each metric that is left and serves; None without predictions."""
        parts, row = self.read(run_id), self.rows[run_id]
        if not parts:
            return None
        kind = kind_of(TaskType(row.task_type), parts)
        serving = {metric.name for metric in metrics_of(kind, is_full=True)}
        found = []
        for part in dict.fromkeys(one.part for one in parts):
            of_part = [one for one in parts if one.part == part]
            for metric in self.left[run_id]:
                score = score_predictions(of_part, metric, kind) if metric.name in serving else None
                if score is not None:
                    found.append(_entry(row, part, metric.name, score, is_new=True))
        return found

    def write(self, store: Store, run_id: str, entries: Sequence[dict[str, Any]]) -> None:
        """Write scores into a run, with the version and the predictions that they come from, and note which are new.

        Parameters
        ----------
        store
            Store of the run.
        run_id, entries
            The run, and its new scores.
        """
        file = self._files[run_id][1]
        origin = {"version": __version__, "predictions": file.digest[:DIGITS] if file else ""}
        keys = [_key(one["part"], one["metric"]) for one in entries]
        scores = {key: one["score"] for key, one in zip(keys, entries, strict=True)}
        new = store.add_scores(run_id, scores, origin)
        for key, one in zip(keys, entries, strict=True):
            one["is_new"] = key in new

    def label(self, run_id: str) -> str:
        """Return the words for a cell."""
        row = self.rows[run_id]
        return f"{row.task} {row.model} s{row.seed}"

    def find_serving(self) -> dict[str, tuple[str, ...]]:
        """Return task -> the metrics that serve it, of tasks some of whose predictions can be read."""
        found: dict[str, tuple[str, ...]] = {}
        for run_id in self.left:
            row = self.rows[run_id]
            if row.task in found:
                continue
            with contextlib.suppress(GnzError):
                # What is wrong with a file is said where it is scored.
                parts = self.read(run_id)
                if parts:
                    kind = kind_of(TaskType(row.task_type), parts)
                    found[row.task] = tuple(sorted(metric.name for metric in metrics_of(kind, is_full=True)))
        return found


def _refuse(serving: Mapping[str, Sequence[str]], wanted: Sequence[MetricRow], done: Collection[str]) -> dict[str, str]:
    """Return, of each task, the metrics that do not serve it; one that serves none of them is an error."""
    useful = {name for names in serving.values() for name in names}.union(done)
    useless = [row.name for row in wanted if serving and row.name not in useful]
    if useless:
        raise BadValue(
            "metric", ", ".join(useless), "; ".join(f"of {task} {', '.join(serving[task])}" for task in serving)
        )
    wrong = {task: [row.name for row in wanted if row.name not in names] for task, names in serving.items()}
    return {task: f"{', '.join(names)} (allowed: {', '.join(serving[task])})" for task, names in wrong.items() if names}


def kind_of(task_type: TaskType, parts: Sequence[PartPredictions]) -> Kind:
    """Return the kind of problem of predictions; links that are drawn and published ones have the same metrics."""
    if task_type is TaskType.multi_task:
        return "levels"
    if task_type is TaskType.link_pred:
        return "triples" if parts[0].kind == "triple" else "links"
    labels = "classes"
    if parts[0].targets.ndim > 1:
        labels = "numbers" if task_type.predicts_numbers else "labels"
    return kind_of_rows(labels, _tensor(parts[0].outputs))


def score_predictions(parts: Sequence[PartPredictions], row: MetricRow, kind: Kind) -> float | None:
    """Return a metric of the predictions for one part, as training with it does; None where ranks were not kept.

    Parameters
    ----------
    parts
        Predictions for the examples of one part: of each level, where there are two.
    row, kind
        The metric, and the kind of problem, which it serves.
    """
    if kind == "levels":
        return score_errors(row, mean_errors([(_tensor(one.outputs), _tensor(one.targets)) for one in parts]))
    [one] = parts
    labels, outputs, ranks = _tensor(one.targets), _tensor(one.outputs), None
    if kind in {"links", "published links", "triples"}:
        outputs = outputs[:, 0]
    if kind == "triples" and row.takes == "ranks":
        found = np.concatenate(
            [one.ranks.get(name, np.full(len(one.targets), np.nan))[one.targets > 0] for name in RANKS]
        )
        if np.isnan(found).all():
            return None
        ranks = lambda: found  # noqa: E731
    batches = _tensor(one.numbers["batch"]) if "batch" in one.numbers else None
    return score_answers(row, kind, labels, outputs, batches=batches, ranks=ranks)


def _entry(row: Any, part: str, metric: str, score: float, *, is_new: bool) -> dict[str, Any]:
    about = {"run_id": row.run_id, "task": row.task, "model": row.model, "seed": row.seed}
    return {**about, "part": part, "metric": metric, "score": score, "is_new": is_new}


def _key(part: str, metric: str) -> str:
    return schema.score_key(metric) if part == "test" else schema.validation_key(metric)


def _tensor(values: NDArray[Any]) -> Tensor:
    # Arrays of a file are read-only, which Torch warns of.
    return torch.from_numpy(values.copy())
