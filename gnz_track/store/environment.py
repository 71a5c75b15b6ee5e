"""Facts of the machine, of the code and of the process that writes a run, collected without Torch; and its load."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, distributions, version
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings, to_json
from gnz_track.store.mlflow_import import importing_mlflow

__all__ = [
    "NONE",
    "Environment",
    "GitState",
    "LoadSampler",
    "Owner",
    "Sample",
    "collect_environment",
    "parse_owner",
    "read_git",
    "this_owner",
]


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


NONE = "none"
SECONDS_TO_ANSWER = 10


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Software and hardware that a sweep ran on; equal environments have equal digests, on any host."""

    python: str
    torch: str
    pyg: str
    os: str
    cpu: str
    cores: int
    memory_mib: int
    gpu: str = NONE
    gpu_memory_mib: int = 0
    driver: str = NONE
    cuda: str = NONE
    packages: Mapping[str, str]

    def __post_init__(self) -> None:
        freeze_mappings(self, "packages")

    @property
    def digest(self) -> str:
        """16 hexadecimal characters over all facts."""
        return hashlib.sha256(to_json(self).encode()).hexdigest()[:16]

    @property
    def tags(self) -> dict[str, str]:
        """The facts that every run shows, by tag."""
        shown = ("python", "torch", "pyg", "gpu", "cuda", "driver")
        return {f"env.{name}": getattr(self, name) for name in shown}


@dataclass(frozen=True, kw_only=True)
class GitState:
    """State of a folder in git; ``"none"`` where there is no git, no repository or no commit."""

    commit: str = NONE
    branch: str = NONE
    is_dirty: bool = False


def collect_environment() -> Environment:
    """Return the facts of this machine and this Python."""
    gpu, gpu_memory_mib, driver = _read_gpu()
    torch = _version("torch")
    return Environment(
        python=platform.python_version(),
        torch=torch,
        pyg=_version("torch-geometric"),
        os=platform.platform(),
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        memory_mib=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20,
        gpu=gpu,
        gpu_memory_mib=gpu_memory_mib,
        driver=driver,
        cuda=cuda_of(torch),
        packages=freeze_packages(),
    )


def freeze_packages() -> dict[str, str]:
    """Return all installed packages and their versions, sorted; the first one found is the one that is imported."""
    return dict(_packages_in(tuple((folder, _change_of(folder)) for folder in sys.path)))


@lru_cache(maxsize=1)
def _packages_in(_: tuple[tuple[str, int], ...]) -> dict[str, str]:
    """Read what is installed: some hundred files, which are others once a folder of the path has changed."""
    found: dict[str, str] = {}
    for package in distributions():
        # A package that is half removed has no name.
        name = package.metadata["Name"]
        if name:
            found.setdefault(name.lower(), package.version)
    return dict(sorted(found.items()))


