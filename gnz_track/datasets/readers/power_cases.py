"""Electrical grids from the test cases of pandapower, which are tables written as JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.readers.edge_counts import count_edges

__all__ = ["read_power_case"]

_BRANCHES = {"line": ("from_bus", "to_bus"), "trafo": ("hv_bus", "lv_bus")}
_GENERATION = ("gen", "sgen", "ext_grid")


def read_power_case(folder: Path, *, file: str) -> Data:
    """Read a grid: x ``[n, 3]``, edge_attr ``[m, 1]`` parallel branches, y ``[n]`` the role of a bus.

    Roles: 0 neither feeds in nor draws, 1 has load only, 2 has generation. x are the logarithm of the voltage in
    100 kV, and the logarithms of one plus the number of lines and of transformers at the bus. Branches and plants out
    of service are left out, as is the place of a bus.
    """
    tables = json.loads((folder / file).read_text(encoding="utf-8"))["_object"]
    buses = sorted(_rows_in_service(tables, "bus"), key=lambda bus: int(bus["index"]))
    place = {int(bus["index"]): at for at, bus in enumerate(buses)}
    ends = {
        kind: [(place[row[one]], place[row[other]]) for row in _rows_in_service(tables, kind)]
        for kind, (one, other) in _BRANCHES.items()
    }
    edges, counts = count_edges(pair for listed in ends.values() for pair in listed)
    degrees = [Counter(bus for pair in listed for bus in pair) for listed in ends.values()]
    x = [[math.log(float(bus["vn_kv"]) / 100.0), *(math.log1p(n[at]) for n in degrees)] for at, bus in enumerate(buses)]
    y = torch.zeros(len(buses), dtype=torch.int64)
    y[[place[row["bus"]] for row in _rows_in_service(tables, "load")]] = 1
    y[[place[row["bus"]] for kind in _GENERATION for row in _rows_in_service(tables, kind)]] = 2
    return Data(
        x=_rounded(x),
        edge_index=edges,
        edge_attr=counts.float().unsqueeze(1),
        y=y,
    )


def _rounded(rows: list[list[float]]) -> Tensor:
    # Logarithms may differ in their last bit from machine to machine.
    return torch.tensor([[round(value, 6) for value in row] for row in rows])


def _rows_in_service(tables: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """Return the rows in service of a table; a column ``index`` numbers them."""
    if name not in tables:
        return []
    content = tables[name]["_object"]
    table = json.loads(content) if isinstance(content, str) else content
    rows = [
        {"index": index, **dict(zip(table["columns"], values, strict=True))}
        for index, values in zip(table["index"], table["data"], strict=True)
    ]
    return [row for row in rows if row.get("in_service", True)]
