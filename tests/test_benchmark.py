"""The one call from names to a report."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from gnz_track import GCN, TASKS, Task, benchmark, run_benchmark, task_from_dataset
from gnz_track.benchmark import jobs_of, settle_jobs
from gnz_track.errors import BadValue, EveryCellFails, GnzError, ModelInvalid, NothingToRun, UnknownName
from gnz_track.runs.executors.events import Started, Tell
from gnz_track.runs.plan import Place
from gnz_track.runs.protocol_files import find_protocol
from gnz_track.runs.reproduce import Conditions, reproduce
from gnz_track.runs.run_one import run_one
from gnz_track.store.address import parse_address
from gnz_track.store.reader import read_table
from gnz_track.types import Cell, CellResult


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return ``run_benchmark`` with a store and data of one's own, and one epoch."""
    monkeypatch.setenv("GNZ_STORE", str(tmp_path / "gnz.db"))
    monkeypatch.setenv("GNZ_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("GNZ_MIRROR", raising=False)

    def call(*arguments: Any, **options: Any) -> Any:
        return run_benchmark(*arguments, **{"epochs": 2, "seeds": range(2), "verbose": False, **options})

    return call


def ring(n: int = 30) -> Task:
    generator = torch.Generator().manual_seed(0)
    edges = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    graph = Data(x=torch.randn(n, 4, generator=generator), edge_index=edges, y=torch.arange(n) % 2)
    return task_from_dataset("ring", "node_cls", graph)


def test_category_gives_its_tasks_and_every_cell_is_tracked(call: Any) -> None:
    report = call("physics", {"mine": GCN, "MLP": "MLP"}, only=["ising_lattice"])
    assert list(report) == ["ising_lattice"]
    assert report.seeds == (0, 1)
    assert list(report.summary().index) == [("ising_lattice", "mine"), ("ising_lattice", "MLP")]
    assert len(report.histories["ising_lattice"]["mine"]) == 2
    assert len(report["ising_lattice"]["mine"]["test/auc"]) == 2
    stored = read_table(parse_address(), suite="physics")
    assert sorted(stored["run_id"]) == sorted(report.table["run_id"])
    assert report.metric_name() == "auc"


def test_settings_make_variants_that_are_cells_of_their_own(call: Any) -> None:
    options = {"tasks": [ring()], "models": ["GCN", "GAT"]}
    report = call(**options, settings={"lr": [0.5, 0.01], "GAT": {"heads": 2}, "GCN.dropout": "0.1"})
    assert sorted(report.final_metrics()["ring"]) == [
        f"{model} lr={lr}" for model in ("GAT", "GCN") for lr in (0.01, 0.5)
    ]
    assert all(len(scores) == 2 for scores in report.final_metrics()["ring"].values())
    assert len(report.table["fingerprint"].unique()) == 8
    plain = call(**options)
    assert not {*plain.table["fingerprint"]} & {*report.table["fingerprint"]}
    with pytest.raises(BadValue, match=r"'8 cells, .*; allowed: at most 7 without --yes"):
        call(**options, settings={"lr": [0.5, 0.01]}, most_cells=7)
    with pytest.raises(UnknownName, match=r"unknown setting 'lrr'; did you mean 'lr'"):
        call(**options, settings={"lrr": 3})


def test_executor_of_ones_own_trains_what_is_left(call: Any) -> None:
    heard: list[list[int]] = []

    def backwards(cells: Sequence[Cell], tell: Tell) -> Iterator[CellResult]:
        heard.append([cell.seed for cell in cells])
        for cell in reversed(cells):
            tell(Started(cell=cell))
            yield run_one(cell)

    mine = call(tasks=[ring()], models=["MLP"], executor=backwards)
    more = call(tasks=[ring()], models=["MLP"], executor=backwards, seeds=range(3))
    assert heard == [[0, 1], [2]]
    usual = call(tasks=[ring()], models=["MLP"], seeds=range(3), resume=False)
    assert list(more.table["score"]) == list(usual.table["score"])
    assert list(mine.table["score"]) == list(usual.table["score"])[:2]
    assert set(read_table(parse_address())["status"]) == {"finished"}
    with pytest.raises(BadValue, match=r"jobs is '2'; allowed: 1 with an executor of your own"):
        call(tasks=[ring()], models=["MLP"], executor=backwards, jobs=2)


def test_executor_is_chosen_by_name(call: Any) -> None:
    with pytest.raises(BadValue, match="executor is 'inline'; allowed: one job without a time limit"):
        call(tasks=[ring()], models=["MLP"], executor="inline", jobs=2)
    with pytest.raises(UnknownName, match="did you mean 'processes'"):
        call(tasks=[ring()], models=["MLP"], executor="proceses")


def test_second_call_trains_nothing_and_tells_the_same(call: Any) -> None:
    first = call(tasks=[ring()], models=["GCN", "MLP"])
    second = call(tasks=[ring()], models=["GCN", "MLP"])
    assert second.table.equals(first.table)
    assert second.histories == first.histories, "curves come out of the store"
    more = call(tasks=[ring()], models=["GCN", "MLP"], seeds=range(3))
    assert len(more.histories["ring"]["GCN"]) == 3
    fresh = call(tasks=[ring()], models=["GCN", "MLP"], resume=False)
    assert fresh.final_metrics() == first.final_metrics()
    assert set(fresh.table["run_id"]).isdisjoint(first.table["run_id"])


def test_single_class_single_seed_and_width(call: Any) -> None:
    narrow = call(tasks=[ring()], models=GCN, seeds=7, hidden_channels=8)
    assert narrow.seeds == (7,)
    assert call(tasks=[ring()], models=GCN, seed=7, seeds=range(5)).seeds == (7,)
    usual = call(tasks=[ring()], models=GCN, seeds=[7])
    assert list(narrow.table["hyperparameters"]) == ['{"hidden_channels": 8}']
    assert narrow.table["n_parameters"].item() < usual.table["n_parameters"].item()
    row = narrow.summary().iloc[0]
    assert row["n_seeds"] == 1
    assert row[["std", "sem", "ci_low", "ci_high"]].isna().all(), "one seed has no interval"


def test_what_torch_is_asked_for_makes_cells_of_their_own(call: Any, tmp_path: Path) -> None:
    plain, half = call(tasks=[ring()], models="GCN"), call(tasks=[ring()], models="GCN", amp="bfloat16")
    assert set(plain.table["hyperparameters"]) == {"{}"}
    assert set(half.table["hyperparameters"]) == {'{"amp": "bfloat16"}'}
    assert not set(plain.table["fingerprint"]) & set(half.table["fingerprint"])
    assert not set(plain.table["run_id"]) & set(half.table["run_id"])
    [said] = set(half.table["instructions"])
    assert "amp bfloat16" in said.split("; ")
    again = call(tasks=[ring()], models="GCN", amp="bfloat16")
    assert sorted(again.table["run_id"]) == sorted(half.table["run_id"]), "they are finished"
    run_id = str(half.table["run_id"].iloc[0])
    found = reproduce(run_id, parse_address(), conditions=Conditions(place=Place(home=tmp_path / "data")))
    assert found.verdict == "bit_identical"
    with contextlib.closing(sqlite3.connect(tmp_path / "gnz.db")) as connection:
        text = "SELECT run_uuid, value FROM params WHERE key IN ('amp', 'compile')"
        named = connection.execute(text).fetchall()
    assert sorted(named) == sorted((run_id, "bfloat16") for run_id in half.table["run_id"])


def test_models_tuned_and_untuned_compute_as_asked(call: Any) -> None:
    report = call(tasks=[ring()], models="GCN", amp="bfloat16", seeds=[0], search=2)
    assert set(report.table["model"]) == {"GCN", "GCN (tuned)"}
    assert all("bfloat16" in changed for changed in report.table["hyperparameters"])


class Amplified(GCN):
    """Has an option of a name that Torch is asked by."""

    task_types = ("node_cls",)

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, amp: float = 1.0) -> None:
        super().__init__(in_channels, hidden_channels, out_channels)
        self.amp = amp


