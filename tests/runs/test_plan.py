"""Which cells are wanted, and what is refused before any training."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch_geometric.data import Data

from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.datasets.preparation import prepare
from gnz_track.errors import BadValue, DataCorrupted, DataMissing, NothingToRun, SeveralMissing, UnknownName
from gnz_track.models.catalogue import MODELS, describe
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.plan import Place, Plan, make_plan, resolve_device
from gnz_track.runs.run_one import run_one
from gnz_track.runs.settings import read_choice
from gnz_track.runs.variants import vary_plan
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Cell, Task, TaskType

Worlds = Callable[[str], Any]


@pytest.fixture
def plan_for(tmp_path: Path) -> Callable[..., Plan]:
    """Return make_plan with a home of its own and little to say."""

    def plan_for(tasks: list[Any], models: list[str], **options: Any) -> Plan:
        chosen = [task if isinstance(task, Task) else TASKS.get(task) for task in tasks]
        usual = {"seeds": [0], "protocol": PROTOCOLS.get("graphnetz"), "epochs": 1, "place": Place(home=tmp_path)}
        return make_plan(chosen, [MODELS.get(name) for name in models], **(usual | options))

    return plan_for


def short(cell: Cell) -> tuple[str, str, int]:
    return cell.task.name, cell.model.name, cell.seed


def test_cells_come_by_task_then_model_then_seed(plan_for: Callable[..., Plan]) -> None:
    plan = plan_for(["les_miserables", "ising_lattice"], ["MLP", "GCN"], seeds=[3, 1])
    expected = [
        (task, model, seed)
        for task in ("les_miserables", "ising_lattice")
        for model in ("MLP", "GCN")
        for seed in (3, 1)
    ]
    assert [short(cell) for cell in plan.cells] == expected
    assert plan.skipped == ()


def test_cell_says_all_that_it_needs(plan_for: Callable[..., Plan], tmp_path: Path) -> None:
    (cell,) = plan_for(["random_tsp"], ["GCN"], seeds=[2], device="cpu").cells
    assert cell.data == str(tmp_path / "random_tsp" / "seed-2")
    assert cell.dataset_digest == prepare("random_tsp", seed=2, home=tmp_path).digest
    assert (cell.epochs, cell.device, cell.protocol) == (1, "cpu", PROTOCOLS.get("graphnetz"))
    (usual,) = plan_for(["random_tsp"], ["GCN"], epochs=None).cells
    assert usual.epochs == TASKS.get("random_tsp").epochs == 80


def test_pairs_that_do_not_fit_are_listed_with_reasons(plan_for: Callable[..., Plan]) -> None:
    plan = plan_for(["ising_lattice", "graph_families"], ["GIN", "MLP"])
    assert [short(cell)[:2] for cell in plan.cells] == [
        ("ising_lattice", "MLP"),
        ("graph_families", "GIN"),
        ("graph_families", "MLP"),
    ]
    (skipped,) = plan.skipped
    assert (skipped.task, skipped.model) == ("ising_lattice", "GIN")
    assert skipped.reason == "it serves graph_cls, graph_reg, not link_pred"


def test_protocol_that_does_not_train_a_task_type_is_a_reason(plan_for: Callable[..., Plan]) -> None:
    usual = PROTOCOLS.get("graphnetz")
    links_only = {kind: one for kind, one in usual.optimisers.items() if kind is TaskType.link_pred}
    protocol = replace(usual, name="links", optimisers=links_only)
    plan = plan_for(["ising_lattice", "graph_families"], ["MLP"], protocol=protocol)
    assert [cell.task.name for cell in plan.cells] == ["ising_lattice"]
    assert plan.skipped[0].reason == "protocol 'links' trains link_pred, not graph_reg"


def test_nothing_to_run_says_why(plan_for: Callable[..., Plan], tmp_path: Path) -> None:
    with pytest.raises(NothingToRun, match="ising_lattice x GIN: it serves graph_cls, graph_reg, not link_pred"):
        plan_for(["ising_lattice"], ["GIN"])
    assert not list(tmp_path.iterdir()), "nothing is frozen for a pair that cannot be"
    for nothing in ({"tasks": []}, {"models": []}, {"seeds": []}):
        wanted = {"tasks": ["ising_lattice"], "models": ["GCN"], "seeds": [0]} | nothing
        with pytest.raises(NothingToRun, match="no task, no model or no seed was chosen"):
            plan_for(wanted["tasks"], wanted["models"], seeds=wanted["seeds"])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tasks": ["ising_lattice", "ising_lattice"]}, "task is 'ising_lattice'; allowed: each task once"),
        ({"models": ["GCN", "GAT", "GCN"]}, "model is 'GCN'; allowed: each model once"),
        ({"seeds": [1, 2, 1]}, "seed is 1; allowed: each seed once"),
        ({"epochs": 0}, "epochs is 0; allowed: a whole number from 1 upwards"),
        ({"epochs": -3}, "epochs is -3"),
        ({"epochs": 2.5}, "epochs is 2.5"),
        ({"device": "tpu"}, "device is 'tpu'; allowed: auto, cpu, or a device that Torch has here"),
        ({"device": "cuda:99"}, "device is 'cuda:99'"),
    ],
)
def test_bad_requests_are_refused(
    changes: dict[str, Any], message: str, plan_for: Callable[..., Plan], tmp_path: Path
) -> None:
    wanted: dict[str, Any] = {"tasks": ["ising_lattice"], "models": ["GCN"]} | changes
    with pytest.raises(BadValue, match=message) as caught:
        plan_for(wanted.pop("tasks"), wanted.pop("models"), **wanted)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir()), "a request is refused before anything is frozen"


def test_unknown_metric_is_refused_with_near_names(plan_for: Callable[..., Plan]) -> None:
    task = replace(TASKS.get("ising_lattice"), metric="aucc")
    with pytest.raises(UnknownName, match="unknown metric 'aucc'; did you mean 'auc'"):
        plan_for([task], ["GCN"])


def test_automatic_device_is_one_that_is_here() -> None:
    assert resolve_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")
    assert resolve_device("cpu") == "cpu"


AUTO = """
import sys
from gnz_track.runs.plan import resolve_device
assert "torch" not in sys.modules
found = resolve_device("auto")
import torch
print(found, "cuda" if torch.cuda.is_available() else "cpu")
"""
BUILDS = """
import sys, types
from pathlib import Path
from importlib.machinery import ModuleSpec
from gnz_track.runs import plan
for said, expected in (("cuda = hip = xpu = None", True), ("cuda = '12.8'; hip = xpu = None", False), ("", False)):
    Path("version.py").write_text(said)
    plan.importlib.util.find_spec = lambda name: ModuleSpec(name, None, origin=str(Path("__init__.py").absolute()))
    assert plan._is_without_gpus() is expected, said
