"""Rows for networks of the Netzschleuder archive: what they all share is said once."""

from __future__ import annotations

from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.types import Category, DatasetRow, Download, TaskType

__all__ = ["network_row"]

_ARCHIVE = "https://networks.skewed.de/net"
_LICENCE = "not stated by the archive"


def network_row(
    name: str, category: Category, *, entry: str, net: str = "", references: tuple[str, ...] = (), **facts: Any
) -> DatasetRow:
    """Make the row of one network. Sizes count an undirected edge both ways.

    Parameters
    ----------
    name, category, references
    entry, net
        Its names in the archive; ``net`` left out is the entry.
    **facts
        Fields of the row; the loader reads csv unless they name another one.
    """
    net = net or entry
    members = {file: file for file in ("edges.csv", "nodes.csv")}
    shared: dict[str, Any] = {
        "task_types": (TaskType.link_pred,),
        "loader": "gnz_track.datasets.readers.networks:read_netzschleuder",
        "licence": _LICENCE,
        "raw": f"networks/{name}",
        "url": f"{_ARCHIVE}/{entry}",
        "origins": (Download(url=f"{_ARCHIVE}/{entry}/files/{net}.csv.zip", members=members),),
    }
    sizes = {"n_graphs": 1, "n_features": 0, **facts.pop("expected", {})}
    return DatasetRow(
        name=name, category=category, expected=sizes, **cited(*references, "peixoto2020"), **{**shared, **facts}
    )
