"""CPU time of one training cell against ``graphnetz==0.2.0``, and whether the scores are the same.

    pip install graphnetz==0.2.0
    python benchmarks/cell.py --mirror FOLDER [--repeats 3] [--seeds 0-2] [--only cora,mutag]
    python benchmarks/cell.py --deep [--repeats 5] [--only GatedGCN,GPS]

``--deep`` measures steps of deep networks with and without kernels instead: see ``deep_steps.py``, and the bound there.

Two worker processes, one for each side, take turns on the same job, one thread each; only one works at a time. Both
get the same split, the same initial parameters and the same order of batches, and record the same series. The peer is
timed inside of its own trainer; ours from the frozen dataset on, splitting and set-up included.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import deep_steps

PEER = "graphnetz"
TARGETS = {
    ("cora", "GCN"): 8.0,
    ("cora", "GraphSAGE"): 10.0,
    ("cora", "GraphTransformer"): 4.0,
    ("cora", "GAT"): 2.0,
    ("cora", "OwnNet"): 1.0,
    ("mutag", "OwnGraphNet"): 1.0,
}
JOBS = {
    "cora": ("GCN", "GraphSAGE", "GraphTransformer", "GAT", "OwnNet"),
    "mutag": ("GCN", "GraphSAGE", "GraphTransformer", "GAT", "GIN", "OwnGraphNet"),
    "random_tsp": ("GCN", "GraphSAGE", "GraphTransformer", "GAT"),
}
USUAL_TARGET = 1.5
TIMED_EPOCHS = {"cora": 100, "mutag": 40, "random_tsp": 80}


def own_models() -> dict[str, Any]:
    """Return two models as a user would bring them: a message passing of their own, and pooled PyG layers."""
    import torch
    from torch import nn
    from torch_geometric.nn import GCNConv, GINConv, MessagePassing, global_max_pool

    class LargestNeighbour(MessagePassing):
        """The largest value among neighbours, gated by the difference to one's own."""

        def __init__(self, in_channels: int, out_channels: int) -> None:
            super().__init__(aggr="max")
            self.linear = nn.Linear(in_channels, out_channels)
            self.gate = nn.Linear(out_channels, 1)

        def forward(self, x: Any, edge_index: Any) -> Any:
            h = self.linear(x)
            return h + self.propagate(edge_index, x=h)

        def message(self, x_i: Any, x_j: Any) -> Any:
            return torch.sigmoid(self.gate(x_i - x_j)) * x_j

    class OwnNet(nn.Module):
        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
            super().__init__()
            self.first = LargestNeighbour(in_channels, hidden_channels)
            self.second = GCNConv(hidden_channels, out_channels)

        def forward(self, data: Any) -> Any:
            h = torch.nn.functional.dropout(self.first(data.x, data.edge_index).relu(), 0.3, self.training)
            return self.second(h, data.edge_index)

    class OwnGraphNet(nn.Module):
        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
            super().__init__()
            self.first = GINConv(nn.Sequential(nn.Linear(in_channels, hidden_channels), nn.ReLU()))
            self.second = LargestNeighbour(hidden_channels, hidden_channels)
            self.head = nn.Linear(hidden_channels, out_channels)

        def forward(self, data: Any) -> Any:
            h = self.second(self.first(data.x, data.edge_index), data.edge_index)
            return self.head(global_max_pool(h, data.batch))

    return {"OwnNet": (OwnNet, ("node_cls",), None), "OwnGraphNet": (OwnGraphNet, ("graph_cls",), None)}


