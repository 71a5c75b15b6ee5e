"""What may go wrong while cells are trained and written. A scenario harms, heals, and calls again."""

from __future__ import annotations

import array
import contextlib
import functools
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

from fault_grounds import Proxy, database_server, mounted, ray_cluster, remount, tracking_server
from fault_sweeps import N_EVENTS, Battle, Count, descendants, kill_all

__all__ = ["SCENARIOS"]

SECONDS_OF_A_CELL = 3.0


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
    return healed(battle, has_all_files=True)


def parent_stopped(battle: Battle) -> Count:
    """Stop a sweep, alone or with its workers, for longer than its cells may take: no cell is to blame."""
    process = battle.start(jobs=2, timeout=SECONDS_OF_A_CELL)
    for _ in range(2):
        battle.wait_for_midst(process)
        with contextlib.suppress(ProcessLookupError):
            stop = battle.draw.choice((os.kill, os.killpg))
            stop(process.pid or 0, signal.SIGSTOP)
            time.sleep(1.5 * SECONDS_OF_A_CELL)
            # Whoever was stopped alone is in the group as well.
            os.killpg(process.pid or 0, signal.SIGCONT)
    process.join(120)
    assert process.exitcode == 0, f"a cell was blamed: {process.exitcode}: {battle.output[-2000:]}"
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


def artifacts_away(battle: Battle) -> Count:
    """The folder of files goes away under a sweep, and takes nothing: records are kept, files wait, and come in."""
    artifacts, aside = Path(battle.uri).parent / "artifacts", battle.folder / "aside"
    process = battle.start()
    battle.wait_for_midst(process, earliest=4)
    if artifacts.exists():
        artifacts.rename(aside)
    with contextlib.suppress(FileExistsError, IsADirectoryError):
        # A cell may just have made it anew.
        artifacts.touch()
    process.join(120)
    kill_all(process)
    if artifacts.is_file():
        artifacts.unlink()
    if aside.exists():
        shutil.copytree(aside, artifacts, dirs_exist_ok=True)
    return healed(battle, has_all_files=True)


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


