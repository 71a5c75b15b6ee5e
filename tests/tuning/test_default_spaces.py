"""Every model can be searched as it is, and every point of its space can be built."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch

from gnz_track.errors import BadValue
from gnz_track.models.building import Sizes, build, options_of
from gnz_track.models.catalogue import MODELS, describe, usual_models
from gnz_track.registry import import_target
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.tuning.default_spaces import ALL, borders_of, defaults_of, space_of
from gnz_track.tuning.proposals import propose, sampler_inputs_of
from gnz_track.tuning.spaces import Space, make_space
from gnz_track.tuning.study_terms import Budget, StudyTerms
from gnz_track.types import Direction, ModelRow, TaskType

PROTOCOL = PROTOCOLS.get("graphnetz")
PAIRS = [
    (row.name, task_type) for row in MODELS.rows() for task_type in row.task_types if task_type in PROTOCOL.optimisers
]
USUAL = [row.name for row in usual_models()]
# What a model may ask of its data, so that any can be built.
SIZES: dict[str, Any] = {"in_channels": 3, "out_channels": 2, "edge_channels": 2, "n_graph_targets": 2}
# What only the published space of settings varies, or has one value there; scaled codes are the better ones.
UNSEARCHED = {"bias", "act", "aggr", "eps", "towers", "is_scaled"}
TRAINING = {"lr", "weight_decay", "batch_size", "hidden_channels"}


def space_for(name: str, task_type: TaskType, given: dict[str, Space] | None = None) -> tuple[ModelRow, Space]:
    row = describe(name)
    return row, space_of(row, options_of(row), PROTOCOL, task_type, given or {})


@pytest.mark.parametrize(("name", "task_type"), PAIRS)
def test_default_lies_in_the_space_and_every_option_is_searched(name: str, task_type: TaskType) -> None:
    row, space = space_for(name, task_type)
    usual = defaults_of(options_of(row), PROTOCOL, task_type)
    assert {key for key in space if not space[key].holds(usual[key])} == set()
    searched, options = set(space) - TRAINING, set(options_of(row).names)
    assert searched <= options - set(row.options)
    if not import_target(row.target).__module__.startswith("gnz_track.models.deep."):
        assert searched | UNSEARCHED == options | UNSEARCHED
    assert ("batch_size" in space) == task_type.startswith("graph")


@pytest.mark.parametrize(("name", "task_type"), PAIRS)
def test_every_proposal_can_be_built(name: str, task_type: TaskType) -> None:
    row, space = space_for(name, task_type)
    terms = StudyTerms(space=space, direction=Direction.up, budget=Budget(trials=9), sampler="random", label=name)
    for number in range(4 if space else 0):
        values = propose(terms, sampler_inputs_of(terms, [], number), 0, [], [])
        options = {**row.options, **{key: value for key, value in values.items() if key not in TRAINING}}
        width: Any = values.get("hidden_channels", 64)
        torch.manual_seed(0)
        # Whole graphs are many; of one graph a model knows how many nodes it has.
        n_nodes = 0 if task_type.startswith("graph") else 9
        build(row, task_type, Sizes(**SIZES, hidden_channels=width, n_nodes=n_nodes), options=options)


def test_given_space_comes_before_what_is_usual_and_all_behind_a_name() -> None:
    given = {"GCN": make_space("GCN", {"lr": [0.1]}), ALL: make_space("all", {"dropout": [0.1, 0.2]})}
    assert list(space_for("GCN", TaskType.node_cls, given)[1]) == ["lr"]
    assert list(space_for("MLP", TaskType.node_cls, given)[1]) == ["dropout"]


@pytest.mark.parametrize(
    ("name", "task_type", "wrong", "allowed"),
    [
        ("GCN", TaskType.node_cls, "heads", "lr, weight_decay, hidden_channels, n_layers, dropout, norm, jumping"),
        ("GCN", TaskType.node_cls, "batch_size", "lr, weight_decay, hidden_channels, n_layers"),
        ("GIN", TaskType.graph_cls, "depth", "lr, weight_decay, batch_size, hidden_channels, n_layers"),
    ],
)
def test_name_that_nothing_takes_is_refused(name: str, task_type: TaskType, wrong: str, allowed: str) -> None:
    message = f"a name in the search space of {name} is '{wrong}'; allowed: {allowed}"
    with pytest.raises(BadValue, match=message):
        space_for(name, task_type, {ALL: make_space("all", {wrong: [1, 2]})})


def test_space_for_all_leaves_out_what_changes_nothing_and_one_of_its_own_is_refused() -> None:
    every = {ALL: make_space("all", {"lr": [0.1, 0.2], "hidden_channels": [8, 16]})}
    assert list(space_for("SEAL", TaskType.link_pred, every)[1]) == ["lr"]
    assert list(space_for("GraRep", TaskType.node_cls, every)[1]) == ["lr"]
    assert list(space_for("GraRep", TaskType.link_pred, every)[1]) == ["lr", "hidden_channels"]
    assert space_for("Jaccard", TaskType.link_pred, every)[1] == {}
    with pytest.raises(BadValue, match="a name in the search space of Jaccard is 'lr'; allowed: none"):
        space_for("Jaccard", TaskType.link_pred, {"Jaccard": make_space("Jaccard", {"lr": [0.1, 0.2]})})


def test_width_of_codes_that_a_protocol_fixes_is_not_searched() -> None:
    row, protocol = describe("SGC"), PROTOCOLS.get("glemos")
    assert protocol.code_channels
    assert "hidden_channels" not in space_of(row, options_of(row), protocol, TaskType.link_pred, {})


def test_model_of_another_name_has_the_space_of_its_class() -> None:
    row = describe("SEAL", name="a baseline")
    assert space_of(row, options_of(row), PROTOCOL, TaskType.link_pred, {}) == space_for("SEAL", TaskType.link_pred)[1]


def test_ends_beyond_which_nothing_lies_are_no_borders() -> None:
    _, space = space_for("GAT", TaskType.graph_cls)
    lowest = {"lr": 1e-4, "weight_decay": 0.0, "n_layers": 1, "dropout": 0.0, "heads": 1, "hidden_channels": 8}
    assert borders_of(space, {**lowest, "norm": "none"}) == ("hidden_channels", "lr")
    highest = {"weight_decay": 1e-2, "n_layers": 5, "dropout": 0.8, "heads": 8, "batch_size": 128}
    assert borders_of(space, highest) == tuple(sorted(highest))
    inside = {"lr": 0.01, "dropout": 0.5, "hidden_channels": 16}
    assert borders_of(space, inside) == ()


def test_no_two_pairs_share_a_proposal_of_chance() -> None:
    found = set()
    for (name, task_type), seed in itertools.product(PAIRS[:6], range(2)):
        _, space = space_for(name, task_type)
        label = f"{name} {task_type}"
        terms = StudyTerms(
            space=space, direction=Direction.up, budget=Budget(trials=9), sampler="random", label=label, seed=seed
        )
        found.add(propose(terms, sampler_inputs_of(terms, [], 1), 0, [], [])["lr"])
    assert len(found) == 12
