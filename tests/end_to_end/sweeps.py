"""A sweep of many short cells, called as a user calls it, in processes that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gnz_track.store.address import parse_address
from gnz_track.store.past_runs import read_curves
from gnz_track.store.reader import read_table

# 2 tasks x 3 models x 11 seeds.
WORDS = ("run", "--task", "les_miserables,planted_partition", "--models", "GCN,GraphSAGE,MLP", "--epochs", "20")
SEEDS = "0-10"
N_CELLS = 66
SECONDS_TO_END = 600


@dataclass(frozen=True)
class Place:
    """A folder with all that a call writes: its store, its spool, its frozen data; ``more`` is set for its calls."""

    folder: Path
    root: Path
    store: str = ""
    more: Mapping[str, str] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        return self.store or str(self.folder / "gnz.db")

    @property
    def environment(self) -> dict[str, str]:
        places = {"XDG_DATA_HOME": str(self.folder), "GNZ_STORE": self.uri, "PYTHONPATH": str(self.root)}
        data = {"GNZ_DATA": os.environ.get("GNZ_TEST_DATA", str(self.folder.parent / "frozen"))}
        kept = {name: value for name, value in os.environ.items() if name != "GNZ_MIRROR"}
        return {**kept, **places, **data, **self.more}

    def start(self, *more: str, words: tuple[str, ...] = WORDS, seeds: str = SEEDS) -> subprocess.Popen[bytes]:
        """Start a call in a process group of its own, its output in a file."""
        command = [sys.executable, "-m", "gnz_track", *words, "--seeds", seeds, *more]
        self.folder.mkdir(exist_ok=True, parents=True)
        with (self.folder / "output.txt").open("ab") as output:
            return subprocess.Popen(command, stdout=output, stderr=output, env=self.environment, start_new_session=True)

    def finish(self, *more: str, words: tuple[str, ...] = WORDS, seeds: str = SEEDS) -> None:
        """Let a call end; it must end well."""
        process = self.start(*more, words=words, seeds=seeds)
        code = process.wait(SECONDS_TO_END)
        assert code == 0, self.output[-3000:]

    def call(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Let a short call end, and return what it said."""
        self.folder.mkdir(exist_ok=True, parents=True)
        command = [sys.executable, "-m", "gnz_track", *words]
        return subprocess.run(
            command,
            env=self.environment,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS_TO_END,
        )

    @property
    def output(self) -> str:
        return (self.folder / "output.txt").read_text(errors="replace")


def kill_group(process: subprocess.Popen[bytes], *, after: float) -> bool:
    """Kill a process and all that it started, and tell whether it still ran."""
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def numbers_of(place: Place) -> dict[str, tuple[object, ...]]:
    """Return fingerprint -> every number of a finished cell that does not depend on the machine's speed."""
    address = parse_address(place.uri)
    table = read_table(address)
    table = table[table["status"] == "finished"]
    curves = read_curves(address, table["run_id"])
    return {
        row.fingerprint: (row.score, row.selected_epoch, row.split_digest, tuple(sorted(curves[row.run_id].items())))
        for row in table.itertuples()
    }


def finished_runs(place: Place) -> list[str]:
    """Return the fingerprint of every FINISHED run, as often as there are runs."""
    from gnz_track.store import schema
    from gnz_track.store.writer import open_store

    with open_store(place.uri) as store:
        runs = store.search(store.experiments(), {schema.KIND: schema.CELL}, "attributes.status = 'FINISHED'")
        return [run.data.tags[schema.FINGERPRINT] for run in runs]


def wait_for(condition: object, *, seconds: float = 120) -> None:
    """Wait until a function says yes."""
    until = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)
