"""Knowledge graphs: published triples, and the relations of MITRE ATT&CK in the clusters of the MISP galaxy (JSON)."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.raw_files import rank
from gnz_track.errors import BadValue

__all__ = ["read_galaxy", "read_identified_triples", "read_named_triples", "read_triples"]

Triple = tuple[str, str, str]
_PARTS = ("train", "valid", "test")
_HELD_OUT = 0.1


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
    return _number_triples(parts)


def read_identified_triples(folder: Path) -> Data:
    """Read triples as :func:`read_named_triples` does, with the identity as x ``[n, n]``.

    Where every entity has the same degree, features made of degrees would make all entities one.
    """
    data = read_named_triples(folder)
    data.x = torch.eye(int(data.num_nodes))
    return data


def read_galaxy(folder: Path, *, relations: Sequence[str]) -> Data:
    """Read the triples of all clusters ``*.json`` of a folder, as a knowledge graph with a fixed 80/10/10 split.

    Only the named relations between objects of these clusters that no newer one has replaced. The parts follow the
    SHA-256 of each triple, so that they depend on nothing else; a triple stays in training where it is the last one
    there of its head, its tail or its relation.
    """
    objects = [item for path in sorted(folder.glob("*.json")) for item in _objects_in(path)]
    replaced = {
        item["uuid"] for item in objects if any(_kind_of_link(link) == "revoked-by" for link in _links_of(item))
    }
    known = {item["uuid"] for item in objects} - replaced
    triples = {
        (item["uuid"], _kind_of_link(link), link["dest-uuid"])
        for item in objects
        for link in _links_of(item)
        if _kind_of_link(link) in relations and item["uuid"] in known and link["dest-uuid"] in known
    }
    return _number_triples(_split_triples(sorted(triples, key=_digest_triple)))


def _number_triples(parts: Mapping[str, Sequence[Sequence[str]]]) -> Data:
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


def _objects_in(path: Path) -> list[dict[str, Any]]:
    return [item for item in json.loads(path.read_text(encoding="utf-8"))["values"] if "uuid" in item]


def _links_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    return item.get("related") or []


def _kind_of_link(link: dict[str, Any]) -> str:
    return str(link["type"])


def _digest_triple(triple: Triple) -> str:
    return hashlib.sha256("\t".join(triple).encode()).hexdigest()


def _split_triples(triples: list[Triple]) -> dict[str, list[Triple]]:
    """Hand out triples in their order, first to test, then to validation, while training keeps all names."""
    n_held_out = int(_HELD_OUT * len(triples))
    left = Counter(name for triple in triples for name in _names_of(triple))
    parts: dict[str, list[Triple]] = {"train": [], "valid": [], "test": []}
    for triple in triples:
        names = set(_names_of(triple))
        part = next((name for name in ("test", "valid") if len(parts[name]) < n_held_out), "train")
        part = part if all(left[name] > 1 for name in names) else "train"
        if part != "train":
            left.subtract(_names_of(triple))
        parts[part].append(triple)
    return {name: sorted(part) for name, part in parts.items()}


def _names_of(triple: Triple) -> tuple[tuple[str, str], ...]:
    head, relation, tail = triple
    return ("entity", head), ("relation", relation), ("entity", tail)
