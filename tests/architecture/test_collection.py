"""Every worker finds the same tests, whenever and however it was started: else not one of them is run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


def collect(root: Path, hash_seed: str) -> list[str]:
    """Return the names of all tests, as one fresh process finds them."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    return [line for line in done.stdout.splitlines() if "::" in line]


@pytest.mark.slow
def test_names_of_tests_depend_on_no_clock_and_no_hash(root: Path) -> None:
    # One collection takes seconds: the next one begins in another.
    first = collect(root, "1")
    assert len(first) > 1000
    assert collect(root, "2") == first
