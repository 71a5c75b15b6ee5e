"""Which cells a sweep wanted, whoever had trained them before."""

from __future__ import annotations

import json

import pandas as pd

from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.reading import can_read_by_sql, read_table
from gnz_track.store.rest_reader import sweep_run_by_rest
from gnz_track.store.results import one_row_per_cell
from gnz_track.store.sql_reader import sweep_run_by_sql

__all__ = ["read_plan", "read_wanted_cells"]


def read_plan(uri: str | Address, sweep: str) -> frozenset[str] | None:
    """Return the fingerprints of the cells that a sweep wanted; None where no plan can be read."""
    address = uri if isinstance(uri, Address) else parse_address(uri)
    found = sweep_run_by_sql(address, sweep) if can_read_by_sql(address) else sweep_run_by_rest(address, sweep)
    if found is None:
        return None
    text = read_artifact(address, found[0], schema.PLAN_FILE)
    try:
        wanted = json.loads(text or "")
    except ValueError:
        # A plan that was cut off says no more than one that is gone.
        return None
    return frozenset(str(name) for name in wanted) if isinstance(wanted, list) else None


def read_wanted_cells(uri: str | Address, sweep: str) -> tuple[pd.DataFrame, int | None]:
    """Return the rows of all cells that a sweep wanted, and how many of those no run has; None: it is not known.

    A cell that another sweep had finished has the run of that sweep. Without a plan the rows are the sweep's own.
    """
    address = uri if isinstance(uri, Address) else parse_address(uri)
    own = read_table(address, sweep=sweep)
    wanted = read_plan(address, sweep)
    if wanted is None:
        return own, None
    left = wanted - set(own["fingerprint"][own["status"] == "finished"])
    if not left:
        return own, 0
    others = read_table(address, where={"fingerprint": left})
    parts = [table for table in (own, others) if not table.empty]
    table = one_row_per_cell(pd.concat(parts, ignore_index=True)) if parts else own
    return table, len(wanted - set(table["fingerprint"]))