class Side:
    """What both workers share: the task as our rooms pose it."""

    def __init__(self, home: str, mirror: str) -> None:
        self.home, self.mirror = Path(home), mirror

    def prepare(self, job: dict[str, Any]) -> None:
        """Freeze and open the dataset; not timed."""
        from gnz_track.datasets.catalogue import TASKS
        from gnz_track.datasets.preparation import prepare
        from gnz_track.models.catalogue import describe

        self.task = TASKS.get(job["task"])
        self.seed, self.epochs = job["seed"], job["epochs"]
        self.dataset = prepare(self.task, seed=self.seed, home=self.home, mirror=self.mirror)
        own = own_models()
        self.model = describe(own.get(job["model"], job["model"]), name=job["model"])

    def pose(self) -> Any:
        """Pose the task as our protocol does."""
        from gnz_track.problems.catalogue import pose
        from gnz_track.training.metrics import DEFAULT_METRICS
        from gnz_track.training.protocols import PROTOCOLS
        from gnz_track.types import CellSettings

        protocol = PROTOCOLS.get("graphnetz")
        self.optimiser = protocol.optimisers[self.task.task_type]
        self.settings = CellSettings(
            task_type=self.task.task_type,
            seed=self.seed,
            metric=DEFAULT_METRICS[self.task.task_type],
            optimiser=self.optimiser,
            epochs=self.epochs,
            hidden_channels=protocol.hidden_channels,
        )
        return pose(self.dataset, self.settings)

    def build(self, problem: Any) -> Any:
        """Build the model of the job with the parameters of its seed."""
        from gnz_track.models.building import build
        from gnz_track.seeds import seed_everything

        seed_everything(self.seed)
        return build(self.model, self.task.task_type, problem.sizes)


class Ours(Side):
    """Our rooms."""

    def run(self) -> dict[str, Any]:
        """Train one cell, set-up included."""
        from gnz_track.seeds import derive
        from gnz_track.training.acceleration import accelerate
        from gnz_track.training.allocator import keep_freed_memory
        from gnz_track.training.loop import train

        keep_freed_memory()
        started = time.process_time()
        problem = self.pose()
        model = accelerate(self.build(problem))
        batch_seed = derive(self.seed, self.dataset.digest, "batches")
        trained = train(model, problem.objective, problem.scorers, self.settings, batch_seed=batch_seed)
        seconds = time.process_time() - started
        series = next(values for name, values in trained.series.items() if name.startswith("test/"))
        return {"seconds": seconds, "final": series[-1], "loss": trained.series["train/loss"][-1]}


