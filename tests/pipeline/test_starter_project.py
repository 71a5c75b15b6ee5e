from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import GnzError
from gnz_track.pipeline.params import read_params
from gnz_track.pipeline.starter_project import start_project

FILES = {
    ".dvc/.gitignore",
    ".dvc/config",
    ".dvc/plots/curves.json",
    ".dvcignore",
    ".gitignore",
    "README.md",
    "bench.py",
    "dvc.yaml",
    "params.yaml",
    "requirements.txt",
    "test_bench.py",
}


def start(folder: Path, *names: str, has_git: bool = True) -> dict[str, Path]:
    written = start_project(folder, tasks=[TASKS.get(name) for name in names], has_git=has_git)
    return {path.relative_to(folder).as_posix(): path for path in written}


def test_all_files_are_there_and_name_the_project(tmp_path: Path) -> None:
    files = start(tmp_path / "mine", "planted_partition")
    assert set(files) == FILES
    assert files["README.md"].read_text("utf-8").startswith("# mine\n")
    assert not [name for name, path in files.items() if "@NAME@" in path.read_text("utf-8")]
    params = read_params(files["params.yaml"])
    assert (params.suite, list(params.tasks)) == ("mine", ["three_rings", "planted_partition"])
    assert params.tasks["planted_partition"] == TASKS.get("planted_partition").epochs


ODD = (
    "0",
    "1e5",
    "0o7",
    "yes",
    "null",
    "2026-11-19",
    "a: b",
    "#x",
    "- x",
    "my bench",
    "it's",
    'say "x"',
    "[x",
    "@TASKS@",
    "é",
    "~",
)


@pytest.mark.parametrize("name", ODD)
def test_folder_may_have_any_name(name: str, tmp_path: Path) -> None:
    ruamel = pytest.importorskip("ruamel.yaml", reason="a part of dvc, which is an extra")
    files = start(tmp_path / name, "planted_partition")
    assert files["README.md"].read_text("utf-8").startswith(f"# {name}\n")
    params = read_params(files["params.yaml"])
    assert (params.suite, list(params.tasks)) == (name, ["three_rings", "planted_partition"])
    # DVC reads the file by another version of YAML.
    assert ruamel.YAML(typ="safe").load(files["params.yaml"].read_text("utf-8"))["suite"] == name


@pytest.mark.parametrize("name", ["mine", "my bench", "it's", "-x"])
def test_next_command_leads_into_the_folder(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gnz_track", "init", "--no-scm", "--", name]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    line = ended.stdout.splitlines()[-1]
    assert line.startswith("next: cd ")
    shell = line.removeprefix("next: ").replace("dvc repro", "ls params.yaml")
    ended = subprocess.run(["/bin/sh", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.stdout == "params.yaml\n"


def without_own_module(stages: dict[str, Any]) -> dict[str, Any]:
    for stage in stages.values():
        body = stage.get("do", stage)
        kept = [name for name in body.pop("deps", []) if name != "bench.py"]
        body |= {"deps": kept} if kept else {}
    return stages


def test_pipeline_is_the_project_s_own_and_depends_on_the_module(tmp_path: Path, root: Path) -> None:
    ours = yaml.safe_load((root / "dvc.yaml").read_text("utf-8"))
    theirs = yaml.safe_load(start(tmp_path / "mine")["dvc.yaml"].read_text("utf-8"))
    assert all("bench.py" in stage.get("do", stage)["deps"] for stage in theirs["stages"].values())
    theirs["stages"] = without_own_module(theirs["stages"])
    ours["stages"] = without_own_module(ours["stages"])
    assert theirs == ours


@pytest.mark.parametrize("name", [".dvc/config", ".dvc/plots/curves.json", ".dvc/.gitignore"])
def test_settings_of_dvc_are_the_project_s_own(name: str, tmp_path: Path, root: Path) -> None:
    assert start(tmp_path / "mine")[name].read_text("utf-8") == (root / name).read_text("utf-8")


def test_without_git_dvc_is_told_so(tmp_path: Path) -> None:
    text = start(tmp_path / "mine", has_git=False)[".dvc/config"].read_text("utf-8")
    assert "no_scm = true" in text
    assert "no_scm" not in start(tmp_path / "other")[".dvc/config"].read_text("utf-8")


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine", "utf-8")
    for taken in (tmp_path, tmp_path / "file"):
        with pytest.raises(GnzError, match=r"allowed: a new one, or one that is empty. Try: gnz init NAME"):
            start(taken)
    assert (tmp_path / "file").read_text("utf-8") == "mine"


@pytest.mark.slow
def test_tests_of_the_starter_pass(tmp_path: Path, root: Path) -> None:
    start(tmp_path / "mine")
    environment = {**os.environ, "PYTHONPATH": str(root), "GNZ_DATA": str(tmp_path / "home")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    ended = subprocess.run(command, cwd=tmp_path / "mine", env=environment, capture_output=True, text=True, check=False)
    assert "3 passed" in ended.stdout, ended.stdout + ended.stderr
