"""The results table of a whole sweep as a file in the sweep's run, and whether it still says the truth."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import fetch_artifact
from gnz_track.store.rest_reader import has_deleted_runs, sweep_run_by_rest
from gnz_track.store.results import load_table
from gnz_track.store.sql_reader import state_of_sweep, sweep_run_by_sql

__all__ = ["digest_of", "read_published"]


def read_published(address: Address, sweep: str, *, by_sql: bool) -> pd.DataFrame | None:
    """Return the published table of a sweep where there is a fresh and whole one, None otherwise.

    A database is asked what it holds now. A server cannot be asked that cheaply: there the writer takes the mark of
    the table away before it writes on, and a table is not taken once any cell of the sweep was deleted.

    Parameters
    ----------
    address
        Store of the sweep.
    sweep
        Name of the sweep.
    by_sql
        Whether the store is a database whose tables are known.
    """
    found = sweep_run_by_sql(address, sweep) if by_sql else sweep_run_by_rest(address, sweep)
    if found is None:
        return None
    place, tags = found
    digest = tags.get(schema.TABLE, "")
    if not digest or not _is_fresh(address, sweep, tags, by_sql=by_sql):
        return None
    with tempfile.TemporaryDirectory() as temporary:
        file = fetch_artifact(address, place, schema.TABLE_FILE, Path(temporary))
        if file is None or digest_of(file) != digest:
            return None
        try:
            return load_table(file, is_of_now=True)
        except BadValue:
            # Another version wrote it, with other columns: the runs themselves are asked, which may tell more.
            return None


def digest_of(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _is_fresh(address: Address, sweep: str, tags: Mapping[str, str], *, by_sql: bool) -> bool:
    if by_sql:
        return tags.get(schema.TABLE_STATE) == state_of_sweep(address, sweep)
    return not has_deleted_runs(address, sweep)
