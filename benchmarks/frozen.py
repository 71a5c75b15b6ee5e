"""Opening a frozen dataset of many graphs: milliseconds, and the pages that two processes share.

Run: ``python benchmarks/frozen.py [n_graphs]``; prints one line per measurement.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset, freeze, open_frozen
from gnz_track.types import Category, DatasetRow, TaskType

ROW = DatasetRow(
    name="many_graphs",
    category=Category.custom,
    task_types=(TaskType.graph_cls,),
    loader="",
    source="random",
    licence="none",
    citation="none",
)
CHILD = "--read"


def make_graphs(n_graphs: int) -> list[Data]:
    """Return rings of 10 to 29 nodes with 16 features."""
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for number in range(n_graphs):
        n = 10 + number % 20
        nodes = torch.arange(n)
        ring = torch.stack([nodes, nodes.roll(-1)])
        edges = torch.cat([ring, ring.flip(0)], dim=1)
        graphs.append(Data(x=torch.rand(n, 16, generator=generator), edge_index=edges, y=torch.tensor([number % 2])))
    return graphs


def timed_opening(folder: Path, repeats: int = 20) -> float:
    """Return the median milliseconds of opening a folder and taking its last graph."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        open_frozen(folder)[-1]
        seconds.append(time.perf_counter() - start)
    return 1_000 * statistics.median(seconds)


def mapped_pages(path: Path) -> dict[str, int]:
    """Return KiB of this process's mapping of a file by kind, as Linux counts them."""
    lines = Path("/proc/self/smaps").read_text().splitlines()
    start = next(number for number, line in enumerate(lines) if line.endswith(str(path)))
    fields = (line.split() for line in lines[start + 1 : start + 20])
    wanted = ("Rss", "Pss", "Shared_Clean", "Private_Clean", "Private_Dirty")
    return {words[0][:-1]: int(words[1]) for words in fields if words[0][:-1] in wanted}


def read_all(dataset: FrozenDataset) -> float:
    """Touch every feature."""
    return float(dataset.tensors["x"].sum())


def main(n_graphs: int) -> None:
    """Freeze, open, read in two processes, print."""
    graphs = make_graphs(n_graphs)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "many_graphs"
        start = time.perf_counter()
        dataset = freeze(graphs, folder, row=ROW)
        print(f"freezing {n_graphs} graphs: {time.perf_counter() - start:.2f} s")
        print(f"file: {dataset.tensors.path.stat().st_size / 2**20:.1f} MiB")
        print(f"opening and taking one graph, median of 20: {timed_opening(folder):.2f} ms")
        start = time.perf_counter()
        for number in range(0, n_graphs, 10):
            dataset[number]
        print(f"one graph: {1e6 * (time.perf_counter() - start) / len(range(0, n_graphs, 10)):.1f} us")
        dataset = open_frozen(folder)
        read_all(dataset)
        print(f"mapped by one process (KiB): {mapped_pages(dataset.tensors.path)}")
        command = [sys.executable, __file__, CHILD, str(folder)]
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as other:
            print(f"mapped by two processes (KiB), the other says: {other.stdout.readline().strip()}")  # type: ignore[union-attr]
            print(f"mapped by two processes (KiB), this one says: {mapped_pages(dataset.tensors.path)}")
            other.stdin.close()  # type: ignore[union-attr]


def read_and_wait(folder: Path) -> None:
    """Map and read all, say so, and stay until the parent is done."""
    dataset = open_frozen(folder)
    read_all(dataset)
    print(mapped_pages(dataset.tensors.path), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        read_and_wait(Path(sys.argv[2]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
