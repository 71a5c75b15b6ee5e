"""Opening a frozen dataset of many graphs, the memory that two workers share, and the memory that freezing takes.

Run: ``python benchmarks/frozen.py [n_graphs]``; prints one line per measurement.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset, freeze, open_frozen
from gnz_track.datasets.generators.images import superpixels
from gnz_track.datasets.streaming import freeze_stream
from gnz_track.training.usage import Gauge
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
CHILD, SUPERPIXELS = "--read", "--superpixels"
FEW, MANY, SIDE = 2_000, 10_000, 28


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


def own_memory() -> dict[str, int]:
    """Return KiB of this process by kind: resident, its share of what is shared (PSS), and its own alone (USS)."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    found = {words[0][:-1]: int(words[1]) for words in map(str.split, lines)}
    alone = found["Private_Clean"] + found["Private_Dirty"]
    return {"Rss": found["Rss"], "Pss": found["Pss"], "Uss": alone, "Swap": found["Swap"]}


def read_all(dataset: FrozenDataset) -> float:
    """Touch every feature."""
    return float(dataset.tensors["x"].sum())


def main(n_graphs: int) -> None:
    """Freeze, open, read in two processes, print; then freeze images in portions."""
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
        share_among_workers(folder)
    for n_images in (FEW, MANY):
        with tempfile.TemporaryDirectory() as temporary:
            command = [sys.executable, __file__, SUPERPIXELS, temporary, str(n_images)]
            print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())


def share_among_workers(folder: Path) -> None:
    """Let one worker read all, then two at once, and print what each has for itself."""
    with worker(folder) as one:
        wait_for(one)
        print(f"one worker (KiB): {ask(one)}")
        one.stdin.close()  # type: ignore[union-attr]
    with worker(folder) as one, worker(folder) as other:
        # Both have read before either counts.
        wait_for(one)
        wait_for(other)
        print(f"two workers (KiB), the first: {ask(one)}")
        print(f"two workers (KiB), the second: {ask(other)}")
        one.stdin.close()  # type: ignore[union-attr]
        other.stdin.close()  # type: ignore[union-attr]


def worker(folder: Path) -> subprocess.Popen[str]:
    """Start a process that reads a folder."""
    command = [sys.executable, __file__, CHILD, str(folder)]
    return subprocess.Popen(command, stdin=-1, stdout=-1, text=True, bufsize=1)


def wait_for(process: subprocess.Popen[str]) -> None:
    """Wait until a worker has read all."""
    process.stdout.readline()  # type: ignore[union-attr]


def ask(process: subprocess.Popen[str]) -> str:
    """Return what a worker counts."""
    process.stdin.write("count\n")  # type: ignore[union-attr]
    return process.stdout.readline().strip()  # type: ignore[union-attr]


def freeze_images(folder: Path, n_images: int) -> None:
    """Freeze images of the size of MNIST's, one after another, and print the seconds and the peak of memory."""
    source = load_digits()
    padding = (SIDE - 3 * 8) // 2
    generator = np.random.default_rng(0)

    def draw() -> Iterator[np.ndarray]:
        for number in range(n_images):
            # Each digit three times as large, with noise of its own.
            large = np.kron(source.images[number % len(source.images)] / 16, np.ones((3, 3)))
            yield np.clip(np.pad(large, padding) + 0.05 * generator.random((SIDE, SIDE)), 0, 1)

    labels = (int(source.target[number % len(source.images)]) for number in range(n_images))
    start = time.perf_counter()
    with Gauge() as gauge:
        dataset = freeze_stream(superpixels(draw(), labels), folder / "superpixels", row=ROW)
    size = dataset.tensors.path.stat().st_size / 2**20
    print(
        f"{n_images} superpixel graphs ({dataset.n_nodes} nodes, {dataset.n_edges} edges, {size:.1f} MiB): "
        f"{time.perf_counter() - start:.1f} s, peak RSS {gauge.peak_rss_mib:.0f} MiB"
    )


def read_and_count(folder: Path) -> None:
    """Map and read all, say so, and count the memory whenever asked."""
    before = own_memory()
    dataset = open_frozen(folder)
    read_all(dataset)
    print("read", flush=True)
    for _ in sys.stdin:
        now = own_memory()
        grown = {name: now[name] - before[name] for name in now}
        print(f"file {mapped_pages(dataset.tensors.path)}, process grown by {grown}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == [CHILD]:
        read_and_count(Path(sys.argv[2]))
    elif sys.argv[1:2] == [SUPERPIXELS]:
        freeze_images(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
