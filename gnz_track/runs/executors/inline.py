"""The simplest executor: cells one after another, in this process."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator, Iterable, Iterator
from typing import NoReturn

from gnz_track.runs.executors.events import Started, Tell, gather, ignore
from gnz_track.runs.isolation.canary import Watch
from gnz_track.runs.owners import is_ours
from gnz_track.runs.run_one import lost_result, run_one
from gnz_track.training.allocator import keep_freed_memory
from gnz_track.types import Cell, CellResult

__all__ = ["run_inline"]

REMEDY = "in processes of their own models cannot reach each other: --executor processes"


def run_inline(cells: Iterable[Cell], tell: Tell = ignore) -> Generator[CellResult, None, None]:
    """Yield the result of each cell as it is done, in the given order; ``tell`` hears what goes on meanwhile.

    No cell is trained once the model of another has changed this process for good: those that are left have failed.
    """
    keep_freed_memory()
    watch = Watch()
    for cell in cells:
        tell(Started(cell=cell))
        reason = watch.find_leak()
        if reason:
            yield lost_result(cell, "ProcessChanged", f"{reason}; {REMEDY}")
            continue
        watch.begin(cell)
        with contextlib.nullcontext() if is_ours(cell.model) else _without_exit():
            result = run_one(cell, observe=gather(cell, tell))
        yield result


class Exited(SystemExit):
    """The model asked to end the process, which is that of the whole sweep."""


@contextlib.contextmanager
def _without_exit() -> Iterator[None]:
    """Let ``os._exit`` end a cell, and not, without a word, this process."""
    leave, me = os._exit, os.getpid()

    def end_cell(status: int) -> NoReturn:
        is_by_us = sys._getframe(1).f_globals.get("__name__", "").startswith("gnz_track.")  # noqa: SLF001
        if is_by_us or os.getpid() != me:
            # A second Ctrl-C ends this process at once; children of a model end so too.
            leave(status)
        message = f"the model called os._exit({status}), which ends this process and all that is left of the sweep"
        raise Exited(message)

    os._exit = end_cell
    try:
        yield
    finally:
        os._exit = leave
