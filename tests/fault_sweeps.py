"""Small sweeps in processes that may be harmed, and what is left of them once all is well again."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from fault_grounds import Grounds
from team_servers import Database

MODELS = ("MLP", "GCN")
N_SEEDS, EPOCHS = 6, 5
# A sweep says of each cell that it begins and that it is done.
N_EVENTS = 2 * len(MODELS) * N_SEEDS
SECONDS_TO_END = 240
NETS = '''
import os, time, torch
from pathlib import Path
from torch_geometric.nn import GCNConv

TROUBLE = Path({trouble!r})

class Troubled(torch.nn.Module):
    """Does as it is told by a file, and what any model does once that is gone."""

    task_types = ("node_cls", "link_pred")

    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = GCNConv(in_channels, out_channels)

    def forward(self, data):
        trouble = TROUBLE.read_text() if TROUBLE.exists() else ""
        codes = self.layer(data.x, data.edge_index)
        if trouble == "greedy":
            torch.ones(1 << 36)
        if trouble == "hung":
            time.sleep(600)
        return codes * float("nan") if trouble == "nan" else codes
'''
Words = Callable[[], object]


@dataclass
class Count:
    """Cells that have no finished run, that have several, and whose numbers are others."""

    lost: int = 0
    duplicated: int = 0
    wrong: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.lost + other.lost, self.duplicated + other.duplicated, self.wrong + other.wrong)


@dataclass
class Battle:
    """A store, and what is wanted in it; ``width`` tells cells of one seed from those of another."""

    folder: Path
    draw: random.Random
    uri: str = ""
    width: int = 8
    seeds: tuple[int, ...] = tuple(range(N_SEEDS))
    models: tuple[str, ...] = MODELS
    settings: dict[str, str] = field(default_factory=dict)
    grounds: Grounds = field(default_factory=Grounds)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.uri = self.uri or str(self.folder / "gnz.db")
        self.prepare_folder()

    def prepare_folder(self) -> None:
        """Write what sweeps find in the folder."""
        (self.folder / "nets").mkdir(exist_ok=True)
        (self.folder / "nets" / "troubled_nets.py").write_text(NETS.format(trouble=str(self.trouble)))

    @property
    def trouble(self) -> Path:
        return self.folder / "trouble"

    def move_into(self, database: Database) -> None:
        """Write to a database of one's own on a server, without tables yet."""
        database.name = f"gnz_{self.width}"
        database.call("createdb", database.name)
        self.uri, self.settings = database.uri, database.environment

    def start(self, *, jobs: int = 0, **more: Any) -> BaseProcess:
        """Start a sweep in a process group of its own; without ``jobs`` it is drawn whether it has workers.

        ``more`` are fields of :class:`Call`.
        """
        process = _context().Process(
            target=carry_out_sweep, args=(self._call(jobs=jobs or self.draw.choice((1, 1, 1, 2)), **more),)
        )
        self._heard = self._n_events
        process.start()
        return process

    def wait_for(self, process: BaseProcess, n_events: int) -> None:
        """Wait until a sweep that was started last has said so much, or has ended."""
        wait_until(lambda: self._n_events - self._heard >= n_events or not process.is_alive(), seconds=SECONDS_TO_END)

    def wait_for_midst(self, process: BaseProcess, *, earliest: int = 0) -> None:
        """Wait for a moment between the start of a sweep and its end, however fast this machine is."""
        n_events = self.draw.randrange(earliest, N_EVENTS)
        self.wait_for(process, n_events)
        # Nothing is said while a store is made; and harm is to fall between two words too.
        process.join(self.draw.uniform(0, 0.05 if n_events else 2.0))

    @property
    def _n_events(self) -> int:
        file = _beside(self.folder, "said")
        return file.stat().st_size if file.exists() else 0

    def _call(self, **more: Any) -> Call:
        return Call(self.folder, self.uri, self.width, self.seeds, self.models, self.settings, **more)

    def finish(self, *, tries: int = 1) -> None:
        """Let sweeps end until one of them ends well."""
        for _ in range(tries):
            process = self.start(jobs=1)
            process.join(SECONDS_TO_END)
            if process.exitcode == 0:
                return
        raise AssertionError(f"no sweep ended well: {self.output[-3000:]}")

    @property
    def output(self) -> str:
        file = _beside(self.folder, "output.txt")
        return file.read_text(errors="replace") if file.exists() else ""

    def check_files(self) -> tuple[list[str], list[str]]:
        """Return files of finished cells that are not what their runs say, and those that are gone."""
        with _environment(self.folder, self.settings):
            return files_of(self._call().request().address)

    def count(self) -> Count:
        """Compare what the store holds with what the cells give in this process."""
        from gnz_track.runs.fingerprint import fingerprint
        from gnz_track.runs.run_one import run_one
        from gnz_track.store.address import parse_address
        from gnz_track.store.reader import read_table

        with _environment(self.folder, self.settings):
            from gnz_track.benchmark import find_remaining_of

            request = self._call().request()
            address = request.address
            plan = find_remaining_of(replace(request, address=parse_address("/nonexistent/none.db"))).plan
            cells = {fingerprint(cell): cell for cell in plan.cells}
            table = read_table(address, where={"fingerprint": list(cells)})
            runs = Counter(key for key in finished_of(address) if key in cells)
            rows = {row.fingerprint: row for row in table[table["status"] == "finished"].itertuples()}
            wrong = 0
            for key, row in rows.items():
                result = run_one(cells[key])
                found = (row.score, row.selected_epoch, row.split_digest)
                wrong += found != (result.score, result.selected_epoch, result.split_digest)
        return Count(len(cells.keys() - runs.keys()), sum(n > 1 for n in runs.values()), wrong)


