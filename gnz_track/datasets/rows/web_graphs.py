"""Catalogue: pages, articles, words, products and players, most of them unlike their neighbours."""

from __future__ import annotations

from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.types import Category, DatasetRow, Download, Origin, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_HETEROPHILOUS_URL = "https://github.com/yandex-research/heterophilous-graphs"
_GEOM_GCN_URL = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
_WIKICS_URL = "https://github.com/pmernyei/wiki-cs-dataset"
_COLUMNS = "20 training and validation columns, of which the seed chooses one, and one test part. 216,123 links."


def _heterophilous(name: str, *, source: str, n_nodes: int, n_edges: int, **facts: Any) -> DatasetRow:
    """Make the row of one heterophilous graph; ``n_edges`` counts each edge both ways."""
    n_features, n_classes = facts.pop("n_features"), facts.pop("n_classes")
    sizes = {"n_nodes": n_nodes, "n_edges": n_edges, "n_features": n_features, "n_classes": n_classes}
    return DatasetRow(
        name=name,
        category=Category.social,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.citations:read_heterophilous",
        options={"file": f"{name}.npz"},
        raw=f"HeterophilousGraphDataset/{name}/raw",
        source=f"Heterophilous graphs: {source}",
        licence="MIT (repository)",
        **cited("platonov2023"),
        url=_HETEROPHILOUS_URL,
        origins=(Download(url=f"{_HETEROPHILOUS_URL}/raw/main/data/{name}.npz", path=f"{name}.npz"),),
        expected={"n_graphs": 1, **sizes},
        **facts,
    )


def _geom_gcn(name: str) -> tuple[Origin, ...]:
    tables = [f"new_data/{name}/out1_{table}.txt" for table in ("node_feature_label", "graph_edges")]
    splits = [f"splits/{name}_split_0.6_0.2_{place}.npz" for place in range(10)]
    return tuple(Download(url=f"{_GEOM_GCN_URL}/{file}", path=file.rpartition("/")[2]) for file in (*tables, *splits))


def _wikics(name: str, **facts: Any) -> DatasetRow:
    return DatasetRow(
        name=name,
        category=Category.social,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.citations:read_wikics",
        raw="WikiCS/raw",
        source="Wiki-CS: articles of Wikipedia on computer science, by branch, and the links between them",
        licence="MIT (repository)",
        url=_WIKICS_URL,
        origins=(Download(url=f"{_WIKICS_URL}/raw/master/dataset/data.json", path="data.json"),),
        expected={"n_graphs": 1, "n_nodes": 11_701, "n_features": 300, "n_classes": 10},
        **facts,
    )


ROWS = (
    _wikics("wikics", **cited("mernyei2020"), notes=_COLUMNS),
    _wikics(
        "wikics_joined",
        options={"joins_stopping": True},
        **cited("mernyei2020", "dwivedi2023"),
        notes=f"{_COLUMNS} Both published validation parts are one.",
    ),
    _heterophilous(
        "roman_empire",
        source="words of the article on the Roman Empire, by syntactic role",
        n_nodes=22_662,
        n_edges=65_854,
        n_features=300,
        n_classes=18,
        defects=("The graph is constructed: words are joined to the next word and along the parsed sentence.",),
    ),
    _heterophilous(
        "amazon_ratings",
        source="products that were bought together, by mean rating",
        n_nodes=24_492,
        n_edges=186_100,
        n_features=300,
        n_classes=5,
    ),
    _heterophilous(
        "minesweeper",
        source="cells of a game of minesweeper, mines or not",
        n_nodes=10_000,
        n_edges=78_804,
        n_features=7,
        n_classes=2,
        checksum="9ff9937ea4f231378dc2a1e163907a60",
        defects=(
            "The graph is synthetic: a grid of 100 x 100 cells.",
            "20 % of the cells are mines, so accuracy says little; the paper reports the area under the ROC curve.",
        ),
    ),
    _heterophilous(
        "tolokers",
        source="workers who had a task in common, banned or not",
        n_nodes=11_758,
        n_edges=1_038_000,
        n_features=10,
        n_classes=2,
        defects=("The paper reports the area under the ROC curve, since few workers are banned.",),
    ),
    _heterophilous(
        "questions",
        source="users who answered one another's questions, still active or not",
        n_nodes=48_921,
        n_edges=307_080,
        n_features=301,
        n_classes=2,
        defects=("The paper reports the area under the ROC curve, since few users leave.",),
    ),
    DatasetRow(
        name="chameleon",
        category=Category.social,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.citations:read_geom_gcn",
        options={"prefix": "chameleon"},
        raw="WikipediaNetwork/chameleon/geom_gcn/raw",
        source="Geom-GCN: articles of Wikipedia on chameleons, by traffic, and the links between them",
        licence="not stated",
        **cited("rozemberczki2021", "pei2020"),
        url="https://github.com/graphdml-uiuc-jlu/geom-gcn",
        origins=_geom_gcn("chameleon"),
        expected={"n_graphs": 1, "n_nodes": 2_277, "n_edges": 36_101, "n_features": 2_325, "n_classes": 5},
        checksum="92fb41ce2aca29018d585d22fc8a4140",
        defects=(
            "227 of 2,277 articles are copies of another one, words and links; 375 share all of their words.",
            "In the first split, 34 of 456 articles of the test are copies of ones in training.",
        ),
    ),
    DatasetRow(
        name="cornell",
        category=Category.social,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.citations:read_geom_gcn",
        options={"prefix": "cornell"},
        raw="WebKB/cornell/raw",
        source="Geom-GCN: pages of a department of computer science, by kind, and the links between them",
        licence="not stated",
        **cited("craven2000", "pei2020"),
        url="https://github.com/graphdml-uiuc-jlu/geom-gcn",
        origins=_geom_gcn("cornell"),
        expected={"n_graphs": 1, "n_nodes": 183, "n_edges": 298, "n_features": 1_703, "n_classes": 5},
        checksum="5247a8d7b8cda83ed6da3959cff04790",
        defects=("183 pages leave 37 for the test: scores move in steps of 2.7 %.",),
    ),
)

TASKS = (
    Task("roman_empire", TaskType.node_cls, epochs=80, category=Category.social),
    Task("minesweeper", TaskType.node_cls, epochs=80, category=Category.social),
)
