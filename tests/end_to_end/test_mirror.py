"""Public data from a mirror, through the whole of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import MODELS
from gnz_track.runs.plan import Place, make_plan
from gnz_track.runs.run_one import run_one
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import CellResult

pytestmark = pytest.mark.mirror


@pytest.fixture
def train(tmp_path: Path, mirror: Path) -> Callable[..., CellResult]:
    """Return a function that trains one cell on data of the mirror."""

    def train(task: str, model: str, *, epochs: int | None = None) -> CellResult:
        plan = make_plan(
            [TASKS.get(task)],
            [MODELS.get(model)],
            seeds=[0],
            protocol=PROTOCOLS.get("graphnetz"),
            epochs=epochs,
            device="cpu",
            place=Place(home=tmp_path, mirror=mirror),
        )
        (result,) = map(run_one, plan.cells)
        assert result.failure is None, result.failure.traceback
        return result

    return train


def test_cora_scores_as_the_published_protocol_does(train: Callable[..., CellResult]) -> None:
    result = train("cora", "GCN")
    assert result.cell.epochs == 100
    assert result.selected_epoch == 99
    # 811 of 1,000 test nodes; accuracy is a mean in single precision.
    assert round(result.score * 1000, 3) == 811


def test_molecules_run(train: Callable[..., CellResult]) -> None:
    result = train("mutag", "GIN", epochs=2)
    assert result.metric == "accuracy"
    # Of 19 test graphs.
    assert round(result.score * 19, 4) == round(result.score * 19)


@pytest.mark.slow
def test_knowledge_graph_runs(train: Callable[..., CellResult]) -> None:
    result = train("fb15k_237", "GCN", epochs=2)
    assert set(result.scores) == {"auc", "average_precision", "mrr", "hits_at_1", "hits_at_3", "hits_at_10"}
    assert 0.5 < result.score < 1
    assert 0 < result.scores["mrr"] < result.scores["hits_at_10"] < 1
