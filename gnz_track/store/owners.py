"""Owner of a run, and whether it is still alive: ``host:boot:pid``."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Owner", "parse_owner", "this_owner"]

UNKNOWN = "unknown"
# A process started this much after a run cannot be the one that started the run; clocks tick in hundredths.
SECONDS_OF_DOUBT = 2.0


@dataclass(frozen=True)
class Owner:
    """A process: host, start of that host (and the container, which counts processes by itself), process id."""

    host: str
    boot: str
    pid: int

    def __str__(self) -> str:
        return f"{self.host}:{self.boot}:{self.pid}"

    def is_on_the_machine_of(self, other: Owner) -> bool:
        """Whether both count processes together, so that one can look for the other."""
        known = self.boot != UNKNOWN
        return known and (self.host, self.boot) == (other.host, other.boot)

    def is_alive(self, *, since: float) -> bool:
        """Whether the process runs that was running at ``since``, in seconds since 1970; asked on its own machine."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass  # it runs, as somebody else
        started = _started_at(self.pid)
        return started is None or started <= since + SECONDS_OF_DOUBT


def this_owner() -> Owner:
    """Return the owner that is this process."""
    host = socket.gethostname().replace(":", "_")
    return Owner(host, _boot(), os.getpid())


def parse_owner(text: str) -> Owner | None:
    """Read ``host:boot:pid``; None where it is no such text.

    >>> parse_owner("node1:5f2c.4026531836:77")
    Owner(host='node1', boot='5f2c.4026531836', pid=77)
    """
    parts = text.split(":")
    if len(parts) != 3 or not parts[2].isdecimal() or int(parts[2]) < 1:
        return None
    return Owner(parts[0], parts[1], int(parts[2]))


def _boot() -> str:
    boot, namespace = Path("/proc/sys/kernel/random/boot_id"), Path("/proc/self/ns/pid")
    try:
        return f"{boot.read_text().strip()}.{namespace.readlink().name.strip('pid:[]')}"
    except OSError:
        return UNKNOWN


def _started_at(pid: int) -> float | None:
    """Return when a process started, in seconds since 1970; None where the system does not say."""
    try:
        # The name of the program, in brackets, may hold spaces and brackets of its own.
        ticks = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])
        lines = Path("/proc/stat").read_text().splitlines()
        boot = next(int(line.split()[1]) for line in lines if line.startswith("btime"))
    except (OSError, ValueError, IndexError, StopIteration):
        return None
    return boot + ticks / os.sysconf("SC_CLK_TCK")
