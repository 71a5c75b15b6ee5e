"""Models as they are typed: options are literals, files are modules, and two classes of one name are two models."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gnz_track.errors import BadValue, ModelInvalid, UnknownName
from gnz_track.models.building import build
from gnz_track.models.catalogue import MODELS, describe, describe_all
from gnz_track.models.gcn import GCN
from gnz_track.models.options import Sizes
from gnz_track.models.words import find_target, parse_word
from gnz_track.runs.protocol_resolution import given_to
from gnz_track.runs.settings import settle_options
from gnz_track.text import split_names
from gnz_track.types import Optimiser, Protocol, Selection, Task, TaskType

NET = "from torch import nn\n\n\nclass Net(nn.Linear):\n    task_types = {'node_cls'}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Return a folder whose modules are forgotten afterwards."""
    paths, modules = list(sys.path), set(sys.modules)
    yield tmp_path
    sys.path[:] = paths
    for name in set(sys.modules) - modules:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("GCN", "GCN", {}),
        ("wide=GCN", "wide", {}),
        ("GCN(n_layers=4)", "GCN(n_layers=4)", {"n_layers": 4}),
        ("wide = GCN( n_layers = 4, norm=batch )", "wide", {"n_layers": 4, "norm": "batch"}),
        ("GCN(dropout=-.5e-3)", "GCN(dropout=-0.0005)", {"dropout": -0.0005}),
        ("GatedGCN-E(n_layers=4)", "GatedGCN-E(n_layers=4)", {"edge_features": True, "n_layers": 4}),
    ],
)
def test_a_word_names_a_model_and_its_options(text: str, name: str, options: dict[str, object]) -> None:
    row = describe(text)
    assert (row.name, dict(row.options)) == (name, options)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=GCN",
        "a=b=GCN",
        "GCN(",
        "GCN)",
        "GCN(4)",
        "GCN(n_layers=4)x",
        "GCN(n_layers=4)(n_layers=5)",
        "GCN(n_layers=4, n_layers=5)",
        "GCN(**{'n_layers': 4})",
        "GCN(n_layers=[4])",
        "GCN(n_layers=print(4))",
        "GCN(n_layers=sys.path)",
        "GCN(n_layers=(lambda: 4)())",
        "GCN(n_layers=" + "(" * 1900 + "4" + ")" * 80 + ")",
        "GCN(n_layers='\\d' '\0')",
    ],
)
def test_what_is_no_word_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadValue, match=r"allowed: NAME.*Try: gnz run --models"):
        parse_word(text)


def test_commas_within_options_part_no_models() -> None:
    assert split_names("a=GCN(n_layers=4, norm=batch),GAT , ./x.py:Net(a=1,b=2)") == [
        "a=GCN(n_layers=4, norm=batch)",
        "GAT",
        "./x.py:Net(a=1,b=2)",
    ]
    assert split_names("GCN(n_layers=4,GAT") == ["GCN(n_layers=4,GAT"]


def test_options_reach_the_constructor_and_a_partial_says_the_same() -> None:
    by_word, by_partial = describe("wide=GCN(n_layers=4)"), describe(functools.partial(GCN, n_layers=4), name="wide")
    assert by_word == by_partial
    sizes = Sizes(in_channels=3, hidden_channels=8, out_channels=2)
    n_parameters = [
        sum(weight.numel() for weight in build(row, TaskType.node_cls, sizes).parameters())
        for row in (describe("GCN"), by_word)
    ]
    assert n_parameters[1] - n_parameters[0] == 2 * (8 * 8 + 8)


def test_a_partial_gives_plain_values_by_name() -> None:
    with pytest.raises(ModelInvalid, match=r"1 values without a name; name them"):
        describe(functools.partial(GCN, 3))
    with pytest.raises(ModelInvalid, match=r"'act' is a function, which no table of runs can hold"):
        describe(functools.partial(GCN, act=lambda x: x))


def test_options_are_read_as_settings_are() -> None:
    (row,) = settle_options([describe("GCN(dropout=1e-1,n_layers=3)")])
    assert dict(row.options) == {"dropout": 0.1, "n_layers": 3}
    assert settle_options([describe("GatedGCN-E")]) == [describe("GatedGCN-E")]
    with pytest.raises(BadValue, match=r"model GCN\(n_layers=0\): n_layers is 0; allowed: a whole number"):
        settle_options([describe("GCN(n_layers=0)")])
    with pytest.raises(BadValue, match=r"lr is chosen by --set\. Try: gnz run --set GCN\.lr=0\.1"):
        settle_options([describe("GCN(lr=0.1)")])
    with pytest.raises(UnknownName, match="unknown setting 'n_layer'; did you mean 'n_layers'"):
        settle_options([describe("GCN(n_layer=3)")])


def test_a_model_under_another_name_has_what_a_protocol_gives_to_its_class() -> None:
    how = Protocol(
        name="x",
        version=1,
        optimisers={TaskType.node_cls: Optimiser(lr=0.1)},
        selection=Selection.last_epoch,
        by_model={"GCN": {"dropout": 0.2}},
    )
    task = Task("t", TaskType.node_cls)
    given = [given_to(describe(text), how, task) for text in ("GCN", "wide=GCN(n_layers=3)", "GAT")]
    assert given == [{"dropout": 0.2}, {"dropout": 0.2}, {}]


def test_a_file_is_a_module_of_its_folder(folder: Path) -> None:
    (folder / "filed_nets.py").write_text(NET)
    row = describe(f"deep={folder / 'filed_nets.py'}:Net")
    assert (row.name, row.target) == ("deep", "filed_nets:Net")
    assert str(folder) in sys.path


def test_a_file_of_a_package_is_a_module_of_it(folder: Path) -> None:
    package = folder / "filed_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "sizes.py").write_text("WIDTH = 3\n")
    (package / "nets.py").write_text("from .sizes import WIDTH\n" + NET)
    assert describe(f"{package / 'nets.py'}:Net").target == "filed_package.nets:Net"


@pytest.mark.parametrize("name", ["random.py", "my-nets.py", "absent.py"])
def test_a_file_that_cannot_be_imported_by_its_name_is_refused(folder: Path, name: str) -> None:
    if name != "absent.py":
        (folder / name).write_text(NET)
    paths = list(sys.path)
    with pytest.raises(BadValue, match=r"allowed: (a file whose name|FILE\.py:NAME with a file)"):
        find_target(f"{folder / name}:Net")
    assert sys.path == paths


def test_of_two_files_of_one_name_the_second_is_refused(folder: Path) -> None:
    for place in ("one", "two"):
        (folder / place).mkdir()
        (folder / place / "same_nets.py").write_text(NET)
    assert find_target(f"{folder}/one/same_nets.py:Net") == "same_nets:Net"
    with pytest.raises(BadValue, match=r"a file of another name: 'same_nets' is .*one.same_nets\.py"):
        find_target(f"{folder}/two/same_nets.py:Net")


def test_two_classes_of_one_name_are_two_models(folder: Path) -> None:
    for name in ("first_nets", "second_nets"):
        (folder / f"{name}.py").write_text(NET)
    rows = describe_all([f"{folder}/first_nets.py:Net", f"{folder}/second_nets.py:Net", "GCN"])
    assert [row.name for row in rows] == ["first_nets:Net", "second_nets:Net", "GCN"]
    alone = describe_all([f"{folder}/first_nets.py:Net", "wide=second_nets:Net"])
    assert [row.name for row in alone] == ["Net", "wide"]
    assert describe("GCN") is MODELS.get("GCN")
