"""Catalogue: molecules, proteins and peptides."""

from __future__ import annotations

from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.ogb_rows import ogb_row
from gnz_track.datasets.rows.pinned_packages import pinned
from gnz_track.types import Category, DatasetRow, Download, Origin, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_TU_FILES = ("A", "graph_indicator", "graph_labels", "node_labels")
_LRGB = "https://www.dropbox.com/s"


def _tudataset(name: str, prefix: str, *, references: tuple[str, ...], **facts: Any) -> DatasetRow:
    """Make the row of one set of the collection; ``sizes`` are graphs, nodes, edges, features and classes."""
    sizes = dict(zip(("n_graphs", "n_nodes", "n_edges", "n_features", "n_classes"), facts.pop("sizes"), strict=True))
    files = tuple(f"{prefix}_{table}.txt" for table in (*_TU_FILES, *facts.pop("tables", ())))
    options = {"prefix": prefix, **facts.pop("options", {})}
    published = Download(
        url=f"https://www.chrsmrrs.com/graphkerneldatasets/{prefix}.zip",
        members={file: f"{prefix}/{file}" for file in files},
    )
    origins: tuple[Origin, ...] = facts.pop("origins", (published,))
    return DatasetRow(
        name=name,
        category=Category.biology,
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.tudataset:read_tudataset",
        options=options,
        raw=f"TUDataset/{prefix}/raw",
        licence="not stated by the collection",
        **cited(*references, "morris2020"),
        url="https://chrsmrrs.github.io/datasets/",
        expected=sizes,
        origins=origins,
        **facts,
    )


def _peptides(name: str, task_type: TaskType, *, place: str, **facts: Any) -> DatasetRow:
    """Make the row of one task on the peptides; ``place`` is where the archive lies."""
    stem = name.replace("_", "")
    return DatasetRow(
        name=name,
        category=Category.biology,
        task_types=(task_type,),
        loader="gnz_track.datasets.readers.raw_files:read_peptides",
        raw=f"LRGBDataset/{name.replace('_', '-')}/raw",
        licence="CC BY-NC 4.0",
        **cited("dwivedi2022"),
        url="https://github.com/vijaydwivedi75/lrgb",
        origins=(
            Download(
                url=f"{_LRGB}/{place}/{stem}.zip?dl=1",
                members={f"{part}.pt": f"{stem}/{part}.pt" for part in ("train", "val", "test")},
            ),
        ),
        notes="Published parts of 10,873, 2,331 and 2,331 peptides, 150.9 heavy atoms each on average.",
        **facts,
    )


