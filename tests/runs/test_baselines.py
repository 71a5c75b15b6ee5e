"""What whoever has learnt nothing would score is recorded with every cell, computed from its own labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn import metrics

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.nodes_and_graphs import split_graphs, split_nodes
from gnz_track.runs.run_one import run_one
from gnz_track.types import Cell

Cells = Callable[..., Cell]
Worlds = Callable[[str], Any]


def parts_of(dataset: FrozenDataset, world: Any) -> tuple[Any, Any]:
    """Return the labels of training and of test."""
    split = split_nodes if str(world.task_type) == "node_cls" else split_graphs
    parts = split(dataset, policy=world.protocol.splits, seed=0)
    y = dataset.tensors["y"].numpy()
    y = y.reshape(len(dataset), -1) if str(world.task_type) != "node_cls" else y
    return y[parts.train.numpy()], y[parts.test.numpy()]


def test_every_kind_of_problem_has_one(any_world: Any, cell_on: Cells) -> None:
    cell = cell_on(any_world, "MLP", epochs=1)
    if cell.task.task_type not in cell.model.task_types:
        cell = cell_on(any_world, "GIN", epochs=1)
    result = run_one(cell)
    assert result.is_finished, result.failure
    assert result.baseline is not None
    assert np.isfinite(result.baseline)
    assert run_one(replace(cell, is_blind=True)).baseline is None


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "f1_macro"])
def test_classes_are_answered_by_the_commonest_of_training(
    world: Worlds, cell_on: Cells, frozen: Callable[[Any], FrozenDataset], metric: str
) -> None:
    made = world("nodes")
    cell = cell_on(made, "MLP", epochs=1)
    train, test = parts_of(frozen(made), made)
    answer = np.full_like(test, np.bincount(train).argmax())
    expected = {
        "accuracy": metrics.accuracy_score(test, answer),
        "balanced_accuracy": 1 / 3,
        "f1_macro": metrics.f1_score(test, answer, average="macro"),
    }[metric]
    assert run_one(replace(cell, task=replace(cell.task, metric=metric))).baseline == pytest.approx(expected)


def test_numbers_are_answered_by_what_has_the_smallest_error_in_training(
    world: Worlds, cell_on: Cells, frozen: Callable[[Any], FrozenDataset]
) -> None:
    """A model trained on absolute errors that sees no features comes to the median, and has learnt nothing."""
    made = world("numbers, several")
    train, test = parts_of(frozen(made), made)
    cell = cell_on(made, "GIN", epochs=1)
    expected = {
        "mae": np.abs(test - np.quantile(train, 0.5, axis=0, method="lower")).mean(),
        "mse": ((test - train.mean(axis=0)) ** 2).mean(),
    }
    for metric, error in expected.items():
        assert run_one(replace(cell, task=replace(cell.task, metric=metric))).baseline == pytest.approx(error, rel=1e-5)


def test_links_have_the_area_of_chance_and_their_prevalence(world: Worlds, cell_on: Cells) -> None:
    cell = cell_on(world("links"), "MLP", epochs=1)
    assert run_one(cell).baseline == 0.5
    assert run_one(replace(cell, task=replace(cell.task, metric="average_precision"))).baseline == pytest.approx(0.5)
    published = cell_on(world("links, published"), "MLP", epochs=1)
    hits = replace(published, task=replace(published.task, metric="hits_at_10"))
    assert run_one(hits).baseline == pytest.approx(10 / 26)
    triples = cell_on(world("triples"), "GCN", epochs=1)
    assert run_one(replace(triples, task=replace(triples.task, metric="mrr"))).baseline is None


def test_probabilities_are_answered_by_the_shares_of_training(
    world: Worlds, cell_on: Cells, frozen: Callable[[Any], FrozenDataset]
) -> None:
    def baseline(cell: Cell, metric: str) -> float | None:
        return run_one(replace(cell, task=replace(cell.task, metric=metric))).baseline

    nodes = world("nodes")
    train, test = parts_of(frozen(nodes), nodes)
    shares = np.bincount(train) / train.size
    cell = cell_on(nodes, "MLP", epochs=1)
    assert baseline(cell, "nll") == pytest.approx(-np.log(shares[test]).mean())
    assert baseline(cell, "brier") == pytest.approx(((shares - np.eye(3)[test]) ** 2).sum(axis=1).mean())
    labels = world("graphs, labels")
    train, test = parts_of(frozen(labels), labels)
    expected = np.nanmean((np.nanmean(train, axis=0) - test) ** 2)
    assert baseline(cell_on(labels, "GIN", epochs=1), "brier") == pytest.approx(expected)
    for name in ("links", "triples"):
        pairs = cell_on(world(name), "GCN", epochs=1)
        assert (baseline(pairs, "nll"), baseline(pairs, "brier")) == (pytest.approx(np.log(2)), 0.25)
