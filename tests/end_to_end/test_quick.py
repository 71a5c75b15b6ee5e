"""The quick suite from the command line, and a script as users of the published package write it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gnz_track.datasets.catalogue import SUITES

SCRIPT = """
import torch
from torch_geometric.data import Data
from torch_geometric.nn import SAGEConv

from gnz_track import GCN, TASKS, iter_benchmark_tasks, multi_task_factory, register_model, register_task
from gnz_track import run_benchmark, task_from_dataset


@register_model(task_type={"node_cls"})
class MyNet(torch.nn.Module):
    def __init__(self, in_channels, hidden_channels, out_channels):
        super().__init__()
        self.first = SAGEConv(in_channels, hidden_channels)
        self.second = SAGEConv(hidden_channels, out_channels)

    def forward(self, data):
        return self.second(self.first(data.x, data.edge_index).relu(), data.edge_index)


class MyEncoder(MyNet):
    pass


def my_graph(seed):
    generator = torch.Generator().manual_seed(seed)
    y = torch.arange(90) % 3
    edges = torch.stack([torch.arange(90), (torch.arange(90) + 3) % 90])
    x = torch.nn.functional.one_hot(y).float() + torch.randn(90, 3, generator=generator)
    return Data(x=x, y=y, edge_index=torch.cat([edges, edges.flip(0)], dim=1))


mine = register_task("social", task_from_dataset("my_graph", "node_cls", my_graph(0), epochs=30))
assert mine in iter_benchmark_tasks("social", "node_cls")
report = run_benchmark(
    tasks=[mine, TASKS.get("ising_lattice")],
    models={
        "MyNet": "MyNet",
        "GCN": GCN,
        "MyEncoder": (MyEncoder, {"node_cls", "link_pred"}, multi_task_factory(MyEncoder)),
        "MLP": "MLP",
    },
    seeds=range(2),
)
for task, model, reason in report.config["left_out"]:
    print("skipped", task, model)
assert len(report["my_graph"]["MyNet"]["test/accuracy"]) == 30
for (task, model), row in report.summary().iterrows():
    assert row.n_failed == 0
    print(task, model, row.metric, row.n_seeds, f"{row['mean']:.3f}")
"""


@pytest.fixture
def environment(tmp_path: Path, root: Path) -> dict[str, str]:
    """Return an environment with a home of its own and no mirror."""
    kept = {name: value for name, value in os.environ.items() if name != "GNZ_MIRROR"}
    return {
        **kept,
        "GNZ_DATA": str(tmp_path / "home"),
        "XDG_DATA_HOME": str(tmp_path / "runs"),
        "PYTHONPATH": str(root),
    }


def run(*arguments: str, environment: dict[str, str], cwd: Path) -> str:
    """Return what a process of its own printed; it must end well."""
    ended = subprocess.run(
        [sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment, cwd=cwd
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.slow
def test_quick_suite_prints_a_row_for_each_pair(environment: dict[str, str], tmp_path: Path) -> None:
    words = ("run", "--suite", "quick", "--models", "GCN,MLP", "--seeds", "0", "--epochs", "2")
    out = run("-m", "gnz_track", *words, environment=environment, cwd=tmp_path)
    rows = [re.split(r"\s{2,}", line.strip()) for line in out.splitlines()[2:]]
    wanted = [[task, model] for task in SUITES.get("quick").tasks for model in ("GCN", "MLP")]
    assert [row[:2] for row in rows] == wanted
    assert len(wanted) >= 16
    for row in rows:
        assert row[2] in {"accuracy", "auc", "mae"}
        assert float(row[4]) >= 0
        assert row[5] == "1"
    written = sorted(path.name for path in tmp_path.iterdir())
    assert written == ["home", "runs"], "data and runs have their places, and nothing else is written"


@pytest.mark.slow
def test_script_of_a_user_works(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "study.py").write_text(SCRIPT, encoding="utf-8")
    lines = run("study.py", environment=environment, cwd=tmp_path).splitlines()
    assert lines[0] == "skipped ising_lattice MyNet"
    rows = [line.split() for line in lines[1:]]
    mine, lattice = ("MyNet", "GCN", "MyEncoder", "MLP"), ("GCN", "MyEncoder", "MLP")
    expected = [*(["my_graph", model, "accuracy", "2"] for model in mine)]
    expected += [["ising_lattice", model, "auc", "2"] for model in lattice]
    assert [row[:4] for row in rows] == expected
    scores = {(task, model): float(score) for task, model, _, _, score in rows}
    # Neighbours share a class: models that see them are far above chance, and above the one that does not.
    assert scores["my_graph", "GCN"] > 0.8 > scores["my_graph", "MLP"]
