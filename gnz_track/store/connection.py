"""MLflow, imported late and set up quietly; its errors said in one line."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import logging
import os
import re
import sqlite3
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from gnz_track.errors import StoreUnreachable, StoreUnusable
from gnz_track.store.address import POSTGRESQL, SERVER, SQLITE, Address, check_place, mask
from gnz_track.store.refusals import refusal_of

__all__ = ["connect", "disconnect", "says_in_one_line"]

# Read by MLflow when it is imported or used. The user's own settings win. MLflow waits up to four minutes for a server
# that does not answer; records are spooled, so there is nothing to wait for.
SETTINGS = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
}
# They print whole tracebacks, or each step of creating tables; what matters of it is said by an error here.
QUIET = {"alembic": logging.WARNING, "mlflow.store.db.utils": logging.CRITICAL}
SECONDS_TO_ANSWER = 10
# The key of the lock under which tables are created in PostgreSQL: any number that nobody else takes.
CREATION_LOCK = 0x676E7A5F747261
WRITABLE = "make it writable for you, or choose another one with --store"
READ_ONLY = ("readonly database", "read-only", "permission denied")
DAMAGED = ("file is not a database", "disk image is malformed")
# They speak of stores; what others raise is a mistake of ours, and is shown as it is.
LIBRARIES = frozenset({"mlflow", "sqlalchemy", "alembic", "psycopg", "requests", "urllib3", "boto3", "botocore"})
DRIVERS = frozenset({"boto3"})
GONE = ("TEMPORARILY_UNAVAILABLE", "INTERNAL_ERROR")
# Every version of MLflow that writes to databases has them.
TABLES_OF_MLFLOW = frozenset({"alembic_version", "experiments", "metrics", "params", "runs", "tags"})
OTHER_VERSION = "copy it, then type: mlflow db upgrade URI; where a newer MLflow made it: pip install --upgrade mlflow"


def set_up() -> None:
    """Set what MLflow reads when it is imported."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    for name, level in QUIET.items():
        logging.getLogger(name).setLevel(level)


def connect(address: Address, *, creates: bool = True) -> Any:
    """Return MLflow's own store object behind an address; a database is created where there is none yet."""
    check_place(address)
    if not creates and address.kind == SQLITE and not address.file.exists():
        raise StoreUnusable(address, "there is no such file", remedy="train something first: gnz run")
    with says_in_one_line(address), _PREPARED[address.kind](address):
        return _store_of_mlflow(address.uri, address)


def disconnect(store: Any) -> None:
    """Close the connections that a store of MLflow keeps open; the next call opens new ones."""
    engine = getattr(store, "engine", None)
    if engine is not None:
        engine.dispose()


@contextlib.contextmanager
def says_in_one_line(address: Address) -> Iterator[None]:
    """Turn what MLflow and its drivers raise into the errors of this house, passwords left out."""
    try:
        yield
    except StoreUnusable:
        raise
    except (OSError, sqlite3.Error) as error:
        raise _said(address, error) from error
    except Exception as error:
        # By name, since none of these libraries is imported only to be asked.
        library = type(error).__module__.split(".")[0]
        if isinstance(error, Warning) or (library not in LIBRARIES and getattr(error, "name", "") not in DRIVERS):
            raise
        raise _said(address, error) from error


def _said(address: Address, error: Exception) -> StoreUnusable:
    refusal = refusal_of(address, error) if address.kind != SQLITE else None
    if refusal is not None:
        return refusal
    text = _first_words(error)
    if any(words in text.lower() for words in READ_ONLY):
        return StoreUnusable(address, text, remedy=WRITABLE)
    if "out-of-date database schema" in str(error) or "Can't locate revision" in str(error):
        return StoreUnusable(address, "its tables were made by another version of MLflow", remedy=OTHER_VERSION)
    if any(words in text for words in DAMAGED):
        return StoreUnusable(address, text, remedy="choose another file with --store")
    is_driver = type(error).__module__.split(".")[0] != "mlflow"
    if is_driver or getattr(error, "error_code", "") in GONE or "API request to" in text:
        return StoreUnreachable(address, text, **_remedy(address, text))
    return StoreUnusable(address, text, remedy="see what it holds: mlflow ui")


def _remedy(address: Address, text: str) -> dict[str, str]:
    """Say what brings a file back: it was moved, or its disk is full or away. A server is to be started."""
    if address.kind != SQLITE:
        return {}
    is_full = "full" in text or "No space left" in text
    return {"remedy": "make room on its disk" if is_full else "see that the file and its folder are there"}


def _first_words(error: Exception) -> str:
    """Return the first line of a message, without class names and passwords."""
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return mask(re.sub(r"^\([\w.]+\) ", "", line.strip()))[:300]


