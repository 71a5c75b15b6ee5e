"""Mode perturbations: graphs that have lost what their edges say, or what their features say.

Each is a pure function of (graph, generator): the graph that is given is never changed, all randomness comes from the
generator, and every loop has a fixed number of tries. Labels and masks stay as they are. Where edges change, their
other fields go: weights and kinds of edges that no longer exist mean nothing.

C. Coupette et al., No metric to rule them all: toward principled evaluations of graph-learning datasets (2025).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.datasets.features import LARGEST_IDENTITY
from gnz_track.datasets.published_perturbations import (
    connected_edges_as_published,
    random_edges_as_published,
    shuffled_edges_as_published,
)
from gnz_track.datasets.random_edges import complete_edges, connected_edges, random_edges, swapped_edges
from gnz_track.errors import BadValue
from gnz_track.registry import Registry

__all__ = [
    "ORIGINAL",
    "PERTURBATIONS",
    "Perturbation",
    "changes_edges",
    "find_perturbation",
    "form_of_features",
    "perturb",
    "perturb_together",
]

ORIGINAL = "original"
GRAPH, FEATURES, NOTHING = "graph", "features", "nothing"
RINGS = "rings"
Edges = Callable[[Tensor, int, Generator], Tensor]
Features = Callable[[Tensor, int, int, Generator], Tensor]


@dataclass(frozen=True, kw_only=True)
class Perturbation:
    """One kind of perturbation; ``changes`` is graph, features or nothing.

    ``edges(edge_index, n_nodes, generator)`` or ``features(x, n_nodes, most_nodes, generator)`` is what replaces them;
    ``most_nodes`` is the largest number of nodes of any graph that has to have as many columns.
    """

    name: str
    changes: str
    description: str
    is_random: bool = False
    edges: Edges | None = None
    features: Features | None = None


PERTURBATIONS: Registry[Perturbation] = Registry("perturbation", command="gnz audit --help")


def find_perturbation(name: str, *, compat: str = "") -> Perturbation:
    """Return a perturbation; with ``compat="rings"`` as the published package draws it, where it does so otherwise."""
    if compat not in {"", RINGS}:
        raise BadValue("compat", compat, f"{RINGS!r}, or nothing")
    published = f"{name}@{compat}"
    return PERTURBATIONS.get(published if compat and published in PERTURBATIONS else name)


def perturb(graph: Data, name: str, generator: Generator, *, compat: str = "", most_nodes: int = 0) -> Data:
    """Return a graph as a perturbation leaves it; the given one stays as it is.

    >>> graph = Data(x=torch.ones(3, 2), edge_index=torch.tensor([[0, 1], [1, 0]]))
    >>> perturb(graph, "complete-graph", torch.Generator()).num_edges
    6

    Parameters
    ----------
    graph, name, generator
    compat
        "rings": as the published package draws it, where it does so otherwise.
    most_nodes
        Nodes of the largest graph that must have as many feature columns.
    """
    found = find_perturbation(name, compat=compat)
    n_nodes = int(graph.num_nodes or 0)
    changed = copy.copy(graph)
    if found.edges is not None:
        edges = found.edges(_edges_of(graph), n_nodes, generator)
        for key in [key for key in graph.keys() if _hangs_on_edges(graph, key)]:  # noqa: SIM118  (no mapping)
            del changed[key]
        changed.edge_index = edges
        changed.num_nodes = n_nodes
    if found.features is not None:
        x = graph.x if graph.x is not None else torch.zeros(n_nodes, 0)
        changed.x = found.features(x, n_nodes, max(most_nodes, n_nodes), generator)
    return changed


def perturb_together(
    x: Tensor, edge_index: Tensor, node_ptr: Tensor, name: str, *, seed: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Return features, edges and pointer to edges ``[n_graphs + 1]`` of all graphs as a perturbation leaves them.

    New edges come graph by graph; features and edges that stay are returned themselves.

    Parameters
    ----------
    x
        ``[n_nodes, ...]``.
    edge_index
        ``[2, n_edges]`` in any order, numbered through all graphs, as the result is.
    node_ptr
        First node of each graph ``[n_graphs + 1]``.
    name, seed
    """
    found, generator = find_perturbation(name), torch.Generator().manual_seed(seed)
    sizes = node_ptr.diff().tolist()
    if found.features is not None:
        x = _perturb_features(x, sizes, found.features, generator)
    owner = torch.bucketize(edge_index[0], node_ptr[1:], right=True)
    counts = torch.bincount(owner, minlength=len(sizes))
    if found.edges is not None:
        pieces = edge_index[:, owner.argsort(stable=True)].split(counts.tolist(), dim=1)
        places = zip(pieces, node_ptr[:-1].tolist(), sizes, strict=True)
        made = [found.edges(piece - first, n_nodes, generator) + first for piece, first, n_nodes in places]
        counts = torch.tensor([piece.size(1) for piece in made])
        edge_index = torch.cat(made, dim=1)
    return x, edge_index, torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def form_of_features(name: str, width: int, *, most_nodes: int, is_real: bool) -> tuple[int, bool]:
    """Return how many features a node has under a perturbation, and whether they are real numbers.

    One node is tried: the form depends on nothing that is drawn.

    >>> form_of_features("empty-features", 7, most_nodes=20, is_real=False)
    (1, True)

    Parameters
    ----------
    name
    width, is_real
        The form of the features as they are.
    most_nodes
        Nodes of the largest graph.
    """
    make = find_perturbation(name).features
    if make is None:
        return width, is_real
    node = torch.zeros(1, width, dtype=torch.float if is_real else torch.long)
    made = make(node, 1, most_nodes, torch.Generator())
    return made.size(1), made.is_floating_point()


