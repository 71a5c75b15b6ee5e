from __future__ import annotations

import math
import sys
import types
import uuid
import warnings
from pathlib import Path

import pytest

from gnz_track import registry as registries
from gnz_track.errors import DuplicateName, TargetMissing, UnknownName
from gnz_track.registry import PluginBroken, PluginWarning, Registry, before_others, import_target, is_target


@pytest.fixture
def models() -> Registry[int]:
    registry = Registry[int]("model", command="gnz models")
    for number, name in enumerate(["GCN", "GAT", "GraphSAGE"]):
        registry.add(name, number)
    return registry


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a new package on the path; no two tests share one, because imports are remembered."""
    name = f"pkg_{uuid.uuid4().hex}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    (tmp_path / name / "nets.py").write_text("class Net:\n    depth = 3\n", "utf-8")
    (tmp_path / name / "needy.py").write_text("import a_library_that_nobody_has\n", "utf-8")
    (tmp_path / name / "broken.py").write_text("from math import no_such_number\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def install_entry_points(folder: Path, package: str, group: str, points: dict[str, str]) -> None:
    info = folder / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", "utf-8")
    lines = [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines), "utf-8")


def test_rows_keep_the_order_of_registration(models: Registry[int]) -> None:
    assert models.names() == list(models) == ["GCN", "GAT", "GraphSAGE"]
    assert models.rows() == [0, 1, 2]
    assert len(models) == 3
    assert models.get("GAT") == 1
    assert "GAT" in models
    assert "gat" not in models


def test_add_returns_the_row(models: Registry[int]) -> None:
    assert models.add("GIN", 7) == 7


def test_unknown_name_answers_with_near_matches_and_the_command(models: Registry[int]) -> None:
    with pytest.raises(UnknownName) as caught:
        models.get("graphsage")
    assert str(caught.value) == "unknown model 'graphsage'; did you mean 'GraphSAGE'? List all with: gnz models"


@pytest.mark.parametrize("name", [None, 3, ["GCN"]])
def test_name_that_is_no_text_is_unknown(models: Registry[int], name: object) -> None:
    with pytest.raises(UnknownName, match=r"^unknown model .*; (known|did you mean)"):
        models.get(name)  # type: ignore[arg-type]


def test_taken_name_is_an_error_and_keeps_the_first_row(models: Registry[int]) -> None:
    with pytest.raises(DuplicateName, match="model 'GCN' is registered already"):
        models.add("GCN", 9)
    assert models.get("GCN") == 0


def test_removed_name_is_free_again(models: Registry[int]) -> None:
    assert models.remove("GCN") == 0
    assert "GCN" not in models
    models.add("GCN", 9)
    assert models.get("GCN") == 9
    with pytest.raises(UnknownName):
        models.remove("GIN")


def test_entry_points_are_read_at_the_first_look_up(tmp_path: Path, package: str) -> None:
    install_entry_points(tmp_path, package, "gnz_track.tests.ours", {"Net": f"{package}.nets:Net"})
    registry = Registry[type]("model", entry_point_group="gnz_track.tests.ours")
    own = registry.add("Own", int)
    assert f"{package}.nets" not in sys.modules
    assert registry.get("Net").depth == 3  # type: ignore[attr-defined]
    assert f"{package}.nets" in sys.modules
    assert registry.names() == ["Own", "Net"]
    assert registry.get("Own") is own


def test_own_row_goes_before_an_entry_point_of_the_same_name(tmp_path: Path, package: str) -> None:
    install_entry_points(tmp_path, package, "gnz_track.tests.same", {"Net": f"{package}.nets:Net"})
    registry = Registry[type]("model", entry_point_group="gnz_track.tests.same")
    registry.add("Net", int)
    assert registry.get("Net") is int
    assert f"{package}.nets" not in sys.modules


def test_entry_points_of_another_group_are_not_read(tmp_path: Path, package: str) -> None:
    install_entry_points(tmp_path, package, "gnz_track.tests.theirs", {"Net": f"{package}.needy:Net"})
    assert Registry[type]("model", entry_point_group="gnz_track.tests.nobody").names() == []


# What a package does -> what is said of it.
BROKEN = {
    "missing": ("import a_library_that_nobody_has", "ModuleNotFoundError: No module named 'a_library_that_nobody_has'"),
    "leaves": ("raise SystemExit('I leave')", "SystemExit: I leave"),
    "fails": ("1 / 0", "ZeroDivisionError: division by zero"),
    "unreadable": ("def", "SyntaxError: "),
    "without": ("", "AttributeError: module"),
    "of another kind": ("Net = 3", "it leads to 'int', and not to a type"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_entry_point_costs_its_own_name_and_is_told_once(name: str, tmp_path: Path, package: str) -> None:
    code, said = BROKEN[name]
    (tmp_path / package / "plugin.py").write_text(code + "\n", "utf-8")
    group = f"gnz_track.tests.{package}"
    install_entry_points(tmp_path, package, group, {"Net": f"{package}.plugin:Net", "Good": f"{package}.nets:Net"})
    registry = Registry[type]("model", command="gnz models", entry_point_group=group, row_type=type)
    with pytest.warns(PluginWarning) as warned:
        assert registry.names() == ["Good"]
    assert len(warned) == 1
    assert registry.rows() == [registry.get("Good")]
    assert "Net" not in registry
    with pytest.raises(PluginBroken) as caught:
        registry.get("Net")
    sentence = str(caught.value)
    assert sentence == str(warned[0].message)
    assert sentence.startswith(f"model 'Net' is missing: the installed package {package} 1.0 has the entry point Net =")
    assert said in sentence
    assert f"pip uninstall {package}" in sentence
    assert sentence.endswith(f"-c 'import {package}.plugin'")
    with pytest.raises(UnknownName, match="'Good'"):
        registry.get("Goad")


def test_broken_entry_point_is_an_error_where_warnings_are(tmp_path: Path, package: str) -> None:
    group = f"gnz_track.tests.{package}"
    install_entry_points(tmp_path, package, group, {"Net": f"{package}.needy:Net"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PluginBroken, match="a_library_that_nobody_has"):
            Registry[type]("model", entry_point_group=group).names()


def test_package_that_registers_its_row_itself_is_no_duplicate(tmp_path: Path, package: str) -> None:
    group = f"gnz_track.tests.{package}"
    install_entry_points(tmp_path, package, group, {"Net": f"{package}.nets:Net"})
    registry = Registry[type]("model", entry_point_group=group)
    (tmp_path / package / "nets.py").write_text("import test_rows\ntest_rows.add()\nclass Net: depth = 3\n", "utf-8")
    sys.modules["test_rows"] = types.ModuleType("test_rows")
    vars(sys.modules["test_rows"])["add"] = lambda: registry.add("Net", int)
    try:
        assert registry.get("Net") is int
    finally:
        del sys.modules["test_rows"]


@pytest.mark.parametrize("text", ["a:b", "a.b:c", "a.b:c.d", "_a:B1"])
def test_target_is_recognised(text: str) -> None:
    assert is_target(text)


@pytest.mark.parametrize(
    "text", ["", ":", "a", "a.b", "a:", ":b", "a-b:c", "a:b:c", "a..b:c", "a:b.", "a/b.py:c", "1:a"]
)
def test_text_that_is_no_target_is_refused(text: str) -> None:
    assert not is_target(text)
    with pytest.raises(TargetMissing, match="it is not of the form"):
        import_target(text)


def test_import_target_reaches_attributes_of_attributes(package: str) -> None:
    assert import_target("math:pi") == math.pi
    assert import_target(f"{package}.nets:Net.depth") == 3


@pytest.mark.parametrize("module", ["nowhere_at_all", "nowhere_at_all.nets"])
def test_missing_package_is_named(module: str) -> None:
    with pytest.raises(TargetMissing, match="there is no module 'nowhere_at_all'"):
        import_target(f"{module}:Net")


def test_missing_module_of_a_package_is_named(package: str) -> None:
    with pytest.raises(TargetMissing, match=f"there is no module '{package}.net'"):
        import_target(f"{package}.net:Net")


@pytest.mark.parametrize("attribute", ["Nett", "Net.width"])
def test_missing_attribute_is_named(package: str, attribute: str) -> None:
    with pytest.raises(TargetMissing, match=f"module '{package}.nets' has no attribute '{attribute}'"):
        import_target(f"{package}.nets:{attribute}")


def test_missing_attribute_gets_near_names_of_what_was_found(package: str) -> None:
    with pytest.raises(TargetMissing, match=r"no attribute 'net'; did you mean 'Net'\?$"):
        import_target(f"{package}.nets:net")
    with pytest.raises(TargetMissing, match=r"no attribute 'Net.deph'; did you mean 'depth'\?$"):
        import_target(f"{package}.nets:Net.deph")


def test_module_whose_own_import_is_missing_raises_that_error(package: str) -> None:
    with pytest.raises(ModuleNotFoundError) as caught:
        import_target(f"{package}.needy:Net")
    assert caught.value.name == "a_library_that_nobody_has"


def test_module_whose_own_import_fails_raises_that_error(package: str) -> None:
    with pytest.raises(ImportError, match="no_such_number"):
        import_target(f"{package}.broken:Net")


def test_what_comes_before_code_of_others_is_done_once_and_not_for_ours(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registries, "_BEFORE_OTHERS", [])
    done: list[str] = []
    before_others(lambda: done.append("first" if f"{package}.nets" not in sys.modules else "late"))
    before_others(lambda: done.append("second"))
    import_target("gnz_track.registry:Registry")
    assert done == []
    for _ in range(2):
        import_target(f"{package}.nets:Net")
    assert done == ["first", "second"]
