"""How long features of a graph take on one core: all 1,074 of them, by shape of the graph.

    OMP_NUM_THREADS=1 python benchmarks/features.py [--edges 200000]

The target is 5 s for 200,000 edges, whatever their shape; a clique is the worst that so many edges can be. Seconds are
of the processor, and those of the clock stand beside them: on a busy machine they differ.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from typing import Any

import networkx as nx
import numpy as np

from gnz_track.selection.features.feature_sets import FEATURE_SETS, GraphParts
from gnz_track.selection.features.graph import make_network
from gnz_track.selection.features.orbits import count_subgraphs

Edges = np.ndarray[Any, Any]


def _grown(n_edges: int, links: int, closing: float | None = None) -> Edges:
    n = n_edges // links + links
    grown = nx.barabasi_albert_graph(n, links, seed=1)
    closed = nx.powerlaw_cluster_graph(n, links, closing, seed=1) if closing else grown
    return np.array(closed.edges).T


SHAPES: dict[str, Callable[[int], Edges]] = {
    "random, few neighbours": lambda m: np.random.default_rng(0).integers(0, m // 4, (2, m)),
    "random, many neighbours": lambda m: np.random.default_rng(0).integers(0, m // 100, (2, m)),
    "preferential attachment": lambda m: _grown(m, 10),
    "clustered power law": lambda m: _grown(m, 20, 0.9),
    "path": lambda m: np.stack([np.arange(m), np.arange(1, m + 1)]),
    "star": lambda m: np.stack([np.zeros(m, dtype=int), np.arange(1, m + 1)]),
    "clique": lambda m: np.array(np.triu_indices(int(np.sqrt(2 * m)) + 1, 1)),
}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--edges", type=int, default=200_000)
    n_edges = parser.parse_args().edges
    print(f"{'shape':24}{'nodes':>9}{'edges':>9}{'triangles':>12}{'regular':>9}{'all':>8}{'clock':>8}   seconds")
    for name, make in SHAPES.items():
        edges = make(n_edges)
        started, clock = time.process_time(), time.perf_counter()
        network = make_network(edges)
        parts = GraphParts(network)
        FEATURE_SETS.get("regular").compute(parts)
        regular = time.process_time() - started
        FEATURE_SETS.get("regular_graphlets").compute(parts)
        whole, waited = time.process_time() - started, time.perf_counter() - clock
        n_triangles = count_subgraphs(parts.orbits)["K3"]
        print(
            f"{name:24}{network.n_nodes:9}{network.n_edges:9}{n_triangles:12}{regular:9.2f}{whole:8.2f}{waited:8.2f}",
            flush=True,
        )
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
