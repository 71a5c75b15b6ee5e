"""A blind cell is what a search trains: the same training, and no test label anywhere."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gnz_track.datasets.frozen import freeze
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.run_one import run_one
from gnz_track.types import Cell, ModelRow, TaskType

Cells = Callable[..., Cell]
Worlds = Callable[[str], Any]


def test_training_and_validation_are_the_same_and_the_test_is_not_there(any_world: Any, cell_on: Cells) -> None:
    cell = cell_on(any_world, "MLP", epochs=3)
    if cell.task.task_type not in cell.model.task_types:
        cell = cell_on(any_world, "GIN", epochs=3)
    seen, blind = run_one(cell), run_one(replace(cell, is_blind=True))
    assert seen.is_finished, seen.failure
    assert blind.is_finished, blind.failure
    assert {name for name in seen.series if name.startswith("test/")}
    expected = {name: values for name, values in seen.series.items() if not name.startswith("test/")}
    assert blind.score == blind.series[f"val/{blind.metric}"][blind.selected_epoch or 0]
    # Where links are predicted, what is drawn beside them avoids those of the test part only where it is known.
    is_same = any_world.task_type is not TaskType.link_pred
    assert (dict(blind.series) == expected) is is_same
    assert (blind.split_digest == seen.split_digest) is is_same
    assert blind.series.keys() == expected.keys()


def test_blind_cell_is_another_cell(world: Worlds, cell_on: Cells) -> None:
    cell = cell_on(world("nodes"), "MLP")
    assert fingerprint(cell) != fingerprint(replace(cell, is_blind=True))
    assert fingerprint(cell) == fingerprint(replace(cell, is_blind=False))


def test_other_test_labels_change_nothing(world: Worlds, cell_on: Cells, tmp_path: Path) -> None:
    made = world("nodes")
    (graph,) = made.graphs
    other = graph.clone()
    other.y = graph.y.clone()
    hidden = graph.test_mask
    other.y[hidden] = (graph.y[hidden] + 1) % 3
    frozen = freeze(other, tmp_path / "other", row=made.row)
    cell = cell_on(made, "GAT", epochs=3)
    swapped = replace(cell, data=str(frozen.folder), dataset_digest=frozen.digest)
    one, two = (run_one(replace(item, is_blind=True)) for item in (cell, swapped))
    assert dict(one.series) == dict(two.series)
    assert one.score == two.score
    # The same labels, seen, do change the scores: they are what was changed.
    assert run_one(cell).series["test/accuracy"] != run_one(swapped).series["test/accuracy"]


# A model that looks through every tensor of its process. The truth comes as text, so that this process has no tensor of
# it but those that training brought.
REACHING = """
import gc, json, pickle, sys
import torch
from torch_geometric.nn import GCNConv

sys.modules["reaching"] = sys.modules["__main__"]
cell, truth, hidden = pickle.load(open(sys.argv[1], "rb"))
found = set()


class Reaching(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = GCNConv(in_channels, out_channels)

    def forward(self, data):
        wanted = [truth[node] for node in hidden]
        for thing in gc.get_objects():
            if isinstance(thing, torch.Tensor) and thing.numel() in (len(truth), len(hidden)):
                values = thing.detach().flatten().tolist()
                shown = values if len(values) == len(hidden) else [values[node] for node in hidden]
                if shown == wanted:
                    found.add(tuple(thing.shape))
        return self.layer(data.x, data.edge_index)


from gnz_track.runs.run_one import run_one

result = run_one(cell)
print(json.dumps({"found": len(found), "finished": result.is_finished, "why": str(result.failure)}))
"""


@pytest.mark.parametrize("is_blind", [False, True])
def test_model_that_reaches_for_test_labels_finds_none(
    world: Worlds, cell_on: Cells, tmp_path: Path, root: Path, *, is_blind: bool
) -> None:
    made = world("nodes")
    (graph,) = made.graphs
    row = ModelRow(name="Reaching", target="reaching:Reaching", task_types=(TaskType.node_cls,), source_digest="0")
    cell = replace(cell_on(made, "MLP", epochs=1), model=row, is_blind=is_blind)
    task = (cell, graph.y.tolist(), graph.test_mask.nonzero().flatten().tolist())
    (tmp_path / "cell.pickle").write_bytes(pickle.dumps(task))
    (tmp_path / "script.py").write_text(REACHING, "utf-8")
    command = [sys.executable, "-W", "ignore", str(tmp_path / "script.py"), str(tmp_path / "cell.pickle")]
    environment = {**os.environ, "PYTHONPATH": str(root)}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    said = json.loads(ended.stdout or "{}")
    assert said.get("finished"), f"{said} {ended.stderr}"
    # The search of the model is one that finds them where they are: a cell that is scored on the test part has them.
    assert (said["found"] == 0) is is_blind
