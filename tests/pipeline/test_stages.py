"""The stages, called by hand as DVC calls them."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gnz_track.errors import GnzError
from gnz_track.models.catalogue import MODELS
from gnz_track.pipeline.params import override, read_params
from gnz_track.pipeline.stages import freeze_task, make_training, report_all, train
from gnz_track.runs.executors.events import ignore
from gnz_track.store.curves import load_curves
from gnz_track.store.results_table import load_table

Project = Callable[..., Path]


def silent(text: str) -> None:
    pytest.fail(f"there was nothing to say: {text}")


def run(params: Any, *names: str) -> None:
    for name in names:
        freeze_task(params, name, say=silent)
        train(make_training(params, name), tell=ignore)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_stages_hand_on_files_and_nothing_else(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project()
    params = read_params()
    run(params, *params.tasks)
    table = load_table(Path("results/planted_partition.parquet"))
    assert len(table) == 4
    assert set(load_curves(Path("curves/planted_partition.parquet"))) == set(table["fingerprint"])
    # Neither the store nor the data are needed for a report: a clone has only the files.
    monkeypatch.setenv("GNZ_STORE", str(Path("elsewhere.db").absolute()))
    shutil.rmtree("data")
    report, bundle = report_all(params)
    assert report.comparison.n_finished == 8
    assert bundle.page.stat().st_size > 10_000
    page = bundle.page.read_text("utf-8")
    assert "GIN" in page, "pairs that no model could be trained for are shown"
    assert "learning" in page.lower()
    first = contents(Path("report")) | contents(Path("plots")) | {"metrics": Path("metrics.json").read_bytes()}
    report_all(params)
    assert first == contents(Path("report")) | contents(Path("plots")) | {"metrics": Path("metrics.json").read_bytes()}


@pytest.mark.usefixtures("svg_alone")
def test_settings_of_all_tasks_and_of_one_reach_its_cells(project: Project) -> None:
    tasks = {"planted_partition": {"epochs": 2, "settings": {"lr": [0.1, 0.2]}}, "les_miserables": {"epochs": 2}}
    project(tasks=tasks, seeds=0, models=["GCN", "MLP"], settings={"dropout": 0.1, "MLP": {"norm": "batch"}})
    params = read_params()
    run(params, *params.tasks)
    found = {name: load_table(Path(f"results/{name}.parquet")) for name in tasks}
    usual, own = {"dropout": 0.1}, {"dropout": 0.1, "norm": "batch"}
    expected = {
        "les_miserables": [("GCN", usual), ("MLP", own)],
        "planted_partition": [
            (model, {**given, "lr": lr}) for model, given in (("GCN", usual), ("MLP", own)) for lr in (0.1, 0.2)
        ],
    }
    for name, rows in expected.items():
        cells = zip(found[name]["model"], map(json.loads, found[name]["hyperparameters"]), strict=True)
        assert sorted(cells, key=str) == sorted(rows, key=str)
    report, _ = report_all(params)
    assert set(report.final_metrics()["planted_partition"]) == {"GCN lr=0.1", "GCN lr=0.2", "MLP lr=0.1", "MLP lr=0.2"}


def test_metrics_and_plots_are_the_numbers_of_the_report(project: Project) -> None:
    project()
    params = read_params()
    run(params, *params.tasks)
    report, _ = report_all(params)
    metrics = json.loads(Path("metrics.json").read_text("utf-8"))
    assert metrics["cells"] == {"finished": 8, "failed": 0, "missing": 0}
    summary = report.summary().reset_index()
    for row in summary.itertuples():
        assert metrics["mean"][row.task][row.model] == pytest.approx(row.mean)
        assert metrics["half_width"][row.task][row.model] == pytest.approx((row.ci_high - row.ci_low) / 2)
    assert sum(metrics["pairs"].values()) == len(report.comparison.pairs) == 2
    ranks = pd.read_csv("plots/ranks.csv")
    assert dict(zip(ranks["model"], ranks["mean_rank"], strict=True)) == metrics["mean_rank"]
    curves = pd.read_csv("plots/curves.csv")
    assert curves.groupby(["task", "model"]).size().to_dict() == {
        (task, model): epochs
        for task, epochs in (("les_miserables", 2), ("planted_partition", 3))
        for model in ("GCN", "MLP")
    }
    assert set(curves["series"]) == {"val/accuracy", "val/auc"}
    last = curves[(curves["task"] == "planted_partition") & (curves["model"] == "GCN")].iloc[-1]
    seeds = [series["val/accuracy"][-1] for series in report.histories["planted_partition"]["GCN"]]
    assert last["mean"] == pytest.approx(sum(seeds) / 2)


def test_repeated_stage_trains_nothing_and_writes_the_same_bytes(project: Project) -> None:
    project()
    params = read_params()
    run(params, "planted_partition")
    before = contents(Path("results")) | contents(Path("curves"))
    training = make_training(params, "planted_partition")
    assert not training.remaining.cells
    train(training, tell=ignore)
    assert contents(Path("results")) | contents(Path("curves")) == before


def test_more_seeds_train_what_is_missing(project: Project) -> None:
    project()
    run(read_params(), "planted_partition")
    more = override(read_params(), seeds="0-3")
    freeze_task(more, "planted_partition", say=silent)
    assert sorted(cell.seed for cell in make_training(more, "planted_partition").remaining.cells) == [2, 2, 3, 3]


def test_data_are_those_of_the_seeds_whatever_was_there(project: Project) -> None:
    project(tasks={"random_tsp": {"epochs": 2}})
    params = read_params()
    freeze_task(params, "random_tsp", say=silent)
    alone = contents(Path("data/random_tsp"))
    freeze_task(override(params, seeds="0-3"), "random_tsp", say=silent)
    assert len(contents(Path("data/random_tsp"))) == 2 * len(alone)
    freeze_task(params, "random_tsp", say=silent)
    assert contents(Path("data/random_tsp")) == alone


def test_corrupted_data_are_frozen_anew_and_told(project: Project) -> None:
    project()
    params = read_params()
    (frozen,) = freeze_task(params, "planted_partition", say=silent)
    good = contents(frozen.folder)
    card = frozen.folder / "card.json"
    card.write_text(card.read_text("utf-8").replace(frozen.digest, "0" * 32), "utf-8")
    said: list[str] = []
    freeze_task(params, "planted_partition", say=said.append)
    assert contents(frozen.folder) == good
    assert len(set(said)) == 1
    assert said[0].startswith("note: planted_partition is frozen anew, as ")


@pytest.mark.mirror
def test_raw_files_come_from_the_mirror(project: Project, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tasks={"cora": {"epochs": 1}})
    monkeypatch.setenv("GNZ_MIRROR", str(mirror))
    (dataset,) = freeze_task(read_params(), "cora", say=silent)
    assert (dataset.n_nodes, dataset.folder.parent) == (2708, Path("data/cora").absolute())


@pytest.mark.usefixtures("svg_alone")
def test_own_tasks_and_models_come_from_modules(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = project(tasks={"own_rings_of_a_module": {"epochs": 3}}, models=["MLP", "own_module_net:Net"])
    monkeypatch.syspath_prepend(folder)
    (folder / "own_module_net.py").write_text(OWN_MODULE, "utf-8")
    params = read_params(modules="own_module_net")
    run(params, "own_rings_of_a_module")
    report, _ = report_all(params)
    assert report.comparison.n_finished == 4
    assert sorted(report.comparison.models) == ["MLP", "Net"]
    # A decorator is called before its module has the name; the class is found by it all the same.
    assert MODELS.get("Marked").target == "own_module_net:Marked"


OWN_MODULE = """
import torch
from torch_geometric.data import Data
import gnz_track as gnz

