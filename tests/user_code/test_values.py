"""What a class of a notebook refers to, of whatever kind it is, is in its digest, as it lives."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from user_projects import Project

from gnz_track.user_code.digests import Code, describe_code

# What a cell says, with a 7 that is edited.
CELLS = {
    "cached property": "class Net:\n    @functools.cached_property\n    def width(self):\n        return 7",
    "cached method": "class Net:\n    @functools.cache\n    def width(self):\n        return 7",
    "cached function": "@functools.lru_cache(3)\ndef f():\n    return 7\nclass Net:\n    g = f",
    "partial method": "class Net:\n    def f(self, x): return x\n    g = functools.partialmethod(f, 7)",
    "namespace": "C = types.SimpleNamespace(width=7, f=lambda x: x)\nclass Net:\n    c = C",
    "default of a dictionary": "class Net:\n    c = collections.defaultdict(lambda: 7)",
    "set of functions": "def f(): return 7\nclass Net:\n    c = {f}",
    "order of a dictionary": "C = {'a': 1}\nD = {'b': 1}\nclass Net:\n    c = {**C, **D} if 7 == 7 else {**D, **C}",
    "type of a tensor": "class Net:\n    c = torch.tensor(0.5, dtype=torch.float64 if 7 == 7 else torch.float32)",
    "metaclass": "class M(type):\n    def __call__(cls): return 7\nclass Net(metaclass=M):\n    pass",
    "attribute of a function": "def f(): return f.width\nf.width = 7\nclass Net:\n    f = f",
    "long expression": "class Net:\n    c = re.compile('a' * 300 + '7')",
    "deleter": "class Net:\n    @property\n    def w(self): return 1\n    @w.deleter\n    def w(self): self.k = 7",
    "slots": "class D:\n    __slots__ = ('k',)\nd = D()\nd.k = 7\nclass Net:\n    c = d",
    "read-only mapping": "class Net:\n    c = types.MappingProxyType({'f': lambda: 7})",
    "generator": "class Net:\n    c = random.Random(7)",
}
IMPORTS = "import collections, functools, random, re, types\nimport torch\n"


def describe(cell: str) -> Code:
    session: dict[str, Any] = {"__name__": "__main__"}
    exec(IMPORTS + cell, session)  # noqa: S102  (what a notebook does)
    return describe_code(session["Net"])


@pytest.mark.parametrize("what", CELLS)
def test_value_that_is_edited_changes_the_digest_and_no_other_session_does(what: str) -> None:
    before = describe(CELLS[what])
    assert describe(CELLS[what]).digest == before.digest
    # The first alone: the other side of a comparison stays.
    assert describe(CELLS[what].replace("7", "8", 1)).digest != before.digest


FOLLOWED = {
    "name of a module": "from helper import f\n        return f(1)",
    "module": "import helper\n        return helper.f(1)",
    "module beside a name": "import helper\n        from json import loads\n        return helper.f(1), loads",
    "attribute by name": "return getattr(helper, self.name)",
}


@pytest.mark.parametrize("how", FOLLOWED)
def test_what_a_method_brings_in_when_it_is_called_is_followed(how: str, project: Project) -> None:
    cell = f"class Net:\n    def forward(self):\n        {FOLLOWED[how]}"
    digests = []
    for number in (1, 2):
        project.write({"helper.py": f"def f(x):\n    return x * {number}\n"})
        cells = cell if how != "attribute by name" else f"import helper\n{cell}"
        digests.append(describe(cells).digest)
    assert digests[0] != digests[1]
    sys.modules.pop("helper", None)


def test_ways_out_of_a_cell_are_said() -> None:
    cell = "import importlib, os\nclass Net:\n    def forward(self):\n        return "
    assert describe(f"{cell}importlib.import_module(self.name)").unseen == ("Net.forward: import_module",)
    assert describe(f"{cell}os.environ['A']").unseen == ("Net.forward: environ",)


def test_class_of_the_package_is_told_without_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = "from gnz_track import GCN\nclass Net:\n    inner = GCN\n    def f(self): return GCN"
    before = describe(cell)
    # As if its module had moved.
    gcn = sys.modules["gnz_track.models.gcn"]
    monkeypatch.setitem(sys.modules, "gnz_track.models.elsewhere", gcn)
    monkeypatch.setattr(gcn.GCN, "__module__", "gnz_track.models.elsewhere")
    assert describe(cell).digest == before.digest
    assert describe(cell.replace("GCN", "GAT")).digest != before.digest
