"""Matrices of past scores: means over seeds, holes, the runs behind them, and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from gnz_track.errors import BadValue, NothingToCompare
from gnz_track.selection.matrix import (
    ModelSetting,
    PerformanceMatrix,
    comparable_rows,
    matrix_from_table,
)
from gnz_track.selection.study.matrix_files import read_matrix, write_matrix
from gnz_track.store.results_table import make_table
from gnz_track.types import Direction

DAY = 86_400_000


def row(task: str, model: str, seed: int, score: float | None, **columns: Any) -> dict[str, Any]:
    """Return one row of a results table."""
    usual = {
        "task_type": "node_cls",
        "metric": "accuracy",
        "direction": "up",
        "status": "finished",
        "protocol": "graphnetz@1",
        "hyperparameters": "{}",
        "dataset_digest": f"digest of {task}",
        "epochs": 100,
        "seconds": 2.0 + seed,
        "start_time": DAY,
        "run_id": f"{task}-{model}-{seed}",
    }
    return usual | {"task": task, "model": model, "seed": seed, "score": score} | columns


def table(*rows: dict[str, Any]) -> pd.DataFrame:
    """Return a results table."""
    return make_table({name: [one.get(name) for one in rows] for name in {key for one in rows for key in one}})


ROWS = (
    row("cora", "GCN", 0, 0.8),
    row("cora", "GCN", 1, 0.9),
    row("cora", "MLP", 0, 0.5),
    row("pubmed", "GCN", 0, 0.7),
    row("pubmed", "GCN", 1, None, status="failed"),
    row("pubmed", "GCN", 0, 0.6, hyperparameters='{"hidden_channels": 16}', run_id="narrow"),
)


def test_cells_are_means_over_seeds_and_know_their_runs() -> None:
    matrix = matrix_from_table(table(*ROWS), "node_cls")
    assert matrix.graphs == ("cora", "pubmed")
    assert [one.label for one in matrix.settings] == ["GCN hidden_channels=16", "GCN", "MLP"]
    expected = [[np.nan, 0.85, 0.5], [0.6, 0.7, np.nan]]
    assert matrix.scores == pytest.approx(np.array(expected), nan_ok=True)
    assert matrix.run_ids[0, 1] == ("cora-GCN-0", "cora-GCN-1")
    assert matrix.run_ids[0, 0] == ()
    assert matrix.seconds[0, 1] == pytest.approx(2.5)
    assert matrix.spread[0, 1] == pytest.approx(np.std([0.8, 0.9], ddof=1))
    assert np.isnan(matrix.spread[1, 1])
    assert str(matrix) == "2 graphs x 3 settings, accuracy, 4 cells known (67%)"
    assert matrix.settings[0].options == {"hidden_channels": 16}


def test_one_metric_counts_and_lower_may_be_better() -> None:
    errors = [row(name, "GCN", 0, 0.2, metric="mae", direction="down") for name in ("qm7", "zinc", "esol")]
    whole = table(*ROWS, *errors)
    assert matrix_from_table(whole, "node_cls").metric == "mae"
    assert matrix_from_table(whole, "node_cls").signed.max() == -0.2
    assert matrix_from_table(whole, "node_cls", metric="accuracy").graphs == ("cora", "pubmed")
    with pytest.raises(BadValue, match="allowed: accuracy, mae"):
        matrix_from_table(whole, "node_cls", metric="auc")


def test_trials_of_few_epochs_and_of_older_data_do_not_count() -> None:
    odd = [
        row("cora", "GCN", 2, 0.1, epochs=1),
        row("cora", "MLP", 0, 0.2, dataset_digest="an older one", start_time=0),
    ]
    assert matrix_from_table(table(*ROWS, *odd), "node_cls").scores[0].tolist()[1:] == pytest.approx([0.85, 0.5])


def test_epochs_are_those_of_most_settings_under_each_protocol() -> None:
    """A confirmation of one setting with many seeds does not outvote a sweep, nor one protocol another."""
    confirmed = [row("cora", "GCN", seed, 0.1, epochs=7) for seed in range(20)]
    longer = [row("cora", name, 0, 0.4, epochs=1000, protocol="dwivedi-100k@1") for name in ("GCN", "MLP", "GAT")]
    found = comparable_rows(table(*ROWS, *confirmed, *longer), "node_cls")
    assert set(found["epochs"]) == {100, 1000}
    assert len(found) == len(ROWS) - 1 + len(longer)


def test_seeds_on_older_data_do_not_count_beside_the_latest() -> None:
    older = [row("cora", "GCN", seed, 0.1, dataset_digest="older", start_time=0) for seed in range(5)]
    assert set(comparable_rows(table(*ROWS, *older), "node_cls")["dataset_digest"]) == {
        "digest of cora",
        "digest of pubmed",
    }
    drawn = [row("drawn", "GCN", seed, 0.5, dataset_digest=f"data {seed}", start_time=seed) for seed in range(3)]
    redrawn = row("drawn", "MLP", 1, 0.5, dataset_digest="data 1 again", start_time=9)
    digests = comparable_rows(table(*drawn, redrawn), "node_cls")["dataset_digest"]
    assert sorted(digests) == ["data 0", "data 1 again", "data 2"]


def test_protocols_are_settings_of_their_own() -> None:
    other = row("cora", "GCN", 0, 0.3, protocol="glemos@1")
    matrix = matrix_from_table(table(*ROWS, other), "node_cls")
    assert {one.protocol for one in matrix.settings} == {"graphnetz@1", "glemos@1"}
    assert matrix_from_table(table(*ROWS, other), "node_cls", protocol="glemos@1").scores.tolist() == [[0.3]]


def test_what_a_search_has_found_is_a_setting_as_any_other() -> None:
    found = '{"lr": 0.1}'
    rows = [row("a", "GCN", 0, 0.5), row("a", "GCN (tuned)", 0, 0.7, hyperparameters=found)]
    matrix = matrix_from_table(table(*rows, row("b", "GCN", 0, 0.6, hyperparameters=found)), "node_cls")
    assert [one.label for one in matrix.settings] == ["GCN lr=0.1", "GCN"]
    assert np.isfinite(matrix.scores).tolist() == [[True, True], [True, False]]


def test_a_default_and_its_tuned_twin_are_one_run_of_a_seed() -> None:
    default = [row("cora", "GCN", seed, score, seconds=4.0) for seed, score in ((0, 0.8), (1, 0.5))]
    twin = row("cora", "GCN (tuned)", 0, 0.9, seconds=2.0)
    alone = matrix_from_table(table(default[0], twin), "node_cls")
    assert alone.scores.tolist() == [[pytest.approx(0.85)]]
    assert np.isnan(alone.spread).all(), "one seed has no spread"
    both = matrix_from_table(table(*default, twin), "node_cls")
    assert both.scores.tolist() == [[pytest.approx((0.85 + 0.5) / 2)]], "seeds weigh the same"
    assert both.spread.tolist() == [[pytest.approx(np.std([0.85, 0.5], ddof=1))]]
    assert both.seconds.tolist() == [[pytest.approx(3.5)]]
    assert both.run_ids[0, 0] == ("cora-GCN-0", "cora-GCN-1", "cora-GCN (tuned)-0")
    # One run that a table has twice is one.
    again = matrix_from_table(table(*default, default[0]), "node_cls")
    assert again.run_ids[0, 0] == ("cora-GCN-0", "cora-GCN-1")


def test_a_kind_of_problem_without_runs_is_told() -> None:
    with pytest.raises(NothingToCompare, match="no finished cell of link_pred; train some with: gnz run --task-type"):
        matrix_from_table(table(*ROWS), "link_pred")
    with pytest.raises(NothingToCompare, match="under protocol odd@1; those there are under graphnetz@1; train some"):
        matrix_from_table(table(*ROWS), "node_cls", protocol="odd@1")


def test_rows_can_be_left_out() -> None:
    matrix = matrix_from_table(table(*ROWS), "node_cls")
    rest = matrix.without("cora")
    assert rest.graphs == ("pubmed",)
    assert [one.label for one in rest.settings] == ["GCN hidden_channels=16", "GCN"]
    with pytest.raises(BadValue, match="a graph of the matrix is 'zinc'"):
        matrix.take(["zinc"])


def same(first: PerformanceMatrix, second: PerformanceMatrix) -> bool:
    return (first.graphs, first.settings) == (second.graphs, second.settings) and np.array_equal(
        first.scores, second.scores, equal_nan=True
    )


@pytest.mark.parametrize("suffix", [".csv", ".npz"])
def test_files_keep_the_matrix(suffix: str, tmp_path: Path) -> None:
    matrix = matrix_from_table(table(*ROWS), "node_cls")
    write_matrix(matrix, tmp_path / f"matrix{suffix}")
    again = read_matrix(tmp_path / f"matrix{suffix}", metric="accuracy")
    assert same(matrix, again)
    assert (again.metric, again.direction) == ("accuracy", Direction.up)
    if suffix == ".npz":
        assert again.run_ids.tolist() == matrix.run_ids.tolist()
        assert np.array_equal(again.seconds, matrix.seconds, equal_nan=True)


def test_a_matrix_of_somebody_else_has_plain_names(tmp_path: Path) -> None:
    (tmp_path / "theirs.csv").write_text("graph,GCN-16,GAT\na,0.5,\nb,0.25,1\n", encoding="utf-8")
    matrix = read_matrix(tmp_path / "theirs.csv", metric="rmse", direction="down")
    assert matrix.settings == (ModelSetting("GCN-16"), ModelSetting("GAT"))
    assert matrix.scores == pytest.approx(np.array([[0.5, np.nan], [0.25, 1]]), nan_ok=True)
    assert matrix.direction is Direction.down


def test_files_that_are_no_matrix_are_told(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("task,GCN\na,1\n", encoding="utf-8")
    (tmp_path / "words.csv").write_text("graph,GCN\na,good\n", encoding="utf-8")
    (tmp_path / "twice.csv").write_text("graph,GCN\na,1\na,2\n", encoding="utf-8")
    (tmp_path / "odd.npz").write_bytes(b"nothing")
    for name, words in (
        ("odd.csv", "first column of odd.csv is 'task'"),
        ("words.csv", "the score of 'GCN' of graph 'a' in line 2 of words.csv is 'good'"),
        ("twice.csv", "each graph once"),
        ("odd.npz", "a whole .npz archive"),
        ("none.csv", "a file that exists"),
    ):
        with pytest.raises(BadValue, match=words):
            read_matrix(tmp_path / name)
    with pytest.raises(BadValue, match=r"ends in \.csv, \.npz"):
        write_matrix(matrix_from_table(table(*ROWS), "node_cls"), tmp_path / "matrix.xlsx")
