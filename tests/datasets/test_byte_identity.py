"""Frozen folders have the same bytes wherever and by whatever process they are written."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gnz_track.datasets.catalogue import DATASETS, SUITES, TASKS
from gnz_track.datasets.homes import data_home, frozen_folder
from gnz_track.datasets.preparation import prepare_dataset
from gnz_track.datasets.sources.fetch import find_complete, parse_mirror
from gnz_track.types import DatasetRow

FILES = ("card.json", "tensors.safetensors")
# The second machine: another process, folder, working folder, hash seed, locale and time zone.
PREPARE = """
import sys, warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric
from pathlib import Path
from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.preparation import prepare_dataset
home, mirror = Path(sys.argv[1]), sys.argv[2] or None
for name in sys.argv[3:]:
    print(prepare_dataset(DATASETS.get(name), seed=1, home=home, mirror=mirror).digest)
"""


def _rows_of(suite: str) -> list[DatasetRow]:
    names = dict.fromkeys(TASKS.get(name).dataset for name in SUITES.get(suite).tasks) if suite in SUITES else []
    return [DATASETS.get(name) for name in names]


def _home(folder: Path) -> Path:
    """Make a home that has the raw files of the usual one, and nothing frozen."""
    folder.mkdir(parents=True)
    if (data_home() / "raw").is_dir():
        (folder / "raw").symlink_to(data_home() / "raw")
    return folder


def _differing(rows: list[DatasetRow], folder: Path, root: Path) -> list[str]:
    """Freeze rows in this process and in another one; return names whose digest or bytes differ."""
    mirror = parse_mirror()
    here, there = _home(folder / "here"), _home(folder / "an other" / "machine")
    datasets = [prepare_dataset(row, seed=1, home=here, mirror=mirror) for row in rows]
    changes = {"PYTHONHASHSEED": "4711", "PYTHONPATH": str(root), "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    ended = subprocess.run(
        [sys.executable, "-c", PREPARE, str(there), str(mirror or ""), *(row.name for row in rows)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **changes},
        cwd=folder,
    )
    assert ended.returncode == 0, ended.stderr
    digests = ended.stdout.split()[-len(rows) :]
    found = []
    for row, dataset, digest in zip(rows, datasets, digests, strict=True):
        again = frozen_folder(row, seed=1, home=there)
        are_equal = all((dataset.folder / name).read_bytes() == (again / name).read_bytes() for name in FILES)
        found += [] if are_equal and digest == dataset.digest else [row.name]
    return found


def test_quick_datasets_are_rewritten_with_the_same_bytes(tmp_path: Path, root: Path) -> None:
    drawn = ("sbm_pattern_tiny", "sbm_cluster_tiny", "cycles_tiny", "cycles_loose_tiny", "graph_theory_tiny")
    rows = [*_rows_of("quick"), *map(DATASETS.get, (*drawn, "csl_generated"))]
    assert len(rows) >= 14
    assert not any(row.raw for row in rows)
    assert _differing(rows, tmp_path, root) == []


@pytest.mark.slow
def test_datasets_of_ten_are_rewritten_with_the_same_bytes(tmp_path: Path, root: Path) -> None:
    mirror, rows = parse_mirror(), _rows_of("ten")
    here = [row for row in rows if not row.raw or find_complete(row, home=data_home(), mirror=mirror)]
    if not here:
        pytest.skip(
            "of no dataset of the suite ten are raw files in GNZ_MIRROR or below GNZ_DATA: gnz data get --suite ten"
        )
    assert _differing(here, tmp_path, root) == []
