"""Knowledge graphs as published triples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import rank
from gnz_track.errors import BadValue

__all__ = ["number_triples", "read_named_triples", "read_triples"]

_PARTS = ("train", "valid", "test")


def read_triples(folder: Path) -> Data:
    """Read named triples numbered by ``entities.dict`` and ``relations.dict``.

    ``{train,valid,test}_edge_index [2, n]`` and ``_edge_type [n]`` are the published parts; ``edge_index`` and
    ``edge_type`` carry the training triples and their inverses, whose relations are numbered after all others.
    """
    entities, relations = (_read_numbers(folder / f"{name}.dict") for name in ("entities", "relations"))
    parts = {name: _read_rows(folder / f"{name}.txt") for name in _PARTS}
    return _triple_graph(parts, entities, relations)


def read_named_triples(folder: Path, *, order: str = "hrt") -> Data:
    """Read triples whose names are numbered in alphabetical order; fields as :func:`read_triples`.

    ``order`` says where head (h), relation (r) and tail (t) stand in a line.
    """
    if sorted(order) != sorted("hrt"):
        raise BadValue("order", order, "the letters h, r and t once each, such as 'hrt'")
    places = [order.index(letter) for letter in "hrt"]
    parts = {name: [[row[place] for place in places] for row in _read_rows(folder / f"{name}.txt")] for name in _PARTS}
    return number_triples(parts)


def number_triples(parts: Mapping[str, Sequence[Sequence[str]]]) -> Data:
    """Return a graph of (head, relation, tail), names numbered alphabetically; fields as :func:`read_triples`."""
    rows = [row for part in parts.values() for row in part]
    return _triple_graph(parts, rank(row[place] for row in rows for place in (0, 2)), rank(row[1] for row in rows))


def _triple_graph(
    parts: Mapping[str, Sequence[Sequence[str]]], entities: Mapping[str, int], relations: Mapping[str, int]
) -> Data:
    tensors: dict[str, Tensor] = {}
    for name, rows in parts.items():
        ends = [[entities[row[place]] for row in rows] for place in (0, 2)]
        tensors[f"{name}_edge_index"] = torch.tensor(ends)
        tensors[f"{name}_edge_type"] = torch.tensor([relations[row[1]] for row in rows])
    edges, types = tensors["train_edge_index"], tensors["train_edge_type"]
    return Data(
        num_nodes=len(entities),
        edge_index=torch.cat([edges, edges.flip(0)], dim=1),
        edge_type=torch.cat([types, types + len(relations)]),
        **tensors,
    )


def _read_rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8") as file:
        return [line.rstrip("\r\n").split("\t") for line in file if line.strip()]


def _read_numbers(path: Path) -> dict[str, int]:
    return {name: int(number) for number, name in _read_rows(path)}
