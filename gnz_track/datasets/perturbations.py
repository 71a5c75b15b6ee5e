"""Mode perturbations: graphs that have lost what their edges say, or what their features say.

Each is a pure function of (graph, generator): the graph that is given is never changed, all randomness comes from the
generator, and every loop has a fixed number of tries. Labels and masks stay as they are. Where edges change, their
other fields go: weights and kinds of edges that no longer exist mean nothing.

A graph whose edges all have a reverse is undirected: pairs are drawn, and each comes in both directions. Of a directed
graph, ordered pairs are drawn. Self-loops and repetitions are neither counted nor made. "As published" are the edges
that the published package draws from the same generator: no G(n, p) and no permutation of edges, but directed pairs
with repetition, whose reverse is missing, and targets renamed by one permutation.

C. Coupette et al., No metric to rule them all: toward principled evaluations of graph-learning datasets (2025).
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.datasets.encodings import LARGEST_IDENTITY
from gnz_track.datasets.splits.links import decode_pairs, encode_pairs
from gnz_track.errors import BadValue
from gnz_track.registry import Registry

__all__ = [
    "MOST_EDGES",
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
# Of a complete graph: 320 MB, and hours of training.
MOST_EDGES = 20_000_000
# Drawing without repetition: how often those that are missing are drawn again.
_DRAWS = 64
# Swaps that are tried, for each edge. R. Milo et al., On the uniform generation of random graphs (2003), take 100.
SWAPS = 10
_PUBLISHED_TRIES = 10_000


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


def _complete_edges(edges: Tensor, n_nodes: int, _: Generator) -> Tensor:
    """Return all ordered pairs of different nodes ``[2, n (n - 1)]``."""
    if n_nodes * (n_nodes - 1) > MOST_EDGES:
        raise BadValue("the number of nodes for a complete graph", n_nodes, f"at most {MOST_EDGES:,} edges")
    codes = torch.arange(n_nodes * max(n_nodes - 1, 0), device=edges.device)
    return decode_pairs(codes, n_nodes, is_directed=True)


def _random_edges(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return the edges of G(n, p), p being the share of pairs that are edges of the given graph.

    P. Erdos, A. Renyi, On random graphs I (1959); in the form of E. N. Gilbert, Random graphs (1959).
    """
    is_directed, pairs = _pairs_of(edges, n_nodes)
    n_possible = _n_pairs(n_nodes, is_directed=is_directed)
    if n_possible == 0:
        return edges.new_zeros(2, 0)
    share = torch.tensor(min(pairs.size(1) / n_possible, 1.0), dtype=torch.float64)
    n_drawn = int(torch.binomial(torch.tensor(float(n_possible), dtype=torch.float64), share, generator=generator))
    codes = _draw_codes(n_possible, n_drawn, generator, known=torch.zeros(0, dtype=torch.long))
    return _as_edges(codes, n_nodes, is_directed=is_directed)


