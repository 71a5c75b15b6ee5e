"""The results table by SQL from MLflow's own tables: over twenty times as fast as its search (benchmarks/store.py).

The tables are MLflow's private matter. They are read only where their revision is one that the tests know, and never
written.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from gnz_track.store import schema
from gnz_track.store.address import SQLITE, Address, check_place
from gnz_track.store.connection import says_in_one_line
from gnz_track.store.files.local_stores import SECONDS_TO_ANSWER, STRANGE, no_file, refuse_strange
from gnz_track.store.files.sqlite import open_file
from gnz_track.store.results_table import BESIDE, COLUMNS, COUNT, FINAL, PARAM, TAG, count_to
from gnz_track.store.row_filters import RunFilter, legible_table, read_with

__all__ = [
    "KNOWN_REVISIONS",
    "METRIC",
    "read_by_sql",
    "revision_of",
    "rows_of",
    "state_of_sweep",
    "sweep_run_by_sql",
]

# Alembic revision of MLflow's tables -> the versions that make them, with which the tests were run.
KNOWN_REVISIONS = {"dc11669786a5": "3.17"}

ACTIVE = "r.lifecycle_stage = 'active' AND e.lifecycle_stage = 'active'"
RUNS = "FROM runs r JOIN experiments e ON e.experiment_id = r.experiment_id"


def read_by_sql(address: Address, wanted: RunFilter, *, columns: Collection[str] = COLUMNS) -> pd.DataFrame:
    """Return every run that is wanted, in no particular order, and of it the columns asked for.

    Parameters
    ----------
    address
        Store in a database whose tables are known.
    wanted
        Names, kind and states of the runs.
    columns
        Columns of the table.
    """
    names = read_with(columns, wanted)
    text, values = _table_query(wanted, names)
    with _reading(address) as (connection, sql):
        rows = connection.execute(sql(text), values).all()
    read = list(zip(*rows, strict=True)) or [()] * len(names)
    found = {
        name: list(map(count_to, values)) if COLUMNS[name][0] == COUNT else values
        for name, values in zip(names, read, strict=True)
    }
    return legible_table(address, found, wanted=wanted, columns=columns)


def state_of_sweep(address: Address, sweep: str) -> str:
    """Return a text that changes whenever a cell of the sweep is added, ended, deleted or brought back."""
    text = (
        f"SELECT count(*), count(r.end_time), coalesce(max(r.end_time), 0), "
        f"CAST(coalesce(sum(r.end_time % 1000003), 0) AS BIGINT), count(CASE WHEN r.status = 'FINISHED' THEN 1 END) "
        f"{RUNS} JOIN tags t ON t.run_uuid = r.run_uuid AND t.key = :sweep_key AND t.value = :sweep "
        f"JOIN tags k ON k.run_uuid = r.run_uuid AND k.key = :kind_key AND k.value = :kind WHERE {ACTIVE}"
    )
    values = {"sweep_key": schema.SWEEP, "sweep": sweep, "kind_key": schema.KIND, "kind": schema.CELL}
    with _reading(address) as (connection, sql):
        return ":".join(str(number) for number in connection.execute(sql(text), values).one())


def sweep_run_by_sql(address: Address, sweep: str) -> tuple[str, Mapping[str, str]] | None:
    """Return where the artifacts of a sweep's run lie, and its tags; None where there is no such run."""
    text = (
        f"SELECT r.run_uuid, r.artifact_uri {RUNS} "
        f"JOIN tags t ON t.run_uuid = r.run_uuid AND t.key = :sweep_key AND t.value = :sweep "
        f"JOIN tags k ON k.run_uuid = r.run_uuid AND k.key = :kind_key AND k.value = :kind WHERE {ACTIVE} "
        f"ORDER BY r.start_time, r.run_uuid LIMIT 1"
    )
    values = {"sweep_key": schema.SWEEP, "sweep": sweep, "kind_key": schema.KIND, "kind": schema.SWEEP_RUN}
    with _reading(address) as (connection, sql):
        found = connection.execute(sql(text), values).first()
        if found is None:
            return None
        tags = connection.execute(sql("SELECT key, value FROM tags WHERE run_uuid = :run"), {"run": found[0]}).all()
    return found[1], {key: value for key, value in tags}  # noqa: C416  (rows are no pairs to a type checker)


def rows_of(address: Address, text: str, values: Mapping[str, str]) -> list[Any]:
    """Return what a query of another file of this room answers.

    Parameters
    ----------
    address
        Store in a database.
    text
        SQL with named values.
    values
        Values by name.
    """
    with _reading(address) as (connection, sql):
        return list(connection.execute(sql(text), values).all())