plan.importlib.util.find_spec = lambda name: None
assert not plan._is_without_gpus()
"""


@pytest.mark.parametrize("code", [AUTO, BUILDS], ids=["here", "builds"])
def test_device_is_known_without_torch_where_that_was_built_for_no_gpu(code: str, tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    call = [sys.executable, "-c", code]
    done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert len(set(done.stdout.split())) <= 1, done.stdout


def test_corrupted_data_are_named_before_any_training(plan_for: Callable[..., Plan], tmp_path: Path) -> None:
    dataset = prepare("les_miserables", seed=0, home=tmp_path)
    file = dataset.folder / "tensors.safetensors"
    tensors = load_file(file)
    tensors["edge_index"][0, 0] += 1
    save_file(tensors, file)
    with pytest.raises(DataCorrupted) as caught:
        plan_for(["ising_lattice", "les_miserables"], ["GCN"])
    assert caught.value.expected == dataset.digest
    assert dataset.digest in str(caught.value)
    assert caught.value.found in str(caught.value)
    assert caught.value.found != dataset.digest
    assert "gnz data get les_miserables" in str(caught.value)


def test_missing_data_name_the_command(plan_for: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GNZ_MIRROR", raising=False)
    with pytest.raises(DataMissing, match="gnz data get cora"):
        plan_for(["ising_lattice", "cora"], ["GCN"])


# Own tasks and models -----------------------------------------------------------------------------------------------


def test_own_dataset_is_frozen_and_trains(world: Worlds, plan_for: Callable[..., Plan], tmp_path: Path) -> None:
    task = task_from_dataset("mine", "node_cls", world("nodes").graphs[0], epochs=4)
    plan = plan_for([task], ["GCN", "MLP"], seeds=[0, 1], epochs=None)
    assert {cell.data for cell in plan.cells} == {str(next((tmp_path / "custom" / "mine").iterdir()))}
    # The loader stays here: a cell is names and numbers.
    assert all(cell.task.loader is None for cell in plan.cells)
    assert pickle.loads(pickle.dumps(plan)) == plan
    results = list(run_inline(plan.cells))
    assert [len(result.series["train/loss"]) for result in results] == [4] * 4


def test_loader_with_a_seed_gets_that_of_the_cell(world: Worlds, plan_for: Callable[..., Plan]) -> None:
    asked: list[int] = []

    def load(*, seed: int) -> Data:
        asked.append(seed)
        graph: Data = world("nodes").graphs[0].clone()
        graph.x = graph.x + seed
        return graph

    plan = plan_for([Task("seeded", TaskType.node_cls, load)], ["MLP"], seeds=[4, 5])
    assert asked == [4, 5]
    assert len({cell.dataset_digest for cell in plan.cells}) == 2
    assert all(run_one(cell).is_finished for cell in plan.cells)


def test_loader_without_a_seed_is_asked_once(world: Worlds, plan_for: Callable[..., Plan]) -> None:
    asked: list[int] = []

    def load() -> list[Data]:
        asked.append(1)
        return list(world("graphs").graphs)

    plan = plan_for([Task("unseeded", TaskType.graph_cls, load)], ["GIN"], seeds=[4, 5, 6])
    assert asked == [1]
    assert len({cell.dataset_digest for cell in plan.cells}) == 1
    assert len({run_one(cell).split_digest for cell in plan.cells}) == 3


def test_published_parts_of_an_own_dataset_are_kept(world: Worlds, plan_for: Callable[..., Plan]) -> None:
    graphs = world("graphs").graphs
    task = task_from_dataset("parted", "graph_cls", (graphs[:20], graphs[20:25], graphs[25:]))
    plan = plan_for([task], ["GIN"], seeds=[0, 1])
    assert len({run_one(cell).split_digest for cell in plan.cells}) == 1


def test_own_model_of_a_function_travels_by_value(world: Worlds, tmp_path: Path) -> None:
    class Own(torch.nn.Module):
        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
            super().__init__()
            del hidden_channels
            self.map = torch.nn.Linear(in_channels, out_channels)

        def forward(self, data: Any) -> torch.Tensor:
            found: torch.Tensor = self.map(data.x)
            return found

    row = describe((Own, "node_cls"))
    task = task_from_dataset("mine", "node_cls", world("nodes").graphs[0])
    usual = {"seeds": [0], "protocol": PROTOCOLS.get("graphnetz"), "epochs": 2, "place": Place(home=tmp_path)}
    (cell,) = make_plan([task], [row], **usual).cells
    result = run_one(pickle.loads(pickle.dumps(cell)))
    assert result.failure is None, result.failure.traceback
    assert result.n_parameters == 4 * 3 + 3


def test_all_data_that_are_missing_are_told_at_once(plan_for: Callable[..., Plan], monkeypatch: Any) -> None:
    monkeypatch.delenv("GNZ_MIRROR", raising=False)
    with pytest.raises(SeveralMissing, match=r"2 datasets are not here: cora, mutag.*--task les_miserables"):
        plan_for(["cora", "les_miserables", "mutag"], ["MLP"])
    with pytest.raises(DataMissing, match="'cora'"):
        plan_for(["cora", "les_miserables"], ["MLP"])


def test_what_positions_do_not_tell_is_that_of_the_links_that_are_left(plan_for: Callable[..., Plan]) -> None:
    n = 40
    path = torch.stack([torch.arange(n - 1), torch.arange(1, n)])
    graph = Data(x=torch.randn(n, 3), edge_index=torch.cat([path, path.flip(0)], dim=1))
    labelled = graph.clone()
    labelled.y = torch.arange(n) % 2
    links = task_from_dataset("path_link_pred", TaskType.link_pred, graph)
    whole = task_from_dataset("path_node_cls", TaskType.node_cls, labelled)
    protocol = replace(PROTOCOLS.get("graphnetz"), name="with positions", encoding="lap4")
    # As a whole the path is in one piece; without the links that a split hides it is not.
    assert plan_for([whole], ["GCN"], protocol=protocol).notices == ()
    notices = plan_for([links], ["GCN"], protocol=protocol, seeds=[3, 4]).notices
    assert notices[0].startswith("path_link_pred, seed 3, encoding lap4: 1 of 1 graphs are in several pieces")
    assert plan_for([links], ["GCN"], seeds=[3]).notices == ()


def test_protocol_under_the_label_of_another_is_told(plan_for: Callable[..., Plan]) -> None:
    listed = PROTOCOLS.get("graphnetz")
    (notice,) = plan_for(["les_miserables"], ["MLP"], protocol=replace(listed, hidden_channels=8, patience=3)).notices
    assert notice.startswith(
        "protocol graphnetz@1 is not the one that gnz protocols lists: patience, hidden_channels differ;"
    )
    assert "dataclasses.replace(protocol, name=...)" in notice
    *_, notice = plan_for(["les_miserables"], ["MLP"], protocol=replace(listed, encoding="rw2")).notices
    assert ": encoding differs;" in notice
    for own in ({"name": "mine", "patience": 3}, {"version": 2, "patience": 3}, {"description": "the same"}):
        assert plan_for(["les_miserables"], ["MLP"], protocol=replace(listed, **own)).notices == ()


def test_graphs_that_are_batches_are_not_sampled_and_told_so_before_training(plan_for: Callable[..., Plan]) -> None:
    tasks = ["planted_partition", "sbm_cluster_tiny", "graph_families", "smoothed_numbers"]
    plan = plan_for(tasks, ["GCN"], protocol=PROTOCOLS.get("sampled"))
    assert [cell.task.name for cell in plan.cells] == ["planted_partition", "smoothed_numbers"]
    assert {item.task: item.reason for item in plan.skipped} == {
        "graph_families": "protocol 'sampled' trains node_cls, link_pred, node_reg, not graph_reg",
        "sbm_cluster_tiny": "neighbours is '10x10'; allowed: all: its graphs are batches, and neighbours are drawn in "
        "one large graph.",
    }


def test_a_model_with_a_code_for_each_node_is_not_sampled(plan_for: Callable[..., Plan]) -> None:
    plan = plan_for(["planted_partition"], ["GCN", "Node2Vec"], protocol=PROTOCOLS.get("sampled"))
    assert [cell.model.name for cell in plan.cells] == ["GCN"]
    assert "all: Node2Vec has a code for every node of the graph" in plan.skipped[0].reason
    whole = plan_for(["planted_partition"], ["GCN", "Node2Vec"])
    varied = vary_plan(whole, [read_choice("neighbours=3x3,all")])
    found = [(cell.model.name, dict(cell.hyperparameters)["neighbours"]) for cell in varied.cells]
    assert found == [("GCN", "3x3"), ("GCN", "all"), ("Node2Vec", "all")]
    assert [item.model for item in varied.skipped] == ["Node2Vec neighbours=3x3"]


def test_sampled_cells_are_cells_of_their_own_and_the_same_again(plan_for: Callable[..., Plan]) -> None:
    protocol = replace(PROTOCOLS.get("sampled"), name="drawn", neighbours="3x2")
    whole = replace(protocol, neighbours="")
    (cell,), (other,) = (
        plan_for(["planted_partition"], ["GAT"], protocol=one, epochs=3).cells for one in (protocol, whole)
    )
    assert fingerprint(cell) != fingerprint(other)
    first, second, full = run_one(cell), run_one(cell), run_one(other)
    assert first.is_finished, first.failure
    assert dict(first.series) == dict(second.series)
    assert first.series["train/loss"] != full.series["train/loss"]
    assert first.settings["neighbours"] == "3x2"
    assert "neighbours" not in full.settings