def files_of(address: Any) -> tuple[list[str], list[str]]:
    """Return files of finished cells that are not what their runs say, and those that are gone."""
    from gnz_track.store import schema
    from gnz_track.store.artifacts import find_place
    from gnz_track.store.cell_files.kept_files import digest_of_bytes, files_from_tag
    from gnz_track.store.writer import open_store

    changed, missing = [], []
    with open_store(address) as store:
        runs = store.search(store.experiments(), {schema.KIND: schema.CELL}, "attributes.status = 'FINISHED'")
    for run in runs:
        place = find_place(address, run.info.artifact_uri)
        for name, file in files_from_tag(run.data.tags.get(schema.FILES, "")).items():
            if not isinstance(place, Path):
                continue
            path, label = place / name, f"{run.info.run_id}/{name}"
            if not path.exists():
                missing.append(label)
            elif digest_of_bytes(path.read_bytes()) != file.digest:
                changed.append(label)
    return changed, missing


def finished_of(address: object) -> list[str]:
    """Return the fingerprint of every FINISHED run, as often as there are runs."""
    from gnz_track.store import schema
    from gnz_track.store.writer import open_store

    with open_store(address) as store:  # type: ignore[arg-type]
        runs = store.search(store.experiments(), {schema.KIND: schema.CELL}, "attributes.status = 'FINISHED'")
        return [run.data.tags[schema.FINGERPRINT] for run in runs]


def kill_all(process: BaseProcess) -> None:
    """Kill a sweep and all that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid or 0, signal.SIGKILL)
    process.join(60)


def descendants(pid: int) -> list[int]:
    """Return the processes that a process started, and those that they did."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
    found, waiting = [], [pid]
    while waiting:
        above = waiting.pop()
        children = [child for child, parent in parents.items() if parent == above]
        found += children
        waiting += children
    return found


@dataclass(frozen=True)
class Call:
    """A sweep to be carried out, ready to travel to a process."""

    folder: Path
    uri: str
    width: int
    seeds: tuple[int, ...]
    models: tuple[str, ...]
    settings: dict[str, str]
    jobs: int = 1
    timeout: float | None = None
    prepare: Words | None = None
    cluster: str = ""

    def request(self) -> Any:
        from gnz_track.benchmark import Request
        from gnz_track.datasets.catalogue import TASKS
        from gnz_track.models.catalogue import describe
        from gnz_track.runs.plan import Place
        from gnz_track.store.address import parse_address
        from gnz_track.training.protocols import PROTOCOLS

        return Request(
            tasks=[TASKS.get("les_miserables")],
            models=[describe(name) for name in self.models],
            seeds=self.seeds,
            protocol=PROTOCOLS.get("graphnetz"),
            address=parse_address(self.uri),
            suite="faults",
            epochs=EPOCHS,
            hidden_channels=self.width,
            place=Place(home=Path(os.environ["GNZ_FAULT_DATA"])),
            jobs=self.jobs,
            timeout=self.timeout,
            executor="ray" if self.cluster else "auto",
            cluster=self.cluster,
        )


def carry_out_sweep(call: Call) -> None:
    """Train and write, as ``gnz run`` does."""
    os.setsid()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    output = os.open(_beside(call.folder, "output.txt"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(output, 1)
    os.dup2(output, 2)
    said = os.open(_beside(call.folder, "said"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with _environment(call.folder, call.settings):
        from gnz_track.benchmark import carry_out, find_remaining_of

        if call.prepare is not None:
            call.prepare()
        request = call.request()
        sweep = carry_out(request, find_remaining_of(request), tell=lambda _: os.write(said, b"."))
    for notice in sweep.notices:
        os.write(2, f"note: {notice}\n".encode())
    whole = (sweep.table["status"] == "finished").all() and (sweep.table["run_id"] != "").all()
    # As a process ends that was carried out: without what its parent would do at its end.
    os._exit(0 if whole else 1)


def _beside(folder: Path, name: str) -> Path:
    # Not on the disk that may be full.
    return folder / name if not os.path.ismount(folder) else folder.with_name(f"{folder.name}.{name}")


@contextlib.contextmanager
def _environment(folder: Path, settings: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ |= {"XDG_DATA_HOME": str(folder / "share"), **settings}
    nets = str(folder / "nets")
    sys.path.insert(0, nets)
    sys.modules.pop("troubled_nets", None)
    try:
        yield
    finally:
        sys.path.remove(nets)
        os.environ.clear()
        os.environ.update(before)


def _context() -> multiprocessing.context.ForkServerContext:
    """Return what starts processes that have imported everything, and hold nothing of this one."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(
        ["gnz_track.benchmark", "gnz_track.runs.run_one", "mlflow.store.tracking.sqlalchemy_store"]
    )
    return context


def wait_until(condition: Words, *, seconds: float = 60) -> bool:
    """Wait until a function says yes, and tell whether it did."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.005)
    return False
