"""Features on unit scale: fitted on training nodes, whatever the others hold, and told where they are far from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.datasets.preparation import prepare
from gnz_track.datasets.scales import has_real_features, standardise, tell_scale
from gnz_track.errors import BadValue
from gnz_track.models.building import build
from gnz_track.models.catalogue import MODELS
from gnz_track.problems.catalogue import ask, pose
from gnz_track.types import CellSettings, Optimiser, TaskType

SCALED = {"scale": "standard"}


def graph_of(x: Tensor, **fields: Tensor) -> Data:
    n = len(x)
    ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    return Data(x=x, edge_index=torch.cat([ring, ring.flip(0)], dim=1), **fields)


def nodes_of(x: Tensor) -> Data:
    """Return a graph whose first 10 nodes are those of training."""
    part = torch.arange(len(x))
    masks = {"train_mask": part < 10, "val_mask": (part >= 10) & (part < 15), "test_mask": part >= 15}
    return graph_of(x, y=torch.arange(len(x)) % 2, **masks)


def frozen(home: Path, task_type: str, dataset: object) -> FrozenDataset:
    return prepare(task_from_dataset("scaled", task_type, dataset), seed=0, home=home)


def settings_of(task_type: str, **more: str) -> CellSettings:
    return CellSettings(task_type=TaskType(task_type), seed=0, metric="accuracy", **more)


def dense(x: Tensor) -> Tensor:
    return x.to_dense() if x.layout is not torch.strided else x


def test_columns_have_mean_0_and_spread_1_over_the_nodes_of_training() -> None:
    x = torch.tensor([[1.0, 5.0, 2.0], [3.0, 5.0, 4.0], [1e6, 9.0, 0.0]])
    found = standardise(x, torch.tensor([0, 1]))
    assert found[:2].tolist() == [[-1.0, 0.0, -1.0], [1.0, 0.0, 1.0]]
    assert found[2].tolist() == [999998.0, 4.0, -3.0]


def test_nodes_outside_of_training_decide_nothing(tmp_path: Path) -> None:
    x = 50 * torch.rand(20, 3, generator=torch.Generator().manual_seed(0)) + 7
    other = torch.cat([x[:10], 1e4 * x[10:]])
    settings = settings_of("node_cls", **SCALED)
    first, second = (pose(frozen(tmp_path, "node_cls", nodes_of(one)), settings) for one in (x, other))
    seen = [dense(next(iter(problem.objective.batches(torch.Generator()))).x) for problem in (first, second)]
    assert torch.equal(seen[0][:10], seen[1][:10])
    assert seen[0][:10].mean(dim=0).abs().max() < 1e-6
    assert (seen[0][:10].std(dim=0, unbiased=False) - 1).abs().max() < 1e-6
    plain = pose(frozen(tmp_path, "node_cls", nodes_of(x)), settings_of("node_cls"))
    assert torch.equal(dense(next(iter(plain.objective.batches(torch.Generator()))).x), x)


@pytest.mark.parametrize("task_type", ["graph_cls", "node_cls"])
def test_many_graphs_are_scaled_by_those_of_training(tmp_path: Path, task_type: str) -> None:
    of_graph = task_type == "graph_cls"

    def graph(number: int, factor: float) -> Data:
        x = factor * (torch.arange(8.0).reshape(4, 2) + number)
        return graph_of(x, y=torch.tensor([number % 2]) if of_graph else torch.arange(4) % 2)

    def parts(factor: float) -> tuple[list[Data], list[Data], list[Data]]:
        return [graph(n, 1.0) for n in range(4)], [graph(4, factor), graph(5, factor)], [graph(6, factor), graph(7, 1)]

    settings = replace(settings_of(task_type, **SCALED), optimiser=Optimiser(lr=0.1, batch_size=2))
    found = [pose(frozen(tmp_path, task_type, parts(factor)), settings).objective.graphs for factor in (1.0, 1e3)]
    seen = [collection.node["x"] for collection in found]
    assert torch.equal(seen[0][:16], seen[1][:16])
    assert not torch.equal(seen[0][16:], seen[1][16:])
    assert seen[0][:16].mean(dim=0).abs().max() < 1e-6


def test_other_data_are_not_scaled_by_themselves(tmp_path: Path) -> None:
    dataset = frozen(tmp_path, "node_cls", nodes_of(torch.rand(20, 3)))
    settings = settings_of("node_cls", **SCALED)
    problem = pose(dataset, settings)
    model = build(MODELS.get("MLP"), TaskType.node_cls, problem.sizes)
    with pytest.raises(BadValue, match="means and spreads of training are not known of other data"):
        ask(model, dataset, settings, is_relational=False)
    assert ask(model, dataset, replace(settings, scale=""), is_relational=False)


def test_what_is_far_from_unit_scale_is_told(tmp_path: Path) -> None:
    x = torch.rand(20, 3)
    assert tell_scale(frozen(tmp_path, "node_cls", nodes_of(x))) == ""
    x[:, 1] *= 1000
    x[:, 2] *= 1e-4
    told = tell_scale(frozen(tmp_path, "node_cls", nodes_of(x)))
    assert told.startswith("features of scaled are far from unit scale: column 1 and 1 more, values up to ")
    bare = frozen(tmp_path, "node_cls", nodes_of(torch.randint(3, (20, 2))))
    assert (has_real_features(bare), tell_scale(bare)) == (False, "")
