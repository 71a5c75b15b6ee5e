"""Real servers for tests: PostgreSQL, and MLflow; each started where it is asked for."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS_TO_START = 180


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """Return the address of a PostgreSQL server without databases of ours; it ends with the tests."""
    programs = postgresql_programs()
    if programs is None:
        pytest.skip("no PostgreSQL programs: initdb is neither on PATH nor below /usr/lib/postgresql")
    folder = Path(tempfile.mkdtemp(prefix="gnz-postgresql-"))
    as_user = as_unprivileged(folder)
    port = free_port()
    try:
        data = str(folder / "data")
        run_command(
            [*as_user, str(programs / "initdb"), "-D", data, "-U", "gnz", "-A", "trust", "--no-sync", "-E", "UTF8"]
        )
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c shared_buffers=16MB"
        log = str(folder / "log")
        run_command([*as_user, str(programs / "pg_ctl"), "-D", data, "-o", options, "-l", log, "-w", "start"])
        yield f"postgresql://gnz@127.0.0.1:{port}"
        run_command([*as_user, str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgresql_database(postgresql: str, request: pytest.FixtureRequest) -> str:
    """Return the address of a database of one's own, without tables."""
    import psycopg

    name = f"gnz_{abs(hash(request.node.nodeid))}"
    with psycopg.connect(f"{postgresql}/postgres", autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return f"{postgresql}/{name}"


def mlflow_command(database: Path, folder: Path, *, port: int) -> tuple[list[str], dict[str, str]]:
    """Return what runs an MLflow server on an sqlite store that has its tables already, and its settings."""
    command = [sys.executable, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{database}"]
    command += ["--artifacts-destination", str(folder / "served"), "--host", "127.0.0.1", "--port", str(port)]
    settings = {"MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
    return [*command, "--workers", "1"], settings


@contextlib.contextmanager
def mlflow_server(database: Path, folder: Path, *, port: int = 0) -> Iterator[str]:
    """Run an MLflow server on an sqlite store that has its tables already; yield its address."""
    port = port or free_port()
    command, settings = mlflow_command(database, folder, port=port)
    log = folder / "server.log"
    with log.open("wb") as output:
        server = subprocess.Popen(
            command,
            env={**os.environ, **settings},
            stdout=output,
            stderr=output,
            cwd=folder,
            start_new_session=True,
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/health", server, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(server.pid, 15)
            server.wait(30)


def _wait_for(page: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until and server.poll() is None:
        try:
            with urllib.request.urlopen(page, timeout=2):  # noqa: S310  (a page of this machine)
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"the MLflow server did not start: {log.read_text(errors='replace')[-2000:]}")


def postgresql_programs() -> Path | None:
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    on_path = shutil.which("initdb")
    found = [*folders, *([Path(on_path).resolve().parent] if on_path else [])]
    return next((folder for folder in found if (folder / "pg_ctl").exists()), None)


def as_unprivileged(folder: Path) -> list[str]:
    """Return the start of a command that is not run by root, which PostgreSQL refuses; the folder becomes theirs."""
    if os.geteuid() != 0:
        return []
    for user in ("postgres", "nobody"):
        try:
            shutil.chown(folder, user)
        except LookupError:
            continue
        return ["runuser", "-u", user, "--"]
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


def run_command(command: list[str]) -> None:
    # The server inherits no pipe: waiting for its end would take as long as it lives.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(command, stdout=output, stderr=output, stdin=subprocess.DEVNULL, check=False, cwd="/")
        output.seek(0)
        if done.returncode:
            pytest.fail(f"{command[-1]}: {output.read().decode(errors='replace')[-2000:]}")