def test_a_model_that_means_something_else_by_it_is_refused(call: Any) -> None:
    with pytest.raises(ModelInvalid, match="model 'Amplified' cannot be used: its constructor takes amp for itself"):
        call(tasks=[ring()], models=Amplified, amp="bfloat16")
    report = call(tasks=[ring()], models=Amplified, search={"amp": [0.5, 2.0]}, seeds=[0])
    assert set(report.table["status"]) == {"finished"}


@pytest.mark.slow
def test_compiled_cells_are_reproduced(call: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "compiled"))
    half = call(tasks=[ring()], models="GCN", amp="bfloat16", compile=True, seeds=[0], jobs=2)
    [row] = half.table.to_dict("records")
    assert row["hyperparameters"] == '{"amp": "bfloat16", "compile": true}'
    assert "compiled by" in row["instructions"]
    found = reproduce(row["run_id"], parse_address(), conditions=Conditions(place=Place(home=tmp_path / "data")))
    assert found.verdict == "bit_identical"


def test_only_and_task_type_narrow(call: Any) -> None:
    tasks = [ring(), TASKS.get("les_miserables")]
    assert list(call(tasks=tasks, models="MLP", only=["ring"])) == ["ring"]
    assert list(call(tasks=tasks, models="MLP", only="ring")) == ["ring"]
    assert list(call(tasks=tasks, models="MLP", task_type="link_pred")) == ["les_miserables"]


