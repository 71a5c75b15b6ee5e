"""A class says what it takes in one table: constructor, signature and checks follow from it."""

from __future__ import annotations

import copy
import inspect
import itertools
import pickle
import re
import textwrap
from dataclasses import FrozenInstanceError
from typing import Any

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import TAGConv

from gnz_track import models
from gnz_track.errors import BadValue
from gnz_track.models.building import load_parts, options_of
from gnz_track.models.catalogue import MODELS, describe, usual_models
from gnz_track.models.gat import GAT
from gnz_track.models.gcn import GCN
from gnz_track.models.options import Defaults, Model, Option, count, fixed
from gnz_track.models.sgc import SGC
from gnz_track.models.stack import Stack
from gnz_track.types import ModelRow, TaskType

BUILT_IN = [name for name in MODELS if issubclass(load_parts(MODELS.get(name))[0], Model)]


class Deeper(GCN):
    """A model of a user with a constructor of its own."""

    task_types = (TaskType.node_cls,)

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, depth: int = 3) -> None:
        super().__init__(in_channels, hidden_channels, out_channels, n_layers=depth)


class Wider(GCN):
    """One that hands all options on."""

    task_types = (TaskType.node_cls,)

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, *, times: int = 2, **options: Any
    ) -> None:
        super().__init__(in_channels, times * hidden_channels, out_channels, **options)


def test_most_models_of_the_catalogue_have_a_table() -> None:
    assert len(BUILT_IN) > 30


@pytest.mark.parametrize("name", BUILT_IN)
def test_signatures_name_each_option_with_its_default_and_no_other(name: str) -> None:
    cls = load_parts(MODELS.get(name))[0]
    parameters = inspect.signature(cls).parameters
    assert list(parameters)[:3] == ["in_channels", "hidden_channels", "out_channels"]
    assert all(one.kind is one.KEYWORD_ONLY for one in list(parameters.values())[3:])
    told = {key: one.default for key, one in parameters.items() if one.default is not one.empty}
    assert told == {key: option.default for key, option in cls.defaults.items() if option.is_open}
    assert dict(options_of(MODELS.get(name)).defaults) == told


@pytest.mark.parametrize("name", BUILT_IN)
def test_defaults_are_allowed_and_told_in_words(name: str) -> None:
    for option in load_parts(MODELS.get(name))[0].defaults.values():
        assert option.allows(option.default)
        assert bool(option.allowed) == (option.allows is not Option(0).allows)


@pytest.mark.parametrize("row", usual_models(), ids=lambda row: row.name)
def test_reference_pages_tell_the_defaults(row: ModelRow) -> None:
    cls = load_parts(row)[0]
    told = [f"``{name}={option.default!r}``" for name, option in cls.defaults.items() if option.is_open]
    assert re.findall(r"``\w+=\S+?``", cls.__doc__)[: len(told)] == told


def test_classes_of_ones_own_have_the_signature_that_they_write() -> None:
    assert list(inspect.signature(Deeper).parameters)[3:] == ["depth"]
    assert list(inspect.signature(Wider).parameters)[3:] == ["times", "n_layers", "dropout", "norm", "jumping", "act"]
    assert options_of(describe(Wider)).defaults["n_layers"] == 2
    assert Deeper(3, 4, 2).options.n_layers == 3
    assert Wider(3, 4, 2, n_layers=1, times=3, act="tanh").options.act == "tanh"


def test_a_built_model_is_called_with_data() -> None:
    assert list(inspect.signature(GCN(3, 4, 2).forward).parameters) == ["data"]
    assert "in_channels" not in inspect.signature(GCN(3, 4, 2)).parameters


@pytest.mark.parametrize(("cls", "wrong"), [(GCN, "heads"), (GCN, "depth"), (GAT, "act"), (SGC, "n_layers")])
def test_names_that_are_no_options_are_refused_as_by_any_function(cls: Any, wrong: str) -> None:
    with pytest.raises(TypeError, match=rf"{cls.__name__}\(\) got an unexpected keyword argument '{wrong}'"):
        cls(3, 4, 2, **{wrong: 1})


def test_what_was_chosen_stays_and_travels() -> None:
    model = GAT(3, 4, 2, heads=2)
    with pytest.raises(FrozenInstanceError):
        model.options.heads = 3
    for same in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert same.options == model.options
        assert all(map(torch.equal, same.parameters(), model.parameters()))


def test_a_member_of_a_family_changes_its_table_and_not_that_of_others() -> None:
    family = Defaults(n_layers=count(2), act=fixed("relu"))
    member = family.but(n_layers=4, act="elu", heads=count(8))
    assert {name: option.default for name, option in member.items()} == {"n_layers": 4, "act": "elu", "heads": 8}
    assert family["n_layers"].default == 2
    assert len(family) == 2
    assert not member["act"].is_open
    with pytest.raises(KeyError, match="order"):
        family.but(order=3)


def test_each_value_is_checked_by_its_own_row() -> None:
    class Small(Model):
        defaults = Defaults(n=count(1), share=Option(0.5, lambda value: 0 <= value <= 1, "a number from 0 to 1"))

        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, **options: Any) -> None:
            super().__init__(options)
            self.maps = nn.Linear(in_channels, hidden_channels), nn.Linear(hidden_channels, out_channels)

    assert vars(Small(1, 1, 1, share=1).options) == {"n": 1, "share": 1}
    with pytest.raises(BadValue, match=r"share is 2; allowed: a number from 0 to 1\."):
        Small(1, 1, 1, share=2)
    with pytest.raises(BadValue, match=r"n is 0; allowed: a whole number from 1 upwards\."):
        Small(1, 1, 1, n=0)


def test_example_of_the_manual_is_a_model() -> None:
    lines = textwrap.dedent((models.__doc__ or "").partition("what differs::\n")[2]).splitlines()
    code = "\n".join(itertools.takewhile(lambda line: not line.startswith("How"), lines))
    names = {"Stack": Stack, "TAGConv": TAGConv, "count": count}
    exec(textwrap.dedent(code), names)  # noqa: S102  (it is the text of this package)
    cls: Any = names["TAGCN"]
    assert {one.default for one in list(inspect.signature(cls).parameters.values())[-1:]} == {2}
    data = Data(x=torch.ones(4, 3), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
    assert cls(3, 8, 5, hops=1)(data).shape == (4, 5)
    assert len(cls(3, 8, 5).hidden_names) == 2
