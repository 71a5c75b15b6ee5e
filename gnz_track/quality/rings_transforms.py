"""Perturbations under the names of the published package, as transforms of PyG that draw the same graphs."""

from __future__ import annotations

import torch
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import to_scipy_sparse_matrix

from gnz_track.datasets.perturbations import find_perturbation, perturb
from gnz_track.errors import BadValue

__all__ = [
    "CompleteFeatures",
    "CompleteGraph",
    "EmptyFeatures",
    "EmptyGraph",
    "Original",
    "RandomConnectedGraph",
    "RandomFeatures",
    "RandomGraph",
]

ORIGINAL, RINGS = "original", "rings"


class _Perturbing(BaseTransform):  # type: ignore[misc]  # what Torch is made of has no types here
    """A perturbation as a transform of PyG; the graph that is given is changed, as there."""

    name = ORIGINAL

    def __init__(self) -> None:
        # One stream for all graphs, begun where Torch was last seeded.
        self.generator = torch.Generator().manual_seed(torch.initial_seed())

    def forward(self, data: Data) -> Data:
        """Return the graph as the perturbation leaves it."""
        changed = perturb(data, self.name, self.generator, compat=RINGS)
        for key in set(data.keys()) - set(changed.keys()):
            data[key] = None
        if find_perturbation(self.name).changes == "graph":
            data.edge_index = changed.edge_index
        elif find_perturbation(self.name).changes == "features" and (data.x is not None or not self.needs_features):
            data.x = changed.x
        return data

    @property
    def needs_features(self) -> bool:
        """Whether a graph without features is left as it is."""
        return find_perturbation(self.name).is_random


class Original(_Perturbing):
    """The graph as it is."""


class EmptyGraph(_Perturbing):
    """No edge."""

    name = "empty-graph"


class CompleteGraph(_Perturbing):
    """All ordered pairs of different nodes."""

    name = "complete-graph"


class EmptyFeatures(_Perturbing):
    """A zero for each node."""

    name = "empty-features"


class CompleteFeatures(_Perturbing):
    """A one-hot vector for each node, ``max_nodes`` wide; a larger graph is an error, not a shorter matrix."""

    name = "complete-features"

    def __init__(self, max_nodes: int) -> None:
        super().__init__()
        self.max_nodes = max_nodes

    def forward(self, data: Data) -> Data:
        """Return the graph with one-hot vectors."""
        n = int(data.num_nodes or 0)
        if n > self.max_nodes:
            raise BadValue("max_nodes", self.max_nodes, f"at least {n}, the nodes of this graph")
        data.x = torch.eye(n, self.max_nodes)
        return data


class RandomFeatures(_Perturbing):
    """Normal numbers in place of features, or the features of other nodes."""

    def __init__(self, shuffle: bool = False, fixed_dimension: int | None = None) -> None:  # noqa: FBT001, FBT002
        super().__init__()
        self.shuffle, self.dimension = shuffle, fixed_dimension

    @property
    def name(self) -> str:  # type: ignore[override]
        """The perturbation that is meant."""
        return "shuffled-features" if self.shuffle else "random-features"

    def forward(self, data: Data) -> Data:
        """Return the graph with other features."""
        if self.shuffle or self.dimension is None or data.x is None:
            return super().forward(data)
        data.x = torch.randn(data.x.size(0), self.dimension, generator=self.generator)
        return data


class RandomGraph(_Perturbing):
    """As many random ordered pairs as there were edges, or ``int(p n (n - 1) / 2)``; or targets renamed."""

    kinds = ("random-graph", "shuffled-graph")

    def __init__(self, p: float | None = None, shuffle: bool = False) -> None:  # noqa: FBT001, FBT002
        super().__init__()
        self.p, self.shuffle = p, shuffle

    @property
    def name(self) -> str:  # type: ignore[override]
        """The perturbation that is meant."""
        return self.kinds[self.shuffle]

    def forward(self, data: Data) -> Data:
        """Return the graph with other edges; its attributes of edges go, but where targets are renamed."""
        n = int(data.num_nodes or 0)
        given = data.edge_index
        if self.p is not None and not self.shuffle:
            # Only how many there are decides.
            given = torch.zeros(2, int(self.p * n * (n - 1) / 2), dtype=torch.long)
        make = find_perturbation(self.name, compat=RINGS).edges
        if make is not None:
            data.edge_index = make(given, n, self.generator)
        if not self.shuffle:
            data.edge_attr = None
        return data


class RandomConnectedGraph(RandomGraph):
    """A random recursive tree and more pairs, or targets renamed until the graph is connected, in a hundred tries."""

    kinds = ("random-connected-graph", "shuffled-graph")
    tries = 100

    def forward(self, data: Data) -> Data:
        """Return the graph with other edges."""
        n = int(data.num_nodes or 0)
        for _ in range(self.tries):
            data = super().forward(data)
            if (
                n == 0
                or connected_components(to_scipy_sparse_matrix(data.edge_index, num_nodes=n), directed=False)[0] == 1
            ):
                return data
        allowed = f"one that is connected within {self.tries} tries"
        raise BadValue("a graph to be shuffled until it is connected", f"{n} nodes", allowed)
