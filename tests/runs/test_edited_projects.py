"""Real sweeps of a user's project before and after an edit: what is reached trains anew, and nothing else does."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data
from user_projects import Project, project

from gnz_track import __version__
from gnz_track.api import run_benchmark
from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.perturbations import PERTURBATIONS, Perturbation
from gnz_track.datasets.preparation import prepare
from gnz_track.models.catalogue import MODELS, describe
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Place, make_plan, perturb_plan
from gnz_track.runs.remaining import RemainingCells, find_remaining
from gnz_track.runs.reproduce import Conditions, Reproduction, reproduce
from gnz_track.runs.sweep import run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store.address import parse_address
from gnz_track.training.metrics import METRICS, accuracy
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Category, DatasetRow, ModelRow, Status, Task, TaskType

__all__ = ["project"]

FILES = {
    "mynets.py": '''
        """Networks of a user."""
        from dataclasses import dataclass
        from torch import nn
        from bench.layers import Smooth, count
        from bench.marks import marked

        SLOPE = 0.5

        @dataclass
        class Options:
            bias: bool = True

        class Start(nn.Module):
            task_types = {"node_cls"}
            def __init__(self, first, hidden, out):
                super().__init__()
                self.head = nn.Linear(first, out, bias=Options().bias)

        def act(x, by=2.0):
            """Scale."""
            return x * by * SLOPE

        @marked
        class Net(Start):
            """The model that is compared."""
            def __init__(self, first, hidden, out):
                super().__init__(first, hidden, out)
                self.smooth = Smooth()
            def forward(self, data):
                return act(self.smooth(self.head(data.x), data.edge_index))

        class Other(Start):
            def forward(self, data):
                return self.head(data.x)
        ''',
    "bench/__init__.py": "",
    "bench/layers.py": """
        from torch import nn
        from .counts import count
        class Smooth(nn.Module):
            def forward(self, x, edges):
                sums = x.new_zeros(x.shape).index_add_(0, edges[1], x[edges[0]])
                return sums / count(edges, x.size(0))
        """,
    "bench/counts.py": "def count(edges, n):\n    return edges[1].bincount(minlength=n).clamp(min=1).unsqueeze(1)\n",
    "bench/marks.py": "def marked(cls):\n    cls.scale = 1.0\n    return cls\n",
}
# What is edited -> whether it trains anew, the file, what stands there, and what comes in its place.
EDITS = {
    "helper": (True, "mynets.py", "x * by * SLOPE", "x * by + SLOPE"),
    "base class": (True, "mynets.py", "nn.Linear(first, out,", "nn.Linear(first, out, device=None,"),
    "constant": (True, "mynets.py", "SLOPE = 0.5", "SLOPE = 0.25"),
    "decorator": (True, "bench/marks.py", "cls.scale = 1.0", "cls.scale = 2.0"),
    "default argument": (True, "mynets.py", "by=2.0", "by=3.0"),
    "function two files away": (True, "bench/counts.py", "clamp(min=1)", "clamp(min=2)"),
    "field of a data class": (True, "mynets.py", "bias: bool = True", "bias: bool = False"),
    "comment": (False, "mynets.py", "SLOPE = 0.5", "SLOPE = 0.5  # as published"),
    "docstring": (False, "mynets.py", '"""The model that is compared."""', '"""Another sentence."""'),
    "formatting": (False, "mynets.py", "x * by * SLOPE", "(\n        x*by\n        * SLOPE)"),
    "unrelated class": (False, "mynets.py", "return self.head(data.x)", "return -self.head(data.x)"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of frozen data that all sweeps share."""
    return tmp_path_factory.mktemp("home")


