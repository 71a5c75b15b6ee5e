"""Wall time and processor time of calls that train nothing or next to nothing, here and in another checkout.

Run: ``python benchmarks/start_up.py [FOLDER] [--repeats 3]``; FOLDER is another checkout of this package. Calls of both
alternate, each in a process of its own with one thread, and the least of the repetitions is printed. Processor time is
that of the process and of all that it has waited for: of workers that are ended by a signal as a sweep ends, it lacks
what their source did not live to count. ``torch`` and ``mlflow`` say whether the call itself imported them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
CELLS = "run --task planted_partition --models GCN,MLP --seeds 0-1 --epochs 3"
CALLS = (
    "--help",
    "tasks cora",
    "ls",
    "run --task coraa",
    "run --model GCM",
    "run --seeds x",
    f"{CELLS} --dry-run",
    CELLS,
    f"{CELLS} --jobs 2",
    f"{CELLS} --fresh",
    f"{CELLS} --fresh --jobs 2",
    "report",
)
# Says at its end which libraries it holds.
CALL = """
import atexit, os, sys
def say():
    os.write(9, " ".join(name for name in ("torch", "mlflow") if name in sys.modules).encode())
atexit.register(say)
from gnz_track.cli import main
main()
"""


@dataclass(frozen=True)
class Cost:
    """What one call took, and what it imported."""

    wall: float
    processor: float
    imported: str


def call(words: str, checkout: Path, folder: Path) -> Cost:
    """Make one call with the code of a checkout, in a folder that has its store and its data."""
    theirs, ours = os.pipe()
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GNZ_")},
        **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        "PYTHONPATH": str(checkout),
        "GNZ_STORE": str(folder / "runs.db"),
        "GNZ_DATA": str(folder / "data"),
    }
    started = time.perf_counter()
    with subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$0" "$@" 9>&{ours}', sys.executable, "-c", CALL, *words.split()],
        cwd=folder,
        env=environment,
        pass_fds=[ours],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        os.close(ours)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    with os.fdopen(theirs) as told:
        imported = told.read()
    return Cost(wall, usage.ru_utime + usage.ru_stime, imported)


def main() -> None:
    """Measure all calls and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("other", nargs="?", type=Path, help="another checkout of this package")
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    checkouts = [HERE, *([given.other.resolve()] if given.other else [])]
    with tempfile.TemporaryDirectory() as folder:
        places = {checkout: Path(folder) / str(number) for number, checkout in enumerate(checkouts)}
        for checkout, place in places.items():
            place.mkdir()
            # Fills the store, and compiles what is compiled once.
            call(CELLS, checkout, place)
        print(f"{'call':72} {'wall s':>7} {'cpu s':>6} {'other':>7} {'cpu s':>6} {'ratio':>6}  imported")
        for words in CALLS:
            costs: dict[Path, list[Cost]] = {checkout: [] for checkout in checkouts}
            for _ in range(given.repeats):
                for checkout, place in places.items():
                    costs[checkout].append(call(words, checkout, place))
            walls = [min(cost.wall for cost in costs[checkout]) for checkout in checkouts]
            processors = [min(cost.processor for cost in costs[checkout]) for checkout in checkouts]
            pairs = " ".join(f"{wall:7.2f} {cpu:6.2f}" for wall, cpu in zip(walls, processors, strict=True))
            ratio = f"{processors[-1] / processors[0]:6.2f}" if given.other else ""
            print(f"gnz {words:68} {pairs} {ratio}  {costs[HERE][0].imported}", flush=True)


if __name__ == "__main__":
    main()
