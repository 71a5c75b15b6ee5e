"""``gnz data``: datasets are frozen where one says, and checked byte by byte."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnz_track.datasets.frozen import open_frozen

Gnz = Callable[..., Any]


def test_generated_data_are_frozen_and_checked(gnz: Gnz, home: Path) -> None:
    got = gnz("data", "get", "les_miserables", "ising_lattice")
    assert (got.code, got.err) == (0, "")
    checked = gnz("data", "check", "les_miserables", "ising_lattice")
    assert (checked.code, checked.err) == (0, "")
    for name, folder in (("les_miserables", "les_miserables"), ("ising_lattice", "ising_lattice/seed-0")):
        dataset = open_frozen(home / folder, verify=True)
        for answer in (got, checked):
            (line,) = (line for line in answer.out.splitlines() if line.startswith(name))
            assert dataset.digest in line
            assert line.rstrip().endswith(str(home / folder))
    assert "ok" in checked.out


def test_seed_and_home_are_obeyed(gnz: Gnz, tmp_path: Path, home: Path) -> None:
    elsewhere = tmp_path / "else where"
    answer = gnz("data", "get", "random_tsp", "--seed", "3", "--home", str(elsewhere))
    assert answer.code == 0
    assert open_frozen(elsewhere / "random_tsp" / "seed-3").card.seed == 3
    assert not home.exists()
    assert gnz("data", "check", "random_tsp", "--seed", "3", "--home", str(elsewhere)).code == 0
    absent = gnz("data", "check", "random_tsp", "--seed", "4", "--home", str(elsewhere))
    assert absent.code == 2
    assert absent.err.startswith("error: ")


def test_one_wrong_name_freezes_nothing(gnz: Gnz, home: Path) -> None:
    assert gnz("data", "get", "les_miserables", "coraa").code == 2
    assert not home.exists()


@pytest.mark.mirror
def test_raw_files_are_read_from_the_mirror(gnz: Gnz, home: Path, mirror: Path) -> None:
    answer = gnz("data", "get", "cora", "mutag", "--mirror", str(mirror))
    assert (answer.code, answer.err) == (0, "")
    assert (open_frozen(home / "cora").n_nodes, len(open_frozen(home / "mutag"))) == (2708, 188)
    assert gnz("data", "check", "cora", "mutag").code == 0


@pytest.mark.mirror
def test_mirror_of_the_environment_is_used(gnz: Gnz, home: Path, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNZ_MIRROR", str(mirror))
    assert gnz("data", "get", "mutag").code == 0
    assert (home / "mutag").is_dir()
