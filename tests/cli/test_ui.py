"""``gnz ui`` shows the store in a browser of this machine, and leaves nothing behind."""

from __future__ import annotations

import functools
import json
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cells import context_of, failed_record

from gnz_track.store.writer import open_store

Gnz = Callable[..., Any]


def descendants(pid: int) -> set[int]:
    """Return the processes that a process has started, and theirs."""
    children = {int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}
    return children.union(*(descendants(child) for child in children))


def fetch(url: str, body: dict[str, Any] | None = None) -> bytes:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})  # noqa: S310
    with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310  (a page of this machine)
        page: bytes = answer.read()
        return page


def test_runs_and_their_files_are_shown_until_ctrl_c(environment: dict[str, str], tmp_path: Path) -> None:
    with open_store(environment["GNZ_STORE"]) as store:
        run_id = store.finish(failed_record(2, context=context_of()))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        process = subprocess.Popen(
            [sys.executable, "-m", "gnz_track", "ui", "--port", str(port)],
            env=environment,
            cwd=elsewhere,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            # Where the tests run in the background, the shell lets all that they start ignore Ctrl-C.
            preexec_fn=functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
        )
        assert process.stdout is not None
        line = process.stdout.readline()
    url = line.removeprefix("open ").partition(" ")[0]
    assert url.startswith("http://127.0.0.1:"), line + process.communicate()[1]
    assert not url.endswith(f":{port}")
    started = descendants(process.pid)
    commands = [Path(f"/proc/{pid}/cmdline").read_text() for pid in started]
    assert b"<!doctype html>" in fetch(url)[:200].lower()
    assert fetch(f"{url}/get-artifact?path=traceback.txt&run_uuid={run_id}").endswith(b"ValueError: odd\n")
    found = json.loads(fetch(f"{url}/ajax-api/2.0/mlflow/experiments/search", {"max_results": 10}))
    assert "gnz/quick/cora" in {one["name"] for one in found["experiments"]}
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (0, "")
    assert err.splitlines() == [
        f"port {port} is taken; using {url.rpartition(':')[2]}",
        "starting MLflow's user interface ...",
        "ended",
    ]
    assert started
    assert not any("gnz.db" in command for command in commands), "a URI may hold a password"
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    assert list(elsewhere.iterdir()) == []


def test_server_is_not_started_twice(gnz: Gnz) -> None:
    answer = gnz("ui", "--store", "http://me:secret@127.0.0.1:5000")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out == "the store is a server already; open http://me:***@127.0.0.1:5000\n"


def test_store_that_is_not_there_is_one_line_and_code_2(gnz: Gnz, tmp_path: Path) -> None:
    answer = gnz("ui")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.splitlines()[-1].startswith("error: the store ")
    assert "gnz run" in answer.err
    assert not (tmp_path / "runs").exists()


def test_port_beyond_all_ports_is_wrong_usage(gnz: Gnz) -> None:
    assert gnz("ui", "--port", "65536").code == 2