def test_failed_cells_are_counted_and_shown(call: Any) -> None:
    class Fails(torch.nn.Module):
        task_types = ("node_cls",)

        def __init__(self, *_: int) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.zeros(1))

        def forward(self, data: Data) -> None:
            raise LookupError(data)

    report = call(tasks=[ring()], models=[Fails, "MLP"])
    assert list(report.summary()["n_failed"]) == [2, 0]
    assert "2 failed" in repr(report)
    assert report.histories["ring"].keys() == {"MLP"}
    assert "LookupError" in report.table["error"].iloc[0]


@pytest.mark.parametrize("is_aloud", [False, True])
def test_what_cannot_be_trained_is_refused_aloud_and_quietly(call: Any, *, is_aloud: bool) -> None:
    class Wide(torch.nn.Module):
        task_types = ("node_cls",)

        def __init__(self, *_: int) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 2)

        def forward(self, data: Data) -> torch.Tensor:
            return self.layer(data.x)  # type: ignore[no-any-return]

    with pytest.raises(
        EveryCellFails, match=r"1 of 4 cells .*other 3 .*\(30x4 and 3x2\) \(test_benchmark.py,"
    ) as caught:
        call(tasks=[ring()], models=[Wide], seeds=range(4), verbose=is_aloud)
    assert "Traceback" in "".join(caught.value.__notes__)
    stored = read_table(parse_address())
    assert (list(stored["status"]), list(stored["seed"])) == (["failed"], [0])
    report = call(tasks=[ring()], models=[Wide, "MLP"], seeds=range(4))
    assert list(report.summary()["n_failed"]) == [4, 0]


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({}, BadValue, "category is None; allowed: tasks="),
        ({"category": "fysics"}, BadValue, "category is 'fysics'; allowed: combinatorial"),
        ({"category": "physics", "only": ["ising"]}, UnknownName, "did you mean 'ising_lattice'"),
        ({"category": "physics", "task_type": "nodes"}, BadValue, "task type is 'nodes'"),
        ({"category": "physics", "task_type": "node_cls"}, NothingToRun, "nothing to run"),
        ({"category": "physics", "seeds": [-1]}, BadValue, "seed is -1"),
        ({"category": "physics", "seeds": [1.5]}, BadValue, "seed is 1.5"),
        ({"category": "physics", "seeds": [1, 1]}, BadValue, "each seed once"),
        ({"category": "physics", "seeds": []}, NothingToRun, "nothing to run"),
        ({"tasks": ["ising_lattice"], "hidden_channels": 0}, BadValue, "hidden_channels is 0"),
        ({"category": "physics", "protocol": "graphnets"}, UnknownName, "did you mean 'graphnetz'"),
        ({"category": "physics", "models": "GCNN"}, UnknownName, "did you mean 'GCN'"),
        ({"tasks": ["ising_lattice"], "jobs": 0}, BadValue, "jobs is 0"),
        ({"tasks": ["ising_lattice"], "search": 0}, BadValue, "the budget of a search is 0; allowed: at least 1 trial"),
        ({"tasks": ["ising_lattice"], "search": {}}, BadValue, "the search space of search is {}"),
        ({"tasks": ["ising_lattice"], "search": True}, BadValue, "search is True; allowed: a number of trials"),
        (
            {"tasks": ["ising_lattice"], "models": "GCN", "search": {"heads": [1, 2]}},
            BadValue,
            "a name in the search space of GCN is 'heads'; allowed: lr, weight_decay, hidden_channels, n_layers",
        ),
        ({"tasks": [7]}, BadValue, "task is 7; allowed: a name, or a Task"),
    ],
)
def test_bad_input_is_named_before_any_training(
    call: Any, tmp_path: Path, options: dict[str, Any], error: type[GnzError], words: str
) -> None:
    with pytest.raises(error, match=words):
        call(**{"models": "MLP", **options})
    assert not (tmp_path / "gnz.db").exists()


