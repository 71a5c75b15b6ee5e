from __future__ import annotations

import dataclasses
import json
import math
import pickle
import re

import pytest

from gnz_track.errors import BadValue
from gnz_track.records import LATER, to_json
from gnz_track.types import (
    Category,
    Cell,
    CellResult,
    DatasetRow,
    Direction,
    Failure,
    Metric,
    ModelRow,
    Optimiser,
    Protocol,
    Selection,
    Status,
    Suite,
    Task,
    TaskType,
)

TASK = Task("cora", TaskType.node_cls, epochs=200, category=Category.knowledge)
MODEL = ModelRow(name="GCN", task_types=(TaskType.node_cls,), target="mypkg.nets:GCN", payload=b"\x01\xff")
PROTOCOL = Protocol(
    name="default",
    version=2,
    optimisers={TaskType.node_cls: Optimiser(lr=0.01, weight_decay=5e-4)},
    selection=Selection.best_validation,
)
CELL = Cell(task=TASK, model=MODEL, seed=3, protocol=PROTOCOL, epochs=5, dataset_digest="ab" * 16, data="data")
RESULT = CellResult(
    cell=CELL,
    status=Status.finished,
    metric="accuracy",
    direction=Direction.up,
    score=0.5,
    scores={"accuracy": 0.5},
    series={"train/loss": (2.0, 1.0)},
)
ROW = DatasetRow(
    name="cora",
    category=Category.knowledge,
    task_types=(TaskType.node_cls,),
    loader="mypkg.data:cora",
    source="Planetoid",
    licence="unknown",
    citation="Sen et al., 2008",
    options={"public": True},
    expected={"n_nodes": 2708},
)
RECORDS = [
    ROW,
    TASK,
    MODEL,
    PROTOCOL,
    CELL,
    RESULT,
    Metric(name="mae", direction=Direction.down, description="mean absolute error"),
    Suite(name="quick", tasks=("cora",), description="one task"),
    Optimiser(lr=0.1),
    Failure(kind="ValueError", message="no", traceback="Traceback"),
]
each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: type(record).__name__)


def test_metric_without_bounds_has_none_and_json_names_them_where_there_are() -> None:
    metric = Metric(name="mae", direction=Direction.down, description="")
    assert metric.bounds == (-math.inf, math.inf)
    assert "low" not in to_json(metric)
    bounded = dataclasses.replace(metric, low=0.0)
    assert bounded.bounds == (0, math.inf)
    assert json.loads(to_json(bounded))["low"] == 0


@each_record
def test_record_is_frozen(record: object) -> None:
    for item in dataclasses.fields(record):  # type: ignore[arg-type]
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(record, item.name, None)


@each_record
def test_record_pickles_to_an_equal_one_with_the_same_hash(record: object) -> None:
    again = pickle.loads(pickle.dumps(record))
    assert again == record
    assert again is not record
    assert hash(again) == hash(record)
    assert to_json(again) == to_json(record)


@each_record
def test_record_is_json_with_one_key_per_field(record: object) -> None:
    found = json.loads(to_json(record))
    fields = dataclasses.fields(record)  # type: ignore[arg-type]
    assert list(found) == sorted(item.name for item in fields if LATER not in item.metadata)


def test_json_holds_names_and_numbers() -> None:
    found = json.loads(to_json(RESULT))
    assert found["status"] == "finished"
    assert found["direction"] == "up"
    assert found["series"] == {"train/loss": [2.0, 1.0]}
    assert found["cell"]["model"]["payload"] == "01ff"
    assert found["cell"]["protocol"]["optimisers"]["node_cls"]["lr"] == 0.01


def test_json_names_a_callable_by_where_it_is_defined() -> None:
    task = Task("own", TaskType.graph_cls, json.loads)
    assert json.loads(to_json(task))["loader"] == "json:loads"


def test_json_refuses_what_json_cannot_hold() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json(dataclasses.replace(RESULT, score=float("nan")))


@pytest.mark.parametrize(
    ("record", "name"),
    [(ROW, "options"), (ROW, "expected"), (PROTOCOL, "optimisers"), (RESULT, "scores"), (RESULT, "series")],
)
def test_mapping_of_a_record_cannot_be_changed(record: object, name: str) -> None:
    for mapping in (getattr(record, name), getattr(pickle.loads(pickle.dumps(record)), name)):
        before = dict(mapping)
        with pytest.raises(TypeError, match=re.escape("dataclasses.replace")):
            mapping["new"] = 1
        with pytest.raises(TypeError):
            del mapping[next(iter(before))]
        for change in (mapping.clear, mapping.popitem, lambda found=mapping: found.update(a=1)):
            with pytest.raises(TypeError, match="frozen"):
                change()
        assert mapping == before