class Peer(Side):
    """``graphnetz``: its trainers, with our split and our model's parameters under the peer's own layers."""

    def run(self) -> dict[str, Any]:
        """Train one cell inside of the peer's trainer."""
        problem = self.pose()
        find = {"node_cls": self._nodes, "graph_cls": self._graphs, "link_pred": self._links}
        trainer, arguments = find[self.task.task_type](problem)
        model = self.build(problem)
        self._perturb(model)
        started = time.process_time()
        history = trainer(model, *arguments, epochs=self.epochs, lr=self.optimiser.lr, verbose=False, device="cpu")
        seconds = time.process_time() - started
        final = next(values for name, values in history.items() if name.startswith("test_"))[-1]
        return {"seconds": seconds, "final": final, "loss": history["train_loss"][-1]}

    perturbation = 0.0

    def _perturb(self, model: Any) -> None:
        import torch

        if self.perturbation:
            generator = torch.Generator().manual_seed(1)
            for parameter in model.parameters():
                noise = torch.randn(parameter.shape, generator=generator)
                parameter.data *= 1 + self.perturbation * noise

    def build(self, problem: Any) -> Any:
        """Build the peer's own class where it has one, under the same seed and in the same order."""
        from graphnetz import models as peer_models
        from graphnetz.models._adapters import GraphLevelWrapper, LinkPredWrapper

        from gnz_track.seeds import seed_everything

        cls = getattr(peer_models, self.model.name, None)
        if cls is None:
            return super().build(problem)
        sizes, hidden = problem.sizes, problem.sizes.hidden_channels
        seed_everything(self.seed)
        if self.task.task_type == "node_cls" or self.model.name == "GIN":
            return cls(sizes.in_channels, hidden, sizes.out_channels)
        encoder = cls(sizes.in_channels, hidden, hidden)
        if self.task.task_type == "graph_cls":
            return GraphLevelWrapper(encoder, hidden, sizes.out_channels)
        return LinkPredWrapper(encoder)

    def _nodes(self, problem: Any) -> Any:
        from graphnetz.training import train_node_classification
        from torch_geometric.data import Data

        del problem  # the dataset has all that is needed
        fields = ("x", "edge_index", "y", "train_mask", "val_mask", "test_mask")
        return train_node_classification, (Data(**{name: self.dataset.tensors[name] for name in fields}),)

    def _graphs(self, problem: Any) -> Any:
        import torch
        from graphnetz.training import train_graph_classification
        from torch_geometric.loader import DataLoader

        from gnz_track.seeds import derive

        held_out = {name: problem.objective.held_out[scorer.rows] for name, scorer in problem.scorers.items()}
        parts = {"train": problem.objective.train, **held_out}
        order = torch.Generator().manual_seed(derive(self.seed, self.dataset.digest, "batches"))
        graphs = {name: [self.dataset[i] for i in part.tolist()] for name, part in parts.items()}

        class SameOrder(torch.utils.data.Sampler[int]):
            """Shuffles anew at every pass, in the order in which our objective does."""

            is_first = True

            def __iter__(self) -> Any:
                # The peer's trainer looks at one batch before its first epoch.
                if self.is_first:
                    self.is_first = False
                    return iter(range(len(graphs["train"])))
                return iter(torch.randperm(len(graphs["train"]), generator=order).tolist())

            def __len__(self) -> int:
                return len(graphs["train"])

        loaders = {
            # A generator of its own: otherwise each pass would draw from the one that dropout uses.
            name: DataLoader(
                part, batch_size=32, generator=torch.Generator(), sampler=SameOrder() if name == "train" else None
            )
            for name, part in graphs.items()
        }

        def trainer(model: Any, **options: Any) -> Any:
            return train_graph_classification(
                model, loaders["train"], loaders["val"], test_loader=loaders["test"], **options
            )

        return trainer, ()

    def _links(self, problem: Any) -> Any:
        from graphnetz.training import train_link_prediction
        from torch_geometric.data import Data

        objective = problem.objective
        x, edges = objective.data.x, objective.data.edge_index.clone()
        held_out = [problem.scorers[name] for name in ("val", "test")]
        parts = [(objective.pairs, objective.labels), *((part.pairs, part.labels) for part in held_out)]
        return train_link_prediction, tuple(
            Data(x=x, edge_index=edges, edge_label_index=pairs, edge_label=labels) for pairs, labels in parts
        )


class PerturbedPeer(Peer):
    """The peer with initial parameters changed by a relative 1e-7: how far rounding alone can lead."""

    perturbation = 1e-7


SIDES = {"ours": Ours, "peer": Peer, "perturbed": PerturbedPeer}


def work(side: str, home: str, mirror: str) -> None:
    """Serve jobs from standard input, one JSON line each, and answer likewise."""
    warnings.filterwarnings("ignore")
    import torch

    torch.set_num_threads(1)
    worker = SIDES[side](home, mirror)
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        job = json.loads(line)
        worker.prepare(job)
        answers.write(json.dumps(worker.run()) + "\n")
        answers.flush()


