"""``gnz data check``: digests, findings, and an end that a script can read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.frozen import freeze, open_frozen

Gnz = Callable[..., Any]


def test_findings_of_generated_data_are_printed(gnz: Gnz) -> None:
    assert gnz("data", "get", "planted_partition", "ising_lattice").code == 0
    answer = gnz("data", "check", "planted_partition", "ising_lattice", "--deep")
    assert (answer.code, answer.err) == (0, "")
    assert "found in planted_partition" in answer.out
    assert re.search(r"ok +node_cls +parts +.* disjoint and covering", answer.out)
    assert re.search(r"ok +link_pred +test links in training +0 of", answer.out)
    assert len(re.findall(r"ok +raw files +frozen again from the raw files, the same bytes", answer.out)) == 2


def test_a_suite_is_checked_as_a_whole(gnz: Gnz) -> None:
    assert gnz("data", "check").code == 2
    assert gnz("data", "check", "--suite", "quick").err.startswith("error: the data of")
    assert gnz("data", "get", "--suite", "quick").code == 0
    answer = gnz("data", "check", "--suite", "quick")
    assert answer.code == 0
    assert answer.out.count("found in") >= 8
    assert "fault" not in answer.out


def test_a_byte_too_many_is_an_error(gnz: Gnz, home: Path) -> None:
    assert gnz("data", "get", "planted_partition").code == 0
    file = home / "planted_partition" / "tensors.safetensors"
    tensors = load_file(file)
    tensors["x"][0, 0] += 1
    save_file(tensors, file)
    answer = gnz("data", "check", "planted_partition")
    assert answer.code == 2
    assert answer.err.startswith("error: the frozen dataset 'planted_partition' in")


def test_data_unlike_their_source_are_a_fault(gnz: Gnz, home: Path) -> None:
    assert gnz("data", "get", "planted_partition").code == 0
    graph = open_frozen(home / "planted_partition")[0].clone()
    graph.x[0, 0] += 1
    # Whole in itself, with a right card, but not what the generator makes.
    freeze(graph, home / "planted_partition", row=DATASETS.get("planted_partition"))
    assert gnz("data", "check", "planted_partition").code == 0
    answer = gnz("data", "check", "planted_partition", "--deep")
    assert answer.code == 1
    assert re.search(r"fault +raw files +the raw files freeze to \w{32}, the frozen data have \w{32}", answer.out)


@pytest.mark.mirror
def test_raw_files_are_compared_where_they_are(gnz: Gnz, mirror: Path) -> None:
    assert gnz("data", "get", "mutag", "--mirror", str(mirror)).code == 0
    with_files = gnz("data", "check", "mutag", "--deep", "--mirror", str(mirror))
    assert (with_files.code, with_files.err) == (0, "")
    assert "frozen again from the raw files, the same bytes" in with_files.out
    without = gnz("data", "check", "mutag", "--deep")
    assert without.code == 0
    assert re.search(r"note +raw files +not compared: the data of 'mutag' are not here", without.out)
