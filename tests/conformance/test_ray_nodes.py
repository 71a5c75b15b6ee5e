"""A Ray cluster of several nodes on this machine: one is killed, one has not got the data."""

from __future__ import annotations

import ast
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ray_nodes import Nodes
from test_executors_alike import numbers_of

from gnz_track.errors import GnzError
from gnz_track.runs.executors.choice import choose_executor
from gnz_track.runs.executors.events import Started, ignore
from gnz_track.types import Cell

pytest.importorskip("ray", reason="no ray: pip install 'gnz-track[ray]'")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Ray announces its own next versions

MODELS = ("GCN", "GAT", "GraphSAGE", "MLP")
N_SEEDS = 50


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    folder = Path("/tmp") / f"gnz-ray-{os.getpid()}-{tmp_path.name[-3:]}"  # noqa: S108
    folder.mkdir(mode=0o700)
    made = Nodes(folder)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(folder, ignore_errors=True)


def wait_for_nodes(n: int, address: str) -> None:
    import ray

    until = time.monotonic() + 120
    while True:
        try:
            ray.init(address=address, logging_level="ERROR")
            break
        except ConnectionError:
            assert time.monotonic() < until, "the head did not start"
            time.sleep(1)
    while sum(node["Alive"] for node in ray.nodes()) < n:
        assert time.monotonic() < until, "a node did not join"
        time.sleep(0.5)
    ray.shutdown()


