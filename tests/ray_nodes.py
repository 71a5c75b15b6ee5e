"""A Ray cluster of several nodes on this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from servers import free_port

__all__ = ["Nodes"]


class Nodes:
    """Nodes of one cluster as separate trees of processes."""

    def __init__(self, folder: Path, *, settings: Mapping[str, str] | None = None) -> None:
        # Sockets have short names.
        self.folder, self.address = folder, f"127.0.0.1:{free_port()}"
        self._settings = settings or {}
        self._nodes: list[subprocess.Popen[bytes]] = []

    def add(self, *, n_cpus: int, unseen: Path | None = None) -> subprocess.Popen[bytes]:
        """Start a node; the first is the head. A node does not see the folder ``unseen``, as on another machine."""
        where = (
            ["--head", f"--port={self.address.rpartition(':')[2]}"] if not self._nodes else ["--address", self.address]
        )
        if not self._nodes:
            where += ["--include-dashboard=false", f"--temp-dir={self.folder}"]
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", *where, f"--num-cpus={n_cpus}", "--block"]
        command += ["--object-store-memory=100000000", "--node-ip-address=127.0.0.1", "--disable-usage-stats"]
        if unseen is not None:
            hide = 'mount -t tmpfs none "$0" && exec "$@"'
            command = ["unshare", "--mount", "sh", "-c", hide, str(unseen), *command]
        with (self.folder / f"node-{len(self._nodes)}.log").open("wb") as log:
            node = subprocess.Popen(
                command, stdout=log, stderr=log, start_new_session=True, env={**os.environ, **self._settings}
            )
        self._nodes.append(node)
        return node

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """End a node as a power cut does: its raylet and all its workers, at once."""
        os.killpg(node.pid, signal.SIGKILL)
        node.wait()

    def close(self) -> None:
        for node in self._nodes:
            if node.poll() is None:
                node.terminate()
                try:
                    node.wait(20)
                except subprocess.TimeoutExpired:
                    self.kill(node)
