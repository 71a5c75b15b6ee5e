"""Readers of a store, and the results table out of it: one function, three ways to the same rows."""

from __future__ import annotations

import hashlib
import logging
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.store import schema
from gnz_track.store.address import Address, check_place, parse_address
from gnz_track.store.artifacts import fetch_artifact
from gnz_track.store.read_rest import RestReader
from gnz_track.store.read_sql import KNOWN_REVISIONS, SqlReader, revision_of
from gnz_track.store.results_table import COLUMNS, ResultsTensor, load_table, one_row_per_cell, tensor_of, write_table
from gnz_track.store.row_filters import (
    NAMES,
    Names,
    PastRun,
    Point,
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
    "Reader",
    "check_known",
    "digest_of",
    "find_sweep_run",
    "finished_fingerprints",
    "open_reader",
    "publish_table",
    "read_published",
    "read_table",
    "read_tensor",
]


class Reader(Protocol):
    """One way into a store; both ways give the same tables, runs and numbers."""

    address: Address

    def table(self, wanted: RunFilter, *, columns: Collection[str] = COLUMNS) -> pd.DataFrame:
        """Return every run that is wanted, in no particular order, and of it the columns asked for."""

    def runs(self, tags: Mapping[str, str], *, start: str = "", most: int | None = None) -> list[PastRun]:
        """Return runs of ours that bear the tags and whose ids begin so, oldest first.

        Parameters
        ----------
        tags
            Tags and values.
        start
            First characters of the ids.
        most
            Most runs to return.
        """

    def points(self, run_ids: Sequence[str]) -> list[Point]:
        """Return the points of the curves of runs, as they stand in the store."""

    def scores(self, run_ids: Sequence[str]) -> list[tuple[str, str, float]]:
        """Return run, key and value of the test scores of runs."""

    def kept_files(self, run_ids: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return run, place of its artifacts, and the tag that names its files; empty where it has none."""

    def experiments_with(self, tag: str, *, most: int) -> list[tuple[str, str]]:
        """Return id and task of the experiments that bear a tag, by name; of one without a task its name."""

    def has_running(self) -> bool:
        """Tell whether any run of ours may be running; a store that cannot be asked that cheaply says yes."""

    def state_of_sweep(self, sweep: str) -> str:
        """Return a text that changes with the cells of a sweep; nothing where a store cannot be asked that."""

    def is_fresh(self, sweep: str, tags: Mapping[str, str]) -> bool:
        """Tell whether the table that the tags of a sweep's run name still says the truth."""


def open_reader(address: Address) -> Reader:
    """Return the reader of a store: by SQL where it is a database whose tables are known, by MLflow elsewhere."""
    return SqlReader(address) if _has_known_tables(address) else RestReader(address)


def _has_known_tables(address: Address) -> bool:
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


def find_sweep_run(reader: Reader, sweep: str) -> PastRun | None:
    """Return the first run that stands for a sweep; None where there is none."""
    return next(iter(reader.runs({schema.SWEEP: sweep, schema.KIND: schema.SWEEP_RUN}, most=1)), None)


def read_published(reader: Reader, sweep: str) -> pd.DataFrame | None:
    """Return the published table of a sweep where there is a fresh and whole one, None otherwise."""
    found = find_sweep_run(reader, sweep)
    digest = found.tags.get(schema.TABLE, "") if found else ""
    if not found or not digest or not reader.is_fresh(sweep, found.tags):
        return None
    with tempfile.TemporaryDirectory() as temporary:
        file = fetch_artifact(reader.address, found.artifacts, schema.TABLE_FILE, Path(temporary))
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
    reader = open_reader(address)
    table = read_published(reader, sweep) if sweep else None
    if table is None:
        table = reader.table(wanted, columns=needed)
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
        known = [open_reader(address).table(sweeps, columns=NAMES), read_table(address, columns=NAMES)]
        refuse_unknown(missing, pd.concat(known))


def finished_fingerprints(uri: str | Address = "") -> set[str]:
    """Return the fingerprints of all cells that are finished; a store that does not exist yet has none."""
    address = uri if isinstance(uri, Address) else parse_address(uri)
    check_place(address)
    if address.kind == "sqlite" and not address.file.exists():
        return set()
    found = open_reader(address).table(RunFilter(), columns=("fingerprint", "status"))
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
    reader = open_reader(store.address)
    # Asked before the runs are read: whatever comes in between makes the table stale.
    state = reader.state_of_sweep(sweep)
    table = one_row_per_cell(reader.table(RunFilter(sweep=sweep, suite=suite)))
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / schema.TABLE_FILE
        write_table(table, file)
        store.write_artifact(run_id, schema.TABLE_FILE, file)
        store.mark_published(run_id, sweep, {schema.TABLE: digest_of(file), schema.TABLE_STATE: state})
    return table


def _select_rows(table: pd.DataFrame, wanted: RunFilter) -> pd.DataFrame:
    pairs = ((experiments_of(table), wanted.experiment), (table["suite"], wanted.suite))
    bears_all = [values == name for values, name in pairs if name]
    bears_all += [table["task"].isin(wanted.tasks)] if wanted.tasks else []
    return table[np.logical_and.reduce(bears_all)]
