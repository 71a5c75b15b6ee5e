"""Which cells a sweep wanted, whoever had trained them before, which pairs it left out, and how its models did."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.reader import find_sweep_run, open_reader, publish_table, read_published, read_table
from gnz_track.store.results_table import labels_of, make_table, one_row_per_cell, sort_rows
from gnz_track.store.writer import FINISHED, Store
from gnz_track.types import Direction

__all__ = [
    "PLAN_COLUMNS",
    "SweepPlan",
    "WantedCells",
    "conclude_sweep",
    "is_concluded",
    "plan_from_json",
    "plan_to_json",
    "read_plan",
    "read_wanted_cells",
]

# What of a cell is known before it is trained, in columns of the results table.
PLAN_COLUMNS = (
    "fingerprint",
    "sweep",
    "suite",
    "task",
    "category",
    "task_type",
    "model",
    "seed",
    "metric",
    "direction",
    "protocol",
    "dataset",
    "dataset_digest",
    "hyperparameters",
    "epochs",
)


@dataclass(frozen=True, kw_only=True)
class SweepPlan:
    """The cells that a sweep wanted, each as :data:`PLAN_COLUMNS`, and (task, model, reason) of pairs left out."""

    cells: tuple[Mapping[str, Any], ...]
    left_out: tuple[tuple[str, str, str], ...] = ()

    @property
    def fingerprints(self) -> frozenset[str]:
        """The cells by their fingerprints."""
        return frozenset(str(cell["fingerprint"]) for cell in self.cells)


@dataclass(frozen=True, kw_only=True, eq=False)
class WantedCells:
    """A row of the results table for each cell that a sweep wanted, one without a run for each that never ended.

    ``n_without_run`` counts these; it is None where the sweep left no plan, and the rows are those that it trained.
    """

    table: pd.DataFrame
    n_without_run: int | None
    left_out: tuple[tuple[str, str, str], ...] = ()


def plan_to_json(plan: SweepPlan) -> str:
    """Write a plan; names of columns stand in it once."""
    rows = [[cell[name] for name in PLAN_COLUMNS] for cell in plan.cells]
    return json.dumps({"columns": PLAN_COLUMNS, "cells": sorted(rows), "left_out": sorted(plan.left_out)})


def read_plan(uri: str | Address, sweep: str) -> SweepPlan | None:
    """Return what a sweep wanted; None where no plan can be read."""
    address = uri if isinstance(uri, Address) else parse_address(uri)
    found = find_sweep_run(open_reader(address), sweep)
    if found is None:
        return None
    return plan_from_json(read_artifact(address, found.artifacts, schema.PLAN_FILE) or "")


def is_concluded(address: Address, sweep: str, *, plan: str) -> bool:
    """Tell whether a sweep has ended with this plan, its table still says the truth, and no run is left to be ended.

    There is nothing to write then. Of a store that is no database it is not known.

    Parameters
    ----------
    address
        Store of the sweep.
    sweep
        Its name.
    plan
        What it wants, as :func:`plan_to_json` writes it.
    """
    if not address.is_database:
        return False
    reader = open_reader(address)
    found = find_sweep_run(reader, sweep)
    if found is None or found.status != FINISHED or reader.has_running():
        return False
    is_same = read_artifact(address, found.artifacts, schema.PLAN_FILE) == plan
    return is_same and read_published(reader, sweep) is not None


def plan_from_json(text: str) -> SweepPlan | None:
    """Read what :func:`plan_to_json` wrote; None where it cannot be read."""
    try:
        read = json.loads(text)
        cells = tuple(dict(zip(read["columns"], row, strict=True)) for row in read["cells"])
        left_out = tuple((str(task), str(model), str(reason)) for task, model, reason in read["left_out"])
    except (ValueError, TypeError, KeyError):
        # A plan that was cut off says no more than one that is gone.
        return None
    return SweepPlan(cells=cells, left_out=left_out) if all(set(PLAN_COLUMNS) <= set(cell) for cell in cells) else None


def read_wanted_cells(uri: str | Address, sweep: str) -> WantedCells:
    """Return the rows of all cells that a sweep wanted.

    A cell that another sweep had finished has the run of that sweep; one that has not ended has a row without a run.
    """
    address = uri if isinstance(uri, Address) else parse_address(uri)
    own = read_table(address, sweep=sweep)
    plan = read_plan(address, sweep)
    if plan is None:
        return WantedCells(table=own, n_without_run=None)
    table = _join_others(address, own, plan)
    ended = set(table["fingerprint"])
    unended = [cell for cell in plan.cells if cell["fingerprint"] not in ended]
    if unended:
        table = _with_unended(table, unended)
    return WantedCells(table=table, n_without_run=len(unended), left_out=plan.left_out)


def conclude_sweep(store: Store, suite: str, sweep: str, *, run_id: str, plan: str) -> pd.DataFrame:
    """Publish the table of a sweep and return it; write what it was about and how each model did into the sweep's run.

    Parameters
    ----------
    store
        Open store of the sweep.
    suite, sweep
        Names of the sweep's suite and of itself.
    run_id
        Run that stands for the sweep.
    plan
        Plan of the sweep, as :func:`plan_to_json` writes it.
    """
    own, wanted = publish_table(store, suite, sweep, run_id=run_id), plan_from_json(plan)
    if wanted is None:
        return own
    table = _join_others(store.address, own, wanted)
    store.summarise_sweep(run_id, _params_of(wanted), _metrics_of(table))
    # What a view filters by is in each of its runs: the cells of several sweeps have their protocol in common.
    protocol = schema.tag_is(schema.PROTOCOL, wanted.cells[0]["protocol"]) if len(table) > len(own) else ""
    for task, rows in table[table["status"] == "finished"].groupby("task"):
        about = schema.experiment_tags(str(task), rows["metric"].iloc[0], Direction(rows["direction"].iloc[0]))
        store.show_sweep(suite, sweep, about, models=sorted(set(rows["model"])), whole=protocol)
    return own


def _params_of(plan: SweepPlan) -> dict[str, str]:
    """Return what a sweep is about, as many names as a param holds."""
    columns = {"tasks": "task", "models": "model", "seeds": "seed", "protocol": "protocol"}
    found = {name: sorted({cell[column] for cell in plan.cells}) for name, column in columns.items()}
    texts = {name: ", ".join(map(str, values)) for name, values in found.items()}
    most = schema.MOST_PARAM_CHARACTERS
    return {name: text if len(text) <= most else text[: most - 3] + "..." for name, text in texts.items()}


def _metrics_of(table: pd.DataFrame) -> dict[str, float]:
    """Return the mean score of each model by metric, its mean rank over the tasks that all models have, and counts.

    A model's score on a task is its mean over seeds, and each task counts once.
    """
    finished = table[table["status"] == "finished"]
    found = {schema.N_FINISHED: float(len(finished)), schema.N_FAILED: float((table["status"] == "failed").sum())}
    if finished.empty:
        return found
    labelled = finished.assign(label=labels_of(finished))
    by_task = labelled.groupby(["metric", "direction", "task", "label"])["score"].mean()
    for (metric, label), score in by_task.groupby(level=["metric", "label"]).mean().items():
        found[schema.legal_key(f"{schema.MEAN_PREFIX}{metric}/{label}")] = float(score)
    whole = by_task.unstack("label").dropna()  # noqa: PD010  (a series has no pivot_table)
    # Where no task has all models, an index of nothing has texts for signs.
    signs = [-1.0 if direction == Direction.up else 1.0 for direction in whole.index.get_level_values("direction")]
    # Sums of floats in another order are the same score.
    ranks = whole.mul(pd.Series(signs, index=whole.index, dtype=float), axis=0).round(12).rank(axis=1)
    return found | {
        schema.legal_key(f"{schema.RANK_PREFIX}{label}"): float(rank) for label, rank in ranks.mean().dropna().items()
    }


def _join_others(address: Address, own: pd.DataFrame, plan: SweepPlan) -> pd.DataFrame:
    """Return the rows of a sweep, and those of other sweeps for cells that it wanted and found finished."""
    left = plan.fingerprints - set(own["fingerprint"][own["status"] == "finished"])
    others = read_table(address, where={"fingerprint": left}) if left else own[:0]
    parts = [table for table in (own, others) if not table.empty]
    return one_row_per_cell(pd.concat(parts, ignore_index=True)) if parts else own


def _with_unended(table: pd.DataFrame, cells: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Append rows without run and score; the metric is that of the task's other cells, whose data have told it."""
    known = {row.task: {"metric": row.metric, "direction": row.direction} for row in table.itertuples()}
    rows = [{**cell, **known.get(cell["task"], {}), "status": ""} for cell in cells]
    added = make_table({name: [row[name] for row in rows] for name in (*PLAN_COLUMNS, "status")})
    return sort_rows(added if table.empty else pd.concat([table, added], ignore_index=True))
