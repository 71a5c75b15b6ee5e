from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cells import ENVIRONMENT

from gnz_track.records import to_json
from gnz_track.store.environment import (
    NONE,
    Environment,
    GitState,
    LoadSampler,
    Owner,
    collect_environment,
    cuda_of,
    freeze_packages,
    parse_gpu,
    parse_owner,
    read_git,
    this_owner,
)

NEEDS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def test_facts_of_this_machine() -> None:
    found = collect_environment()
    assert found.python == ".".join(map(str, sys.version_info[:3]))
    assert found.cores == os.cpu_count()
    assert found.memory_mib > 100
    assert found.cpu
    assert found.packages["numpy"] == sys.modules["numpy"].__version__
    assert found.torch.split("+")[0] == found.packages["torch"].split("+")[0]
    assert collect_environment() == found
    assert Environment(**json.loads(to_json(found))).digest == found.digest


def test_digest_changes_with_any_package() -> None:
    changed = {**json.loads(to_json(ENVIRONMENT)), "packages": {"numpy": "2.4.1", "torch": "2.13.0+cpu"}}
    assert Environment(**changed).digest != ENVIRONMENT.digest


def test_facts_are_collected_without_torch_and_mlflow() -> None:
    code = (
        "import sys\nfrom gnz_track.store.environment import collect_environment\n"
        "collect_environment()\nprint(sorted({'torch', 'mlflow'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_packages_are_sorted() -> None:
    assert list(freeze_packages()) == sorted(freeze_packages())


def test_package_that_is_installed_or_renewed_meanwhile_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "guest" not in freeze_packages()
    for version in ("1.0", "1.1"):
        for former in tmp_path.glob("*.dist-info"):
            shutil.rmtree(former)
        facts = tmp_path / f"guest-{version}.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Guest\nVersion: {version}\n")
        assert freeze_packages()["guest"] == version


def test_gpus_are_read() -> None:
    assert parse_gpu("") == (NONE, 0, NONE)
    assert parse_gpu("NVIDIA GeForce RTX 4090, 24564, 550.54.14\n") == ("NVIDIA GeForce RTX 4090", 24564, "550.54.14")
    assert parse_gpu("A, 1, 2\nA, 1, 2\nA, 1, 2\nA, 1, 2")[0] == "A x 4"
    assert parse_gpu("A, [N/A], 2") == ("A", 0, "2")
    assert parse_gpu("No devices were found") == (NONE, 0, NONE)


def test_cuda_is_read_off_the_build() -> None:
    assert cuda_of("2.13.0+cu126") == "12.6"
    assert cuda_of("2.13.0+cpu") == NONE


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    command = [str(shutil.which("git")), *who, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@NEEDS_GIT
def test_git_tells_commit_branch_and_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert read_git(tmp_path) == GitState()
    git(tmp_path, "init", "-b", "trunk")
    assert read_git(tmp_path) == GitState(), "no commit yet"
    (tmp_path / "a").write_text("1")
    git(tmp_path, "add", "a")
    git(tmp_path, "commit", "-m", "first")
    clean = GitState(commit=git(tmp_path, "rev-parse", "HEAD"), branch="trunk", is_dirty=False)
    assert read_git(tmp_path) == clean
    (tmp_path / "new").write_text("not tracked")
    assert read_git(tmp_path) == clean
    (tmp_path / "a").write_text("2")
    assert read_git(tmp_path) == GitState(commit=clean.commit, branch="trunk", is_dirty=True)


def test_without_git_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_git(Path.cwd()) == GitState(commit="none", branch="none", is_dirty=False)


def test_owner_comes_back_from_its_text() -> None:
    me = this_owner()
    assert parse_owner(str(me)) == me
    assert me.pid == os.getpid()
    assert me.is_alive(since=4e9)
    assert not me.is_alive(since=0.0), "a process that began later is another one"
    for text in ("", "host", "host:boot", "host:boot:x", "host:boot:0", "a:b:c:1"):
        assert parse_owner(text) is None


def test_machines_are_told_apart() -> None:
    me = Owner("a", "1", 5)
    assert me.is_on_the_machine_of(Owner("a", "1", 7))
    assert not me.is_on_the_machine_of(Owner("a", "2", 5))
    assert not Owner("a", "unknown", 5).is_on_the_machine_of(Owner("a", "unknown", 5))


def test_load_of_this_machine_is_sampled_while_the_block_runs() -> None:
    began = time.time_ns() // 1_000_000
    with LoadSampler() as load:
        until = time.monotonic() + 60
        taken = load.take()
        while len({step for *_, step in taken}) < 2 and time.monotonic() < until:
            # Something to be seen.
            sum(range(10_000))
            taken += load.take()
    found = {key: value for key, value, _, step in taken if step == 1}
    assert found["system/cpu_utilization_percentage"] > 0
    assert 0 < found["system/system_memory_usage_percentage"] <= 100
    assert "system/disk_usage_percentage" in found
    assert all(began <= at <= time.time_ns() // 1_000_000 for _, _, at, _ in taken)
    assert load.take() == []
