"""Records that a store refuses for their own sake: set aside with the reason, so that they hold up no other."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from gnz_track.errors import BadValue
from gnz_track.store.locks import file_lock
from gnz_track.store.spool import LOCK, REFUSED, append_line, end_torn_line

__all__ = ["REASONS", "is_of_record", "is_set_aside", "remove_empty", "remove_reasons", "set_aside_refused"]

REASONS = ".reasons"
# What MLflow says of a value that it would take from nobody; and SQLAlchemy's class of what a database says of one.
OF_VALUE, OF_DATA = re.compile("exceeds the maximum|Invalid value|Names may "), "DataError"


def is_of_record(error: BaseException) -> bool:
    """Tell whether a store refuses what a record holds, and not whoever writes, or everything."""
    return any(
        isinstance(one, BadValue | UnicodeError)
        or (hasattr(one, "error_code") and OF_VALUE.search(str(one)))
        or type(one).__name__ == OF_DATA
        for one in _causes(error)
    )


def is_set_aside(path: Path) -> bool:
    """Tell whether a spool is one of refused records."""
    return path.parent.name == REFUSED


def set_aside_refused(path: Path, lines: list[str], reasons: Mapping[str, str]) -> Path:
    """Add lines to the refused ones of a sweep, and return the file that has them.

    Parameters
    ----------
    path
        File of the sweep's waiting records.
    lines
        Records that the store refused.
    reasons
        Key of each, and why it was refused.
    """
    aside = path.parent / REFUSED / path.name
    aside.parent.mkdir(mode=0o700, exist_ok=True)
    with file_lock(aside.with_suffix(LOCK)):
        end_torn_line(aside)
        for line in lines:
            append_line(aside, line)
        with aside.with_suffix(REASONS).open("a", encoding="utf-8") as output:
            output.writelines(f"{key}: {reason}\n" for key, reason in reasons.items())
    return aside


def remove_reasons(path: Path) -> None:
    """Forget why records were refused that are in the store now."""
    path.with_suffix(REASONS).unlink(missing_ok=True)


def remove_empty(folder: Path) -> None:
    """Remove the folder of refused records where none is left."""
    with contextlib.suppress(OSError):
        # Others lie there.
        folder.rmdir()


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__
