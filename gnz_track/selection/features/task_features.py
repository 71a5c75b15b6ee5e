"""Features of a problem: sizes and shape of its graphs, attributes of nodes, labels, and how they go along edges.

They go beyond the meta-graph features of the literature, which see one bare graph: a collection of graphs, attributes
and labels decide between models too. What cannot be said of a dataset is 0, and a feature of its own says so
(``n_attributes.log``, ``n_classes.log``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from gnz_track.seeds import derive
from gnz_track.selection.features.contents import Contents
from gnz_track.selection.features.networks import Network
from gnz_track.selection.features.vectors import core_numbers

__all__ = ["TASK_FEATURES", "describe_problem"]

Real = NDArray[np.float64]
# Most nodes whose attributes are read, and most edges along which they are compared.
MOST_NODES, MOST_EDGES = 5_000, 5_000


def describe_problem(network: Network, contents: Contents, node_triangles: NDArray[np.int64]) -> Real:
    """Return the :data:`TASK_FEATURES` of a problem, in their order.

    Parameters
    ----------
    network
        The disjoint union of all its graphs.
    contents
        Attributes of nodes, labels and parts.
    node_triangles
        Triangles at each node [n].
    """
    # Attributes and labels of users may be infinite, or too large to be squared; what comes of that is 0 below.
    with np.errstate(over="ignore", invalid="ignore"):
        found = {
            **_sizes(network, contents),
            **_shape(network, node_triangles),
            **_attributes(network, contents),
            **_labels(network, contents),
        }
    return np.nan_to_num(np.array([found[name] for name in TASK_FEATURES], dtype=np.float64), posinf=0, neginf=0)


def _sizes(network: Network, contents: Contents) -> dict[str, float]:
    sizes = np.diff(contents.node_ptr) if len(contents.node_ptr) > 1 else np.array([network.n_nodes])
    n, m = network.n_nodes, network.n_edges
    return {
        "n_nodes.log": np.log1p(n),
        "n_edges.log": np.log1p(m),
        "n_graphs.log": np.log(len(sizes)),
        "graph_size.log": np.log1p(sizes.mean()),
        "graph_size.coeff_variation": sizes.std() / max(sizes.mean(), 1),
        "graph_density": 2 * m / max(float((sizes * (sizes - 1.0)).sum()), 1.0),
        "is_directed": float(contents.is_directed),
        "n_edge_attributes.log": np.log1p(contents.n_edge_attributes),
    }


def _shape(network: Network, node_triangles: NDArray[np.int64]) -> dict[str, float]:
    degrees = network.degrees.astype(np.float64)
    wedges = (degrees * (degrees - 1) / 2).sum()
    at_row, at_column = degrees[network.rows], degrees[network.indices]
    spread = at_row.std() if len(at_row) else 0.0
    _, part = connected_components(network.to_sparse(), directed=False)
    sizes = np.bincount(part)
    return {
        "degree.mean.log": np.log1p(degrees.mean()),
        "degree.coeff_variation": degrees.std() / max(degrees.mean(), 1e-9),
        "degree.max_share": degrees.max() / network.n_nodes,
        "degree.leaf_share": float(np.mean(degrees == 1)),
        "degree.isolated_share": float(np.mean(degrees == 0)),
        "assortativity": float(np.corrcoef(at_row, at_column)[0, 1]) if spread > 0 else 0.0,
        "clustering": float(node_triangles.sum() / wedges) if wedges else 0.0,
        "kcore.max.log": np.log1p(core_numbers(network).max()),
        "components.largest_share": sizes.max() / network.n_nodes,
        "components.density": len(sizes) / network.n_nodes,
    }


def _attributes(network: Network, contents: Contents) -> dict[str, float]:
    """Return the number of attributes, how filled they are, and whether neighbours are more alike than strangers."""
    x = contents.attributes
    names = ("n_attributes.log", "attributes.filled_share", "attributes.are_whole", "attributes.likeness_of_neighbours")
    if x is None or not x.size:
        return dict.fromkeys(names, 0.0)
    random = np.random.default_rng(derive(0, "task_features", *x.shape))
    rows = np.sort(random.permutation(len(x))[:MOST_NODES])
    seen = np.asarray(x[rows])
    edges = network.edges[:, np.sort(random.permutation(network.n_edges)[:MOST_EDGES])]
    ends = network.original[edges]
    strangers = random.integers(0, len(x), ends.shape)
    centre = seen.mean(axis=0)
    likeness = _mean_cosine(x, ends, centre) - _mean_cosine(x, strangers, centre)
    whole = float(np.all(seen == np.round(seen)))
    return dict(zip(names, (np.log1p(x.shape[1]), float(np.mean(seen != 0)), whole, likeness), strict=True))


def _mean_cosine(x: NDArray[np.float32], pairs: NDArray[np.int64], centre: NDArray[np.float32]) -> float:
    if not pairs.size:
        return 0.0
    total = 0.0
    for start in range(0, pairs.shape[1], 1000):
        a, b = (x[side[start : start + 1000]] - centre for side in pairs)
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        total += float(np.divide((a * b).sum(axis=1), norms, out=np.zeros(len(a), np.float32), where=norms > 0).sum())
    return total / len(pairs[0])


def _labels(network: Network, contents: Contents) -> dict[str, float]:
    """Classes, their evenness, how many rows have a label, and whether neighbours share it."""
    names = ("n_classes.log", "labels.evenness", "labels.known_share", "labels.homophily", "labels.adjusted_homophily")
    found = dict.fromkeys((*names, "labels.skew", "labels.explained_by_attributes"), 0.0)
    y = contents.labels
    if y is None or not np.isfinite(y).any():
        return found
    known = np.isfinite(y)
    found["labels.known_share"] = float(known.mean())
    if not contents.are_classes:
        centred = y[known] - y[known].mean()
        spread = centred.std()
        found["labels.skew"] = float(np.mean(centred**3) / spread**3) if spread > 0 else 0.0
        return found
    classes, codes = np.unique(y[known], return_inverse=True)
    shares = np.bincount(codes) / len(codes)
    entropy = -float((shares * np.log(shares)).sum())
    found["n_classes.log"] = np.log(len(classes))
    found["labels.evenness"] = entropy / np.log(len(classes)) if len(classes) > 1 else 0.0
    if len(y) == network.n_nodes:
        found |= _homophily(network, y)
        found["labels.explained_by_attributes"] = _explained(contents, y)
    return found


def _homophily(network: Network, y: Real) -> dict[str, float]:
    """Share of edges within a class, and the same adjusted for degrees (Platonov et al., 2023)."""
    here = y[network.original]
    a, b = here[network.edges[0]], here[network.edges[1]]
    both = np.isfinite(a) & np.isfinite(b)
    if not both.any():
        return {}
    share = float(np.mean(a[both] == b[both]))
    _, codes = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)
    expected = float(np.sum((np.bincount(codes) / len(codes)) ** 2))
    adjusted = (share - expected) / (1 - expected) if expected < 1 else 0.0
    return {"labels.homophily": share, "labels.adjusted_homophily": adjusted}


def _explained(contents: Contents, y: Real) -> float:
    """Return the share of the variance of attributes that lies between classes, less what chance would give."""
    x, known = contents.attributes, np.flatnonzero(np.isfinite(y))
    if x is None or not x.size or len(known) < 2:
        return 0.0
    random = np.random.default_rng(derive(0, "explained", len(known)))
    rows = np.sort(random.permutation(known)[:MOST_NODES])
    seen = np.asarray(x[rows], dtype=np.float64)
    _, codes = np.unique(y[rows], return_inverse=True)
    counts = np.bincount(codes).astype(np.float64)
    means = np.stack([np.bincount(codes, column) / counts for column in seen.T], axis=1)
    total = ((seen - seen.mean(axis=0)) ** 2).sum()
    between = (counts[:, None] * (means - seen.mean(axis=0)) ** 2).sum()
    chance = (len(counts) - 1) / (len(rows) - 1)
    return float((between / total - chance) / (1 - chance)) if total > 0 and chance < 1 else 0.0


_EMPTY = Network(np.zeros(2, np.int64), np.zeros(0, np.int64), np.zeros(1, bool), np.zeros(1, np.int64))
TASK_FEATURES: tuple[str, ...] = (
    *_sizes(_EMPTY, Contents()),
    *_shape(_EMPTY, np.zeros(1, np.int64)),
    *_attributes(_EMPTY, Contents()),
    *_labels(_EMPTY, Contents()),
)
