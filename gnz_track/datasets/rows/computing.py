"""Catalogue: the Internet at the level of networks and routers."""

from __future__ import annotations

from gnz_track.datasets.rows.network_rows import network_row
from gnz_track.types import Category, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_NEWMAN = "http://www-personal.umich.edu/~mejn/netdata/as-22july06.zip"
_SNAP = "https://snap.stanford.edu/data/as20000102.txt.gz"

ROWS = (
    network_row(
        "internet_as",
        Category.computing,
        entry="internet_as",
        loader="gnz_track.datasets.readers.gml:read_gml",
        options={"file": "as-22july06.gml"},
        raw="networks/as_22july06",
        origins=(Download(url=_NEWMAN, members={"as-22july06.gml": "as-22july06.gml"}),),
        references=("newman2006", "karrer2014"),
        source="autonomous systems of the Internet on 22 July 2006 (Netzschleuder internet_as), read from the GML file",
        expected={"n_nodes": 22_963, "n_edges": 96_872},
        checksum="dc2cd8ea3ca43fef6162287f00122a71",
    ),
    network_row(
        "topology",
        Category.computing,
        entry="topology",
        references=("zhang2005", "kunegis2013"),
        source="Netzschleuder topology: autonomous systems of the Internet as collected from 2004 on",
        notes="34,761 nodes and 171,403 connections as published, repeated ones counted; they are merged here.",
    ),
    network_row(
        "as_skitter",
        Category.computing,
        entry="as_skitter",
        references=("leskovec2005",),
        source="Netzschleuder as_skitter: the Internet as traced by the Skitter project in 2005",
        notes="1,696,415 nodes and 11,095,298 links as published by SNAP; not verified against the archive.",
        defects=("The name says autonomous systems, but the nodes are addresses of routers.",),
    ),
    network_row(
        "route_views",
        Category.computing,
        entry="route_views",
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
)

TASKS = (
    Task("internet_as", TaskType.link_pred, epochs=40, category=Category.computing),
    Task("topology", TaskType.link_pred, epochs=10, category=Category.computing),
)
