"""From a frozen dataset to training: held-out labels never reach a model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset, freeze
from gnz_track.datasets.splits.nodes_and_graphs import split_nodes
from gnz_track.problems.catalogue import Problem, pose
from gnz_track.training.loop import train
from gnz_track.training.metrics import DEFAULT_METRICS
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Category, CellSettings, DatasetRow, Optimiser, TaskType

PROTOCOL = PROTOCOLS.get("graphnetz")
N_CLASSES = 3


def _freeze(folder: Path, graphs: Any, task_type: TaskType) -> FrozenDataset:
    row = DatasetRow(
        name="made_up",
        category=Category.custom,
        task_types=(task_type,),
        loader="",
        source="made up in a test",
        licence="none",
        citation="none",
    )
    return freeze(graphs, folder / "frozen", row=row)


def _pose(dataset: FrozenDataset, task_type: TaskType) -> Problem:
    optimiser = Optimiser(lr=0.01, batch_size=8)
    return pose(dataset, CellSettings(task_type=task_type, seed=0, hidden_channels=8, optimiser=optimiser))


class _Spy(nn.Module):
    """A linear model that keeps what it was shown: the mode, and the labels if there were any."""

    def __init__(self, width: int, out_channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, out_channels)
        self.seen: list[tuple[bool, Tensor | None]] = []

    def forward(self, data: Data) -> Tensor:
        self.seen.append((self.training, data.y.clone() if "y" in data else None))
        x = data.x if "batch" not in data else data.x[data.ptr[:-1]]
        return self.linear(x)


def _train(problem: Problem, task_type: TaskType) -> _Spy:
    spy = _Spy(problem.sizes.in_channels, problem.sizes.out_channels)
    optimiser, metric = PROTOCOL.optimisers[task_type], DEFAULT_METRICS[task_type]
    settings = CellSettings(task_type=task_type, seed=0, epochs=3, optimiser=optimiser, metric=metric)
    train(spy, problem.objective, problem.scorers, settings, batch_seed=0)
    return spy


def test_a_model_of_nodes_sees_labels_of_training_nodes_only(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    data = Data(
        x=torch.randn(60, 4, generator=generator),
        edge_index=torch.randint(60, (2, 200), generator=generator),
        y=torch.arange(60) % N_CLASSES,
    )
    dataset = _freeze(tmp_path, data, TaskType.node_cls)
    spy = _train(_pose(dataset, TaskType.node_cls), TaskType.node_cls)
    shown = split_nodes(dataset, policy=PROTOCOL.splits, seed=0).train
    expected = torch.full((60,), -1).index_copy(0, shown, data.y[shown])
    assert 0 < shown.numel() < 60
    assert {mode for mode, _ in spy.seen} == {True, False}
    assert all(labels is not None and torch.equal(labels, expected) for _, labels in spy.seen)


@pytest.mark.parametrize("task_type", [TaskType.graph_cls, TaskType.graph_reg])
def test_a_model_of_graphs_sees_labels_while_it_trains_only(tmp_path: Path, task_type: TaskType) -> None:
    is_cls = task_type is TaskType.graph_cls
    graphs = [
        Data(
            x=torch.randn(4, 2),
            edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]),
            y=torch.tensor([n % N_CLASSES if is_cls else n / 7]),
        )
        for n in range(60)
    ]
    spy = _train(_pose(_freeze(tmp_path, graphs, task_type), task_type), task_type)
    assert {mode for mode, _ in spy.seen} == {True, False}
    assert all((labels is None) == (not is_training) for is_training, labels in spy.seen)
    per_epoch = sum(labels.size(0) for _, labels in spy.seen if labels is not None) / 3
    assert per_epoch == 48
