"""Models between processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from gnz_track.models.building import Sizes, build

SIZES = Sizes(in_channels=5, hidden_channels=4, out_channels=3)

# Runs as a script of a user: what is defined in __main__ must be built elsewhere, with the same parameters.
SCRIPT = """
import pickle, sys
import torch
from torch import nn
from gnz_track.models.adapters import multi_task_factory
from gnz_track.models.building import Sizes, build
from gnz_track.models.catalogue import MODELS, describe, register_model
import users_nets

EXTRA = 2


class Helper(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width + EXTRA)


@register_model(task_type="node_cls")
class Script(nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels, *, depth=1):
        super().__init__()
        self.parts = nn.Sequential(*(Helper(in_channels) for _ in range(depth)))


def factory(in_channels, hidden_channels, out_channels, task_type):
    return nn.Linear(in_channels, len(str(task_type)))


def local():
    class Inner(Script):
        pass
    return Inner


sizes = Sizes(in_channels=5, hidden_channels=4, out_channels=3)
kept = []
for model, options in [
    (Script, {"depth": 2}),
    ((local(), ["node_cls"]), {}),
    ((users_nets.Silent, {"node_cls"}, factory), {}),
    ("GAT", {"heads": 2}),
    (users_nets.Net, {}),
    ((users_nets.Silent, "node_cls", multi_task_factory(users_nets.Silent)), {}),
]:
    row = describe(model)
    torch.manual_seed(7)
    built = build(row, row.task_types[0], sizes, options=options)
    kept.append((row, options, {name: value.tolist() for name, value in built.state_dict().items()}))
pickle.dump(kept, open(sys.argv[1], "wb"))
"""


@pytest.mark.usefixtures("users")
def test_models_of_a_script_are_built_in_another_process(tmp_path: Path) -> None:
    script, kept = tmp_path / "script.py", tmp_path / "kept.pickle"
    script.write_text(SCRIPT)
    subprocess.run([sys.executable, "-W", "ignore", str(script), str(kept)], check=True)
    rows = pickle.loads(kept.read_bytes())
    assert [bool(row.payload) for row, *_ in rows] == [True, True, True, False, False, False]
    for row, options, expected in rows:
        torch.manual_seed(7)
        found = build(row, row.task_types[0], SIZES, options=options).state_dict()
        assert {name: value.tolist() for name, value in found.items()} == expected, row.name


def test_the_catalogue_is_read_without_torch() -> None:
    code = (
        "import sys, gnz_track.models.catalogue as c; c.describe_all(c.MODELS.names()); "
        "print(sorted({'torch', 'torch_geometric', 'numpy', 'cloudpickle'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
