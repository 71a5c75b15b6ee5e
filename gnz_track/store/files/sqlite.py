"""Files of sqlite: the one that an address means, connections that open it and no other, and what lies beside it."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

__all__ = [
    "BESIDE",
    "change_of",
    "file_of",
    "files_beside",
    "identity_of",
    "open_file",
    "remains_of",
    "set_aside",
    "unusable",
    "uri_of",
]

START = "sqlite:///"
# What sqlite keeps beside a file, and reads as a part of whatever file of that name it finds.
INDEX = "-shm"
BESIDE = ("-wal", INDEX, "-journal")
# SQLAlchemy decodes % and ends the path at ?; the others would be lost on the way, or drive a terminal that shows them.
# All else stays as it is written, so that an address never changes.
_CODED = re.compile("[%?\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
# MLflow takes places of artifacts up to 2048 characters; folders and names of its own come behind ours.
MOST_CHARACTERS = 1800


def uri_of(file: Path) -> str:
    """Return the URI of a file as SQLAlchemy and MLflow take it; of a plain path it is the path to the letter.

    >>> uri_of(Path("/runs/my gnz.db")), uri_of(Path("/50%/gnz.db"))
    ('sqlite:////runs/my gnz.db', 'sqlite:////50%25/gnz.db')
    """
    return START + _CODED.sub(lambda found: quote(found.group(), safe=""), str(file))


def file_of(uri: str) -> Path:
    """Return the file that a URI means: what SQLAlchemy, and so MLflow, opens.

    >>> file_of("sqlite:////50%25/gnz.db")
    PosixPath('/50%/gnz.db')
    """
    return Path(unquote(uri.removeprefix(START)))


def unusable(path: str) -> str:
    """Return why MLflow could keep no store at a path, nothing where it can."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return "its path holds bytes that are no UTF-8, which MLflow cannot keep"
    if "\0" in path:
        return "its path holds a zero byte"
    if len(quote(path)) > MOST_CHARACTERS:
        return f"its path has more than {MOST_CHARACTERS} characters, as MLflow counts them"
    return ""


def open_file(file: Path, *, mode: str = "ro", is_archive: bool = False, **settings: Any) -> sqlite3.Connection:
    """Connect to a file, whatever its name holds.

    Parameters
    ----------
    file
        File of the database.
    mode
        ``ro``, ``rw`` or ``rwc``; only the last makes a file where there is none.
    is_archive
        Whether it lies where nothing can be written: sqlite is told that nobody changes it.
    settings
        Further settings of :func:`sqlite3.connect`.
    """
    options = f"mode={mode}" + ("&immutable=1" if is_archive else "")
    connection: sqlite3.Connection = sqlite3.connect(f"file:{quote(str(file))}?{options}", uri=True, **settings)
    # The schema is text of whoever made the file: it may call no function that does more than compute.
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


def is_missing(file: Path) -> bool:
    """Tell whether no database is there: no file, or one without a byte."""
    try:
        return file.stat().st_size == 0
    except FileNotFoundError:
        return True


def remains_of(file: Path) -> tuple[Path, ...]:
    """Return what sqlite left beside a file that is gone; a new file of that name would be damaged by it.

    Whoever only read leaves a log without a byte, and its index -shm: those alone hold no result.
    """
    if not is_missing(file):
        return ()
    left = tuple(path for path in files_beside(file) if os.path.lexists(path))
    return left if any(_has_content(path) for path in left if not path.name.endswith(INDEX)) else ()


def _has_content(path: Path) -> bool:
    try:
        return path.lstat().st_size > 0
    except FileNotFoundError:
        return False


def set_aside(paths: tuple[Path, ...]) -> str:
    """Return the command that moves files of one folder into one of its own, where nothing reads them."""
    folder = paths[0].with_name(f"{paths[0].name.rpartition('-')[0]}.remains")
    names = " ".join(shlex.quote(str(path)) for path in paths)
    return f"mkdir {shlex.quote(str(folder))} && mv {names} {shlex.quote(str(folder))}"


def misfit_of(file: Path) -> str:
    """Return what is wrong with a file and the log beside it that was not written into it yet; nothing where all fits.

    A copy that was put in the place of a file, without its log, is read together with the log of the other one; and
    whoever writes first makes the damage last. So this reads only, and only where there is such a log.
    """
    log = file.with_name(file.name + "-wal")
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size:
            try:
                with contextlib.closing(open_file(file)) as connection:
                    (said,) = connection.execute("PRAGMA quick_check(1)").fetchone()
            except sqlite3.OperationalError:
                # It is locked or away, which says nothing of what it holds.
                return ""
            except sqlite3.DatabaseError as error:
                said = str(error)
            return "" if said == "ok" else " ".join(str(said).split())
    return ""


def identity_of(file: Path) -> tuple[int, int] | None:
    """Return what tells a file from any other of its name; None where there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def change_of(file: Path, before: tuple[int, int] | None) -> str:
    """Return what became of a file since it had an identity: it was removed, or replaced; nothing where it is there."""
    found = identity_of(file)
    if found == before:
        return ""
    return "its file was removed" if found is None else "its file was replaced by another one"


def files_beside(file: Path) -> tuple[Path, ...]:
    """Return the paths of all that sqlite may keep beside a file."""
    return tuple(file.with_name(file.name + ending) for ending in BESIDE)
