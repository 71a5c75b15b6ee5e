"""Processes of Python that are ready at once: each is a fork of one that has imported what the package imports.

Importing Torch, PyG and MLflow costs four seconds of processor, which a test of something else pays for nothing. What
is started here is a process as any other: a child of the caller, with an environment, a folder, streams and signals of
its own, in which nothing has run yet. Tests of imports, of hash seeds, of missing streams and of whatever else is
settled while an interpreter starts have a fresh one, by :mod:`subprocess`.
"""

from __future__ import annotations

import atexit
import ctypes
import fcntl
import gc
import importlib
import inspect
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

__all__ = ["Process", "run", "start_warm"]

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = (
    "gnz_track.cli",
    "gnz_track.api",
    "gnz_track.runs.run_one",
    "gnz_track.report.benchmark_report",
    "gnz_track.store.writer",
    "mlflow.store.tracking.sqlalchemy_store",
    "pyarrow.parquet",
)
MOST_FILES = 16
ADOPT_ORPHANS = 36


class Process(subprocess.Popen):
    """A process of ``[sys.executable, ...]`` with a module, a text or a script; else a :class:`subprocess.Popen`."""

    def _execute_child(self, *given: Any) -> None:
        """Ask for a fork, in place of starting a program."""
        told = inspect.signature(super()._execute_child).bind(*given).arguments
        program, *words = map(os.fspath, told["args"])
        if sys.platform != "linux":
            super()._execute_child(*given)
            return
        assert program == sys.executable
        assert not told["preexec_fn"]
        pipes = {name: told[name] for name in ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")}
        streams = [pipes[name] for name in ("p2cread", "c2pwrite", "errwrite")]
        files = {number: number if file == -1 else file for number, file in enumerate(streams)}
        files |= {number: number for number in told["pass_fds"]}
        request = {
            "words": words,
            "folder": os.fspath(told["cwd"] or Path.cwd()),
            "environment": dict(os.environ if told["env"] is None else told["env"]),
            "numbers": list(files),
            "is_apart": told["start_new_session"],
        }
        self.pid = _source().fork(request, list(files.values()))
        self._child_created = True
        self._close_pipe_fds(*pipes.values())


def run(words: list[Any], *, timeout: float | None = None, **how: Any) -> subprocess.CompletedProcess[Any]:
    """Return how a process ended and what it printed, as :func:`subprocess.run` does."""
    with Process(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **how) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(words, process.returncode, out, err)


class _Source:
    """The process that forks; it ends with this one."""

    def __init__(self, connection: socket.socket, process: subprocess.Popen | None = None) -> None:
        self._socket, self._process = connection, process
        self._owner = os.getpid()
        atexit.register(self._close)

    def _close(self) -> None:
        self._socket.close()
        if self._process and self._owner == os.getpid():
            self._process.wait()

    def fork(self, request: dict[str, Any], files: list[int]) -> int:
        """Return the number of a new child of this process."""
        text = json.dumps(request).encode()
        # The child's parent is a fork that ends; it goes to whoever adopts orphans, and nobody else's are adopted.
        _adopt_orphans(is_wanted=True)
        try:
            socket.send_fds(self._socket, [len(text).to_bytes(8)], files)
            self._socket.sendall(text)
            return int.from_bytes(_read(self._socket, 8))
        finally:
            _adopt_orphans(is_wanted=False)


_SOURCES: list[_Source] = []


def _source() -> _Source:
    if _SOURCES:
        return _SOURCES[0]
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, __file__, str(theirs.fileno())]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        streams = dict.fromkeys(("stdin", "stdout"), subprocess.DEVNULL)
        process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()], **streams)
    _SOURCES.append(_Source(ours, process))
    return _SOURCES[0]


def start_warm() -> None:
    """Let the package start its fork servers so."""
    from gnz_track.runs.executors import fork_server

    fork_server.subprocess = SimpleNamespace(Popen=Process, DEVNULL=subprocess.DEVNULL)


def _adopt_orphans(*, is_wanted: bool) -> None:
    ctypes.CDLL(None).prctl(ADOPT_ORPHANS, int(is_wanted), 0, 0, 0)


def _read(connection: socket.socket, size: int) -> bytes:
    read = connection.recv(size, socket.MSG_WAITALL)
    if len(read) < size:
        raise EOFError
    return read


def _serve(connection: socket.socket) -> dict[str, Any]:
    """Fork whenever it is asked for; return, in each fork, what it is to be."""
    while True:
        size, files, _, _ = socket.recv_fds(connection, 8, MOST_FILES)
        if not size:
            os._exit(0)
        request: dict[str, Any] = json.loads(_read(connection, int.from_bytes(size)))
        between = os.fork()
        if between:
            os.waitpid(between, 0)
            for one in files:
                os.close(one)
            continue
        between = os.getpid()
        if os.fork():
            os._exit(0)
        while os.getppid() == between:
            time.sleep(0.0002)
        ours, theirs = socket.socketpair()
        if os.fork():
            theirs.close()
            # What it starts itself is a fork of one that it has kept, in which nothing has run either.
            _SOURCES[:] = [_Source(ours)]
            connection.sendall(os.getpid().to_bytes(8))
            connection.close()
            _take_files(files, request["numbers"])
            return request
        for one in (*files, ours.detach(), connection.detach()):
            os.close(one)
        connection = theirs


def _take_files(files: list[int], numbers: list[int]) -> None:
    # Out of the way of one another first.
    above = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 100) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(above, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)


def _become(request: dict[str, Any], places: list[str]) -> None:
    """Do what a fresh interpreter does with its arguments and its environment."""
    if request["is_apart"]:
        os.setsid()
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    time.tzset()
    # Where the tests run in the background, the shell lets all that they start ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in ((1, sys.stdout), (2, sys.stderr)):
        stream.reconfigure(line_buffering=number == 2 or os.isatty(number) or bool(os.environ.get("PYTHONUNBUFFERED")))
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    kind, *words = request["words"]
    sys.orig_argv = [sys.executable, kind, *words]
    first = {"-c": "", "-m": request["folder"]}.get(kind, str(Path(kind).resolve().parent))
    sys.path[:] = [first, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *places]
    sys.path_importer_cache.clear()
    importlib.invalidate_caches()
    main = sys.modules["__main__"] = ModuleType("__main__")
    if kind == "-m":
        sys.argv = words
        sys.modules.pop(words[0] if "." in words[0] else "", None)
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    elif kind == "-c":
        sys.argv = ["-c", *words[1:]]
        exec(compile(words[0], "<string>", "exec"), vars(main))  # noqa: S102  (as Python does)
    else:
        sys.argv = [kind, *words]
        main.__file__ = kind
        exec(compile(Path(kind).read_bytes(), kind, "exec"), vars(main))  # noqa: S102  (as Python does)


if __name__ == "__main__":
    own = {str(Path(__file__).parent), str(ROOT)}
    left = [place for place in sys.path if place not in own]
    # An interrupt of the tests is no interrupt of this process.
    os.setpgid(0, 0)
    for name in IMPORTED:
        importlib.import_module(name)
    gc.freeze()
    start_warm()
    asked = _serve(socket.socket(fileno=int(sys.argv[1])))
    _become(asked, left)
