"""A small made-up task, and what of a search is to be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch_geometric.data import Data

from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.store.searches import SearchRecord
from gnz_track.types import Task


def graph(*, turned: bool = False, empty: str = "") -> Data:
    """Return a ring of 60 nodes whose classes follow their features; ``turned`` gives test nodes other classes."""
    n, n_classes = 60, 3
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(n) % n_classes
    x = 1.5 * torch.nn.functional.one_hot(y, 4) + torch.randn(n, 4, generator=generator)
    edges = torch.stack([torch.arange(n), (torch.arange(n) + n_classes) % n])
    part = torch.randperm(n, generator=generator) % 3
    masks = {f"{name}_mask": part == number for number, name in enumerate(("train", "val", "test"))}
    if turned:
        y = torch.where(masks["test_mask"], (y + 1) % n_classes, y)
    if empty:
        masks[empty] = torch.zeros(n, dtype=torch.bool)
    return Data(x=x, y=y, edge_index=torch.cat([edges, edges.flip(0)], dim=1), **masks)


def task(name: str = "ring", **changes: Any) -> Task:
    return task_from_dataset(name, "node_cls", graph(**changes))


def without_times(record: SearchRecord) -> SearchRecord:
    """Return a record without what a clock has told."""
    trials = tuple(replace(trial, seconds=0.0, cpu_seconds=0.0) for trial in record.trials)
    return replace(record, trials=trials)


def decisions(record: SearchRecord) -> list[tuple[Any, ...]]:
    """Return all that a search has decided, and by which scores."""
    trials = [(trial.number, trial.state, dict(trial.hyperparameters), trial.score) for trial in record.trials]
    return [*trials, (record.best_number, record.best_score, dict(record.best))]
