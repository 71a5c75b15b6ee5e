"""One cell in, one result out: the same bits anywhere, and nothing left behind."""

from __future__ import annotations

import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import own_nets
import pytest
import torch

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.models.catalogue import describe, usual_models
from gnz_track.records import to_json
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.run_one import run_one
from gnz_track.training.metrics import DEFAULT_METRICS, METRICS, metric_of
from gnz_track.types import Cell, CellResult, Direction, Selection, Status, Task, TaskType

Worlds = Callable[[str], Any]
Freezer = Callable[[Any], FrozenDataset]
Cells = Callable[..., Cell]


def bits(result: CellResult) -> dict[str, Any]:
    """Return all that must be the same, floats as they are in memory."""
    assert result.failure is None, result.failure.traceback
    series = {name: [value.hex() for value in values] for name, values in sorted(result.series.items())}
    scores = {name: value.hex() for name, value in sorted(result.scores.items())}
    return {"series": series, "scores": scores, "split": result.split_digest, "epoch": result.selected_epoch}


# Any order, any company, any process -------------------------------------------------------------------------------


def test_same_cell_twice_gives_the_same_bits(any_world: Any, cell_on: Cells) -> None:
    cell = cell_on(any_world, "GraphTransformer", epochs=2)
    assert bits(run_one(cell)) == bits(run_one(cell))


def test_another_seed_gives_other_bits(any_world: Any, cell_on: Cells) -> None:
    first, second = (bits(run_one(cell_on(any_world, "GraphTransformer", epochs=2, seed=seed))) for seed in (0, 1))
    assert first["series"]["train/loss"] != second["series"]["train/loss"]


def test_seeds_of_weights_splits_and_perturbations_stand_for_that_of_the_cell(world: Worlds, cell_on: Cells) -> None:
    def run(seed: int = 0, **chosen: int) -> dict[str, Any]:
        cell = cell_on(world("graphs"), "GCN", epochs=2, seed=seed, hyperparameters=tuple(chosen.items()))
        return bits(run_one(replace(cell, perturbation="random-features")))

    names = ("init_seed", "split_seed", "perturbation_seed")
    first, third = run(), run(3)
    assert run(**dict.fromkeys(names, 3)) == third != first
    assert run(3, **dict.fromkeys(names, 0)) == first
    assert run(**dict.fromkeys(names, -1)) == first
    for name in names:
        found = run(**{name: 3})
        assert found["series"] != first["series"], name
        assert (found["split"] != first["split"]) is (name == "split_seed")


def test_company_and_the_state_of_the_process_do_not_matter(typical_world: Any, world: Worlds, cell_on: Cells) -> None:
    cell = cell_on(typical_world, "GAT")
    alone = bits(run_one(cell))
    others = [cell_on(world("graphs"), "GIN", seed=5), cell_on(world("links"), "GAT"), cell_on(world("nodes"), "MLP")]
    *_, in_company = run_inline([*others, cell])
    assert bits(in_company) == alone
    torch.manual_seed(99)
    random.seed(99)
    np.random.seed(99)  # noqa: NPY002
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert bits(run_one(cell)) == alone
    finally:
        torch.set_num_threads(threads)


def test_data_frozen_again_elsewhere_give_the_same_bits(typical_world: Any, cell_on: Cells, tmp_path: Path) -> None:
    again = typical_world.freeze(tmp_path / "elsewhere" / "again")
    cell, moved = cell_on(typical_world, "GAT"), cell_on(typical_world, "GAT", dataset=again)
    assert cell.data != moved.data
    assert cell.dataset_digest == moved.dataset_digest
    assert bits(run_one(cell)) == bits(run_one(moved))


ELSEWHERE = """
import json, pickle, random, sys, warnings
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import torch_geometric
import torch
from gnz_track.runs.run_one import run_one

torch.set_num_threads(2)
torch.manual_seed(123)
cells = pickle.load(open(sys.argv[1], "rb"))
found = {}
for place in reversed(range(len(cells))):
    result = run_one(cells[place])
    assert result.failure is None, result.failure.traceback
    found[place] = {name: [value.hex() for value in values] for name, values in result.series.items()}
print(json.dumps(found))
"""


