"""What a module does on import to what a model reaches, by whatever way, is part of the model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from user_projects import Project

from gnz_track.user_code.digests import describe_code

Digest = Callable[..., str]

PATCHES = {
    "loop": "for item in (layers.Conv,):\n    item.size = 7",
    "other name": "Other = layers.Conv\nOther.size = 7",
    "other name of another": "One = layers.Conv\nTwo = One\nTwo.size = 7",
    "with": "with contextlib.nullcontext(layers.Conv) as item:\n    item.size = 7",
    "expression": "if (item := layers.Conv):\n    item.size = 7",
    "value nobody takes": "_ = setattr(layers.Conv, 'size', 7)",
    "value of a call": "def patch(cls):\n    cls.size = 7\n    return cls\ndone = patch(layers.Conv)",
    "value of a call without arguments": "def patch():\n    layers.Conv.size = 7\ndone = patch()",
    "decorator": "def patch(f):\n    layers.Conv.f = f\n@patch\ndef f(self):\n    return 7",
    "method of a class as decorator": "@layers.Registry.register\nclass Other:\n    size = 7",
    "function of several types": "@layers.part.register\ndef _(x: int):\n    return 7",
    "name of torch": "F = torch.nn.functional\nF.seven = lambda x: 7",
}
KEEPS = {
    "object of a reached class": "other = layers.Conv(7)",
    "value computed from a reached one": "N = 7 * len(layers.CONFIG)",
    "item of what is not reached": "table = {}\ntable[7] = 1",
    "function that changes nothing": "def name(cls):\n    return cls.__name__ * 7\nNAME = name(layers.Conv)",
}
LAYERS = """
    from functools import singledispatch
    CONFIG = {}
    class Conv:
        size = len(CONFIG)
        def __init__(self, width=1):
            self.width = width
    class Registry:
        known = {}
        @classmethod
        def register(cls, item):
            cls.known[item.__name__] = item
            return item
    @singledispatch
    def part(x):
        return x
    """
NET = """
    import layers, quiet
    class Net:
        def forward(self):
            return layers.Conv, layers.Registry, layers.part
    """


def write(project: Project, patch: str) -> None:
    quiet = f"import contextlib\nimport layers\nimport torch\n{patch}\n"
    project.write({"layers.py": LAYERS, "net.py": NET, "quiet.py": quiet})


@pytest.mark.parametrize("how", PATCHES)
def test_change_of_what_is_reached_counts(how: str, project: Project, digest: Digest) -> None:
    write(project, PATCHES[how])
    before = digest()
    write(project, PATCHES[how].replace("7", "8"))
    assert digest() != before


@pytest.mark.parametrize("how", KEEPS)
def test_what_only_uses_what_is_reached_counts_nothing(how: str, project: Project, digest: Digest) -> None:
    write(project, KEEPS[how])
    before = digest()
    write(project, KEEPS[how].replace("7", "8"))
    assert digest() == before


def test_name_that_a_star_hides_from_python_is_followed(project: Project, digest: Digest) -> None:
    text = "from layers import *\nclass Net:\n    def forward(self, x):\n        return round(x)\n"
    project.write({"layers.py": "def round(x):\n    return x * 7\n", "net.py": text})
    before = digest()
    project.edit("layers.py", "7", "8")
    assert digest() != before


def test_names_of_a_module_as_a_dictionary_may_all_be_meant(project: Project, digest: Digest) -> None:
    text = "import layers\nclass Net:\n    def forward(self, name):\n        return layers.__dict__[name]\n"
    project.write({"layers.py": "class Conv:\n    size = 7\n", "net.py": text})
    before = digest()
    project.edit("layers.py", "7", "8")
    assert digest() != before


OPAQUE = {
    "bring('json')": "import_module()",
    "modules['json']": "sys.modules",
    "pydoc.locate('json.load')": "locate()",
    "os.environ['HOME']": "a variable of the environment",
    "os.environ.get('HOME')": "a variable of the environment",
    "subprocess.check_output([])": "check_output()",
    "pathlib.Path('a').open()": "open() of a file",
    "builtins.eval('1')": "eval()",
    "Net.__subclasses__()": "__subclasses__()",
}


@pytest.mark.parametrize("code", OPAQUE)
def test_ways_out_are_said_by_whatever_name_they_are_called(code: str, project: Project) -> None:
    text = "import builtins, os, pathlib, pydoc, subprocess\nfrom sys import modules\n"
    text += "from importlib import import_module as bring\nclass Net:\n    def forward(self):\n        return "
    project.write({"net.py": f"{text}{code}\n"})
    assert describe_code(project.load("net").Net).unseen == (f"net, line 6: {OPAQUE[code]}",)


def test_setting_a_variable_of_the_environment_is_no_way_out(project: Project) -> None:
    project.write({"net.py": "import os\nos.environ['A'] = '1'\nclass Net:\n    pass\n"})
    assert describe_code(project.load("net").Net).unseen == ()