def test_record_keeps_its_own_copy_of_a_mapping() -> None:
    scores = {"accuracy": 0.5}
    result = dataclasses.replace(RESULT, scores=scores)
    scores["accuracy"] = 0.9
    assert result.scores == {"accuracy": 0.5}


def test_hash_of_a_mapping_ignores_the_order_of_its_keys() -> None:
    one, other = (dataclasses.replace(ROW, options=options) for options in ({"a": 1, "b": 2}, {"b": 2, "a": 1}))
    assert one == other
    assert hash(one) == hash(other)


def test_cells_that_differ_in_a_hyperparameter_differ() -> None:
    other = dataclasses.replace(CELL, hyperparameters=(("lr", 0.1), ("n_layers", 3)))
    assert len({CELL, other, dataclasses.replace(other)}) == 2
    assert CELL.label == "cora GCN s3"
    assert other.label == "cora GCN s3 lr=0.1 n_layers=3"


@pytest.mark.parametrize("epochs", [0, -1, 1.5, "30", None])
def test_bad_epochs_are_refused(epochs: object) -> None:
    with pytest.raises(BadValue) as caught:
        Task("cora", TaskType.node_cls, epochs=epochs)  # type: ignore[arg-type]
    assert str(caught.value) == f"epochs is {epochs!r}; allowed: a whole number from 1 upwards."


def test_unknown_task_type_says_which_are_allowed() -> None:
    with pytest.raises(BadValue) as caught:
        Task("cora", "nodes")  # type: ignore[arg-type]
    assert str(caught.value) == (
        "task type is 'nodes'; allowed: node_cls, graph_cls, graph_reg, link_pred, edge_cls, multi_task, node_reg, "
        "edge_reg. Try: gnz tasks"
    )


def test_unknown_category_says_which_are_allowed() -> None:
    with pytest.raises(BadValue, match=r"category is 'zoo'; allowed: combinatorial, .*, custom\. Try: gnz tasks"):
        Task("cora", TaskType.node_cls, category="zoo")  # type: ignore[arg-type]


def test_task_reads_its_words_from_texts() -> None:
    task = Task("cora", "node_cls", category="knowledge")  # type: ignore[arg-type]
    assert task.task_type is TaskType.node_cls
    assert task.category is Category.knowledge
    assert task.dataset == "cora"


def test_task_may_name_another_dataset() -> None:
    assert Task("cora/link_pred", TaskType.link_pred, dataset="cora").dataset == "cora"


def test_ten_categories_and_one_for_own_data() -> None:
    assert len(Category) == 11
    assert list(Category)[-1] is Category.custom


@pytest.mark.parametrize(("direction", "is_better"), [(Direction.up, True), (Direction.down, False)])
def test_better_is_strict_and_follows_the_direction(direction: Direction, is_better: bool) -> None:  # noqa: FBT001
    assert direction.better(2.0, 1.0) is is_better
    assert direction.better(1.0, 2.0) is not is_better
    assert not direction.better(1.0, 1.0)


def test_only_finished_cells_count() -> None:
    assert RESULT.is_finished
    assert not dataclasses.replace(RESULT, status=Status.failed).is_finished


def test_reference_of_a_model_is_its_factory_then_its_class_then_its_source() -> None:
    assert MODEL.reference == "mypkg.nets:GCN"
    assert dataclasses.replace(MODEL, factory="mypkg.nets:make").reference == "mypkg.nets:make"
    by_value = ModelRow(name="N", task_types=(), payload=b"x", source_digest="0123456789abcdef")
    assert by_value.reference == "by value (0123456789ab)"


def test_label_of_a_protocol_holds_its_version() -> None:
    assert PROTOCOL.label == "default@2"


def test_json_names_a_later_field_only_where_it_says_something() -> None:
    assert "options" not in json.loads(to_json(MODEL))
    told = json.loads(to_json(dataclasses.replace(MODEL, options={"n_layers": 3})))
    assert told["options"] == {"n_layers": 3}
    assert {name for name in told if name != "options"} == set(json.loads(to_json(MODEL)))
