"""What may go wrong while cells are trained and written. A scenario harms, heals, and calls again."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import resource
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pytest
from fault_sweeps import Battle, Count, descendants, kill_all, wait_until
from servers import free_port, mlflow_server
from team_servers import Database

__all__ = ["SCENARIOS"]

# A sweep of twelve cells takes some seconds; harm falls between its start and its end.
EARLIEST, LATEST = 0.3, 4.0


def workers_killed(battle: Battle) -> Count:
    process = battle.start()
    for _ in range(3):
        time.sleep(battle.draw.uniform(EARLIEST, LATEST) / 2)
        found = descendants(process.pid or 0)
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(battle.draw.choice(found), signal.SIGKILL)
    process.join(120)
    return healed(battle)


def parent_killed(battle: Battle) -> Count:
    for _ in range(2):
        process = battle.start(jobs=battle.draw.choice((1, 2)))
        process.join(battle.draw.uniform(EARLIEST, LATEST))
        kill_all(process)
    return healed(battle)


def job_out_of_time(battle: Battle) -> Count:
    """A scheduler's SIGTERM, and later its SIGKILL."""
    process = battle.start()
    process.join(battle.draw.uniform(EARLIEST, LATEST))
    process.terminate()
    process.join(30)
    kill_all(process)
    return healed(battle)


def disk_full(battle: Battle) -> Count:
    with mounted(battle, size=battle.draw.choice(("900k", "1200k", "1600k", "2400k"))):
        process = battle.start()
        process.join(120)
        kill_all(process)
        run_command("mount", "-o", "remount,size=256m", str(battle.folder))
        return healed(battle)


def store_read_only(battle: Battle) -> Count:
    with mounted(battle, size="256m"):
        process = battle.start()
        process.join(battle.draw.uniform(2 * EARLIEST, 2 * LATEST))
        kill_all(process)
        run_command("mount", "-o", "remount,ro", str(battle.folder))
        process = battle.start()
        process.join(120)
        assert process.exitcode, "it says that it wrote where nothing can be written"
        run_command("mount", "-o", "remount,rw", str(battle.folder))
        return healed(battle)


def clock_jumps(battle: Battle) -> Count:
    process = battle.start(prepare=functools.partial(jump_about, battle.draw.randrange(1 << 30)))
    process.join(battle.draw.uniform(LATEST, 3 * LATEST))
    kill_all(process)
    process = battle.start(prepare=functools.partial(jump_about, battle.draw.randrange(1 << 30)))
    process.join(120)
    return healed(battle)


def jump_about(seed: int) -> None:
    draw, true_time, true_time_ns = random.Random(seed), time.time, time.time_ns
    shift = [0.0]

    def jump() -> float:
        if draw.random() < 0.1:
            shift[0] = draw.uniform(-3e6, 3e6)
        return shift[0]

    time.time = lambda: true_time() + jump()
    time.time_ns = lambda: true_time_ns() + int(jump() * 1e9)


def flapping_server(battle: Battle) -> Count:
    with served(battle) as (server, _), Proxy(server, battle.draw) as proxy:
        battle.uri = proxy.address
        process = battle.start()
        process.join(240)
        kill_all(process)
        proxy.is_calm = True
        return healed(battle)


def server_killed(battle: Battle) -> Count:
    with contextlib.ExitStack() as stack:
        port = free_port()
        address, kill = stack.enter_context(served(battle, port=port))
        battle.uri = address
        process = battle.start()
        process.join(battle.draw.uniform(EARLIEST, 2 * LATEST))
        kill()
        process.join(240)
        kill_all(process)
        stack.enter_context(served(battle, port=port))
        return healed(battle)


def database_killed(battle: Battle) -> Count:
    # Its files belong to another user.
    database = Database(Path(tempfile.mkdtemp(prefix="gnz-faults-")))
    database.create()
    try:
        battle.uri, battle.settings = database.uri, database.environment
        process = battle.start()
        process.join(battle.draw.uniform(EARLIEST, 3 * LATEST))
        database.stop("immediate")
        process.join(240)
        kill_all(process)
        database.start()
        return healed(battle)
    finally:
        with contextlib.suppress(BaseException):
            database.stop("immediate")


def greedy_cells(battle: Battle) -> Count:
    return troubled(battle, "greedy", prepare=limit_memory)


def limit_memory() -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 30), used + (8 << 30)))


def hung_cells(battle: Battle) -> Count:
    return troubled(battle, "hung", timeout=1.0)


def nan_cells(battle: Battle) -> Count:
    return troubled(battle, "nan")


def troubled(
    battle: Battle, trouble: str, *, timeout: float | None = None, prepare: Callable[[], None] | None = None
) -> Count:
    battle.models = ("MLP", "troubled_nets:Troubled")
    battle.seeds = battle.seeds[:3]
    battle.trouble.write_text(trouble)
    process = battle.start(timeout=timeout, prepare=prepare)
    process.join(120)
    assert process.exitcode == 1, f"{process.exitcode}: {trouble} cells did not fail alone: {battle.output[-2000:]}"
    battle.trouble.unlink()
    return healed(battle)


