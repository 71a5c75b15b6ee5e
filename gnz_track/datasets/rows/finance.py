"""Catalogue: trade, boards, patents and payments."""

from __future__ import annotations

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.network_rows import network_row
from gnz_track.datasets.rows.ogb_rows import ogb_row
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_ELLIPTIC = "https://data.pyg.org/datasets/elliptic"

ROWS = (
    DatasetRow(
        name="elliptic_bitcoin",
        category=Category.finance,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.networks:read_elliptic",
        options={"validation_from": 30, "test_from": 35},
        raw="EllipticBitcoinDataset/raw",
        source="Elliptic: Bitcoin transactions of 49 time steps, licit or illicit, with 165 features",
        licence="CC BY-NC-ND 4.0",
        **cited("weber2019"),
        url="https://www.kaggle.com/datasets/ellipticco/elliptic-data-set",
        origins=tuple(
            Download(url=f"{_ELLIPTIC}/{file}.zip", members={file: file})
            for file in ("elliptic_txs_features.csv", "elliptic_txs_edgelist.csv", "elliptic_txs_classes.csv")
        ),
        expected={"n_graphs": 1, "n_nodes": 203_769, "n_edges": 234_355, "n_features": 165, "n_classes": 2},
        notes="Published are training up to time step 34 and test after it; steps 30 to 34 validate here.",
        defects=(
            "157,205 of 203,769 transactions have no label; they carry messages and are in no part.",
            "9.8 % of the labelled transactions are illicit, so accuracy says little.",
            "What the features mean is not published.",
        ),
    ),
    ogb_row(
        "ogbn_products",
        Category.finance,
        kind="nodeproppred",
        archive="products",
        split="sales_ranking",
        task_types=(TaskType.node_cls,),
        options={"is_directed": False},
        source="OGB ogbn-products: products of Amazon that were bought together, by category",
        licence="Amazon licence, as OGB states it",
        expected={"n_graphs": 1, "n_nodes": 2_449_029, "n_edges": 123_718_280, "n_features": 100, "n_classes": 47},
        notes="1.4 GB to fetch; the graph alone takes 2 GB of memory.",
    ),
    network_row(
        "product_space",
        Category.finance,
        entry="product_space",
        net="SITC",
        references=("hidalgo2007",),
        source="Netzschleuder product_space, network SITC: products that countries export together",
        expected={"n_nodes": 774},
        notes="The network HS is the other classification; name it in the option of an own row.",
    ),
    network_row(
        "board_directors",
        Category.finance,
        entry="board_directors",
        net="net1m_2002-05-01",
        references=("seierstad2011",),
        source="Netzschleuder board_directors, network net1m_2002-05-01: directors on the same Norwegian board",
        notes="Sizes were not verified against the archive.",
        defects=("Directors of one board form a clique, so that a held-out link is told by the others of its board.",),
    ),
    network_row(
        "us_patents",
        Category.finance,
        entry="us_patents",
        references=("hall2001",),
        options={"is_directed": True},
        source="Netzschleuder us_patents: citations between patents of the United States, 1975 to 1999",
        notes="3,774,768 patents and 16.5 million citations as published; not verified against the archive.",
    ),
)

TASKS = (
    Task("product_space", TaskType.link_pred, epochs=80, category=Category.finance),
    Task("board_directors", TaskType.link_pred, epochs=40, category=Category.finance),
)

LARGE_TASKS = (Task("ogbn_products", TaskType.node_cls, epochs=20, category=Category.finance),)
