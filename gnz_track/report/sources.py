"""Results tables for a report: from a store, from parquet, or from a plain table; with their searches and audits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from gnz_track.errors import BadValue, NothingToCompare
from gnz_track.predictions.facts import TaskPredictions
from gnz_track.report.joining import NotMerged, join_tables, order_for_joining
from gnz_track.stats.comparison.cells import REQUIRED, read_cells
from gnz_track.stats.comparison.choices import Choices
from gnz_track.store.address import Address, parse_address
from gnz_track.store.audits import AuditRecord, read_audits
from gnz_track.store.curves import straighten
from gnz_track.store.past_runs import read_curves
from gnz_track.store.reader import check_known, read_table
from gnz_track.store.results_table import COLUMNS, make_table, sort_rows
from gnz_track.store.row_filters import Where, asked_names, read_where
from gnz_track.store.searches import SearchRecord, read_searches
from gnz_track.store.sweep_manifest import read_wanted_cells
from gnz_track.types import unperturbed_name

__all__ = [
    "ReportParts",
    "count_rows",
    "find_audits",
    "find_searches",
    "find_series",
    "key_of",
    "read_frame",
    "read_parquet",
    "read_store",
    "with_score",
]


# What a comparison tells variants of a model apart by, and attempts from results.
TOLD_BY = ("status", "hyperparameters", "protocol")


def count_rows(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that count, in their order, with the column ``label``: the model and what sets it apart.

    Labels are those of a comparison, and as there a scored cell replaces attempts at it that have no score.
    """
    if table.empty:
        return table.assign(label=pd.Series(dtype="str"))
    names = [*REQUIRED, *(name for name in TOLD_BY if name in table)]
    # The place of a row travels as the id of its run.
    cells = read_cells(table[names].assign(run_id=range(len(table))))
    labels = dict(sorted((int(cell.run_id), cell.label) for cell in cells))
    rows = table.iloc[list(labels)]
    # As objects: halves of characters, which some names hold, have no UTF-8.
    return rows.assign(label=pd.Series(list(labels.values()), index=rows.index, dtype=object))