def test_node_that_dies_costs_no_cell_and_no_bit(nodes: Nodes, make_cell: Callable[..., Cell]) -> None:
    cells = [make_cell(model, seed, epochs=10) for model in MODELS for seed in range(N_SEEDS)]
    expected = {
        result.cell: numbers_of(result) for result in choose_executor(executor="processes", jobs=2)(cells, ignore)
    }
    nodes.add(n_cpus=1)
    wait_for_nodes(1, nodes.address)
    second = nodes.add(n_cpus=1)
    wait_for_nodes(2, nodes.address)
    found, started = [], []
    for result in choose_executor(executor="ray", address=nodes.address)(cells, started.append):
        found.append(result)
        if len(found) == N_SEEDS:
            nodes.kill(second)
    assert len(found) == len(cells)
    assert {result.cell: numbers_of(result) for result in found} == expected
    assert all(result.is_finished for result in found)
    assert sorted(event.cell.label for event in started if isinstance(event, Started)) == sorted(
        cell.label for cell in cells
    )


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may hide a folder from a process")
def test_data_are_sent_to_a_node_that_has_none(
    nodes: Nodes, make_cell: Callable[..., Cell], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    kept = tmp_path / "local"
    kept.mkdir()
    cells = [make_cell(seed=seed) for seed in (0, 1, 0)]
    cells[2] = make_cell("MLP", 0)
    expected = {result.cell: numbers_of(result) for result in choose_executor()(cells, ignore)}
    nodes.add(n_cpus=0)
    wait_for_nodes(1, nodes.address)
    monkeypatch.setenv("TMPDIR", str(kept))
    home = Path(cells[0].data).parents[1]
    nodes.add(n_cpus=2, unseen=home)
    wait_for_nodes(2, nodes.address)
    found = list(choose_executor(executor="ray", address=nodes.address)(cells, ignore))
    assert {result.cell: numbers_of(result) for result in found} == expected
    folder = kept / f"gnz-data-{os.getuid()}"
    assert sorted(item.name for item in folder.iterdir()) == sorted({cell.dataset_digest for cell in cells})
    assert folder.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("lost", ["gcs_server", "machine", "raylet"])
def test_sweep_ends_in_good_order_without_the_head_or_its_own_node(
    nodes: Nodes, make_cell: Callable[..., Cell], lost: str
) -> None:
    psutil = pytest.importorskip("psutil")
    cells = [make_cell("Slow", seed, epochs=3) for seed in range(40)]
    head = nodes.add(n_cpus=1)
    wait_for_nodes(1, nodes.address)
    results = choose_executor(executor="ray", address=nodes.address)(cells, ignore)
    found = [next(results)]
    parts = {process.name(): process for process in psutil.Process(head.pid).children(recursive=True)}
    # It would end all others of its node.
    psutil.Process(head.pid).suspend()
    if lost == "machine":
        nodes.kill(head)
    else:
        parts[lost].kill()
    begun = time.monotonic()
    what = "the process of Ray on this machine" if lost == "raylet" else f"the head of the cluster at {nodes.address}"
    with pytest.raises(GnzError, match=rf"^{what} does not answer any more .* of the 40 cells .* the same command"):
        found.extend(results)
    assert time.monotonic() - begun < 45
    assert all(result.is_finished for result in found), "no cell is to blame"
    assert len(found) < len(cells)
    if lost != "machine":
        nodes.kill(head)


@pytest.fixture
def joining(nodes: Nodes, make_cell: Callable[..., Cell], tmp_path: Path) -> Iterator[Callable[[], Joining]]:
    """Return what starts ``gnz run`` on a cluster of one node, up to where Ray connects to its head."""
    psutil = pytest.importorskip("psutil")
    home = Path(make_cell().data).parents[1]
    call = f"run --task random_tsp --models MLP --seeds 0-99 --executor ray --address {nodes.address}"
    begun: list[Joining] = []

    def begin() -> Joining:
        head = nodes.add(n_cpus=1)
        wait_for_nodes(1, nodes.address)
        process = subprocess.Popen(
            [sys.executable, "-m", "gnz_track", *call.split(), "--home", home, "--store", tmp_path / "runs.db"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            # Half of what Ray waits by default, and with it of our patience.
            env={**os.environ, "RAY_gcs_rpc_server_reconnect_timeout_s": "30"},
        )
        begun.append(Joining(head, process))
        port, before, until = int(nodes.address.rpartition(":")[2]), set(), time.monotonic() + 60
        while True:
            # A greeting of ours is over by the next look.
            now = {item for item in _connections(psutil.Process(process.pid)) if item.raddr and item.raddr.port == port}
            if now & before:
                return begun[-1]
            assert time.monotonic() < until, "nobody joined"
            before = now
            time.sleep(0.03)

    yield begin
    for one in begun:
        one.process.kill()
        # What is frozen hears of nothing milder.
        if one.head.poll() is None:
            nodes.kill(one.head)


@dataclass(frozen=True)
class Joining:
    head: subprocess.Popen[bytes]
    process: subprocess.Popen[str]


def _connections(process: Any) -> Iterator[Any]:
    for one in (process, *process.children(recursive=True)):
        try:
            yield from one.net_connections("tcp")
        except Exception as error:
            # It has ended meanwhile.
            if type(error).__name__ not in {"NoSuchProcess", "ZombieProcess"}:
                raise


@pytest.mark.parametrize("seconds", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("strikes", ["SIGKILL", "SIGSTOP", "SIGSTOP SIGKILL"])
def test_head_that_goes_silent_while_it_is_joined_is_one_error(
    nodes: Nodes, joining: Callable[[], Joining], strikes: str, seconds: float
) -> None:
    gnz = joining()
    begun = time.monotonic()
    for strike in strikes.split():
        # Whoever joins a head that is frozen waits for it, and is in the midst of it when it dies.
        time.sleep(seconds)
        os.killpg(gnz.head.pid, signal.Signals[strike])
    _, said = gnz.process.communicate(timeout=60)
    assert time.monotonic() - begun < 25, "10 s of patience, and up to 8 s in which it is noticed first"
    errors = [line for line in said.splitlines() if "cells, about" not in line]
    assert len(errors) == 1, said
    assert errors[0].startswith("error: ")
    assert nodes.address in errors[0]
    assert gnz.process.returncode == 2


def test_interrupt_is_answered_while_a_silent_head_is_joined(joining: Callable[[], Joining]) -> None:
    psutil = pytest.importorskip("psutil")
    gnz = joining()
    os.killpg(gnz.head.pid, signal.SIGSTOP)
    time.sleep(2)
    children = psutil.Process(gnz.process.pid).children(recursive=True)
    begun = time.monotonic()
    gnz.process.send_signal(signal.SIGINT)
    _, said = gnz.process.communicate(timeout=60)
    assert time.monotonic() - begun < 15
    assert (gnz.process.returncode, said.splitlines()[-1]) == (130, "interrupted")
    assert not any(child.is_running() for child in children), "nobody is left behind"


JOIN = """
import signal, sys, threading
from gnz_track.errors import GnzError
from gnz_track.runs.executors.ray.resources import Footprints
from gnz_track.runs.executors.ray.driver import _Terms, _cluster
for seconds in sys.argv[2:]:
    main = threading.main_thread().ident
    threading.Timer(float(seconds), signal.pthread_kill, (main, signal.SIGINT)).start()
try:
    with _cluster(_Terms(sys.argv[1], 1, None, Footprints()), {"cpu"}):
        print("joined")
except GnzError as error:
    print(f"error: {error}", file=sys.stderr)
except KeyboardInterrupt:
    print("interrupted", file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"RAY_AUTH_MODE": ""}, "this one asks for a token, which is shown only where RAY_AUTH_MODE=token is set"),
        ({"RAY_AUTH_TOKEN": "0" * 64}, "this one has another token than this machine"),
        ({"RAY_AUTH_TOKEN": "", "HOME": "/nowhere"}, "RAY_AUTH_MODE=token is set, and no token is on this machine"),
    ],
)
def test_wrong_token_is_named_in_one_line(nodes: Nodes, settings: dict[str, str], said: str) -> None:
    nodes.add(n_cpus=0)
    wait_for_nodes(1, nodes.address)
    begun = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", JOIN, nodes.address],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **settings},
    )
    assert time.monotonic() - begun < 20
    (line,) = done.stderr.splitlines()
    assert f"address is '{nodes.address}'" in line
    assert said in line


@pytest.mark.parametrize("seconds", [0.2, 0.6, 1.0, 1.5, 2.0])
def test_start_of_a_cluster_is_not_left_halfway(seconds: float) -> None:
    done = subprocess.run(
        [sys.executable, "-c", JOIN, "local", str(seconds)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "interrupted\n"), done.stdout


LISTEN = """
import os, sys
import psutil
if "ray" in sys.argv:
    import ray
from gnz_track.runs.executors.choice import choose_executor
execute = choose_executor(executor="ray", address="local", jobs=1)
import ray
from gnz_track.runs.executors.ray.driver import _Terms, _cluster
from gnz_track.runs.executors.ray.resources import Footprints
with _cluster(_Terms("local", 1, None, Footprints()), {"cpu"}):
    mine = {os.getpid(), *(child.pid for child in psutil.Process().children(recursive=True))}
    found = {one.laddr.ip for one in psutil.net_connections("tcp") if one.status == "LISTEN" and one.pid in mine}
    print(sorted(found))
from ray._private import ray_constants
assert ray_constants.ENABLE_RAY_CLUSTER, "the next cluster is one of this machine too"
assert "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER" not in os.environ, "and so is that of every child"
"""


@pytest.mark.parametrize("imported", ["ray", "nothing"])
def test_cluster_of_one_machine_listens_to_nobody_else_and_the_next_one_may(imported: str) -> None:
    pytest.importorskip("psutil")
    done = subprocess.run([sys.executable, "-c", LISTEN, imported], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    heard = set(ast.literal_eval(done.stdout.splitlines()[-1]))
    assert heard
    assert heard <= {"127.0.0.1", "::ffff:127.0.0.1", "::1"}
