"""Cells on a Ray cluster: an existing one, or one that is started on this machine.

Workers send what they have to say as a stream; the driver alone writes. A worker or a node that dies costs time and
nothing else: its cells, which give the same numbers again, go to others. Errors of models are results and not repeated.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import time
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import ray
from ray._private import ray_constants, services
from ray.exceptions import RayError, RayTaskError

from gnz_track.errors import BadValue, GnzError
from gnz_track.runs.executors.events import Done, Event, Started
from gnz_track.runs.executors.ray.cell_stream import stream_one
from gnz_track.runs.executors.ray.data import find_data, pack, place
from gnz_track.runs.executors.ray.head import (
    LOCAL,
    alone,
    check_address,
    few_words,
    leave_soon,
    posts_of,
    put_off_interrupts,
    refusal_of,
)
from gnz_track.runs.executors.ray.resources import Footprints
from gnz_track.runs.run_one import lost_result
from gnz_track.training.allocator import keep_freed_memory
from gnz_track.types import Cell
from gnz_track.waking_time import WakingTime

__all__ = ["find_head", "run_on_ray"]


# What a cell is worth: its worker, or the node of it, may die so often before the cell itself is to blame.
MOST_ATTEMPTS = 4
# Cells that wait on the cluster, so that no worker waits for the driver.
AHEAD = 8
SECONDS_BETWEEN_COUNTS, SECONDS_WITHOUT_HEAD = 10.0, 1.0


@dataclass(frozen=True, kw_only=True)
class _Lacking:
    """A node has not got the data of its cell."""


@dataclass(eq=False)
class _Flight:
    """A cell on its way, and how it is listened to."""

    cell: Cell
    attempts: int = 0
    files: Any = None
    stream: Any = None
    # When it was last taken up; None while it waits.
    since: float | None = None
    was_told: bool = False


def run_on_ray(
    cells: Sequence[Cell],
    *,
    address: str = "",
    jobs: int = 1,
    timeout: float | None = None,
    footprints: Footprints | None = None,
    is_last: bool = False,
) -> Generator[Event, None, None]:
    """Yield events as they come; cells are handed out in the given order, and end in any.

    Closing the iterator ends what runs. A cluster that was started here ends with it.

    Parameters
    ----------
    cells
        Cells to train.
    address
        ``HOST:PORT`` of a cluster's head, ``local`` to start one on this machine, or ``auto`` (the default) for the one
        that this machine belongs to.
    jobs
        Above 1, the most cells at once.
    timeout
        Longest time of one cell, in seconds.
    footprints
        Memory that cells need.
    is_last
        Whether this is the last that this process does. After an error of ours it then does not leave the cluster: that
        may take long, and its end does the same.
    """
    events = _run_on_cluster(cells, _Terms(address, jobs, timeout, footprints or Footprints(), is_last))
    next(events)
    return cast("Generator[Event, None, None]", events)


@dataclass(frozen=True)
class _Terms:
    address: str
    jobs: int
    timeout: float | None
    footprints: Footprints
    is_last: bool = False


def _run_on_cluster(cells: Sequence[Cell], terms: _Terms) -> Generator[Event | None, None, None]:
    if not cells:
        yield None
        return
    with _cluster(terms, {cell.device for cell in cells}), contextlib.closing(_Dispatcher(cells, terms)) as dispatcher:
        dispatcher.send()
        yield None
        while dispatcher.is_busy:
            dispatcher.send()
            yield from dispatcher.listen()


@dataclass(eq=False)
class _Dispatcher:
    """Hands out cells as far as the cluster takes them, and hears what comes back."""

    cells: Sequence[Cell]
    terms: _Terms
    flying: dict[Any, _Flight] = field(default_factory=dict)
    # Data that some node had not: digest -> reference to their bytes, which Ray keeps once on each node.
    sent: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.waiting = deque(_Flight(cell) for cell in self.cells)
        self._paths, self._time = ray.put(list(sys.path)), WakingTime()
        self._train = ray.remote(_train)
        self._counted, self._room, self._largest = -SECONDS_BETWEEN_COUNTS, 0, 0
        self._posts = posts_of(*_own_addresses(), typed=self.terms.address)

    @property
    def is_busy(self) -> bool:
        return bool(self.waiting or self.flying)

    def send(self) -> None:
        """Hand out cells up to what the cluster can take, and a few more; nothing while its head is silent."""
        n_ended = len(self.cells) - len(self.waiting) - len(self.flying)
        for post in self._posts:
            if post.is_silent():
                post.check_patience(n_ended=n_ended, n_cells=len(self.cells))
                return
        if time.monotonic() - self._counted >= SECONDS_BETWEEN_COUNTS:
            self._count()
        while self.waiting and len(self.flying) < self._room:
            flight = self.waiting.popleft()
            flight.attempts, flight.since = flight.attempts + 1, None
            options = self._options(flight.cell)
            # In a list, so that the bytes are fetched by workers that want them, and by no other.
            flight.stream = self._train.options(**options).remote(flight.cell, [self._paths], [flight.files])
            self.flying[flight.stream] = flight

    def listen(self) -> Iterator[Event]:
        """Yield what workers have to say within a moment, and send again what was lost."""
        timeout = self.terms.timeout
        if not self.flying:
            time.sleep(SECONDS_WITHOUT_HEAD)
            return
        ready, _ = ray.wait(list(self.flying), num_returns=1, timeout=1.0 if timeout is None else min(1.0, timeout / 4))
        if ready:
            # All that have something to say now, in one call.
            ready, _ = ray.wait(list(self.flying), num_returns=len(self.flying), timeout=0)
        for stream in ready:
            yield from self._hear(stream, self.flying[stream])
        for stream, flight in list(self.flying.items()):
            if timeout is not None and flight.since is not None and self._time.seconds() - flight.since > timeout:
                self._cancel(stream)
                said = f"the cell ran longer than {timeout:g} s; see --timeout"
                yield Done(result=lost_result(flight.cell, "TimeLimit", said))

    def close(self) -> None:
        """End what runs, and leave what waits."""
        self.waiting.clear()
        for stream in list(self.flying):
            self._cancel(stream)

    def _hear(self, stream: Any, flight: _Flight) -> Iterator[Event]:
        try:
            said, device_mib = ray.get(next(stream))
        except RayTaskError as error:
            # What our own function or the way to it said: another worker would say the same.
            del self.flying[stream]
            cause = error.cause if error.cause is not None else error
            yield Done(result=lost_result(flight.cell, type(cause).__name__, str(cause)))
            return
        except (RayError, StopIteration) as error:
            del self.flying[stream]
            yield from self._send_again(flight, error)
            return
        if isinstance(said, _Lacking):
            del self.flying[stream]
            self._attach(flight)
            return
        if isinstance(said, Started):
            flight.since = self._time.seconds()
            is_new, flight.was_told = not flight.was_told, True
            if not is_new:
                return
        if isinstance(said, Done):
            del self.flying[stream]
            self.terms.footprints.learn(said.result, device_mib=device_mib)
        yield said

    def _send_again(self, flight: _Flight, error: Exception) -> Iterator[Event]:
        if any(post.is_silent(at_once=True) for post in self._posts):
            # Nothing runs without them, and no cell is to blame.
            flight.attempts -= 1
        if flight.attempts < MOST_ATTEMPTS:
            self.waiting.appendleft(flight)
            return
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        said = f"its worker ended {flight.attempts} times, each time without a result: {reason}"
        yield Done(result=lost_result(flight.cell, "WorkerDied", said))

    def _attach(self, flight: _Flight) -> None:
        """Send a cell once more, this time with its data; where the driver has none, the worker says what is wrong."""
        digest = flight.cell.dataset_digest
        if digest not in self.sent:
            try:
                self.sent[digest] = ray.put(pack(flight.cell))
            except OSError:
                self.sent[digest] = ray.put({})
        flight.files, flight.attempts = self.sent[digest], flight.attempts - 1
        self.waiting.appendleft(flight)

    def _cancel(self, stream: Any) -> None:
        del self.flying[stream]
        with contextlib.suppress(RayError):
            ray.cancel(stream, force=True)

    def _count(self) -> None:
        """See how many cells fit on the cluster, which may have grown, and how much memory its largest node has."""
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        room = 2 * int(sum(node.get("CPU", 0) for node in nodes)) + AHEAD
        self._room = min(room, self.terms.jobs) if self.terms.jobs > 1 else room
        self._largest = int(max((node.get("memory", 0) for node in nodes), default=0))
        self._counted = time.monotonic()

    def _options(self, cell: Cell) -> dict[str, Any]:
        resources = self.terms.footprints.resources(cell)
        # More than any node has would wait for ever. A cell that is lost is sent again by the driver, which counts.
        memory = min(resources.memory, self._largest)
        more = {"memory": memory} if memory else {}
        return {
            "num_cpus": resources.cpus,
            "num_gpus": resources.gpus,
            "max_retries": 0,
            "num_returns": "streaming",
            **more,
        }


def _train(cell: Cell, paths: Sequence[Any], files: Sequence[Any]) -> Iterator[tuple[Event | _Lacking, float]]:
    """Train a cell on a worker, and send each event as it comes, with the memory of the GPU in MiB."""
    sys.path.extend(path for path in ray.get(paths[0]) if path not in sys.path and os.path.exists(path))  # noqa: PTH110
    keep_freed_memory()
    here = find_data(cell)
    if here is None:
        if files[0] is None:
            yield _Lacking(), 0.0
            return
        sent: Mapping[str, bytes] = ray.get(files[0])
        here = place(cell, sent) if sent else cell
    if cell.device.startswith("cuda"):
        # Ray shows each worker the GPU that it may use, and no other.
        here = replace(here, device="cuda")
    yield Started(cell=cell), 0.0
    yield from stream_one(cell, here)


def find_head(address: str) -> str:
    """Return the address of the head of a cluster that is going to be joined; nothing where there is none."""
    with contextlib.suppress(ConnectionError, OSError, ValueError):
        return services.canonicalize_bootstrap_address(address or "auto") or ""
    return ""


def _own_addresses() -> tuple[str, str]:
    """Return where the head of the cluster is, and Ray's own process on this machine."""
    here = ray.get_runtime_context()
    (node,) = [node for node in ray.nodes() if node["NodeID"] == here.get_node_id()]
    return here.gcs_address, f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"


