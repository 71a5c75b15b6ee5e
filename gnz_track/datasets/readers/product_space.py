"""Goods that countries export together, from the tables of the Atlas of Economic Complexity."""

from __future__ import annotations

import csv
from pathlib import Path

import torch
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_arrays import rank
from gnz_track.datasets.readers.edge_counts import count_edges

__all__ = ["read_product_space"]


def read_product_space(folder: Path, *, edges: str, products: str) -> Data:
    """Read the product space: x ``[n, n]`` the identity, y ``[n]`` the section of a product.

    Sections are numbered in the order of their number in the table, products likewise. The table's clusters and places
    are made from the edges, and are not read.

    Parameters
    ----------
    folder
    edges, products
        Names of files.
    """
    linked = [(int(row["source"]), int(row["target"])) for row in _read_rows(folder / edges)]
    place = rank(product for pair in linked for product in pair)
    section_of = {int(row["product_id"]): int(row["top_parent_id"]) for row in _read_rows(folder / products)}
    sections = rank(section_of[product] for product in place)
    edges, _ = count_edges((place[one], place[other]) for one, other in linked)
    return Data(
        x=torch.eye(len(place)),
        edge_index=edges,
        y=torch.tensor([sections[section_of[product]] for product in place]),
    )


def _read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
