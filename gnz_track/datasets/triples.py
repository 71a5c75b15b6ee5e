"""Knowledge graphs as published triples."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

__all__ = ["read_triples"]


def read_triples(folder: Path) -> Data:
    """Read named triples numbered by ``entities.dict`` and ``relations.dict``.

    ``{train,valid,test}_edge_index [2, n]`` and ``_edge_type [n]`` are the published parts; ``edge_index`` and
    ``edge_type`` carry the training triples and their inverses, whose relations are numbered after all others.
    """
    entities, relations = (_numbers(folder / f"{name}.dict") for name in ("entities", "relations"))
    parts: dict[str, Tensor] = {}
    for name in ("train", "valid", "test"):
        rows = _rows(folder / f"{name}.txt")
        ends = [[entities[row[place]] for row in rows] for place in (0, 2)]
        parts[f"{name}_edge_index"] = torch.tensor(ends)
        parts[f"{name}_edge_type"] = torch.tensor([relations[row[1]] for row in rows])
    edges, types = parts["train_edge_index"], parts["train_edge_type"]
    return Data(
        num_nodes=len(entities),
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        edge_type=torch.cat([types, types + len(relations)]),
        **parts,
    )


def _rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]


def _numbers(path: Path) -> dict[str, int]:
    return {name: int(number) for number, name in _rows(path)}
