"""Catalogue: metabolism, nerves, proteins that interact, and contacts along which diseases spread."""

from __future__ import annotations

import itertools

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.network_rows import network_row
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_TABLES = ("feats.npy", "graph_id.npy", "graph.json", "labels.npy")
_PPI_FILES = tuple(f"{part}_{table}" for part, table in itertools.product(("train", "valid", "test"), _TABLES))

ROWS = (
    network_row(
        "celegans",
        Category.biology,
        entry="celegans_metabolic",
        references=("duch2005",),
        source="Netzschleuder celegans_metabolic: metabolites of the worm C. elegans that react with one another",
        expected={"n_nodes": 453},
        notes="2,025 pairs of metabolites as published, and self-loops, which are never scored.",
    ),
    network_row(
        "budapest_connectome",
        Category.biology,
        entry="budapest_connectome",
        net="all_20k",
        references=("szalkai2017",),
        source="Netzschleuder budapest_connectome, network all_20k: regions of the human brain joined by fibres",
        expected={"n_nodes": 1_015, "n_edges": 141_308},
    ),
    network_row(
        "hospital_contacts",
        Category.biology,
        entry="sp_hospital",
        references=("vanhems2013",),
        source="Netzschleuder sp_hospital: patients and staff of a ward who stood face to face",
        expected={"n_nodes": 75},
        notes="32,424 contacts of 20 seconds as published, merged into 1,139 pairs.",
        defects=("41 % of all pairs met, so that most of the other pairs serve as non-edges.",),
    ),
    network_row(
        "high_school_contacts",
        Category.biology,
        entry="sp_high_school",
        net="proximity",
        references=("mastrandrea2015",),
        source="Netzschleuder sp_high_school, network proximity: students who stood face to face",
        notes="327 students and 188,508 contacts of 20 seconds as published, merged into 5,818 pairs.",
    ),
    DatasetRow(
        name="ppi",
        category=Category.biology,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.ppi:read_ppi",
        options={"part": "train", "graph": 0},
        raw="PPI/raw",
        source="PPI: proteins that interact in one human tissue, with 50 features and 121 labels",
        licence="not stated",
        **cited("zitnik2017"),
        url="https://snap.stanford.edu/graphsage/",
        origins=(Download(url="https://data.dgl.ai/dataset/ppi.zip", members={file: file for file in _PPI_FILES}),),
        expected={"n_graphs": 1, "n_nodes": 1_767, "n_edges": 32_318, "n_features": 50, "n_classes": 121},
        notes="The first of the 20 training tissues, as in the published benchmark; option graph names another one.",
    ),
    DatasetRow(
        name="celegans_neural",
        category=Category.biology,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.gml:read_gml",
        options={"file": "celegansneural.gml"},
        raw="networks/celegans_neural",
        source="synapses between the neurons of the worm C. elegans, as compiled by Watts and Strogatz",
        licence="not stated",
        **cited("watts1998", "white1986"),
        url="http://www-personal.umich.edu/~mejn/netdata/",
        origins=(
            Download(
                url="http://www-personal.umich.edu/~mejn/netdata/celegansneural.zip",
                members={"celegansneural.gml": "celegansneural.gml"},
            ),
        ),
        expected={"n_graphs": 1, "n_nodes": 297, "n_features": 0},
        checksum="8b33dbff2c5eb7f9b0601077b7da43e2",
    ),
)

TASKS = (Task("celegans", TaskType.link_pred, epochs=80, category=Category.biology),)
