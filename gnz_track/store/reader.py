"""The results table out of a store: one function, three ways to the same rows.

The results table of a whole sweep as a file in the sweep's run, and whether it still says the truth.
"""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.store import schema
from gnz_track.store.address import Address, check_place, parse_address
from gnz_track.store.artifacts import fetch_artifact
from gnz_track.store.read_rest import has_deleted_runs, read_by_rest, sweep_run_by_rest
from gnz_track.store.read_sql import KNOWN_REVISIONS, read_by_sql, revision_of, state_of_sweep, sweep_run_by_sql
from gnz_track.store.results_table import COLUMNS, ResultsTensor, load_table, one_row_per_cell, tensor_of, write_table
from gnz_track.store.row_filters import (
    NAMES,
    Names,
    RunFilter,
    Where,
    asked_names,
    check_columns,
    experiments_of,
    missing_names,
    read_where,
    refuse_unknown,
    rows_where,
    several,
)
from gnz_track.store.writer import Store

__all__ = [
    "Where",
    "check_known",
    "digest_of",
    "finished_fingerprints",
    "publish_table",
    "read_published",
    "read_table",
    "read_tensor",
]


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


LOG = logging.getLogger(__name__)
# What says which run of a cell counts, and what an array of scores is made of.
OF_CHOICE = ("run_id", "fingerprint", "status", "start_time")
OF_TENSOR = ("task", "model", "seed", "score", "status", "protocol", "hyperparameters", "epochs", "run_id")


def read_table(
    uri: str | Address = "",
    *,
    sweep: str = "",
    experiment: str = "",
    suite: str = "",
    task: str | Collection[str] = "",
    where: Where | None = None,
    columns: str | Collection[str] = COLUMNS,
) -> pd.DataFrame:
    """Return the results table: one row per cell, sorted.

    A fresh published table of the sweep is taken first, then SQL where the store is a database whose tables are
    known, then MLflow's search. Of several runs of one cell the finished one counts, and of those the latest.

    Parameters
    ----------
    uri
        Address of the store; empty: the default store.
    sweep, experiment, suite
        Names that rows must have. A cell that an earlier sweep had finished belongs to that sweep; to find it, read
        without ``sweep`` and with ``where={"fingerprint": [...]}``.
    task
        Name of one task or several.
    where
        Columns, and the value or collection of values that rows must have. A name that is no column is refused, and a
        value that no cell has leaves no row.
    columns
        Columns to return; fewer are read in less time.
    """
    address = uri if isinstance(uri, Address) else parse_address(uri)
    tasks, names, values = tuple(filter(None, several(task))), several(columns), read_where(where)
    check_columns(names)
    wanted = RunFilter(sweep=sweep, experiment=experiment, suite=suite, tasks=tasks)
    needed = [name for name in COLUMNS if name in {*names, *values, *OF_CHOICE}]
    by_sql = can_read_by_sql(address)
    table = read_published(address, sweep, by_sql=by_sql) if sweep else None
    if table is None:
        reader = read_by_sql if by_sql else read_by_rest
        table = reader(address, wanted, columns=needed)
    elif experiment or suite or tasks:
        table = _select_rows(table, wanted)
    return rows_where(one_row_per_cell(table), values)[names]