NOTEBOOK = """
import torch
import gnz_track as gnz

class Wide(torch.nn.Module):
    task_types = {"node_cls"}
    def __init__(self, first, hidden, out):
        super().__init__()
        self.layer = torch.nn.Linear(first, out)
    def forward(self, data):
        return self.layer(data.x)

report = gnz.run_benchmark(tasks=[gnz.TASKS.get("planted_partition")], models={"Wide": Wide}, seeds=2, epochs=2, jobs=2)
print(report)
print(report._repr_html_()[:6])
"""


def test_class_without_a_file_trains_in_workers(tmp_path: Path, root: Path) -> None:
    import os

    environment = {
        **os.environ,
        "GNZ_DATA": str(tmp_path),
        "GNZ_STORE": str(tmp_path / "gnz.db"),
        "PYTHONPATH": str(root),
    }
    ended = subprocess.run(
        [sys.executable, "-"], input=NOTEBOOK, capture_output=True, text=True, check=False, env=environment
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["BenchmarkReport(1 tasks, 1 models, 1 seeds: 1 cells)", "<table"]


class Fails(torch.nn.Module):
    """Cannot be built."""

    task_types = frozenset({"node_cls"})

    def __init__(self, *_: int) -> None:
        message = "no such layer"
        raise ValueError(message)


def test_failures_are_told_with_their_reason(call: Any, capfd: pytest.CaptureFixture[str]) -> None:
    call(tasks=[ring()], models=[Fails, "MLP"], verbose=True)
    said = capfd.readouterr().err
    assert "failed: 2 cells, ring Fails s0 and others: ValueError: no such layer" in said


class Interrupts(Fails):
    """Somebody types Ctrl-C while it is built."""

    def __init__(self, *_: int) -> None:
        raise KeyboardInterrupt


def test_interrupt_says_what_is_kept(call: Any, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt):
        call(tasks=[ring()], models=["MLP", Interrupts], verbose=True, executor="inline")
    said = capfd.readouterr().err
    n_kept = len(read_table(parse_address()))
    assert f"{n_kept} of 4 cells are kept in" in said
    assert "the same call goes on from there" in said


def test_tasks_are_given_by_name_too(call: Any) -> None:
    assert list(call(tasks=["les_miserables"], models=["MLP"], seeds=[0])) == ["les_miserables"]
    with pytest.raises(UnknownName, match="did you mean 'les_miserables'"):
        call(tasks=["les_miserable"], models=["MLP"])


def test_workers_are_chosen_where_nobody_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "usual_jobs", lambda cells, seconds, _: len(cells) if seconds == 40.0 else 1)
    cells = [SimpleNamespace(), SimpleNamespace()]
    paces = SimpleNamespace(total=lambda found: 20.0 * len(found))
    remaining: Any = SimpleNamespace(cells=cells, paces=paces, footprints=None)
    request = benchmark.Request(
        tasks=[], models=[], seeds=[], protocol=find_protocol("graphnetz"), address=parse_address(), **jobs_of(None)
    )
    settled = settle_jobs(request, remaining)
    assert (settled.jobs, settled.chooses_jobs) == (2, False)
    assert settle_jobs(settled, remaining) is settled
    assert settle_jobs(replace(request, executor="inline"), remaining).jobs == 1
    assert settle_jobs(replace(request, **jobs_of(3)), remaining).jobs == 3
