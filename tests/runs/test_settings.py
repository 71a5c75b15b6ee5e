"""Settings that users choose: read, refused, brought to where they count, and told apart."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.frozen import open_frozen
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.datasets.splits.nodes_and_graphs import split_nodes, take_training
from gnz_track.errors import BadValue, GnzError, NothingToRun, UnknownName
from gnz_track.models.catalogue import MODELS, describe
from gnz_track.models.gcn import GCN
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.runs.protocol_resolution import settings_of
from gnz_track.runs.run_one import run_one
from gnz_track.runs.settings import (
    SETTINGS,
    SettingChoice,
    apply_settings,
    check_choices,
    choices_for,
    read_choice,
    read_choices,
    value_at,
)
from gnz_track.runs.variants import count_variants, label_cells, trace_settings, vary_plan
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, CellSettings, ModelRow, Optimiser, Selection, Task, TaskType

NODES, GRAPHS, LINKS = "planted_partition", "graph_families", "les_miserables"
PlanFor = Callable[..., Plan]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def plan_for(home: Path) -> PlanFor:
    """Return a function from tasks, models and choices to a varied plan of short cells."""

    def plan_for(
        tasks: Any, models: Sequence[object], *chosen: str, given: Any = None, is_of_file: bool = False, **options: Any
    ) -> Plan:
        rows = [describe(model) for model in models]
        named = [
            TASKS.get(one) if isinstance(one, str) else one for one in ([tasks] if isinstance(tasks, str) else tasks)
        ]
        choices = [*read_choices(given, is_of_file=is_of_file), *map(read_choice, chosen)]
        check_choices(choices, rows)
        usual = {"seeds": [0], "protocol": PROTOCOLS.get("graphnetz"), "epochs": 3, "place": Place(home=home)}
        return vary_plan(make_plan(named, rows, **(usual | options)), choices)

    return plan_for


def labels(plan: Plan) -> list[str]:
    return label_cells(plan.cells)


def settings(cell: Cell) -> CellSettings:
    return settings_of(cell, is_multi_label=False)


# Setting -> the task on which it counts, the value that is typed, what it becomes, and what else has to be chosen.
REACH: dict[str, tuple[str, str, object, tuple[str, ...]]] = {
    "lr": (NODES, "3e-2", 0.03, ()),
    "weight_decay": (NODES, "0.5", 0.5, ()),
    "batch_size": (GRAPHS, "7", 7, ()),
    "loss": (GRAPHS, "mae", "mae", ()),
    "clip": (NODES, "0.001", 0.001, ()),
    "schedule": (NODES, "plateau", "plateau", ()),
    "factor": (NODES, "0.01", 0.01, ("schedule=plateau", "patience=0", "lr=0.5")),
    "patience": (NODES, "5", 5, ("schedule=plateau", "factor=0.01", "lr=0.5")),
    "min_lr": (NODES, "1e-1", 0.1, ("schedule=plateau", "patience=0", "lr=0.5", "factor=0.01")),
    "stop_patience": (NODES, "1", 1, ("selection=best_validation", "lr=0.9")),
    "epochs": (NODES, "2", 2, ()),
    "hours": (NODES, "1e-9", 1e-9, ()),
    "selection": (LINKS, "best_validation", Selection.best_validation, ("lr=0.9",)),
    "scoring": (GRAPHS, "per_batch", "per_batch", ("batch_size=3",)),
    "splits": (NODES, "random", "random", ()),
    "train_size": (NODES, "20", 20, ()),
    "init_seed": (NODES, "4", 4, ()),
    "split_seed": (NODES, "4", 4, ()),
    "perturbation_seed": (NODES, "4", 4, ()),
    "features": (LINKS, "learned", "learned", ()),
    "scale": (NODES, "standard", "standard", ()),
    "encoding": (NODES, "rw4", "rw4", ()),
    "hidden_channels": (NODES, "12", 12, ()),
    "code_channels": (LINKS, "5", 5, ()),
    "neighbours": (NODES, "2x3", "2x3", ()),
    "budget": (NODES, "3000", 3000, ()),
}
# Where the values of a cell are not in its settings, or change no score that a test of this length sees.
WITHOUT_PLACE = {"epochs", "budget"}


@pytest.mark.parametrize("name", SETTINGS)
def test_every_setting_reaches_training(plan_for: PlanFor, name: str) -> None:
    task, text, value, others = REACH[name]
    epochs = 8 if name in {"stop_patience", "selection"} else 3
    (plain,) = plan_for(task, ["GCN"], *others, epochs=epochs).cells
    (cell,) = plan_for(task, ["GCN"], *others, f"{name}={text}", epochs=epochs).cells
    if name == "perturbation_seed":
        plain, cell = (replace(one, perturbation="random-features") for one in (plain, cell))
    assert fingerprint(cell) != fingerprint(plain)
    if name not in WITHOUT_PLACE:
        assert value_at(settings(cell), SETTINGS[name]) == value != value_at(settings(plain), SETTINGS[name])
    first, second = run_one(plain), run_one(cell)
    assert second.is_finished, second.failure
    assert dict(first.series) != dict(second.series) or first.selected_epoch != second.selected_epoch


def test_nothing_chosen_leaves_a_plan_as_it_is(plan_for: PlanFor) -> None:
    plan = plan_for([NODES, LINKS], ["GCN", "GAT"])
    assert vary_plan(plan, ()) is plan
    (cell,) = plan_for(NODES, ["GCN"], given={"GAT": {}}).cells
    assert fingerprint(cell) == fingerprint(plan.cells[0])


def test_grid_has_a_cell_of_its_own_for_each_combination_and_seed(plan_for: PlanFor) -> None:
    plan = plan_for(NODES, ["GCN", "GAT"], "lr=0.01,0.001", "GAT.heads=4,8", "dropout=0.1", seeds=[0, 1])
    assert list(dict.fromkeys(labels(plan))) == [
        "GCN lr=0.01",
        "GCN lr=0.001",
        "GAT heads=4 lr=0.01",
        "GAT heads=8 lr=0.01",
        "GAT heads=4 lr=0.001",
        "GAT heads=8 lr=0.001",
    ]
    assert len(plan.cells) == 12 == len({fingerprint(cell) for cell in plan.cells})
    assert all(dict(cell.hyperparameters)["dropout"] == 0.1 for cell in plan.cells)
    choices = [read_choice("lr=0.01,0.001"), read_choice("GAT.heads=4,8")]
    counts = [count_variants(choices, MODELS.get(name), TASKS.get(NODES)) for name in ("GCN", "GAT", "MLP")]
    assert counts == [2, 4, 2]


def test_models_without_an_option_stay_as_they_are(plan_for: PlanFor) -> None:
    plan = plan_for(NODES, ["GCN", "GAT"], "heads=2,4")
    assert labels(plan) == ["GCN", "GAT heads=2", "GAT heads=4"]
    assert plan.cells[0].hyperparameters == ()


@pytest.mark.parametrize(
    ("one", "other"), [("lr=0.1", "lr=1e-1"), ("dropout=0", "dropout=0.0"), ("n_layers=3", "n_layers= 3")]
)
def test_one_value_written_in_two_ways_is_one_cell(plan_for: PlanFor, one: str, other: str) -> None:
    first, second = (plan_for(NODES, ["GCN"], text).cells[0] for text in (one, other))
    assert fingerprint(first) == fingerprint(second)


def test_numbers_of_python_and_yaml_are_those_of_the_command_line(plan_for: PlanFor) -> None:
    (typed,) = plan_for(NODES, ["GAT"], "lr=1", "GAT.heads=2", "encoding=none").cells
    for given in (
        {"lr": 1, "GAT": {"heads": 2}, "encoding": None},
        {"lr": "1.0", "GAT.heads": "2", "encoding": "none"},
    ):
        (cell,) = plan_for(NODES, ["GAT"], given=given).cells
        assert fingerprint(cell) == fingerprint(typed)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lr", "--set is 'lr'; allowed: NAME=VALUE"),
        ("lr=", "--set is 'lr='; allowed: NAME=VALUE"),
        ("lr=0.1,", "--set is 'lr=0.1,'; allowed: NAME=VALUE"),
        ("=1", "--set is ''; allowed: the name of a setting before ="),
        ("GAT.=1", "--set is 'GAT.'; allowed: the name of a setting before ="),
        ("lr=abc", "--set: lr is 'abc'; allowed: a number above 0"),
        ("lr=0", "--set: lr is '0'"),
        ("lr=nan", "--set: lr is 'nan'"),
        ("lr=inf", "--set: lr is 'inf'"),
        ("GCN.lr=-1", "--set: GCN.lr is '-1'"),
        ("lr=0.1,1e-1", "--set: lr is '0.1, 0.1'; allowed: each value once"),
        ("batch_size=1.5", "--set: batch_size is '1.5'; allowed: a whole number from 0"),
        ("factor=1", "--set: factor is '1'; allowed: a number between 0 and 1"),
        ("hidden_channels=1000000", "--set: hidden_channels is '1000000'; allowed: a whole number from 1 to 65536"),
        ("schedule=cosine", "--set: schedule is 'cosine'; allowed: constant, plateau, score_plateau"),
        ("selection=best", "--set: selection is 'best'; allowed: last_epoch, best_validation"),
        ("splits=half", "--set: splits is 'half'; allowed: published, random"),
        ("encoding=lap", "--set: encoding is 'lap'; allowed: none, lap20"),
        ("loss=hinge", "--set: loss is 'hinge'; allowed: usual, balanced, mae"),
        ("splits=random,published", "allowed: one value for all models"),
        ("GCN.splits=random", "allowed: one value for all models"),
        ("epochs=2,3", "allowed: one value for all models"),
        ("n_layers=0", "--set: n_layers is '0'; allowed: a whole number from 1 upwards, at most 4096"),
        ("n_layers=1000000000", "--set: n_layers is '1000000000'"),
        ("dropout=1", "--set: dropout is '1'; allowed: a number from 0 up to but not 1"),
        ("norm=group", "--set: norm is 'group'; allowed: none, batch, layer"),
        ("head=4", "unknown setting 'head'; did you mean 'heads' (of GAT, "),
        ("learning_rate=1", "unknown setting 'learning_rate'; did you mean 'lr'?"),
        ("num_layers=1", "unknown setting 'num_layers'; did you mean 'n_layers' (of GCN, GAT, "),
        ("num_bases=1", "--set: num_bases is '1'; allowed: an option of GCN, GAT; that one is of EGC"),
        ("GTA.heads=2", "unknown model of --set 'GTA'; did you mean 'GAT'?"),
        ("GIN.dropout=0", "--set: GIN.dropout is '0'; allowed: a setting of a model of this call: GCN, GAT"),
        ("GCN.heads=2", "--set: GCN.heads is '2'; allowed: an option of GCN; that one is of GAT"),
        ("seed=2", "--set: seed is '2'; allowed: no setting of --set: --seeds chooses it"),
        ("min_lr=0.1", "the schedule is constant; choose it with --set schedule=plateau"),
        ("patience=3", "validation selects the epoch: --set selection=best_validation"),
        ("batch_size=3", "its one graph is a batch"),
        ("code_channels=3", "codes are of links"),
        ("loss=mae", "its losses are usual, balanced"),
    ],
)
def test_what_cannot_be_chosen_is_refused_with_what_can(plan_for: PlanFor, text: str, message: str) -> None:
    with pytest.raises(GnzError) as caught:
        plan_for(NODES, ["GCN", "GAT"], text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (3, "settings is 3; allowed: a mapping"),
        ([1], "settings is [1]; allowed: a mapping"),
        ({3: 4}, "settings: a name is 3"),
        ({"lr": []}, "settings: lr is []; allowed: a value, or a list of values"),
        ({"lr": [[0.1]]}, "settings: lr is [[0.1]]"),
        ({"GAT": {"heads": {"a": 1}}}, "settings: GAT.heads is {'a': 1}"),
        ({"lr": True}, "settings: lr is True; allowed: a number above 0"),
        ({"lr": None}, "settings: lr is None"),
        ({"lr": 10**400}, "settings: lr is 1000"),
        ({"n_layers": True}, "settings: n_layers is True"),
        ({"GAT": {"heads": 2}, "GAT.heads": 4}, "settings: GAT.heads is 'chosen twice'"),
    ],
)
def test_mappings_that_are_none_are_refused(plan_for: PlanFor, given: Any, message: str) -> None:
    with pytest.raises(BadValue) as caught:
        plan_for(NODES, ["GCN", "GAT"], given=given)
    assert message in str(caught.value)


def test_repeated_options_are_refused_whether_a_slip_or_a_grid(plan_for: PlanFor) -> None:
    with pytest.raises(BadValue, match="several values by commas"):
        plan_for(NODES, ["GCN"], "lr=0.1", "lr=0.2")


def test_what_changes_nothing_on_one_task_is_told_and_makes_no_variant_there(plan_for: PlanFor) -> None:
    plan = plan_for([NODES, GRAPHS], ["GCN"], "batch_size=3,9")
    assert [cell.task.name for cell in plan.cells] == [NODES, GRAPHS, GRAPHS]
    assert f"batch_size changes nothing on {NODES}: its one graph is a batch" in plan.notices
    plan = plan_for([NODES, LINKS], ["GCN"], "train_size=20")
    assert f"train_size changes nothing on {LINKS}: links are not drawn by number" in plan.notices


def test_patience_is_of_the_schedule_where_there_is_one_and_of_stopping_otherwise() -> None:
    plain = CellSettings(task_type=TaskType.node_cls, seed=0)
    found = apply_settings(plain, {"patience": 4})
    assert (found.patience, found.optimiser.patience) == (4, 4)
    found = apply_settings(plain, {"patience": 4, "schedule": "plateau"})
    assert (found.patience, found.optimiser.patience) == (0, 4)
    found = apply_settings(plain, {"patience": 4, "schedule": "plateau", "stop_patience": 9})
    assert (found.patience, found.optimiser.patience) == (9, 4)


def test_gradients_are_no_longer_than_asked(plan_for: PlanFor) -> None:
    (cell,) = plan_for(NODES, ["GCN"], "clip=1e-30", "weight_decay=0").cells
    losses = run_one(replace(cell, epochs=4)).series["train/loss"]
    # Adam divides by the size of gradients, but for what keeps it from dividing by nothing.
    assert max(losses) - min(losses) < 1e-6


def test_smaller_training_parts_lie_within_larger_ones_and_leave_the_rest(plan_for: PlanFor) -> None:
    cells = plan_for(NODES, ["GCN"], "train_size=10,40,80").cells
    dataset = open_frozen(cells[0].data)
    whole = split_nodes(dataset, policy="published", seed=0)
    parts = [take_training(whole, n, dataset, seed=0) for n in (10, 40, 80)]
    assert [part.train.numel() for part in parts] == [10, 40, 80]
    for small, large in combinations([*parts, whole], 2):
        assert set(small.train.tolist()) < set(large.train.tolist())
        assert torch.equal(small.test, large.test)
        assert torch.equal(small.val, large.val)
    results = [run_one(cell) for cell in cells]
    assert [result.n_train for result in results] == [10, 40, 80]
    assert len({result.n_test for result in results}) == 1
    assert len({result.split_digest for result in results}) == 3


def test_training_part_that_is_too_small_leaves_the_task_out(plan_for: PlanFor) -> None:
    plan = plan_for([NODES, GRAPHS], ["GCN"], "train_size=200")
    assert [cell.task.name for cell in plan.cells] == [GRAPHS]
    (left_out,) = plan.skipped
    assert (left_out.task, left_out.model) == (NODES, "GCN train_size=200")
    assert f"train_size on {NODES} is 200; allowed: a whole number from 1 to " in left_out.reason
    with pytest.raises(NothingToRun, match="train_size on"):
        plan_for(GRAPHS, ["GCN"], "train_size=100000")


def test_budget_gives_each_model_its_width_on_each_task(plan_for: PlanFor) -> None:
    plan = plan_for([NODES, GRAPHS], ["GCN", "GAT"], "budget=20000,40000", "n_layers=3")
    for cell in plan.cells:
        budget = dict(cell.hyperparameters)["budget"]
        n_parameters = run_one(replace(cell, epochs=1)).n_parameters
        assert n_parameters is not None
        assert abs(n_parameters - int(budget)) <= 0.05 * int(budget)
    assert labels(plan) == [f"{model} budget={n}" for model in ("GCN", "GAT") for n in (20000, 40000)] * 2
    with pytest.raises(BadValue, match="nothing beside a budget"):
        plan_for(NODES, ["GCN"], "budget=4000", "hidden_channels=8")


def test_options_keep_the_budget_of_a_protocol(plan_for: PlanFor) -> None:
    protocol = replace(PROTOCOLS.get("dwivedi-100k"), budget=20_000)
    plan = plan_for(NODES, ["DeepGCN"], "n_layers=3,6", protocol=protocol, epochs=1)
    sizes = [run_one(cell).n_parameters for cell in plan.cells]
    assert all(n is not None and abs(n - 20_000) <= 1000 for n in sizes), sizes
    assert labels(plan) == ["DeepGCN n_layers=3", "DeepGCN n_layers=6"]
    (chosen,) = plan_for(NODES, ["DeepGCN"], "hidden_channels=8", protocol=protocol, epochs=1).cells
    assert settings(chosen).hidden_channels == 8


class Lossy(GCN):
    """A model whose option has the name of a setting."""

    task_types = frozenset({"node_cls"})

    def __init__(self, first: int, hidden: int, out: int, *, loss: str = "soft", clip: int = 1) -> None:
        super().__init__(first, hidden, out)
        self.told = (loss, clip)


def test_option_of_a_models_own_comes_before_a_setting_of_its_name(plan_for: PlanFor) -> None:
    plan = plan_for(NODES, [(Lossy, "node_cls"), "MLP"], "clip=2", "Lossy.loss=hard")
    found = [settings(cell) for cell in plan.cells]
    assert dict(found[0].options) == {"clip": 2, "loss": "hard"}
    assert (found[0].optimiser.clip, found[0].optimiser.loss) == (0.0, "")
    assert (found[1].optimiser.clip, dict(found[1].options)) == (2.0, {})


class Open(nn.Module):
    """A model that takes anything."""

    task_types = frozenset({"node_cls"})

    def __init__(
        self, first: int, hidden: int, out: int, size: object = None, share: float = 0.5, **rest: object
    ) -> None:
        super().__init__()
        self.inner, self.told = GCN(first, hidden, out), (size, share, rest)

    def forward(self, data: Data) -> torch.Tensor:
        out: torch.Tensor = self.inner(data)
        return out


def test_options_without_a_type_are_read_as_what_they_look_like(plan_for: PlanFor) -> None:
    chosen = ("Open.size=3,2.5,true,word", "Open.share=1", "Open.other=x")
    found = [dict(settings(cell).options) for cell in plan_for(NODES, [(Open, "node_cls")], *chosen).cells]
    assert [one["size"] for one in found] == [3, 2.5, True, "word"]
    assert {(one["share"], type(one["share"]), one["other"]) for one in found} == {(1.0, float, "x")}


def test_what_is_typed_comes_before_a_file_and_what_is_of_one_before_what_is_of_all() -> None:
    file = {"source": "f: settings", "is_of_file": True}
    of_file = [
        *read_choices({"lr": 0.1, "GCN": {"lr": 0.2}}, **file),
        *read_choices({"lr": 0.3, "dropout": 0.5, "GCN": {"dropout": 0.6}}, task=NODES, **file),
    ]
    gcn, mlp = MODELS.get("GCN"), MODELS.get("MLP")

    def found(model: ModelRow, task: str, *more: SettingChoice) -> Mapping[str, object]:
        return {name: one.values[0] for name, one in choices_for([*of_file, *more], model, task).items()}

    assert found(mlp, LINKS) == {"lr": 0.1}
    assert found(gcn, LINKS) == {"lr": 0.2}
    assert found(mlp, NODES) == {"lr": 0.3, "dropout": 0.5}
    assert found(gcn, NODES)["dropout"] == 0.6
    typed = read_choice("lr=9")
    assert {found(model, task, typed)["lr"] for model in (gcn, mlp) for task in (NODES, LINKS)} == {"9"}
    check_choices([*read_choices({"GIN": {"dropout": 0}}, **file)], [gcn])
    with pytest.raises(UnknownName, match="unknown model of f: settings 'GIM'"):
        check_choices([*read_choices({"GIM": {"dropout": 0}}, **file)], [gcn])


def test_origin_of_each_setting_is_told(plan_for: PlanFor) -> None:
    choices = [read_choice("lr=0.02,0.03"), read_choice("GAT.heads=2"), read_choice("budget=5000", source="--budget")]
    plan = plan_for([NODES, LINKS], ["GCN", "GAT"])
    plan = vary_plan(plan, choices)
    found = {(row.name, row.value): row for row in trace_settings(plan, choices)}
    assert found["lr", 0.02].source == "--set" == found["heads", 2].source
    assert found["budget", 5000].source == "--budget"
    assert found["weight_decay", 5e-4].source == "protocol graphnetz"
    assert found["weight_decay", 5e-4].tasks == (NODES,)
    assert found["dropout", 0.6].source == "the model's own"
    assert found["dropout", 0.6].models == ("GAT lr=0.02", "GAT lr=0.03")
    assert found["epochs", 3].source == "the task"
    widths = [row for (name, _), row in found.items() if name == "hidden_channels"]
    assert {row.source for row in widths} == {"budget of 5,000 parameters"}
    assert {name for name, _ in found} >= set(SETTINGS)


def test_origin_in_a_protocol_that_changes_datasets_and_models() -> None:
    graphs = [
        Data(x=torch.randn(5, 2), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([n % 2])) for n in range(40)
    ]
    task = replace(task_from_dataset("csl_tiny", TaskType.graph_cls, graphs), dataset="csl_tiny")
    protocol = replace(PROTOCOLS.get("dwivedi-100k"), budget=0)
    plan = make_plan([task], [MODELS.get("RingGNN")], seeds=[0], protocol=protocol)
    found = {row.name: (row.value, row.source) for row in trace_settings(plan, ())}
    assert found["lr"] == (5e-4, "protocol dwivedi-100k, for this dataset")
    assert found["batch_size"] == (5, "protocol dwivedi-100k, for this model or dataset")
    assert found["schedule"] == ("plateau", "protocol dwivedi-100k")
    assert found["n_layers"] == (2, "protocol dwivedi-100k, for this model or dataset")
    assert found["epochs"] == (1000, "protocol dwivedi-100k")


def test_records_of_before_say_nothing_of_settings_that_came_later() -> None:
    from gnz_track.records import from_json, to_json

    assert "clip" not in json.loads(to_json(Optimiser(lr=0.1)))
    assert from_json(Optimiser, '{"lr": 0.1, "weight_decay": 0.0, "batch_size": 0}') == Optimiser(lr=0.1)


def test_task_of_ones_own_can_be_varied(plan_for: PlanFor) -> None:
    graph = Data(x=torch.randn(30, 3), edge_index=torch.randint(30, (2, 90)), y=torch.arange(30) % 3)
    task: Task = task_from_dataset("mine", "node_cls", graph)
    plan = plan_for([task], ["MLP"], given={"dropout": 0, "features": ["identity", "learned"]}, is_of_file=True)
    assert labels(plan) == ["MLP"]
    assert plan.notices == ("features changes nothing on mine: its nodes have features",)
