"""Streams that are closed, full or left by their reader: nothing else takes their numbers, and work goes on."""

from __future__ import annotations

import json
import os
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a shell that closes streams")

CLOSED = ("<&-", ">&-", "2>&-", "<&- >&- 2>&-")
TASK = ("--task", "ising_lattice", "--seeds", "0-1", "--epochs", "1")
# What is said by Python and past it, as a model says it: into whatever has the number of a stream.
LOUD = """
import os, sys, torch
class Loud(torch.nn.Module):
    task_types = {"link_pred"}
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = torch.nn.Linear(in_channels, out_channels)
        print("MARK" * 2000, flush=True)
        print("MARK" * 2000, file=sys.stderr, flush=True)
        for number in (1, 2):
            try:
                os.write(number, b"MARK" * 2000)
            except OSError:
                pass  # as native code does
    def forward(self, data):
        return self.layer(data.x)
"""
# Which files have the numbers of the streams, in a process that has imported nothing but the package.
NUMBERS = """
import gnz_track, json, os, sys
kept = open(sys.argv[1], "w")
print("MARK"); print("MARK", file=sys.stderr); os.write(1, b"MARK"); os.write(2, b"MARK")
json.dump([kept.fileno(), [os.readlink(f"/proc/self/fd/{n}") for n in range(3)], os.get_inheritable(1)], kept)
"""
# A file of the user's has taken the number of the stream before the package was imported.
TAKEN = """
import sys
log = open("log.txt", "w")
assert log.fileno() == 1, log.fileno()
log.write("mine"); log.flush()
sys.path.insert(0, ".")
import gnz_track, loud
report = gnz_track.run_benchmark(tasks=["ising_lattice"], models=[loud.Loud], seeds=[0, 1], epochs=1, jobs=2)
open("scores.txt", "w").write(repr([list(report.table["status"]), list(report.table["score"])]))
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "loud.py").write_text(LOUD, "utf-8")
    return tmp_path


def call(place: Path, words: str, redirection: str, *, begin: str = "") -> subprocess.CompletedProcess[str]:
    """Run Python with its streams as a shell redirects them; its exit code, and what it could say, come back."""
    variables = {"GNZ_DATA": str(place / "home"), "GNZ_STORE": str(place / "gnz.db"), "XDG_DATA_HOME": str(place / "x")}
    command = f"{begin}{shlex.quote(sys.executable)} {words} {redirection}"
    return subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=place,
        env={**os.environ, **variables, "PYTHONUNBUFFERED": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def cells_of(place: Path) -> list[tuple[str, float]]:
    """Return the state and the score of each cell, from a store that is whole."""
    with sqlite3.connect(place / "gnz.db") as store:
        assert store.execute("pragma integrity_check").fetchall() == [("ok",)]
        found = store.execute(
            "select r.status, m.value from runs r join latest_metrics m on r.run_uuid = m.run_uuid "
            "where m.key like '%score%' or m.key like 'test%auc' order by m.value"
        ).fetchall()
    assert found
    return found


def marked_files(place: Path) -> list[str]:
    """Return the files, of those that were written, into which something was said."""
    own = {"loud.py", "out.txt"}
    files = [path for path in place.rglob("*") if path.is_file() and path.name not in own and path.suffix != ".pyc"]
    return [path.name for path in files if b"MARK" in path.read_bytes()]


@pytest.mark.parametrize("closed", CLOSED)
def test_numbers_of_closed_streams_are_taken_before_any_file(closed: str, tmp_path: Path) -> None:
    ended = call(tmp_path, f"-c {shlex.quote(NUMBERS)} kept.json", closed)
    assert ended.returncode == 0, ended.stderr
    number, streams, is_inheritable = json.loads((tmp_path / "kept.json").read_text("utf-8"))
    assert number > 2
    assert is_inheritable
    for stream, sign in enumerate(("<&-", ">&-", "2>&-")):
        # The tests' own input is the null device already.
        assert (streams[stream] == os.devnull) == (stream == 0 or sign in closed.split()), streams


def run_loud(place: Path, closed: str, jobs: int) -> None:
    words = shlex.join(["-m", "gnz_track", "run", *TASK, "--models", "loud:Loud", "--jobs", str(jobs)])
    ended = call(place, words, closed)
    assert ended.returncode == 0, ended.stderr
    assert "Traceback" not in ended.stdout + ended.stderr
    assert marked_files(place) == []


def test_sweep_without_any_stream_is_trained_and_kept(place: Path) -> None:
    run_loud(place, "<&- >&- 2>&-", jobs=2)
    assert [status for status, _ in cells_of(place)] == ["FINISHED"] * 2


@pytest.mark.slow
@pytest.mark.parametrize("closed", [*CLOSED, "2>/dev/full", "<&- >&-", ">&- 2>&-"])
def test_closed_streams_change_no_cell(closed: str, place: Path) -> None:
    run_loud(place, "</dev/null >/dev/null", jobs=1)
    cells = cells_of(place)
    for jobs in (1, 2):
        for name in ("gnz.db", "gnz.db-wal", "gnz.db-shm"):
            (place / name).unlink(missing_ok=True)
        run_loud(place, closed, jobs)
        assert cells_of(place) == cells


@pytest.mark.slow
def test_what_a_model_says_reaches_no_file_that_has_the_number_of_a_closed_stream(place: Path) -> None:
    ended = call(place, f"-c {shlex.quote(TAKEN)}", ">&-")
    assert ended.returncode == 0, ended.stderr
    assert (place / "scores.txt").read_text("utf-8").startswith("[['finished', 'finished']")
    # Workers have this number from their parent, and say more than anybody.
    assert (place / "log.txt").read_text("utf-8") == "mine"


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["<&- >&- 2>&-", "2>/dev/full"])
def test_script_that_cannot_say_how_far_it_is_trains_on(closed: str, place: Path) -> None:
    script = TAKEN.split("sys.path", 1)[1].replace("jobs=2", "jobs=1")
    ended = call(place, f"-c {shlex.quote('import sys; sys.path' + script.replace('loud.Loud', repr('MLP')))}", closed)
    assert (place / "scores.txt").read_text("utf-8").startswith("[['finished', 'finished']"), ended.stderr


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_reader_that_leaves_ends_no_sweep(jobs: int, place: Path) -> None:
    words = shlex.join(["-m", "gnz_track", "run", *TASK, "--models", "loud:Loud", "--jobs", str(jobs)])
    ended = call(place, f"{words} 2>&1; echo $? > code.txt; }}", "| true", begin="{ ")
    assert ended.stderr == ""
    assert (place / "code.txt").read_text("utf-8") == "0\n"
    assert [status for status, _ in cells_of(place)] == ["FINISHED"] * 2


@pytest.mark.slow
def test_full_disk_behind_the_output_is_one_line_and_the_cells_are_kept(place: Path) -> None:
    ended = call(place, shlex.join(["-m", "gnz_track", "run", *TASK, "--models", "MLP"]), ">/dev/full")
    assert ended.returncode == 2
    assert ended.stderr.splitlines()[-1].startswith("error: cannot write: No space left on device; make room")
    assert "Traceback" not in ended.stderr
    assert len(cells_of(place)) == 2


@pytest.mark.parametrize("redirection", ["2>/dev/full", "<&- >&- 2>&-"])
def test_mistake_that_cannot_be_told_has_its_exit_code(redirection: str, tmp_path: Path) -> None:
    assert call(tmp_path, "-m gnz_track tasks --suite quik", redirection).returncode == 2


def test_sign_that_the_output_has_no_letter_for_is_written_as_its_number(tmp_path: Path) -> None:
    script = "from gnz_track.streams import guard_streams; guard_streams(); print('caf\\u00e9')"
    command = [sys.executable, "-c", script]
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii"}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=ascii_only, cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "caf\\xe9\n")
