"""CPU time of a training step of deep networks on made-up molecules, with and without the compiled kernels.

    python benchmarks/cell.py --deep [--repeats 5] [--only GatedGCN,DeepGAT,GPS]

Two workers for each row, one with ``GNZ_KERNELS=off``, take turns on the same batch of 128 molecules like those of
ZINC (23 atoms, 25 bonds, of 28 and 3 kinds), at the width of 100,000 parameters. A step is what training does with a
batch: join the graphs, predict, go back, step. ``peak`` is what the worker's memory grew by beyond its imports.

**The bound** is time for products and time for memory, which one thread takes one after the other.

Products: a linear map ``[n, a] -> [n, b]`` costs ``2nab`` operations forwards and twice that backwards. Of 4 layers on
N = 2,933 nodes and E = 6,378 edges: GatedGCN (width 68) has 4 maps of nodes and one of edges a layer, 3 * 2 * 68^2 *
(4N + E) * 4 = 2.01e9; DeepGAT (144) one of nodes, 3 * 2 * 144^2 * N * 4 = 1.46e9; GPS (48) 10 of 48^2 numbers, 3 * 2 *
48^2 * 10 * N * 4 = 1.62e9. They count at the speed of one large product, measured beside the rows.

Memory: what maps, sums over edges, norms and attention read and write when each does so once, and norms twice, as all
rows are to be known first. In rows of the width of a layer, forwards and backwards: GatedGCN 16 + 26 of nodes and
8 + 15 of edges, DeepGAT 8 + 15 of nodes, GPS 51 + 79 of nodes; 4 layers * width * rows * 4 bytes are 294, 155 and 293
MB. They count at the speed of a copy of numbers that no cache holds, measured likewise.

**The distance.** Measured on a busy machine: GatedGCN 26 ms (1.7 times as fast as Torch's path) with a bound of 17,
DeepGAT 21 ms (1.9) with a bound of 11, GPS 32 ms (2.2) with a bound of 15. By ``perf record``, of GatedGCN 10 are
products (68 columns fill 5 vectors of 16 to 85 %; rows are turned into tiles), 5 are gates (a sigmoid of every number
of every edge, twice: 27,000 vectors a layer of some 30 operations), 3 norms, and 8 are Torch and Python, as much as
without kernels: the batch is joined, edges are sorted, gradients are added up, Adam steps. Of DeepGAT, 6 are products,
6 attention, of which more than 1 fills gradients with zeros, 3 norms with an ELU, and 6 Torch and Python.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

# Network -> its settings; the first three are to take half of the time at most.
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "GatedGCN": ("GatedGCN", {}),
    "DeepGAT": ("DeepGAT", {}),
    "GPS": ("GPS", {}),
    "GatedGCN+edges": ("GatedGCN", {"edge_features": True}),
    "GPS+edges": ("GPS", {"edge_features": True}),
    "MoNet": ("MoNet", {}),
    "DeepGCN": ("DeepGCN", {}),
    "DeepMeanGCN": ("DeepMeanGCN", {}),
    "DeepGraphSAGE": ("DeepGraphSAGE", {}),
    "DeepGIN": ("DeepGIN", {}),
    "DeepMLP": ("DeepMLP", {}),
}
TARGETS = {"GatedGCN": 2.0, "DeepGAT": 2.0, "GPS": 2.0}
# Products of the linear maps of a step, forwards: of each row a function of nodes and edges.
MAPS = {
    "GatedGCN": lambda n, e: 4 * 68**2 * (4 * n + e),
    "DeepGAT": lambda n, _: 4 * 144**2 * n,
    "GPS": lambda n, _: 4 * 10 * 48**2 * n,
}
# Numbers that a step reads and writes, of each row likewise.
MOVED = {
    "GatedGCN": lambda n, e: 4 * 68 * (42 * n + 23 * e),
    "DeepGAT": lambda n, _: 4 * 144 * 23 * n,
    "GPS": lambda n, _: 4 * 48 * 130 * n,
}
N_GRAPHS, BUDGET, STEPS = 128, 100_000, 5


def make_molecules() -> Any:
    """Return molecules: chains that branch, with rings of six."""
    import torch

    from gnz_track.training.graphs import GraphCollection

    generator = torch.Generator().manual_seed(0)
    draw = lambda low, high: int(torch.randint(low, high, (1,), generator=generator))  # noqa: E731
    parts, nodes, edges = [], [0], [0]
    for _ in range(N_GRAPHS):
        n = draw(15, 32)
        bonds = {(draw(max(0, atom - 3), atom), atom) for atom in range(1, n)}
        while len(bonds) < n + 2:
            first = draw(0, n - 5)
            bonds.add((first, first + 5))
        pairs = torch.tensor(sorted([*bonds, *((b, a) for a, b in bonds)])).t()
        parts.append(pairs)
        nodes.append(nodes[-1] + n)
        edges.append(edges[-1] + pairs.size(1))
    atoms = torch.randint(28, (nodes[-1], 1), generator=generator)
    kinds = torch.randint(1, 4, (edges[-1],), generator=generator)
    starts = torch.tensor(nodes), torch.tensor(edges)
    return GraphCollection(torch.cat(parts, dim=1), *starts, {"x": atoms}, {"edge_attr": kinds})


class Step:
    """Training steps of one network, always on the same molecules."""

    def __init__(self, row: str) -> None:
        from dataclasses import replace

        import torch

        from gnz_track.models.budgets import find_width
        from gnz_track.models.building import build
        from gnz_track.models.catalogue import MODELS
        from gnz_track.models.options import Sizes
        from gnz_track.optimisers import Adam
        from gnz_track.training.acceleration import accelerate
        from gnz_track.types import TaskType

        name, options = ROWS[row]
        about = {"vocabulary": (28,), "edge_channels": 1, "edge_vocabulary": (4,)}
        sizes = Sizes(in_channels=1, hidden_channels=0, out_channels=1, **about)
        model, kind = MODELS.get(name), TaskType.graph_reg
        width = find_width(model, kind, sizes, budget=BUDGET, options=options).hidden_channels
        torch.manual_seed(0)
        self.model = accelerate(build(model, kind, replace(sizes, hidden_channels=width), options=options)).train()
        self.optimiser = Adam(self.model.parameters(), lr=1e-3, fused=True)
        self.molecules, self.order = make_molecules(), torch.arange(N_GRAPHS)
        self.labels = torch.randn(N_GRAPHS, 1, generator=torch.Generator().manual_seed(1))

    def take(self) -> float:
        """Take one step and return its loss."""
        ((batch, _),) = self.molecules.batches(self.order, N_GRAPHS)
        self.optimiser.zero_grad()
        loss = (self.model(batch) - self.labels).abs().mean()
        loss.backward()
        self.optimiser.step()
        return float(loss.detach())


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def work(row: str) -> None:
    """Take steps whenever asked to by a line on standard input, and answer with their time, loss and memory."""
    import gc

    import torch

    from gnz_track.training.allocator import keep_freed_memory

    torch.set_num_threads(1)
    keep_freed_memory()
    step = Step(row)
    gc.freeze()
    before = _megabytes()
    for _ in sys.stdin:
        started = time.process_time()
        losses = [step.take() for _ in range(STEPS)]
        seconds = (time.process_time() - started) / STEPS
        print(json.dumps({"ms": seconds * 1e3, "loss": losses[-1], "peak": _megabytes() - before}), flush=True)


class Worker:
    """One side of a row in a process of its own."""

    def __init__(self, row: str, kernels: str) -> None:
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "GNZ_KERNELS": kernels}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen([sys.executable, __file__, row], **pipes, text=True, env=environment)

    def ask(self) -> dict[str, float]:
        """Have it take some steps."""
        print("go", file=self.process.stdin, flush=True)
        line = self.process.stdout.readline() if self.process.stdout else ""
        if not line:
            sys.exit("the worker died; its traceback is above")
        answer: dict[str, float] = json.loads(line)
        return answer

    def stop(self) -> None:
        """Let the worker end."""
        self.process.communicate()


def _operations_per_second() -> float:
    """Return the speed of one large product, in operations a second: that of the kernels where it is higher."""
    import torch

    from gnz_track.training.acceleration import dense

    torch.set_num_threads(1)
    x, weight, best = torch.randn(4096, 160), torch.randn(160, 160), 1e9
    for _ in range(20):
        started = time.process_time()
        for _ in range(5):
            dense.multiply(x, weight)
        best = min(best, time.process_time() - started)
    return 5 * 2 * 4096 * 160 * 160 / best


def _numbers_per_second() -> float:
    """Return how many numbers are read or written in a second by a copy of more than caches hold."""
    import torch

    x, y, best = torch.ones(1 << 24), torch.empty(1 << 24), 1e9
    for _ in range(10):
        started = time.process_time()
        y.copy_(x)
        best = min(best, time.process_time() - started)
    return 2 * x.numel() / best


def measure(rows: list[str], repeats: int) -> None:
    """Print milliseconds of CPU time a step without and with kernels, their ratio, the bound, and peak memory."""
    speed, moved, molecules = _operations_per_second(), _numbers_per_second(), make_molecules()
    n, e = int(molecules.node_ptr[-1]), int(molecules.edge_ptr[-1])
    print(
        f"{n:,} atoms, {e:,} directed bonds; one large product: {speed / 1e9:.0f} billion operations a second, "
        f"a copy: {4 * moved / 1e9:.0f} GB a second"
    )
    print(f"{'network':16}{'off ms':>9}{'on ms':>9}{'ratio':>8}{'range':>13}{'target':>8}{'bound':>8}{'peak MB':>14}")
    for row in rows:
        workers = [Worker(row, kernels) for kernels in ("off", "")]
        for worker in workers:
            worker.ask()
        pairs = [[worker.ask() for worker in workers] for _ in range(repeats)]
        ratios = sorted(off["ms"] / on["ms"] for off, on in pairs)
        off, on = (min(answer["ms"] for answer in column) for column in zip(*pairs, strict=True))
        seconds = 3 * 2 * MAPS[row](n, e) / speed + MOVED[row](n, e) / moved if row in MAPS else 0.0
        bound = f"{seconds * 1e3:.1f}" if seconds else ""
        peaks = " -> ".join(f"{answer['peak']:.0f}" for answer in pairs[-1])
        spread, target = f"{ratios[0]:.2f}-{ratios[-1]:.2f}", f"{TARGETS.get(row, 1.0):.1f}x"
        ratio = statistics.median(ratios)
        print(f"{row:16}{off:9.1f}{on:9.1f}{ratio:7.2f}x{spread:>13}{target:>8}{bound:>8}{peaks:>14}", flush=True)
        for worker in workers:
            worker.stop()


def main() -> None:
    """Measure and print; with a row alone, work on it."""
    if len(sys.argv) == 2 and sys.argv[1] in ROWS:
        return work(sys.argv[1])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default=",".join(ROWS), help="rows, separated by commas")
    arguments = parser.parse_args()
    return measure(arguments.only.split(","), arguments.repeats)


if __name__ == "__main__":
    main()
