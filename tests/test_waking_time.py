"""A clock that stands still while its process does."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time

from gnz_track.waking_time import WakingTime

SCRIPT = """
import sys, time
from gnz_track.waking_time import WakingTime
clock, started = WakingTime(), time.monotonic()
print("begun", flush=True)
sys.stdin.readline()
print(clock.seconds(), time.monotonic() - started)
"""


def test_time_in_which_the_process_is_stopped_is_not_counted() -> None:
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdin=-1, stdout=-1, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(3)
        os.kill(process.pid, signal.SIGCONT)
        process.stdin.write("\n")
        process.stdin.flush()
        awake, passed = map(float, process.stdout.readline().split())
    assert passed > 2.9
    assert awake < passed - 1.5


def test_it_counts_what_passes_and_ends_with_its_owner() -> None:
    before = set(threading.enumerate())
    clock = WakingTime()
    time.sleep(0.6)
    assert 0.5 < clock.seconds() < 30
    del clock
    gc.collect()
    until = time.monotonic() + 10
    while set(threading.enumerate()) - before and time.monotonic() < until:
        time.sleep(0.05)
    assert not set(threading.enumerate()) - before