def spool_corrupted(battle: Battle) -> Count:
    process = battle.start()
    store = Path(battle.uri)
    wait_until(lambda: store.exists() and store.stat().st_size > 100_000)
    time.sleep(battle.draw.uniform(0, 1))
    aside = store.with_suffix(".aside")
    store.rename(aside)
    process.join(120)
    for spool in (battle.folder / "share").rglob("*.jsonl"):
        content = bytearray(spool.read_bytes())
        for _ in range(battle.draw.choice((1, 3, 20))):
            content[battle.draw.randrange(len(content))] = battle.draw.randrange(256)
        spool.write_bytes(content[: battle.draw.choice((len(content), len(content) - 7, len(content) // 2))])
    for late in store.parent.glob("gnz.db*"):
        if late != aside:
            late.unlink()
    aside.rename(store)
    return healed(battle, tries=2)


def eight_sweeps(battle: Battle) -> Count:
    return at_once(battle)


def eight_sweeps_postgresql(battle: Battle) -> Count:
    database = Database(Path(tempfile.mkdtemp(prefix="gnz-faults-")))
    database.create()
    try:
        battle.uri, battle.settings = database.uri, database.environment
        return at_once(battle)
    finally:
        with contextlib.suppress(BaseException):
            database.stop("immediate")


def at_once(battle: Battle) -> Count:
    """Eight sweeps of cells of their own into one store that none of them finds ready."""
    parts = [
        Battle(battle.folder, battle.draw, uri=battle.uri, width=battle.width, settings=battle.settings)
        for _ in range(8)
    ]
    for n, part in enumerate(parts):
        part.seeds = tuple(range(2 * n, 2 * n + 2))
    processes = [part.start(jobs=1) for part in parts]
    for process in processes:
        process.join(240)
    total = Count()
    assert [process.exitcode for process in processes] == [0] * 8, battle.output[-3000:]
    for part in parts:
        total += part.count()
    return total


def healed(battle: Battle, *, tries: int = 1) -> Count:
    """Call the same sweep again, now that all is well, and count."""
    # What was retried by the first sweep itself failed for good there; a call trains what has no finished run.
    battle.finish(tries=tries + 1)
    return battle.count()


@contextlib.contextmanager
def mounted(battle: Battle, *, size: str) -> Iterator[None]:
    """Lay a small disk under a battle's folder."""
    if os.geteuid() != 0:
        pytest.skip("only root may lay a small disk under a folder")
    run_command("mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(battle.folder))
    try:
        battle.__post_init__()
        yield
    finally:
        run_command("umount", "--lazy", str(battle.folder))


def run_command(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


@contextlib.contextmanager
def served(battle: Battle, *, port: int = 0) -> Iterator[tuple[str, Callable[[], None]]]:
    """Run an MLflow server on the battle's own database; yield its address and what kills it."""
    from gnz_track.store.writer import open_store

    folder = battle.folder / "server"
    folder.mkdir(exist_ok=True)
    if not (folder / "gnz.db").exists():
        open_store(str(folder / "gnz.db")).close()
    with mlflow_server(folder / "gnz.db", folder, port=port) as address:

        def kill() -> None:
            for pid in descendants(os.getpid()):
                with contextlib.suppress(OSError):
                    if b"mlflow" in Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").split()[:3]:
                        os.killpg(pid, signal.SIGKILL)

        yield address, kill


class Proxy:
    """A way to a server that is slow, breaks off and refuses, until it is calm."""

    def __init__(self, server: str, draw: random.Random) -> None:
        self.is_calm = False
        self._draw, self._target = draw, ("127.0.0.1", int(server.rpartition(":")[2]))
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._socket.accept()
                if not self.is_calm and self._draw.random() < 0.15:
                    client.close()
                    continue
                threading.Thread(target=self._carry, args=(client,), daemon=True).start()

    def _carry(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError), client, socket.create_connection(self._target, timeout=60) as server:
            back = threading.Thread(target=self._copy, args=(server, client), daemon=True)
            back.start()
            self._copy(client, server)
            back.join(60)

    def _copy(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(1 << 14):
                if not self.is_calm:
                    time.sleep(self._draw.choice((0, 0, 0, 0.05, 0.3)))
                    if self._draw.random() < 0.02:
                        source.close()
                        target.close()
                        return
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)


SCENARIOS: dict[str, Callable[[Battle], Count]] = {
    "workers killed": workers_killed,
    "parent killed": parent_killed,
    "job out of time": job_out_of_time,
    "disk full": disk_full,
    "store read-only": store_read_only,
    "clock jumps": clock_jumps,
    "slow, flapping server": flapping_server,
    "MLflow server killed": server_killed,
    "PostgreSQL killed": database_killed,
    "cells out of memory": greedy_cells,
    "cells that hang": hung_cells,
    "cells that are NaN": nan_cells,
    "spool corrupted": spool_corrupted,
    "8 sweeps, one sqlite": eight_sweeps,
    "8 sweeps, one PostgreSQL": eight_sweeps_postgresql,
}
