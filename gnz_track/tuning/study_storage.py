"""Storage of studies: a journal beside the local store, or PostgreSQL where several machines share them."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.storages.journal._file import BaseJournalFileLock

from gnz_track.errors import BadValue, StoreUnreachable, StoreUnusable
from gnz_track.files import file_lock
from gnz_track.store.address import POSTGRESQL, SERVER, Address, mask, parse_address, store_home

__all__ = ["Studies", "StudyPlace", "open_studies", "parse_place"]

FOLDER, SUFFIX = "studies", ".log"
# Optuna and MLflow both have a table alembic_version, and a schema keeps them apart.
SCHEMA = "gnz_studies"
# The first of two keys of an advisory lock: any number that nobody else takes.
LOCK = 0x676E7A


@dataclass(frozen=True)
class StudyPlace:
    """A place for studies: a journal file, or the address of a PostgreSQL database."""

    file: Path | None = None
    uri: str = ""

    def __str__(self) -> str:
        """Return the place as it can be shown, without its password."""
        return mask(self.uri) if self.uri else str(self.file)


def parse_place(text: str, store: Address) -> StudyPlace:
    """Read where studies are kept; nothing means beside the store: in its database, or in a journal near its file."""
    if not text:
        return _place_beside(store)
    if "://" not in text:
        return StudyPlace(file=Path(text).expanduser().absolute())
    address = parse_address(text)
    if address.kind != POSTGRESQL:
        raise BadValue("the place of studies", mask(text), "a file, or postgresql://USER@HOST/DATABASE")
    return StudyPlace(uri=address.uri)


def _place_beside(store: Address) -> StudyPlace:
    if store.kind == POSTGRESQL:
        return StudyPlace(uri=store.uri)
    if store.kind == SERVER:
        name = hashlib.sha256(store.uri.encode()).hexdigest()[:8]
        return StudyPlace(file=store_home() / FOLDER / f"{name}{SUFFIX}")
    return StudyPlace(file=store.file.parent / FOLDER / f"{store.file.stem}{SUFFIX}")


class Studies:
    """The studies of one place; ``are_shared`` where several processes may be at one of them."""

    def __init__(self, place: StudyPlace, storage: BaseStorage, *, engine: Any = None) -> None:
        self.place, self.storage, self._engine = place, storage, engine

    @property
    def are_shared(self) -> bool:
        """Whether several processes may be at one study."""
        return self._engine is not None

    def names(self) -> list[str]:
        """Return the names of all studies, oldest first."""
        return [study.study_name for study in self.storage.get_all_studies()]

    @contextlib.contextmanager
    def alone(self, name: str) -> Iterator[None]:
        """Keep other processes from proposing or taking trials of a study for a moment."""
        if self._engine is None:
            # Who has a study of a journal open has it alone.
            yield
            return
        import sqlalchemy

        key = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big", signed=True)
        with self._engine.begin() as connection:
            connection.execute(sqlalchemy.text("SELECT pg_advisory_xact_lock(:a, :b)"), {"a": LOCK, "b": key})
            yield

    @contextlib.contextmanager
    def held(self, name: str) -> Iterator[None]:
        """Have a study of a journal for oneself; the system lets it go with the process, whatever ends it."""
        if self.place.file is None:
            yield
            return
        digest = hashlib.sha256(name.encode()).hexdigest()[:8]
        path = self.place.file.with_suffix(f".{digest}.lock")
        with file_lock(path, waits=False) as is_ours:
            if not is_ours:
                allowed = "one process at a time in a journal; PostgreSQL lets several share it"
                command = "--study-store postgresql://USER@HOST/DATABASE"
                raise BadValue(f"the study {name}", "open in another process", allowed, command=command)
            yield


@contextlib.contextmanager
def open_studies(place: StudyPlace) -> Iterator[Studies]:
    """Open a place of studies, made where there is none."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if place.file is not None:
        yield _open_journal(place, place.file)
        return
    with _open_database(place) as studies:
        yield studies


class _Lock(BaseJournalFileLock):
    """A lock on a journal that the system lets go with the process: none is ever left behind."""

    def __init__(self, path: Path) -> None:
        self._path, self._stack = path, contextlib.ExitStack()

    def acquire(self) -> bool:
        return self._stack.enter_context(file_lock(self._path))

    def release(self) -> None:
        self._stack.close()


def _open_journal(place: StudyPlace, file: Path) -> Studies:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        lock = _Lock(file.with_suffix(".lock"))
        with file_lock(file.with_suffix(".lock")):
            _drop_torn_line(file)
        return Studies(place, JournalStorage(JournalFileBackend(str(file), lock_obj=lock)))
    except OSError as error:
        raise StoreUnusable(file, str(error), remedy="choose another file: --study-store FILE") from error
    except ValueError as error:
        raise StoreUnusable(file, f"it is no journal of studies ({error})", remedy="--study-store FILE") from error


def _drop_torn_line(file: Path) -> None:
    """Cut off a last line that a machine did not live to finish: what it began to say never happened."""
    if not file.exists():
        return
    with file.open("rb+") as handle:
        text = handle.read()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            handle.truncate(whole)
    for line in text[:whole].splitlines()[-1:]:
        # Optuna reads a last line that is none as if it were still being written.
        json.loads(line)


@contextlib.contextmanager
def _open_database(place: StudyPlace) -> Iterator[Studies]:
    import sqlalchemy

    options = {"connect_args": {"options": f"-csearch_path={SCHEMA}"}, "pool_pre_ping": True}
    try:
        engine = sqlalchemy.create_engine(place.uri)
        with engine.begin() as connection:
            # Of several first clients one creates the tables.
            connection.execute(sqlalchemy.text("SELECT pg_advisory_xact_lock(:a, 0)"), {"a": LOCK})
            with engine.begin() as other:
                other.execute(sqlalchemy.text(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
            storage = RDBStorage(place.uri, engine_kwargs=options)
    except sqlalchemy.exc.SQLAlchemyError as error:
        reason = mask(str(error).partition("\n")[0])
        raise StoreUnreachable(place, reason) from error
    try:
        yield Studies(place, storage, engine=engine)
    finally:
        storage.remove_session()
        storage.engine.dispose()
        engine.dispose()
