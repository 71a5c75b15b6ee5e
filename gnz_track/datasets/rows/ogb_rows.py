"""Rows for the Open Graph Benchmark: what they all share is said once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.types import Category, DatasetRow, Download

__all__ = ["ogb_row"]

_SERVER = "http://snap.stanford.edu/ogb/data"
_SUFFIX = ".csv.gz"
# Parts that are no lists of numbers come as torch files.
_PART_SUFFIXES = {"linkproppred": ".pt"}
_SHARED = ("num-node-list", "num-edge-list", "edge", "node-feat")
_READERS = {"nodeproppred": "nodes", "linkproppred": "links", "graphproppred/csv_mol_download": "graphs"}
_TABLES = {
    "nodeproppred": (*_SHARED, "node-label"),
    "linkproppred": (*_SHARED, "edge_weight", "edge_year"),
    "graphproppred/csv_mol_download": (*_SHARED, "edge-feat", "graph-label"),
}


def ogb_row(
    name: str, category: Category, *, kind: str, archive: str, split: str, options: Mapping[str, Any], **facts: Any
) -> DatasetRow:
    """Make the row of one benchmark.

    Parameters
    ----------
    name, category
    kind, archive
        Where it lies on the server.
    split
        Name of its published split.
    options
        Of the loader, beside the split.
    **facts
        Fields of the row.
    """
    suffix = _PART_SUFFIXES.get(kind, _SUFFIX)
    parts = [f"split/{split}/{part}{suffix}" for part in ("train", "valid", "test")]
    files = [*(f"raw/{table}{_SUFFIX}" for table in _TABLES[kind]), *parts]
    origin = Download(url=f"{_SERVER}/{kind}/{archive}.zip", members={file: f"{archive}/{file}" for file in files})
    return DatasetRow(
        name=name,
        category=category,
        loader=f"gnz_track.datasets.readers.ogb:read_ogb_{_READERS[kind]}",
        options={"split": split, **options},
        raw=f"OGB/{name}",
        **cited("hu2020"),
        url="https://ogb.stanford.edu/",
        origins=(origin,),
        **facts,
    )
