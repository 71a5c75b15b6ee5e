"""A training of known bits, which tells whether a process still computes as it did when this module was imported.

It is done before a cell wherever code of others has run, and takes a few milliseconds. Whatever that code left behind,
and nobody thought of, is noticed where it changes a number of a convolution, a linear map, a rectifier, dropout, a
cross-entropy or a step of the optimiser: in our training loop, on one graph, with our fast layers and with PyG's own.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gnz_track.problems.nodes_and_edges import ClassObjective, ClassScorer
from gnz_track.runs.isolation.originals import originals
from gnz_track.runs.isolation.process_state import known_state
from gnz_track.runs.owners import is_ours
from gnz_track.seeds import seed_everything
from gnz_track.training.acceleration import accelerate, attach, release
from gnz_track.training.loop import train
from gnz_track.types import Cell, CellSettings, Optimiser, TaskType

__all__ = ["Watch", "find_leak", "sing"]

EPOCHS = 1


class _CanaryNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = GCNConv(3, 4), nn.Linear(4, 2)
        self.rectify, self.drop = nn.ReLU(), nn.Dropout(0.25)

    def forward(self, data: Data) -> Tensor:
        hidden = self.rectify(self.first(data.x, data.edge_index))
        # By the other way than the fast layers, and by functions that these do without.
        plain = self.first(data.x, data.edge_index.clone())
        hidden = self.drop(hidden) + nn.functional.dropout(nn.functional.relu(plain), 0.25, self.training)
        return torch.log_softmax(self.last(hidden), dim=-1)


def sing() -> tuple[str, ...]:
    """Train, and return the bits of losses, answers and parameters.

    No scores: a metric of the user's in the place of ours is no leak, and enters each cell as its code.
    """
    with known_state(), originals.in_force():
        seed_everything(7)
        model = accelerate(_CanaryNet())
        edges = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]])
        data = Data(x=torch.randn(5, 3), edge_index=attach(edges, 5))
        labels = torch.tensor([0, 1, 0, 1, 1])
        scorer = ClassScorer(torch.arange(5), labels)
        objective = ClassObjective(data, torch.arange(5), labels, 5)
        try:
            found = train(model, objective, {"test": scorer}, SETTINGS_OF_CANARY, batch_seed=1)
            with torch.no_grad():
                answers = objective.predict(model.eval())
        finally:
            release(model)
        tensors = (answers, *model.parameters())
        numbers = [*found.series["train/loss"], *(value for held in tensors for value in held.flatten().tolist())]
        return tuple(value.hex() for value in numbers)


SETTINGS_OF_CANARY = CellSettings(
    task_type=TaskType.node_cls,
    seed=0,
    metric="accuracy",
    optimiser=Optimiser(lr=0.01, weight_decay=0.001),
    epochs=EPOCHS,
)


EXPECTED = sing()


def find_leak() -> str:
    """Return what is wrong with this process, in words; nothing where it computes as it did."""
    try:
        found = sing()
    except Exception as error:  # noqa: BLE001  (whatever it says: a training that is known to work does not)
        return f"a training that is known to work fails ({type(error).__name__}: {error})"
    if found == EXPECTED:
        return ""
    n_other = sum(one != other for one, other in zip(found, EXPECTED, strict=False))
    return f"a training of known numbers gives others in {n_other} of {len(EXPECTED)} places"


class Watch:
    """Looks, before each cell, for what those of other people's models have left in a process."""

    def __init__(self) -> None:
        self._suspect: Cell | None = None

    def begin(self, cell: Cell) -> None:
        """Take note of a cell that is trained here now."""
        self._suspect = None if is_ours(cell.model) else cell

    def find_leak(self) -> str:
        """Return which cell has changed this process, and how that shows; nothing where none has."""
        leak = "" if self._suspect is None else find_leak()
        return f"{self._suspect.label} has changed the process that it was trained in: {leak}" if leak else ""
