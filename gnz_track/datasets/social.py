"""Catalogue: citations, communities, acquaintances."""

from __future__ import annotations

from gnz_track.types import Category, DatasetRow, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_NODES_AND_LINKS = (TaskType.node_cls, TaskType.link_pred)
_PLANETOID = "gnz_track.datasets.planetoid:read_planetoid"
_PLANETOID_URL = "https://github.com/kimiyoung/planetoid"
_PLANETOID_CITATION = (
    "Yang, Cohen, Salakhutdinov: Revisiting Semi-Supervised Learning with Graph Embeddings. ICML 2016; "
    "Sen, Namata, Bilgic, Getoor, Gallagher, Eliassi-Rad: Collective Classification in Network Data. "
    "AI Magazine 29(3), 2008"
)
_PLANETOID_LICENCE = "MIT (repository); the texts' own licence is not stated"

ROWS = (
    DatasetRow(
        name="cora",
        category=Category.social,
        task_types=_NODES_AND_LINKS,
        loader=_PLANETOID,
        options={"prefix": "cora"},
        raw="Planetoid/Cora/raw",
        source="Planetoid: citations between papers on machine learning, words of each paper",
        licence=_PLANETOID_LICENCE,
        citation=_PLANETOID_CITATION,
        url=_PLANETOID_URL,
        expected={"n_graphs": 1, "n_nodes": 2_708, "n_edges": 10_556, "n_features": 1_433, "n_classes": 7},
        checksum="5d2d99e2dbad791ba7fd66e81b38d6ec",
    ),
    DatasetRow(
        name="citeseer",
        category=Category.social,
        task_types=_NODES_AND_LINKS,
        loader=_PLANETOID,
        options={"prefix": "citeseer"},
        raw="Planetoid/CiteSeer/raw",
        source="Planetoid: citations between papers on computing, words of each paper",
        licence=_PLANETOID_LICENCE,
        citation=_PLANETOID_CITATION,
        url=_PLANETOID_URL,
        expected={"n_graphs": 1, "n_nodes": 3_327, "n_edges": 9_104, "n_features": 3_703, "n_classes": 6},
        notes="15 isolated papers have no words and are in no part of the split.",
    ),
    DatasetRow(
        name="pubmed",
        category=Category.social,
        task_types=_NODES_AND_LINKS,
        loader=_PLANETOID,
        options={"prefix": "pubmed"},
        raw="Planetoid/PubMed/raw",
        source="Planetoid: citations between papers on diabetes, TF-IDF weights of their words",
        licence=_PLANETOID_LICENCE,
        citation=_PLANETOID_CITATION,
        url=_PLANETOID_URL,
        expected={"n_graphs": 1, "n_nodes": 19_717, "n_edges": 88_648, "n_features": 500, "n_classes": 3},
        checksum="d5ba8d7f467e9f0a49221ea68c1b3a88",
    ),
    DatasetRow(
        name="planted_partition",
        category=Category.social,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.labelled_graphs:planted_partition",
        options={
            "n_classes": 4,
            "class_size": 150,
            "p_within": 0.04,
            "p_between": 0.01,
            "n_features": 16,
            "seed": 0,
        },
        source="generated: four communities of 150 nodes, features buried in noise",
        licence="Apache-2.0",
        citation=(
            "Condon, Karp: Algorithms for graph partitioning on the planted partition model. "
            "Random Structures and Algorithms 18(2), 116-140, 2001"
        ),
        expected={"n_graphs": 1, "n_nodes": 600, "n_features": 16, "n_classes": 4},
        notes="The seed chooses one of ten random 20/20/60 splits.",
    ),
    DatasetRow(
        name="les_miserables",
        category=Category.social,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.labelled_graphs:les_miserables",
        source="shipped by networkx (les_miserables_graph): characters who meet in a chapter of the novel",
        licence="BSD-3-Clause (networkx)",
        citation="Knuth: The Stanford GraphBase: A Platform for Combinatorial Computing. ACM Press, 1993",
        expected={"n_graphs": 1, "n_nodes": 77, "n_edges": 508, "n_features": 0},
        checksum="2a2dd85e1207a45b00236fd5f72e31dd",
    ),
)

TASKS = (
    Task("cora", TaskType.node_cls, epochs=100, category=Category.social),
    Task("citeseer", TaskType.node_cls, epochs=100, category=Category.social),
    Task("pubmed", TaskType.node_cls, epochs=100, category=Category.social),
    Task("planted_partition", TaskType.node_cls, epochs=60, category=Category.social),
    Task("cora_link_pred", TaskType.link_pred, epochs=80, dataset="cora", category=Category.social),
    Task("citeseer_link_pred", TaskType.link_pred, epochs=80, dataset="citeseer", category=Category.social),
    Task("les_miserables", TaskType.link_pred, epochs=80, category=Category.social),
)