def load(root):
    labels = torch.arange(60) % 3
    ring = torch.stack([torch.arange(60), (torch.arange(60) + 3) % 60])
    return Data(x=torch.eye(3)[labels], edge_index=ring, y=labels)

gnz.register_task("custom", gnz.Task("own_rings_of_a_module", "node_cls", "own_module_net:load", epochs=3))

@gnz.register_model(task_type="node_cls")
class Marked(torch.nn.Module):
    pass

class Net(torch.nn.Module):
    task_types = {"node_cls"}
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.layer = torch.nn.Linear(in_channels, out_channels)
    def forward(self, data):
        return self.layer(data.x)
"""


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": {"planted_partitoin": {}}}, "unknown task 'planted_partitoin'; did you mean 'planted_partition'"),
        ({"models": ["GCM"]}, "unknown model 'GCM'; did you mean 'GCN'"),
        ({"protocol": "graphnet"}, "unknown protocol 'graphnet'; did you mean 'graphnetz'"),
        ({"modules": ["nowhere_to_be_found"]}, "cannot import 'nowhere_to_be_found': there is no module"),
        ({"tasks": {"les_miserables": {}}}, "unknown task of params.yaml 'planted_partition'; known: les_miserables"),
    ],
)
def test_slip_is_told_by_the_first_stage(project: Project, changes: dict[str, Any], message: str) -> None:
    project(**changes)
    with pytest.raises(GnzError, match=re.escape(message)):
        freeze_task(read_params(), "planted_partition", say=silent)


def test_stage_without_the_one_before_names_it(project: Project) -> None:
    project()
    with pytest.raises(GnzError, match="Try: dvc repro data@planted_partition"):
        make_training(read_params(), "planted_partition")
    with pytest.raises(GnzError, match="Try: dvc repro run@planted_partition"):
        report_all(read_params())


@pytest.mark.usefixtures("svg_alone")
def test_results_of_a_task_that_was_taken_out_go(project: Project) -> None:
    project(models=["MLP"])
    params = read_params()
    run(params, *params.tasks)
    report_all(override(params, tasks="planted_partition"))
    assert [path.name for path in Path("results").iterdir()] == ["planted_partition.parquet"]
    assert [path.name for path in Path("curves").iterdir()] == ["planted_partition.parquet"]


def test_report_of_tasks_that_nothing_serves_says_so(project: Project) -> None:
    project(models=["GIN"])
    with pytest.raises(GnzError, match=r"no model of params.yaml serves any of its tasks"):
        report_all(read_params())
