"""Small problems whose parts are known, and a store that has scores for graphs like them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.models.catalogue import MODELS
from gnz_track.runs.plan import Place, make_plan
from gnz_track.store.environment import Environment, GitState, this_owner
from gnz_track.store.run_record import SweepContext, record_of
from gnz_track.store.writer import open_store
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, CellResult, Direction, Status, Task

N_NODES, N_CLASSES = 120, 3
PARTS = np.array([0, 0, 0, 1, 2, 2, 2, 2, 2, 3])
WIDTHS = (16, 128)


def labelled_graph(seed: int, *, is_homophilous: bool = True) -> Data:
    """Return a graph whose edges join nodes of one class, or of any, with masks of two splits."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, N_CLASSES, N_NODES)
    upper = np.triu(generator.random((N_NODES, N_NODES)) < np.where(y[:, None] == y, 0.15, 0.01), 1)
    # Labels alone tell the one from the other.
    y = y if is_homophilous else generator.permutation(y)
    # Most labels are for tests, and a tenth are in no part.
    part = np.stack([PARTS[generator.permutation(N_NODES) % 10] for _ in range(2)], axis=1)
    masks = {f"{name}_mask": torch.tensor(part == number) for number, name in enumerate(("train", "val", "test"))}
    return Data(
        x=torch.tensor(generator.normal(size=(N_NODES, 4)), dtype=torch.float32),
        edge_index=torch.tensor(np.array(np.nonzero(upper | upper.T))),
        y=torch.tensor(y),
        **masks,
    )


def shown(data: Data, column: int) -> Tensor:
    """Return which nodes are for training or validation in one of the splits."""
    found: Tensor = (data.train_mask | data.val_mask)[:, column]
    return found


def with_other_labels(data: Data, where: Tensor) -> Data:
    """Return a graph with other classes at some nodes: those of neighbours are no guide any more."""
    other = data.clone()
    other.y[where] = torch.randint(N_CLASSES, (int(where.sum()),), generator=torch.Generator().manual_seed(9))
    return other


def cells_of(task: Task, home: Path, seeds: Sequence[int] = (0,), protocol: str = "graphnetz") -> tuple[Cell, ...]:
    """Return blind cells of a task, one a seed."""
    place = Place(home=home)
    plan = make_plan([task], [MODELS.get("GCN")], seeds=seeds, protocol=PROTOCOLS.get(protocol), epochs=1, place=place)
    return tuple(replace(cell, is_blind=True) for cell in plan.cells)


def fill_with_past(store: Path, home: Path, *, n: int = 12) -> None:
    """Write what a sweep would have left: narrow models win where neighbours are of one class, wide ones elsewhere."""
    environment = Environment(
        python="3.11", torch="2", pyg="2", os="Linux", cpu="one", cores=2, memory_mib=1, packages={}
    )
    git = GitState(commit="c" * 40, branch="main", is_dirty=False)
    context = SweepContext(
        sweep="past", suite="own", environment=environment, git=git, owner=str(this_owner()), version="0"
    )
    with open_store(str(store)) as opened:
        for number in range(n):
            is_homophilous = number % 2 == 0
            task = task_from_dataset(f"past{number}", "node_cls", labelled_graph(number, is_homophilous=is_homophilous))
            (cell,) = cells_of(task, home)
            for width in WIDTHS:
                score = 0.9 if (width == WIDTHS[0]) == is_homophilous else 0.5
                opened.finish(_finished(cell, width, score + number / 1000, context))


def _finished(cell: Cell, width: int, score: float, context: SweepContext) -> Any:
    cell = replace(cell, hyperparameters=(("hidden_channels", width),), is_blind=False)
    result = CellResult(
        cell=cell,
        status=Status.finished,
        metric="accuracy",
        direction=Direction.up,
        score=score,
        scores={"accuracy": score},
        seconds=1.0,
        n_test=30,
    )
    key = hashlib.sha256(f"{cell.task.name} {width}".encode()).hexdigest()
    return record_of(result, context, fingerprint=key, ended_at=1_760_000_000_000)
