"""Count the curves of quick cells that change with the vector level of the processor: ``ATEN_CPU_CAPABILITY``.

Each level is a process of its own. Levels that this processor does not have are what Torch takes in their place.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile

LEVELS = ("default", "avx2", "avx512")
TASKS = ("planted_partition", "grid_mines", "les_miserables", "graph_families")
MODELS = ("MLP", "GCN", "GAT", "GraphSAGE")
EPOCHS = 5
TRAIN = """
import json, sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import describe
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.plan import Place, make_plan
from gnz_track.training.protocols import PROTOCOLS
home, tasks, models, epochs = sys.argv[1:]
plan = make_plan(
    [TASKS.get(name) for name in tasks.split(",")], [describe(name) for name in models.split(",")],
    seeds=[0], protocol=PROTOCOLS.get("graphnetz"), epochs=int(epochs), device="cpu", place=Place(home=Path(home)),
)
results = list(run_inline(plan.cells))
curves = {
    f"{one.cell.label} {name}": [value.hex() for value in values]
    for one in results for name, values in one.series.items()
}
print(json.dumps({"level": results[0].instructions, "curves": curves}))
"""


def main() -> None:
    """Train under each level and print how many curves are not those of the first one."""
    with tempfile.TemporaryDirectory() as home:
        found = {level: _train(level, home) for level in LEVELS}
    for one, other in ((0, 1), (1, 2), (0, 2)):
        a, b = (found[LEVELS[place]] for place in (one, other))
        changed = sum(a["curves"][name] != b["curves"][name] for name in a["curves"])
        sys.stdout.write(f"{a['level']} to {b['level']}: {changed} of {len(a['curves'])} curves change\n")


def _train(level: str, home: str) -> dict[str, dict[str, list[str]]]:
    command = [sys.executable, "-c", TRAIN, home, ",".join(TASKS), ",".join(MODELS), str(EPOCHS)]
    settings = {**os.environ, "ATEN_CPU_CAPABILITY": level, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    main()