@contextlib.contextmanager
def _prepared_sqlite(address: Address) -> Iterator[None]:
    """Hold the lock of creation, and see that the file is written ahead: then no reader waits for a writer."""
    file = address.file
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        raise StoreUnusable(address, "it is read-only", remedy=WRITABLE)
    with file_lock(file.with_name(file.name + ".lock")):
        if file.exists() and file.stat().st_size:
            _refuse_foreign(file, address)
            _write_ahead(file, address)
        else:
            _create_whole(address)
        yield


def _refuse_foreign(file: Path, address: Address) -> None:
    """Refuse a database of something else, before anything is written into it."""
    with contextlib.closing(sqlite3.connect(f"file:{quote(str(file))}?mode=ro", uri=True)) as connection:
        found = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if found and not found >= TABLES_OF_MLFLOW:
        named = ", ".join(sorted(found)[:5]) + (", ..." if len(found) > 5 else "")
        reason = f"it is a database of something else, with the tables {named}"
        raise StoreUnusable(address, reason, remedy="choose another file with --store")


def _write_ahead(file: Path, address: Address) -> None:
    with contextlib.closing(sqlite3.connect(file, timeout=SECONDS_TO_ANSWER)) as connection:
        (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        reason = "its file system does not let sqlite write ahead (WAL)"
        raise StoreUnusable(address, reason, remedy="choose a local folder with --store")


def _create_whole(address: Address) -> None:
    """Create the tables in a file of another name: whoever is killed meanwhile leaves no half of a store."""
    unfinished = address.file.with_name(address.file.name + ".new")
    for ending in ("", "-wal", "-shm", "-journal"):
        # Of these names alone: what else begins like them is not ours.
        unfinished.with_name(unfinished.name + ending).unlink(missing_ok=True)
    _write_ahead(unfinished, address)
    disconnect(_store_of_mlflow(f"sqlite:///{unfinished}", address))
    with contextlib.closing(sqlite3.connect(unfinished, timeout=SECONDS_TO_ANSWER)) as connection:
        # All of it stands in the file itself, and nothing beside it.
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    unfinished.replace(address.file)


def _store_of_mlflow(uri: str, address: Address) -> Any:
    with warnings.catch_warnings():
        # MLflow 3 uses what SQLAlchemy 2.1 is about to drop; its users can do nothing about that.
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        set_up()
        from mlflow.tracking._tracking_service import utils as services

        # The client's way in would set artifacts beside the working folder; this is the one that takes a place.
        artifacts = address.artifacts.as_uri() if address.artifacts else None
        return services._get_store(uri, artifact_uri=artifacts)  # type: ignore[no-untyped-call]  # noqa: SLF001


@contextlib.contextmanager
def _prepared_postgresql(address: Address) -> Iterator[None]:
    """Hold a lock in the database, so that of several first clients only one creates the tables."""
    import sqlalchemy

    options = {"connect_timeout": SECONDS_TO_ANSWER}
    engine = sqlalchemy.create_engine(address.uri, connect_args=options, poolclass=sqlalchemy.pool.NullPool)
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text("SELECT pg_advisory_lock(:key)"), {"key": CREATION_LOCK})
        # Closing the connection gives the lock back, whatever happens.
        yield


@contextlib.contextmanager
def _prepared_server(address: Address) -> Iterator[None]:
    """See that somebody answers: MLflow itself would find out at the first write."""
    try:
        with urllib.request.urlopen(_question(f"{address.uri}/health"), timeout=SECONDS_TO_ANSWER) as answer:  # noqa: S310
            answer.read(64)
    except urllib.error.HTTPError as error:
        # Servers behind a gate may not show this page; what refuses later says so itself.
        error.close()
    except (OSError, ValueError) as error:
        reason = mask(str(getattr(error, "reason", error)))
        raise StoreUnreachable(address, reason, remedy="start it: mlflow server, or check the address") from error
    yield


def _question(url: str) -> urllib.request.Request:
    """Return a request in which user and password are a header; as a part of the host they would be looked up."""
    parts = urlsplit(url)
    account, _, host = parts.netloc.rpartition("@")
    coded = base64.b64encode(unquote(account).encode()).decode()
    headers = {"Authorization": f"Basic {coded}"} if account else {}
    return urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers=headers)  # noqa: S310


_PREPARED = {SQLITE: _prepared_sqlite, POSTGRESQL: _prepared_postgresql, SERVER: _prepared_server}


@contextlib.contextmanager
def file_lock(path: Path, *, waits: bool = True) -> Iterator[bool]:
    """Hold a lock that all processes of this machine respect; yield False where it is taken and nobody waits."""
    with contextlib.ExitStack() as handles:
        while True:
            handle = handles.enter_context(path.open("a"))
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
            except BlockingIOError:
                yield False
                return
            if _is_file_at(path, handle.fileno()):
                break
        # The lock ends with the handle.
        yield True


def _is_file_at(path: Path, handle: int) -> bool:
    """Tell whether the open file is still the one of that name: who held its lock before may have removed it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False
