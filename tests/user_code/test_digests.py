"""Digests of models: equal where the behaviour is, different where it is not, in every process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest
from user_projects import Project

from gnz_track.user_code.digests import describe_code
from gnz_track.user_code.values import target_of

# A notebook: a class, what it needs, and what it does not.
NOTEBOOK = """
import math
import collections as c

WIDTH = 4
UNUSED = 1

def scale(x, by=2):
    return x * by * WIDTH

class Part:
    slope = 0.5
    def apply(self, x):
        return x if x in {"a", "b", "c", "d"} else scale(x)

def make(depth):
    class Net(Part):
        kinds = {"one", "two", "three"}
        options = {"p": 0.5}
        def __init__(self):
            super().__init__()
            self.parts = [Part() for _ in range(depth)]
        @property
        def size(self):
            return math.sqrt(depth)
        @staticmethod
        def first(x):
            return (lambda y: y + 1)(x)
        @classmethod
        def build(cls, *, bias=True):
            return cls() if bias else c.OrderedDict()
    return Net

Net = make(3)
"""


def _digest(source: str, name: str = "Net") -> str:
    session: dict[str, Any] = {"__name__": "__main__"}
    exec(source, session)  # noqa: S102  (what a notebook does)
    return describe_code(session[name]).digest


SAME = {
    "run again": lambda s: s,
    "further down": lambda s: "\n\n\n" + s,
    "with comments": lambda s: s.replace("    return Net", "    # the end\n    return Net"),
    "unused names": lambda s: s.replace("UNUSED = 1", "UNUSED = 2"),
    "with docstrings": lambda s: s.replace("def scale(x, by=2):", "def scale(x, by=2):\n    'Scale.'").replace(
        "def size(self):", "def size(self):\n            'How large.'"
    ),
    "spaces": lambda s: s.replace("x * by", "x  *  by"),
}
DIFFERENT = {
    "closed-over number": ("make(3)", "make(4)"),
    "global number": ("WIDTH = 4", "WIDTH = 5"),
    "body of a function": ("x * by", "x + by"),
    "default": ("by=2", "by=3"),
    "keyword default": ("bias=True", "bias=False"),
    "attribute of a base": ("slope = 0.5", "slope = 0.25"),
    "attribute": ('{"p": 0.5}', '{"p": 0.25}'),
    "set": ('"three"', '"four"'),
    "set within code": ('"c", "d"', '"c", "e"'),
    "lambda": ("y + 1", "y + 2"),
    "property": ("math.sqrt(depth)", "math.exp(depth)"),
    "new method": ("        @property", "        def more(self):\n            return 1\n        @property"),
    "other base": ("class Net(Part)", "class Net(dict, Part)"),
    "kind of method": ("@staticmethod", "@classmethod"),
}


@pytest.mark.parametrize("change", SAME.values(), ids=SAME)
def test_what_changes_nothing_changes_no_digest(change: Callable[[str], str]) -> None:
    assert _digest(change(NOTEBOOK)) == _digest(NOTEBOOK)


@pytest.mark.parametrize(("old", "new"), DIFFERENT.values(), ids=DIFFERENT)
def test_what_changes_the_behaviour_changes_the_digest(old: str, new: str) -> None:
    assert NOTEBOOK.count(old) == 1
    assert _digest(NOTEBOOK.replace(old, new)) != _digest(NOTEBOOK)


def test_a_digest_is_the_same_in_every_process() -> None:
    code = NOTEBOOK + "\nfrom gnz_track.user_code.digests import describe_code\nprint(describe_code(Net).digest)"
    digests = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert digests == {_digest(NOTEBOOK)}


def test_classes_that_refer_to_each_other_have_an_end() -> None:
    source = """
        class Net:
            def __init__(self):
                self.make = lambda: helper(Net)
        def helper(cls):
            return Net if cls else helper(Net)
        """
    assert len(_digest(textwrap.dedent(source))) == 32


def test_a_cell_that_is_not_set_yet_is_no_error() -> None:
    def define() -> type:
        class Net:
            digest = ""

            def later(self) -> object:
                return value

        Net.digest = describe_code(Net).digest
        value = 1
        assert value
        return Net

    assert len(define().digest) == 32  # type: ignore[attr-defined]


NETS = """
class Net:
    def forward(self): return 1
class Silent:
    pass
def make(): return Net()
"""


def test_the_source_of_what_can_be_imported_counts(project: Project) -> None:
    project.write({"project_nets.py": NETS})
    users = project.load("project_nets")
    assert describe_code(users.Net).digest == describe_code(users.Net).digest
    others = [
        describe_code(users.Silent).digest,
        describe_code(users.Net, users.make).digest,
        describe_code(users.make, users.Net).digest,
    ]
    assert len({describe_code(users.Net).digest, *others}) == 4


def test_targets_are_what_another_process_can_import(project: Project) -> None:
    project.write({"project_nets.py": NETS})
    users = project.load("project_nets")
    assert target_of(users.Net) == "project_nets:Net"
    assert target_of(users.Net.forward) == "project_nets:Net.forward"
    assert target_of(users.Net()) == ""
    assert target_of(len) == "builtins:len"
    renamed = type("Net", (), {"__module__": "project_nets"})
    assert target_of(renamed) == ""
    assert target_of(type("Gone", (), {"__module__": "project_nets"})) == ""
    assert target_of(type("Main", (), {"__module__": "__main__"})) == ""
    assert target_of(type("Main", (), {"__module__": "no_such_module"})) == ""
