"""What the gauge reads in a process of its own: run as a script, it writes the readings of each case as JSON.

Each case but the last is a fork of a process that has done nothing but its imports, so that what others left behind is
in no reading.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path

import numpy as np

from gnz_track.training import usage as gauges
from gnz_track.training.allocator import keep_freed_memory
from gnz_track.training.usage import Gauge

MIB = 2**20
# All but the largest are below what is mapped on its own.
MIXED = (200, 20, 20, 31, 20, 30, 10)
Reading = dict[str, float | None]
CASES: dict[str, Callable[[], list[Reading]]] = {}


def case(run: Callable[[], list[Reading]]) -> Callable[[], list[Reading]]:
    """Take a function among the cases."""
    CASES[run.__name__] = run
    return run


def read(block: Callable[[], object]) -> Reading:
    """Measure one block."""
    gauge, before = Gauge(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with gauge:
        block()
    return {**asdict(gauge), "n_faults": resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before}


def hold(mib: int) -> None:
    """Hold one array, written because pages that nobody touched are not resident; it is freed on return."""
    assert np.ones(mib * MIB, dtype=np.uint8)[-1] == 1


def hold_in_pieces(mib: int) -> None:
    """Hold memory in blocks that the allocator keeps when they are freed."""
    assert len([np.ones(MIB // 4, dtype=np.uint8) for _ in range(4 * mib)]) == 4 * mib


def hold_at_the_end(mib: int) -> None:
    """Hold a block behind which the allocator has placed no other, however small."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free(ctypes.c_void_p(ctypes.memset(libc.malloc(ctypes.c_size_t(mib * MIB)), 1, mib * MIB)))


def compute(seconds: float) -> None:
    """Use the processor for so long."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def fail_to_allocate() -> None:
    """Ask for more than there is, after which the allocator looks for memory elsewhere."""
    with suppress(MemoryError):
        np.ones(2**60, dtype=np.uint8)


def series(block: Callable[[int], None], sizes: tuple[int, ...] = (200, 20, 200)) -> list[Reading]:
    """Measure a block at several sizes, behind what was larger and in pieces."""
    keep_freed_memory()
    hold_in_pieces(300)
    return [read(lambda mib=mib: block(mib)) for mib in sizes]  # type: ignore[misc]


@case
def whole() -> list[Reading]:
    return series(hold)


@case
def in_pieces() -> list[Reading]:
    return series(hold_in_pieces)


@case
def behind_a_failed_allocation() -> list[Reading]:
    keep_freed_memory()
    fail_to_allocate()
    return [read(lambda mib=mib: hold_at_the_end(mib)) for mib in MIXED]  # type: ignore[misc]


def hold_again(mib: int) -> None:
    """Hold a block that is kept when it is freed, however large, many times over."""
    keep_freed_memory(even_large=True)
    for _ in range(20):
        hold(mib)


@case
def large_and_kept() -> list[Reading]:
    return series(hold_again)


@case
def unheard() -> list[Reading]:
    """In some containers nobody may have the peak forgotten; some kernels take the request and do nothing."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "deaf").touch()
        hold(400)
        for place in (Path(folder) / "no such folder" / "clear_refs", Path(folder) / "deaf"):
            gauges._RESET = place  # noqa: SLF001
            found.append(read(lambda: hold(20)))
        found.append(read(lambda: hold(600)))
    return found


@case
def untold() -> list[Reading]:
    gauges._STATUS = Path("/no/such/file")  # noqa: SLF001
    return [read(lambda: hold(20))]


@case
def rising() -> list[Reading]:
    return [read(lambda: None), read(lambda: hold(200)), read(lambda: hold(20))]


@case
def waiting() -> list[Reading]:
    return [read(lambda: time.sleep(0.2))]


@case
def working() -> list[Reading]:
    return [read(lambda: compute(0.1))]


@case
def beside_others() -> list[Reading]:
    with others():
        return [read(lambda: compute(0.3))]


@case
def with_a_child() -> list[Reading]:
    return [read(lambda: subprocess.run([sys.executable, "-c", "sum(range(10_000_000))"], check=True))]


@contextmanager
def others() -> Iterator[None]:
    """Have other processes compute beside, one more than there are processors to share."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    yield
    for other in started:
        other.kill()
        other.wait()


def in_a_thread() -> list[Reading]:
    """Measure in a thread that began beside the first one, of this process itself: a fork shares its heaps out anew."""
    found: list[Reading] = []
    thread = threading.Thread(target=lambda: found.extend(series(hold, MIXED)))
    thread.start()
    thread.join()
    return found


def main() -> None:
    """Write one line for each case: its name and what was read."""
    for name, run in CASES.items():
        child = os.fork()
        if not child:
            print(json.dumps({name: run()}), flush=True)  # noqa: T201
            os._exit(0)
        os.waitpid(child, 0)
    print(json.dumps({in_a_thread.__name__: in_a_thread()}))  # noqa: T201


if __name__ == "__main__":
    main()
