"""A cell trained where its events can only be asked for, one after another: on a worker of a cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from queue import SimpleQueue

import torch

from gnz_track.runs.executors.events import Done, Event, gather
from gnz_track.runs.isolation.canary import Watch
from gnz_track.runs.run_one import lost_result, run_one
from gnz_track.types import Cell

__all__ = ["stream_one"]

# Workers of a cluster live as long as it does, and take cells of any model.
_WATCH = Watch()


def stream_one(cell: Cell, here: Cell) -> Iterator[tuple[Event, float]]:
    """Yield what is told of a cell up to its end, with the memory of the whole GPU in MiB; 0 without one.

    ``here`` is the cell with the folder of its data on this machine. It is trained in a thread, so that epochs of long
    cells are told while it trains. Where the model of an earlier cell has changed this process, it is not begun.
    """
    reason = _WATCH.find_leak()
    if reason:
        yield Done(result=lost_result(cell, "ProcessChanged", f"{reason}; the same command trains it again")), 0.0
        return
    _WATCH.begin(cell)
    said: SimpleQueue[Event | BaseException] = SimpleQueue()

    def work() -> None:
        try:
            result = run_one(here, observe=gather(cell, said.put))
            said.put(Done(result=replace(result, cell=cell)))
        except BaseException as error:  # noqa: BLE001  (raised where somebody waits for it)
            said.put(error)

    threading.Thread(target=work, daemon=True).start()
    while True:
        event = said.get()
        if isinstance(event, BaseException):
            raise event
        yield event, _device_mib(here)
        if isinstance(event, Done):
            return


def _device_mib(cell: Cell) -> float:
    if not cell.device.startswith("cuda"):
        return 0.0
    return float(torch.cuda.get_device_properties(0).total_memory / 2**20)
