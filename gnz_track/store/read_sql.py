"""A store read by SQL from MLflow's own tables: over twenty times as fast as its search (benchmarks/store.py).

The tables are MLflow's private matter. They are read only where their revision is one that the tests know, and never
written.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.store import schema
from gnz_track.store.address import SQLITE, Address, check_place
from gnz_track.store.connection import says_in_one_line
from gnz_track.store.files.local_stores import SECONDS_TO_ANSWER, STRANGE, no_file, refuse_strange
from gnz_track.store.files.sqlite import open_file
from gnz_track.store.results_table import BESIDE, COLUMNS, COUNT, FINAL, PARAM, TAG, count_to
from gnz_track.store.row_filters import PastRun, Point, RunFilter, legible_table, read_with

__all__ = [
    "KNOWN_REVISIONS",
    "SqlReader",
    "keep_open",
    "revision_of",
]

# Alembic revision of MLflow's tables -> the versions that make them, with which the tests were run.
KNOWN_REVISIONS = {"dc11669786a5": "3.17"}

# A query names each run; databases take a limited number of values.
RUNS_PER_QUERY = 500
ACTIVE = "r.lifecycle_stage = 'active' AND e.lifecycle_stage = 'active'"
RUNS = "FROM runs r JOIN experiments e ON e.experiment_id = r.experiment_id"


@dataclass(kw_only=True)
class _KeptStore:
    """A store whose connection stays open, and the revision of its tables, once that was asked."""

    address: Address
    connection: Any
    revision: str | None = None


_KEPT: ContextVar[_KeptStore | None] = ContextVar("kept", default=None)


class SqlReader:
    """A store in a database whose tables are known."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def table(self, wanted: RunFilter, *, columns: Collection[str] = COLUMNS) -> pd.DataFrame:
        """Return every run that is wanted, in no particular order, and of it the columns asked for."""
        names = read_with(columns, wanted)
        text, values = _table_query(wanted, names)
        with _reading(self.address) as (connection, sql):
            rows = connection.execute(sql(text), values).all()
        read = list(zip(*rows, strict=True)) or [()] * len(names)
        found = {
            name: list(map(count_to, values)) if COLUMNS[name][0] == COUNT else values
            for name, values in zip(names, read, strict=True)
        }
        return legible_table(self.address, found, wanted=wanted, columns=columns)

    def runs(self, tags: Mapping[str, str], *, start: str = "", most: int | None = None) -> list[PastRun]:
        """Return runs of ours that bear the tags and whose ids begin so, oldest first.

        Parameters
        ----------
        tags, start, most
            Those of :meth:`gnz_track.store.reader.Reader.runs`.
        """
        joins, values = _joins_of_tags(tags)
        # Only names of this file's own making are in the text; what users give travels as values.
        text = (
            f"SELECT r.run_uuid, r.status, r.artifact_uri {RUNS} "
            f"JOIN tags k ON k.run_uuid = r.run_uuid AND k.key = :kind {' '.join(joins)} "
            f"WHERE r.run_uuid LIKE :start AND {ACTIVE} ORDER BY r.start_time, r.run_uuid"
        )
        text += f" LIMIT {most:d}" if most is not None else ""
        with _reading(self.address) as (connection, sql):
            rows = connection.execute(sql(text), {**values, "kind": schema.KIND, "start": f"{start}%"}).all()
            found: dict[str, tuple[dict[str, str], dict[str, float]]] = {row[0]: ({}, {}) for row in rows}
            for place, (table, value) in enumerate((("tags", "m.value"), ("latest_metrics", METRIC.format("m")))):
                for run_id, key, known in _rows_of_runs(connection, sql, f"key, {value} FROM {table}", list(found)):
                    found[run_id][place][key] = known
        return [
            PastRun(run_id=run_id, status=status, artifacts=artifacts, tags=found[run_id][0], metrics=found[run_id][1])
            for run_id, status, artifacts in rows
        ]

    def points(self, run_ids: Sequence[str]) -> list[Point]:
        """Return the points of the curves of runs."""
        return self._metrics(f"key, step, {METRIC.format('m')} FROM metrics", run_ids, schema.CURVE_PREFIX)

    def scores(self, run_ids: Sequence[str]) -> list[tuple[str, str, float]]:
        """Return run, key and value of the test scores of runs."""
        return self._metrics(f"key, {METRIC.format('m')} FROM latest_metrics", run_ids, schema.TEST_PREFIX)

    def kept_files(self, run_ids: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return run, place of its artifacts, and the tag that names its files."""
        with _reading(self.address) as (connection, sql):
            tags = dict(_rows_of_runs(connection, sql, "value FROM tags", run_ids, schema.FILES))
            places = dict(_rows_of_runs(connection, sql, "artifact_uri FROM runs", run_ids, key="run_uuid"))
        # Whoever wrote the file may have put there what is no text.
        told = {run_id: place if isinstance(place, str) else "" for run_id, place in places.items()}
        return [(run_id, told[run_id], tags.get(run_id, "")) for run_id in run_ids if run_id in told]

    def experiments_with(self, tag: str, *, most: int) -> list[tuple[str, str]]:
        """Return id and task of the experiments that bear a tag, by name; of one without a task its name."""
        text = (
            "SELECT e.experiment_id, coalesce(t.value, e.name) FROM experiments e "
            "JOIN experiment_tags v ON v.experiment_id = e.experiment_id AND v.key = :tag "
            "LEFT JOIN experiment_tags t ON t.experiment_id = e.experiment_id AND t.key = :task "
            "WHERE e.lifecycle_stage = 'active' ORDER BY e.name, e.experiment_id LIMIT :most"
        )
        with _reading(self.address) as (connection, sql):
            rows = connection.execute(sql(text), {"tag": tag, "task": schema.TASK, "most": most}).all()
        return [(str(number), str(task)) for number, task in rows]

    def has_running(self) -> bool:
        """Tell whether any run of ours, of whatever kind, is marked as running."""
        text = (
            f"SELECT r.run_uuid {RUNS} JOIN tags k ON k.run_uuid = r.run_uuid AND k.key = :kind "
            f"WHERE r.status = 'RUNNING' AND {ACTIVE} LIMIT 1"
        )
        with _reading(self.address) as (connection, sql):
            return connection.execute(sql(text), {"kind": schema.KIND}).first() is not None

    def state_of_sweep(self, sweep: str) -> str:
        """Return a text that changes whenever a cell of the sweep is added, ended, deleted or brought back."""
        joins, values = _joins_of_tags({schema.SWEEP: sweep, schema.KIND: schema.CELL})
        text = (
            f"SELECT count(*), count(r.end_time), coalesce(max(r.end_time), 0), "
            f"CAST(coalesce(sum(r.end_time % 1000003), 0) AS BIGINT), "
            f"count(CASE WHEN r.status = 'FINISHED' THEN 1 END) "
            f"{RUNS} {' '.join(joins)} WHERE {ACTIVE}"
        )
        with _reading(self.address) as (connection, sql):
            return ":".join(str(number) for number in connection.execute(sql(text), values).one())

    def is_fresh(self, sweep: str, tags: Mapping[str, str]) -> bool:
        """Tell whether the table that the tags of a sweep's run name still says the truth."""
        return tags.get(schema.TABLE_STATE) == self.state_of_sweep(sweep)

    def _metrics(self, what: str, run_ids: Sequence[str], start: str) -> list[Any]:
        with _reading(self.address) as (connection, sql):
            return list(_rows_of_runs(connection, sql, what, run_ids, start))


def _joins_of_tags(tags: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """Return joins with runs that bear all tags, and their values."""
    joins, values = [], dict[str, str]()
    for n, (key, value) in enumerate(tags.items()):
        values |= {f"f{n}_key": key, f"f{n}": value}
        joins.append(f"JOIN tags f{n} ON f{n}.run_uuid = r.run_uuid AND f{n}.key = :f{n}_key AND f{n}.value = :f{n}")
    return joins, values


def _rows_of_runs(
    connection: Any, sql: Any, what: str, run_ids: Sequence[str], start: str = "", *, key: str = "key"
) -> Iterator[Any]:
    """Yield the run, and what is asked of each of its rows whose key begins so."""
    for first in range(0, len(run_ids), RUNS_PER_QUERY):
        names = {f"r{n}": run_id for n, run_id in enumerate(run_ids[first : first + RUNS_PER_QUERY])}
        marks = ", ".join(f":{name}" for name in names)
        text = f"SELECT run_uuid, {what} m WHERE run_uuid IN ({marks}) AND {key} LIKE :start"
        yield from connection.execute(sql(text), {**names, "start": f"{start}%"})


def revision_of(address: Address) -> str:
    """Return the revision of MLflow's tables; nothing where there are none."""
    from sqlalchemy import inspect

    kept = _kept(address)
    if kept and kept.revision:
        return kept.revision
    with _reading(address) as (connection, sql):
        if not inspect(connection).has_table("alembic_version"):
            return ""
        found = str(connection.execute(sql("SELECT version_num FROM alembic_version")).scalar() or "")
    if kept:
        kept.revision = found
    return found


def _table_query(wanted: RunFilter, columns: Collection[str]) -> tuple[str, dict[str, str]]:
    """Return one query with a column per wanted column of the table, and its values.

    Every tag and metric is one look-up by primary key, so that the database hands over one row per run.
    """
    joins, values = _joins_of_tags(wanted.tags)
    conditions = [ACTIVE]
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
def keep_open(address: Address) -> Iterator[None]:
    """Read a database over one connection, and ask the revision of its tables once, until this is left.

    Each query still sees what the database holds at that time. A store that is no database, or that does not exist yet,
    is read as ever.
    """
    check_place(address)
    if not address.is_database or (address.kind == SQLITE and not address.file.exists()):
        yield
        return
    with says_in_one_line(address):
        # Between two queries no transaction stays open: it would see what was, and keep writers waiting.
        connection = _engine_of(address).connect().execution_options(isolation_level="AUTOCOMMIT")
    # What the caller raises is not said by the store.
    token = _KEPT.set(_KeptStore(address=address, connection=connection))
    try:
        yield
    finally:
        _KEPT.reset(token)
        connection.close()


def _kept(address: Address) -> _KeptStore | None:
    kept = _KEPT.get()
    return kept if kept is not None and kept.address == address else None


@contextlib.contextmanager
def _reading(address: Address) -> Iterator[tuple[Any, Any]]:
    """Yield a connection that cannot write, and the function that makes SQL of a text."""
    import sqlalchemy

    check_place(address)
    if kept := _kept(address):
        with says_in_one_line(address):
            _refuse_strange_tables(address, kept.connection)
            yield kept.connection, sqlalchemy.text
        return
    with says_in_one_line(address), _engine_of(address).connect() as connection:
        _refuse_strange_tables(address, connection)
        yield connection, sqlalchemy.text


def _refuse_strange_tables(address: Address, connection: Any) -> None:
    if address.kind == SQLITE:
        refuse_strange(((kind, name, table) for kind, name, table in connection.exec_driver_sql(STRANGE)), address)


def _engine_of(address: Address) -> Any:
    """Return what opens connections that cannot write."""
    import sqlalchemy

    if address.kind == SQLITE:
        if not address.file.exists():
            raise no_file(address)
        return sqlalchemy.create_engine("sqlite://", creator=_reader_of(address), poolclass=sqlalchemy.pool.NullPool)
    options = {"connect_timeout": SECONDS_TO_ANSWER, "options": "-c default_transaction_read_only=on"}
    return sqlalchemy.create_engine(address.uri, connect_args=options, poolclass=sqlalchemy.pool.NullPool)


def _reader_of(address: Address) -> Callable[[], sqlite3.Connection]:
    # On a read-only place, such as an archive, sqlite cannot keep the file in which its readers find each other.
    file = address.file
    is_archive = not os.access(file.parent, os.W_OK) and not file.with_name(file.name + "-wal").exists()
    return lambda: open_file(file, is_archive=is_archive)
