"""Contents of a store: its sweeps, their cells in whatever state, and why cells failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pandas as pd

from gnz_track.errors import UnknownName
from gnz_track.store import schema
from gnz_track.store.address import SQLITE, Address, check_place
from gnz_track.store.read_sql import revision_of
from gnz_track.store.reader import open_reader
from gnz_track.store.results_table import STATES, labels_of, sort_rows
from gnz_track.store.row_filters import RunFilter

__all__ = ["FailureRow", "SweepRow", "has_tables", "holds_sweeps", "list_cells", "list_failures", "list_sweeps"]

COMMAND = "gnz ls"
CELL_COLUMNS = (
    "run_id",
    "sweep",
    "suite",
    "task",
    "model",
    "hyperparameters",
    "protocol",
    "seed",
    "fingerprint",
    "status",
    "score",
    "metric",
    "direction",
    "seconds",
    "error",
    "start_time",
)
SWEEP_COLUMNS = ("run_id", "sweep", "suite", "status", "start_time")


@dataclass(frozen=True, kw_only=True)
class SweepRow:
    """One sweep: how its own run stands, how many of its cells stand how, and what they are about."""

    sweep: str
    suite: str
    status: str
    n_finished: int
    n_failed: int
    n_running: int
    n_killed: int
    tasks: tuple[str, ...]
    models: tuple[str, ...]
    seeds: tuple[int, ...]
    started: datetime
    run_id: str

    @property
    def trained_nothing(self) -> bool:
        """Tell whether it found all that it wanted finished by other sweeps."""
        n_cells = self.n_finished + self.n_failed + self.n_running + self.n_killed
        return self.status == STATES["FINISHED"] and not n_cells


@dataclass(frozen=True, kw_only=True)
class FailureRow:
    """Cells that ended badly for one reason, and their runs."""

    status: str
    reason: str
    cells: tuple[str, ...]
    sweeps: tuple[str, ...]
    run_ids: tuple[str, ...]


def has_tables(address: Address) -> bool:
    """Tell whether there is anything to read; nothing is made by asking."""
    if not address.is_database:
        return True
    check_place(address)
    if address.kind == SQLITE and not address.file.exists():
        return False
    return revision_of(address) != ""


def holds_sweeps(address: Address) -> bool:
    """Tell whether any sweep was written; a place that is no store, and a store that cannot be read, raises."""
    return has_tables(address) and not _sweep_runs(address).empty


def list_cells(address: Address, *, sweep: str = "", suite: str = "", task: str = "", model: str = "") -> pd.DataFrame:
    """Return one row per sweep and cell, sorted, in columns of the results table.

    Of several runs of one cell the finished one counts, and else the latest, in whatever state. A name that nothing in
    the store bears raises :class:`UnknownName`.

    Parameters
    ----------
    address
        The store.
    sweep, suite, task, model
        Names that cells must have; empty: any.
    """
    found = open_reader(address).table(RunFilter(sweep=sweep, suite=suite, in_any_state=True), columns=CELL_COLUMNS)
    if found.empty and (sweep or suite):
        sweeps = _sweep_runs(address)
        _check_name("suite", suite, sweeps["suite"])
        _check_name("sweep", sweep, sweeps["sweep"][(sweeps["suite"] == suite) | (not suite)])
    for column, wanted in (("task", task), ("model", model)):
        _check_name(column, wanted, found[column])
        found = found[(found[column] == wanted) | (not wanted)]
    is_unfinished = found["status"] != STATES["FINISHED"]
    ranked = found.assign(is_unfinished=is_unfinished).sort_values(
        ["is_unfinished", "start_time", "run_id"], ascending=[True, False, False], kind="stable"
    )
    return sort_rows(ranked.drop_duplicates(["suite", "sweep", "fingerprint"])[list(CELL_COLUMNS)])


def list_sweeps(address: Address, *, suite: str = "", task: str = "", model: str = "") -> list[SweepRow]:
    """Return the sweeps, oldest first, with counts of their cells.

    Parameters
    ----------
    address
        The store.
    suite
        Suite of the sweeps; empty: any.
    task, model
        Task and model whose cells alone are counted.
    """
    cells = list_cells(address, suite=suite, task=task, model=model)
    runs = _sweep_runs(address, suite)
    cells_of = dict(iter(cells.groupby(["suite", "sweep"])))
    run_of = {(run["suite"], run["sweep"]): run for run in runs.to_dict("records")}
    # A sweep that has just begun has no cells yet.
    wanted = cells_of if task or model else {**run_of, **cells_of}
    rows = [_sweep_row(cells_of.get(key, cells[:0]), run_of.get(key, {})) for key in wanted]
    return sorted(rows, key=lambda row: (row.started, row.suite, row.sweep))


def list_failures(cells: pd.DataFrame) -> list[FailureRow]:
    """Return the cells that failed or were killed, grouped by reason, the most frequent first."""
    ended_badly = cells.assign(label=labels_of(cells))[cells["status"].isin([STATES["FAILED"], STATES["KILLED"]])]
    rows = []
    for (status, reason), group in ended_badly.groupby(["status", "error"]):
        labels = group["task"] + " " + group["label"] + " s" + group["seed"].astype(str)
        sweeps = tuple(sorted(set(group["sweep"])))
        rows.append(
            FailureRow(
                status=str(status),
                reason=str(reason),
                cells=tuple(labels),
                sweeps=sweeps,
                run_ids=tuple(group["run_id"]),
            )
        )
    return sorted(rows, key=lambda row: (-len(row.cells), row.status, row.reason))


def _sweep_runs(address: Address, suite: str = "") -> pd.DataFrame:
    """Return the run that stands for each sweep: of several the first, as the writer takes it."""
    wanted = RunFilter(suite=suite, kind=schema.SWEEP_RUN, in_any_state=True)
    found = open_reader(address).table(wanted, columns=SWEEP_COLUMNS).sort_values(["start_time", "run_id"])
    return found.drop_duplicates(["suite", "sweep"])


def _sweep_row(cells: pd.DataFrame, run: Mapping[str, Any]) -> SweepRow:
    names = run or cells.iloc[0].to_dict()
    counts = cells["status"].value_counts()
    started: pd.Timestamp = min([*cells["start_time"], *([run["start_time"]] if run else [])])
    return SweepRow(
        sweep=names["sweep"],
        suite=names["suite"],
        status=run.get("status", ""),
        n_finished=int(counts.get("finished", 0)),
        n_failed=int(counts.get("failed", 0)),
        n_running=int(counts.get("running", 0)),
        n_killed=int(counts.get("killed", 0)),
        tasks=tuple(sorted(set(cells["task"]))),
        models=tuple(sorted(set(cells["model"]))),
        seeds=tuple(sorted({int(seed) for seed in cells["seed"].dropna()})),
        started=started.to_pydatetime().astimezone(UTC),
        run_id=run.get("run_id", ""),
    )


def _check_name(kind: str, name: str, known: pd.Series) -> None:
    if name and name not in set(known):
        raise UnknownName(kind, name, set(known), command=COMMAND)
