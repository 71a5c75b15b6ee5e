"""Deep networks as cells: circles with skip links, many graphs in batches, and numbers of two levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.models.catalogue import MODELS, usual_models
from gnz_track.problems.catalogue import pose
from gnz_track.runs.plan import Place, make_plan
from gnz_track.runs.run_one import run_one
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import CellResult, Optimiser, TaskType

Worlds = Callable[[str], Any]
Freezer = Callable[[Any], FrozenDataset]
Cells = Callable[..., Any]
SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)


def _circle(skip: int, label: int, seed: int) -> Data:
    order = torch.randperm(41, generator=torch.Generator().manual_seed(seed))
    first = torch.arange(41).repeat(2)
    second = (first + torch.tensor([1, skip]).repeat_interleave(41)) % 41
    pairs = torch.stack([order[first], order[second]])
    edges = torch.cat([pairs, pairs.flip(0)], dim=1)
    return Data(x=torch.zeros(41, 1, dtype=torch.int64), edge_index=edges, y=torch.tensor([label]))


def _circles(part: int, n: int) -> list[Data]:
    return [_circle(skip, label, 1000 * part + 10 * label + i) for label, skip in enumerate(SKIPS) for i in range(n)]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return a place for frozen data."""
    return Place(home=tmp_path_factory.mktemp("home"))


def _train_on_circles(place: Place, model: str, protocol: str, *, n: int, **options: Any) -> CellResult:
    parts = tuple(_circles(part, n) for part in range(3))
    task = task_from_dataset("csl_here", TaskType.graph_cls, parts)
    plan = make_plan([task], [MODELS.get(model)], seeds=(0,), protocol=PROTOCOLS.get(protocol), place=place, **options)
    result = run_one(plan.cells[0])
    assert result.failure is None, result.failure.traceback
    return result


def test_without_positions_circles_are_guessed_until_the_rate_is_too_small(place: Place) -> None:
    result = _train_on_circles(place, "DeepGCN", "dwivedi-100k", n=1)
    assert result.scores["accuracy"] == 0.1
    assert result.scores["accuracy_on_training"] == 0.1
    # Nine halvings of at least six epochs each, and the first epoch.
    n_epochs = len(result.series["train/loss"])
    assert 55 <= n_epochs < 200
    assert result.selected_epoch == n_epochs - 1


@pytest.mark.slow
@pytest.mark.parametrize("model", ["DeepGCN", "GatedGCN"])
def test_with_positions_circles_are_told_apart(model: str, place: Place) -> None:
    assert _train_on_circles(place, model, "dwivedi-100k-pe", n=5).scores["accuracy"] >= 0.98


@pytest.mark.slow
@pytest.mark.parametrize("model", ["DeepGCN", "GatedGCN"])
def test_without_positions_training_ends_where_the_published_one_does(model: str, place: Place) -> None:
    result = _train_on_circles(place, model, "dwivedi-100k", n=9)
    assert (result.scores["accuracy"], len(result.series["train/loss"])) == (0.1, 55)


def test_many_graphs_are_trained_in_batches_of_graphs(world: Worlds, cell_on: Cells) -> None:
    edges = world("edges, several graphs")
    for model in ("GatedGCN", "DeepGraphSAGE", "DeepGIN", "GCN"):
        given = (("batch_size", 3), ("hidden_channels", 8))
        cells = [cell_on(edges, model, epochs=2, hyperparameters=given) for _ in range(2)]
        first, again = map(run_one, cells)
        assert first.failure is None, first.failure.traceback
        assert first.series == again.series
        whole = run_one(replace(cells[0], hyperparameters=(("hidden_channels", 8),)))
        # A batch of all graphs, and several: other steps, the same parts.
        assert whole.series["train/loss"] != first.series["train/loss"]
        assert whole.split_digest == first.split_digest


