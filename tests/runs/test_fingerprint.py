"""The fingerprint changes with what decides the numbers, and with nothing else."""

from __future__ import annotations

import importlib
import pickle
from dataclasses import replace
from typing import Any

import pytest

from gnz_track.models.catalogue import MODELS
from gnz_track.records import to_json
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Category, Cell, Selection, Task, TaskType

CELL = Cell(
    task=Task("cora", TaskType.node_cls, dataset="cora", epochs=100),
    model=MODELS.get("GCN"),
    seed=3,
    protocol=PROTOCOLS.get("graphnetz"),
    epochs=100,
    dataset_digest="a" * 32,
    data="data/cora",
    hyperparameters=(("lr", 0.01), ("heads", 8)),
)


def test_fingerprint_is_the_same_everywhere() -> None:
    # Written down: a change here would silently forget every past run. Raise NUMBERS for that, with the reason.
    assert fingerprint(CELL) == fingerprint(replace(CELL))
    assert fingerprint(CELL) == "10d0af470066269cf03930eab3439101"


MATTERS: dict[str, dict[str, Any]] = {
    "seed": {"seed": 4},
    "epochs": {"epochs": 99},
    "data": {"dataset_digest": "b" * 32},
    "hyperparameters": {"hyperparameters": (("lr", 0.02), ("heads", 8))},
    "compile": {"hyperparameters": (("lr", 0.01), ("heads", 8), ("compile", True))},
    "amp": {"hyperparameters": (("lr", 0.01), ("heads", 8), ("amp", "float16"))},
    "type of a hyperparameter": {"hyperparameters": (("lr", "0.01"), ("heads", 8))},
    "no hyperparameters": {"hyperparameters": ()},
    "model": {"model": MODELS.get("GAT")},
    "name of the model": {"model": replace(MODELS.get("GCN"), name="mine")},
    "whose model it is": {"model": replace(MODELS.get("GCN"), target="mine.nets:GCN")},
    "module of a model of the user's": {"model": replace(MODELS.get("GCN"), target="mine:GCN")},
    "class of the model": {"model": replace(MODELS.get("GCN"), target="gnz_track.models:GAT")},
    "code of the model": {"model": replace(MODELS.get("GCN"), source_digest="c" * 32)},
    "factory of the model": {"model": replace(MODELS.get("GCN"), factory="my.nets:make")},
    "options of the model": {"model": replace(MODELS.get("GCN"), options={"n_layers": 3})},
    "protocol": {"protocol": PROTOCOLS.get("best-val")},
    "version of the protocol": {"protocol": replace(PROTOCOLS.get("graphnetz"), version=2)},
    "selection": {"protocol": replace(PROTOCOLS.get("graphnetz"), selection=Selection.best_validation)},
    "width": {"protocol": replace(PROTOCOLS.get("graphnetz"), hidden_channels=128)},
    "task": {"task": replace(CELL.task, name="other", dataset="cora")},
    "task type": {"task": replace(CELL.task, task_type=TaskType.link_pred)},
    "metric": {"task": replace(CELL.task, metric="auc")},
    "what is hidden": {"is_blind": True},
    "what is done to the graphs": {"perturbation": "empty-graph"},
    "code of one's own beside the model": {"code": (("metric accuracy", "d" * 32),)},
}
DOES_NOT_MATTER: dict[str, dict[str, Any]] = {
    "folder": {"data": "elsewhere"},
    "device": {"device": "cuda:1"},
    "category": {"task": replace(CELL.task, category=Category.social)},
    "usual epochs": {"task": replace(CELL.task, epochs=7)},
    "dataset's name": {"task": replace(CELL.task, dataset="cora_again")},
    "parts of the model's code, which its digest sums up": {"model": replace(MODELS.get("GCN"), parts={"a:b": "c"})},
    "module of a model of the package": {"model": replace(MODELS.get("GCN"), target="gnz_track.models.gcn:GCN")},
    "description of the model": {"model": replace(MODELS.get("GCN"), description="the best")},
    "task types of the model": {"model": replace(MODELS.get("GCN"), task_types=(TaskType.node_cls,))},
    "description of the protocol": {"protocol": replace(PROTOCOLS.get("graphnetz"), description="the best")},
    "order of hyperparameters": {"hyperparameters": (("heads", 8), ("lr", 0.01))},
    "files that it leaves": {"keep": "predictions"},
    "size of files that it leaves": {"keep_at_most": 2**20},
}


@pytest.mark.parametrize("what", MATTERS)
def test_it_changes_with(what: str) -> None:
    assert fingerprint(replace(CELL, **MATTERS[what])) != fingerprint(CELL)


@pytest.mark.parametrize("what", DOES_NOT_MATTER)
def test_it_does_not_change_with(what: str) -> None:
    assert fingerprint(replace(CELL, **DOES_NOT_MATTER[what])) == fingerprint(CELL)


def test_a_cell_takes_its_fingerprint_along_and_a_changed_one_has_its_own() -> None:
    cell = replace(CELL)
    kept = fingerprint(cell)
    there = pickle.loads(pickle.dumps(cell))
    assert (there, hash(there), to_json(there)) == (CELL, hash(CELL), to_json(CELL))
    assert fingerprint(there) is vars(there)["_fingerprint"]
    assert fingerprint(there) == kept
    assert fingerprint(replace(there, seed=there.seed + 1)) != kept


def test_module_of_a_model_of_the_users_matters() -> None:
    first, second = (
        replace(CELL, model=MATTERS[what]["model"]) for what in list(MATTERS) if "whose" in what or "module" in what
    )
    assert fingerprint(first) != fingerprint(second)


def test_numbers_of_one_model_may_change_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    # Texts of models are kept, and these descriptions are in none.
    others = [replace(CELL, model=replace(MODELS.get(name), description="before")) for name in ("GCN", "GAT")]
    before = list(map(fingerprint, others))
    monkeypatch.setitem(importlib.import_module(fingerprint.__module__)._OF_MODELS, "GCN", 2)  # noqa: SLF001
    after = [fingerprint(replace(cell, model=replace(cell.model, description="after"))) for cell in others]
    assert (before[0] == after[0], before[1] == after[1]) == (False, True)


def test_every_field_of_a_cell_is_decided_upon() -> None:
    decided = {name for changes in (*MATTERS.values(), *DOES_NOT_MATTER.values()) for name in changes}
    assert decided == set(Cell.__dataclass_fields__)
