"""Memory and speed of mini-batches with drawn neighbours.

    python benchmarks/sampling.py memory [--models GCN,GraphSAGE] [--sizes 250000,500000,1000000,2000000]
    python benchmarks/sampling.py speed [--rounds 5] [--batches 20] [--size 500000]

``memory``: generated communities of so many nodes, ten times as many edges and 128 features, each made in a process of
its own and trained for two epochs under the protocol ``sampled`` in another. *Own* is what the process holds that no
file does (``RssAnon``, looked at every 10 ms) beyond what it held before the cell; *mapped* are pages of files at most,
which the system takes back where it needs them. *Law* is what docs/large_graphs.md says. Beside it stands the most that
making the graph took.

``speed``: batches of 1,024 nodes, 10x10, in turns with PyG's ``NeighborLoader``, which needs pyg-lib or torch-sparse;
where neither is installed, the same loader is not to be had, and only this package is timed. Of both: drawing and
gathering alone, and whole steps of training of the same network. Processor time of the process with all of its threads,
as a ratio of medians; wall time beside it, since one thread draws ahead here.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

SIZES = (250_000, 500_000, 1_000_000, 2_000_000)
DEGREE, FEATURES, CLASSES, HIDDEN, BATCH, FAN_OUTS = 10, 128, 16, 64, 1024, (10, 10)
MIB = 2**20


def law(n_nodes: int, n_edges: int) -> float:
    """Return the bytes that a cell holds at most beside its libraries, as docs/large_graphs.md has it."""
    reached, drawn = BATCH, 0
    for fan_out in FAN_OUTS:
        drawn += reached * fan_out
        reached *= fan_out
    of_batches = (BATCH + drawn) * (12 * FEATURES + 16 * HIDDEN + 48)
    return n_nodes * (8 * HIDDEN + 12 * CLASSES + 80) + 16 * n_edges + of_batches + 150 * MIB


def _sizes_now() -> dict[str, int]:
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("Rss"))
    return {name.rstrip(":"): int(kib) * 1024 for name, kib, *_ in lines}


class Watch:
    """Looks at the memory of this process every 10 ms while its block runs."""

    def __enter__(self) -> Self:
        self.before, self.peak, self._ends = _sizes_now(), _sizes_now(), threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _look(self) -> None:
        while not self._ends.wait(0.01):
            self.peak = {name: max(value, self.peak[name]) for name, value in _sizes_now().items()}

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        self._thread.join()

    @property
    def own(self) -> int:
        """Bytes that no file holds, beyond those of before."""
        return self.peak["RssAnon"] - self.before["RssAnon"]


def _row(n_nodes: int) -> Any:
    from gnz_track.datasets.catalogue import DATASETS

    row = DATASETS.get("communities_2m")
    sizes = {"n_nodes": n_nodes, "n_edges": DEGREE * n_nodes}
    expected = {**row.expected, **sizes}
    return replace(row, name=f"communities_{n_nodes}", options={**row.options, **sizes}, expected=expected)


def _prepare(n_nodes: int, home: Path) -> Any:
    from gnz_track.datasets.preparation import prepare_dataset

    return prepare_dataset(_row(n_nodes), seed=0, home=home)


def make(n_nodes: int, home: Path) -> dict[str, float]:
    """Generate and freeze a graph; return what that took."""
    import torch  # noqa: F401  (what a library holds is not what the graph takes)

    started = time.process_time()
    with Watch() as watch:
        _prepare(n_nodes, home)
    return {"own": watch.own / MIB, "seconds": time.process_time() - started}


def train(n_nodes: int, home: Path, model: str, protocol: str, epochs: int) -> dict[str, float]:
    """Train one cell; return its memory, and the processor time of an epoch."""
    from gnz_track.models.catalogue import MODELS
    from gnz_track.runs.run_one import run_one
    from gnz_track.training.protocols import PROTOCOLS
    from gnz_track.types import Cell, Task, TaskType

    dataset = _prepare(n_nodes, home)
    cell = Cell(
        task=Task(dataset.name, TaskType.node_cls),
        model=MODELS.get(model),
        seed=0,
        protocol=PROTOCOLS.get(protocol),
        epochs=epochs,
        dataset_digest=dataset.digest,
        data=str(dataset.folder),
    )
    with Watch() as watch:
        result = run_one(cell)
    if not result.is_finished:
        raise SystemExit(str(result.failure))
    return {
        "own": watch.own / MIB,
        "mapped": watch.peak["RssFile"] / MIB,
        "law": law(n_nodes, DEGREE * n_nodes) / MIB,
        "epoch": result.seconds_per_epoch or 0.0,
        "cpu": result.cpu_seconds / epochs,
        "accuracy": result.score or 0.0,
    }


def _in_a_process(*words: str) -> dict[str, float]:
    done = subprocess.run([sys.executable, __file__, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def memory(sizes: list[int], models: list[str], home: Path, protocol: str, epochs: int) -> None:
    """Print a row for each size and model."""
    print(f"{'nodes':>10}{'model':>12}{'making':>9}{'own':>9}{'law':>9}{'mapped':>9}{'s/epoch':>9}{'score':>8}")
    for n_nodes in sizes:
        made = _in_a_process("make", str(n_nodes), str(home))
        for model in models:
            found = _in_a_process("train", str(n_nodes), str(home), model, protocol, str(epochs))
            numbers = "".join(f"{found[name]:9.0f}" for name in ("own", "law", "mapped"))
            tail = f"{found['epoch']:9.1f}{found['accuracy']:8.3f}"
            print(f"{n_nodes:>10,}{model:>12}{made['own']:9.0f}{numbers}{tail}", flush=True)


# --------------------------------------------------------------------------------------------------------------- speed


def _ours(dataset: Any, batches: int, seeds: Any) -> Callable[[], Iterator[Any]]:
    import torch

    from gnz_track.problems.inputs import mapped_graph_of
    from gnz_track.problems.sampled import Seeds, batches_from
    from gnz_track.types import CellSettings, TaskType

    settings = CellSettings(task_type=TaskType.node_cls, seed=0, neighbours="x".join(map(str, FAN_OUTS)))
    data = mapped_graph_of(dataset, dataset.global_edge_index, settings)
    data.y = dataset.tensors["y"]
    graph = batches_from(data, dataset, settings)
    generator = torch.Generator().manual_seed(0)

    def epoch() -> Iterator[Any]:
        order = seeds[torch.randperm(seeds.numel(), generator=generator)][: batches * BATCH]
        yield from graph.draw(map(Seeds, order.split(BATCH)), generator)

    return epoch


def _theirs(dataset: Any, batches: int, seeds: Any) -> Callable[[], Iterator[Any]]:
    import torch
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

    tensors = dataset.tensors
    data = Data(x=tensors["x"], y=tensors["y"], edge_index=tensors["edge_index"])
    loader = NeighborLoader(data, list(FAN_OUTS), input_nodes=seeds, batch_size=BATCH, shuffle=True, is_sorted=False)

    def epoch() -> Iterator[Any]:
        for number, batch in enumerate(loader):
            if number == batches:
                return
            yield batch

    torch.manual_seed(0)
    return epoch


def _step(model: Any, optimiser: Any, batch: Any) -> None:
    from torch.nn import functional

    optimiser.zero_grad()
    n = batch.batch_size
    functional.cross_entropy(model(batch)[:n], batch.y[:n]).backward()
    optimiser.step()


def _trained(model: str, *, is_fast: bool) -> Callable[[Any], None]:
    import torch

    from gnz_track.models.building import build
    from gnz_track.models.catalogue import MODELS
    from gnz_track.models.options import Sizes
    from gnz_track.training.acceleration import accelerate
    from gnz_track.types import TaskType

    torch.manual_seed(0)
    sizes = Sizes(in_channels=FEATURES, hidden_channels=HIDDEN, out_channels=CLASSES)
    made = build(MODELS.get(model), TaskType.node_cls, sizes)
    if is_fast:
        accelerate(made)
    optimiser = torch.optim.Adam(made.parameters(), lr=3e-3, fused=is_fast)
    return lambda batch: _step(made, optimiser, batch)


def speed(n_nodes: int, rounds: int, batches: int, home: Path) -> None:
    """Print the ratio of PyG's time to ours."""
    import torch

    torch.set_num_threads(1)
    dataset = _prepare(n_nodes, home)
    seeds = dataset.tensors["train_mask"].nonzero().flatten()
    ways: dict[str, Callable[[], Iterator[Any]]] = {"ours": _ours(dataset, batches, seeds)}
    try:
        ways["PyG"] = _theirs(dataset, batches, seeds)
        next(ways["PyG"]())
    except ImportError as error:
        print(f"PyG's loader is not to be had: {error}")
        ways.pop("PyG", None)
    works: dict[str, dict[str, Callable[[Any], None]]] = {"drawing": {way: lambda _: None for way in ways}}
    for model in ("GCN", "GraphSAGE"):
        works[f"steps of {model}"] = {way: _trained(model, is_fast=way == "ours") for way in ways}
    print(f"{'':<20}{'ours, ms':>10}{'PyG, ms':>10}{'ratio':>8}{'wall':>8}   of a batch; processor time")
    for work, by_way in works.items():
        spent: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
        for number in range(rounds + 1):
            for way, epoch in ways.items():
                wall, cpu = time.perf_counter(), time.process_time()
                for batch in epoch():
                    by_way[way](batch)
                if number:
                    spent[way].append((time.process_time() - cpu, time.perf_counter() - wall))
        medians = {way: [statistics.median(one) for one in zip(*found, strict=True)] for way, found in spent.items()}
        ours = medians["ours"]
        theirs = medians.get("PyG", [float("nan")] * 2)
        per_batch = "".join(f"{1000 * one[0] / batches:10.1f}" for one in (ours, theirs))
        print(f"{work:<20}{per_batch}{theirs[0] / ours[0]:8.2f}{theirs[1] / ours[1]:8.2f}", flush=True)


def main() -> None:
    """Read the command line."""
    if sys.argv[1:2] == ["make"]:
        print(json.dumps(make(int(sys.argv[2]), Path(sys.argv[3]))))
        return
    if sys.argv[1:2] == ["train"]:
        n_nodes, home, model, protocol, epochs = sys.argv[2:7]
        print(json.dumps(train(int(n_nodes), Path(home), model, protocol, int(epochs))))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("memory", "speed"))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--models", default="GCN,GraphSAGE")
    parser.add_argument("--protocol", default="sampled")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--size", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--home", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        home = given.home or Path(temporary)
        if given.what == "memory":
            sizes = [int(size) for size in given.sizes.split(",")]
            memory(sizes, given.models.split(","), home, given.protocol, given.epochs)
        else:
            speed(given.size, given.rounds, given.batches, home)


if __name__ == "__main__":
    main()
