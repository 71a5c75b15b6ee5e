"""``gnz study``: shipped and own studies, trained once, compared, and asked for in the wrong way."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

Gnz = Callable[..., Any]

OWN = """\
tasks: [planted_partition]
models: [GCN, MLP]
seeds: 0-2
epochs: 3
factors:
  dropout: [0.0, 0.6]
  encoding: [none, rw3]
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    file = tmp_path / "own.yaml"
    file.write_text(OWN)
    return file


def test_own_study_is_trained_once_and_told(gnz: Gnz, study: Path, tmp_path: Path) -> None:
    words = ("study", str(study), "--out", str(tmp_path / "out"))
    planned = gnz(*words, "--dry-run")
    assert "24 of 24 cells to train" in planned.out
    answer = gnz(*words)
    assert answer.code == 0, answer.err
    assert "dropout=0.6 against 0.0" in answer.out
    assert "encoding=rw3" in answer.out
    assert (tmp_path / "out" / "study.html").is_file()
    assert (tmp_path / "out" / "figures" / "effects_dropout.png").is_file()
    effects = pd.read_csv(tmp_path / "out" / "effects.csv")
    assert set(zip(effects["factor"], effects["model"], strict=True)) == {
        (factor, model) for factor in ("dropout", "encoding") for model in ("GCN", "MLP")
    }
    assert set(effects["n_seeds"]) == {3}
    again = gnz(*words)
    assert "24 of 24 cells are finished already" in again.err
    assert again.out == answer.out
    # The same cells as those of a grid, and a report of them.
    grid = ("--set", "dropout=0.0,0.6", "--encoding", "none,rw3", "--seeds", "0-2", "--epochs", "3", "--dry-run")
    assert "0 of 24 cells" in gnz("run", "--task", "planted_partition", "--models", "GCN,MLP", *grid).out
    more = gnz(*words, "--seeds", "0-3", "--dry-run")
    assert "8 of 32 cells to train" in more.out


def test_cells_that_fail_are_told_and_end_the_call_with_1(gnz: Gnz, study: Path, tmp_path: Path) -> None:
    study.write_text(OWN.replace("[GCN, MLP]", "[GCN, own_nets:FailsForward]"))
    answer = gnz("study", str(study), "--out", str(tmp_path / "out"))
    assert answer.code == 1
    assert "12 of 24 cells have no score" in answer.err
    assert "12 of 24 cells have no score" in (tmp_path / "out" / "study.html").read_text()


def test_spread_of_scores_is_told_by_its_factors(gnz: Gnz, study: Path, tmp_path: Path) -> None:
    text = (
        "tasks: [planted_partition]\nmodels: [GCN]\nseeds: 0\nepochs: 2\nanalysis: components\n"
        "perturb: random-features\nfactors: {init_seed: [0, 1], split_seed: [0, 1]}\n"
    )
    study.write_text(text)
    answer = gnz("study", str(study), "--out", str(tmp_path / "out"))
    assert answer.code == 0, answer.err
    rows = pd.read_csv(tmp_path / "out" / "components.csv")
    assert list(rows["factor"]) == ["init_seed", "split_seed", "rest"]
    assert set(rows["task"]) == {"planted_partition~random-features"}
    assert "split_seed" in answer.out
    for slip, said in (("components", "analysis is 'x'; allowed: effects or"), ("random-features", "perturbation 'x'")):
        study.write_text(text.replace(slip, "x"))
        assert said in gnz("study", str(study)).err


def test_list_has_every_study_with_its_cells(gnz: Gnz) -> None:
    answer = gnz("study")
    assert answer.code == 0
    assert "positional-encodings" in answer.out
    assert "train_size (4), encoding (2)" in answer.out


def test_slips_are_one_line_and_nothing_is_trained(gnz: Gnz, study: Path) -> None:
    for text, said in (
        (
            OWN.replace("dropout:", "dropuot:"),
            "setting of the study (own.yaml, line 6) 'dropuot'; did you mean 'dropout'",
        ),
        (OWN.replace("rw3", "rw"), "own.yaml, line 7: encoding is 'rw'"),
        (OWN.replace("planted_partition", "planted"), "unknown task 'planted'; did you mean 'planted_partition'"),
    ):
        study.write_text(text)
        answer = gnz("study", str(study))
        assert (answer.code, answer.out) == (2, "")
        assert said in answer.err
    assert "unknown size of a study 'huge'" in gnz("study", "training-size", "--size", "huge").err
    assert "did you mean 'training-size'" in gnz("study", "trainingsize").err
