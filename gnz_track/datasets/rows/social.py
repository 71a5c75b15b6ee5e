"""Catalogue: citations between papers, and the communities that are generated beside them."""

from __future__ import annotations

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.ogb_rows import ogb_row
from gnz_track.datasets.rows.pinned_packages import pinned
from gnz_track.types import Category, DatasetRow, Download, Origin, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_NODES_AND_LINKS = (TaskType.node_cls, TaskType.link_pred)
_PLANETOID = "gnz_track.datasets.readers.citations:read_planetoid"
_PLANETOID_URL = "https://github.com/kimiyoung/planetoid"
_PLANETOID_LICENCE = "MIT (repository); the texts' own licence is not stated"


def _raw_files(prefix: str) -> tuple[str, ...]:
    return tuple(f"ind.{prefix}.{name}" for name in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"))


def _published(prefix: str) -> tuple[Origin, ...]:
    return tuple(Download(url=f"{_PLANETOID_URL}/raw/master/data/{file}", path=file) for file in _raw_files(prefix))


def _packaged(prefix: str) -> tuple[Origin, ...]:
    return pinned("pgl", {file: f"pgl/data/{prefix}/{file}" for file in _raw_files(prefix)})


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
        **cited("yang2016", "sen2008"),
        url=_PLANETOID_URL,
        origins=_published("cora"),
        expected={"n_graphs": 1, "n_nodes": 2_708, "n_edges": 10_556, "n_features": 1_433, "n_classes": 7},
        checksum="5d2d99e2dbad791ba7fd66e81b38d6ec",
        defects=(
            "27 papers share all of their words with another one, of which one of the test with one of training.",
        ),
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
        **cited("yang2016", "sen2008"),
        url=_PLANETOID_URL,
        origins=_packaged("citeseer"),
        expected={"n_graphs": 1, "n_nodes": 3_327, "n_edges": 9_104, "n_features": 3_703, "n_classes": 6},
        checksum="5c98486c8ad16c5cf132248061833383",
        defects=(
            "20 papers with words share all of them with another one, of which one of the test with one of training.",
        ),
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
        **cited("yang2016", "sen2008"),
        url=_PLANETOID_URL,
        origins=_packaged("pubmed"),
        expected={"n_graphs": 1, "n_nodes": 19_717, "n_edges": 88_648, "n_features": 500, "n_classes": 3},
        checksum="d5ba8d7f467e9f0a49221ea68c1b3a88",
    ),
    ogb_row(
        "ogbn_arxiv",
        Category.social,
        kind="nodeproppred",
        archive="arxiv",
        split="time",
        options={"is_directed": True},
        task_types=(TaskType.node_cls,),
        source="OGB ogbn-arxiv: citations between papers on computer science on arXiv, by subject",
        licence="ODC-BY 1.0",
        expected={"n_graphs": 1, "n_nodes": 169_343, "n_edges": 1_166_243, "n_features": 128, "n_classes": 40},
        notes="Published parts by year of publication: up to 2017, 2018, from 2019 on. Citations stay directed.",
    ),
    ogb_row(
        "ogbl_collab",
        Category.social,
        kind="linkproppred",
        archive="collab",
        split="time",
        options={},
        task_types=(TaskType.link_pred,),
        source="OGB ogbl-collab: authors who wrote papers together",
        licence="ODC-BY 1.0",
        expected={"n_graphs": 1, "n_nodes": 235_868, "n_edges": 2_358_104, "n_features": 128},
        notes=(
            "Published parts by year: links up to 2017 are the graph and train, those of 2018 validate, those of 2019 "
            "are tested, each of the two against 100,000 published pairs that are no links."
        ),
        defects=("A link counts once for each year in which two authors wrote together.",),
    ),
    DatasetRow(
        name="planted_partition",
        category=Category.social,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.generators.communities:planted_partition",
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
        **cited("condon2001"),
        expected={"n_graphs": 1, "n_nodes": 600, "n_features": 16, "n_classes": 4},
        notes="The seed chooses one of ten random 20/20/60 splits.",
    ),
    DatasetRow(
        name="les_miserables",
        category=Category.social,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.generators.communities:les_miserables",
        source="shipped by networkx (les_miserables_graph): characters who meet in a chapter of the novel",
        licence="BSD-3-Clause (networkx)",
        **cited("knuth1993"),
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

LARGE_TASKS = (
    Task("ogbn_arxiv", TaskType.node_cls, epochs=50, category=Category.social),
    Task("ogbl_collab", TaskType.link_pred, epochs=20, metric="hits_at_50", category=Category.social),
)
