"""Protocols of YAML files: what they say is used, the rest is as in another one, and slips are told with their line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import BadValue, UnknownName
from gnz_track.models.catalogue import MODELS
from gnz_track.runs.protocol_files import find_protocol, is_file_of_protocol, read_protocol
from gnz_track.runs.protocol_resolution import given_to
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Override, Protocol, Selection, TaskType

Read = Callable[[str], Protocol]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def read(text: str) -> Protocol:
        file = tmp_path / "mine.yaml"
        file.write_text(text)
        return read_protocol(file)

    return read


def test_what_a_file_does_not_say_is_as_in_another_protocol(read: Read) -> None:
    for like in ("graphnetz", "best-val", "dwivedi-100k"):
        found = read(f"like: {like}\nname: same\nversion: 7\n")
        usual = PROTOCOLS.get(like)
        assert found == replace(usual, name=found.name, version=7, description="of mine.yaml")
    assert read("{}").optimisers == PROTOCOLS.get("graphnetz").optimisers


def test_settings_have_the_names_of_the_command_line(read: Read) -> None:
    found = read(
        "lr: 5e-3\nselection: best_validation\nstop_patience: 9\nencoding: lap4\nclip: 1\nepochs: 12\nbudget: 1000\n"
        "hidden_channels: 8\nsplits: random\nalso: [training]\nhours: 2\nfeatures: learned\n"
    )
    assert {one.lr for one in found.optimisers.values()} == {0.005}
    assert {one.clip for one in found.optimisers.values()} == {1.0}
    assert (found.selection, found.patience, found.encoding) == (Selection.best_validation, 9, "lap4")
    assert (found.epochs, found.budget, found.hidden_channels, found.splits) == (12, 1000, 8, "random")
    assert (found.also, found.hours, found.features) == (("training",), 2.0, "learned")


def test_task_types_models_and_datasets_have_their_own(read: Read) -> None:
    found = read(
        "lr: 0.1\noptimisers:\n  graph_cls: {lr: 0.2, loss: usual}\n  multi_task: {lr: 0.3}\noptions: {dropout: 0.5}\n"
        "by_model: {GAT: {heads: 4, encoding: none}}\n"
        "by_dataset:\n  cora: {lr: 0.4, options: {n_layers: 3}, by_model: {GCN: {lr: 0.5}}, epochs: 3, encoding: lap2}"
    )
    rates = {str(kind): one.lr for kind, one in found.optimisers.items()}
    assert (rates["node_cls"], rates["graph_cls"], rates["multi_task"]) == (0.1, 0.2, 0.3)
    assert found.optimisers[TaskType.graph_cls].loss == ""
    assert (found.options, found.by_model) == ({"dropout": 0.5}, {"GAT": {"heads": 4, "encoding": "none"}})
    one = {"GCN": {"lr": 0.5}}
    expected = Override(optimiser={"lr": 0.4}, options={"n_layers": 3}, by_model=one, epochs=3, encoding="lap2")
    assert found.by_dataset == {"cora": expected}


def test_a_key_with_nothing_behind_it_says_nothing(read: Read) -> None:
    found = read("by_dataset: {cora}\nby_model: {GAT: }\noptimisers:\noptions:\n")
    assert (found.by_dataset, found.by_model, found.options) == ({"cora": Override()}, {"GAT": {}}, {})
    with pytest.raises(BadValue, match=r"line 1: by_dataset.cora is \[1\]; allowed: a mapping"):
        read("by_dataset: {cora: [1]}")


def test_patience_is_that_of_the_schedule_where_there_is_one(read: Read) -> None:
    assert read("patience: 3").patience == 3
    found = read(
        "patience: 3\nschedule: plateau\noptimisers: {edge_cls: {patience: 4}, link_pred: {schedule: constant}}"
    )
    assert found.patience == 0
    patience = {str(kind): one.patience for kind, one in found.optimisers.items()}
    assert (patience["node_cls"], patience["edge_cls"], patience["link_pred"]) == (3, 4, 0)


def test_the_name_follows_from_the_content(read: Read) -> None:
    first, second, again = read("lr: 0.1"), read("lr: 0.2"), read("lr: 1e-1  # the same\ndescription: words")
    assert first.name.startswith("mine+")
    assert len({first.name, second.name, again.name}) == 2
    assert read("name: other\nlr: 0.1").name.startswith("other+")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lr: 0.1\nlrs: 2", "unknown key of a protocol (mine.yaml, line 2) 'lrs'; did you mean 'lr'"),
        ("\nlr: -1", "mine.yaml, line 2: lr is -1; allowed: a number above 0"),
        ("lr: .nan", "mine.yaml, line 1: lr is nan"),
        ("optimisers:\n  node_cls: {lr: x}", "mine.yaml, line 2: optimisers.node_cls.lr is 'x'"),
        ("optimisers:\n  nodes: {lr: 1}", "unknown task type of a protocol (mine.yaml, line 2) 'nodes'"),
        ("optimisers: {multi_task: {clip: 1}}", "line 1: optimisers.multi_task is None; allowed: a mapping with at"),
        ("optimisers: {node_cls: {heads: 1}}", "unknown key of a protocol (mine.yaml, line 1) 'heads'"),
        ("optimisers: 3", "mine.yaml, line 1: optimisers is 3; allowed: a mapping"),
        ("by_model:\n  GAT:\n    heads: [4]", "mine.yaml, line 3: by_model.GAT.heads is [4]; allowed: a number"),
        ("by_model:\n  GAT:\n    lr: fast", "mine.yaml, line 3: by_model.GAT.lr is 'fast'; allowed: a number above 0"),
        ("by_dataset: {cora: {budget: 3}}", "unknown key of a protocol (mine.yaml, line 1) 'budget'"),
        ("by_dataset: {cora: {encoding: none}}", "by_dataset.cora.encoding is 'none'; allowed: another value"),
        ("like: graphnets", "mine.yaml, line 1: like is 'graphnets'; allowed: the name of a known protocol"),
        ("like: [1]", "mine.yaml, line 1: like is [1]"),
        ("version: 1.5", "mine.yaml, line 1: version is 1.5; allowed: a whole number"),
        ("name: a b", "mine.yaml, line 1: name is 'a b'; allowed: a word of letters"),
        ("tolerance: 1", "line 1: tolerance is 1; allowed: a number between 0 and 1"),
        ("also: [all]", "line 1: also is ['all']; allowed: a list of best_validation and training"),
        ("lr: 1\nlr: 2", "mine.yaml, line 2: lr is 'there twice'; allowed: each key once"),
        ("[1]", "is 'list'; allowed: a mapping"),
        ("", "is 'NoneType'; allowed: a mapping"),
        ("lr: [", "allowed: YAML (while parsing"),
        ("lr: 1\n\tx: 2", "line 2"),
        ("2020-99-99: 1", "YAML ("),
        ("[" * 3000, "YAML that is not nested so deeply"),
        ("? {a: 1}\n: 2", "YAML ("),
    ],
)
def test_slips_are_told_with_file_line_and_key(read: Read, text: str, said: str) -> None:
    with pytest.raises((BadValue, UnknownName)) as caught:
        read(text)
    assert said in str(caught.value)


def test_a_file_that_is_not_there_and_a_name_of_one_are_told(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match=r"a YAML file that exists, of at most 4 MiB\. Try: gnz protocols"):
        find_protocol(str(tmp_path / "absent.yml"))
    with pytest.raises(BadValue, match=r"the file that it was read from.*--protocol \./mine\.yaml"):
        find_protocol("mine+123abc")
    with pytest.raises(UnknownName, match="did you mean 'graphnetz'"):
        find_protocol("graphnets")
    assert (is_file_of_protocol("a.yml"), is_file_of_protocol("best-val")) == (True, False)
    assert find_protocol("best-val") is PROTOCOLS.get("best-val")


def test_settings_that_a_model_does_not_have_are_slips(read: Read) -> None:
    protocol, task = read("{options: {heads: 2}, by_model: {GCN: {dropuot: 0.5}}}"), TASKS.get("cora")
    with pytest.raises(UnknownName, match=r"gives to GCN 'dropuot'; did you mean 'dropout'"):
        given_to(MODELS.get("GCN"), protocol, task)
    # What is for all models is for those that have it.
    assert given_to(MODELS.get("MLP"), protocol, task) == {}
