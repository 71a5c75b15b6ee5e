"""Catalogue: properties of molecules, and spins on a lattice."""

from __future__ import annotations

from functools import partial

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import pinned
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_BENCHMARKING = "https://github.com/graphdeeplearning/benchmarking-gnns"
_ZINC_INDEX = "https://raw.githubusercontent.com/graphdeeplearning/benchmarking-gnns/master/data/molecules"
_MOLECULENET = "https://deepchemdata.s3-us-west-1.amazonaws.com/datasets"
_PARTS = ("train", "val", "test")
_QM7 = "qmllib-1.2.0/tests/assets"
_row = partial(DatasetRow, category=Category.physics)
_task = partial(Task, category=Category.physics)


ROWS = (
    _row(
        name="qm9",
        task_types=(TaskType.graph_reg,),
        loader="gnz_track.datasets.readers.graph_sets:read_graph_list",
        options={"file": "qm9_v3.pt"},
        raw="QM9/raw",
        source="QM9: small organic molecules and 19 properties from quantum chemistry, as PyG has them",
        licence="CC0 (Scientific Data)",
        **cited("ramakrishnan2014", "wu2018"),
        url="https://doi.org/10.6084/m9.figshare.c.978904",
        origins=(Download(url="https://data.pyg.org/datasets/qm9_v3.zip", members={"qm9_v3.pt": "qm9_v3.pt"}),),
        expected={"n_graphs": 130_831, "n_features": 11, "n_targets": 19},
        notes="The 19 targets have different units: a mean absolute error over all of them is ruled by the largest.",
    ),
    _row(
        name="zinc",
        task_types=(TaskType.graph_reg,),
        loader="gnz_track.datasets.readers.molecules:read_zinc",
        options={"is_subset": True},
        raw="ZINC/raw",
        source="ZINC: the subset of 12,000 molecules and their penalised logP",
        licence="free for research (ZINC)",
        **cited("dwivedi2023", "irwin2012"),
        url=_BENCHMARKING,
        origins=(
            Download(
                url="https://www.dropbox.com/s/feo9qle74kg48gy/molecules.zip?dl=1",
                members={f"{part}.pickle": f"molecules/{part}.pickle" for part in _PARTS},
            ),
            *(Download(url=f"{_ZINC_INDEX}/{part}.index", path=f"{part}.index") for part in _PARTS),
        ),
        expected={"n_graphs": 12_000, "n_features": 1, "n_targets": 1},
        notes="Published parts of 10,000, 1,000 and 1,000.",
    ),
    _row(
        name="aqsol",
        task_types=(TaskType.graph_reg,),
        loader="gnz_track.datasets.readers.molecules:read_aqsol",
        raw="AQSOL/raw",
        source="AqSolDB: molecules and the measured log of their solubility in water",
        licence="MIT (repository); CC0 (AqSolDB)",
        **cited("sorkun2019", "dwivedi2023"),
        url=_BENCHMARKING,
        origins=(
            Download(
                url="https://www.dropbox.com/s/lzu9lmukwov12kt/aqsol_graph_raw.zip?dl=1",
                members={f"{part}.pickle": f"asqol_graph_raw/{part}.pickle" for part in _PARTS},
            ),
        ),
        expected={"n_graphs": 9_833, "n_nodes": 172_911, "n_edges": 352_000, "n_features": 1, "n_targets": 1},
        checksum="891b226d6d87de68ec1c5a54d2e34671",
        notes="Published parts of 7,836, 998 and 999; molecules without a bond are left out.",
    ),
    _row(
        name="esol",
        task_types=(TaskType.graph_reg,),
        loader="gnz_track.datasets.readers.molecules:read_moleculenet",
        options={"file": "delaney-processed.csv", "target": "measured log solubility in mols per litre"},
        raw="MoleculeNet/esol/raw",
        source="ESOL: molecules and the measured log of their solubility in water",
        licence="MIT (repository)",
        **cited("delaney2004", "wu2018"),
        url="https://moleculenet.org/",
        origins=(Download(url=f"{_MOLECULENET}/delaney-processed.csv", path="delaney-processed.csv"),),
        extra="chem",
        expected={"n_graphs": 1_128, "n_nodes": 14_991, "n_edges": 30_856, "n_features": 9, "n_targets": 1},
    ),
    _row(
        name="freesolv",
        task_types=(TaskType.graph_reg,),
        loader="gnz_track.datasets.readers.molecules:read_moleculenet",
        options={"file": "SAMPL.csv", "target": "expt"},
        raw="MoleculeNet/freesolv/raw",
        source="FreeSolv: molecules and their measured free energy of hydration",
        licence="CC BY-NC-SA 4.0 (FreeSolv)",
        **cited("mobley2014", "wu2018"),
        url="https://moleculenet.org/",
        origins=(Download(url=f"{_MOLECULENET}/SAMPL.csv", path="SAMPL.csv"),),
        extra="chem",
        expected={"n_graphs": 642, "n_nodes": 5_600, "n_edges": 10_770, "n_features": 9, "n_targets": 1},
    ),
    _row(
        name="ising_lattice",
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.generators.combinatorial:ising_lattice",
        options={"side": 20, "temperature": 2.27},
        is_seed_aware=True,
        source="generated: 20 x 20 lattice, eight neighbours, free borders, independent spins",
        licence="Apache-2.0",
        **cited("ising1925"),
        expected={"n_graphs": 1, "n_nodes": 400, "n_edges": 2_964, "n_features": 1},
        notes=(
            "Spins as in GraphNetz 0.2.0. Its lattice also has a loop at every site and scores loops as links, "
            "which a dot product gets right for free; ours has none."
        ),
        defects=("Spins are independent of the lattice, so that features say nothing of links.",),
    ),
    _row(
        name="qm7",
        task_types=(TaskType.graph_reg,),
        loader="gnz_track.datasets.readers.molecules:read_xyz_energies",
        options={"energies": "hof_qm7.txt", "structures": "xyz", "centre": -4.34, "every": 5},
        raw="ten/qm7",
        origins=pinned("qmllib", {"hof_qm7.txt": f"{_QM7}/hof_qm7.txt", "xyz": f"{_QM7}/qm7/"}),
        source="QM7: atomisation energies of small organic molecules (PBE0), every fifth of those in the archive",
        licence="MIT (package qmllib); terms of the data not stated there",
        **cited("rupp2012", "blum2009"),
        url="http://quantum-machine.org/datasets/",
        expected={"n_graphs": 1_421, "n_nodes": 22_005, "n_edges": 42_994, "n_features": 6},
        checksum="e5eda010455fe94aedcbb0d211361b44",
        notes=(
            "y is the energy in eV per atom plus 4.34, the rounded mean: models pool by the mean, which cannot count "
            "atoms, and hundreds of kcal/mol would take most epochs to reach. A mean absolute error stays in "
            "eV per atom; 0.1796 is that of the mean, 0.047 that of a line through the shares of the five elements "
            "(all 7,101 molecules). Every fifth molecule, because the files are sorted by size."
        ),
        defects=(
            "Bonds are constructed from distances, 1.25 times the sum of the covalent radii.",
            "64 of the published 7,165 molecules are not in the archive.",
        ),
    ),
)

TASKS = (
    _task("zinc", TaskType.graph_reg, epochs=10),
    _task("ising_lattice", TaskType.link_pred, epochs=60),
    _task("qm7", TaskType.graph_reg, epochs=40),
)
