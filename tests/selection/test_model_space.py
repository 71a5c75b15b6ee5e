"""The published settings: names, order, duplicates, and that what is said to run does run."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.space_rows import SPACE_ROWS
from gnz_track.runs.one import run_one
from gnz_track.runs.plan import Place, make_plan
from gnz_track.selection.confirmation import model_of
from gnz_track.selection.matrix import Setting
from gnz_track.selection.model_space import FAMILIES, list_published_settings
from gnz_track.training.protocols import PROTOCOLS


@pytest.mark.mirror
def test_names_and_order_are_as_published(mirror: Path) -> None:
    file = mirror.parent / "golden" / "glemos_models.json"
    if not file.is_file():
        pytest.skip(f"no published names: {file} is not a file")
    published = json.loads(file.read_text("utf-8"))
    assert [one.name for one in list_published_settings()] == [row["id"] for row in published["models"]]
    assert [one.name for one in list_published_settings("node_cls")] == published["order_node_class"]
    assert [one.name for one in list_published_settings("link_pred")] == published["order_link_pred"]


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
    assert found == {"GCN": 5, "GAT": 10, "ChebNet": 6, "GraphSAGE": 2}
    by_name = {one.name: one for one in settings}
    assert all(not by_name[one.same_as].is_duplicate for one in settings)
    odd = by_name["GCN-act=elu-dropout=0.5-hidden_channels=16-num_layers=1"]
    assert odd.same_as == "GCN-act=relu-dropout=0.0-hidden_channels=16-num_layers=1"


def test_hops_reach_the_layer_and_duplicates_run_as_one() -> None:
    settings = list_published_settings()
    hops = {one.setting for one in settings if one.method == "SGC"}
    assert len(hops) == 10
    assert Setting("SGC", '{"bias": true, "n_hops": 3}') in hops
    runnable = [one for one in settings if one.setting is not None]
    by_name = {one.name: one for one in settings}
    ones = dict.fromkeys(("AdamicAdar", "Jaccard", "ResourceAllocation"), 1)
    assert Counter(one.method for one in runnable) == {"GCN": 14, "GraphSAGE": 4, "SGC": 10, "ChebNet": 27, **ones}
    for one in runnable:
        twin = by_name[one.same_as].setting
        assert twin is not None
        # They differ by what the network does not read, at most.
        assert model_of(one.setting).name == model_of(twin).name  # type: ignore[arg-type]


RUNS = (
    ("planted_partition", Setting("SGC", '{"bias": false, "n_hops": 5}')),
    ("random_tsp", Setting("SGC", '{"bias": true, "n_hops": 1}')),
    ("planted_partition", Setting("ChebNet", '{"order": 1, "normalisation": "none", "n_layers": 1}')),
    ("random_tsp", Setting("ChebNet", '{"order": 3, "normalisation": "rw"}')),
    ("random_tsp", Setting("Jaccard")),
    ("random_tsp", Setting("AdamicAdar")),
    ("random_tsp", Setting("ResourceAllocation")),
)


@pytest.mark.parametrize(("task", "setting"), RUNS, ids=lambda value: value if isinstance(value, str) else value.label)
def test_what_is_not_usual_runs_too(task: str, setting: Setting, tmp_path_factory: pytest.TempPathFactory) -> None:
    found = TASKS.get(task)
    home = tmp_path_factory.getbasetemp() / "home-of-spaces"
    row = SPACE_ROWS[setting.model]
    plan = make_plan([found], [row], seeds=[0], protocol=PROTOCOLS.get("graphnetz"), epochs=5, place=Place(home=home))
    values = tuple(sorted(setting.options.items()))
    result = run_one(replace(plan.cells[0], hyperparameters=values, device="cpu"))
    assert result.failure is None, result.failure
    assert result.score is not None
    assert 0 <= result.score <= 1
    # Near nodes of a tour are linked: whoever counts common neighbours finds them.
    assert task == "planted_partition" or setting.model in {"SGC", "ChebNet"} or result.score > 0.7
