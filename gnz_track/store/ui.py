"""MLflow's user interface on a store, for this machine only, and addresses within it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from gnz_track.errors import StoreUnusable
from gnz_track.store import schema
from gnz_track.store.address import SQLITE, Address, mask
from gnz_track.store.connection import connect, disconnect
from gnz_track.store.files.sqlite import START, uri_of
from gnz_track.store.listings import has_tables
from gnz_track.store.mlflow_import import set_up
from gnz_track.store.reader import open_reader

__all__ = ["DEFAULT_PORT", "UserInterface", "choose_port", "links_of_sweep", "newest_sweep", "serve"]

HOST, DEFAULT_PORT = "127.0.0.1", 5000
# Bringing in MLflow's server takes six seconds where nothing else runs, and minutes on a machine that is busy.
SECONDS_TO_START, SECONDS_TO_END = 240.0, 5.0
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True)
class UserInterface:
    """A running user interface: what it shows, where to open it, and its process."""

    address: Address
    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def wait(self) -> None:
        """Wait until it ends by itself, which is always an error; say what it said last."""
        self.process.wait()
        raise self.gone()

    def gone(self) -> StoreUnusable:
        """Return the error that says why it is no longer there."""
        try:
            # Where the store itself is the trouble, it says so better than a server does.
            disconnect(connect(self.address, creates=False))
        except StoreUnusable as error:
            return error
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        # It says good-bye in order even when it never began.
        said = [line for line in lines if "error" in line.lower()] or lines or ["no word"]
        reason = f"MLflow's server ended with: {mask(said[-1])[:300]}"
        return StoreUnusable(self.address, reason, remedy="try another port with --port")


def newest_sweep(address: Address) -> str:
    """Return the name of the sweep that began last; nothing where there is none."""
    found = open_reader(address).runs({schema.KIND: schema.SWEEP_RUN})
    return found[-1].tags.get(schema.SWEEP, "") if found else ""


def links_of_sweep(address: Address, sweep: str, *, url: str = "") -> dict[str, str]:
    """Return task -> address that opens the cells of a sweep, grouped by model, the score in a column.

    An interface groups the runs of one page alone, so that each task has an address of its own. Experiments that have
    no view of the sweep are left out, as those of earlier versions.

    Parameters
    ----------
    address
        The store.
    sweep
        Name of the sweep.
    url
        Where the interface is; empty: that of a server, or the usual one of ``gnz ui``.
    """
    base = url or (f"http://{HOST}:{DEFAULT_PORT}" if address.is_database else _without_account(address.uri))
    key = schema.view_key(sweep)
    found = open_reader(address).experiments_with(f"{schema.VIEW}{key}", most=MOST_LINKS)
    page = f"runs?workflowType=machine_learning&viewStateShareKey={key}"
    return {task: f"{base}/#/experiments/{number}/{page}" for number, task in found}


def _without_account(uri: str) -> str:
    """Return the address of a server as a browser takes it: it asks for user and password itself."""
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2])).rstrip("/")


# A sweep of more tasks has its other ones in the list of experiments.
MOST_LINKS = 1000


def choose_port(wanted: int) -> int:
    """Return the wanted port where nobody listens on it, another one otherwise."""
    for port in (wanted, 0):
        with socket.socket() as probe, contextlib.suppress(OSError):
            # As servers do: a port whose last connections are still closing is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return int(probe.getsockname()[1])
    raise StoreUnusable(HOST, "this machine has no free port", remedy="close something that listens")


@contextlib.contextmanager
def serve(address: Address, *, port: int) -> Iterator[UserInterface]:
    """Run the user interface on a database until the block ends; none of its processes outlives it.

    Files of runs are read where the writer put them. Whoever opens the address may change and delete runs, so it is
    bound to this machine.
    """
    if not has_tables(address):
        raise StoreUnusable(address, "it holds no runs yet", remedy="train something first: gnz run")
    with _answering(signal.default_int_handler), tempfile.TemporaryDirectory(prefix="gnz-ui-") as folder:
        log = Path(folder) / "server.log"
        with log.open("wb") as output:
            # A session of its own: Ctrl-C reaches this process alone, which then ends the others in order.
            process = subprocess.Popen(  # noqa: S603  (nothing in the command is the user's)
                _command(port),
                env={**_without_accounts(), **_settings_of_server(address, _uri_within(folder, address))},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=folder,
                start_new_session=True,
            )
        try:
            interface = UserInterface(address=address, url=f"http://{HOST}:{port}", process=process, log=log)
            _wait_until_it_answers(interface)
            yield interface
        finally:
            with _answering(signal.SIG_IGN):
                _end_server(process)


def _command(port: int) -> list[str]:
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port)]
    return [*command, "--workers", "1", "--no-serve-artifacts"]


def _uri_within(folder: str, address: Address) -> str:
    """Return a URI for the server, by a link in its own folder where characters of the file's folder are coded.

    MLflow would make a folder that is named as the URI is written.
    """
    if address.kind != SQLITE or uri_of(address.file.parent) == f"{START}{address.file.parent}":
        return address.uri
    link = Path(folder) / "store"
    link.symlink_to(address.file.parent)
    return uri_of(link / address.file.name)


def _without_accounts() -> dict[str, str]:
    """Return the environment without what a client tells a server: this one reads files where any store says so."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MLFLOW_TRACKING_")}
    return {**kept, "NETRC": os.devnull}


def _settings_of_server(address: Address, uri: str) -> dict[str, str]:
    """Return what the server reads from its environment: a URI may hold a password, and commands are seen by all."""
    set_up()
    artifacts = {"MLFLOW_DEFAULT_ARTIFACT_ROOT": address.artifacts.as_uri()} if address.artifacts else {}
    return {
        "MLFLOW_BACKEND_STORE_URI": uri,
        "MLFLOW_REGISTRY_STORE_URI": uri,
        # Eight more processes and two gigabytes, for jobs that nobody here starts.
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        **artifacts,
    }


def _wait_until_it_answers(interface: UserInterface) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while interface.process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{interface.url}/health", timeout=5):  # noqa: S310
            return
        if time.monotonic() > until:
            reason = f"MLflow's server did not answer within {SECONDS_TO_START:.0f} s"
            raise StoreUnusable(interface.address, reason, remedy="try again when the machine is less busy")
        time.sleep(0.1)
    raise interface.gone()


def _end_server(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started, kindly first."""
    group, until = process.pid, time.monotonic() + SECONDS_TO_END
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
        while time.monotonic() < until:
            process.poll()
            os.killpg(group, 0)
            time.sleep(0.05)
        os.killpg(group, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def _answering(handler: Any) -> Iterator[None]:
    """Answer Ctrl-C, a polite kill and a closed terminal alike; those that are ignored (nohup) stay ignored."""
    kinds = [kind for kind in SIGNALS if signal.getsignal(kind) is not signal.SIG_IGN]
    before = {kind: signal.signal(kind, handler) for kind in kinds}
    try:
        yield
    finally:
        for kind, former in before.items():
            signal.signal(kind, former)
