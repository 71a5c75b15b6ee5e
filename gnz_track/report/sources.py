"""Results tables for a report: from a store, from parquet, or from a plain table of someone else's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from gnz_track.errors import BadValue, NothingToCompare
from gnz_track.report.joining import NotMerged, join_tables, order_for_joining
from gnz_track.stats.cells import read_cells
from gnz_track.store.address import Address, parse_address
from gnz_track.store.plans import read_wanted_cells
from gnz_track.store.reading import Where, check_known, read_table
from gnz_track.store.results import COLUMNS, make_table, sort_rows
from gnz_track.store.wanted_rows import asked_names, read_where

__all__ = ["Source", "read_frame", "read_parquet", "read_store"]

# Cells of one model, task and seed may differ in these: a comparison names the variants.
VARIANTS = frozenset({"hyperparameters"})


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A results table, where it comes from, and what could not be part of it."""

    table: pd.DataFrame
    config: Mapping[str, Any]
    address: Address | None = None
    not_merged: tuple[NotMerged, ...] = ()


def read_store(
    store: str | Address = "",
    *,
    sweep: str = "",
    experiment: str = "",
    suite: str = "",
    task: str = "",
    where: Where | None = None,
) -> Source:
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
    return Source(table=table, config={**config, **_describe(table)}, address=address, not_merged=not_merged)


def read_parquet(path: str | Path) -> Source:
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
    return Source(table=found.table, config={**found.config, "source": str(path)})


def read_frame(frame: pd.DataFrame) -> Source:
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
    return Source(table=table, config={"source": "a table of numbers", **_describe(table)})


def _describe(table: pd.DataFrame) -> dict[str, Any]:
    return {
        "tasks": list(dict.fromkeys(table["task"])),
        "models": list(dict.fromkeys(table["model"])),
        "protocol": ", ".join(dict.fromkeys(name for name in table["protocol"] if name)),
    }
