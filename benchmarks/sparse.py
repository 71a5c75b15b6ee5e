"""Where sparse features begin to win: a linear layer, forward and backward, dense against sparse, one thread.

    python benchmarks/sparse.py [--nodes 5000] [--out 64] [--repeats 5]

A ratio above 1 says that the sparse form is faster. ``LARGEST_DENSITY`` and ``SMALLEST_WIDTH`` of the features are
chosen from this table.
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from gnz_track.training.acceleration.features import SparseFeatures
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.allocator import keep_freed_memory

WIDTHS = (32, 128, 500, 1433)
DENSITIES = (0.01, 0.03, 0.06, 0.1, 0.15, 0.25)


def features(n_nodes: int, width: int, density: float) -> tuple[Tensor, SparseFeatures]:
    """Return the same random features in both forms."""
    generator = torch.Generator().manual_seed(0)
    dense = torch.rand((n_nodes, width), generator=generator)
    dense *= torch.rand((n_nodes, width), generator=generator) < density
    rows, columns = dense.nonzero(as_tuple=True)
    return dense, SparseFeatures(Pattern.from_entries(rows, columns, n_nodes, width), dense[rows, columns], dense)


def seconds(step: Callable[[], None], repeats: int) -> float:
    """Return the median CPU time of a step."""
    step()
    times = []
    for _ in range(repeats):
        started = time.process_time()
        step()
        times.append(time.process_time() - started)
    return statistics.median(times)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--out", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    keep_freed_memory()
    print(f"{'width':>8}" + "".join(f"{density:>8.0%}" for density in DENSITIES))
    for width in WIDTHS:
        ratios = []
        for density in DENSITIES:
            layer = torch.nn.Linear(width, arguments.out)
            dense, sparse = (
                seconds(lambda x=x, layer=layer: layer(x).sum().backward(), arguments.repeats)
                for x in features(arguments.nodes, width, density)
            )
            ratios.append(dense / sparse)
        print(f"{width:>8}" + "".join(f"{ratio:>7.1f}x" for ratio in ratios), flush=True)


if __name__ == "__main__":
    main()