class Worker:
    """A side in a process of its own."""

    def __init__(self, side: str, home: str, mirror: str) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        command = [sys.executable, __file__, "--work", side, "--home", home, "--mirror", mirror]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, **pipes, text=True, env=environment)

    def ask(self, **job: Any) -> dict[str, Any]:
        """Run a job and return its answer."""
        print(json.dumps(job), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            sys.exit(f"the worker died on {job}; its traceback is above")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def stop(self) -> None:
        """Let the worker end."""
        self.process.communicate()


def measure_speed(workers: dict[str, Worker], tasks: list[str], repeats: int) -> None:
    """Print CPU milliseconds per epoch of both sides and their ratio, the median over interleaved repeats."""
    print(f"{'task':12}{'model':18}{'peer ms':>10}{'ours ms':>10}{'ratio':>8}{'range':>16}{'target':>8}")
    for task in tasks:
        for model in JOBS[task]:
            job = {"task": task, "model": model, "seed": 0, "epochs": TIMED_EPOCHS[task]}
            for side in ("peer", "ours"):
                workers[side].ask(**{**job, "epochs": 3})
            rows = [[workers[side].ask(**job)["seconds"] for side in ("peer", "ours")] for _ in range(repeats)]
            ratios = sorted(peer / ours for peer, ours in rows)
            peer, ours = (statistics.median(column) / job["epochs"] * 1e3 for column in zip(*rows, strict=True))
            target = TARGETS.get((task, model), USUAL_TARGET)
            ratio, spread = statistics.median(ratios), f"{ratios[0]:.1f}-{ratios[-1]:.1f}"
            print(f"{task:12}{model:18}{peer:10.2f}{ours:10.2f}{ratio:7.1f}x{spread:>16}{target:7.1f}x", flush=True)


def compare_scores(workers: dict[str, Worker], tasks: list[str], seeds: range) -> None:
    """Print the final test scores of both sides per seed, with the perturbed peer beside GAT."""
    from gnz_track.datasets.catalogue import TASKS

    for task in tasks:
        for model in JOBS[task]:
            sides = ("peer", "ours", "perturbed") if model == "GAT" else ("peer", "ours")
            job = {"task": task, "model": model, "epochs": TASKS.get(task).epochs}
            finals = {side: [] for side in sides}
            for seed in seeds:
                for side in sides:
                    finals[side].append(workers[side].ask(**job, seed=seed)["final"])
            differences = [abs(a - b) for a, b in zip(finals["peer"], finals["ours"], strict=True)]
            equal = sum(difference < 5e-7 for difference in differences)
            line = f"{task:12}{model:18}equal {equal}/{len(seeds)}, largest difference {max(differences):.2g}"
            line += f", means {statistics.fmean(finals['peer']):.4f} peer {statistics.fmean(finals['ours']):.4f} ours"
            if "perturbed" in finals:
                noise = [abs(a - b) for a, b in zip(finals["peer"], finals["perturbed"], strict=True)]
                line += f" {statistics.fmean(finals['perturbed']):.4f} perturbed (largest {max(noise):.2g})"
            print(line, flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mirror", default=os.environ.get("GNZ_MIRROR", ""), help="folder of raw files (Cora, MUTAG)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3, help="how many seeds to compare scores on; 0 for none")
    parser.add_argument("--only", default="", help="tasks, or networks with --deep, separated by commas")
    parser.add_argument("--deep", action="store_true", help="steps of deep networks, without the peer")
    parser.add_argument("--home", default="")
    parser.add_argument("--work", default="", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        work(arguments.work, arguments.home, arguments.mirror)
        return
    if arguments.deep:
        deep_steps.measure(arguments.only.split(",") if arguments.only else list(deep_steps.ROWS), arguments.repeats)
        return
    try:
        importlib.metadata.version(PEER)
    except importlib.metadata.PackageNotFoundError:
        sys.exit("the peer is not installed: pip install graphnetz==0.2.0")
    with tempfile.TemporaryDirectory() as folder:
        home = arguments.home or folder
        tasks = arguments.only.split(",") if arguments.only else list(JOBS)
        workers = {side: Worker(side, home, arguments.mirror) for side in SIDES}
        measure_speed(workers, tasks, arguments.repeats)
        if arguments.seeds:
            compare_scores(workers, tasks, range(arguments.seeds))
        for worker in workers.values():
            worker.stop()


if __name__ == "__main__":
    main()