def test_scores_by_batches_are_means_over_batches_of_graphs(world: Worlds, frozen: Freezer) -> None:
    edges = world("edges, several graphs")
    settings = edges.settings(batch_size=1)
    by_batch = pose(frozen(edges), replace(settings, scoring="per_batch")).scorers["test"]
    whole = pose(frozen(edges), settings).scorers["test"]
    assert whole.batches is None
    assert by_batch.batches.unique().tolist() == list(range(int(by_batch.batches.max()) + 1))
    prediction = torch.randn(int(whole.rows.max()) + 1, 2, generator=torch.Generator().manual_seed(0))
    graphs = [by_batch.batches == number for number in by_batch.batches.unique()]
    each = [float((prediction[whole.rows[rows]].argmax(1) == whole.labels[rows]).double().mean()) for rows in graphs]
    found = by_batch.score(torch.nn.Identity(), prediction, "accuracy")
    assert found == pytest.approx(sum(each) / len(each))


@pytest.mark.parametrize("model", ["GCN", "GatedGCN", "DeepGIN"])
def test_numbers_of_nodes_and_graphs_are_learnt_together(model: str, world: Worlds, cell_on: Cells) -> None:
    protocol = replace(
        world("two levels").protocol,
        optimisers={TaskType.multi_task: Optimiser(lr=1e-2, batch_size=4, schedule="plateau", patience=50)},
        also=("training", "best_validation"),
    )
    cell = cell_on(world("two levels"), model, epochs=15, protocol=protocol, hyperparameters=(("hidden_channels", 16),))
    result = run_one(cell)
    assert result.failure is None, result.failure.traceback
    assert result.metric == "log10_mse"
    targets = {"log10_mse_node_0", "log10_mse_node_1", "log10_mse_graph_0"}
    beside = {"log10_mse_at_best_validation", "log10_mse_on_training"}
    assert set(result.scores) == {"log10_mse"} | targets | beside
    assert result.series["train/loss"][-1] < 0.7 * result.series["train/loss"][0]
    assert result.series["val/loss"] == pytest.approx([10**value for value in result.series["val/log10_mse"]], rel=1e-4)


@pytest.mark.parametrize("encoding", ["lap2", "lap2-abs", "rw3", "order-random", "random3"])
@pytest.mark.parametrize(
    "name", ["nodes", "nodes, whole features", "graphs", "links", "edges", "edges, several graphs"]
)
def test_shallow_and_deep_models_take_encodings(name: str, encoding: str, world: Worlds, cell_on: Cells) -> None:
    for model in ("GCN", "GatedGCN"):
        given = (("encoding", encoding), ("hidden_channels", 8))
        found, again, without = (
            run_one(cell_on(world(name), model, epochs=2, hyperparameters=pairs)) for pairs in (given, given, given[1:])
        )
        assert found.failure is None, found.failure.traceback
        assert found.series == again.series
        assert found.series["train/loss"] != without.series["train/loss"]
        assert found.n_parameters != without.n_parameters


def test_knowledge_graphs_take_encodings_that_do_not_vary(world: Worlds, cell_on: Cells) -> None:
    results = [
        run_one(cell_on(world("triples"), "GCN", epochs=1, hyperparameters=(("encoding", name),)))
        for name in ("lap2-plain", "lap2", "lap")
    ]
    assert [result.failure is None for result in results] == [True, False, False]
    assert "one that training does not vary" in results[1].failure.message
    assert "encoding is 'lap'" in results[2].failure.message


def test_losses_are_named_where_there_are_several(world: Worlds, cell_on: Cells) -> None:
    def with_loss(name: str, loss: str) -> CellResult:
        protocol = world(name).protocol
        usual = protocol.optimisers[world(name).task_type]
        changed = replace(protocol, optimisers={world(name).task_type: replace(usual, loss=loss)})
        return run_one(cell_on(world(name), "MLP", epochs=1, protocol=changed))

    assert with_loss("nodes", "balanced").failure is None
    assert with_loss("numbers", "mae").failure is None
    for name, loss in (("nodes", "mae"), ("numbers", "balanced"), ("links", "mae"), ("graphs, labels", "mae")):
        failure = with_loss(name, loss).failure
        assert failure is not None
        assert f"'{loss}'" in failure.message


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["nodes", "nodes, whole features", "graphs", "numbers, several", "links", "triples", "edges"]
)
def test_every_deep_model_trains_on_all_it_serves(name: str, world: Worlds, cell_on: Cells) -> None:
    for row in usual_models(has_budget=True):
        if world(name).task_type in row.task_types:
            result = run_one(cell_on(world(name), row, epochs=1, hyperparameters=(("hidden_channels", 8),)))
            assert result.failure is None, f"{row.name}: {result.failure.traceback}"
