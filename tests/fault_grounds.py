"""Where sweeps are harmed: servers that outlast a scenario's seeds, small disks, and bad ways to a server."""

from __future__ import annotations

import contextlib
import os
import random
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self, TypeVar

import pytest
from ray_nodes import Nodes
from servers import free_port, mlflow_command
from team_servers import Database, Part, ask

__all__ = ["Cluster", "Grounds", "Proxy", "Server", "database_server", "mounted", "ray_cluster", "tracking_server"]

Thing = TypeVar("Thing")


class Grounds:
    """What a scenario needs and does not destroy, made for its first seed and kept for the others."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._found: dict[object, Any] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def find(self, make: Callable[[], AbstractContextManager[Thing]]) -> Thing:
        if make not in self._found:
            self._found[make] = self._stack.enter_context(make())
        found: Thing = self._found[make]
        return found


@contextlib.contextmanager
def database_server() -> Iterator[Database]:
    # Its files belong to another user.
    database = Database(Path(tempfile.mkdtemp(prefix="gnz-faults-")))
    try:
        database.create()
        yield database
    finally:
        with contextlib.suppress(BaseException):
            database.stop("immediate")
        shutil.rmtree(database.folder, ignore_errors=True)


@dataclass(frozen=True)
class Server:
    """MLflow's server, which may be stopped and started again."""

    address: str
    part: Part

    def kill(self) -> None:
        self.part.stop(signal.SIGKILL)


@contextlib.contextmanager
def tracking_server() -> Iterator[Server]:
    from gnz_track.store.writer import open_store

    folder, port = Path(tempfile.mkdtemp(prefix="gnz-faults-")), free_port()
    open_store(str(folder / "gnz.db")).close()
    command, settings = mlflow_command(folder / "gnz.db", folder, port=port)
    address = f"http://127.0.0.1:{port}"
    part = Part(command, settings, folder / "server.log", lambda: ask(f"{address}/health") == 200)
    try:
        part.start()
        yield Server(address, part)
    finally:
        part.stop(signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster with a head that trains too; ``settings`` are those of whoever joins it."""

    nodes: Nodes
    settings: dict[str, str]

    def grow(self) -> int:
        """Add a node, and return the process id of its raylet."""
        before = set(self._raylets())
        self.nodes.add(n_cpus=1)
        until = time.monotonic() + 120
        while not (found := set(self._raylets()) - before):
            assert time.monotonic() < until, "a node did not join"
            time.sleep(0.1)
        return found.pop()

    def _raylets(self) -> list[int]:
        found = []
        for place in Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = place.read_bytes().split(b"\0")
                if words[0].endswith(b"/raylet") and str(self.nodes.folder).encode() in b"".join(words):
                    found.append(int(place.parent.name))
        return found


@contextlib.contextmanager
def ray_cluster() -> Iterator[Cluster]:
    if find_spec("ray") is None:
        pytest.skip("no ray: pip install 'gnz-track[ray]'")
    # Sockets have short names.
    folder = Path(tempfile.mkdtemp(prefix="gnz-ray-", dir="/tmp"))
    settings = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    # What nodes train with is what this process finds.
    paths = os.pathsep.join(path for path in sys.path if path)
    nodes = Nodes(folder, settings={**settings, "PYTHONPATH": paths})
    try:
        cluster = Cluster(nodes, settings)
        cluster.grow()
        yield cluster
    finally:
        nodes.close()
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def mounted(folder: Path, *, size: str) -> Iterator[None]:
    """Lay a small disk under a folder."""
    if os.geteuid() != 0:
        pytest.skip("only root may lay a small disk under a folder")
    run_command("mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder))
    try:
        yield
    finally:
        run_command("umount", "--lazy", str(folder))


def remount(folder: Path, options: str) -> None:
    run_command("mount", "-o", f"remount,{options}", str(folder))


def run_command(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True)


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