def revision_of(address: Address) -> str:
    """Return the revision of MLflow's tables; nothing where there are none."""
    from sqlalchemy import inspect

    with _reading(address) as (connection, sql):
        if not inspect(connection).has_table("alembic_version"):
            return ""
        return str(connection.execute(sql("SELECT version_num FROM alembic_version")).scalar() or "")


def _table_query(wanted: RunFilter, columns: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return one query with a column per wanted column of the table, and its values.

    Every tag and metric is one look-up by primary key, so that the database hands over one row per run.
    """
    values: dict[str, str] = {}
    joins, conditions = [], [ACTIVE]
    for n, (key, value) in enumerate(wanted.tags.items()):
        values |= {f"f{n}_key": key, f"f{n}": value}
        joins.append(f"JOIN tags f{n} ON f{n}.run_uuid = r.run_uuid AND f{n}.key = :f{n}_key AND f{n}.value = :f{n}")
    if wanted.tasks:
        names = {f"t{n}": task for n, task in enumerate(wanted.tasks)}
        values |= {"tasks_key": schema.TASK, **names}
        marks = ", ".join(f":{name}" for name in names)
        joins.append(f"JOIN tags ft ON ft.run_uuid = r.run_uuid AND ft.key = :tasks_key AND ft.value IN ({marks})")
    if wanted.experiment:
        values["experiment"] = wanted.experiment
        conditions.append("e.name = :experiment")
    chosen = []
    if any(name == "score" or COLUMNS[name][0] == BESIDE for name in columns):
        joins += _SCORE_JOINS
        values["score_key"] = schema.SCORE_KEY
    for n, name in enumerate(columns):
        place, key, _ = COLUMNS[name]
        if place not in _TABLES:
            chosen.append(_OF_RUN[name])
            continue
        table, wanted_key, value = _TABLES[place]
        values[f"c{n}_key"] = key
        joins.append(
            f"LEFT JOIN {table} c{n} ON c{n}.run_uuid = r.run_uuid AND c{n}.key = {wanted_key.format(f':c{n}_key')}"
        )
        chosen.append(value.format(f"c{n}"))
    conditions.append(f"r.status IN ({', '.join(repr(status) for status in wanted.statuses)})")
    what, tables = ", ".join(chosen), " ".join([RUNS, *joins])
    # Only names of this file's own making are in the text; what users give travels as values.
    return f"SELECT {what} {tables} WHERE {' AND '.join(conditions)}", values


# MLflow keeps what is not a number as zero, with a mark.
METRIC = "CASE WHEN {0}.is_nan THEN NULL ELSE {0}.value END"
# Place of a column -> the table, the key that is looked up in it, and what is taken of its row.
_TABLES = {
    TAG: ("tags", "{}", "{}.value"),
    FINAL: ("latest_metrics", "{}", METRIC),
    PARAM: ("params", "{}", "{}.value"),
    BESIDE: ("latest_metrics", "s.value || {}", METRIC),
    COUNT: ("latest_metrics", "{}", "{}.step"),
}
_OF_RUN = {"run_id": "r.run_uuid", "status": "r.status", "start_time": "r.start_time", "score": METRIC.format("score")}
_SCORE_JOINS = [
    "LEFT JOIN tags s ON s.run_uuid = r.run_uuid AND s.key = :score_key",
    "LEFT JOIN latest_metrics score ON score.run_uuid = r.run_uuid AND score.key = s.value",
]


@contextlib.contextmanager
def _reading(address: Address) -> Iterator[tuple[Any, Any]]:
    """Yield a connection that cannot write, and the function that makes SQL of a text."""
    import sqlalchemy

    check_place(address)
    if address.kind == SQLITE:
        if not address.file.exists():
            raise no_file(address)
        engine = sqlalchemy.create_engine("sqlite://", creator=_reader_of(address), poolclass=sqlalchemy.pool.NullPool)
    else:
        options = {"connect_timeout": SECONDS_TO_ANSWER, "options": "-c default_transaction_read_only=on"}
        engine = sqlalchemy.create_engine(address.uri, connect_args=options, poolclass=sqlalchemy.pool.NullPool)
    with says_in_one_line(address), engine.connect() as connection:
        if address.kind == SQLITE:
            refuse_strange(((kind, name, table) for kind, name, table in connection.exec_driver_sql(STRANGE)), address)
        yield connection, sqlalchemy.text


def _reader_of(address: Address) -> Callable[[], sqlite3.Connection]:
    # On a read-only place, such as an archive, sqlite cannot keep the file in which its readers find each other.
    file = address.file
    is_archive = not os.access(file.parent, os.W_OK) and not file.with_name(file.name + "-wal").exists()
    return lambda: open_file(file, is_archive=is_archive)