def test_another_process_gives_the_same_bits(world: Worlds, cell_on: Cells, tmp_path: Path, root: Path) -> None:
    names = ("nodes", "nodes, whole features", "graphs", "graphs, labels", "numbers", "links", "links, directed")
    cells = [cell_on(world(name), "GAT") for name in (*names, "triples")]
    (tmp_path / "cells").write_bytes(pickle.dumps(cells))
    command = [sys.executable, "-c", ELSEWHERE, str(tmp_path / "cells")]
    environment = {**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": "7"}
    finished = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert finished.returncode == 0, finished.stderr
    elsewhere = json.loads(finished.stdout)
    for place, cell in enumerate(cells):
        assert elsewhere[str(place)] == bits(run_one(cell))["series"], cell.label


# Nothing is left behind ---------------------------------------------------------------------------------------------


def state_of_the_process() -> list[Any]:
    numpy_state = np.random.get_state()  # noqa: NPY002
    return [
        random.getstate(),
        numpy_state[0],
        numpy_state[1].tolist(),
        numpy_state[2:],
        torch.get_rng_state().tolist(),
        torch.get_num_threads(),
        torch.is_grad_enabled(),
        torch.are_deterministic_algorithms_enabled(),
        Path.cwd(),
        dict(os.environ),
    ]


def files_below(*folders: Path) -> dict[str, tuple[int, int]]:
    paths = [path for folder in folders for path in folder.rglob("*")]
    return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in paths}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("model", ["GAT", own_nets.Meddler, own_nets.FailsToBuild, own_nets.FailsBackward])
