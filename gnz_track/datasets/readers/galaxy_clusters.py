"""MITRE ATT&CK as the MISP galaxy writes it: clusters of objects in JSON, each with what it is related to."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from gnz_track.datasets.readers.triples import number_triples

__all__ = ["read_galaxy"]

Triple = tuple[str, str, str]

_HELD_OUT = 0.1


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
    return number_triples(_split_triples(sorted(triples, key=_digest_triple)))


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
