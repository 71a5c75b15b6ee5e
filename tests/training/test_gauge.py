"""What a block cost."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from gnz_track.runs.on_inline import keep_freed_memory
from gnz_track.training import gauge as gauges
from gnz_track.training.gauge import Gauge

MIB = 2**20
CAN_RESET = Path("/proc/self/clear_refs").exists()
NEEDS_RESET = pytest.mark.skipif(not CAN_RESET, reason="only Linux lets a process forget its peak")


@pytest.fixture
def busy() -> Iterator[None]:
    """Have other processes compute beside, one more than there are processors to share."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    yield
    for other in others:
        other.kill()
        other.wait()


def _hold(mib: int) -> None:
    # Written, because pages that nobody touched are not resident; freed on return.
    assert np.ones(mib * MIB, dtype=np.uint8)[-1] == 1


def _hold_in_pieces(mib: int) -> None:
    """Hold memory in blocks that the allocator keeps when they are freed."""
    assert len([np.ones(MIB // 4, dtype=np.uint8) for _ in range(4 * mib)]) == 4 * mib


@NEEDS_RESET
@pytest.mark.parametrize("hold", [_hold, _hold_in_pieces])
def test_memory_is_that_of_the_block_whatever_was_held_before(hold: object) -> None:
    keep_freed_memory()
    _hold_in_pieces(300)
    for mib in (200, 20, 200):
        with Gauge() as gauge:
            hold(mib)  # type: ignore[operator]
        assert gauge.memory_mib == pytest.approx(mib, abs=6)
        assert gauge.peak_rss_mib is not None
        assert gauge.peak_rss_mib > mib + 20, "the process holds its libraries too"


@NEEDS_RESET
def test_memory_that_the_kernel_does_not_tell_is_unknown_and_no_wrong_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In some containers nobody may have the peak forgotten; some kernels take the request and do nothing."""
    (tmp_path / "deaf").touch()
    with Gauge():
        # What earlier tests have left is given back.
        _hold(400)
    for place in (tmp_path / "no such folder" / "clear_refs", tmp_path / "deaf"):
        monkeypatch.setattr(gauges, "_RESET", place)
        with Gauge() as hidden:
            _hold(20)
        assert hidden.memory_mib is None
        assert hidden.peak_rss_mib is not None
    with Gauge() as new:
        _hold(600)
    assert new.memory_mib == pytest.approx(600, abs=6), "what is higher than all before is of this block"


def test_memory_is_unknown_where_there_is_no_such_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauges, "_STATUS", tmp_path / "status")
    with Gauge() as gauge:
        _hold(20)
    assert gauge.memory_mib is None
    assert gauge.peak_rss_mib is not None
    assert gauge.peak_rss_mib > 20


def test_peak_memory_rises_by_what_the_block_held() -> None:
    with Gauge() as idle:
        pass
    with Gauge() as busy:
        _hold(200)
    assert idle.peak_rss_mib is not None
    assert busy.peak_rss_mib is not None
    rise = busy.peak_rss_mib - idle.peak_rss_mib
    assert 190 < rise < 230 if CAN_RESET else rise >= 0


@NEEDS_RESET
def test_peak_memory_is_not_that_of_an_earlier_block() -> None:
    with Gauge() as large:
        _hold(300)
    with Gauge() as small:
        _hold(20)
    assert small.peak_rss_mib < large.peak_rss_mib - 200  # type: ignore[operator]


def test_waiting_takes_seconds_but_not_of_the_processor() -> None:
    with Gauge() as gauge:
        time.sleep(0.2)
    assert 0.2 <= gauge.seconds < 2
    assert gauge.cpu_seconds < 0.1


def _compute(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_working_takes_seconds_of_the_processor() -> None:
    with Gauge() as gauge:
        _compute(0.1)
    assert 0.1 <= gauge.cpu_seconds < 0.3
    assert gauge.seconds >= 0.09


@pytest.mark.usefixtures("busy")
def test_other_work_costs_the_wall_clock_and_not_the_processor() -> None:
    with Gauge() as gauge:
        _compute(0.5)
    assert 0.5 <= gauge.cpu_seconds < 0.6
    assert gauge.seconds > gauge.cpu_seconds


def test_what_children_compute_counts() -> None:
    with Gauge() as gauge:
        subprocess.run([sys.executable, "-c", "sum(range(10_000_000))"], check=True)
    assert gauge.cpu_seconds > 0.05


def test_a_block_that_fails_is_measured_and_its_error_seen() -> None:
    def fail() -> None:
        time.sleep(0.01)
        raise KeyError

    gauge = Gauge()
    with pytest.raises(KeyError), gauge:
        fail()
    assert gauge.seconds >= 0.01
    assert gauge.peak_device_mib is None
