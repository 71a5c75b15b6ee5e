"""Under fire no cell is lost, none is there twice, and no number is another one. ``make faults`` does it at length.

``GNZ_FAULT_TABLE=FILE`` keeps a row for each scenario and seed as it ends. Who is interrupted goes on with the same
file: what stands in it is not done again. Several may write into one, each with scenarios of its own (``-k``).
"""

from __future__ import annotations

import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from fault_grounds import Grounds
from fault_scenarios import SCENARIOS
from fault_sweeps import Battle, Count

SEEDS = range(int(os.environ.get("GNZ_FAULT_SEEDS", "0")) or 1)
TABLE = os.environ.get("GNZ_FAULT_TABLE", "")
# The short form, of every test run.
QUICK = {"cells that are NaN"}
CASES = [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in SCENARIOS]
HEAD = f"{'scenario':26} {'seed':>5} {'lost':>5} {'twice':>5} {'wrong':>5} {'seconds':>8}  what went wrong\n"


@dataclass(frozen=True)
class Row:
    """What came of one seed of a scenario; ``wrong`` is empty where it went as it should."""

    name: str
    seed: int
    count: Count
    seconds: float
    wrong: str = ""

    @property
    def is_clean(self) -> bool:
        return self.count == Count() and not self.wrong

    def __str__(self) -> str:
        lost, twice, other = self.count.lost, self.count.duplicated, self.count.wrong
        return f"{self.name:26} {self.seed:5} {lost:5} {twice:5} {other:5} {self.seconds:8.1f}  {self.wrong}".rstrip()

    @classmethod
    def read(cls, line: str) -> Row:
        seed, lost, twice, other, seconds, *words = line[26:].split(maxsplit=5)
        count = Count(int(lost), int(twice), int(other))
        return cls(line[:26].strip(), int(seed), count, float(seconds), "".join(words))


class Table:
    """Rows in a file, each written as it comes."""

    def __init__(self, file: Path) -> None:
        self.file = file
        if not file.exists():
            file.write_text(HEAD)

    def rows(self, name: str) -> dict[int, Row]:
        read = [Row.read(line) for line in self.file.read_text().splitlines()[1:]]
        return {row.seed: row for row in read if row.name == name}

    def add(self, row: Row) -> None:
        with self.file.open("a") as output:
            output.write(f"{row}\n")
        sys.stdout.write(f"{row}\n")
        sys.stdout.flush()

    def __str__(self) -> str:
        head = f"{'scenario':26} {'seeds':>5} {'lost':>5} {'twice':>5} {'wrong':>5} {'broken':>6} {'seconds':>8}"
        lines = []
        for name in SCENARIOS:
            rows = self.rows(name).values()
            total = sum((row.count for row in rows), Count())
            n_broken, seconds = sum(bool(row.wrong) for row in rows), sum(row.seconds for row in rows)
            counts = f"{total.lost:5} {total.duplicated:5} {total.wrong:5}"
            lines += [f"{name:26} {len(rows):5} {counts} {n_broken:6} {seconds:8.1f}"] if rows else []
        return "\n".join(["", head, *lines, ""])


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Table]:
    os.environ["GNZ_FAULT_DATA"] = str(tmp_path_factory.mktemp("data"))
    found = Table(Path(TABLE) if TABLE else tmp_path_factory.mktemp("table") / "table.txt")
    yield found
    sys.stdout.write(str(found))


@pytest.mark.parametrize("name", CASES)
def test_nothing_is_lost_repeated_or_wrong(name: str, table: Table, tmp_path: Path) -> None:
    with Grounds() as grounds:
        for seed in sorted(set(SEEDS) - table.rows(name).keys()):
            battle = Battle(tmp_path / f"{seed}", random.Random(f"{seed} {name}"), width=4 + seed, grounds=grounds)
            table.add(_fight(name, seed, battle))
    found = [row for row in table.rows(name).values() if row.seed in SEEDS]
    assert [row for row in found if not row.is_clean] == []
    assert len(found) == len(SEEDS)


def _fight(name: str, seed: int, battle: Battle) -> Row:
    """Carry out a scenario; what breaks one seed is told, and the next ones are done all the same."""
    started, count, wrong = time.monotonic(), Count(), ""
    try:
        count = SCENARIOS[name](battle)
        if count == Count():
            shutil.rmtree(battle.folder)
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
        wrong = f"{type(error).__name__}: {' '.join(str(error).split())}; see {battle.folder}"
    return Row(name, seed, count, time.monotonic() - started, wrong)
