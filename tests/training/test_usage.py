"""What a block cost, read in processes that did nothing else before."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from gauge_readings import MIXED

from gnz_track.training.usage import Gauge

CAN_RESET = Path("/proc/self/clear_refs").exists()
NEEDS_RESET = pytest.mark.skipif(not CAN_RESET, reason="only Linux lets a process forget its peak")
Reading = dict[str, Any]


@pytest.fixture(scope="module")
def readings(root: Path) -> dict[str, list[Reading]]:
    script = root / "tests" / "gauge_readings.py"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    command = [sys.executable, "-W", "ignore", str(script)]
    said = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert said.returncode == 0, said.stderr
    return {name: found for line in said.stdout.splitlines() for name, found in json.loads(line).items()}


def memory_of(readings: list[Reading]) -> list[float | None]:
    return [reading["memory_mib"] for reading in readings]


@NEEDS_RESET
@pytest.mark.parametrize("case", ["whole", "in_pieces"])
def test_memory_is_that_of_the_block_whatever_was_held_before(case: str, readings: dict[str, list[Reading]]) -> None:
    assert memory_of(readings[case]) == pytest.approx([200, 20, 200], abs=6)
    for reading in readings[case]:
        assert reading["peak_rss_mib"] > reading["memory_mib"] + 20, "the process holds its libraries too"


@NEEDS_RESET
def test_large_blocks_are_kept_within_a_block_and_given_back_by_the_next(readings: dict[str, list[Reading]]) -> None:
    found = readings["large_and_kept"]
    assert memory_of(found) == pytest.approx([200, 20, 200], abs=6)
    # Pages of 200 MiB are asked for once, and not twenty times.
    largest, small, _ = (reading["n_faults"] for reading in found)
    assert largest < 2 * 200 * 256
    assert small < largest


@NEEDS_RESET
def test_memory_is_that_of_the_block_behind_an_allocation_that_failed(readings: dict[str, list[Reading]]) -> None:
    """From then on the C library serves the process from a heap whose end ``malloc_trim`` leaves as it is."""
    assert memory_of(readings["behind_a_failed_allocation"]) == pytest.approx(list(MIXED), abs=2)


@NEEDS_RESET
def test_memory_is_that_of_the_block_in_a_thread(readings: dict[str, list[Reading]]) -> None:
    assert memory_of(readings["in_a_thread"]) == pytest.approx(list(MIXED), abs=2)


@NEEDS_RESET
def test_memory_that_the_kernel_does_not_tell_is_unknown_and_no_wrong_number(
    readings: dict[str, list[Reading]],
) -> None:
    absent, deaf, new = readings["unheard"]
    assert absent["memory_mib"] is None
    assert deaf["memory_mib"] is None
    assert absent["peak_rss_mib"] > 400
    assert deaf["peak_rss_mib"] > 400
    assert new["memory_mib"] == pytest.approx(600, abs=6), "what is higher than all before is of this block"


def test_memory_is_unknown_where_there_is_no_such_file(readings: dict[str, list[Reading]]) -> None:
    (found,) = readings["untold"]
    assert found["memory_mib"] is None
    assert found["peak_rss_mib"] > 20


def test_peak_memory_rises_by_what_the_block_held_and_falls_again(readings: dict[str, list[Reading]]) -> None:
    idle, large, small = (reading["peak_rss_mib"] for reading in readings["rising"])
    assert 190 < large - idle < 230
    if CAN_RESET:
        assert small < large - 150, "it is not that of an earlier block"


def test_waiting_takes_seconds_but_not_of_the_processor(readings: dict[str, list[Reading]]) -> None:
    (found,) = readings["waiting"]
    assert found["seconds"] >= 0.2
    assert found["cpu_seconds"] < 0.1


def test_working_takes_seconds_of_the_processor(readings: dict[str, list[Reading]]) -> None:
    (found,) = readings["working"]
    assert 0.1 <= found["cpu_seconds"] < 0.3
    assert found["seconds"] >= 0.09


def test_other_work_costs_the_wall_clock_and_not_the_processor(readings: dict[str, list[Reading]]) -> None:
    (found,) = readings["beside_others"]
    assert 0.3 <= found["cpu_seconds"] < 0.4
    assert found["seconds"] > found["cpu_seconds"]


def test_what_children_compute_counts(readings: dict[str, list[Reading]]) -> None:
    (found,) = readings["with_a_child"]
    assert found["cpu_seconds"] > 0.05


def test_a_block_that_fails_is_measured_and_its_error_seen() -> None:
    def fail() -> None:
        time.sleep(0.01)
        raise KeyError

    gauge = Gauge()
    with pytest.raises(KeyError), gauge:
        fail()
    assert gauge.seconds >= 0.01
    assert gauge.peak_device_mib is None
