"""Catalogue: molecules and proteins."""

from __future__ import annotations

from gnz_track.types import Category, DatasetRow, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_TUDATASET = "gnz_track.datasets.tudataset:read_tudataset"
_URL = "https://chrsmrrs.github.io/datasets/"
_LICENCE = "not stated by the collection"

ROWS = (
    DatasetRow(
        name="mutag",
        category=Category.biology,
        task_types=(TaskType.graph_cls,),
        loader=_TUDATASET,
        options={"prefix": "MUTAG"},
        raw="TUDataset/MUTAG/raw",
        source="TUDataset: nitroaromatic compounds, mutagenic or not",
        licence=_LICENCE,
        citation=(
            "Debnath, Lopez de Compadre, Debnath, Shusterman, Hansch: Structure-activity relationship of mutagenic "
            "aromatic and heteroaromatic nitro compounds. Journal of Medicinal Chemistry 34(2), 786-797, 1991; "
            "Morris et al.: TUDataset, GRL+ at ICML 2020"
        ),
        url=_URL,
        expected={"n_graphs": 188, "n_nodes": 3_371, "n_edges": 7_442, "n_features": 7, "n_classes": 2},
        checksum="577cab57dd5cacb9d1f96f461e190e59",
    ),
    DatasetRow(
        name="proteins",
        category=Category.biology,
        task_types=(TaskType.graph_cls,),
        loader=_TUDATASET,
        options={"prefix": "PROTEINS"},
        raw="TUDataset/PROTEINS/raw",
        source="TUDataset: secondary structure elements of proteins, enzymes or not",
        licence=_LICENCE,
        citation=(
            "Borgwardt, Ong, Schoenauer, Vishwanathan, Smola, Kriegel: Protein function prediction via graph kernels. "
            "Bioinformatics 21, i47-i56, 2005; Morris et al.: TUDataset, GRL+ at ICML 2020"
        ),
        url=_URL,
        expected={"n_graphs": 1_113, "n_nodes": 43_471, "n_edges": 162_088, "n_features": 3, "n_classes": 2},
        checksum="c316604e869de644ba3ec08eb0e01db9",
    ),
)

TASKS = (
    Task("mutag", TaskType.graph_cls, epochs=40, category=Category.biology),
    Task("proteins", TaskType.graph_cls, epochs=20, category=Category.biology),
)
