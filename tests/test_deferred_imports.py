"""PyG is imported without Torch's compiler and without pandas; both are there, as PyG has them, when needed."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from gnz_track import deferred_imports
from gnz_track.deferred_imports import _Finder, _OnFirstUse, _WithoutCompiler

ROOT = Path(__file__).resolve().parents[1]
UNWANTED = "{'torch._dynamo', 'sympy', 'pandas', 'torch_geometric.llm', 'torch_geometric.datasets.planetoid'}"
Make = Callable[..., ModuleType]


def run_python(code: str) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return found.stdout.splitlines()


def test_pyg_is_imported_without_what_hardly_anybody_needs_and_has_it_when_asked() -> None:
    found = run_python(f"""
        import sys
        import gnz_track, torch_geometric.nn, torch
        print(sorted({UNWANTED} & set(sys.modules)))
        net = torch.nn.Linear(2, 2)
        print(torch_geometric.is_torch_instance(net, torch.nn.Linear))
        compiled = torch.compile(net, backend="eager")
        print(torch_geometric.is_torch_instance(compiled, torch.nn.Linear), isinstance(compiled, torch.nn.Linear))
        print(torch.equal(compiled(torch.ones(1, 2)), net(torch.ones(1, 2))), torch._dynamo.__spec__.name)
        import torch_geometric.datasets.planetoid as file
        from torch_geometric.datasets import Planetoid
        print(file.Planetoid is Planetoid, torch_geometric.datasets.TUDataset.__name__)
        print(*sorted(torch_geometric.datasets.__all__))
    """)
    assert found[:5] == ["[]", "True", "True False", "True torch._dynamo", "True TUDataset"]
    # All names that PyG gives where nothing is put off.
    plain = run_python(f"""
        import sys
        import torch_geometric
        print(sorted({UNWANTED} & set(sys.modules)))
        print(*sorted(torch_geometric.datasets.__all__))
    """)
    assert "torch._dynamo" in plain[0], "PyG does without it: nothing has to be put off"
    assert found[5:] == plain[1:]


def test_nothing_is_put_off_where_pyg_is_imported_already() -> None:
    found = run_python(f"""
        import sys
        import torch_geometric
        held = sorted({UNWANTED} & set(sys.modules))
        import gnz_track, gnz_track.deferred_imports as ours
        print(held == sorted({UNWANTED} & set(sys.modules)), ours._Finder in sys.meta_path)
    """)
    assert found == ["True False"]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Return a function that imports a module of some text by one of the loaders."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "meta_path", [_Finder, *sys.meta_path])
    made = []

    def import_text(name: str, text: str, loader: type) -> ModuleType:
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), "utf-8")
        monkeypatch.setitem(deferred_imports._LOADERS, name, loader)  # noqa: SLF001
        made.append(name)
        return importlib.import_module(name)

    yield import_text
    for name in made:
        sys.modules.pop(name, None)


SPEAKS_OF_THE_COMPILER = """
    import sys
    if True:
        import torch._dynamo
    import torch as kept, os.path
    found = sys.modules.get("torch._dynamo")

    def name():
        return torch._dynamo.__name__
"""


def test_line_that_imports_the_compiler_is_the_only_one_that_is_read_otherwise(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
    module = make("put_off_compiler", SPEAKS_OF_THE_COMPILER, _WithoutCompiler)
    assert module.found is None
    assert module.kept is module.torch is torch
    assert module.os.path
    assert module.name() == "torch._dynamo"


@pytest.mark.parametrize(
    ("is_imported", "lazy", "is_named"),
    [(False, {"_dynamo"}, False), (True, {"_dynamo"}, True), (False, {"onnx"}, True), (False, None, True)],
)
def test_file_is_read_as_it_is_where_the_compiler_is_there_or_torch_would_not_import_it(
    is_imported: bool,  # noqa: FBT001  (a parameter of the test)
    lazy: set[str] | None,
    is_named: bool,  # noqa: FBT001
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stand_in = ModuleType("torch")
    vars(stand_in).update({} if lazy is None else {"_lazy_modules": lazy})
    monkeypatch.setitem(sys.modules, "torch", stand_in)
    monkeypatch.delitem(sys.modules, "torch._dynamo", raising=False)
    if is_imported:
        monkeypatch.setitem(sys.modules, "torch._dynamo", ModuleType("torch._dynamo"))
    file = tmp_path / "speaking.py"
    file.write_text(textwrap.dedent(SPEAKS_OF_THE_COMPILER), "utf-8")
    code = _WithoutCompiler("speaking", str(file)).get_code("speaking")
    assert code is not None
    assert ("torch._dynamo" in code.co_names) == is_named


def test_content_is_loaded_once_by_the_first_who_asks(make: Make) -> None:
    module = make("put_off", "import time\nruns = globals().get('runs', 0) + 1\ntime.sleep(0.1)\nlast = 1", _OnFirstUse)
    assert "runs" not in vars(module)
    assert getattr(module, "__path__", None) is getattr(module, "__wrapped__", None) is None
    assert "runs" not in vars(module), "names that Python gives load nothing"
    found: list[int] = []
    threads = [threading.Thread(target=lambda: found.append(module.last)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [1] * 4
    assert module.runs == 1
    with pytest.raises(AttributeError, match="module 'put_off' has no attribute 'first'"):
        _ = module.first


def test_names_can_be_listed_before_any_is_asked_for(make: Make) -> None:
    assert {"one", "two"} <= set(dir(make("put_off_names", "one = two = 1", _OnFirstUse)))


def test_module_that_was_loaded_is_as_any_other(make: Make) -> None:
    module = make("put_off_for_once", "one = 1\ntwo = 2", _OnFirstUse)
    module.two = "of somebody else"  # type: ignore[attr-defined]
    assert module.one == 1
    assert module.two == "of somebody else"
    assert {"__getattr__", "__dir__"}.isdisjoint(vars(module))
    assert "__getattr__" not in dir(importlib.reload(module))
    assert module.two == 2
    with pytest.raises(AttributeError, match="has no attribute 'three'"):
        _ = module.three


def test_import_that_fails_fails_whenever_it_is_asked_for(make: Make) -> None:
    module = make("put_off_failure", "import no_such_library", _OnFirstUse)
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match="no_such_library"):
            _ = module.anything


def test_module_that_is_no_file_of_python_is_left_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(deferred_imports._LOADERS, "_datetime", _OnFirstUse)  # noqa: SLF001
    spec = _Finder.find_spec("_datetime")
    assert spec is not None
    assert not isinstance(spec.loader, _OnFirstUse)
    assert _Finder.find_spec("json") is None
