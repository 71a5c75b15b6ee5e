"""A small sweep in a store, with its predictions: nodes of one split and of several, graphs with a number, links."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from torch_geometric.data import Data

__all__ = ["MODELS", "RINGS", "ROOMS", "SEEDS", "StoredSweep", "stored_sweep"]

MODELS, SEEDS = ("GCN", "GraphSAGE", "MLP"), (0, 1, 2)
ROOMS, RINGS = "rooms of three", "rings"


@dataclass(frozen=True)
class StoredSweep:
    """Where the runs are, and the data that they were trained on."""

    store: str
    home: Path


def rooms() -> Data:
    """Return 150 nodes in three rooms, with masks: neighbours tell the room better than features do."""
    import torch
    from torch_geometric.data import Data

    rng = np.random.default_rng(0)
    rooms = np.repeat(np.arange(3), 50)
    chance = np.where(rooms[:, None] == rooms, 0.12, 0.02)
    heads, tails = np.nonzero(np.triu(rng.random((150, 150)) < chance, 1))
    features = rng.normal(size=(150, 8)) + 0.6 * np.eye(8)[rooms]
    parts = rng.permutation(150)
    masks = {name: torch.zeros(150, dtype=torch.bool) for name in ("train_mask", "val_mask", "test_mask")}
    for mask, nodes in zip(masks.values(), np.split(parts, [30, 60]), strict=True):
        mask[nodes] = True
    edges = torch.as_tensor(np.stack([np.append(heads, tails), np.append(tails, heads)]))
    return Data(x=torch.as_tensor(features).float(), edge_index=edges, y=torch.as_tensor(rooms), **masks)


def rings() -> list[Data]:
    """Return 60 rings of 4 to 12 nodes, whose number is the sum of a feature over the nodes."""
    import torch
    from torch_geometric.data import Data

    rng = np.random.default_rng(1)
    found = []
    for n in rng.integers(4, 13, 60).tolist():
        x = torch.as_tensor(rng.normal(size=(n, 2))).float()
        ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
        found.append(Data(x=x, edge_index=torch.hstack([ring, ring.flip(0)]), y=x[:, :1].sum(dim=0, keepdim=True)))
    return found


@pytest.fixture(scope="session")
def stored_sweep(tmp_path_factory: pytest.TempPathFactory) -> StoredSweep:
    """Train the sweep once for all tests."""
    # Tests of other rooms do not wait for these.
    from gnz_track import Task, run_benchmark

    folder = tmp_path_factory.mktemp("stored")
    own = [Task(name=ROOMS, task_type="node_cls", loader=rooms), Task(name=RINGS, task_type="graph_reg", loader=rings)]
    found = StoredSweep(f"sqlite:///{folder / 'runs.db'}", folder / "data")
    run_benchmark(
        tasks=[*own, "planted_partition", "les_miserables"],
        models=list(MODELS),
        seeds=list(SEEDS),
        epochs=12,
        root=found.home,
        store=found.store,
        device="cpu",
        verbose=False,
    )
    return found
