"""Connections to a store: MLflow, imported late and set up quietly; its errors and refusals said in one line."""

from __future__ import annotations

import base64
import contextlib
import os
import re
import sqlite3
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

from gnz_track.errors import StoreUnreachable, StoreUnusable
from gnz_track.store.address import POSTGRESQL, SERVER, SQLITE, Address, check_place, mask
from gnz_track.store.files.local_stores import SECONDS_TO_ANSWER, WRITABLE, prepared_sqlite, store_in_file
from gnz_track.store.mlflow_import import importing_mlflow

__all__ = ["connect", "disconnect", "refusal_of", "says_in_one_line", "version_of_server"]


USER_VARIABLE = "MLFLOW_TRACKING_USERNAME"
ACCOUNT = f"set {USER_VARIABLE} and MLFLOW_TRACKING_PASSWORD; who keeps the server makes accounts"
PASSWORD = "check the user in the address, and give the password as PGPASSWORD or in ~/.pgpass"  # noqa: S105
KEEPER = "ask who keeps the server"

# What it says -> what that means, and the remedy. PostgreSQL says the same of wrong users and of wrong passwords.
_SAID: tuple[tuple[str, str, str], ...] = (
    ("password authentication failed", "it refuses this user with this password", PASSWORD),
    ("no password supplied", "it asks for a password, and none was given", PASSWORD),
    (r'role "[^"]*" does not exist', "it does not know this user", PASSWORD),
    (r'database "[^"]*" does not exist', "it holds no such database", "check its name, or create it: createdb"),
    ("no pg_hba.conf entry", "it lets nobody in from this machine as this user", "ask who keeps the database"),
    (r"error code 401\b|\b401 Client Error", "", ACCOUNT),
    (r"Invalid Host header", "it does not serve under this name", f"try another name, or {KEEPER}: GNZ_SERVER_HOSTS"),
    (r"error code 403\b|\b403 Client Error|PERMISSION_DENIED", "it does not allow this account to do that", KEEPER),
    (r"error code 30\d\b", "it sends one on to another address, which nobody here has named", "name that one"),
    ("Unable to locate credentials", "its artifacts want a key", "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"),
    (
        "No module named 'boto3'|import of boto3",
        "its artifacts lie in S3, and boto3 is not installed",
        "install it with: pip install 'gnz-track[s3]'",
    ),
)
ARTIFACTS = "mlflow-artifacts/artifacts"


def refusal_of(address: Address, error: Exception) -> StoreUnusable | None:
    """Return the error of this house where a store refuses somebody, or has no artifacts now; None otherwise."""
    # What follows is the statement with its values, which may hold any words.
    text = str(error).partition("[SQL:")[0]
    for said, reason, remedy in _SAID:
        if re.search(said, text):
            return StoreUnusable(address, reason or _about_account(), remedy=remedy)
    if ARTIFACTS in text:
        reason = "the server is there, and its artifact store is not"
        return StoreUnreachable(address, reason, remedy=f"wait, or {KEEPER}")
    return None


def _about_account() -> str:
    name = os.environ.get(USER_VARIABLE, "")
    return f"it refuses the user {name!r} with this password" if name else "it asks for a user and a password"


# The key of the lock under which tables are created in PostgreSQL: any number that nobody else takes.
CREATION_LOCK = 0x676E7A5F747261
READ_ONLY = ("readonly database", "read-only", "permission denied")
DAMAGED = ("file is not a database", "disk image is malformed")
# They speak of stores; what others raise is a mistake of ours, and is shown as it is.
LIBRARIES = frozenset({"mlflow", "sqlalchemy", "alembic", "psycopg", "requests", "urllib3", "boto3", "botocore"})
DRIVERS = frozenset({"boto3"})
GONE = ("TEMPORARILY_UNAVAILABLE", "INTERNAL_ERROR")
OTHER_VERSION = "copy it, then type: mlflow db upgrade URI; where a newer MLflow made it: pip install --upgrade mlflow"


