"""Catalogue: knowledge graphs."""

from __future__ import annotations

from functools import partial

from gnz_track.datasets.references import cited
from gnz_track.datasets.rows.templates import network_row, pinned
from gnz_track.types import Category, DatasetRow, Download, Origin, Task, TaskType

__all__ = ["ROWS", "TASKS"]

_FREEBASE = "https://raw.githubusercontent.com/MichSchli/RelationPrediction/master/data/FB-Toutanova"
_WORDNET = "https://raw.githubusercontent.com/villmow/datasets_knowledge_embedding/master"
_NAMED = "gnz_track.datasets.readers.knowledge:read_named_triples"
_PARTS = ("train.txt", "valid.txt", "test.txt")
_PYKEEN_URL = "https://github.com/pykeen/pykeen"
_VILLMOW_URL = "https://github.com/villmow/datasets_knowledge_embedding"
_TRIPLES = "gnz_track.datasets.readers.knowledge:read_identified_triples"
_row = partial(DatasetRow, category=Category.knowledge)
_network = partial(network_row, category=Category.knowledge)
_task = partial(Task, category=Category.knowledge)


def _other_parts(name: str) -> tuple[Origin, ...]:
    return tuple(Download(url=f"{_WORDNET}/other/{name}/{file}", path=file) for file in _PARTS)


def _sizes(n_entities: int, n_relations: int, n_training: int) -> dict[str, int]:
    """Return sizes of which edges and relations count inverses too."""
    counted = {"n_nodes": n_entities, "n_edges": 2 * n_training, "n_relations": 2 * n_relations}
    return {"n_graphs": 1, "n_features": 0, **counted}


ROWS = (
    _row(
        name="fb15k_237",
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.readers.knowledge:read_triples",
        raw="RelLinkPredDataset/FB15k-237/raw",
        source="Freebase triples without inverse relations, published parts",
        licence="CC BY 2.5 (Freebase)",
        **cited("toutanova2015", "schlichtkrull2018"),
        url="https://github.com/MichSchli/RelationPrediction",
        origins=tuple(
            Download(url=f"{_FREEBASE}/{file}", path=file) for file in ("entities.dict", "relations.dict", *_PARTS)
        ),
        expected=_sizes(14_541, 237, 272_115),
        checksum="298310f54a85f7b24c75d57541362193",
        defects=("29 entities of the test and 8 of validation are in no training triple; 37 triples name them.",),
        notes="474 relation numbers, 237 of them inverses; training triples pass messages from head to tail only.",
    ),
    _row(
        name="wordnet18rr",
        task_types=(TaskType.link_pred,),
        loader=_NAMED,
        raw="WordNet18RR/raw",
        source="WordNet triples without inverse relations, published parts",
        licence="WordNet licence",
        **cited("dettmers2018", "fellbaum1998"),
        url=_VILLMOW_URL,
        origins=tuple(Download(url=f"{_WORDNET}/WN18RR/original/{file}", path=file) for file in _PARTS),
        expected=_sizes(40_943, 11, 86_835),
        checksum="2cd042bbe0f9772b0b149f4fbe309809",
        defects=(
            "209 entities of the test and 198 of validation are in no training triple; 420 triples name them.",
            "1,086 of 3,134 test triples stand reversed, with the same relation, among the training triples.",
        ),
        notes="93,003 triples in all parts; 22 relation numbers, 11 of them inverses.",
    ),
    _network(
        "wordnet_netz",
        entry="wordnet",
        references=("fellbaum1998", "kunegis2013"),
        source="Netzschleuder wordnet: words and how their meanings are related",
        notes="146,005 words and 656,999 links as published; not verified against the archive.",
    ),
    _row(
        name="nations",
        task_types=(TaskType.link_pred,),
        loader=_NAMED,
        raw="kg_small/nations_pykeen",
        source="Nations: relations between 14 states from 1950 to 1965, as shipped by PyKEEN",
        licence="MIT (package)",
        **cited("rummel1999", "kemp2006"),
        url=_PYKEEN_URL,
        origins=pinned("pykeen", {file: f"pykeen/datasets/nations/{file}" for file in _PARTS}),
        expected=_sizes(14, 55, 1_592),
        checksum="62ab476df4c87136b088ccfad5a59487",
    ),
    _row(
        name="kinships_even",
        task_types=(TaskType.link_pred,),
        loader=_NAMED,
        options={"order": "rht"},
        raw="kg_small/kinship",
        source="Kinships: the same triples as kinships, other parts: exactly 80, 10 and 10 %",
        licence="MIT (repository)",
        **cited("kemp2006"),
        url=_VILLMOW_URL,
        origins=_other_parts("kinship"),
        expected=_sizes(104, 25, 8_548),
        checksum="f9c427fc385575233609fc3857068f25",
    ),
    _row(
        name="umls_even",
        task_types=(TaskType.link_pred,),
        loader=_NAMED,
        raw="kg_small/umls",
        source="UMLS: semantic types of medicine and the relations between them, the same parts as umls",
        licence="MIT (repository); UMLS licence for the terms",
        **cited("mccray2003", "kemp2006"),
        url=_VILLMOW_URL,
        origins=_other_parts("umls"),
        expected=_sizes(135, 46, 5_216),
        checksum="16e98130571a12623b38f833da80dd1f",
    ),
    _row(
        name="nations_even",
        task_types=(TaskType.link_pred,),
        loader=_NAMED,
        options={"order": "rht"},
        raw="kg_small/nations",
        source="Nations: relations between 14 states, other parts than nations: exactly 80, 10 and 10 %",
        licence="MIT (repository)",
        **cited("rummel1999", "kemp2006"),
        url=_VILLMOW_URL,
        origins=_other_parts("nations"),
        expected=_sizes(14, 56, 1_619),
        checksum="332c962602327302818cc76e5334f097",
    ),
    _row(
        name="umls",
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
    _row(
        name="kinships",
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
)

TASKS = (
    _task("fb15k_237", TaskType.link_pred, epochs=20),
    _task("wordnet18rr", TaskType.link_pred, epochs=20),
    _task("umls", TaskType.link_pred, epochs=100),
    _task("kinships", TaskType.link_pred, epochs=100),
)
