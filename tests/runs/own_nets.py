"""Models as users bring them, good ones and broken ones; not a test itself."""

from __future__ import annotations

import itertools
import os
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

ALL = ("node_cls", "graph_cls", "graph_reg", "link_pred", "edge_cls", "node_reg", "edge_reg")


class Plain(nn.Module):
    """A node encoder of one layer with dropout; says what it was shown."""

    task_types = ALL
    seen: list[dict[str, Any]] = []  # noqa: RUF012  (a note to the test, shared by all instances)
    built: list[nn.Module] = []  # noqa: RUF012

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, dropout: float = 0.5) -> None:
        super().__init__()
        self.layer = GCNConv(in_channels, out_channels)
        self.dropout, self.widths = dropout, (in_channels, hidden_channels, out_channels)
        Plain.built.append(self)

    def forward(self, data: Data) -> Tensor:
        y = data.get("y")
        Plain.seen.append(
            {
                "fields": set(data.keys()),
                "y": None if y is None else y.clone(),
                "threads": torch.get_num_threads(),
                "is_training": self.training,
            }
        )
        codes: Tensor = self.layer(data.x, data.edge_index)
        return nn.functional.dropout(codes, self.dropout, self.training)


class Greedy(Plain):
    """Holds so much memory for a moment, in every pass."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, mib: int) -> None:
        super().__init__(in_channels, hidden_channels, out_channels)
        self.mib = mib

    def forward(self, data: Data) -> Tensor:
        return super().forward(data) + 0 * torch.ones(self.mib * 2**18)[0]


class Shapeless(Plain):
    """Has no shape before it sees features."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, hidden_channels, out_channels)
        self.layer: nn.Module = GCNConv(-1, out_channels)


class Meddler(Plain):
    """Changes everything global that it can."""

    def forward(self, data: Data) -> Tensor:
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002  (what it is here for)
        torch.manual_seed(1)
        torch.set_num_threads(2)
        return super().forward(data)


class FailsToBuild(Plain):
    def __init__(self, *widths: int) -> None:
        message = f"cannot build with {len(widths)} widths"
        raise RuntimeError(message)


class FailsForward(Plain):
    def forward(self, data: Data) -> Tensor:
        message = f"no way forward with {type(data).__name__}"
        raise LookupError(message)


class Indiscreet(Plain):
    """Quotes an address with its password."""

    def forward(self, data: Data) -> Tensor:
        message = "cannot reach postgresql://alice:hunter2@db.example.org/runs?password=hunter2"
        raise ConnectionError(message, data.num_nodes)


class _NoWayBack(torch.autograd.Function):
    @staticmethod
    def forward(_: Any, codes: Tensor) -> Tensor:
        return codes.clone()

    @staticmethod
    def backward(_: Any, __: Tensor) -> Tensor:  # type: ignore[override]
        message = "no way back"
        raise ArithmeticError(message)


class FailsBackward(Plain):
    def forward(self, data: Data) -> Tensor:
        found: Tensor = _NoWayBack.apply(super().forward(data))
        return found


class NotANumber(Plain):
    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, hidden_channels, out_channels)
        self.layer.bias.data[0] = float("nan")


class FailsLate(Plain):
    """Fails in its fifth pass: two epochs of training and scoring are behind it."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__(in_channels, hidden_channels, out_channels)
        self.n_passes = 0

    def forward(self, data: Data) -> Tensor:
        self.n_passes += 1
        if self.n_passes == 5:
            message = "too late"
            raise RuntimeError(message)
        return super().forward(data)


class Announces(Plain):
    """Writes a file as soon as it is trained, for who waits for that."""

    def forward(self, data: Data) -> Tensor:
        Path(os.environ["ANNOUNCE"]).touch()
        return super().forward(data)


class InterruptedInText(Plain):
    """Is interrupted while it runs code out of a text, as libraries do while they are imported."""

    def forward(self, data: Data) -> Tensor:
        exec("import os, signal; os.kill(os.getpid(), signal.SIGINT); os.getpid()")  # noqa: S102
        return super().forward(data)


class ClingsOn(Plain):
    """Hears no interrupt, as what is being tidied up behind the first one may not; it writes a file for each."""

    def forward(self, data: Data) -> Tensor:
        known, announced = super().forward(data), Path(os.environ["ANNOUNCE"])
        for place in itertools.count(1):
            try:
                announced.touch()
                time.sleep(60)
            except KeyboardInterrupt:
                announced.with_name(f"{announced.name}{place}").touch()
        return known


class ReadsLabels(Plain):
    """Answers with the labels that it is shown, and with the first class where it is shown none."""

    def forward(self, data: Data) -> Tensor:
        noise = super().forward(data) * 1e-6
        shown = torch.nn.functional.one_hot(data.y.clamp(min=0), noise.size(1)).float()
        return noise + shown * (data.y >= 0).unsqueeze(1)