def connect(address: Address, *, creates: bool = True) -> Any:
    """Return MLflow's own store object behind an address; a database is created where there is none yet."""
    check_place(address)
    is_file = address.kind == SQLITE
    prepared = prepared_sqlite(address, creates=creates) if is_file else _PREPARED[address.kind](address)
    with says_in_one_line(address), prepared:
        return _store_of_mlflow(address, mode="rw" if creates else "ro")


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
    except UnicodeError as error:
        remedy = "name things in characters that a file can hold"
        raise StoreUnusable(address, f"it takes no such text: {error}", remedy=remedy) from error
    except (OSError, sqlite3.Error) as error:
        raise _refusal_of(address, error) from error
    except Exception as error:
        # By name, since none of these libraries is imported only to be asked.
        library = type(error).__module__.split(".")[0]
        if isinstance(error.__cause__, StoreUnusable):
            # Said by a connection of ours, within MLflow.
            raise error.__cause__ from None
        if isinstance(error, Warning) or (library not in LIBRARIES and getattr(error, "name", "") not in DRIVERS):
            raise
        raise _refusal_of(address, error) from error


def _refusal_of(address: Address, error: Exception) -> StoreUnusable:
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
        return StoreUnreachable(address, text, **_remedy_of(address, text))
    return StoreUnusable(address, text, remedy="see what it holds: mlflow ui")


def _remedy_of(address: Address, text: str) -> dict[str, str]:
    """Say what brings a file back: it was moved, or its disk is full or away. A server is to be started."""
    if address.kind != SQLITE:
        return {}
    is_full = "full" in text or "No space left" in text
    return {"remedy": "make room on its disk" if is_full else "see that the file and its folder are there"}


def _first_words(error: Exception) -> str:
    """Return the first line of a message, without class names and passwords."""
    line = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return mask(re.sub(r"^\([\w.]+\) ", "", line.strip()))[:300]


def _store_of_mlflow(address: Address, *, mode: str) -> Any:
    if address.kind == SQLITE:
        return store_in_file(address.file, address, mode=mode)
    with importing_mlflow():
        from mlflow.tracking._tracking_service import utils as services

        # The client's way in would set artifacts beside the working folder; this is the one that takes a place.
        artifacts = address.artifacts.as_uri() if address.artifacts else None
        return services._get_store(address.uri, artifact_uri=artifacts)  # type: ignore[no-untyped-call]  # noqa: SLF001


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
        opener = urllib.request.build_opener(_StaysThere)
        with opener.open(_question(f"{address.uri}/health"), timeout=SECONDS_TO_ANSWER) as answer:
            answer.read(64)
    except urllib.error.HTTPError as error:
        # Servers behind a gate may not show this page; what refuses later says so itself.
        error.close()
    except (OSError, ValueError) as error:
        reason = mask(str(getattr(error, "reason", error)))
        raise StoreUnreachable(address, reason, remedy="start it: mlflow server, or check the address") from error
    yield


def version_of_server(address: Address) -> tuple[int, ...]:
    """Return the version of MLflow that a server says it is; nothing where it does not say."""
    try:
        opener = urllib.request.build_opener(_StaysThere)
        with opener.open(_question(f"{address.uri}/version"), timeout=SECONDS_TO_ANSWER) as answer:
            said = answer.read(64).decode(errors="replace")
    except (OSError, ValueError):
        return ()
    found = re.match(r"(\d+)\.(\d+)", said)
    return tuple(map(int, found.groups())) if found else ()


class _StaysThere(urllib.request.HTTPRedirectHandler):
    """Follows nobody elsewhere: a password would travel along."""

    def redirect_request(self, *_: object) -> None:
        """Return no request; the answer is then an error like others."""


def _question(url: str) -> urllib.request.Request:
    """Return a request in which user and password are a header; as a part of the host they would be looked up."""
    parts = urlsplit(url)
    account, _, host = parts.netloc.rpartition("@")
    coded = base64.b64encode(unquote(account).encode()).decode()
    headers = {"Authorization": f"Basic {coded}"} if account else {}
    return urllib.request.Request(urlunsplit(parts._replace(netloc=host)), headers=headers)  # noqa: S310


_PREPARED = {POSTGRESQL: _prepared_postgresql, SERVER: _prepared_server}
