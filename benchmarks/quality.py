"""Complementarity and KS permutation tests against the published method, interleaved, CPU seconds of one thread.

    python benchmarks/quality.py [--mirror FOLDER] [--repeats 3] [--datasets MUTAG,ENZYMES,AIDS] [--without-large]

The published package is on no index. What stands against ours here is its method rebuilt from the libraries that it
calls: a networkx graph and an eigendecomposition for each graph, mode and time, scikit-learn's distances, SciPy's KS
statistic for each permutation. ``measured elsewhere`` are CPU seconds of the package itself, version 0.1.0, on another
machine; they say whether the rebuilt way is a fair one. Values are compared before times are.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from scipy.stats import ks_2samp
from sklearn.metrics import pairwise_distances
from threadpoolctl import threadpool_limits
from torch_geometric.data import Data
from torch_geometric.datasets import TUDataset
from torch_geometric.utils import to_networkx

from gnz_track.datasets.perturbations import perturb
from gnz_track.quality import separability
from gnz_track.quality.complementarity import measure_complementarity
from gnz_track.quality.measures import FIXED_MODES
from gnz_track.quality.separability import compare_pairs

Numbers = NDArray[np.float64]
ROOT = Path(__file__).resolve().parents[1]
# Of the package itself: (dataset, times) -> five modes, CPU seconds; at ten times extrapolated from one.
MEASURED_ELSEWHERE = {
    ("MUTAG", 1): 0.81,
    ("ENZYMES", 1): 4.78,
    ("AIDS", 1): 8.51,
    ("MUTAG", 10): 5.3,
    ("ENZYMES", 10): 22.4,
    ("AIDS", 10): 50.6,
}
KS_ELSEWHERE, LARGE_ELSEWHERE = 29.0, 6.99


def rebuilt(graph: Data, time_: int) -> float:
    """Return the complementarity of one graph in the published way."""
    whole = to_networkx(graph, to_undirected=True, node_attrs=["x"])
    for _, _, edge in whole.edges(data=True):
        edge["weight"] = 1.0
    features = np.array([whole.nodes[node]["x"] for node in whole.nodes])
    if whole.number_of_edges() == 0 or nx.is_connected(whole):
        return _rebuilt_space(whole, sorted(whole), features, time_)
    parts = [sorted(part) for part in nx.connected_components(whole)]
    # In this order: that of a subgraph is not the one in which features stand, which misleads the package at times.
    values = [_rebuilt_space(whole.subgraph(part), part, features[part], time_) for part in parts]
    return float(np.average(values, weights=[len(part) for part in parts]))


def _rebuilt_space(part: nx.Graph, nodes: list[int], features: Numbers, time_: int) -> float:
    n = len(nodes)
    of_features = pairwise_distances(features, metric="euclidean")
    of_edges = np.zeros((n, n))
    if part.number_of_edges():
        adjacency = nx.to_numpy_array(part, nodelist=nodes)
        roots = 1.0 / np.sqrt(adjacency.sum(axis=1))
        values, vectors = np.linalg.eigh(np.eye(n) - roots[:, None] * adjacency * roots)
        of_edges = pairwise_distances(vectors * values**time_, metric="euclidean")
    scaled = [distances / (distances.max() or 1.0) for distances in (of_features, of_edges)]
    return float(np.abs(scaled[0] - scaled[1]).sum() / max(n * n - n, 1))


def rebuilt_suite(graphs: Sequence[Data], times: Sequence[int]) -> dict[str, list[float]]:
    """Return the mean complementarity under each fixed mode at each time, in the published way."""
    most = max(int(graph.num_nodes or 0) for graph in graphs)
    found = {}
    for mode in FIXED_MODES:
        changed = [perturb(graph, mode, torch.Generator(), most_nodes=most) for graph in graphs]
        found[mode] = [float(np.mean([rebuilt(graph, moment) for graph in changed])) for moment in times]
    return found


def rebuilt_ks(samples: dict[str, Numbers], n_permutations: int) -> list[float]:
    """Return the p-values of all pairs in the published way."""
    found = []
    for first, second in itertools.combinations(samples, 2):
        x, y = samples[first], samples[second]
        observed, pooled = ks_2samp(x, y).statistic, np.concatenate([x, y])
        stream = np.random.RandomState(42)
        n_extreme = 0
        for _ in range(n_permutations):
            mixed = stream.permutation(pooled)
            n_extreme += ks_2samp(mixed[: len(x)], mixed[len(x) :]).statistic >= observed
        found.append(n_extreme / n_permutations)
    return found


def interleave(theirs: Callable[[], Any], ours: Callable[[], Any], repeats: int) -> tuple[float, float, float]:
    """Return the median CPU seconds of both, taken in turns, and the median of their ratios."""
    ours()
    pairs = []
    for _ in range(repeats):
        pair = []
        for work in (theirs, ours):
            started = time.process_time()
            work()
            pair.append(time.process_time() - started)
        pairs.append(pair)
    ratios = [slow / fast for slow, fast in pairs]
    return (*(statistics.median(column) for column in zip(*pairs, strict=True)), statistics.median(ratios))  # type: ignore[return-value]


def show(what: str, found: tuple[float, float, float], elsewhere: float | None) -> None:
    """Print one line."""
    theirs, ours, ratio = found
    told = "" if elsewhere is None else f"   measured elsewhere {elsewhere:6.2f} s: {elsewhere / ours:6.0f}x"
    print(f"{what:<44}{theirs:>9.3f} s {ours:>9.4f} s {ratio:>7.0f}x{told}", flush=True)


def read_graphs(mirror: Path, name: str, folder: str) -> list[Data]:
    """Return the graphs of a dataset, attributes and labels as features, read by PyG."""
    place = Path(folder) / name
    place.mkdir()
    (place / "raw").symlink_to(mirror / "TUDataset" / name / "raw")
    dataset = TUDataset(folder, name, use_node_attr=True)
    return [dataset[number] for number in range(len(dataset))]


def measure_datasets(graphs_of: dict[str, list[Data]], repeats: int) -> None:
    """Print the five fixed modes of each dataset, at one time and at ten."""
    for (name, graphs), times in itertools.product(graphs_of.items(), ((1,), tuple(range(1, 11)))):
        expected = rebuilt_suite(graphs, times)
        found = measure_complementarity(graphs, times=times)
        worst = max(
            abs(found.mean(mode, moment) - value)
            for mode, values in expected.items()
            for moment, value in zip(times, values, strict=True)
        )
        told = interleave(
            lambda graphs=graphs, times=times: rebuilt_suite(graphs, times),
            lambda graphs=graphs, times=times: measure_complementarity(graphs, times=times),
            repeats if len(times) == 1 else 1,
        )
        label = f"{name}, five modes, t = {times[0] if len(times) == 1 else '1..10'} (means agree to {worst:.0e})"
        show(label, told, MEASURED_ELSEWHERE.get((name, len(times))))


def measure_tests(repeats: int) -> None:
    """Print 15 pairs of six samples of a hundred scores."""
    stream = np.random.default_rng(7)
    samples = {str(n): stream.normal(0.8 - 0.01 * n, 0.03, 100) for n in range(6)}

    def ours() -> None:
        separability._permutations.cache_clear()  # noqa: SLF001  (else it would be found made)
        compare_pairs(samples)

    show(
        "KS, 15 pairs, 10,000 permutations",
        interleave(lambda: rebuilt_ks(samples, 10_000), ours, repeats),
        KS_ELSEWHERE,
    )


def measure_large(repeats: int) -> None:
    """Print one graph of 3,000 nodes at t = 1."""
    whole = nx.watts_strogatz_graph(3000, 6, 0.1, seed=1)
    ends = torch.tensor(list(whole.edges)).t()
    x = torch.randn(3000, 16, generator=torch.Generator().manual_seed(0))
    graph = Data(x=x, edge_index=torch.cat([ends, ends.flip(0)], dim=1))
    told = interleave(
        lambda: rebuilt(graph, 1), lambda: measure_complementarity([graph], modes=["original"], times=[1]), repeats
    )
    show("one graph of 3,000 nodes, t = 1", told, LARGE_ELSEWHERE)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    mirror = os.environ.get("GNZ_MIRROR") or ROOT.parent / "shared" / "data"
    parser.add_argument("--mirror", type=Path, default=Path(mirror))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--datasets", default="MUTAG,ENZYMES,AIDS")
    parser.add_argument("--without-large", action="store_true")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    print(f"{'':<44}{'rebuilt':>11} {'ours':>11} {'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(None):
        graphs = {name: read_graphs(arguments.mirror, name, folder) for name in arguments.datasets.split(",")}
    with threadpool_limits(1):
        measure_datasets(graphs, arguments.repeats)
        measure_tests(1)
        if not arguments.without_large:
            measure_large(arguments.repeats)


if __name__ == "__main__":
    main()