def _change_of(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        # Folders of the path need not be there.
        return 0


def _read_gpu() -> tuple[str, int, str]:
    """Return name, memory in MiB and driver of the first GPU, with ``x 4`` behind the name where there are four."""
    answer = _ask("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits")
    return parse_gpu(answer)


def parse_gpu(answer: str) -> tuple[str, int, str]:
    r"""Read what ``nvidia-smi`` prints, one GPU a line.

    >>> parse_gpu("NVIDIA A100, 40960, 550.54\nNVIDIA A100, 40960, 550.54")
    ('NVIDIA A100 x 2', 40960, '550.54')
    """
    lines = [[part.strip() for part in line.split(",")] for line in answer.splitlines() if line.strip()]
    if not lines or len(lines[0]) != 3:
        return NONE, 0, NONE
    name, memory, driver = lines[0]
    label = name if len(lines) == 1 else f"{name} x {len(lines)}"
    return label, int(memory) if memory.isdecimal() else 0, driver


def cuda_of(torch: str) -> str:
    """Return the CUDA version that a build of Torch carries in its own.

    >>> cuda_of("2.13.0+cu128"), cuda_of("2.13.0+cpu")
    ('12.8', 'none')
    """
    _, _, build = torch.partition("+cu")
    if build.isdecimal():
        return f"{build[:-1]}.{build[-1]}"
    # Builds of the package index do not name it; they bring its runtime as a package of its own.
    return NONE if "+" in torch else _first_version("nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12")


def read_git(folder: Path | None = None) -> GitState:
    """Return commit, branch and whether tracked files differ from the commit, in the working folder unless told."""
    commit = _ask("git", "rev-parse", "HEAD", folder=folder)
    if not commit:
        return GitState()
    branch = _ask("git", "rev-parse", "--abbrev-ref", "HEAD", folder=folder)
    changed = _ask("git", "status", "--porcelain", "--untracked-files=no", folder=folder)
    return GitState(commit=commit, branch=branch or NONE, is_dirty=bool(changed))


def _ask(program: str, *arguments: str, folder: Path | None = None) -> str:
    """Return what a program prints, nothing where it is missing or fails; no shell takes part."""
    path = shutil.which(program)
    if path is None:
        return ""
    # Asking for the status must not write to the repository.
    quiet = {**os.environ, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"}
    try:
        answer = subprocess.run(  # noqa: S603  (the program is found above, and every argument stands in this file)
            [path, *arguments],
            cwd=folder,
            env=quiet,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS_TO_ANSWER,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout.strip() if answer.returncode == 0 else ""


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return NONE


def _first_version(*packages: str) -> str:
    return next((found for found in map(_version, packages) if found != NONE), NONE)


def _cpu_model() -> str:
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text().splitlines() if facts.exists() else []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


# The interval grows with the time since the start, so that a day has some hundred points.
SECONDS_BETWEEN_SAMPLES, SHARE_BETWEEN_SAMPLES = 1.0, 1 / 25
# (key, value, time in milliseconds since 1970, step).
Sample = tuple[str, float, int, int]


class LoadSampler:
    """Samples the load of this machine in a thread while its ``with`` block runs.

    MLflow's own monitors say what is sampled and how it is called: processor, memory, disk, network, and GPUs where
    their library is installed. MLflow's thread would write to the store itself, which has one writer; here whoever
    writes takes the samples.
    """

    def __init__(self) -> None:
        if find_spec("psutil") is None:
            raise BadValue("psutil", "not installed", "an installed one", command="pip install psutil")
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._samples: list[Sample] = []
        self._step = 0

    def __enter__(self) -> Self:
        self._monitors = _make_monitors()
        self._thread = threading.Thread(target=self._run, daemon=True, name="gnz-load")
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end.set()
        self._thread.join()

    def take(self) -> list[Sample]:
        """Return the samples since the last call."""
        with self._lock:
            taken, self._samples = self._samples, []
        return taken

    def _run(self) -> None:
        began = time.monotonic()
        # Shares of the processor are those since the last time that this thread asked.
        self._sample()
        while not self._end.wait(max(SECONDS_BETWEEN_SAMPLES, (time.monotonic() - began) * SHARE_BETWEEN_SAMPLES)):
            found, at = self._sample(), time.time_ns() // 1_000_000
            with self._lock:
                self._samples += [(f"system/{name}", float(value), at, self._step) for name, value in found.items()]
            self._step += 1

    def _sample(self) -> dict[str, float]:
        found: dict[str, float] = {}
        for monitor in self._monitors:
            monitor.collect_metrics()
            found |= monitor.aggregate_metrics()
            monitor.clear_metrics()
        return found


def _make_monitors() -> list[Any]:
    with importing_mlflow():
        from mlflow.system_metrics.metrics.cpu_monitor import CPUMonitor
        from mlflow.system_metrics.metrics.disk_monitor import DiskMonitor
        from mlflow.system_metrics.metrics.gpu_monitor import GPUMonitor
        from mlflow.system_metrics.metrics.network_monitor import NetworkMonitor
        from mlflow.system_metrics.metrics.rocm_monitor import ROCMMonitor
    kinds: list[Any] = [CPUMonitor, DiskMonitor, NetworkMonitor]
    found = [kind() for kind in kinds]
    for monitor in (GPUMonitor, ROCMMonitor):
        # Whatever a library says that finds no GPU of its maker, there is nothing to sample.
        with contextlib.suppress(Exception):
            return [*found, monitor()]
    return found
