"""A report as a folder of files: what an earlier one left goes, what is somebody else's stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from score_tables import table_of

from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.bundle import Bundle, write_bundle


def bundle_of(n_models: int, folder: Path) -> Bundle:
    scores = np.random.default_rng(0).normal(0.8, 0.02, (3, n_models, 4))
    return write_bundle(BenchmarkReport.from_frame(table_of(scores)), folder)


@pytest.mark.usefixtures("svg_alone")
def test_a_report_leaves_no_file_of_the_one_before(tmp_path: Path) -> None:
    first = bundle_of(4, tmp_path)
    own = tmp_path / "figures" / "mine.svg"
    own.write_text("mine")
    second = bundle_of(1, tmp_path)
    gone = set(first.files) - set(second.files)
    assert gone, "one model has fewer figures than four"
    assert not any(file.exists() for file in gone)
    assert all(file.is_file() for file in second.files)
    assert own.read_text() == "mine"


@pytest.mark.usefixtures("svg_alone")
def test_a_listing_that_names_other_folders_removes_nothing_there(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("mine")
    folder = tmp_path / "report"
    folder.mkdir()
    (folder / "FILES").write_text("../other.txt\n")
    bundle_of(2, folder)
    assert other.read_text() == "mine"
