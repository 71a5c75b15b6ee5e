"""Scores of stored predictions are those of training with the metric, to the bit, on every kind of problem."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gnz_track.predictions.rescoring import kind_of, score_predictions
from gnz_track.runs.run_one import run_one
from gnz_track.store.cell_files.predictions import decode_predictions
from gnz_track.training.metrics import METRICS, metrics_of
from gnz_track.types import Cell

MakeCell = Callable[..., Cell]


def assert_scores_are_those_of_training(cell: Cell) -> set[str]:
    """Train a cell with each of its metrics, compare with scores of its predictions, and return the metrics."""
    kept = run_one(replace(cell, keep="predictions"))
    assert kept.is_finished, kept.failure
    parts = decode_predictions(kept.files["predictions.parquet"])
    kind = kind_of(cell.task.task_type, parts)
    of_part = {name: [one for one in parts if one.part == name] for name in ("val", "test")}
    compared = set()
    for row in metrics_of(kind, is_full=True):
        trained = run_one(replace(cell, task=replace(cell.task, metric=row.name)))
        score = score_predictions(of_part["test"], row, kind)
        if not trained.is_finished:
            assert trained.failure is not None
            assert trained.failure.kind == "ScoreUndefined", trained.failure
            assert score is not None
            assert math.isnan(score)
            continue
        assert trained.selected_epoch == kept.selected_epoch
        assert score == trained.score, row.name
        validation = score_predictions(of_part["val"], row, kind)
        if validation is not None or row.takes != "ranks":
            assert validation == trained.series[f"val/{row.name}"][trained.selected_epoch], row.name
        compared.add(row.name)
    return compared


def test_every_metric_of_every_kind_equals_training_with_it(any_world: Any, cell_on: MakeCell) -> None:
    compared = assert_scores_are_those_of_training(cell_on(any_world, epochs=2))
    of_numbers = {"mae", "mse", "rmse", "r2"}
    of_labels = {"f1_micro", "f1_macro", "average_precision", "auc", "nll", "brier"}
    assert compared == {
        "node_cls": of_labels
        if "labels" in any_world.name
        else {"accuracy", "f1_macro", "balanced_accuracy", "mcc", "nll", "brier"},
        "graph_reg": of_numbers,
        "node_reg": of_numbers,
        "edge_reg": of_numbers,
        "multi_task": {"log10_mse"},
    }.get(str(any_world.task_type), compared)
    assert len(compared) > 2 or any_world.name == "two levels"


@pytest.mark.parametrize("name", ["graphs", "numbers, several", "edges, several graphs"])
def test_scores_by_batch_equal_training_with_them(name: str, world: Callable[[str], Any], cell_on: MakeCell) -> None:
    cell = cell_on(world(name), epochs=2)
    optimiser = replace(cell.protocol.optimisers[cell.task.task_type], batch_size=4)
    by_batch = replace(cell.protocol, optimisers={cell.task.task_type: optimiser}, scoring="per_batch")
    compared = assert_scores_are_those_of_training(replace(cell, protocol=by_batch))
    whole, batched = (run_one(replace(cell, protocol=protocol)) for protocol in (by_batch, cell.protocol))
    assert whole.scores != batched.scores
    assert compared


def test_links_that_are_drawn_and_published_have_the_same_metrics() -> None:
    drawn, published = (metrics_of(kind, is_full=True) for kind in ("links", "published links"))
    assert {row.name for row in drawn} == {row.name for row in published} < set(METRICS)