def _sweep(
    store: Path,
    home: Path,
    models: object,
    *,
    tasks: tuple[str | Task, ...] = ("planted_partition",),
    executor: str = "inline",
) -> BenchmarkReport:
    """Train in this process unless told: what is edited is forgotten here, and workers take seconds to begin."""
    how = {"store": str(store), "root": home, "executor": executor, "verbose": False}
    return run_benchmark(tasks=tasks, models=models, seeds=[0], epochs=2, **how)


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store in which the project as it is has been trained once; edits of it come beside."""
    return tmp_path_factory.mktemp("past") / "runs.db"


@pytest.mark.parametrize("what", EDITS)
def test_edit_trains_anew_what_it_reaches_and_nothing_else(what: str, project: Project, home: Path, past: Path) -> None:
    trains, *edit = EDITS[what]
    project.write(FILES)
    first = _sweep(past, home, ["mynets:Net", "MLP"])
    assert (first.table["status"] == "finished").all()
    project.edit(*edit)
    second = _sweep(past, home, ["mynets:Net", "MLP"])
    same = first.table["run_id"].to_numpy() == second.table["run_id"].to_numpy()
    assert list(same) == [not trains, True]


def _remaining(store: Path, home: Path) -> RemainingCells:
    rows = [describe("mynets:Net"), describe("MLP")]
    place = Place(home=home)
    plan = make_plan(
        [TASKS.get("planted_partition")], rows, seeds=[0], protocol=PROTOCOLS.get("graphnetz"), epochs=2, place=place
    )
    return find_remaining(plan, parse_address(str(store)))


CHANGED = {"helper": "code mynets:act", "function two files away": "code bench.counts:count"}


@pytest.mark.parametrize("what", CHANGED)
def test_repetition_names_the_part_that_changed(what: str, project: Project, home: Path, past: Path) -> None:
    project.write(FILES)
    run_id = _sweep(past, home, ["mynets:Net", "MLP"]).table["run_id"][0]
    assert [item.what for item in _again(run_id, past, home).changes] == []
    project.edit(*EDITS[what][1:])
    assert [item.what for item in _again(run_id, past, home).changes] == ["source of the model Net", CHANGED[what]]


def _again(run_id: str, store: Path, home: Path) -> Reproduction:
    conditions = Conditions(place=Place(home=home), trusts_code=True)
    return reproduce(run_id, parse_address(str(store)), conditions=conditions, version=__version__)


def test_record_of_an_earlier_version_says_that_nothing_is_known_of_its_code(
    project: Project, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write(FILES)
    store = tmp_path / "runs.db"
    # As it was written then: one digest, of the text of the class.
    monkeypatch.setattr("gnz_track.runs.plan.renew_code", lambda row: replace(row, parts={}, source_digest="a" * 32))
    run_id = _sweep(store, home, ["mynets:Net"]).table["run_id"][0]
    found = _again(run_id, store, home)
    assert found.changes == ()
    assert found.notes[0] == "an earlier version recorded the model Net: whether its code has changed is not known"


def test_model_by_value_is_followed_into_files(project: Project, home: Path, tmp_path: Path) -> None:
    project.write(FILES)
    store = tmp_path / "runs.db"
    seen = []
    for edit in (
        None,
        ("bench/counts.py", "clamp(min=1)", "clamp(min=2)"),
        ("mynets.py", "class Other", "class Another"),
    ):
        if edit:
            project.edit(*edit)
        net = project.load("mynets").Net

        class Local(net):  # type: ignore[misc, valid-type]
            """Defined in a function."""

        seen.append(_sweep(store, home, [Local]).table["run_id"][0])
    assert seen[0] != seen[1] == seen[2]


def test_row_of_a_plugin_is_known_by_its_code(project: Project, home: Path, tmp_path: Path) -> None:
    project.write(FILES)
    MODELS.add("Plugged", ModelRow(name="Plugged", target="mynets:Net", task_types=(TaskType.node_cls,)))
    store = tmp_path / "runs.db"
    first = _sweep(store, home, ["Plugged"]).table["run_id"][0]
    assert _sweep(store, home, ["Plugged"]).table["run_id"][0] == first
    project.edit("bench/counts.py", "clamp(min=1)", "clamp(min=2)")
    assert _sweep(store, home, ["Plugged"]).table["run_id"][0] != first


def test_what_is_not_followed_is_said_once_for_each_model(project: Project, home: Path, tmp_path: Path) -> None:
    project.write(FILES)
    project.edit("bench/marks.py", "cls.scale = 1.0", "cls.scale = eval('1.0')")
    report = _sweep(tmp_path / "runs.db", home, ["mynets:Net"], tasks=("planted_partition", "les_miserables"))
    [said] = [notice for notice in report.config["notices"] if "followed" in notice]
    assert "model Net" in said
    assert "bench.marks, line 2: eval()" in said
    run_id = report.table["run_id"][0]
    assert [note for note in _again(run_id, tmp_path / "runs.db", home).notes if "bench.marks, line 2" in note]


def test_code_that_changed_since_the_plan_fails_its_cell(project: Project, home: Path, tmp_path: Path) -> None:
    project.write(FILES)
    [cell, _] = _remaining(tmp_path / "runs.db", home).cells
    cell = replace(
        cell, model=replace(cell.model, source_digest="0" * 32, parts={**cell.model.parts, "mynets:act": "0"})
    )
    [result] = run_inline([cell])
    assert result.status is Status.failed
    assert result.failure is not None
    assert "its code is not that of the plan any more: mynets:act" in result.failure.message


# Loaders, metrics and perturbations of one's own ---------------------------------------------------------------------

LOADER = """
import torch
from torch_geometric.data import Data
SCALE = 1.0
def rings():
    labels = torch.arange(60) % 3
    ring = torch.stack([torch.arange(60), (torch.arange(60) + 3) % 60])
    return Data(x=torch.nn.functional.one_hot(labels).float() * SCALE, edge_index=ring, y=labels)
