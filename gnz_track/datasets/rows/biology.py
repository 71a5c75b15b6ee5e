"""Catalogue: molecules, proteins and peptides; metabolism, nerves, and contacts along which diseases spread."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import network_row, ogb_row, pinned
from gnz_track.types import Category, DatasetRow, Download, Origin, Task, TaskType

__all__ = ["LARGE_TASKS", "ROWS", "TASKS"]

_TU_FILES = ("A", "graph_indicator", "graph_labels", "node_labels")
_LRGB = "https://www.dropbox.com/s"
_TABLES = ("feats.npy", "graph_id.npy", "graph.json", "labels.npy")
_PPI_FILES = tuple(f"{part}_{table}" for part, table in itertools.product(("train", "valid", "test"), _TABLES))
_row = partial(DatasetRow, category=Category.biology)
_network = partial(network_row, category=Category.biology)
_ogb = partial(ogb_row, category=Category.biology)
_task = partial(Task, category=Category.biology)


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
    return _row(
        name=name,
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.graph_sets:read_tudataset",
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
    return _row(
        name=name,
        task_types=(task_type,),
        loader="gnz_track.datasets.readers.molecules:read_peptides",
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
    _ogb(
        "ogbg_molhiv",
        kind="graphproppred/csv_mol_download",
        archive="hiv",
        split="scaffold",
        task_types=(TaskType.graph_cls,),
        source="OGB ogbg-molhiv: molecules, inhibiting HIV or not",
        licence="MIT",
        expected={"n_graphs": 41_127, "n_features": 9, "n_classes": 2},
        notes="Published parts by scaffold.",
        defects=("3.5 % of the molecules are active, so that accuracy says little; OGB reports the ROC curve's area.",),
    ),
    _ogb(
        "ogbg_molpcba",
        kind="graphproppred/csv_mol_download",
        archive="pcba",
        split="scaffold",
        task_types=(TaskType.graph_cls,),
        source="OGB ogbg-molpcba: molecules and their activity in 128 assays",
        licence="MIT",
        expected={"n_graphs": 437_929, "n_features": 9, "n_targets": 128},
        notes="Published parts by scaffold. Labels that nobody measured are NaN.",
    ),
    _network(
        "celegans",
        entry="celegans_metabolic",
        references=("duch2005",),
        source="Netzschleuder celegans_metabolic: metabolites of the worm C. elegans that react with one another",
        expected={"n_nodes": 453},
        notes="2,025 pairs of metabolites as published, and self-loops, which are never scored.",
    ),
    _network(
        "budapest_connectome",
        net="all_20k",
        references=("szalkai2017",),
        source="Netzschleuder budapest_connectome, network all_20k: regions of the human brain joined by fibres",
        expected={"n_nodes": 1_015, "n_edges": 141_308},
    ),
    _network(
        "hospital_contacts",
        entry="sp_hospital",
        references=("vanhems2013",),
        source="Netzschleuder sp_hospital: patients and staff of a ward who stood face to face",
        expected={"n_nodes": 75},
        notes="32,424 contacts of 20 seconds as published, merged into 1,139 pairs.",
        defects=("41 % of all pairs met, so that most of the other pairs serve as non-edges.",),
    ),
    _network(
        "high_school_contacts",
        entry="sp_high_school",
        net="proximity",
        references=("mastrandrea2015",),
        source="Netzschleuder sp_high_school, network proximity: students who stood face to face",
        notes="327 students and 188,508 contacts of 20 seconds as published, merged into 5,818 pairs.",
    ),
    _row(
        name="ppi",
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.networks:read_ppi",
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
    _row(
        name="celegans_neural",
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.networks:read_gml",
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
    _row(
        name="ptc_mr",
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.molecules:read_ground_facts",
        raw="ten/ptc_mr",
        origins=pinned(
            "chemlogic",
            {name: f"chemlogic/data/datasets/ptc/{name}" for name in ("examples.txt", "queries.txt")},
        ),
        source="Predictive Toxicology Challenge: compounds that cause cancer in male rats, or do not",
        licence="MIT (package chemlogic); terms of the data not stated there",
        **cited("helma2001"),
        url="https://www.predictive-toxicology.org/ptc/",
        expected={"n_graphs": 344, "n_nodes": 4_915, "n_edges": 10_108, "n_features": 18, "n_classes": 2},
        checksum="5f697b1653239bccf77b55221ed29021",
        notes="Graph by graph equal to PTC_MR of TUDataset.",
        defects=("Labels are noisy: a forest on the counts of atoms and bonds reaches an AUC of 0.63.",),
    ),
)

TASKS = (
    _task("mutag", TaskType.graph_cls, epochs=40),
    _task("proteins", TaskType.graph_cls, epochs=20),
    _task("celegans", TaskType.link_pred, epochs=80),
    _task("ptc_mr", TaskType.graph_cls, epochs=40),
)

LARGE_TASKS = (
    _task("ogbg_molhiv", TaskType.graph_cls, epochs=20),
    _task("ogbg_molpcba", TaskType.graph_cls, epochs=20),
)
