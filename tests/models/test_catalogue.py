"""Every way to bring a model, and every way to bring it wrongly."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
from torch import nn

from gnz_track.errors import BadValue, DuplicateName, ModelInvalid, TargetMissing, UnknownName
from gnz_track.models import building
from gnz_track.models.adapters import multi_task_factory
from gnz_track.models.building import Sizes, build, load_parts
from gnz_track.models.catalogue import MODELS, describe, describe_all, readdress, register_model
from gnz_track.registry import import_target
from gnz_track.types import ModelRow, TaskType

NODES, GRAPHS, LINKS = TaskType.node_cls, TaskType.graph_cls, TaskType.link_pred
SIZES = Sizes(in_channels=5, hidden_channels=4, out_channels=3)
NET = "users_nets:Net"


class Local(nn.Module):
    """A class of this module."""

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels)
        self.hidden_channels = hidden_channels


def _class_in_a_function(factor: int = 1) -> type:
    class Inner(Local):
        task_types = ("node_cls",)

        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
            super().__init__(in_channels, hidden_channels, factor * out_channels)

    return Inner


def _define(body: str = "1") -> type:
    """Define a class as a cell of a notebook does."""
    cell = f"""
from torch import nn

class Cell(nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels + {body})
"""
    session: dict[str, Any] = {"__name__": "__main__"}
    exec(cell, session)  # noqa: S102  (what a notebook does)
    return session["Cell"]


def _width(row: ModelRow, task_type: TaskType = NODES) -> int:
    return build(row, task_type, SIZES).linear.out_features  # type: ignore[union-attr,return-value]


def test_a_decorated_class_is_known_by_name_and_by_itself() -> None:
    @register_model(task_type="node_cls")
    class Decorated(Local):
        """First line.

        Second line.
        """

    row = MODELS.get("Decorated")
    assert (row.name, row.task_types, row.description) == ("Decorated", (NODES,), "First line.")
    assert describe("Decorated") is describe(Decorated) is row
    assert _width(row) == 3


@pytest.mark.parametrize("word", ["task_type", "task_types"])
@pytest.mark.parametrize("given", ["graph_cls", GRAPHS, {"graph_cls"}, ["graph_cls", GRAPHS], iter(["graph_cls"])])
def test_task_types_may_be_given_in_many_forms(word: str, given: Any) -> None:
    assert register_model(_define(), **{word: given if not hasattr(given, "__next__") else ["graph_cls"]}) is not None
    assert MODELS.get("Cell").task_types == (GRAPHS,)


def test_task_types_are_kept_in_the_order_of_their_list() -> None:
    register_model(_define(), task_type=["link_pred", "node_cls", "graph_cls"])
    assert MODELS.get("Cell").task_types == (NODES, GRAPHS, LINKS)


def test_a_call_with_a_factory(users: ModuleType) -> None:
    register_model(users.Silent, task_type={"node_cls"}, factory=users.make, name="Wider")
    row = describe("Wider")
    assert (row.target, row.factory, row.payload) == ("users_nets:Silent", "users_nets:make", b"")
    assert row.reference == "users_nets:make"
    assert _width(row) == 4


def test_an_encoder_factory_stays_a_flag(users: ModuleType) -> None:
    row = describe((users.Silent, {"node_cls", "graph_cls"}, multi_task_factory(users.Silent)))
    assert (row.is_encoder, row.target, row.factory, row.payload) == (True, "users_nets:Silent", "", b"")
    assert _width(row) == 3
    assert build(row, GRAPHS, SIZES).head.out_features == 3  # type: ignore[union-attr]


def test_an_encoder_factory_of_a_local_class_travels_by_value() -> None:
    inner = _class_in_a_function()
    row = describe((inner, {"graph_cls"}, multi_task_factory(inner)))
    assert row.is_encoder
    assert row.target == ""
    assert build(row, GRAPHS, SIZES).head.out_features == 3  # type: ignore[union-attr]


def test_a_class_with_its_task_types(users: ModuleType) -> None:
    row = describe(users.Net)
    assert (row.name, row.task_types, row.target) == ("Net", (NODES, GRAPHS), NET)
    assert row.description == "A linear model. It says which tasks it serves."
    assert row.payload == b""
    assert "Net" not in MODELS


def test_a_target(users: ModuleType) -> None:
    assert describe(NET) == describe(users.Net)
    assert describe(NET, name="Mine").name == "Mine"


def test_tuples_of_two_and_three(users: ModuleType) -> None:
    assert describe((users.Silent, "link_pred")).task_types == (LINKS,)
    assert describe((users.Net,)).task_types == (NODES, GRAPHS)
    three = describe((users.Silent, {"node_cls"}, users.make))
    assert _width(three) == 4
    assert describe((users.Silent, {"node_cls"}, None)) == describe((users.Silent, {"node_cls"}))
    declared = describe((users.Net, None, users.make))
    assert (declared.task_types, _width(declared)) == ((NODES, GRAPHS), 4)


@pytest.mark.parametrize("factor", [1, 2])
def test_a_class_within_a_function_travels_by_value(factor: int) -> None:
    row = describe(_class_in_a_function(factor))
    assert row.target == ""
    assert row.payload
    assert row.reference == f"by value ({row.source_digest[:12]})"
    assert _width(row) == 3 * factor


def test_a_factory_within_a_function_travels_by_value_with_its_class(users: ModuleType) -> None:
    def factory(in_channels: int, hidden_channels: int, out_channels: int) -> nn.Module:
        return users.Silent(in_channels, hidden_channels, out_channels + 5)

    row = describe((users.Silent, {"node_cls"}, factory))
    assert (row.target, row.factory) == ("", "")
    assert _width(row) == 8


def test_a_cell_that_is_run_again_replaces_its_class() -> None:
    register_model(_define("1"), task_type="node_cls")
    first = MODELS.get("Cell")
    register_model(_define("1"), task_type="node_cls")
    assert MODELS.get("Cell").source_digest == first.source_digest
    register_model(_define("2"), task_type="node_cls")
    second = MODELS.get("Cell")
    assert second.source_digest != first.source_digest
    assert (_width(first), _width(second)) == (4, 5)


def test_two_classes_that_travel_by_value_are_told_apart() -> None:
    register_model(_define(), task_type="graph_cls")
    other = _class_in_a_function()
    assert describe(other).name == "Inner"
    assert describe(MODELS.get("Cell")).name == "Cell"
    with pytest.raises(ModelInvalid, match="does not say which task types"):
        describe(_define())


def test_a_module_that_is_loaded_again_replaces_its_class(users: ModuleType) -> None:
    for task_type in ("node_cls", "graph_cls"):
        register_model(users.Silent, task_type=task_type)
    assert MODELS.get("Silent").task_types == (GRAPHS,)


def test_a_name_that_is_taken_is_refused() -> None:
    with pytest.raises(DuplicateName, match="'GCN'"):
        register_model(_define(), task_type="node_cls", name="GCN")
    assert MODELS.get("GCN").target == "gnz_track.models:GCN"


def test_a_class_of_ones_own_may_bear_a_known_name_as_long_as_it_is_not_registered(users: ModuleType) -> None:
    assert describe(users.Net, name="GCN").target == NET


def _not_a_class() -> None: ...


WRONG: dict[str, tuple[Callable[[ModuleType], Any], type[Exception], str]] = {
    "silent class": (
        lambda u: describe(u.Quiet),
        ModelInvalid,
        "'Quiet' .*does not say which task types.*task_types =",
    ),
    "silent target": (lambda _: describe("users_nets:Quiet"), ModelInvalid, "does not say which task types"),
    "empty": (lambda u: describe((u.Silent, set())), ModelInvalid, "its task types are empty"),
    "a number of tasks": (lambda u: describe((u.Silent, 3)), ModelInvalid, "its task types are 3"),
    "unknown task": (lambda u: describe((u.Silent, {"node_clas"})), BadValue, "'node_clas'; allowed: node_cls, graph"),
    "unknown name": (lambda _: describe("graphsage"), UnknownName, "did you mean 'GraphSAGE'"),
    "no such module": (lambda _: describe("no_such_nets:Net"), TargetMissing, "no module 'no_such_nets'"),
    "no such class": (lambda _: describe("users_nets:Nett"), TargetMissing, "no attribute 'Nett'"),
    "target of a function": (lambda _: describe("users_nets:make"), ModelInvalid, "a function, not a class"),
    "target of a number": (lambda _: describe("users_nets:NUMBER"), ModelInvalid, "it is a int, not a class"),
    "function": (lambda u: describe(u.make), ModelInvalid, "it is a function; pass a name, a class"),
    "module instance": (lambda u: describe(u.Net(1, 2, 3)), ModelInvalid, "it is a Net; pass a name, a class"),
    "nothing": (lambda _: describe(None), ModelInvalid, "'None' cannot be used: it is a NoneType"),
    "empty tuple": (lambda _: describe(()), ModelInvalid, r"not \(class, task_types, factory\)"),
    "tuple of four": (lambda u: describe((u.Net, "node_cls", None, 1)), ModelInvalid, r"not \(class, task_types"),
    "tuple of a name": (lambda _: describe(("GCN", "node_cls")), ModelInvalid, r"not \(class, task_types"),
    "registered without tasks": (lambda u: register_model(u.Silent), ModelInvalid, "exactly one of task_type= and"),
    "registered with both": (
        lambda u: register_model(u.Silent, task_type="node_cls", task_types="node_cls"),
        ModelInvalid,
        "'Silent' cannot be used: exactly one of",
    ),
    "registered function": (lambda _: register_model(_not_a_class, task_type="node_cls"), ModelInvalid, "not a class"),
    "decorated without tasks": (lambda _: register_model(), ModelInvalid, "exactly one of"),
}


@pytest.mark.parametrize(("act", "error", "message"), WRONG.values(), ids=WRONG)
def test_mistakes_are_told(users: ModuleType, act: Callable[..., Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        act(users)


def test_many_models_at_once(users: ModuleType) -> None:
    def names(models: Any) -> list[str]:
        return [row.name for row in describe_all(models)]

    assert names({"A": users.Net, "B": "GCN", "C": (users.Silent, "node_cls"), "GIN": "GIN"}) == ["A", "B", "C", "GIN"]
    assert names([users.Net, "GAT", (users.Silent, {"node_cls"}), MODELS.get("MLP")]) == ["Net", "GAT", "Silent", "MLP"]
    assert names(("GCN", "GAT")) == ["GCN", "GAT"]
    assert names((users.Net, users.Links)) == ["Net", "Links"]
    assert sorted(names({"GCN", "GAT"})) == ["GAT", "GCN"]
    assert names((users.Silent, {"node_cls"}, users.make)) == names((users.Silent, ["node_cls"])) == ["Silent"]
    assert names(users.Net) == names(NET) == names([users.Net]) == ["Net"]
    assert names("GCN") == names(MODELS.get("GCN")) == ["GCN"]
    assert names([]) == []


def test_a_renamed_row_keeps_all_but_its_name(users: ModuleType) -> None:
    row, renamed = describe(users.Net), describe(users.Net, name="Other")
    assert {name for name in vars(row) if getattr(row, name) != getattr(renamed, name)} == {"name"}


@pytest.mark.parametrize("name", MODELS.names())
def test_built_in_rows_travel_and_name_importable_classes(name: str) -> None:
    row = MODELS.get(name)
    assert pickle.loads(pickle.dumps(row)) == row
    assert row.description
    # A class is known by its row without options of its own.
    plain = MODELS.get(name.split("-", maxsplit=1)[0])
    assert describe(import_target(row.target)) is plain
    assert not plain.options


def test_rows_of_the_package_name_the_room_and_no_module() -> None:
    ours = [row for row in MODELS.rows() if row.target.startswith("gnz_track")]
    assert len(ours) > 40
    for row in ours:
        room, _, name = row.target.partition(":")
        assert (room, name in MODELS) == ("gnz_track.models", True)
        cls = import_target(row.target)
        assert (cls.__name__, cls.__module__.startswith("gnz_track.models.")) == (name, True)


def test_class_of_the_package_is_told_by_the_room_whatever_module_it_lies_in() -> None:
    module = MODELS.get("GIN").target.replace(":", ".elsewhere:")
    assert readdress(replace(MODELS.get("GIN"), target=module, factory=module)).factory == MODELS.get("GIN").target
    theirs = ModelRow(name="GIN", task_types=(NODES,), target="mine.nets:GIN")
    assert readdress(theirs) == theirs
    assert describe((import_target(MODELS.get("GCN").target), {"node_cls"})).target == MODELS.get("GCN").target


def test_room_has_no_other_names() -> None:
    with pytest.raises(TargetMissing, match="no attribute 'NoSuchNet'"):
        import_target("gnz_track.models:NoSuchNet")


def test_payload_that_names_a_former_module_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    factory = multi_task_factory(Local)
    now = type(factory).__module__
    payload = pickle.dumps((None, factory), protocol=0).replace(now.encode(), b"gnz_track.no_such_module")
    row = ModelRow(name="Former", task_types=(NODES,), payload=payload)
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        load_parts(row)
    monkeypatch.setitem(building._FORMER, "gnz_track.no_such_module", now)  # noqa: SLF001
    assert load_parts(row) == (None, factory)


def test_payload_that_names_a_former_module_of_a_model_is_read() -> None:
    sgc = import_target(MODELS.get("SGC").target)
    payload = pickle.dumps((sgc, None), protocol=0).replace(b"gnz_track.models.sgc", b"gnz_track.models.elsewhere")
    assert b"elsewhere" in payload
    assert load_parts(ModelRow(name="Former", task_types=(NODES,), payload=payload)) == (sgc, None)