def read_tensor(
    uri: str | Address = "",
    *,
    sweep: str = "",
    experiment: str = "",
    suite: str = "",
    task: str | Collection[str] = "",
    where: Where | None = None,
) -> ResultsTensor:
    """Return the scores of the finished cells as ``X [tasks, models, seeds]``, and of the store nothing else.

    ``mask`` says where there is a score, ``run_ids`` from which run it comes, and ``tasks``, ``models`` and ``seeds``
    what the axes stand for. A model that was run with several hyperparameters or protocols stands for one model each.

    Parameters
    ----------
    uri, sweep, experiment, suite, task
        Those of :func:`read_table`, but a name that nothing in the store bears is refused.
    where
        That of :func:`read_table`. Where a task was run with several numbers of epochs, ``where={"epochs": 50}`` or
        ``sweep`` chooses.
    """
    address, values = uri if isinstance(uri, Address) else parse_address(uri), read_where(where)
    asked = asked_names(values, sweep=sweep, suite=suite, experiment=experiment, task=task)
    columns = [name for name in NAMES if name in asked or (name == "suite" and experiment)]
    rows = read_table(
        address,
        sweep=sweep,
        experiment=experiment,
        suite=suite,
        task=task,
        where=values,
        columns=tuple(dict.fromkeys((*OF_TENSOR, *columns))),
    )
    check_known(address, asked, rows)
    return tensor_of(rows)


def check_known(address: Address, asked: Names, rows: pd.DataFrame) -> None:
    """Refuse a name that was asked for and that nothing in a store bears.

    Parameters
    ----------
    address
        The store.
    asked
        Names that were asked for.
    rows
        All that was found.
    """
    missing = missing_names(asked, rows)
    if missing:
        # A sweep whose cells others had finished has a run and no cell of its own.
        sweeps = RunFilter(kind=schema.SWEEP_RUN, in_any_state=True)
        reader = read_by_sql if can_read_by_sql(address) else read_by_rest
        refuse_unknown(missing, pd.concat([reader(address, sweeps, columns=NAMES), read_table(address, columns=NAMES)]))


def finished_fingerprints(uri: str | Address = "") -> set[str]:
    """Return the fingerprints of all cells that are finished; a store that does not exist yet has none."""
    address = uri if isinstance(uri, Address) else parse_address(uri)
    check_place(address)
    if address.kind == "sqlite" and not address.file.exists():
        return set()
    reader = read_by_sql if can_read_by_sql(address) else read_by_rest
    found = reader(address, RunFilter(), columns=("fingerprint", "status"))
    return set(found["fingerprint"][found["status"] == "finished"])


def publish_table(store: Store, suite: str, sweep: str, *, run_id: str) -> pd.DataFrame:
    """Write the table of a sweep into the sweep's run, where readers find it, and return it.

    Parameters
    ----------
    store
        Open store of the sweep.
    suite, sweep
        Names of the sweep's suite and of itself.
    run_id
        Run that stands for the sweep.
    """
    by_sql = can_read_by_sql(store.address)
    # Asked before the runs are read: whatever comes in between makes the table stale.
    state = state_of_sweep(store.address, sweep) if by_sql else ""
    wanted = RunFilter(sweep=sweep, suite=suite)
    reader = read_by_sql if by_sql else read_by_rest
    table = one_row_per_cell(reader(store.address, wanted))
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / schema.TABLE_FILE
        write_table(table, file)
        store.write_artifact(run_id, schema.TABLE_FILE, file)
        store.mark_published(run_id, sweep, {schema.TABLE: digest_of(file), schema.TABLE_STATE: state})
    return table


def can_read_by_sql(address: Address) -> bool:
    """Tell whether a store is a database whose tables the tests know; where it is not, say so once per reading."""
    if not address.is_database:
        return False
    revision = revision_of(address)
    if revision not in KNOWN_REVISIONS:
        LOG.warning(
            "the tables of %s have the unknown revision %r (known: MLflow %s); reading them the slow way",
            address,
            revision,
            ", ".join(KNOWN_REVISIONS.values()),
        )
    return revision in KNOWN_REVISIONS


def _select_rows(table: pd.DataFrame, wanted: RunFilter) -> pd.DataFrame:
    pairs = ((experiments_of(table), wanted.experiment), (table["suite"], wanted.suite))
    bears_all = [values == name for values, name in pairs if name]
    bears_all += [table["task"].isin(wanted.tasks)] if wanted.tasks else []
    return table[np.logical_and.reduce(bears_all)]
