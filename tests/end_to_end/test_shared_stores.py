"""Many sweeps into one store at once, and a server that goes away in the middle."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from servers import mlflow_server

sys.path.insert(0, str(Path(__file__).parent))

from sweeps import SECONDS_TO_END, Place, finished_runs, wait_for

N_SWEEPS = 8
WORDS = ("run", "--task", "les_miserables,planted_partition", "--models", "MLP,GCN", "--epochs", "10")


def run_eight(folder: Path, root: Path, store: str) -> None:
    """Start eight sweeps with seeds of their own, all at once and on a store without tables, and check what is left."""
    places = [Place(folder / f"user{n}", root, store) for n in range(N_SWEEPS)]
    started = [place.start(words=WORDS, seeds=f"{3 * n}-{3 * n + 2}") for n, place in enumerate(places)]
    codes = [process.wait(SECONDS_TO_END) for process in started]
    assert codes == [0] * N_SWEEPS, "\n".join(place.output[-1500:] for place in places)
    assert not [place.output for place in places if "note:" in place.output]
    runs = Counter(finished_runs(places[0]))
    assert (len(runs), set(runs.values())) == (N_SWEEPS * 12, {1})
    print(f"{N_SWEEPS} sweeps at once: {len(runs)} cells, 0 errors, 0 lost")  # noqa: T201


@pytest.mark.slow
def test_eight_sweeps_into_one_sqlite(tmp_path: Path, root: Path) -> None:
    run_eight(tmp_path, root, str(tmp_path / "shared" / "gnz.db"))


@pytest.mark.slow
def test_eight_sweeps_into_one_postgresql(tmp_path: Path, root: Path, postgresql_database: str) -> None:
    run_eight(tmp_path, root, postgresql_database)


@pytest.mark.slow
def test_server_killed_and_restarted_loses_nothing(tmp_path: Path, root: Path) -> None:
    from gnz_track.store.writer import open_store

    database = tmp_path / "served.db"
    with open_store(str(database)):
        pass
    n_cells = 4 * 12
    with mlflow_server(database, tmp_path) as address:
        port = int(address.rpartition(":")[2])
        place = Place(tmp_path / "user", root, address)
        sweep = place.start(words=WORDS, seeds="0-11")
        direct = Place(place.folder, root, str(database))
        wait_for(lambda: len(finished_runs(direct)) > 5)
        kill_server(port)
        assert sweep.wait(SECONDS_TO_END) == 0, place.output[-3000:]
        assert "gnz sync" in place.output
        n_written = len(finished_runs(direct))
        assert n_written < n_cells
    with mlflow_server(database, tmp_path, port=port):
        synced = subprocess.run(
            [sys.executable, "-m", "gnz_track", "sync"],
            env=place.environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert synced.returncode == 0, synced.stderr
    runs = Counter(finished_runs(direct))
    assert (len(runs), set(runs.values())) == (n_cells, {1})
    print(f"server killed after {n_written} of {n_cells} cells: all there after gnz sync")  # noqa: T201


def kill_server(port: int) -> None:
    """Kill every process that was started to serve on a port."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if str(port) in " ".join(words) and any("mlflow" in word or "uvicorn" in word for word in words):
            os.kill(int(folder.name), signal.SIGKILL)
