"""Wiki-CS: articles on computer science, their hyperlinks and branches."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import both_ways

__all__ = ["read_wikics"]


def read_wikics(folder: Path, *, joins_stopping: bool = False) -> Data:
    """Read x ``[n, 300]``, y ``[n]``, undirected edges, 20 training and validation columns, one test mask ``[n]``.

    ``stopping_mask [n, 20]`` is the second validation part of the paper; ``joins_stopping`` adds it to the first, as
    Dwivedi et al., Benchmarking Graph Neural Networks, 2023, do. Mernyei, Cangea: Wiki-CS, 2020.
    """
    content = json.loads((folder / "data.json").read_text(encoding="utf-8"))
    y = torch.tensor(content["labels"], dtype=torch.int64)
    sizes = torch.tensor([len(targets) for targets in content["links"]])
    source = torch.arange(y.numel()).repeat_interleave(sizes)
    target = torch.tensor(list(itertools.chain.from_iterable(content["links"])), dtype=torch.int64)

    def columns(name: str) -> Tensor:
        return torch.tensor(content[name], dtype=torch.bool).t().contiguous()

    val, stopping = columns("val_masks"), columns("stopping_masks")
    return Data(
        x=torch.tensor(content["features"], dtype=torch.float32),
        y=y,
        edge_index=both_ways(torch.stack([source, target]), y.numel()),
        train_mask=columns("train_masks"),
        val_mask=val | stopping if joins_stopping else val,
        stopping_mask=stopping,
        test_mask=torch.tensor(content["test_mask"], dtype=torch.bool),
    )
