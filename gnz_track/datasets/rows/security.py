"""Catalogue: malware, attacks, crimes, and contacts between suspects."""

from __future__ import annotations

from functools import partial

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import network_row, pinned
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_MALNET = "http://malnet.cc.gatech.edu"
_TINY = "Few links are held out, so that scores vary widely between seeds."
_CRIME = "nxviz-0.9.0/examples/datasets/moreno_crime"
_CRIME_FILES = {
    "edges": "out.moreno_crime_crime",
    "roles": "rel.moreno_crime_crime.person.role",
    "sexes": "ent.moreno_crime_crime.person.sex",
}
_ATTACK = "pymispgalaxies/data/misp-galaxy/clusters"
_row = partial(DatasetRow, category=Category.security)
_network = partial(network_row, category=Category.security)
_task = partial(Task, category=Category.security)


ROWS = (
    _row(
        name="malnet_tiny",
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.readers.graph_sets:read_malnet",
        raw="MalNetTiny/raw",
        source="MalNet-Tiny: function call graphs of Android software, benign and four types of malware",
        licence="CC BY 4.0",
        **cited("freitas2021"),
        url="https://mal-net.org/",
        origins=(
            Download(url=f"{_MALNET}/graph-data/malnet-graphs-tiny.tar.gz", path="malnet-graphs-tiny.tar.gz"),
            Download(
                url=f"{_MALNET}/split-info/split_info_tiny.zip",
                members={
                    f"split_info_tiny/type/{part}.txt": f"split_info_tiny/type/{part}.txt"
                    for part in ("train", "val", "test")
                },
            ),
        ),
        expected={"n_graphs": 5_000, "n_features": 0, "n_classes": 5},
        notes="Published parts of 3,500, 500 and 1,000 graphs, of at most 5,000 nodes.",
    ),
    _network(
        "terrorists_911",
        references=("krebs2002",),
        source="Netzschleuder terrorists_911: associations around the hijackers of 11 September 2001",
        expected={"n_nodes": 62, "n_edges": 304},
        defects=(_TINY,),
    ),
    _network(
        "train_terrorists",
        references=("hayes2006",),
        source="Netzschleuder train_terrorists: contacts between suspects of the Madrid bombing of 11 March 2004",
        expected={"n_nodes": 64, "n_edges": 486},
        defects=(_TINY,),
    ),
    _row(
        name="hijackers_911",
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.networks:read_edge_list",
        options={"file": "terrorists.net"},
        raw="networks/terrorists_911",
        source="a smaller transcription of the network around the hijackers of 11 September 2001, 34 persons",
        licence="not stated",
        **cited("krebs2002"),
        url="https://github.com/watsonaiden/Visualization_complilation",
        expected={"n_graphs": 1, "n_nodes": 34, "n_edges": 186, "n_features": 0},
        checksum="dd6cc9c71e4a829761082c7dae9f8fd8",
        notes="Not the network terrorists_911 of the published benchmark, which has 62 persons and 152 links.",
        defects=(_TINY,),
    ),
    _row(
        name="crime_roles",
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
    _row(
        name="mitre_attack",
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

TASKS = (
    _task("terrorists_911", TaskType.link_pred, epochs=120),
    _task("crime_roles", TaskType.edge_cls, epochs=120, metric="f1_macro"),
    _task("mitre_attack", TaskType.link_pred, epochs=100),
)
