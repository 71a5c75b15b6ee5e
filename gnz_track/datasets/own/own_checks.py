"""Checks of users' graphs before they are frozen: each complaint names a field, what it is and what is allowed."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.collation import Collated
from gnz_track.errors import BadValue

__all__ = ["check_own", "without_empty_features"]

# More classes than any dataset has; a layer for as many fits into no memory where labels are really hashes or ids.
MOST_CLASSES = 1_000_000
_TENSORS_ONLY = ("x", "edge_index", "edge_attr", "pos")


def without_empty_features(graphs: Sequence[Data]) -> list[Data]:
    """Return graphs without an ``x`` that has no column: it says nothing but how many nodes there are."""
    return [_without_x(graph) if _has_no_column(graph.get("x")) else graph for graph in graphs]


def check_own(name: str, collated: Collated) -> None:
    """Raise where graphs cannot be trained on, whatever the model: no nodes, no numbers, numbers that are none."""
    for key in _TENSORS_ONLY:
        field = collated.fields.get(key)
        if field is not None and field.kind != "tensor":
            raise BadValue(f"field {key!r} of {name!r}", f"a {field.kind}", f"a tensor: torch.as_tensor({key})")
    sizes = collated.tensors["ptr/node"].diff()
    empty = (sizes == 0).nonzero().flatten()
    if empty.numel():
        where = f"the number of nodes of graph {int(empty[0])} of {name!r}" if len(sizes) > 1 else f"nodes of {name!r}"
        allowed = "at least one node in each graph: an empty one has nothing to pool over, and no score"
        raise BadValue(where, 0, allowed, command="graphs = [graph for graph in graphs if graph.num_nodes]")
    _check_numbers(name, collated)
    for key in ("y", "edge_label"):
        labels = collated.tensors.get(key)
        if labels is not None and not labels.is_floating_point() and labels.numel() and labels.max() >= MOST_CLASSES:
            allowed = f"classes as whole numbers from 0 to {MOST_CLASSES - 1}, or -1 for unknown"
            command = f"_, {key} = torch.unique({key}, return_inverse=True)"
            raise BadValue(f"the largest {key} of {name!r}", int(labels.max()), allowed, command=command)


def _check_numbers(name: str, collated: Collated) -> None:
    x = collated.tensors.get("x")
    if x is not None and x.dim() not in {1, 2}:
        allowed = "[number of nodes] or [number of nodes, number of features]"
        raise BadValue(f"the shape of x of {name!r}", list(x.shape), allowed, command="x = x.flatten(1)")
    for key in ("x", "edge_attr"):
        found = collated.tensors.get(key)
        if found is None or not found.is_floating_point():
            continue
        odd = (~found.isfinite()).nonzero()
        if odd.numel():
            place = odd[0].tolist()
            value = float(found[tuple(place)])
            allowed = "finite numbers, with which a loss can be computed"
            raise BadValue(f"{key} of {name!r} at {place}", value, allowed, command=f"{key} = {key}.nan_to_num()")


def _has_no_column(x: object) -> bool:
    return isinstance(x, Tensor) and not x.is_nested and x.dim() == 2 and x.size(1) == 0


def _without_x(graph: Data) -> Data:
    n_nodes = graph.x.size(0) if graph.get("num_nodes") is None else graph.num_nodes
    bare = copy.copy(graph)
    del bare["x"]
    bare.num_nodes = n_nodes
    return bare
