"""``gnz gc`` marks runs of the dead and removes what is empty, and with ``--dry-run`` it does neither."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cells import cell_of, context_of, record

from gnz_track.store.address import parse_address
from gnz_track.store.environment import Owner, this_owner
from gnz_track.store.listings import list_cells
from gnz_track.store.outbox import Outbox, make_outbox_folder
from gnz_track.store.run_record import record_of_start
from gnz_track.store.writer import now, open_store
from gnz_track.types import Direction, Metric

Gnz = Callable[..., Any]
ACCURACY = Metric(name="accuracy", direction=Direction.up, description="")


def begin(owner: Owner, seed: int, *, ago: float = 0.0) -> str:
    """Start the run of a cell, its last heartbeat some seconds ago."""
    context, at = context_of("second", owner=str(owner)), now() - round(1000 * ago)
    begun = record_of_start(cell_of(seed=seed), context, fingerprint=str(seed), metric=ACCURACY, started_at=at)
    with open_store() as store:
        return store.start(begun)


def states() -> dict[int, str]:
    cells = list_cells(parse_address(), sweep="second")
    return {int(seed): str(status) for seed, status in zip(cells["seed"], cells["status"], strict=True)}


@pytest.fixture
def dead() -> Owner:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    me = this_owner()
    return Owner(me.host, me.boot, process.pid)


@pytest.mark.usefixtures("store_file")
def test_runs_of_the_dead_are_marked(gnz: Gnz, dead: Owner) -> None:
    run_id = begin(dead, 20)
    begin(this_owner(), 21)
    begin(Owner("elsewhere", "other", 1), 22, ago=900)
    running = {7: "finished", 20: "running", 21: "running", 22: "running"}
    listed = gnz("gc", "--dry-run")
    assert (listed.code, listed.err) == (0, "")
    assert "1 runs would be marked as killed" in listed.out
    assert states() == running
    answer = gnz("gc")
    assert (answer.code, answer.err) == (0, "")
    [row] = [line for line in answer.out.splitlines() if line.startswith(run_id[:8])]
    assert "GCN s20" in row
    assert "runs no more" in row
    assert states() == {**running, 20: "killed"}
    assert "1 runs marked as killed" in gnz("gc", "--stale-after", "600").out
    assert states() == {**running, 20: "killed", 22: "killed"}
    assert "0 runs marked as killed" in gnz("gc").out


@pytest.mark.usefixtures("store_file")
def test_emptied_files_of_the_spool_are_removed(gnz: Gnz) -> None:
    assert gnz("gc").code == 0
    folder = make_outbox_folder(parse_address())
    # As a process that was ended leaves it.
    (folder / "done.jsonl").touch()
    with Outbox(folder, context_of("waits")) as outbox:
        outbox.append(record(0, context=context_of("waits")))
    before = set(folder.iterdir())
    listed = gnz("gc", "--dry-run").out
    assert "1 files of the spool would be removed" in listed
    assert set(folder.iterdir()) == before
    assert "1 files of the spool removed" in gnz("gc").out
    assert {path.name for path in folder.iterdir()} == {"waits.jsonl", "store.txt"}


@pytest.mark.usefixtures("store_file")
def test_files_that_no_finished_cell_names_are_removed_when_asked(gnz: Gnz) -> None:
    with open_store() as store:
        run_id = store.finish(record(30))
        store.add_files(run_id, {"curves.parquet": b"x" * 2**20})
        store.tracking.delete_run(run_id)
    said = "1 files of 1.0 MiB that no finished cell names"
    assert said not in gnz("gc").out
    assert f"{said} would be removed" in gnz("gc", "--artifacts", "--dry-run").out
    assert "1.0 MiB" in next(line for line in gnz("doctor").out.splitlines() if line.startswith("artifacts"))
    assert f"{said} removed" in gnz("gc", "--artifacts").out
    assert "0 files of 0.0 MiB" in gnz("gc", "--artifacts").out


def test_store_that_is_not_there_is_not_made(gnz: Gnz, tmp_path: Path) -> None:
    answer = gnz("gc")
    assert (answer.code, answer.err) == (0, "")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("age", ["-1", "nan", "inf"])
@pytest.mark.usefixtures("store_file")
def test_age_that_is_none_is_refused(age: str, gnz: Gnz) -> None:
    answer = gnz("gc", "--stale-after", age)
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert "--stale-after 3600" in line