@contextlib.contextmanager
def _cluster(terms: _Terms, devices: set[str]) -> Iterator[None]:
    """Connect to a cluster that has what the cells need; one that the caller is connected to already is taken."""
    is_ours, leave = not ray.is_initialized(), ray.shutdown
    try:
        if is_ours:
            _connect(terms)
        if any(device.startswith("cuda") for device in devices) and not ray.cluster_resources().get("GPU"):
            allowed = "cpu, or a cluster that has a node with a GPU now"
            raise BadValue("device", "cuda", allowed, command="ray status")
        yield
    except GnzError:
        is_ours, leave = is_ours and not terms.is_last, partial(leave_soon, ray.shutdown)
        raise
    finally:
        if is_ours:
            leave()


def _connect(terms: _Terms) -> None:
    address = terms.address or "auto"
    # Said by Ray at every start, and of no use to who trains: usage statistics, GPUs hidden from workers without one.
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        os.environ.setdefault(name, "0")
    check_address(address)
    started = {"num_cpus": terms.jobs if terms.jobs > 1 else None, "include_dashboard": False}
    try:
        # Interrupted halfway, Ray would end the process by a fault of memory.
        with put_off_interrupts(), alone(ray_constants) if address == LOCAL else few_words():
            ray.init(address=address, logging_level=logging.ERROR, **(started if address == LOCAL else {}))
    except (ConnectionError, RuntimeError, ValueError, RayError) as error:
        raise refusal_of(address, error) from None