def changes_edges(name: str) -> bool:
    """Tell whether a perturbation leaves other edges, of which no features are known."""
    return find_perturbation(name).edges is not None


def _perturb_features(x: Tensor, sizes: list[int], make: Features, generator: Generator) -> Tensor:
    most = max(sizes, default=0)
    return torch.cat([make(part, part.size(0), most, generator) for part in x.split(sizes)])


def _edges_of(graph: Data) -> Tensor:
    return graph.edge_index if graph.edge_index is not None else torch.zeros(2, 0, dtype=torch.long)


def _hangs_on_edges(graph: Data, key: str) -> bool:
    """Tell whether a field says something of edges that are about to go; labels and masks are of the task."""
    is_of_task = key.startswith("edge_label") or key.endswith("mask")
    return key != "edge_index" and not is_of_task and bool(graph.is_edge_attr(key))


def _empty_features(_: Tensor, n_nodes: int, __: int, ___: Generator) -> Tensor:
    return torch.zeros(n_nodes, 1)


def _complete_features(_: Tensor, n_nodes: int, most_nodes: int, __: Generator) -> Tensor:
    if most_nodes > LARGEST_IDENTITY:
        raise BadValue("the number of nodes for complete features", most_nodes, f"at most {LARGEST_IDENTITY}")
    return torch.eye(n_nodes, most_nodes)


def _random_features(x: Tensor, n_nodes: int, _: int, generator: Generator) -> Tensor:
    return torch.randn(n_nodes, x.size(1) if x.dim() > 1 else 1, generator=generator)


def _shuffled_features(x: Tensor, n_nodes: int, _: int, generator: Generator) -> Tensor:
    return x[torch.randperm(n_nodes, generator=generator)]


def _empty_edges(edges: Tensor, _: int, __: Generator) -> Tensor:
    return edges.new_zeros(2, 0)


def _register(name: str, changes: str, description: str, *, is_random: bool = False, **does: Edges | Features) -> None:
    given: dict[str, object] = {"changes": changes, "description": description, "is_random": is_random, **does}
    PERTURBATIONS.add(name, Perturbation(name=name, **given))


_register(ORIGINAL, NOTHING, "as it is")
_register("empty-graph", GRAPH, "no edge", edges=_empty_edges)
_register("complete-graph", GRAPH, "every pair of nodes is an edge", edges=complete_edges)
_register(
    "random-graph",
    GRAPH,
    "each pair is an edge with one probability, that of the graph",
    is_random=True,
    edges=random_edges,
)
_register("shuffled-graph", GRAPH, "edges swap their ends; degrees stay", is_random=True, edges=swapped_edges)
_register(
    "random-connected-graph", GRAPH, "a random tree and as many more edges", is_random=True, edges=connected_edges
)
_register("empty-features", FEATURES, "all nodes have the same feature", features=_empty_features)
_register("complete-features", FEATURES, "each node has a feature of its own", features=_complete_features)
_register("random-features", FEATURES, "normal numbers", is_random=True, features=_random_features)
_register("shuffled-features", FEATURES, "nodes exchange their features", is_random=True, features=_shuffled_features)
_register(
    f"random-graph@{RINGS}",
    GRAPH,
    "as published: pairs with repetition",
    is_random=True,
    edges=random_edges_as_published,
)
_register(
    f"shuffled-graph@{RINGS}",
    GRAPH,
    "as published: targets renamed by one permutation",
    is_random=True,
    edges=shuffled_edges_as_published,
)
_register(
    f"random-connected-graph@{RINGS}",
    GRAPH,
    "as published: a recursive tree and random pairs",
    is_random=True,
    edges=connected_edges_as_published,
)
