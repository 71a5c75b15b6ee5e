"""Names registered in a test are gone after it, and a module of a user to import models from."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

USERS_MODULE = '''
"""What a user may have written."""

from torch import nn

CALLS = []
NUMBER = 3


class Net(nn.Module):
    """A linear model. It says which tasks it serves."""

    task_types = {"node_cls", "graph_cls"}

    def __init__(self, in_channels, hidden_channels, out_channels, *, scale=1.0):
        super().__init__()
        self.sizes, self.scale = (in_channels, hidden_channels, out_channels), scale
        self.linear = nn.Linear(in_channels, out_channels)

    def forward(self, data):
        return self.linear(data.x) * self.scale


class Silent(nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)

    def forward(self, data):
        return self.linear(data.x)


class Quiet(Silent):
    pass


class Links(Silent):
    task_types = "link_pred"

    def encode(self, data):
        return self.linear(data.x)

    def decode(self, codes, pairs):
        return -(codes[pairs[0]] - codes[pairs[1]]).square().sum(1)


class Open(Silent):
    task_types = ("node_cls",)

    def __init__(self, in_channels, hidden_channels, out_channels, **options):
        super().__init__(in_channels, hidden_channels, out_channels)
        self.options = options


def make(in_channels, hidden_channels, out_channels):
    CALLS.append(None)
    return Silent(in_channels, hidden_channels, out_channels + 1)


def make_for(in_channels, hidden_channels, out_channels, task_type):
    CALLS.append(task_type)
    return Silent(in_channels, hidden_channels, out_channels + 2)


def make_wrongly(in_channels, hidden_channels, out_channels, *, task_type):
    CALLS.append(task_type)
    return len(task_type) + None


def make_text(in_channels, hidden_channels, out_channels):
    return "not a module"
'''


@pytest.fixture(scope="session")
def users(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """Return a module of a user: ``users_nets``."""
    folder: Path = tmp_path_factory.mktemp("users")
    (folder / "users_nets.py").write_text(USERS_MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setenv("PYTHONPATH", str(folder), prepend=":")
        yield importlib.import_module("users_nets")