ROWS = (
    _tudataset(
        "mutag",
        "MUTAG",
        references=("debnath1991",),
        source="TUDataset: nitroaromatic compounds, mutagenic or not",
        sizes=(188, 3_371, 7_442, 7, 2),
        origins=pinned(
            "grakel",
            {
                f"MUTAG_{table}.txt": f"grakel/tests/data/MUTAG/MUTAG_{table}.txt"
                for table in (*_TU_FILES, "edge_labels")
            },
        ),
        checksum="577cab57dd5cacb9d1f96f461e190e59",
        defects=("The number of atoms alone tells 85 % of the labels.",),
    ),
    _tudataset(
        "proteins",
        "PROTEINS",
        references=("borgwardt2005",),
        source="TUDataset: secondary structure elements of proteins, enzymes or not",
        sizes=(1_113, 43_471, 162_088, 3, 2),
        checksum="c316604e869de644ba3ec08eb0e01db9",
        defects=(
            "63 of 1,113 graphs look like another one to six rounds of colour refinement, 15 of them unlike in label.",
            "The number of nodes alone tells 72 % of the labels.",
        ),
    ),
    _tudataset(
        "enzymes",
        "ENZYMES",
        references=("borgwardt2005", "schomburg2004"),
        source="TUDataset: secondary structure elements of enzymes, by class of the reaction",
        sizes=(600, 19_580, 74_564, 3, 6),
        checksum="f108d16b2e800663f48720c158fba167",
        defects=("10 of 600 graphs look like another one to six rounds of colour refinement.",),
    ),
    _tudataset(
        "enzymes_attributes",
        "ENZYMES",
        references=("borgwardt2005", "schomburg2004", "dwivedi2023"),
        source="TUDataset: secondary structure elements of enzymes and 18 numbers of each, by class of the reaction",
        sizes=(600, 19_580, 74_564, 18, 6),
        tables=("node_attributes",),
        options={"features": "attributes"},
        checksum="3fcdaec98702979839917c20562efef8",
        notes="The numbers have different units and are as published.",
    ),
    _tudataset(
        "proteins_full",
        "PROTEINS_full",
        references=("borgwardt2005", "dwivedi2023"),
        source="TUDataset: secondary structure elements of proteins and 29 numbers of each, enzymes or not",
        sizes=(1_113, 43_471, 162_088, 29, 2),
        tables=("node_attributes",),
        options={"features": "attributes"},
        notes="The graphs of proteins. The numbers have different units and are as published.",
    ),
    _tudataset(
        "dd",
        "DD",
        references=("dobson2003",),
        source="TUDataset: amino acids of proteins, joined where they are near, enzymes or not",
        sizes=(1_178, 334_925, 1_686_092, 89, 2),
    ),
    _tudataset(
        "aids",
        "AIDS",
        references=("riesen2008",),
        source="TUDataset: compounds, active against HIV or not",
        sizes=(2_000, 31_385, 64_780, 38, 2),
        tables=("edge_labels",),
        checksum="ef8c632b4392639c2ddaebd88d0022e6",
        defects=(
            "The number of atoms leaks the label: whether it is at most 12 tells 99.8 % of them.",
            "127 of 2,000 graphs look like another one to six rounds of colour refinement.",
        ),
    ),
    _tudataset(
        "ptc_mr_tudataset",
        "PTC_MR",
        references=("toivonen2003",),
        source="TUDataset: compounds, carcinogenic in male rats or not",
        sizes=(344, 4_915, 10_108, 18, 2),
        tables=("edge_labels",),
        checksum="5f697b1653239bccf77b55221ed29021",
        notes="Graph by graph the same as ptc_mr.",
        defects=(
            "13 of 344 graphs look like another one to six rounds of colour refinement, 4 of them with another label.",
        ),
    ),
    _peptides(
        "peptides_func",
        TaskType.graph_cls,
        place="ycsq37q8sxs1ou8",
        source="LRGB Peptides-func: peptides and which of ten functions they have, several at once",
        expected={"n_graphs": 15_535, "n_features": 9, "n_classes": 10},
    ),
    _peptides(
        "peptides_struct",
        TaskType.graph_reg,
        place="zgv4z8fcpmknhs8",
        source="LRGB Peptides-struct: peptides and eleven properties of their shape, standardised",
        expected={"n_graphs": 15_535, "n_features": 9, "n_targets": 11},
    ),
    ogb_row(
        "ogbg_molhiv",
        Category.biology,
        kind="graphproppred/csv_mol_download",
        archive="hiv",
        split="scaffold",
        options={},
        task_types=(TaskType.graph_cls,),
        source="OGB ogbg-molhiv: molecules, inhibiting HIV or not",
        licence="MIT",
        expected={"n_graphs": 41_127, "n_features": 9, "n_classes": 2},
        notes="Published parts by scaffold.",
        defects=("3.5 % of the molecules are active, so that accuracy says little; OGB reports the ROC curve's area.",),
    ),
    ogb_row(
        "ogbg_molpcba",
        Category.biology,
        kind="graphproppred/csv_mol_download",
        archive="pcba",
        split="scaffold",
        options={},
        task_types=(TaskType.graph_cls,),
        source="OGB ogbg-molpcba: molecules and their activity in 128 assays",
        licence="MIT",
        expected={"n_graphs": 437_929, "n_features": 9, "n_targets": 128},
        notes="Published parts by scaffold. Labels that nobody measured are NaN.",
    ),
)

TASKS = (
    Task("mutag", TaskType.graph_cls, epochs=40, category=Category.biology),
    Task("proteins", TaskType.graph_cls, epochs=20, category=Category.biology),
)

LARGE_TASKS = (
    Task("ogbg_molhiv", TaskType.graph_cls, epochs=20, category=Category.biology),
    Task("ogbg_molpcba", TaskType.graph_cls, epochs=20, category=Category.biology),
)
