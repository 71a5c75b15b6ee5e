"""Goods that countries export together, from the tables of the Atlas of Economic Complexity."""

from __future__ import annotations

import csv
from pathlib import Path

import torch
from torch_geometric.data import Data

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
    names = sorted({product for pair in linked for product in pair})
    section_of = {int(row["product_id"]): int(row["top_parent_id"]) for row in _read_rows(folder / products)}
    place = {product: at for at, product in enumerate(names)}
    sections = sorted({section_of[product] for product in names})
    edges, _ = count_edges((place[one], place[other]) for one, other in linked)
    return Data(
        x=torch.eye(len(names)),
        edge_index=edges,
        y=torch.tensor([sections.index(section_of[product]) for product in names]),
    )


def _read_rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