def outbox_corrupted(battle: Battle) -> Count:
    process = battle.start()
    store = Path(battle.uri)
    battle.wait_for_midst(process, earliest=1)
    aside = store.with_suffix(".aside")
    store.rename(aside)
    process.join(120)
    for outbox in (battle.folder / "share").rglob("*.jsonl"):
        content = bytearray(outbox.read_bytes())
        for _ in range(battle.draw.choice((1, 3, 20))):
            content[battle.draw.randrange(len(content))] = battle.draw.randrange(256)
        outbox.write_bytes(content[: battle.draw.choice((len(content), len(content) - 7, len(content) // 2))])
    for late in store.parent.glob("gnz.db*"):
        if late != aside:
            late.unlink()
    aside.rename(store)
    return healed(battle, tries=2)


def data_changed(battle: Battle) -> Count:
    """Frozen data are written into, replaced or cut off under a sweep, and brought back while it runs or later."""
    battle.settings = {"GNZ_FAULT_DATA": str(battle.folder / "data")}
    process = battle.start()
    # Early: cells that are left are to meet what was done.
    battle.wait_for(process, battle.draw.randrange(1, N_EVENTS // 2))
    found = list((battle.folder / "data").rglob("tensors.safetensors"))
    for file in found:
        before = file.read_bytes()
        HARM[battle.draw.choice(sorted(HARM))](file, spoilt(before, battle.draw))
        if battle.draw.random() < 0.5:
            process.join(battle.draw.uniform(0, 0.5))
        else:
            process.join(120)
        HARM[battle.draw.choice(("written into", "replaced"))](file, before)
    process.join(120)
    assert found, "there were no data to change"
    return healed(battle)


def spoilt(content: bytes, draw: random.Random) -> bytes:
    """Return data that nothing betrays but their digest: a graph as large, whose edges lead elsewhere."""
    begin = 8 + int.from_bytes(content[:8], "little")
    first, last = json.loads(content[8:begin])["edge_index"]["data_offsets"]
    found = array.array("q", content[begin + first : begin + last]).tolist()
    draw.shuffle(found)
    return content[: begin + first] + array.array("q", found).tobytes() + content[begin + last :]


def write_into(file: Path, content: bytes) -> None:
    before = file.stat()
    with file.open("r+b") as opened:
        opened.write(content)
        opened.truncate()
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by(file: Path, content: bytes) -> None:
    other = file.with_name("other")
    other.write_bytes(content)
    other.replace(file)


def cut_off(file: Path, content: bytes) -> None:
    write_into(file, content[: len(content) // 2])


HARM = {"written into": write_into, "replaced": replace_by, "cut off": cut_off}


def store_removed(battle: Battle) -> Count:
    """The file goes under a sweep, with or without what lies beside it; what was in it alone is trained again."""
    process = battle.start()
    battle.wait_for_midst(process, earliest=1)
    remove_store(Path(battle.uri), endings=battle.draw.choice((("",), ("", "-wal"), ("", "-shm"), ENDINGS)))
    process.join(120)
    kill_all(process)
    return cleared_and_healed(battle)


def remains(battle: Battle) -> Count:
    """A sweep is killed, and of its store only the file is removed: nothing begins beside what is left."""
    process = battle.start()
    battle.wait_for_midst(process, earliest=1)
    kill_all(process)
    store = Path(battle.uri)
    left = [place for place in beside(store) if place.exists()]
    before = {place: place.read_bytes() for place in left}
    remove_store(store, endings=("",))
    process = battle.start()
    process.join(120)
    if left:
        assert process.exitcode, "a store began beside what another left"
        assert not store.exists(), "a store was made beside what another left"
        assert {place: place.read_bytes() for place in left} == before, "what was left was changed"
    return cleared_and_healed(battle)


def store_replaced(battle: Battle) -> Count:
    """An older copy takes the place of the file under a sweep; what that lacks comes from the disk, or is trained."""
    battle.finish()
    store, copy = Path(battle.uri), Path(battle.uri).with_suffix(".copy")
    with contextlib.closing(sqlite3.connect(store)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM INTO ?", (str(copy),))
    battle.seeds = tuple(seed + len(battle.seeds) for seed in battle.seeds)
    process = battle.start()
    battle.wait_for_midst(process, earliest=1)
    remove_store(store, endings=battle.draw.choice((("",), ENDINGS)))
    copy.rename(store)
    process.join(120)
    kill_all(process)
    return cleared_and_healed(battle)


ENDINGS = ("", "-wal", "-shm")


def beside(store: Path) -> list[Path]:
    return [store.with_name(store.name + ending) for ending in ENDINGS if ending]


def remove_store(store: Path, *, endings: tuple[str, ...]) -> None:
    for ending in endings:
        store.with_name(store.name + ending).unlink(missing_ok=True)


def cleared_and_healed(battle: Battle) -> Count:
    """Do what the error says, where a sweep ends with it: what is left beside a file is moved away."""
    store = Path(battle.uri)
    process = battle.start(jobs=1)
    process.join(240)
    if process.exitcode:
        aside = store.parent / "remains"
        aside.mkdir()
        for place in beside(store):
            if place.exists():
                place.rename(aside / place.name)
    count = healed(battle)
    with contextlib.closing(sqlite3.connect(store)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",), "the store is damaged"
    return count


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


def healed(battle: Battle, *, tries: int = 1, has_all_files: bool = False) -> Count:
    """Call the same sweep again, now that all is well, and count; no file of a run is another than the run says.

    With ``has_all_files`` each finished cell has those that it names: none was lost on the way.
    """
    # What was retried by the first sweep itself failed for good there; a call trains what has no finished run.
    battle.finish(tries=tries + 1)
    changed, missing = battle.check_files()
    assert not changed, f"files that are not what their runs say: {changed}"
    assert not (missing and has_all_files), f"files that were lost: {missing}"
    return battle.count()


SCENARIOS: dict[str, Callable[[Battle], Count]] = {
    "workers killed": workers_killed,
    "parent killed": parent_killed,
    "stopped parent": parent_stopped,
    "raylet killed": raylet_killed,
    "job out of time": job_out_of_time,
    "disk full": disk_full,
    "artifacts away": artifacts_away,
    "store read-only": store_read_only,
    "clock jumps": clock_jumps,
    "slow, flapping server": flapping_server,
    "MLflow server killed": server_killed,
    "PostgreSQL killed": database_killed,
    "cells out of memory": greedy_cells,
    "cells that hang": hung_cells,
    "cells that are NaN": nan_cells,
    "spool corrupted": outbox_corrupted,
    "changed data": data_changed,
    "removed store": store_removed,
    "remains": remains,
    "replaced store": store_replaced,
    "8 sweeps, one sqlite": eight_sweeps,
    "8 sweeps, one PostgreSQL": eight_sweeps_postgresql,
}
