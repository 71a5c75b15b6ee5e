"""Under fire no cell is lost, none is there twice, and no number is another one. ``make faults`` does it at length."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fault_scenarios import SCENARIOS
from fault_sweeps import Battle, Count

SEEDS = range(int(os.environ.get("GNZ_FAULT_SEEDS", "0")) or 1)
# The short form, of every test run.
QUICK = {"cells that are NaN"}
CASES = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in SCENARIOS]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    os.environ["GNZ_FAULT_DATA"] = str(tmp_path_factory.mktemp("data"))
    rows: list[str] = []
    yield rows
    head = f"{'scenario':26} {'seeds':>5} {'lost':>5} {'twice':>5} {'wrong':>5} {'seconds':>8}"
    sys.stdout.write("\n".join(["", head, *rows, ""]))


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_lost_repeated_or_wrong(name: str, table: list[str], tmp_path: Path) -> None:
    total, started = Count(), time.monotonic()
    for seed in SEEDS:
        battle = Battle(tmp_path / f"{seed}", random.Random(f"{seed} {name}"), width=4 + seed)
        total += SCENARIOS[name](battle)
    seconds = time.monotonic() - started
    table.append(f"{name:26} {len(SEEDS):5} {total.lost:5} {total.duplicated:5} {total.wrong:5} {seconds:8.1f}")
    assert total == Count()
