"""What may go wrong while cells are trained and written. A scenario harms, heals, and calls again."""

from __future__ import annotations

import contextlib
import functools
import os
import random
import resource
import signal
import time
from collections.abc import Callable
from pathlib import Path

from fault_grounds import Proxy, database_server, mounted, ray_cluster, remount, tracking_server
from fault_sweeps import N_EVENTS, Battle, Count, descendants, kill_all

__all__ = ["SCENARIOS"]


def workers_killed(battle: Battle) -> Count:
    process = battle.start(jobs=2)
    for n_events in sorted(battle.draw.sample(range(N_EVENTS), 3)):
        battle.wait_for(process, n_events)
        found = descendants(process.pid or 0)
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(battle.draw.choice(found), signal.SIGKILL)
    process.join(120)
    return healed(battle)


def parent_killed(battle: Battle) -> Count:
    for _ in range(2):
        process = battle.start(jobs=battle.draw.choice((1, 2)))
        battle.wait_for_midst(process)
        kill_all(process)
    return healed(battle)


def raylet_killed(battle: Battle) -> Count:
    """A node of a cluster loses its raylet, and with it its workers."""
    cluster = battle.grounds.find(ray_cluster)
    raylet = cluster.grow()
    battle.settings = cluster.settings
    process = battle.start(cluster=cluster.nodes.address)
    battle.wait_for_midst(process)
    os.kill(raylet, signal.SIGKILL)
    process.join(240)
    assert process.exitcode == 0, f"a node that died was not outlived: {process.exitcode}: {battle.output[-2000:]}"
    return healed(battle)


def job_out_of_time(battle: Battle) -> Count:
    """A scheduler's SIGTERM, and later its SIGKILL."""
    process = battle.start(jobs=battle.draw.choice((1, 2)))
    battle.wait_for_midst(process)
    process.terminate()
    process.join(30)
    kill_all(process)
    return healed(battle)


def disk_full(battle: Battle) -> Count:
    with mounted(battle.folder, size=battle.draw.choice(("900k", "1200k", "1600k", "2400k"))):
        battle.prepare_folder()
        process = battle.start()
        process.join(120)
        kill_all(process)
        remount(battle.folder, "size=256m")
        return healed(battle)


def store_read_only(battle: Battle) -> Count:
    with mounted(battle.folder, size="256m"):
        battle.prepare_folder()
        process = battle.start()
        battle.wait_for_midst(process)
        kill_all(process)
        was_left = process.exitcode != 0
        remount(battle.folder, "ro")
        process = battle.start()
        process.join(120)
        assert process.exitcode or not was_left, "it says that it wrote where nothing can be written"
        remount(battle.folder, "rw")
        return healed(battle)


def clock_jumps(battle: Battle) -> Count:
    process = battle.start(prepare=functools.partial(jump_about, battle.draw.randrange(1 << 30)))
    battle.wait_for_midst(process)
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
    server = battle.grounds.find(tracking_server)
    with Proxy(server.address, battle.draw) as proxy:
        battle.uri = proxy.address
        process = battle.start()
        process.join(240)
        kill_all(process)
        proxy.is_calm = True
        return healed(battle)


def server_killed(battle: Battle) -> Count:
    server = battle.grounds.find(tracking_server)
    battle.uri = server.address
    process = battle.start()
    battle.wait_for_midst(process)
    server.kill()
    try:
        process.join(240)
        kill_all(process)
    finally:
        server.part.start()
    return healed(battle)


def database_killed(battle: Battle) -> Count:
    database = battle.grounds.find(database_server)
    battle.move_into(database)
    process = battle.start()
    battle.wait_for_midst(process)
    database.stop("immediate")
    try:
        process.join(240)
        kill_all(process)
    finally:
        database.start()
    return healed(battle)


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
    process = battle.start(jobs=2, timeout=timeout, prepare=prepare)
    process.join(120)
    assert process.exitcode == 1, f"{process.exitcode}: {trouble} cells did not fail alone: {battle.output[-2000:]}"
    battle.trouble.unlink()
    return healed(battle)


def spool_corrupted(battle: Battle) -> Count:
    process = battle.start()
    store = Path(battle.uri)
    battle.wait_for_midst(process, earliest=1)
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
    battle.move_into(battle.grounds.find(database_server))
    return at_once(battle)


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


SCENARIOS: dict[str, Callable[[Battle], Count]] = {
    "workers killed": workers_killed,
    "parent killed": parent_killed,
    "raylet killed": raylet_killed,
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