def with_score(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that finished with a score, seeds rising."""
    return rows[(rows["status"] == "finished") & rows["score"].notna()].sort_values("seed", kind="stable")


def find_searches(table: pd.DataFrame, addresses: Sequence[Address], *, sweep: str = "") -> tuple[SearchRecord, ...]:
    """Return the searches of a sweep, or of all sweeps that a table names; only of tasks in the table.

    A tuned cell may have been trained by another sweep, whose search is told by its name then.

    Parameters
    ----------
    table
        Results table.
    addresses
        Stores to look in.
    sweep
        Sweep of the searches; those of the table without one.
    """
    sweeps = [sweep] if sweep else sorted(set(table["sweep"]) - {""})
    found: dict[str, SearchRecord] = {}
    for address in addresses:
        for name in sweeps:
            found |= {search.key: search for search in read_searches(address, sweep=name)}
    known = {search.name for search in found.values()}
    left = table[(table["search"] != "") & ~table["search"].isin(known)]
    for suite, task in sorted(set(zip(left["suite"], left["task"], strict=True))):
        for address in addresses:
            for search in read_searches(address, suite=suite, task=task):
                # Of one search in several sweeps, any tells the same of these cells.
                if search.name in set(left["search"]) - known:
                    known.add(search.name)
                    found[search.key] = search
    return tuple(search for search in found.values() if search.task in set(table["task"]))


def key_of(row: Any) -> str:
    """Return the key of a row's series: the fingerprint of its cell, or its run where it has none."""
    return str(row.fingerprint or row.run_id)


def find_series(missing: Mapping[str, str], addresses: Sequence[Address]) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return key -> the series of its run, for (run -> key) of ``missing``; of the first store that has any of it."""
    left, found = dict(missing), {}
    for address in addresses:
        if not left:
            break
        for run_id, series in read_curves(address, left).items():
            if series or address is addresses[-1]:
                found[left.pop(run_id)] = {name: straighten(curve) for name, curve in series.items()}
    return found


def find_audits(table: pd.DataFrame, addresses: Iterable[Address]) -> dict[str, AuditRecord]:
    """Return task -> its latest audit, for tasks of a results table; an audit of other data than these is none."""
    rows = table[["task", "dataset_digest"]].drop_duplicates() if "dataset_digest" in table.columns else table[:0]
    digests: dict[str, set[str]] = {}
    for row in rows.itertuples():
        digests.setdefault(unperturbed_name(str(row.task)), set()).add(str(row.dataset_digest))
    found: dict[str, AuditRecord] = {}
    for address in addresses if digests else ():
        for task, record in read_audits(address, tuple(digests)).items():
            if record.dataset_digest in digests[task]:
                found.setdefault(task, record)
    return {task: found[task] for task in digests if task in found}


# Cells of one model, task and seed may differ in these: a comparison names the variants.
VARIANTS = frozenset({"hyperparameters"})


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportParts:
    """A results table, where it comes from, and all else that a report is made of.

    ``series`` is by cell, name -> value per recorded epoch; seeds are those of the table, searches and predictions (by
    task) those of the store, where they are not given.
    """

    table: pd.DataFrame
    config: Mapping[str, Any]
    address: Address | None = None
    seeds: tuple[int, ...] | None = None
    series: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    choices: Choices = field(default_factory=Choices)
    not_merged: tuple[NotMerged, ...] = ()
    searches: tuple[SearchRecord, ...] | None = None
    predictions: Mapping[str, TaskPredictions] | None = None


def read_store(
    store: str | Address = "",
    *,
    sweep: str = "",
    experiment: str = "",
    suite: str = "",
    task: str = "",
    where: Where | None = None,
) -> ReportParts:
    """Read past runs: all cells that a sweep wanted, or of any sweeps those that are comparable.

    Without a sweep, the sweep with most cells of a task says what the others must agree with there.

    Parameters
    ----------
    store
        Address of the store; empty for the usual one.
    sweep, experiment, suite, task
        Names to select by; an empty one selects all.
    where
        Column of the results table -> its value, or a collection of values.
    """
    address = store if isinstance(store, Address) else parse_address(store)
    values = read_where(where)
    names = {"sweep": sweep, "experiment": experiment, "suite": suite, "task": task}
    given = {name: value for name, value in {**names, "where": values}.items() if value}
    config: dict[str, Any] = {"store": str(address), **given}
    is_whole_sweep = bool(sweep) and not (experiment or suite or task or where)
    not_merged: tuple[NotMerged, ...] = ()
    if is_whole_sweep:
        wanted = read_wanted_cells(address, sweep)
        table, config["cells_without_run"], config["left_out"] = wanted.table, wanted.n_without_run, wanted.left_out
    else:
        table = read_table(address, sweep=sweep, experiment=experiment, suite=suite, task=task, where=values)
    check_known(address, asked_names(values, **(names if table.empty else {})), table)
    if table.empty:
        asked = ", ".join(f"{name} {value!r}" for name, value in given.items()) or "any cell"
        raise NothingToCompare(f"no run in {address} has {asked}")
    if not is_whole_sweep:
        free = VARIANTS | ({"protocol"} & set(where or {}))
        joined, not_merged = join_tables(None, [order_for_joining(table)], free=free)
        table = sort_rows(joined)
    return ReportParts(table=table, config={**config, **_describe(table)}, address=address, not_merged=not_merged)


def read_parquet(path: str | Path) -> ReportParts:
    """Read a results table as it was published, or any parquet file with the columns of :func:`read_frame`."""
    file = Path(path)
    if not file.is_file():
        raise BadValue("results table", str(path), "a parquet file that exists")
    from pyarrow import ArrowException

    try:
        # Texts that are none are noticed when they are looked at, and not when they are read.
        found = read_frame(pd.read_parquet(file))
    except (OSError, ValueError, ArrowException) as error:
        raise BadValue("results table", str(path), f"a parquet file ({error})") from error
    return ReportParts(table=found.table, config={**found.config, "source": str(path)})


def read_frame(frame: pd.DataFrame) -> ReportParts:
    """Read plain numbers: task, model, seed, score, metric and direction (up or down); what is missing is filled in.

    A row without a score stands for a cell that has none. Columns that a results table does not have are left out.
    """
    if not len(frame):
        raise NothingToCompare("the table has no row")
    cells = read_cells(frame)
    for cell in cells:
        if cell.direction not in {"up", "down"}:
            raise BadValue(f"direction of {cell}", cell.direction, "up (larger is better) or down (smaller is better)")
    columns = {name: frame[name].reset_index(drop=True) for name in COLUMNS if name in frame}
    columns["score"] = pd.to_numeric(columns["score"]).astype("float64")
    if "status" not in columns:
        columns["status"] = columns["score"].map(lambda score: "finished" if pd.notna(score) else "")
    table = make_table(columns)
    return ReportParts(table=table, config={"source": "a table of numbers", **_describe(table)})


def _describe(table: pd.DataFrame) -> dict[str, Any]:
    return {
        "tasks": list(dict.fromkeys(table["task"])),
        "models": list(dict.fromkeys(table["model"])),
        "protocol": ", ".join(dict.fromkeys(name for name in table["protocol"] if name)),
    }