def test_process_and_disk_are_as_before(
    model: object, threads: int, typical_world: Any, cell_on: Cells, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = cell_on(typical_world, model)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GNZ_DATA", str(tmp_path / "home"))
    threads_before = torch.get_num_threads()
    torch.set_num_threads(threads)
    random.seed(3)
    np.random.seed(3)  # noqa: NPY002
    torch.manual_seed(3)
    try:
        before, files = state_of_the_process(), files_below(tmp_path, Path(cell.data))
        run_one(cell)
        assert state_of_the_process() == before
        assert files_below(tmp_path, Path(cell.data)) == files
    finally:
        torch.set_num_threads(threads_before)


def test_cell_trains_on_one_thread(world: Worlds, cell_on: Cells) -> None:
    threads = torch.get_num_threads()
    own_nets.Plain.seen.clear()
    try:
        torch.set_num_threads(2)
        run_one(cell_on(world("nodes"), own_nets.Plain))
    finally:
        torch.set_num_threads(threads)
    assert {seen["threads"] for seen in own_nets.Plain.seen} == {1}


def test_one_pass_a_step_and_one_a_score(world: Worlds, cell_on: Cells) -> None:
    own_nets.Plain.seen.clear()
    run_one(cell_on(world("nodes"), own_nets.Plain, epochs=3))
    passes = [seen["is_training"] for seen in own_nets.Plain.seen]
    # The last pass scores the selected epoch fully.
    assert passes == [True, False] * 3 + [False]


# Results ------------------------------------------------------------------------------------------------------------


def test_finished_result_has_every_field(any_world: Any, cell_on: Cells) -> None:
    cell = cell_on(any_world, epochs=3)
    result = run_one(cell)
    assert result.failure is None, result.failure.traceback
    empty = {field.name for field in fields(result) if getattr(result, field.name) in (None, "", {}, 0.0)}
    # Device memory is that of a GPU; a score of zero is one, and so is a baseline. No file was asked for.
    assert empty <= {"failure", "peak_device_mib", "selected_epoch", "score", "baseline", "files", "left_out"}
    several = {
        "graphs, labels": "average_precision",
        "nodes, labels": "f1_micro",
        "nodes, labels in graphs": "f1_micro",
    }
    usual = several.get(any_world.name, DEFAULT_METRICS[any_world.task_type])
    assert result.cell is cell
    assert result.is_finished
    assert (result.status, result.metric) == (Status.finished, usual)
    assert result.direction is METRICS.get(usual).direction
    assert set(result.series) == {"train/loss", f"val/{usual}", f"test/{usual}"}
    assert {len(values) for values in result.series.values()} == {3}
    assert result.selected_epoch == 2
    assert result.score == result.scores[usual] == result.series[f"test/{usual}"][2]
    assert result.dataset_digest == cell.dataset_digest
    assert result.n_parameters > 0
    assert 0 < result.seconds_per_epoch < result.seconds
    assert result.cpu_seconds > 0
    assert result.peak_rss_mib > 50


def test_classes_of_edges_are_scored_each_by_itself_too(world: Worlds, cell_on: Cells) -> None:
    assert set(run_one(cell_on(world("edges"))).scores) == {"accuracy", "f1_macro"}
    two_classes = run_one(cell_on(world("edges, directed"))).scores
    assert set(two_classes) == {"accuracy", "f1_macro", "auc", "average_precision"}


def test_relations_are_ranked_too(world: Worlds, cell_on: Cells) -> None:
    scores = run_one(cell_on(world("triples"))).scores
    assert set(scores) == {"auc", "average_precision", "mrr", "hits_at_1", "hits_at_3", "hits_at_10"}


@pytest.mark.parametrize("name", ["nodes", "graphs", "graphs, labels", "numbers", "links", "triples", "edges"])
def test_best_validation_epoch_is_selected(name: str, world: Worlds, cell_on: Cells) -> None:
    protocol = replace(world(name).protocol, selection=Selection.best_validation)
    result = run_one(cell_on(world(name), "GCN", protocol=protocol, epochs=15, hyperparameters=(("lr", 0.05),)))
    assert result.failure is None, result.failure.traceback
    validation, test = (result.series[f"{part}/{result.metric}"] for part in ("val", "test"))
    best = max(validation) if result.direction is Direction.up else min(validation)
    # The first of the best.
    assert result.selected_epoch == validation.index(best)
    assert result.score == test[result.selected_epoch]
    assert len(validation) == 15


def test_patience_ends_training(world: Worlds, cell_on: Cells) -> None:
    protocol = replace(world("nodes").protocol, selection=Selection.best_validation, patience=3)
    result = run_one(cell_on(world("nodes"), "GCN", protocol=protocol, epochs=60))
    assert result.selected_epoch is not None
    assert len(result.series["train/loss"]) == result.selected_epoch + 1 + 3 < 60


def test_metric_of_a_task_may_be_another(world: Worlds, cell_on: Cells) -> None:
    cell = cell_on(world("numbers, several"))
    result = run_one(replace(cell, task=replace(cell.task, metric="mse")))
    assert (result.metric, result.direction, result.score) == ("mse", Direction.down, result.scores["mse"])
    assert "val/mse" in result.series


def test_several_labels_have_a_metric_of_their_own_but_numbers_do_not() -> None:
    graphs, numbers = Task("a", TaskType.graph_cls), Task("b", TaskType.graph_reg)
    assert metric_of(graphs, is_multi_label=True).name == "average_precision"
    assert metric_of(graphs, is_multi_label=False).name == "accuracy"
    assert metric_of(numbers, is_multi_label=True).name == "mae"
    assert metric_of(replace(graphs, metric="auc"), is_multi_label=True).name == "auc"


# Failures -----------------------------------------------------------------------------------------------------------

FAILURES = {
    own_nets.FailsToBuild: ("RuntimeError", "cannot build with 3 widths", "__init__"),
    own_nets.FailsForward: ("LookupError", "no way forward with Data", "forward"),
    own_nets.FailsBackward: ("ArithmeticError", "no way back", "backward"),
    own_nets.NotANumber: ("Diverged", "the training loss is nan at epoch 0", "_step_through"),
    own_nets.FailsLate: ("RuntimeError", "too late", "forward"),
}


@pytest.mark.parametrize("model", FAILURES, ids=lambda model: model.__name__)
def test_failing_model_is_a_result_with_its_traceback(model: type, world: Worlds, cell_on: Cells) -> None:
    result = run_one(cell_on(world("nodes"), model))
    kind, message, function = FAILURES[model]
    assert (result.status, result.is_finished) == (Status.failed, False)
    assert result.failure is not None
    assert result.failure.kind == kind
    assert message in result.failure.message
    assert result.failure.traceback.startswith("Traceback (most recent call last):\n")
    assert f"in {function}\n" in result.failure.traceback
    assert result.failure.traceback.rstrip().endswith(result.failure.message)
    assert kind in result.failure.traceback.splitlines()[-1]
    assert result.score is None
    assert dict(result.scores) == {}
    assert result.selected_epoch is None
    assert result.metric == "accuracy"
    assert result.seconds > 0


def test_password_in_an_error_is_not_kept(world: Worlds, cell_on: Cells) -> None:
    result = run_one(cell_on(world("nodes"), own_nets.Indiscreet))
    assert result.failure is not None
    assert "postgresql://alice:***@db.example.org" in result.failure.message
    assert "hunter2" not in result.failure.message + result.failure.traceback


def test_parameters_without_a_shape_get_one_before_the_first_step(world: Worlds, cell_on: Cells) -> None:
    cell = cell_on(world("nodes"), own_nets.Shapeless, epochs=3)
    result = run_one(cell)
    assert result.failure is None, result.failure.traceback
    plain = run_one(cell_on(world("nodes"), own_nets.Plain, epochs=3))
    assert result.n_parameters == plain.n_parameters
    assert bits(result) == bits(run_one(cell))


def test_series_survive_a_late_failure(world: Worlds, cell_on: Cells) -> None:
    result = run_one(cell_on(world("nodes"), own_nets.FailsLate, epochs=9))
    assert {name: len(values) for name, values in result.series.items()} == dict.fromkeys(
        ("train/loss", "val/accuracy", "test/accuracy"), 2
    )
    assert result.n_parameters > 0


def test_wrong_digest_fails_with_both(world: Worlds, cell_on: Cells) -> None:
    cell = cell_on(world("nodes"))
    result = run_one(replace(cell, dataset_digest="0" * 32))
    assert result.failure is not None
    assert result.failure.kind == "DataCorrupted"
    assert "0" * 32 in result.failure.message
    assert cell.dataset_digest in result.failure.message
    assert not result.series


def test_missing_data_fail(world: Worlds, cell_on: Cells, tmp_path: Path) -> None:
    result = run_one(cell_on(world("nodes"), data=str(tmp_path / "gone")))
    assert result.failure is not None
    assert result.failure.kind == "DataMissing"


@pytest.mark.parametrize(
    ("changes", "kind", "metric"),
    [
        ({"metric": "accurcy"}, "UnknownName", "accurcy"),
        ({"task_type": "edge_cls"}, "SplitImpossible", "accuracy"),
    ],
)
def test_cell_without_a_metric_or_labels_fails_instead_of_raising(
    changes: dict[str, Any], kind: str, metric: str, world: Worlds, cell_on: Cells
) -> None:
    cell = cell_on(world("nodes"))
    result = run_one(replace(cell, task=replace(cell.task, **changes)))
    assert result.failure is not None
    assert result.failure.kind == kind
    assert result.score is None
    assert result.metric == metric


def test_interrupt_is_not_a_failure(world: Worlds, cell_on: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(own_nets.Plain, "forward", interrupt)
    before = state_of_the_process()
    with pytest.raises(KeyboardInterrupt):
        run_one(cell_on(world("nodes"), own_nets.Plain))
    assert state_of_the_process() == before


# Hyperparameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changed",
    [("lr", 0.3), ("weight_decay", 0.5), ("batch_size", 3), ("hidden_channels", 7), ("dropout", 0.9)],
    ids=lambda pair: pair[0],
)
def test_hyperparameter_changes_training(changed: tuple[str, float], world: Worlds, cell_on: Cells) -> None:
    model = "GCN" if changed[0] == "hidden_channels" else own_nets.Plain
    cell = cell_on(world("graphs"), model)
    usual, varied = run_one(cell), run_one(replace(cell, hyperparameters=(changed,)))
    assert bits(usual)["series"]["train/loss"] != bits(varied)["series"]["train/loss"]


def test_width_and_keyword_reach_the_constructor(world: Worlds, cell_on: Cells) -> None:
    own_nets.Plain.built.clear()
    given = (("hidden_channels", 7), ("dropout", 0.25))
    run_one(cell_on(world("nodes"), own_nets.Plain, hyperparameters=given))
    (model,) = own_nets.Plain.built
    assert (model.widths, model.dropout) == ((4, 7, 3), 0.25)


def test_unknown_keyword_fails_with_the_allowed_names(world: Worlds, cell_on: Cells) -> None:
    result = run_one(cell_on(world("nodes"), own_nets.Plain, hyperparameters=(("droput", 0.1),)))
    assert result.failure is not None
    assert result.failure.kind == "BadValue"
    assert "'droput'" in result.failure.message
    assert "allowed: dropout" in result.failure.message


def test_batch_size_zero_is_a_full_batch(world: Worlds, cell_on: Cells) -> None:
    own_nets.Plain.seen.clear()
    result = run_one(cell_on(world("graphs"), own_nets.Plain, epochs=2, hyperparameters=(("batch_size", 0),)))
    assert result.failure is None, result.failure.traceback
    assert [seen["is_training"] for seen in own_nets.Plain.seen] == [True, False, True, False, False]


def test_model_that_writes_into_its_input_harms_no_other_cell(world: Worlds, cell_on: Cells) -> None:
    class Scribbler(own_nets.Plain):
        def forward(self, data: Any) -> Any:
            data.x.mul_(0)
            data.edge_index.zero_()
            return super().forward(data)

    cell = cell_on(world("nodes"))
    before = bits(run_one(cell))
    run_one(cell_on(world("nodes"), Scribbler))
    assert bits(run_one(cell)) == before


# Travel -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["GCN", own_nets.Plain, own_nets.FailsForward])
def test_cells_and_results_travel_and_print(model: object, any_world: Any, cell_on: Cells) -> None:
    cell = cell_on(any_world, model)
    result = run_one(cell)
    assert pickle.loads(pickle.dumps(cell)) == cell
    assert pickle.loads(pickle.dumps(result)) == result
    assert hash(pickle.loads(pickle.dumps(cell))) == hash(cell)
    record = json.loads(to_json(result))
    assert record["cell"]["task"]["name"] == any_world.name
    assert record["score"] == result.score
    assert record["cell"] == json.loads(to_json(cell))
    assert [tuple(values) for values in record["series"].values()] == [result.series[name] for name in record["series"]]


def test_model_by_value_trains_like_its_source(world: Worlds, cell_on: Cells) -> None:
    from torch_geometric.nn import GCNConv

    class Local(torch.nn.Module):
        task_types = ("node_cls",)

        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
            super().__init__()
            del hidden_channels
            self.layer = GCNConv(in_channels, out_channels)

        def forward(self, data: Any) -> torch.Tensor:
            found: torch.Tensor = self.layer(data.x, data.edge_index)
            return torch.nn.functional.dropout(found, 0.5, self.training)

    row = describe(Local)
    assert row.payload
    assert not row.target
    by_value = run_one(pickle.loads(pickle.dumps(cell_on(world("nodes"), row))))
    by_name = run_one(cell_on(world("nodes"), own_nets.Plain))
    assert bits(by_value)["series"] == bits(by_name)["series"]


def test_every_built_in_model_trains_on_all_it_serves(typical_world: Any, cell_on: Cells) -> None:
    for row in usual_models():
        if typical_world.task_type in row.task_types:
            assert bits(run_one(cell_on(typical_world, row, epochs=1)))["scores"], row.name


def test_model_that_leaves_the_process_is_a_failed_cell_like_any(tmp_path: Path) -> None:
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.datasets.preparation import prepare
    from gnz_track.models.catalogue import describe
    from gnz_track.training.protocols import PROTOCOLS

    class Leaving(torch.nn.Linear):
        task_types = ("node_cls",)

        def __init__(self, first: int, hidden: int, out: int) -> None:
            super().__init__(first, out + (hidden == 3))

        def forward(self, data: object) -> torch.Tensor:
            if self.out_features == 4:
                raise SystemExit(5)
            return super().forward(data.x)

    task = TASKS.get("planted_partition")
    dataset = prepare(task, seed=0, home=tmp_path)
    cell = Cell(
        task=task,
        model=describe(Leaving),
        seed=0,
        protocol=PROTOCOLS.get("graphnetz"),
        epochs=2,
        dataset_digest=dataset.digest,
        data=str(dataset.folder),
    )
    left = run_one(cell)
    assert left.failure is not None
    assert left.failure.kind == "SystemExit"
    wide = run_one(replace(cell, hyperparameters=(("hidden_channels", 3),)))
    assert wide.failure is not None
    assert "shape (600, 5) where [600, 4] was expected" in wide.failure.message
