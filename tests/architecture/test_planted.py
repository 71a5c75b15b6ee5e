"""Each rule fails on a planted violation, and on nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import house
import pytest

Rule = Callable[[Iterable[house.Source]], list[str]]

FACADE = '''"""A package."""


def run() -> object:
    """Run."""
    from gnz_track.runs import many

    return many
'''
CLEAN = {
    "__init__.py": FACADE,
    "errors.py": '"""Errors."""\n',
    "types.py": '"""Words."""\n\nfrom gnz_track.errors import BadValue\n',
    "stats/__init__.py": '"""Statistics."""\n\nimport numpy\n\nfrom gnz_track import types\n',
    "models/__init__.py": '"""Networks."""\n\nimport torch\n\nfrom . import gcn\n',
    "models/gcn.py": '"""One network."""\n\nfrom ..types import Cell\nfrom ..registry import Registry\n',
    "store/sink.py": '"""What was measured."""\n\nimport mlflow\n\nfrom gnz_track import __version__\n',
    "runs/executors/ray/driver.py": '"""Cells on a cluster."""\n\nimport ray\n\nfrom gnz_track.models.gcn import Net\n',
    "cli/__init__.py": '"""The command line."""\n\nfrom gnz_track.errors import GnzError\n',
}
WIDE = '''"""A module."""


def wide(a: int, b: int, c: int, d: int, e: int, f: int, *, g: int, h: int) -> None:
    """Take."""
'''
METHOD = '"""A module."""\n\n\nclass Net:\n    """A network."""\n\n    def forward(self) -> None:\n        pass\n'

# Rule, file, its text, and words that the violation must hold.
PLANTED: dict[str, tuple[Rule, str, str, str]] = {
    "upwards": (house.check_arrows, "stats/a.py", "from gnz_track.runs import many", "stats may not import runs"),
    "sideways": (house.check_arrows, "models/a.py", "import gnz_track.datasets.x", "they stand on one line"),
    "name from the package": (house.check_arrows, "types.py", "from gnz_track import datasets", "it stands above"),
    "relative": (
        house.check_arrows,
        "datasets/sub/a.py",
        "from ...runs.plan import plan",
        "datasets may not import runs",
    ),
    "relative name": (
        house.check_arrows,
        "datasets/a.py",
        "from .. import training",
        "datasets may not import training",
    ),
    "in a function": (
        house.check_arrows,
        "store/a.py",
        "def f():\n    import gnz_track.cli",
        "store may not import cli",
    ),
    "for types only": (
        house.check_arrows,
        "stats/a.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from gnz_track.report import page",
        "a.py:3: stats may not import report",
    ),
    "by text": (
        house.check_arrows,
        "registry.py",
        "import importlib\nimportlib.import_module('gnz_track.models')",
        "registry may not import models",
    ),
    "by relative text": (
        house.check_arrows,
        "stats/a.py",
        "import_module('..runs.plan', __package__)",
        "stats may not import runs",
    ),
    "by target": (
        house.check_arrows,
        "seeds.py",
        "import_target('gnz_track.runs.run_one:run')",
        "seeds may not import runs",
    ),
    "facade from below": (house.check_arrows, "runs/a.py", "from gnz_track import run", "the room that owns the name"),
    "unknown room": (house.check_arrows, "attic/a.py", "import gnz_track.types", "no place in the table"),
    "mlflow outside": (house.check_walls, "runs/a.py", "import mlflow.tracking", "it belongs to store/"),
    "optuna outside": (house.check_walls, "runs/a.py", "from optuna import Trial", "it belongs to tuning/"),
    "ray outside": (
        house.check_walls,
        "runs/executors/processes.py",
        "import ray",
        "it belongs to runs/executors/ray/",
    ),
    "matplotlib outside": (house.check_walls, "stats/a.py", "import matplotlib.pyplot", "it belongs to report/"),
    "torch in stats": (house.check_walls, "stats/a.py", "def f():\n    import torch", "a.py:2: torch stays out"),
    "torch in store": (house.check_walls, "store/a.py", "from torch import nn", "torch stays out of here"),
    "pyg in report": (house.check_walls, "report/a.py", "import torch_geometric.data", "torch_geometric stays out"),
    "torch at start": (house.check_quick_start, "cli/a.py", "import torch", "cli may import torch only inside"),
    "room at start": (house.check_quick_start, "cli/a.py", "from gnz_track.runs import many", "only inside a function"),
    "facade at start": (house.check_quick_start, "__init__.py", "from .training import loop", "only inside a function"),
    "file of a role": (house.check_names, "stats/utils.py", "", "'utils' names a role"),
    "folder of a role": (house.check_names, "common/a.py", "", "'common' names a role"),
    "underscore": (house.check_names, "stats/_ranks.py", "", "'_ranks' names a role"),
    "assert": (house.check_asserts, "stats/a.py", "def f(x):\n    assert x", "a.py:2: assert"),
    "many parameters": (house.check_parameters, "stats/a.py", WIDE, "wide has 8 parameters"),
    "bare module": (house.check_docstrings, "stats/a.py", "x = 1", "the module has no docstring"),
    "bare function": (house.check_docstrings, "stats/a.py", '"""M."""\ndef f(): ...', "a.py:2: f has no docstring"),
    "bare class": (house.check_docstrings, "stats/a.py", '"""M."""\nclass A: ...', "A has no docstring"),
    "bare method": (house.check_docstrings, "models/a.py", METHOD, "a.py:7: Net.forward has no docstring"),
    "no type": (house.check_annotations, "stats/a.py", "def f(x) -> int: ...", "f: x has no annotation"),
    "no type of a rest": (house.check_annotations, "stats/a.py", "def f(**x) -> int: ...", "f: x has no annotation"),
    "no type of a result": (house.check_annotations, "stats/a.py", "def _f(x: int): ...", "_f: return has no"),
}


def plant(package: Path, files: dict[str, str]) -> list[house.Source]:
    for name, text in files.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text, "utf-8")
    return house.read_package(package)


@pytest.mark.parametrize("rule", house.RULES, ids=lambda rule: rule.__name__)
def test_clean_tree_passes(rule: Rule, tmp_path: Path) -> None:
    assert rule(plant(tmp_path / "gnz_track", CLEAN)) == []


@pytest.mark.parametrize("kind", PLANTED)
def test_planted_violation_is_found(kind: str, tmp_path: Path) -> None:
    rule, name, text, words = PLANTED[kind]
    found = rule(plant(tmp_path / "gnz_track", {**CLEAN, name: text}))
    assert len(found) == 1, found
    assert found[0].startswith(f"gnz_track/{name}:")
    assert words in found[0]


def test_every_rule_is_planted() -> None:
    assert {rule for rule, *_ in PLANTED.values()} == set(house.RULES)


def test_import_for_types_only_does_not_slow_the_start(tmp_path: Path) -> None:
    text = "if TYPE_CHECKING:\n    from gnz_track.runs import Plan\nelse:\n    import torch"
    found = house.check_quick_start(plant(tmp_path / "gnz_track", {"cli/a.py": text}))
    assert [line.partition(": ")[0] for line in found] == ["gnz_track/cli/a.py:4"]


def test_flags_of_a_command_are_parameters_but_only_there(tmp_path: Path) -> None:
    command = WIDE.replace("def wide", "@app.command()\ndef wide")
    assert house.check_parameters(plant(tmp_path / "gnz_track", {"cli/a.py": command})) == []
    assert len(house.check_parameters(plant(tmp_path / "gnz_track", {"runs/a.py": command}))) == 1


@pytest.mark.parametrize(
    ("registration", "n_found"),
    [
        ("app.command(epilog='x')(wide)", 0),
        ("def add_to(app: object) -> None:\n    app.command()(wide)", 0),
        ("app.command()(other)", 1),
        ("app.command(wide)", 1),
        ("print(wide)", 1),
        ("app.callback()(wide)", 1),
    ],
)
def test_function_that_is_handed_over_as_a_command_is_one(registration: str, n_found: int, tmp_path: Path) -> None:
    found = house.check_parameters(plant(tmp_path / "gnz_track", {"cli/a.py": f"{WIDE}\n\n{registration}\n"}))
    assert len(found) == n_found
    elsewhere = plant(tmp_path / "gnz_track", {"cli/a.py": WIDE, "runs/a.py": f"{WIDE}\n\n{registration}\n"})
    assert len(house.check_parameters(elsewhere)) == 2


def test_method_with_the_name_of_a_command_is_not_one(tmp_path: Path) -> None:
    method = "\n\nclass Net:\n" + "".join(f"    {line}\n" for line in WIDE.splitlines()[3:]) + "\napp.command()(wide)\n"
    found = house.check_parameters(plant(tmp_path / "gnz_track", {"cli/a.py": WIDE + method}))
    assert [line.partition(": ")[2] for line in found] == ["Net.wide has 8 parameters; at most 7"]


@pytest.mark.parametrize(
    ("path", "name", "widths", "n_found"),
    [
        ("models/a.py", "__init__", "a: int, b: int, c: int, *, ", 0),
        ("models/a.py", "__init__", "a: int, b: int, c: int, z: int, *, ", 1),
        ("models/a.py", "forward", "a: int, b: int, c: int, *, ", 1),
        ("stats/a.py", "__init__", "a: int, b: int, c: int, *, ", 1),
    ],
)
def test_options_of_a_model_are_parameters_but_only_there(
    path: str, name: str, widths: str, n_found: int, tmp_path: Path
) -> None:
    method = f"class Net:\n    def {name}(self, {widths}d: int, e: int, f: int, g: int) -> None:\n        pass\n"
    assert len(house.check_parameters(plant(tmp_path / "gnz_track", {path: method}))) == n_found