"""


def test_dataset_of_a_plugin_is_made_again_by_an_edited_loader(project: Project, tmp_path: Path) -> None:
    project.write({"loaders.py": LOADER})
    facts = {"source": "s", "licence": "l", "citation": "c", "category": Category.custom}
    DATASETS.add("rings", DatasetRow(name="rings", task_types=(TaskType.node_cls,), loader="loaders:rings", **facts))
    task = Task("rings", TaskType.node_cls, dataset="rings")
    first = prepare(task, seed=0, home=tmp_path)
    assert prepare(task, seed=0, home=tmp_path).digest == first.digest
    project.edit("loaders.py", "def rings():", "def rings():\n    # A comment.")
    assert prepare(task, seed=0, home=tmp_path).card.loader == first.card.loader != ""
    project.edit("loaders.py", "SCALE = 1.0", "SCALE = 2.0")
    assert prepare(task, seed=0, home=tmp_path).digest != first.digest


def test_own_loader_is_called_again_by_the_next_call(home: Path, tmp_path: Path) -> None:
    scale = [1.0]

    def rings() -> Data:
        labels = torch.arange(60) % 3
        ring = torch.stack([torch.arange(60), (torch.arange(60) + 3) % 60])
        return Data(x=torch.nn.functional.one_hot(labels).float() * scale[0], edge_index=ring, y=labels)

    task = Task("own_rings", TaskType.node_cls, rings)
    first = _sweep(tmp_path / "runs.db", home, ["MLP"], tasks=(task,)).table
    scale[0] = 2.0
    second = _sweep(tmp_path / "runs.db", home, ["MLP"], tasks=(task,)).table
    assert first["dataset_digest"][0] != second["dataset_digest"][0]
    assert first["run_id"][0] != second["run_id"][0]


@pytest.fixture
def changes(project: Project) -> Iterator[Project]:
    project.write({"changes.py": "BY = 2.0\ndef scaled(x, n, most, generator):\n    return x * BY\n"})
    yield project
    PERTURBATIONS.remove("scaled")


def test_own_perturbation_is_known_by_its_code(changes: Project, home: Path, tmp_path: Path) -> None:
    keys, store = [], parse_address(str(tmp_path / "runs.db"))
    for value in ("2.0", "2.0  # twice", "3.0"):
        changes.write({"changes.py": f"BY = {value}\ndef scaled(x, n, most, generator):\n    return x * BY\n"})
        scaled = changes.load("changes").scaled
        if "scaled" in PERTURBATIONS:
            PERTURBATIONS.remove("scaled")
        PERTURBATIONS.add("scaled", Perturbation(name="scaled", changes="features", description="d", features=scaled))
        remaining = _perturbed(store, home)
        keys.append(fingerprint(remaining.plan.cells[0]))
        sweep = run_sweep(remaining, Tracking(address=store, sweep=keys[-1], suite="s"), execute=run_inline)
        assert (sweep.table["status"] == "finished").all()
        assert len(remaining.cells) == (0 if "#" in value else 1)
    assert keys[0] == keys[1] != keys[2]


def _perturbed(store: object, home: Path) -> RemainingCells:
    plan = make_plan(
        [TASKS.get("planted_partition")],
        [MODELS.get("MLP")],
        seeds=[0],
        protocol=PROTOCOLS.get("graphnetz"),
        epochs=2,
        place=Place(home=home),
    )
    return find_remaining(perturb_plan(plan, ["scaled"]), store)  # type: ignore[arg-type]


def test_replaced_metric_is_no_metric_of_ours(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = tmp_path / "runs.db"
    first = _sweep(store, home, ["MLP"], executor="auto").table

    def halved(truth: object, prediction: object) -> float:
        return accuracy(truth, prediction) / 2  # type: ignore[arg-type]

    row = replace(METRICS.get("accuracy"), function=halved)
    monkeypatch.setitem(METRICS._rows, "accuracy", row)  # noqa: SLF001  (a row cannot be replaced by other ways)
    second = _sweep(store, home, ["MLP"], executor="auto").table
    assert second["score"][0] == first["score"][0] / 2
    monkeypatch.undo()
    assert _sweep(store, home, ["MLP"], executor="auto").table["run_id"][0] == first["run_id"][0]


@pytest.mark.slow
def test_commands_train_anew_and_name_what_changed(project: Project, home: Path, tmp_path: Path) -> None:
    project.write(FILES)

    def gnz(*words: str) -> str:
        command = [sys.executable, "-m", "gnz_track", *words, "--store", str(tmp_path / "runs.db"), "--home", str(home)]
        found = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=False)
        return found.stdout + found.stderr

    run = ("run", "--task", "planted_partition", "--models", "mynets:Net", "--seeds", "0", "--epochs", "2")
    gnz(*run)
    assert "1 of 1 cells are finished already" in gnz(*run)
    [run_id] = _sweep(tmp_path / "runs.db", home, ["mynets:Net"]).table["run_id"]
    project.edit("bench/counts.py", "clamp(min=1)", "clamp(min=2)")
    said = gnz("reproduce", run_id, "--trust")
    assert "bench.counts:count" in said
    assert "nothing that is recorded has changed" not in said
    assert "finished already" not in gnz(*run)
