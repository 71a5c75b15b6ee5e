"""Stores in files of sqlite: made whole or not at all, and written by whoever opened that very file.

A file holds its schema as text, and whoever made the file wrote it. A view in the place of a table decides what a
reader does, for how long, and a trigger what a writer does; MLflow makes neither for the tables that are read here, and
a file that has such is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gnz_track.errors import StoreUnreachable, StoreUnusable
from gnz_track.files import file_lock, temporary_beside
from gnz_track.store.address import Address, check_place, store_home
from gnz_track.store.files.sqlite import (
    change_of,
    files_beside,
    identity_of,
    is_missing,
    misfit_of,
    open_file,
    set_aside,
    uri_of,
)
from gnz_track.store.mlflow_import import importing_mlflow

__all__ = ["STRANGE", "no_file", "prepared_sqlite", "refuse_strange", "store_in_file"]


# Indices cannot be named alike, and texts of CREATE stand as they were typed.
STRANGE = (
    "SELECT type, name, tbl_name FROM sqlite_master WHERE type IN ('view', 'trigger') OR sql LIKE 'CREATE VIRTUAL%'"
)
# Those of MLflow that are read or written here.
TABLES = frozenset(
    {
        "alembic_version",
        "datasets",
        "experiment_tags",
        "experiments",
        "input_tags",
        "inputs",
        "latest_metrics",
        "metrics",
        "params",
        "runs",
        "tags",
    }
)


def refuse_strange(found: Iterable[tuple[str, str, str]], address: Address) -> None:
    """Refuse a file in which any of (kind, name, table) is in the place of a table, or hangs on one."""
    for kind, name, table in found:
        if table.lower() in TABLES:
            what = "table of a module" if kind == "table" else kind
            reason = f"it has a {what} {name[:80]!r} where MLflow has none, which would decide what reading does"
            raise StoreUnusable(address, reason, remedy="ask whoever made it for a store as gnz_track writes it")


SECONDS_TO_ANSWER = 10
WRITABLE = "make it writable for you, or choose another one with --store"
# Every version of MLflow that writes to databases has them.
TABLES_OF_MLFLOW = frozenset({"alembic_version", "experiments", "metrics", "params", "runs", "tags"})
# MLflow keeps engines by URI, for all threads together.
_ENGINES = threading.Lock()


@contextlib.contextmanager
def prepared_sqlite(address: Address, *, creates: bool) -> Iterator[None]:
    """Hold the lock of creation, and see that the file is written ahead: then no reader waits for a writer.

    Where nothing is to be created, nothing is written either, to the file or beside it.
    """
    file = address.file
    if not creates:
        if is_missing(file):
            raise no_file(address)
        _refuse_foreign(file, address)
        yield
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        raise StoreUnusable(address, "it is read-only", remedy=WRITABLE)
    with file_lock(file.with_name(file.name + ".lock")):
        # Asked again, now that nobody else makes or removes anything.
        check_place(address)
        if not is_missing(file):
            _refuse_foreign(file, address)
            _refuse_misfit(file, address)
            _write_ahead(file, address, mode="rw")
        else:
            _create_whole(address)
        yield


def no_file(address: Address) -> StoreUnusable:
    """Return the error for a store that is read and is not there."""
    return StoreUnusable(address, "there is no such file", remedy="train something first: gnz run")


def _refuse_misfit(file: Path, address: Address) -> None:
    """Refuse a file whose log is that of another one, while nothing of it is written into the file yet."""
    if said := misfit_of(file):
        log = file.with_name(file.name + "-wal")
        reason = f"it is damaged, or {log.name} beside it belongs to another file: {said}"
        command = set_aside(tuple(path for path in files_beside(file) if path.exists()))
        raise StoreUnusable(address, reason, remedy=f"copy both; where the file was put back: {command}")


def _refuse_foreign(file: Path, address: Address) -> None:
    """Refuse a database of something else, before anything is written into it."""
    with contextlib.closing(open_file(file)) as connection:
        refuse_strange(connection.execute(STRANGE).fetchall(), address)
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if found and not found >= TABLES_OF_MLFLOW:
        named = ", ".join(sorted(found)[:5]) + (", ..." if len(found) > 5 else "")
        reason = f"it is a database of something else, with the tables {named}"
        raise StoreUnusable(address, reason, remedy="choose another file with --store")


def _write_ahead(file: Path, address: Address, *, mode: str) -> None:
    with contextlib.closing(open_file(file, mode=mode, timeout=SECONDS_TO_ANSWER)) as connection:
        (found,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if found != "wal":
        reason = "its file system does not let sqlite write ahead (WAL)"
        raise StoreUnusable(address, reason, remedy="choose a local folder with --store")


def _create_whole(address: Address) -> None:
    """Create the tables in a file of another name: whoever is killed meanwhile leaves no half of a store."""
    unfinished = address.file.with_name(address.file.name + ".new")
    # Of these names alone: what else begins like them is not ours.
    for path in (unfinished, *files_beside(unfinished)):
        path.unlink(missing_ok=True)
    kept = _place_of_tables()
    tables = _read_tables(kept, address)
    unfinished.write_bytes(tables)
    _write_ahead(unfinished, address, mode="rwc")
    store_in_file(unfinished, address).engine.dispose()
    with contextlib.closing(open_file(unfinished, mode="rw", timeout=SECONDS_TO_ANSWER)) as connection:
        # All of it stands in the file itself, and nothing beside it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not tables:
            _keep_tables(_empty_tables(connection), kept)
    for path in files_beside(address.file):
        # Nothing is in them, as was checked; a process that has the removed file open still must not share its log.
        path.unlink(missing_ok=True)
    unfinished.replace(address.file)


def _place_of_tables() -> Path:
    """Return where the empty tables of the MLflow that is installed are kept, as it has made them once.

    It takes a second for them, by all its migrations since 2018; these name the file.
    """
    found = importlib.util.find_spec("mlflow")
    folders = found.submodule_search_locations if found else None
    names = sorted(path.name for folder in folders or () for path in Path(folder).glob("store/db_migrations/**/*.py"))
    digest = hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]
    return store_home() / f"tables-of-mlflow-{digest}.db"


def _read_tables(kept: Path, address: Address) -> bytes:
    """Return the tables that were kept; nothing where there are none, or a file that is no such thing."""
    # One that is damaged or has been changed is made anew.
    with contextlib.suppress(OSError, sqlite3.Error, StoreUnusable):
        _refuse_foreign(kept, address)
        with contextlib.closing(open_file(kept)) as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]:
                return kept.read_bytes()
    return b""


def _keep_tables(tables: bytes, kept: Path) -> None:
    # Where the disk takes nothing, the next store takes a second longer.
    with contextlib.suppress(OSError), temporary_beside(kept) as folder:
        file = folder / kept.name
        file.write_bytes(tables)
        file.replace(kept)


def _empty_tables(connection: sqlite3.Connection) -> bytes:
    """Return the database without the experiment that MLflow begins each one with, which names its place."""
    with contextlib.closing(sqlite3.connect(":memory:")) as copy:
        connection.backup(copy)
        copy.execute("DELETE FROM experiments")
        copy.commit()
        copy.execute("VACUUM")
        return copy.serialize()


def store_in_file(file: Path, address: Address, *, mode: str = "rw") -> Any:
    """Return MLflow's store in a file of sqlite, which it reaches by :func:`_engine_on` alone.

    MLflow keeps an engine and a store for each URI as long as a process lives, whatever becomes of the file.

    Parameters
    ----------
    file
        File of the database.
    address
        Address that leads to it, with the place of its artifacts.
    mode
        Mode of sqlite: ``ro``, ``rw`` or ``rwc``.
    """
    with importing_mlflow(), _ENGINES:
        from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore
        from mlflow.tracking._tracking_service import utils as services

        uri, kept = uri_of(file), SqlAlchemyStore._engine_map  # noqa: SLF001
        former, kept[uri] = kept.get(uri), _engine_on(file, address, mode)
        try:
            artifacts = address.artifacts.as_uri() if address.artifacts else None
            return services._get_sqlalchemy_store(uri, artifacts)  # type: ignore[no-untyped-call]  # noqa: SLF001
        finally:
            kept.pop(uri)
            if former is not None:
                kept[uri] = former


def _engine_on(file: Path, address: Address, mode: str) -> Any:
    """Return an engine that writes into the file that is there now: into none that takes its place, and makes none."""
    from mlflow.store.db.utils import create_sqlalchemy_engine
    from sqlalchemy import event

    engine, opened = create_sqlalchemy_engine(uri_of(file)), identity_of(file)  # type: ignore[no-untyped-call]

    @event.listens_for(engine, "do_connect")
    def open_here(*_: object) -> sqlite3.Connection:
        return open_file(file, mode=mode, check_same_thread=False)

    @event.listens_for(engine, "checkout")
    def see_that_it_is_there(*_: object) -> None:
        if change := change_of(file, opened):
            raise StoreUnreachable(address, change, remedy="put it back")

    return engine
