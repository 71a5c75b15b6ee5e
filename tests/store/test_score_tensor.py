"""Scores as an array: each at its names, and nothing where names do not tell scores apart."""

from __future__ import annotations

import re

import numpy as np
import pytest
from result_rows import SIX, row, table_of

from gnz_track.errors import BadValue
from gnz_track.store.results_table import empty_table, tensor_of


def test_tensor_holds_each_score_at_its_names() -> None:
    tensor = tensor_of(table_of(*SIX[:-1], row("b", "GATv2", 1, None)))
    assert (tensor.tasks, tensor.models, tensor.seeds) == (("a", "b"), ("GATv2", "GCN"), (0, 1))
    assert tensor.X.shape == tensor.mask.shape == tensor.run_ids.shape == (2, 2, 2)
    for one in SIX[:-1]:
        at = (tensor.tasks.index(one["task"]), tensor.models.index(one["model"]), tensor.seeds.index(one["seed"]))
        assert tensor.X[at] == one["score"]
        assert tensor.mask[at]
        assert tensor.run_ids[at] == one["run_id"]
    missing = tensor.X[1, 0, 1]
    assert np.isnan(missing)
    assert (tensor.mask.sum(), tensor.run_ids[1, 0, 1]) == (7, "")


def test_model_with_several_hyperparameters_stands_for_several() -> None:
    rows = [row("a", "GCN", 0, 0.5, hyperparameters='{"lr": 0.1}'), row("a", "GCN", 0, 0.6), row("a", "GAT", 0, 0.7)]
    tensor = tensor_of(table_of(*rows))
    assert tensor.models == ("GAT", "GCN", "GCN lr=0.1")
    np.testing.assert_array_equal(tensor.X[0, :, 0], [0.7, 0.6, 0.5])
    protocols = [row("a", "GCN", 0, 0.5, protocol="p@1"), row("a", "GCN", 0, 0.6, protocol="p@2")]
    assert tensor_of(table_of(*protocols)).models == ("GCN p@1", "GCN p@2")


@pytest.mark.parametrize("seeds", [(0, 0), (0, 1)], ids=["same seed", "other seeds"])
def test_scores_after_other_numbers_of_epochs_are_refused(seeds: tuple[int, int]) -> None:
    first, second = seeds
    rows = [row("a", "GCN", first, 0.5, epochs=20), row("a", "GAT", second, 0.6, epochs=50, fingerprint="longer")]
    both = table_of(*rows, row("b", "GCN", first, 0.5, epochs=50), row("c", "GCN", 0, None, epochs=20))
    told = re.escape("epochs of 'a' is '20 (1 cell), 50 (1 cell)'")
    with pytest.raises(BadValue, match=rf"{told}; .*Try: where=\{{'epochs': 50\}}, or .* sweep=NAME"):
        tensor_of(both)
    assert tensor_of(both[both["task"] == "b"]).mask.sum() == 1, "each task may have its own number"
    assert tensor_of(both[both["epochs"] == 50]).models == ("GAT", "GCN")
    other = [row("a", "GCN", 0, 0.5, epochs=20, protocol="p@1"), row("a", "GCN", 0, 0.6, epochs=50, protocol="p@2")]
    assert tensor_of(table_of(*other)).models == ("GCN p@1", "GCN p@2"), "a label of its own tells them apart"


def test_two_scores_for_one_place_are_refused() -> None:
    with pytest.raises(BadValue, match="2 rows for a GCN s0"):
        tensor_of(table_of(row("a", "GCN", 0, 0.5), row("a", "GCN", 0, 0.6, fingerprint="other")))


def test_hyperparameters_that_differ_from_task_to_task_alone_are_of_one_model() -> None:
    narrow, wide = '{"hidden_channels": 144}', '{"hidden_channels": 145}'
    rows = [row("a", "GCN", 0, 0.5, hyperparameters=narrow), row("b", "GCN", 0, 0.6, hyperparameters=wide)]
    tensor = tensor_of(table_of(*rows))
    assert tensor.models == ("GCN",)
    assert tensor.mask.all()
    both = tensor_of(table_of(*rows, row("b", "GCN", 0, 0.7, hyperparameters=narrow, fingerprint="other")))
    assert both.models == ("GCN hidden_channels=144", "GCN hidden_channels=145")
    budgets = [row("b", "GCN", 0, 0.7, hyperparameters=narrow, protocol="large@1", fingerprint="other"), *rows]
    assert tensor_of(table_of(*budgets)).models == ("GCN", "GCN large@1")


def test_tensor_of_nothing_is_empty() -> None:
    tensor = tensor_of(empty_table())
    assert tensor.X.shape == (0, 0, 0)
