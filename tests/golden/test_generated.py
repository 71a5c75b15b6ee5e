"""Generated data are what they were, to the byte: ``generated.json`` holds a digest for each, and of which versions.

Arithmetic of other versions of these packages may round otherwise, and Torch draws other normal numbers on a processor
without AVX2 (``planted_partition``). Users of those have data of another digest, which is in the fingerprint of every
cell, so that no score on the one is taken for one on the other.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.preparation import prepare_dataset
from gnz_track.types import DatasetRow

FILE = Path(__file__).parent / "generated.json"
GOLDEN = json.loads(FILE.read_text("utf-8"))
# Some take seconds each, shortest round trips minutes.
SLOW = {"digits_regions", "sbm_pattern_1pct", "sbm_cluster_1pct", "tsp_tiny", "tsp_1pct"}
SLOW |= {"cycles_10pct", "cycles_loose_10pct", "graph_theory_10pct"}
# Their published size takes up to an hour, and gigabytes; a smaller one of the same generator stands for each.
LARGE = {"sbm_pattern", "sbm_cluster", "tsp", "tsp_50_100", "cycles", "cycles_loose", "graph_theory"}
LARGE |= {"communities_2m"}
ROWS = [row for row in DATASETS.rows() if not row.raw and str(row.loader).startswith("gnz_track.")]
CASES = [
    pytest.param(row, seed, id=f"{row.name}/{seed}" if row.is_seed_aware else row.name, marks=marks)
    for row in ROWS
    if row.name not in LARGE
    for marks in [[pytest.mark.slow] if row.name in SLOW else []]
    for seed in ((0, 1) if row.is_seed_aware else (0,))
]
AGAIN = """
import sys, warnings
warnings.simplefilter("ignore")
import torch
torch.set_num_threads(2)
from pathlib import Path
from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.preparation import prepare_dataset
for name in sys.argv[2:]:
    print(name, prepare_dataset(DATASETS.get(name), seed=0, home=Path(sys.argv[1])).digest)
"""


@pytest.mark.parametrize(("row", "seed"), CASES)
def test_generated_data_have_the_digest_on_record(row: DatasetRow, seed: int, tmp_path: Path) -> None:
    name = f"{row.name}/{seed}" if row.is_seed_aware else row.name
    found = prepare_dataset(row, seed=seed, home=tmp_path).digest
    others = {package: version(package) for package, known in GOLDEN["versions"].items() if version(package) != known}
    if torch.backends.cpu.get_cpu_capability() not in {"AVX2", "AVX512"}:
        others["vector level"] = torch.backends.cpu.get_cpu_capability()
    if others and found != GOLDEN["digests"][name]:
        pytest.skip(f"digests are of {GOLDEN['versions']}; here it is {others}")
    assert found == GOLDEN["digests"][name], (
        f"{name} is another dataset now. If that was meant: its digest in {FILE.name} is {found} from now on, "
        "CHANGELOG.md says what changed and that scores of before are no scores on it (CONTRIBUTING.md)"
    )


def test_every_generated_dataset_is_on_record() -> None:
    wanted = {case.id for case in CASES}
    assert wanted == set(GOLDEN["digests"])
    loaders = {row.loader for row in ROWS if row.name not in LARGE}
    assert {row.loader for row in ROWS} == loaders, "no generator stands behind a large dataset alone"


@pytest.mark.slow
def test_digests_do_not_hang_on_threads_or_hash_seeds(tmp_path: Path, root: Path) -> None:
    names = ["graph_families", "planted_partition", "knn_tour", "random_coloring", "graph_theory_tiny", "csl_generated"]
    here = {name: prepare_dataset(DATASETS.get(name), seed=0, home=tmp_path / "here").digest for name in names}
    environment = {**os.environ, "PYTHONHASHSEED": "99", "PYTHONPATH": str(root)}
    environment |= {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-c", AGAIN, str(tmp_path / "there"), *names]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert dict(line.split() for line in done.stdout.splitlines()) == here
