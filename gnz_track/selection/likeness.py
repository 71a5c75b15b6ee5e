"""One graph in many forms: what is the same in all that is compared, whatever its bytes are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnz_track.selection.evidence import Evidence
from gnz_track.selection.features.feature_sets import FEATURE_SETS
from gnz_track.selection.graph_sources import OpenedGraph, whole_of

__all__ = ["find_alike", "note_on_alike"]

# One reader keeps the weights of edges, and another one drops them.
_OF_FORM = frozenset({"n_edge_attributes.log"})


def find_alike(opened: OpenedGraph, evidence: Evidence, features: str, name: str) -> tuple[str, ...]:
    """Return the past graphs that have the same features as this one; how many numbers an edge has does not count.

    Parameters
    ----------
    opened, evidence
        The graph, and past runs.
    features
        Name of the set of features.
    name
        A past graph that is left out.
    """
    kept = FEATURE_SETS.get(features)
    compared = [column for column, feature in enumerate(kept.names) if feature not in _OF_FORM]
    whole = whole_of(opened).parts
    n_nodes, n_edges = (kept.names.index(f"n_{part}.log") for part in ("nodes", "edges"))
    sizes = np.log1p([whole.network.n_nodes, whole.network.n_edges])
    of_size = {graph: row for graph, row in evidence.whole.items() if np.allclose(row[[n_nodes, n_edges]], sizes)}
    if not of_size:
        # All other features take long for large graphs.
        return ()
    own = kept.compute(whole)[compared]
    # Sums over nodes in another order differ in their last digits.
    are_close = {
        graph: np.allclose(row[compared], own, rtol=1e-9, atol=1e-12, equal_nan=True) for graph, row in of_size.items()
    }
    return tuple(graph for graph, is_close in are_close.items() if is_close and graph != name)


def note_on_alike(alike: Sequence[str], *, is_unseen: bool) -> list[str]:
    """Say which past graphs are this one by all that is compared, and whether their scores count."""
    if not alike:
        return []
    names = ", ".join(alike)
    if is_unseen:
        return [f"{names} is left out too: it is this graph in all that is compared"]
    counts = "its scores count as those of a past graph"
    return [f"it looks like {names} in all that is compared; {counts}, and are left out by --unseen"]
