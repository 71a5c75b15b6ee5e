"""Ctrl-C before there is anything to keep: a word, and the code of an interrupt."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["typer", "gnz_track.errors", "gnz_track.cli.stage"])
def test_interrupt_while_everything_is_imported_is_one_word(module: str, environment: dict[str, str]) -> None:
    # As from a terminal: what was begun in the background of a shell ignores an interrupt, and so do its children.
    begun = "import runpy, signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    begun += "sys.argv = ['gnz', 'tasks']; runpy.run_module('gnz_track', run_name='__main__')"
    command = [sys.executable, "-X", "importtime", "-c", begun]
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


LOST = """
import os, signal, time, weakref
from gnz_track.cli.terminal.interrupts import listen_for_interrupts
class Thing: pass
signal.signal(signal.SIGINT, signal.default_int_handler)
listen_for_interrupts()
thing = Thing()
# No exception comes out of what is called as the last reference goes.
reference = weakref.ref(thing, lambda _: os.kill(os.getpid(), signal.{name}))
try:
    del thing
    time.sleep(20)
    print("went on")
except KeyboardInterrupt:
    print("heard")
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_interrupt_is_not_lost_where_no_exception_comes_out(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOST.format(name=name)], capture_output=True, text=True, check=False, timeout=15
    )
    assert (done.stdout, done.stderr, done.returncode) == ("heard\n", "", 0)
