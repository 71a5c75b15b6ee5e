"""The published settings: names, order, duplicates, and that each of them runs."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from selection.published_scores import LINKS, known_at, load_published
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import BadValue, NothingToRun, UnknownName
from gnz_track.models.building import build, count_parameters
from gnz_track.models.options import Sizes
from gnz_track.runs.plan import Place
from gnz_track.runs.run_one import run_one
from gnz_track.selection.confirmation import model_of
from gnz_track.selection.matrix import ModelSetting
from gnz_track.selection.study.glemos import (
    FAMILIES,
    list_published_settings,
    list_scored_settings,
    plan_published_settings,
)
from gnz_track.types import CellResult, Task, TaskType


@pytest.mark.mirror
def test_names_and_order_are_as_published(mirror: Path) -> None:
    file = mirror.parent / "golden" / "glemos_models.json"
    if not file.is_file():
        pytest.skip(f"no published names: {file} is not a file")
    published = json.loads(file.read_text("utf-8"))
    assert [one.name for one in list_published_settings()] == [row["id"] for row in published["models"]]
    assert [one.name for one in list_published_settings("node_cls")] == published["order_node_class"]
    assert [one.name for one in list_published_settings("link_pred")] == published["order_link_pred"]


@pytest.mark.mirror
def test_scores_of_settings_that_are_one_network_are_equal(mirror: Path) -> None:
    arrays = load_published(mirror, LINKS)
    settings = list_scored_settings("link_pred")
    columns = {setting.name: known_at(arrays)[:, place] for place, setting in enumerate(settings)}
    assert arrays["P_map"].shape[1] == len(columns)
    equal = []
    for one in settings:
        # All three ways to normalise the first polynomial are none.
        if one.method == "ChebNet" and one.is_duplicate:
            first, again = columns[one.same_as], columns[one.name]
            known = np.isfinite(first) & np.isfinite(again)
            equal.append(np.mean(first[known] == again[known]))
    assert len(equal) == 6
    assert min(equal) > 0.9


def test_settings_by_method_and_kind_of_problem() -> None:
    settings = list_published_settings()
    counts = Counter(one.method for one in settings)
    assert len(counts) == len(FAMILIES) == 17
    assert (len(settings), counts["GAT"], counts["Node2Vec"], counts["SEAL"]) == (366, 40, 72, 36)
    assert len(list_published_settings("node_cls")) == 327
    assert len(list_published_settings("link_pred")) == 350
    assert len({one.name for one in settings}) == 366


def test_settings_that_are_one_network_are_marked() -> None:
    settings = list_published_settings("node_cls")
    found = Counter(one.method for one in settings if one.is_duplicate)
    assert found == {"GCN": 5, "GAT": 12, "ChebNet": 6, "GraphSAGE": 2}
    by_name = {one.name: one for one in settings}
    assert all(not by_name[one.same_as].is_duplicate for one in settings)
    odd = by_name["GCN-act=elu-dropout=0.5-hidden_channels=16-num_layers=1"]
    assert odd.same_as == "GCN-act=relu-dropout=0.0-hidden_channels=16-num_layers=1"


def test_hops_reach_the_layer_and_duplicates_run_as_one_model() -> None:
    settings = list_published_settings()
    hops = {one.setting for one in settings if one.method == "SGC"}
    assert len(hops) == 10
    assert ModelSetting("SGC", '{"bias": true, "n_hops": 3}', "glemos@1") in hops
    by_name = {one.name: one for one in settings}
    # Nothing is lost on the way: settings that differ are settings that differ here.
    assert len({one.setting for one in settings}) == len({one.name for one in settings})
    assert all(by_name[one.same_as].setting.model == one.setting.model for one in settings)


SIZES = Sizes(in_channels=7, hidden_channels=64, out_channels=3, n_nodes=30)


def test_every_setting_can_be_built() -> None:
    for one in list_published_settings():
        options = dict(one.setting.options)
        sizes = replace(SIZES, hidden_channels=options.pop("hidden_channels", 64))
        for task_type in one.task_types:
            built = replace(sizes, out_channels=32, code_channels=32) if task_type is TaskType.link_pred else sizes
            with torch.device("meta"):
                model = build(model_of(one.setting), task_type, built, options=options)
            assert count_parameters(model) > 0, one.name


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(home=tmp_path_factory.getbasetemp() / "home-of-spaces")


TASK_OF = {TaskType.node_cls: "planted_partition", TaskType.link_pred: "random_tsp"}
FIRST_OF = {one.method: one for one in reversed(list_published_settings())}
# Few steps of what is fitted beforehand are as many as later ones.
QUICK = ("SGC", "PNA", "LabelPropagation", "SpectralEmbedding", "GraRep", "Jaccard", "AdamicAdar", "ResourceAllocation")


def run(name: str, task_type: TaskType, place: Place) -> CellResult:
    task = TASKS.get(TASK_OF[task_type])
    plan = plan_published_settings([name], task, seeds=[0], epochs=2, device="cpu", place=place)
    return run_one(plan.cells[0])


def check_runs(method: str, place: Place) -> None:
    for task_type in FIRST_OF[method].task_types:
        result = run(FIRST_OF[method].name, task_type, place)
        assert result.failure is None, result.failure
        assert result.score is not None
        assert 0 <= result.score <= 1
        # Near nodes of a tour are linked, and blocks of a partition are dense.
        assert result.score > 0.7 or method not in {"LabelPropagation", "Jaccard", "AdamicAdar", "ResourceAllocation"}
        assert run(FIRST_OF[method].name, task_type, place).series == result.series


@pytest.mark.parametrize("method", QUICK)
def test_a_setting_runs_as_an_ordinary_cell(method: str, place: Place) -> None:
    check_runs(method, place)


@pytest.mark.slow
@pytest.mark.parametrize("method", sorted(set(FIRST_OF) - set(QUICK)))
def test_a_setting_of_every_other_family_runs(method: str, place: Place) -> None:
    check_runs(method, place)


def test_features_are_learnt_and_codes_are_narrow_under_the_protocol(place: Place) -> None:
    task = Task("club", TaskType.link_pred, club)
    name = "GCN-act=relu-dropout=0.0-hidden_channels=16-num_layers=1"
    plan = plan_published_settings([name], task, seeds=[0], epochs=3, device="cpu", place=place)
    assert plan.cells[0].protocol.label == "glemos@1"
    result = run_one(plan.cells[0])
    assert result.failure is None, result.failure
    # 34 nodes have 32 features each, which one layer maps to codes of 32.
    assert result.n_parameters == 34 * 32 + 32 * 32 + 32


def test_steps_of_pairs_come_with_the_protocol(place: Place) -> None:
    plan = plan_published_settings([FIRST_OF["SEAL"].name], TASKS.get("random_tsp"), seeds=[0, 1], place=place)
    assert [cell.seed for cell in plan.cells] == [0, 1]
    assert all(dict(cell.hyperparameters)["batch_size"] == 256 for cell in plan.cells)
    with pytest.raises(UnknownName, match="published setting"):
        plan_published_settings(["GCN-act=relu"], TASKS.get("random_tsp"), seeds=[0], place=place)


def test_settings_and_tasks_are_named_or_given(place: Place) -> None:
    setting = FIRST_OF["Jaccard"]
    expected = plan_published_settings(["Jaccard"], TASKS.get("random_tsp"), seeds=[0], place=place).cells
    for names in ("Jaccard", setting, [setting], ["Jaccard", "Jaccard", setting]):
        assert plan_published_settings(names, "random_tsp", seeds=[0], place=place).cells == expected
    both = plan_published_settings(["Jaccard", "AdamicAdar"], "random_tsp", seeds=[0], place=place)
    assert [cell.model.name for cell in both.cells] == ["Jaccard", "AdamicAdar"]


def test_what_cannot_be_planned_is_told(place: Place) -> None:
    def plan(names: str | list[str], task: str = "random_tsp") -> None:
        plan_published_settings(names, task, seeds=[0], place=place)

    with pytest.raises(NothingToRun, match="no published setting was chosen"):
        plan([])
    name = "LabelPropagation-alpha=0.9-num_layers=1"
    with pytest.raises(
        BadValue, match=f"task for {name} is 'random_tsp .link_pred.'; allowed: a task of the kind node_cls"
    ):
        plan(name)
    with pytest.raises(UnknownName, match="unknown task 'random_ts'; did you mean 'random_tsp'"):
        plan("Jaccard", "random_ts")
    for odd, words in (
        ("GCN", "'GCN'; known: GCN-act"),
        ("qqqq", "known: AdamicAdar, ChebNet, DGI"),
        ("Jacard", "'Jaccard'"),
    ):
        with pytest.raises(UnknownName, match=words) as raised:
            plan(odd)
        assert len(str(raised.value)) < 300
    with pytest.raises(BadValue, match="kind of problem is 'nodes'; allowed: node_cls"):
        list_published_settings("nodes")


def club() -> Data:
    found = from_networkx(nx.karate_club_graph())
    return Data(edge_index=found.edge_index, num_nodes=34)
