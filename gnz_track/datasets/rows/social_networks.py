"""Catalogue: who knows, writes to, works with or rates whom."""

from __future__ import annotations

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.network_rows import network_row
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

ROWS = (
    DatasetRow(
        name="movielens100k",
        category=Category.social,
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
    network_row(
        "karate",
        Category.social,
        entry="karate",
        net="78",
        loader="gnz_track.datasets.readers.gml:read_gml",
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
    network_row(
        "facebook_friends",
        Category.social,
        entry="facebook_friends",
        references=("maier2017",),
        source="Netzschleuder facebook_friends: friends of one user and who of them are friends",
        notes="362 persons and 1,988 links as published; not verified against the archive.",
    ),
    network_row(
        "dblp_coauthor",
        Category.social,
        entry="dblp_coauthor",
        references=("ley2002", "kunegis2013"),
        source="Netzschleuder dblp_coauthor: authors of papers on computing who wrote together",
        notes="Sizes were not verified against the archive. A link counts once, however many papers two authors share.",
    ),
    network_row(
        "dnc_emails",
        Category.social,
        entry="dnc",
        options={"is_directed": True},
        references=("kunegis2013", "rossi2015"),
        source="Netzschleuder dnc: who wrote e-mails to whom in the leak of the Democratic National Committee, 2016",
        notes="2,029 persons and 39,264 e-mails as published, repeated ones counted; they are merged here.",
    ),
    DatasetRow(
        name="facebook_combined",
        category=Category.social,
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
)

TASKS: tuple[Task, ...] = ()