def _swapped_edges(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return edges that have swapped their ends, two and two, again and again: every node keeps its degree.

    A swap that would make a self-loop or an edge twice is left out.
    """
    is_directed, pairs = _pairs_of(edges, n_nodes)
    n_pairs = pairs.size(1)
    if n_pairs < 2:
        return _both_ways(pairs, is_directed=is_directed)
    n_tries = SWAPS * n_pairs
    chosen = torch.randint(n_pairs, (2, n_tries), generator=generator).tolist()
    turned = (torch.rand(n_tries, generator=generator) < 0.5).tolist()
    first, second = pairs.tolist()
    present = set(zip(first, second, strict=True))
    for a, b, is_turned in zip(*chosen, turned, strict=True):
        if is_turned and not is_directed:
            # An undirected edge has no first end.
            one, two = (first[a], first[b]), (second[a], second[b])
        else:
            one, two = (first[a], second[b]), (first[b], second[a])
        if not is_directed:
            one, two = (min(one), max(one)), (min(two), max(two))
        if one[0] == one[1] or two[0] == two[1] or one == two or one in present or two in present:
            continue
        present -= {(first[a], second[a]), (first[b], second[b])}
        present |= {one, two}
        (first[a], second[a]), (first[b], second[b]) = one, two
    return _both_ways(torch.tensor([first, second]), is_directed=is_directed)


def _connected_edges(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return a random tree over all nodes and random pairs besides, together as many pairs as the given graph has.

    Each node, in random order, is joined to one that came before it. A graph with fewer pairs than a tree has becomes
    a tree. The result is undirected.
    """
    _, pairs = _pairs_of(torch.cat([edges, edges.flip(0)], dim=1), n_nodes)
    if n_nodes < 2:
        return edges.new_zeros(2, 0)
    order = torch.randperm(n_nodes, generator=generator)
    ranks = torch.arange(1, n_nodes)
    before = (torch.rand(n_nodes - 1, generator=generator, dtype=torch.float64) * ranks).long()
    tree = torch.stack([order[before], order[1:]])
    known = encode_pairs(torch.stack([tree.amin(dim=0), tree.amax(dim=0)]), n_nodes, is_directed=False)
    n_wanted = min(max(pairs.size(1), n_nodes - 1), n_nodes * (n_nodes - 1) // 2)
    codes = _draw_codes(n_nodes * (n_nodes - 1) // 2, n_wanted, generator, known=known)
    return _as_edges(codes, n_nodes, is_directed=False)


def _n_pairs(n_nodes: int, *, is_directed: bool) -> int:
    return n_nodes * (n_nodes - 1) if is_directed else n_nodes * (n_nodes - 1) // 2


def _pairs_of(edges: Tensor, n_nodes: int) -> tuple[bool, Tensor]:
    """Return whether a graph is directed, and its pairs ``[2, m]`` once each, without self-loops."""
    codes = torch.unique((edges[0] * n_nodes + edges[1])[edges[0] != edges[1]])
    first, second = codes // max(n_nodes, 1), codes % max(n_nodes, 1)
    is_directed = not torch.equal(codes, torch.sort(second * n_nodes + first).values)
    pairs = torch.stack([first, second])
    return is_directed, pairs if is_directed else pairs[:, first < second]


def _draw_codes(n_possible: int, n_wanted: int, generator: Generator, *, known: Tensor) -> Tensor:
    """Return ``known`` codes and others of 0 .. n_possible - 1 ``[n_wanted]``, none twice, all equally likely."""
    if n_wanted > n_possible // 4:
        order = torch.randperm(n_possible, generator=generator)
        fresh = order[~torch.isin(order, known)] if known.numel() else order
        return torch.cat([known, fresh[: n_wanted - known.numel()]])
    codes = known
    for _ in range(_DRAWS):
        missing = n_wanted - codes.numel()
        if missing <= 0:
            break
        drawn = torch.unique(torch.randint(n_possible, (missing,), generator=generator))
        codes = torch.cat([codes, drawn[~torch.isin(drawn, codes)]])
    return codes


def _as_edges(codes: Tensor, n_nodes: int, *, is_directed: bool) -> Tensor:
    return _both_ways(decode_pairs(codes, n_nodes, is_directed=is_directed), is_directed=is_directed)


def _both_ways(pairs: Tensor, *, is_directed: bool) -> Tensor:
    """Return edges in the order of their first and second node, the reverse of each among them if undirected."""
    edges = pairs if is_directed else torch.cat([pairs, pairs.flip(0)], dim=1)
    n = int(edges.max()) + 1 if edges.numel() else 1
    return edges[:, (edges[0] * n + edges[1]).argsort()]


def _random_edges_as_published(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return as many ordered pairs as there were edges, repetitions allowed, self-loops redrawn."""
    if n_nodes < 2:
        return edges.new_zeros(2, 0)
    source, target = (torch.randint(0, n_nodes, (edges.size(1),), generator=generator) for _ in range(2))
    return _without_loops(source, target, n_nodes, generator)


def _shuffled_edges_as_published(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return edges whose targets are renamed by one permutation of the nodes; self-loops get another target."""
    if n_nodes < 2:
        return edges.new_zeros(2, 0)
    names = torch.randperm(n_nodes, generator=generator)
    return _without_loops(edges[0], names[edges[1]], n_nodes, generator)


def _connected_edges_as_published(edges: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    """Return a recursive tree and random pairs low to high, as many together as there were edges, as far as they go.

    A pair of the tree, which is kept high to low, may be drawn again.
    """

    def draw(high: int) -> int:
        return int(torch.randint(0, high, (1,), generator=generator))

    found = [(node, draw(node)) for node in range(1, n_nodes)]
    present = set(found)
    n_wanted = min(edges.size(1), len(found) + n_nodes * (n_nodes - 1) // 2)
    for _ in range(_PUBLISHED_TRIES * max(n_wanted, 1)):
        if len(present) >= n_wanted:
            break
        one, two = draw(n_nodes), draw(n_nodes)
        if one != two:
            present.add((min(one, two), max(one, two)))
    return torch.tensor(sorted(present), dtype=torch.long).reshape(-1, 2).t().contiguous()


def _without_loops(source: Tensor, target: Tensor, n_nodes: int, generator: Generator) -> Tensor:
    loops = source == target
    ends = source[loops]
    drawn = torch.randint(0, n_nodes, (ends.numel(),), generator=generator) if ends.numel() else ends
    for _ in range(_PUBLISHED_TRIES):
        again = drawn == ends
        if not bool(again.any()):
            break
        drawn[again] = torch.randint(0, n_nodes, (int(again.sum()),), generator=generator)
    target = target.clone()
    target[loops] = drawn
    return torch.stack([source, target])


def _register(name: str, description: str, *, is_random: bool = False, **does: Edges | Features) -> None:
    changes = next((GRAPH if what == "edges" else FEATURES for what in does), NOTHING)
    given: dict[str, object] = {"changes": changes, "description": description, "is_random": is_random, **does}
    PERTURBATIONS.add(name, Perturbation(name=name, **given))


_register(ORIGINAL, "as it is")
_register("empty-graph", "no edge", edges=_empty_edges)
_register("complete-graph", "every pair of nodes is an edge", edges=_complete_edges)
_OF_ONE_P = "each pair is an edge with one probability, that of the graph"
_register("random-graph", _OF_ONE_P, is_random=True, edges=_random_edges)
_register("shuffled-graph", "edges swap their ends; degrees stay", is_random=True, edges=_swapped_edges)
_register("random-connected-graph", "a random tree and as many more edges", is_random=True, edges=_connected_edges)
_register("empty-features", "all nodes have the same feature", features=_empty_features)
_register("complete-features", "each node has a feature of its own", features=_complete_features)
_register("random-features", "normal numbers", is_random=True, features=_random_features)
_register("shuffled-features", "nodes exchange their features", is_random=True, features=_shuffled_features)
for _name, _drawn_as, _edges in (
    ("random-graph", "pairs with repetition", _random_edges_as_published),
    ("shuffled-graph", "targets renamed by one permutation", _shuffled_edges_as_published),
    ("random-connected-graph", "a recursive tree and random pairs", _connected_edges_as_published),
):
    _register(f"{_name}@{RINGS}", f"as published: {_drawn_as}", is_random=True, edges=_edges)
