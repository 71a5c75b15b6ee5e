"""CPU time of one training cell against ``graphnetz==0.2.0``, and whether the scores are the same.

    pip install graphnetz==0.2.0
    python benchmarks/cell.py --mirror FOLDER [--repeats 3] [--seeds 0-2] [--only cora,mutag,dense-128,million]
    python benchmarks/cell.py --deep [--repeats 5] [--only GatedGCN,GPS]

``--deep`` measures steps of deep networks with and without kernels instead: see ``deep_steps.py``, and the bound there.

Two worker processes, one for each side, take turns on the same job, one thread each; only one works at a time. Both
get the same split, the same initial parameters and the same order of batches, and record the same series. The peer is
timed inside of its own trainer; ours from the frozen dataset on, splitting and set-up included. Each row has processes
of its own, and ``peak MiB`` is the most that each of them held, libraries and the opened dataset included.

**The bound** of Cora's rows is what an epoch has to compute at the speed of one large product, and what Adam has to
move at the speed of one copy within the cache, both measured here. Drawing masks, activations and normalisation come on
top, and sums over edges cannot reach that speed. A multiplication with its addition are 2 operations; of sums alone, 1.

An epoch trains on 140 nodes and scores 1,500. To these lead 638 and 5,660 edges from 644 and 2,490 nodes, and to those
3,834 and 10,175 edges from 1,664 and 2,660 nodes, itself always among them. Of the features, 49,216 of 3.9 million
numbers are not zero: 30,691 and 48,322 in these 1,664 and 2,660 rows, 11,907 and 45,291 in the 644 and 2,490. With z
non-zeros, y of them in the inner nodes m, e edges to these, f edges to the s scored nodes, 64 hidden channels and 7
classes, one way forward takes

- GCN: 2 * 64 z + 2 * 64 (e + m) + 2 * 448 m + 2 * 7 (f + s);
- GraphSAGE: 2 * 64 (z + y) + 64 e + 2 * 448 (m + s) + 7 f;
- GAT, 8 heads: 2 * 512 z + 4 * 512 n + 2 * 512 (e + m) + 2 * 3,584 m + 2 * 7 (f + s), where n nodes are mapped, and of
  the features that are trained on .6 are dropped;
- GraphTransformer, 4 heads: 4 * 256 (z + y) + 4 * 256 e + 4 * 1,792 (m + s) + 4 * 7 f.

Backwards, a product costs twice that, and that with the features, which have no gradient, once. What follows from a
weight of an edge costs twice, for the weight and for what it weighs, and a fixed one once. Adam reads parameters,
gradients and two averages and writes all but the gradients: 28 bytes a parameter.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import deep_steps
import generated_graphs
from generated_graphs import GRAPHS

PEER = "graphnetz"
TARGETS = {
    **dict.fromkeys([("dense-128", model) for model in ("GCN", "GraphSAGE", "GraphTransformer", "GAT")], 3.0),
    **dict.fromkeys([("dense-500", model) for model in ("GCN", "GraphSAGE", "GraphTransformer", "GAT")], 2.0),
    ("million", "GCN"): 10.0,
    ("million", "GraphSAGE"): 10.0,
    ("mutag", "GCN"): 3.5,
    ("mutag", "GraphSAGE"): 2.5,
    ("mutag", "GAT"): 4.0,
    ("mutag", "GraphTransformer"): 2.4,
    ("mutag", "GIN"): 2.4,
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
    "dense-128": ("GCN", "GraphSAGE", "GraphTransformer", "GAT"),
    "dense-500": ("GCN", "GraphSAGE", "GraphTransformer", "GAT"),
    "million": ("GCN", "GraphSAGE"),
}
USUAL_TARGET = 1.5
# Models whose scores a change of parameters by 1e-7 moves: GIN sums and normalises over batches, GAT drops most of all.
AMPLIFYING = ("GAT", "GIN")
TIMED_EPOCHS = {"cora": 100, "mutag": 40, "random_tsp": 80, "dense-128": 30, "dense-500": 20, "million": 20}


class Reach(NamedTuple):
    """What an epoch of Cora passes through on its way to some nodes; see above."""

    n_scored: int
    n_inner: int
    n_mapped: int
    edges: int
    inner_edges: int
    non_zeros: int
    inner_non_zeros: int


TRAINED = Reach(140, 644, 1_664, 638, 3_834, 30_691, 11_907)
SCORED = Reach(1_500, 2_490, 2_660, 5_660, 10_175, 48_322, 45_291)
# Model -> the operations of one way forward by kind: products with the features, sums by fixed weights, all else.
FORWARD: dict[str, Callable[[Reach], tuple[float, float, float]]] = {
    "GCN": lambda r: (
        2 * 64 * r.non_zeros,
        2 * 64 * (r.inner_edges + r.n_inner) + 2 * 7 * (r.edges + r.n_scored),
        2 * 448 * r.n_inner,
    ),
    "GraphSAGE": lambda r: (
        2 * 64 * (r.non_zeros + r.inner_non_zeros),
        64 * r.inner_edges + 7 * r.edges,
        2 * 448 * (r.n_inner + r.n_scored),
    ),
    "GAT": lambda r: (
        2 * 512 * r.non_zeros,
        0,
        4 * 512 * r.n_mapped
        + 2 * 512 * (r.inner_edges + r.n_inner)
        + 2 * 3_584 * r.n_inner
        + 2 * 7 * (r.edges + r.n_scored),
    ),
    "GraphTransformer": lambda r: (
        4 * 256 * (r.non_zeros + r.inner_non_zeros),
        0,
        4 * 256 * r.inner_edges + 4 * 1_792 * (r.n_inner + r.n_scored) + 4 * 7 * r.edges,
    ),
}
N_PARAMETERS = {"GCN": 92_231, "GraphSAGE": 184_391, "GAT": 738_837, "GraphTransformer": 1_475_612}
# Of the features that a model trains on, the part that its dropout leaves.
LEFT = {"GAT": 0.4}


def bound_of(model: str, speed: dict[str, float]) -> float:
    """Return the least seconds that an epoch of Cora takes, given operations and bytes a second."""
    of_features, fixed, rest = FORWARD[model](TRAINED)
    operations = 2 * LEFT.get(model, 1.0) * of_features + 2 * fixed + 3 * rest + sum(FORWARD[model](SCORED))
    return operations / speed["operations"] + 28 * N_PARAMETERS[model] / speed["bytes"]


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
        from gnz_track.datasets.frozen import open_frozen
        from gnz_track.datasets.preparation import prepare
        from gnz_track.models.catalogue import describe
        from gnz_track.types import Task, TaskType

        self.seed, self.epochs = job["seed"], job["epochs"]
        if job["task"] in GRAPHS:
            self.task = Task(job["task"], TaskType.node_cls)
            self.dataset = open_frozen(self.home / job["task"])
        else:
            self.task = TASKS.get(job["task"])
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

        keep_freed_memory(even_large=True)
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


class Machine(Side):
    """The machine alone: how fast it multiplies and moves what is in its cache."""

    def prepare(self, job: dict[str, Any]) -> None:
        """Need nothing."""

    def run(self) -> dict[str, Any]:
        """Return operations and bytes a second, the best of some tries."""
        import torch

        x, y, out = (torch.randn(1024, 1024) for _ in range(3))
        source, target = torch.randn(1 << 17), torch.empty(1 << 17)
        multiplied = min(_time(lambda: torch.mm(x, y, out=out), 4) for _ in range(20))
        copied = min(_time(lambda: target.copy_(source), 200) for _ in range(20))
        # A copy reads and writes.
        return {"operations": 2 * 1024**3 / multiplied, "bytes": 2 * source.nbytes / copied}


def _time(do: Callable[[], object], n: int) -> float:
    started = time.process_time()
    for _ in range(n):
        do()
    return (time.process_time() - started) / n


SIDES = {"ours": Ours, "peer": Peer, "perturbed": PerturbedPeer, "machine": Machine}


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
        found = worker.run()
        found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        answers.write(json.dumps(found) + "\n")
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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.communicate()


def measure_speed(home: str, mirror: str, tasks: list[str], repeats: int) -> None:
    """Print CPU milliseconds per epoch of both sides and their ratio, the median over interleaved repeats."""
    with Worker("machine", home, mirror) as machine:
        speed = machine.ask()
    print(
        f"one product: {speed['operations'] / 1e9:.0f} billion operations/s; one copy: {speed['bytes'] / 1e9:.0f} GB/s"
    )
    print(
        f"{'task':12}{'model':18}{'peer ms':>10}{'ours ms':>10}{'ratio':>8}{'range':>13}{'target':>8}"
        f"{'bound ms':>10}{'x of bound':>12}{'peak MiB':>14}"
    )
    for task in tasks:
        for model in JOBS[task]:
            _measure_row(home, mirror, {"task": task, "model": model, "seed": 0}, repeats, speed)


def _measure_row(home: str, mirror: str, job: dict[str, Any], repeats: int, speed: dict[str, float]) -> None:
    task, model, epochs = job["task"], job["model"], TIMED_EPOCHS[job["task"]]
    with Worker("peer", home, mirror) as peer, Worker("ours", home, mirror) as ours:
        for side in (peer, ours):
            side.ask(**job, epochs=2)
        answers = [[side.ask(**job, epochs=epochs) for side in (peer, ours)] for _ in range(repeats)]
    ratios = sorted(one["seconds"] / other["seconds"] for one, other in answers)
    columns = zip(*answers, strict=True)
    times = [statistics.median(answer["seconds"] for answer in column) / epochs * 1e3 for column in columns]
    target = TARGETS.get((task, model), USUAL_TARGET)
    least = bound_of(model, speed) * 1e3 if task == "cora" and model in FORWARD else 0.0
    bound = f"{least:10.2f}{times[1] / least:11.1f}x" if least else f"{'':22}"
    spread, peaks = f"{ratios[0]:.1f}-{ratios[-1]:.1f}", " / ".join(f"{answer['peak']:.0f}" for answer in answers[-1])
    line = f"{task:12}{model:18}{times[0]:10.2f}{times[1]:10.2f}{statistics.median(ratios):7.1f}x{spread:>13}"
    print(f"{line}{target:7.1f}x{bound}{peaks:>14}", flush=True)


def compare_scores(workers: dict[str, Worker], tasks: list[str], seeds: range) -> None:
    """Print the final test scores of both sides per seed, with the perturbed peer beside what amplifies rounding."""
    from gnz_track.datasets.catalogue import TASKS

    for task in tasks:
        for model in JOBS[task]:
            sides = ("peer", "ours", "perturbed") if model in AMPLIFYING else ("peer", "ours")
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
        home, mirror = arguments.home or folder, arguments.mirror
        tasks = arguments.only.split(",") if arguments.only else list(JOBS)
        for name in GRAPHS.keys() & set(tasks):
            # By a process of its own, whose memory is nobody's.
            subprocess.run([sys.executable, generated_graphs.__file__, name, str(Path(home) / name)], check=True)
        measure_speed(home, mirror, tasks, arguments.repeats)
        compared = [task for task in tasks if task not in GRAPHS]
        if arguments.seeds and compared:
            with contextlib.ExitStack() as stack:
                sides = ("ours", "peer", "perturbed")
                workers = {side: stack.enter_context(Worker(side, home, mirror)) for side in sides}
                compare_scores(workers, compared, range(arguments.seeds))


if __name__ == "__main__":
    main()
