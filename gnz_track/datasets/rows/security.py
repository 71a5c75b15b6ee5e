"""Catalogue: malware, and who was in touch with whom before an attack."""

from __future__ import annotations

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.network_rows import network_row
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_MALNET = "http://malnet.cc.gatech.edu"
_TINY = "Few links are held out, so that scores vary widely between seeds."

ROWS = (
    DatasetRow(
        name="malnet_tiny",
        category=Category.security,
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.programs:read_malnet",
        raw="MalNetTiny/raw",
        source="MalNet-Tiny: function call graphs of Android software, benign and four types of malware",
        licence="CC BY 4.0",
        **cited("freitas2021"),
        url="https://mal-net.org/",
        origins=(
            Download(url=f"{_MALNET}/graph-data/malnet-graphs-tiny.tar.gz", path="malnet-graphs-tiny.tar.gz"),
            Download(
                url=f"{_MALNET}/split-info/split_info_tiny.zip",
                members={
                    f"split_info_tiny/type/{part}.txt": f"split_info_tiny/type/{part}.txt"
                    for part in ("train", "val", "test")
                },
            ),
        ),
        expected={"n_graphs": 5_000, "n_features": 0, "n_classes": 5},
        notes="Published parts of 3,500, 500 and 1,000 graphs, of at most 5,000 nodes.",
    ),
    network_row(
        "terrorists_911",
        Category.security,
        entry="terrorists_911",
        references=("krebs2002",),
        source="Netzschleuder terrorists_911: associations around the hijackers of 11 September 2001",
        expected={"n_nodes": 62, "n_edges": 304},
        defects=(_TINY,),
    ),
    network_row(
        "train_terrorists",
        Category.security,
        entry="train_terrorists",
        references=("hayes2006",),
        source="Netzschleuder train_terrorists: contacts between suspects of the Madrid bombing of 11 March 2004",
        expected={"n_nodes": 64, "n_edges": 486},
        defects=(_TINY,),
    ),
    DatasetRow(
        name="hijackers_911",
        category=Category.security,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.networks:read_edge_list",
        options={"file": "terrorists.net"},
        raw="networks/terrorists_911",
        source="a smaller transcription of the network around the hijackers of 11 September 2001, 34 persons",
        licence="not stated",
        **cited("krebs2002"),
        url="https://github.com/watsonaiden/Visualization_complilation",
        expected={"n_graphs": 1, "n_nodes": 34, "n_edges": 186, "n_features": 0},
        checksum="dd6cc9c71e4a829761082c7dae9f8fd8",
        notes="Not the network terrorists_911 of the published benchmark, which has 62 persons and 152 links.",
        defects=(_TINY,),
    ),
)

TASKS = (Task("terrorists_911", TaskType.link_pred, epochs=120, category=Category.security),)
