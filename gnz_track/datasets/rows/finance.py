"""Catalogue: trade, boards, patents and payments."""

from __future__ import annotations

from functools import partial

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import network_row, ogb_row, pinned
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_ELLIPTIC = "https://data.pyg.org/datasets/elliptic"
_PRODUCTS = "atlas_common_data/data/classification/product"
_row = partial(DatasetRow, category=Category.finance)
_network = partial(network_row, category=Category.finance)
_ogb = partial(ogb_row, category=Category.finance)
_task = partial(Task, category=Category.finance)


ROWS = (
    _row(
        name="elliptic_bitcoin",
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
    _ogb(
        "ogbn_products",
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
    _network(
        "product_space",
        net="SITC",
        references=("hidalgo2007",),
        source="Netzschleuder product_space, network SITC: products that countries export together",
        expected={"n_nodes": 774},
        notes="The network HS is the other classification; name it in the option of an own row.",
    ),
    _network(
        "board_directors",
        net="net1m_2002-05-01",
        references=("seierstad2011",),
        source="Netzschleuder board_directors, network net1m_2002-05-01: directors on the same Norwegian board",
        notes="Sizes were not verified against the archive.",
        defects=("Directors of one board form a clique, so that a held-out link is told by the others of its board.",),
    ),
    _network(
        "us_patents",
        references=("hall2001",),
        options={"is_directed": True},
        source="Netzschleuder us_patents: citations between patents of the United States, 1975 to 1999",
        notes="3,774,768 patents and 16.5 million citations as published; not verified against the archive.",
    ),
    _row(
        name="product_space_hs92",
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.networks:read_product_space",
        options={"edges": "hs92_ps_edges.csv", "products": "hs92.csv"},
        raw="ten/product_space_hs92",
        origins=pinned(
            "atlas-common-data", {name: f"{_PRODUCTS}/{name}" for name in ("hs92_ps_edges.csv", "hs92.csv")}
        ),
        source="Atlas of Economic Complexity: goods that countries export together, and the section of each",
        licence="Apache-2.0 (package atlas-common-data); terms of the data not stated there",
        **cited("hidalgo2007"),
        url="https://github.com/cid-harvard/atlas-common-data",
        expected={"n_graphs": 1, "n_nodes": 865, "n_edges": 4_316, "n_features": 865, "n_classes": 9},
        checksum="9ce23f8b196c5a5a0e145d331b694af0",
        notes="Features are the identity. The table's clusters and places come from the edges and are left out.",
        defects=("Edges are constructed: the strongest co-exports, thinned for drawing.",),
    ),
)

TASKS = (
    _task("product_space", TaskType.link_pred, epochs=80),
    _task("board_directors", TaskType.link_pred, epochs=40),
    _task("product_space_hs92", TaskType.node_cls, epochs=60),
)

LARGE_TASKS = (_task("ogbn_products", TaskType.node_cls, epochs=20),)
