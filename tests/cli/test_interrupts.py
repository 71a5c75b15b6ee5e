"""Ctrl-C before there is anything to keep: a word, and the code of an interrupt."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["typer", "gnz_track.errors", "gnz_track.cli.stage"])
def test_interrupt_while_everything_is_imported_is_one_word(module: str, environment: dict[str, str]) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "gnz_track", "tasks"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    ) as called:
        assert called.stderr is not None
        assert called.stdout is not None
        assert any(line.rpartition("|")[2].strip() == module for line in called.stderr), "it was never imported"
        called.send_signal(signal.SIGINT)
        told = [line for line in called.stderr if not line.startswith("import time:")]
        assert told == ["interrupted\n"]
        assert called.stdout.read() == ""
    assert called.returncode == 130
