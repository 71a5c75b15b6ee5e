"""What a protocol means for one task and one model, and the widths that its budget gives."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.datasets.preparation import prepare
from gnz_track.errors import NothingToRun
from gnz_track.models.catalogue import MODELS, usual_models
from gnz_track.records import to_json
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Place, make_plan
from gnz_track.runs.protocol_resolution import find_override, given_to, list_widths, resolve
from gnz_track.runs.run_one import run_one
from gnz_track.store.cell_book import read_book, write_book
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Optimiser, Override, Protocol, Selection, Task, TaskType

DEEP = [name for name in PROTOCOLS if name.startswith("dwivedi-")]
SMALL, LARGE = PROTOCOLS.get("dwivedi-100k"), PROTOCOLS.get("dwivedi-500k")
CONFIGS = {
    "zinc": (TaskType.graph_reg, 128, 1e-3, 10, 1e-5),
    "aqsol": (TaskType.graph_reg, 128, 1e-3, 10, 1e-5),
    "mnist_superpixels": (TaskType.graph_cls, 128, 1e-3, 10, 1e-5),
    "sbm_pattern": (TaskType.node_cls, 128, 1e-3, 5, 1e-5),
    "sbm_cluster_tiny": (TaskType.node_cls, 128, 1e-3, 5, 1e-5),
    "tsp_1pct": (TaskType.edge_cls, 64, 1e-3, 10, 1e-5),
    "csl_generated": (TaskType.graph_cls, 5, 5e-4, 5, 1e-6),
    "cycles": (TaskType.graph_cls, 25, 1e-4, 10, 1e-6),
    "graph_theory": (TaskType.multi_task, 25, 1e-3, 15, 1e-6),
    "wikics": (TaskType.node_cls, 128, 1e-2, 25, 1e-5),
    "dd": (TaskType.graph_cls, 20, 1e-4, 25, 1e-6),
}


def _task(dataset: str, task_type: TaskType = TaskType.graph_cls) -> Task:
    return Task(dataset, task_type)


@pytest.mark.parametrize("dataset", CONFIGS)
def test_the_settings_of_a_dataset_are_the_published_ones(dataset: str) -> None:
    task_type, batch_size, lr, patience, min_lr = CONFIGS[dataset]
    found = resolve(SMALL, _task(dataset, task_type)).optimisers[task_type]
    assert (found.batch_size, found.lr, found.patience, found.min_lr) == (batch_size, lr, patience, min_lr)
    assert (found.schedule, found.factor) == ("plateau", 0.5)


# Batch size, rate, patience and smallest rate of networks on dense tensors, from the published configurations.
DENSE = {
    ("RingGNN", "zinc"): (4, 1e-3, 5, 1e-5),
    ("ThreeWLGNN", "zinc"): (4, 1e-3, 5, 1e-5),
    ("RingGNN", "aqsol"): (4, 1e-3, 5, 1e-5),
    ("ThreeWLGNN", "aqsol"): (4, 1e-3, 5, 1e-5),
    ("RingGNN", "mnist_regions"): (4, 1e-4, 5, 1e-6),
    ("ThreeWLGNN", "mnist_regions"): (4, 1e-3, 5, 1e-5),
    ("RingGNN", "cifar10_regions"): (4, 1e-4, 5, 1e-6),
    ("ThreeWLGNN", "cifar10_regions"): (4, 1e-3, 5, 1e-5),
    ("RingGNN", "sbm_pattern"): (4, 1e-3, 5, 1e-5),
    ("ThreeWLGNN", "sbm_cluster"): (4, 1e-3, 5, 1e-5),
    ("RingGNN", "tsp"): (4, 1e-3, 10, 1e-5),
    ("ThreeWLGNN", "tsp"): (4, 1e-3, 10, 1e-5),
    ("RingGNN", "csl"): (5, 5e-4, 5, 1e-6),
    ("ThreeWLGNN", "csl"): (5, 5e-4, 5, 1e-6),
    ("RingGNN", "enzymes"): (4, 1e-4, 25, 1e-6),
    ("ThreeWLGNN", "enzymes"): (4, 1e-3, 25, 1e-6),
    ("RingGNN", "dd"): (4, 1e-4, 25, 1e-6),
    ("ThreeWLGNN", "dd"): (4, 1e-4, 25, 1e-6),
    ("RingGNN", "proteins"): (4, 7e-5, 25, 1e-6),
    ("ThreeWLGNN", "proteins"): (4, 1e-3, 25, 1e-5),
}
KINDS = {
    "zinc": TaskType.graph_reg,
    "aqsol": TaskType.graph_reg,
    "sbm_pattern": TaskType.node_cls,
    "sbm_cluster": TaskType.node_cls,
    "tsp": TaskType.edge_cls,
}


@pytest.mark.parametrize(("model", "dataset"), DENSE)
def test_networks_on_dense_tensors_are_trained_as_published(model: str, dataset: str) -> None:
    task = _task(dataset, KINDS.get(dataset, TaskType.graph_cls))
    usual = resolve(SMALL, task).optimisers[task.task_type]
    names = ("batch_size", "lr", "patience", "min_lr")
    given = {name: getattr(usual, name) for name in names} | given_to(MODELS.get(model), SMALL, task)
    assert tuple(given[name] for name in names) == DENSE[model, dataset]


def test_links_of_authors_are_taken_in_batches() -> None:
    found = resolve(SMALL, _task("ogbl_collab", TaskType.link_pred)).optimisers[TaskType.link_pred]
    assert (found.batch_size, found.lr, found.patience, found.min_lr) == (32_768, 1e-3, 10, 1e-5)
    assert (found.schedule, find_override(SMALL, _task("ogbl_collab", TaskType.link_pred)).epochs) == (
        "score_plateau",
        500,
    )
    given = given_to(MODELS.get("MatrixFactorisation"), SMALL, _task("ogbl_collab", TaskType.link_pred))
    assert given == {"lr": 1e-2}
    # Links of other graphs are all in one batch, as they were.
    assert resolve(SMALL, _task("cora", TaskType.link_pred)).optimisers[TaskType.link_pred].batch_size == 0


def test_losses_hours_and_splits_of_datasets() -> None:
    assert resolve(SMALL, _task("sbm_pattern", TaskType.node_cls)).optimisers[TaskType.node_cls].loss == "balanced"
    assert resolve(SMALL, _task("zinc", TaskType.graph_reg)).optimisers[TaskType.graph_reg].loss == "mae"
    assert resolve(SMALL, _task("cora", TaskType.node_cls)).optimisers[TaskType.node_cls].loss == ""
    assert (resolve(SMALL, _task("csl")).hours, resolve(SMALL, _task("cora")).hours) == (1.2, 12.0)
    assert (resolve(SMALL, _task("enzymes")).splits, resolve(SMALL, _task("mutag")).splits) == (
        "ten_folds",
        "published",
    )


def test_positions_are_those_of_the_dataset() -> None:
    protocol = PROTOCOLS.get("dwivedi-100k-pe")
    found = {name: resolve(protocol, _task(name)).encoding for name in ("zinc", "aqsol", "csl_generated", "mutag")}
    assert found == {"zinc": "lap8", "aqsol": "lap4", "csl_generated": "lap20", "mutag": "lap8"}
    assert resolve(SMALL, _task("zinc")).encoding == ""


def test_a_name_stands_for_all_its_sizes_and_for_nothing_else() -> None:
    assert find_override(SMALL, _task("tsp_50_100")) is SMALL.by_dataset["tsp"]
    assert find_override(SMALL, _task("random_tsp")) == Override()
    assert find_override(SMALL, _task("tsplib")) == Override()
    assert find_override(SMALL, replace(_task("mine"), dataset="zinc")) is SMALL.by_dataset["zinc"]


def test_what_is_given_to_a_model_is_what_it_takes() -> None:
    zinc = _task("zinc", TaskType.graph_reg)
    assert given_to(MODELS.get("DeepGCN"), SMALL, zinc) == {}
    assert given_to(MODELS.get("DeepGCN"), LARGE, zinc) == {"n_layers": 16}
    assert given_to(MODELS.get("RingGNN"), LARGE, zinc) == {"n_layers": 2, "batch_size": 4, "patience": 5}
    assert given_to(MODELS.get("DeepGCN"), SMALL, _task("wikics")) == {"dropout": 0.35}
    assert given_to(MODELS.get("RingGNN"), SMALL, _task("wikics")) == {"n_layers": 2, "batch_size": 4}
    blocks = _task("sbm_pattern", TaskType.node_cls)
    assert given_to(MODELS.get("GatedGCN-E"), LARGE, blocks) == {"n_layers": 16, "batch_size": 32}
    assert given_to(MODELS.get("GatedGCN"), SMALL, blocks) == {}


def test_protocols_of_before_are_not_amended() -> None:
    for name in ("graphnetz", "best-val", "graphnetz-identity"):
        protocol = PROTOCOLS.get(name)
        assert resolve(protocol, _task("zinc")) is protocol
        assert given_to(MODELS.get("GCN"), protocol, _task("zinc")) == {}


@pytest.mark.parametrize("name", DEEP)
def test_amended_protocols_say_what_is_theirs_and_are_read_back(name: str) -> None:
    protocol = resolve(PROTOCOLS.get(name), _task("csl"))
    told = json.loads(to_json(protocol))
    assert not {"by_dataset", "by_model", "options", "epochs"} & set(told)
    assert set(told["optimisers"]) == {"graph_cls"}
    assert told["budget"] == protocol.budget
    assert protocol.label == PROTOCOLS.get(name).label


# Plans --------------------------------------------------------------------------------------------------------------


def _molecules(n: int = 24, *, has_bonds: bool = True) -> list[Data]:
    """Return graphs of the shape of molecules: 28 kinds of nodes, 4 kinds of edges, a number to predict."""
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for number in range(n):
        size = 5 + number % 6
        ring = torch.stack([torch.arange(size), (torch.arange(size) + 1) % size])
        edges = torch.cat([ring, ring.flip(0)], dim=1)
        x = torch.randint(28, (size, 1), generator=generator)
        x[0] = 27 if number == 0 else x[0]
        bonds = torch.randint(4, (size,), generator=generator).repeat(2)
        bonds[:2] = torch.tensor([0, 3])
        fields = {"edge_attr": bonds} if has_bonds else {}
        graphs.append(Data(x=x, edge_index=edges, y=x.float().mean().view(1, 1), **fields))
    return graphs


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """Return a place for frozen data."""
    return Place(home=tmp_path_factory.mktemp("home"))


def _plan(place: Place, protocol: Protocol, models: list[Any], **options: Any) -> Any:
    task = task_from_dataset(options.pop("name", "zinc_like"), TaskType.graph_reg, options.pop("graphs", _molecules()))
    rows = [MODELS.get(model) if isinstance(model, str) else model for model in models]
    return make_plan([task], rows, seeds=options.pop("seeds", (0, 1)), protocol=protocol, place=place, **options)


def test_a_plan_gives_every_model_its_width_and_its_epochs(place: Place) -> None:
    models = ["DeepMLP", "DeepGCN", "DeepGraphSAGE", "DeepGAT", "MoNet", "GatedGCN", "DeepGIN"]
    plan = _plan(place, SMALL, models)
    widths = {cell.model.name: dict(cell.hyperparameters)["hidden_channels"] for cell in plan.cells}
    assert list(widths.values()) == [144, 143, 87, 18, 87, 68, 108]
    assert {cell.epochs for cell in plan.cells} == {1000}
    assert {cell.seed for cell in plan.cells} == {0, 1}
    assert {cell.epochs for cell in _plan(place, SMALL, ["DeepGCN"], epochs=3).cells} == {3}
    large = _plan(place, LARGE, ["DeepGCN"])
    assert dict(large.cells[0].hyperparameters) == {"hidden_channels": 171, "n_layers": 16}


def test_a_rule_stands_beside_networks_of_a_budget(place: Place) -> None:
    n = 12
    edges = torch.cartesian_prod(torch.arange(n), torch.arange(n)).t()
    edges = edges[:, edges[0] != edges[1]]
    graphs = [
        Data(
            x=torch.rand(n, 2), edge_index=edges, edge_label_index=edges, edge_label=(edges.sum(dim=0) % 3 == 0).long()
        )
        for _ in range(10)
    ]
    # Links have a direction: each is labelled on its own.
    graphs = [graph.update({"edge_index": graph.edge_index[:, 1:]}) for graph in graphs]
    task = task_from_dataset("points", TaskType.edge_cls, graphs)
    rows = [MODELS.get(name) for name in ("NearestNeighbours", "DeepMLP")]
    plan = make_plan([task], rows, seeds=(0,), protocol=SMALL, epochs=1, place=place)
    assert plan.skipped == ()
    given = {cell.model.name: dict(cell.hyperparameters) for cell in plan.cells}
    assert given["NearestNeighbours"] == {}
    assert "hidden_channels" in given["DeepMLP"]
    result = run_one(plan.cells[0])
    assert result.failure is None, result.failure.traceback
    assert result.n_parameters == 1


def test_a_model_without_a_width_is_left_out_with_its_reason(place: Place) -> None:
    plan = _plan(place, SMALL, ["DeepGCN", "GatedGCN-E"], name="zinc_plain", graphs=_molecules(has_bonds=False))
    assert [(item.model, "no features" in item.reason) for item in plan.skipped] == [("GatedGCN-E", True)]
    assert {cell.model.name for cell in plan.cells} == {"DeepGCN"}


def test_data_without_what_is_predicted_are_left_out_with_their_reason(place: Place) -> None:
    edges = torch.tensor([[0, 1, 2], [1, 2, 0]])
    task = task_from_dataset(
        "bare_links", TaskType.edge_cls, Data(x=torch.rand(3, 2), edge_index=edges, edge_label_index=edges)
    )
    with pytest.raises(NothingToRun, match=r"bare_links x DeepGCN: .* it has no edge_label \(edge_cls\)"):
        make_plan([task], [MODELS.get("DeepGCN")], seeds=(0,), protocol=SMALL, place=place)


def test_beyond_the_tolerance_a_model_is_left_out(place: Place) -> None:
    protocol = replace(SMALL, tolerance=0.02)
    plan = _plan(place, protocol, ["DeepGCN", "DeepGAT"])
    (left,) = plan.skipped
    assert (left.model, "100,000 within 2%" in left.reason) == ("DeepGAT", True)


def test_what_an_encoding_does_not_tell_is_a_notice_of_the_plan(place: Place) -> None:
    plan = _plan(place, PROTOCOLS.get("dwivedi-100k-pe"), ["DeepGCN"])
    (notice,) = plan.notices
    assert notice.startswith("zinc_like, encoding lap8: 16 of 24 graphs have no more nodes than it has columns")
    assert _plan(place, SMALL, ["DeepGCN"]).notices == ()


def test_cells_of_a_budget_train_on_what_the_plan_says(place: Place) -> None:
    plan = _plan(place, PROTOCOLS.get("dwivedi-100k-pe"), ["DeepGCN", "GatedGCN-E"], seeds=(0,), epochs=2)
    for cell in plan.cells:
        result = run_one(cell)
        assert result.failure is None, result.failure.traceback
        assert result.n_parameters is not None
        assert abs(result.n_parameters - 100_000) < 1_000
        assert {"mae", "mse", "mae_at_best_validation", "mae_on_training"} <= set(result.scores)
        assert set(result.series) == {"train/loss", "val/loss", "val/mae", "test/mae"}
        # The loss is the metric here.
        assert result.series["val/loss"] == pytest.approx(result.series["val/mae"], rel=1e-5)


def test_cells_of_a_budget_are_remembered(place: Place) -> None:
    cells = {fingerprint(cell): cell for cell in _plan(place, PROTOCOLS.get("dwivedi-500k-pe"), ["GatedGCN-E"]).cells}
    found, _ = read_book(write_book(cells, numbers=2))
    assert {key: fingerprint(cell) for key, cell in found.items()} == {key: key for key in cells}


ENCODED: dict[str, dict[str, Any]] = {
    "encoding of the protocol": {"protocol": replace(SMALL, by_dataset={}, encoding="lap4")},
    "encoding of the cell": {"hyperparameters": (("encoding", "lap4"), ("hidden_channels", 143))},
    "scoring": {"protocol": replace(SMALL, by_dataset={}, scoring="per_batch")},
    "hours": {"protocol": replace(SMALL, by_dataset={}, hours=1.0)},
    "loss": {
        "protocol": replace(SMALL, by_dataset={}, optimisers={TaskType.graph_reg: Optimiser(lr=1e-3, loss="mae")})
    },
}


def test_every_new_setting_makes_another_fingerprint(place: Place) -> None:
    cell = _plan(place, SMALL, ["DeepGCN"]).cells[0]
    found = {fingerprint(replace(cell, **changes)) for changes in ENCODED.values()}
    assert len(found | {fingerprint(cell)}) == len(ENCODED) + 1


def test_settings_that_are_not_used_leave_no_trace() -> None:
    before = Protocol(name="p", version=1, optimisers={}, selection=Selection.last_epoch)
    told = json.loads(to_json(before))
    assert set(told) == {
        "name", "version", "optimisers", "selection", "patience", "hidden_channels", "splits", "features", "description"
    }  # fmt: skip
    assert set(json.loads(to_json(Optimiser(lr=0.1)))) == {"lr", "weight_decay", "batch_size"}


def test_widths_are_listed_with_what_is_left_out(place: Place) -> None:
    task = task_from_dataset("zinc_plain", TaskType.graph_reg, _molecules(has_bonds=False))
    dataset = prepare(task, seed=0, home=place.home)
    listed = list_widths(MODELS.rows(), task, dataset, SMALL)
    width, reason = listed["DeepGCN"]
    assert width is not None
    assert (width.hidden_channels, reason) == (143, "")
    width, reason = listed["GatedGCN-E"]
    assert width is None
    assert "edge_features" in reason
    assert "MatrixFactorisation" not in listed
    assert {row.name for row in usual_models()} <= set(listed)


def test_a_cell_may_wait_for_fewer_epochs_than_its_protocol(place: Place) -> None:
    cell = _plan(place, SMALL, ["DeepGCN"], seeds=(0,), epochs=40).cells[0]
    quick = {"patience": 0, "min_lr": 1.0, "lr": 1.0, "hidden_channels": 4}
    hasty, patient = (
        run_one(replace(cell, hyperparameters=tuple(sorted({**quick, "patience": patience}.items()))))
        for patience in (0, 100)
    )
    assert hasty.failure is None, hasty.failure.traceback
    # Once the rate has fallen, it is below the smallest one.
    n_epochs = len(hasty.series["train/loss"])
    assert n_epochs < len(patient.series["train/loss"]) == 40
    assert hasty.series["train/loss"] == patient.series["train/loss"][:n_epochs]
