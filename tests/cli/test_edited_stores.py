"""A store in which somebody has edited what is written answers every command, with a word about what is left out."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cells import context_of, record, sweep_records

from gnz_track.store.writer import open_store

Gnz = Callable[..., Any]
EDITS = {
    "gnz.seed": "banana",
    "gnz.direction": "sideways",
    "gnz.hyperparameters": '{"lr": ',
    "gnz.task_type": "fruit",
    "gnz.category": "fruit",
    "gnz.task": "",
    "gnz.metric": "",
}


@pytest.mark.parametrize("words", ["ls", "ls --sweep first", "ls --failed", "query", "report --sweep first --out OUT"])
def test_edited_tags_stop_no_command(words: str, gnz: Gnz, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "runs" / "gnz.db"
    context = context_of()
    with open_store(str(file)) as store:
        run_id = store.open_sweep(context)
        runs = [store.finish(one) for one in sweep_records(context)]
        store.close_sweep(run_id)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        for run, (key, value) in zip(runs, EDITS.items(), strict=False):
            connection.execute("UPDATE tags SET value = ? WHERE run_uuid = ? AND key = ?", (value, run, key))
        connection.commit()
    answer = gnz(*words.replace("OUT", str(tmp_path / "out")).split())
    assert "Traceback" not in answer.err
    assert answer.code == 0, answer.err
    (said,) = (message for message in caplog.messages if runs[0] in message)
    assert "gnz.seed is 'banana'" in said


def test_what_is_left_out_is_seen_by_who_types(tmp_path: Path) -> None:
    file = tmp_path / "gnz.db"
    with open_store(str(file)) as store:
        run = store.finish(record())
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE tags SET value = 'banana' WHERE key = 'gnz.seed'")
        connection.commit()
    command = [sys.executable, "-m", "gnz_track", "ls", "--store", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr.count(run) == 1
    assert "its tag gnz.seed is 'banana', which cannot be read; the run is left out" in done.stderr
