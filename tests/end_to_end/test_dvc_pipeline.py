"""``dvc repro`` from data to report: what runs again when something changes, and that nothing is trained twice."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow

TASKS = {"three_rings": 6, "planted_partition": 6}


@dataclass(frozen=True)
class Project:
    """A starter's folder with data, runs and programs of its own."""

    folder: Path
    root: Path

    def environment(self, **more: str) -> dict[str, str]:
        # The program gnz, as a stage calls it, is that of the Python that runs the tests, and of this checkout.
        programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        places = {"GNZ_DATA": str(self.folder.parent / "home"), "GNZ_STORE": str(self.store)}
        git = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "tests")
        git |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "tests@example.org")
        kept = {name: value for name, value in os.environ.items() if name != "GNZ_MIRROR"}
        return {**kept, **places, **git, "PATH": programs, "PYTHONPATH": str(self.root), **more}

    @property
    def store(self) -> Path:
        return self.folder.parent / "gnz.db"

    def call(self, *command: str, code: int = 0, **more: str) -> str:
        ended = subprocess.run(
            command, cwd=self.folder, env=self.environment(**more), capture_output=True, text=True, check=False
        )
        assert ended.returncode == code, ended.stdout + ended.stderr
        return ended.stdout + ended.stderr

    def repro(self, *words: str, code: int = 0) -> list[str]:
        """Return the stages that ran."""
        return re.findall(r"^Running stage '([^']+)'", self.call("dvc", "repro", *words, code=code), re.MULTILINE)

    def change(self, old: str, new: str) -> None:
        file = self.folder / "params.yaml"
        text = file.read_text("utf-8")
        assert text.count(old) == 1, f"{old} in {text}"
        file.write_text(text.replace(old, new), "utf-8")

    def finished(self) -> Counter[str]:
        """Return fingerprints of finished runs, each with the number of runs."""
        return self._count("FINISHED")

    def _count(self, status: str) -> Counter[str]:
        query = (
            "SELECT value FROM tags JOIN runs USING (run_uuid) WHERE key = 'gnz.fingerprint' AND status = ? "
            "AND run_uuid IN (SELECT run_uuid FROM tags WHERE key = 'gnz.model')"
        )
        with sqlite3.connect(self.store) as connection:
            return Counter(row[0] for row in connection.execute(query, (status,)))

    def report(self) -> dict[str, bytes]:
        place = self.folder / "report"
        return {str(path.relative_to(place)): path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.fixture
def project(tmp_path: Path, root: Path) -> Project:
    made = Project(tmp_path / "mine", root)
    made.folder.parent.mkdir(exist_ok=True)
    environment = made.environment()
    command = ["gnz", "init", "mine", "--task", "planted_partition"]
    subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    file = made.folder / "params.yaml"
    params = yaml.safe_load(file.read_text("utf-8"))
    params |= {"tasks": {name: {"epochs": epochs} for name, epochs in TASKS.items()}, "seeds": "0-1"}
    file.write_text(yaml.safe_dump(params, sort_keys=False), "utf-8")
    return made


def test_only_what_has_changed_runs_again(project: Project) -> None:
    stages = [f"{stage}@{task}" for stage in ("data", "run") for task in TASKS]
    assert project.repro() == [*stages, "report"]
    first = project.finished()
    assert len(first) == 12
    began = time.monotonic()
    assert project.repro() == []
    print(f"dvc repro with nothing changed: {time.monotonic() - began:.1f} s")  # noqa: T201
    project.call("git", "add", ".")
    project.call("git", "commit", "--quiet", "--message", "first")

    project.change("alpha: 0.05", "alpha: 0.01")
    assert project.repro() == ["report"]
    assert "half_width.three_rings.GCN" in project.call("dvc", "metrics", "diff")

    project.change("three_rings:\n    epochs: 6", "three_rings:\n    epochs: 7")
    assert project.repro() == ["run@three_rings", "report"]
    assert len(project.finished()) == 18
    assert "mean.three_rings." in project.call("dvc", "metrics", "diff")
    for command in ("show", "diff"):
        shown = project.call("dvc", "plots", command, "--out", "shown")
        page = (project.folder / "shown" / "index.html").read_text("utf-8")
        assert "index.html" in shown
        assert "three_rings" in page
        assert "Mean ranks" in page

    project.change("seeds: 0-1", "seeds: 0-3")
    assert project.repro() == [*stages, "report"]
    assert len(project.finished()) == 18 + 12, "only the missing cells were trained"
    assert set(project.finished().values()) == {1}

    # The same work in another place is found in the store, whatever DVC has kept.
    assert project.repro("--force") == [*stages, "report"]
    assert set(project.finished().values()) == {1}


def test_killed_run_goes_on_and_trains_nothing_twice(project: Project) -> None:
    project.change("seeds: 0-1", "seeds: 0-30")
    project.change("three_rings:\n    epochs: 6", "three_rings:\n    epochs: 60")
    kills = 0
    for _ in range(3):
        before = len(project.finished()) if project.store.exists() else 0
        process = subprocess.Popen(
            [shutil.which("dvc") or "dvc", "repro"],
            cwd=project.folder,
            env=project.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until:
            if project.store.exists() and _n_finished(project) >= before + 5:
                break
            time.sleep(0.1)
        if process.poll() is None:
            kills += 1
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert kills >= 2, "it was over before it was killed"
    # A lock of a process that is gone does not stand in the way.
    project.repro()
    runs = project.finished()
    assert (len(runs), set(runs.values())) == (31 * 3 * 2, {1})
    print(f"{kills} kills: {len(runs)} cells, each finished once")  # noqa: T201


def _n_finished(project: Project) -> int:
    try:
        return len(project.finished())
    except sqlite3.OperationalError:
        # The store is there, and its tables are not yet.
        return 0


def test_clone_has_nothing_to_do_and_the_same_report(project: Project, tmp_path: Path) -> None:
    project.repro()
    project.call("dvc", "remote", "add", "--default", "storage", str(tmp_path / "storage"))
    project.call("dvc", "push")
    project.call("git", "add", ".")
    project.call("git", "commit", "--quiet", "--message", "all")
    clone = Project(tmp_path / "elsewhere" / "mine", project.root)
    clone.folder.parent.mkdir()
    project.call("git", "clone", "--quiet", str(project.folder), str(clone.folder))
    clone.call("dvc", "pull")
    assert clone.repro() == []
    assert clone.report() == project.report()
    assert not clone.store.exists()
    # Written again from the files that were pulled, it is the same to the byte.
    assert clone.repro("--force", "--single-item", "report") == ["report"]
    assert clone.report() == project.report()
    assert "up to date" in clone.call("dvc", "status")


def test_without_git(tmp_path: Path, root: Path) -> None:
    project = Project(tmp_path / "mine", root)
    command = ["gnz", "init", "mine", "--task", "planted_partition", "--no-scm"]
    subprocess.run(command, cwd=tmp_path, env=project.environment(), check=True, capture_output=True)
    project.change("{epochs: 40}", "{epochs: 3}")
    project.change("seeds: 0-4", "seeds: 0-1")
    assert not (project.folder / ".git").exists()
    assert len(project.repro()) == 5
    assert project.repro() == []
    project.call("dvc", "remote", "add", "--default", "storage", str(tmp_path / "storage"))
    project.call("dvc", "push")
    metrics = json.loads((project.folder / "metrics.json").read_text("utf-8"))
    assert metrics["cells"] == {"finished": 12, "failed": 0, "missing": 0}


def _said(project: Project, *command: str, code: int) -> list[str]:
    lines = project.call(*command, code=code).splitlines()
    assert not [line for line in lines if "Traceback" in line]
    return [line for line in lines if line.lower().startswith("error")]


def test_slips_are_one_clear_line_each(project: Project) -> None:
    file = project.folder / "params.yaml"
    good = file.read_text("utf-8")

    file.write_text(good + "alhpa: 0.01\n", "utf-8")
    said = _said(project, "dvc", "repro", code=255)
    assert said[0] == "error: unknown key of params.yaml 'alhpa'; did you mean 'alpha'?"
    file.write_text(good.replace("seeds:", "seed:"), "utf-8")
    assert _said(project, "dvc", "repro", code=255) == [
        "ERROR: failed to reproduce 'data@three_rings': Parameters 'seeds' are missing from 'params.yaml'."
    ]
    file.write_text(good.replace("planted_partition", "planted_partitoin"), "utf-8")
    said = _said(project, "dvc", "repro", code=255)
    assert said[0].startswith("error: unknown task 'planted_partitoin'; did you mean 'planted_partition'")
    file.write_text(good, "utf-8")

    assert "no remote specified" in _said(project, "dvc", "push", code=1)[0]
    assert "remote 'nowhere' doesn't exist" in _said(project, "dvc", "push", "--remote", "nowhere", code=1)[0]

    lock = project.folder / ".dvc" / "tmp" / "lock"
    holder = subprocess.Popen(
        [sys.executable, "-c", f"import zc.lockfile; held = zc.lockfile.LockFile({str(lock)!r}); print(1); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdin is not None
    holder.stdout.readline()
    try:
        said = _said(project, "dvc", "repro", code=255)
        assert said[0].startswith("ERROR: Unable to acquire lock. Most likely another DVC process is running")
    finally:
        holder.communicate("\n")
    assert project.repro("data@three_rings") == ["data@three_rings"]


def test_typo_is_told_where_nothing_else_has_changed(project: Project) -> None:
    project.repro()
    file = project.folder / "params.yaml"
    file.write_text(file.read_text("utf-8") + "alhpa: 0.01\n", "utf-8")
    assert _said(project, "dvc", "repro", code=255)[0] == (
        "error: unknown key of params.yaml 'alhpa'; did you mean 'alpha'?"
    )


def test_failed_cell_is_part_of_the_results_and_told(project: Project) -> None:
    module = project.folder / "bench.py"
    broken = "        if data.x.sum() > -1e9 and torch.initial_seed() % 2 == 0: raise RuntimeError('lost')\n"
    text = module.read_text("utf-8")
    marked = text.replace("        scores: Tensor", broken + "        scores: Tensor")
    assert marked != text
    module.write_text(marked, "utf-8")
    project.change("seeds: 0-1", "seeds: 0-5")
    said = project.call("dvc", "repro")
    metrics = json.loads((project.folder / "metrics.json").read_text("utf-8"))
    n_failed = metrics["cells"]["failed"]
    assert 0 < n_failed <= 12
    assert metrics["cells"]["finished"] == 36 - n_failed
    assert "cells failed, and the report will say so" in said
