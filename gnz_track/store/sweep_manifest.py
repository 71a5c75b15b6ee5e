"""Which cells a sweep wanted, whoever had trained them before, and which pairs it left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.reader import find_sweep_run, open_reader, read_table
from gnz_track.store.results_table import make_table, one_row_per_cell, sort_rows

__all__ = ["PLAN_COLUMNS", "SweepPlan", "WantedCells", "plan_to_json", "read_plan", "read_wanted_cells"]

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
    text = read_artifact(address, found.artifacts, schema.PLAN_FILE)
    try:
        read = json.loads(text or "")
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
    left = plan.fingerprints - set(own["fingerprint"][own["status"] == "finished"])
    others = read_table(address, where={"fingerprint": left}) if left else own[:0]
    parts = [table for table in (own, others) if not table.empty]
    table = one_row_per_cell(pd.concat(parts, ignore_index=True)) if parts else own
    ended = set(table["fingerprint"])
    unended = [cell for cell in plan.cells if cell["fingerprint"] not in ended]
    if unended:
        table = _with_unended(table, unended)
    return WantedCells(table=table, n_without_run=len(unended), left_out=plan.left_out)


def _with_unended(table: pd.DataFrame, cells: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Append rows without run and score; the metric is that of the task's other cells, whose data have told it."""
    known = {row.task: {"metric": row.metric, "direction": row.direction} for row in table.itertuples()}
    rows = [{**cell, **known.get(cell["task"], {}), "status": ""} for cell in cells]
    added = make_table({name: [row[name] for row in rows] for name in (*PLAN_COLUMNS, "status")})
    return sort_rows(added if table.empty else pd.concat([table, added], ignore_index=True))
