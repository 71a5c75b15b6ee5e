"""Catalogue: the Internet at the level of networks and routers, and logic circuits."""

from __future__ import annotations

from functools import partial

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import network_row, pinned
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_NEWMAN = "http://www-personal.umich.edu/~mejn/netdata/as-22july06.zip"
_SNAP = "https://snap.stanford.edu/data/as20000102.txt.gz"
_NETLISTS = "circuitgraph/netlists"
_PARTS_OF_CIRCUITS = {
    "train": ("c432", "c499", "c880", "c1355", "c1908", "c2670", "c5315", "c6288"),
    "val": ("c3540",),
    "test": ("c7552",),
}
_row = partial(DatasetRow, category=Category.computing)
_network = partial(network_row, category=Category.computing)
_task = partial(Task, category=Category.computing)


ROWS = (
    _network(
        "internet_as",
        loader="gnz_track.datasets.readers.networks:read_gml",
        options={"file": "as-22july06.gml"},
        raw="networks/as_22july06",
        origins=(Download(url=_NEWMAN, members={"as-22july06.gml": "as-22july06.gml"}),),
        references=("newman2006", "karrer2014"),
        source="autonomous systems of the Internet on 22 July 2006 (Netzschleuder internet_as), read from the GML file",
        expected={"n_nodes": 22_963, "n_edges": 96_872},
        checksum="dc2cd8ea3ca43fef6162287f00122a71",
    ),
    _network(
        "topology",
        references=("zhang2005", "kunegis2013"),
        source="Netzschleuder topology: autonomous systems of the Internet as collected from 2004 on",
        notes="34,761 nodes and 171,403 connections as published, repeated ones counted; they are merged here.",
    ),
    _network(
        "as_skitter",
        references=("leskovec2005",),
        source="Netzschleuder as_skitter: the Internet as traced by the Skitter project in 2005",
        notes="1,696,415 nodes and 11,095,298 links as published by SNAP; not verified against the archive.",
        defects=("The name says autonomous systems, but the nodes are addresses of routers.",),
    ),
    _network(
        "route_views",
        net="20000102",
        loader="gnz_track.datasets.readers.networks:read_edge_list",
        options={"file": "as20000102.txt"},
        raw="networks/as20000102",
        origins=(Download(url=_SNAP, members={"as20000102.txt": "as20000102.txt"}),),
        references=("leskovec2005",),
        source="autonomous systems on 2 January 2000 (Netzschleuder route_views, network 20000102), SNAP's as20000102",
        expected={"n_nodes": 6_474, "n_edges": 26_467},
        checksum="5b72efdf186e686bcd6426ae42ff4d25",
        notes="13,895 links with 1,323 self-loops, which are never scored. SNAP's header says 13,233 edges.",
    ),
    _row(
        name="iscas85_gates",
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.circuits_and_grids:read_netlists",
        options={"parts": {name: list(circuits) for name, circuits in _PARTS_OF_CIRCUITS.items()}},
        raw="ten/iscas85_gates",
        origins=pinned(
            "circuitgraph",
            {f"{name}.v": f"{_NETLISTS}/{name}.v" for circuits in _PARTS_OF_CIRCUITS.values() for name in circuits},
        ),
        source="ISCAS-85: ten logic circuits; the kind of a gate is sought from how it is wired",
        licence="MIT (package circuitgraph); terms of the data not stated there",
        **cited("brglez1985"),
        url="https://github.com/circuitgraph/circuitgraph",
        expected={"n_graphs": 1, "n_nodes": 10_588, "n_edges": 39_052, "n_features": 4, "n_classes": 6},
        checksum="217af0e740e49463705b74a4b50a7116",
        notes=(
            "Train: c432, c499, c880, c1355, c1908, c2670, c5315, c6288; validation: c3540; test: c7552. "
            "Inputs have no label."
        ),
        defects=(
            "A gate with one input is a not: 22 % of the labels of the test circuit need no more.",
            "Circuits repeat blocks, so that a random split of the gates would be memorised.",
        ),
    ),
)

TASKS = (
    _task("internet_as", TaskType.link_pred, epochs=40),
    _task("topology", TaskType.link_pred, epochs=10),
    _task("iscas85_gates", TaskType.node_cls, epochs=80),
)
