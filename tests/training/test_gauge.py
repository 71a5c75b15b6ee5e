"""What a block cost."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from gnz_track.training.gauge import Gauge

MIB = 2**20
CAN_RESET = Path("/proc/self/clear_refs").exists()


def _hold(mib: int) -> None:
    # Written, because pages that nobody touched are not resident; freed on return.
    assert np.ones(mib * MIB, dtype=np.uint8)[-1] == 1


def test_peak_memory_rises_by_what_the_block_held() -> None:
    with Gauge() as idle:
        pass
    with Gauge() as busy:
        _hold(200)
    assert idle.peak_rss_mib is not None
    assert busy.peak_rss_mib is not None
    rise = busy.peak_rss_mib - idle.peak_rss_mib
    assert 190 < rise < 230 if CAN_RESET else rise >= 0


@pytest.mark.skipif(not CAN_RESET, reason="only Linux lets a process forget its peak")
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


def test_working_takes_seconds_of_the_processor() -> None:
    with Gauge() as gauge:
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
    assert 0.1 <= gauge.cpu_seconds < 0.3
    assert gauge.seconds >= 0.09


def test_a_block_that_fails_is_measured_and_its_error_seen() -> None:
    def fail() -> None:
        time.sleep(0.01)
        raise KeyError

    gauge = Gauge()
    with pytest.raises(KeyError), gauge:
        fail()
    assert gauge.seconds >= 0.01
    assert gauge.peak_device_mib is None
