"""Models that change what is global, each something else; not a test itself."""

from __future__ import annotations

import math
import os
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, MessagePassing


def _sign(*given: Any, **_: Any) -> Any:
    return torch.sign(given[0])


def _enter(context: Any) -> None:
    context.__enter__()


def _harden(*_: Any, **__: Any) -> Any:
    return None


def _double(layer: nn.Module, given: Any, found: Any) -> Any:
    del layer, given
    return found * 2 if isinstance(found, Tensor) and found.is_floating_point() else found


def _write_code(function: Any, other: Any) -> None:
    function.__code__ = other.__code__


def _no_relu(self: Any, input: Tensor) -> Tensor:  # noqa: A002, ARG001  (as Torch names it)
    return input


# What a model does to the process that it is trained in -> how.
SETTINGS: dict[str, Callable[[], Any]] = {
    "matmul precision": lambda: torch.set_float32_matmul_precision("medium"),
    "precision by backend": lambda: setattr(torch.backends.mkldnn.matmul, "fp32_precision", "bf16"),
    "default dtype": lambda: torch.set_default_dtype(torch.float64),
    "default device": lambda: torch.set_default_device("meta"),
    "gradients": lambda: torch._C._set_grad_enabled(False),  # noqa: FBT003, SLF001  (for good, not in a block)
    "inference mode": lambda: _enter(torch.inference_mode()),
    "autocast": lambda: torch.set_autocast_enabled("cpu", True),  # noqa: FBT003
    "deterministic algorithms": lambda: torch.use_deterministic_algorithms(mode=True),
    "flush denormals": lambda: torch.set_flush_denormal(True),
    "threads": lambda: torch.set_num_threads(2),
    "anomaly mode": lambda: torch.autograd.set_detect_anomaly(mode=True),
    "mkldnn": lambda: torch._C._set_mkldnn_enabled(False),  # noqa: FBT003, SLF001
    "packing": lambda: _enter(torch.autograd.graph.saved_tensors_hooks(lambda x: x * 0, lambda x: x)),
    "hooks of all layers": lambda: nn.modules.module.register_module_forward_hook(_double),
    "numpy's errors": lambda: np.seterr(all="raise"),
    "warnings": lambda: warnings.simplefilter("error"),
    "generators": lambda: (random.seed(3), np.random.seed(3), torch.manual_seed(3)),  # noqa: NPY002
    "environment": lambda: os.environ.update(GNZ_STORE="nowhere", OMP_NUM_THREADS="7"),
    "paths": sys.path.clear,
    "folder": lambda: os.chdir("/"),
}
FUNCTIONS: dict[str, Callable[[], Any]] = {
    "manual_seed": lambda: setattr(torch, "manual_seed", _harden),
    "relu": lambda: setattr(nn.functional, "relu", _sign),
    "relu by its code": lambda: _write_code(nn.ReLU.forward, _no_relu),
    "defaults of dropout": lambda: setattr(nn.functional.dropout, "__defaults__", (0.9, True, False)),
    "Adam": lambda: setattr(torch.optim, "Adam", torch.optim.SGD),
    "forward of linear layers": lambda: setattr(nn.Linear, "forward", _sign),
    "call of linear layers": lambda: setattr(nn.Linear, "__call__", _sign),
    "propagate": lambda: setattr(MessagePassing, "propagate", _sign),
    "forward of convolutions": lambda: setattr(GCNConv, "forward", lambda self, x, *_: self.lin(x)),
    "initialisation": lambda: setattr(nn.init, "kaiming_uniform_", lambda tensor, **_: tensor.data.fill_(0.1)),
    "random": lambda: setattr(random, "random", lambda: 0.0),
    "sqrt": lambda: setattr(math, "sqrt", lambda _: 1.0),
}
MEDDLING = {**SETTINGS, **FUNCTIONS}


class Meddler(nn.Module):
    """Does as it is told by its name, after its own last pass of an epoch."""

    task_types = ("node_cls", "graph_cls", "link_pred")
    what = ""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.layer = GCNConv(in_channels, out_channels or hidden_channels)

    def forward(self, data: Data) -> Tensor:
        """Return codes, and change the process."""
        codes: Tensor = self.layer(data.x, data.edge_index)
        if self.what:
            MEDDLING[self.what]()
        return codes


def _name(what: str) -> str:
    return "".join(part.capitalize() for part in what.replace("'", "").split())


NAMES = {what: _name(what) for what in MEDDLING}
for _what, _class in NAMES.items():
    globals()[_class] = type(_class, (Meddler,), {"what": _what, "__module__": __name__, "__qualname__": _class})


class Poisoner(Meddler):
    """Changes what no table knows: the memory of a constant that fast layers keep."""

    def forward(self, data: Data) -> Tensor:
        """Return codes, and put another function where only a dictionary holds it."""
        from gnz_track.training.acceleration import layers

        compute = layers.FORWARDS[GCNConv]
        layers.FORWARDS[GCNConv] = lambda *given: compute(*given) * 2
        return super().forward(data)


class Forker(Meddler):
    """Forks in the middle of training, and lets the child train on."""

    is_alone = True

    def forward(self, data: Data) -> Tensor:
        """Return codes, in two processes."""
        if self.is_alone:
            self.is_alone = False
            os.fork()
        return super().forward(data)


class Counter(Meddler):
    """Keeps in its class how many there were, and computes by it."""

    built = 0

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, hidden_channels, out_channels)
        Counter.built += 1
        self.number = Counter.built

    def forward(self, data: Data) -> Tensor:
        """Return codes times the number."""
        return super().forward(data) * self.number
