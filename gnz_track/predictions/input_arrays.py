"""Graphs from plain arrays by name: what whoever has no PyG brings to a stored model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.predictions.stored_models import StoredModel
from gnz_track.store.cell_files.weights import ArrayForm
from gnz_track.training.metrics import MULTI_LABEL_METRICS
from gnz_track.types import TaskType

__all__ = ["graphs_of_arrays"]

NODE, EDGE, PAIR, GRAPH = "node", "edge", "pair", "graph"
# Array -> what it has a row for; ends of edges have a column for each.
_ALONG = {
    "x": NODE,
    "batch": NODE,
    "edge_index": EDGE,
    "edge_type": EDGE,
    "edge_attr": EDGE,
    **dict.fromkeys(("edge_label_index", "edge_label_type", "edge_label_attr", "edge_label"), PAIR),
    "graph_y": GRAPH,
}
_ENDS = {EDGE: "edge_index", PAIR: "edge_label_index"}
# What data may bring beside what a model takes: what is true of their examples.
_LABELS = {
    **dict.fromkeys((TaskType.node_cls, TaskType.node_reg, TaskType.graph_cls, TaskType.graph_reg), ("y",)),
    **dict.fromkeys((TaskType.edge_cls, TaskType.edge_reg, TaskType.link_pred), ("edge_label",)),
    TaskType.multi_task: ("y", "graph_y"),
}


def graphs_of_arrays(stored: StoredModel, arrays: Mapping[str, Any], *, is_whole: bool = True) -> list[Data]:
    """Return the graphs that arrays describe: those of the form that a model takes, labels beside them where known.

    Parameters
    ----------
    stored
        The model.
    arrays
        Arrays by name. ``batch`` says of which graph each node is, in rising order.
    is_whole
        Whether links that are scored have to be named, and nodes without features counted: those of a file need not.
    """
    arrays = _complete(stored, arrays) if not is_whole else arrays
    _check_names(stored, arrays, needs_pairs=is_whole)
    forms = {name: form for name, form in stored.inputs.items() if name in arrays}
    tensors = {name: _tensor_of(stored, name, arrays[name], form) for name, form in forms.items()}
    labels = [name for name in _LABELS[stored.settings.task_type] if name in arrays]
    tensors |= {name: _labels_of(stored, name, np.asarray(arrays[name])) for name in labels}
    given = tensors.pop("num_nodes", None)
    counts = {NODE: len(tensors["x"]) if given is None else int(given[0])}
    counts |= {along: tensors[name].size(1) for along, name in _ENDS.items() if name in tensors}
    batch = tensors.pop("batch", torch.zeros(counts[NODE], dtype=torch.int64))
    sizes = _count_graphs(stored, batch, counts[NODE])
    counts[GRAPH] = len(sizes)
    along = {**_ALONG, "y": GRAPH if stored.settings.task_type.unit == GRAPH else NODE}
    for name, tensor in tensors.items():
        n = tensor.size(1) if name in _ENDS.values() else len(tensor)
        if n != counts.get(along[name], 0):
            wanted = f"{counts.get(along[name], 0)}, one for each {along[name]}"
            raise BadValue(f"rows of {name} for the model of {stored.name}", n, wanted)
    return _cut(tensors, along, batch, sizes)


def _complete(stored: StoredModel, arrays: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arrays of a file with the number of nodes where that is asked for, and without it elsewhere."""
    found = {name: array for name, array in arrays.items() if name != "num_nodes"}
    if "num_nodes" in stored.inputs:
        edges = np.asarray(arrays.get("edge_index", [0]))
        n_nodes = arrays.get("num_nodes", int(edges.max()) + 1 if edges.size and edges.dtype.kind in "iu" else 1)
        found["num_nodes"] = np.asarray(n_nodes).reshape(-1)
    return found


def _check_names(stored: StoredModel, arrays: Mapping[str, Any], *, needs_pairs: bool) -> None:
    optional = set() if needs_pairs else {name for name, along in _ALONG.items() if along == PAIR}
    missing = sorted(stored.inputs.keys() - arrays.keys() - optional)
    unknown = sorted(map(str, arrays.keys() - stored.inputs.keys() - {*_LABELS[stored.settings.task_type]}))
    if missing or unknown:
        wanted = ", ".join(f"{name} ({form})" for name, form in stored.inputs.items())
        found = f"no {missing[0]}" if missing else f"{unknown[0]}, which it does not take"
        raise BadValue(f"arrays for the model of {stored.name}", found, wanted)


def _tensor_of(stored: StoredModel, name: str, given: Any, form: ArrayForm) -> Tensor:
    """Return an array of the form that is asked for."""
    array: NDArray[Any] = np.asarray(given)
    kinds = "iub" if form.dtype == "int64" else "iubf"
    is_of_shape = array.ndim == len(form.shape) and all(
        a in (-1, n) for a, n in zip(form.shape, array.shape, strict=True)
    )
    if array.dtype.kind not in kinds or not array.ndim or not is_of_shape:
        raise BadValue(f"{name} for the model of {stored.name}", f"{array.dtype} {list(array.shape)}", str(form))
    with np.errstate(over="ignore"):
        # What is too large becomes infinite, and is refused as such with its place.
        return torch.from_numpy(array.astype(form.dtype))


def _labels_of(stored: StoredModel, name: str, array: NDArray[Any]) -> Tensor:
    """Return what is true of examples in the form in which the task of a model has it; unknown is -1 or NaN.

    A label that means nothing to the model is an error: it would be taken for an unknown one.
    """
    what, sizes, task_type = f"{name} for the model of {stored.name}", stored.sizes, stored.settings.task_type
    width = sizes.n_graph_targets if name == "graph_y" else sizes.out_channels
    n_columns = array.size // len(array) if array.ndim and len(array) else 1
    has_columns = task_type in MULTI_LABEL_METRICS and array.ndim > 1 and n_columns == width > 1
    wanted = width if task_type.predicts_numbers or has_columns else 1
    if array.dtype.kind not in "iubf" or not array.ndim or n_columns != wanted:
        allowed = f"numbers [n, {wanted}]" if wanted > 1 else "one number for each"
        raise BadValue(what, f"{array.dtype} {list(array.shape)}", allowed)
    values = array.astype(np.float64)
    if task_type.predicts_numbers:
        _refuse_odd(what, values, np.abs(values) <= np.finfo(np.float32).max, "finite numbers, or NaN where unknown")
        return torch.from_numpy(values.astype(np.float32))
    if has_columns:
        _refuse_odd(what, values, np.isin(values, (0, 1)), "0 or 1, or NaN where unknown")
        return torch.from_numpy(values.astype(np.float32))
    last = 1 if task_type is TaskType.link_pred else width - 1
    is_class = (values == np.round(values)) & (values >= -1) & (values <= last)
    _refuse_odd(what, values, is_class, f"whole numbers from 0 to {last}, or -1 where unknown")
    return torch.from_numpy(np.nan_to_num(values, nan=-1).astype(np.int64))


def _refuse_odd(what: str, values: NDArray[np.float64], is_allowed: NDArray[np.bool_], allowed: str) -> None:
    odd = values[~(is_allowed | np.isnan(values))]
    if odd.size:
        raise BadValue(what, f"{odd[0]:g}", allowed)


def _count_graphs(stored: StoredModel, batch: Tensor, n_nodes: int) -> Tensor:
    """Return the number of nodes of each graph."""
    steps = batch.diff()
    is_sorted = len(batch) == n_nodes > 0 and int(batch[0]) == 0 and bool(((steps == 0) | (steps == 1)).all())
    if not is_sorted:
        allowed = "at least one node, and for each the number of its graph: from 0, rising, none left out"
        raise BadValue(f"nodes for the model of {stored.name}", f"{n_nodes}, with {len(batch)} in batch", allowed)
    return torch.bincount(batch)


def _cut(tensors: Mapping[str, Tensor], along: Mapping[str, str], batch: Tensor, sizes: Tensor) -> list[Data]:
    """Cut many graphs out of one numbering of their nodes."""
    graphs = {NODE: batch, GRAPH: torch.arange(len(sizes))}
    for of, name in _ENDS.items():
        if name in tensors:
            graphs[of] = _graphs_of_ends(name, tensors[name], batch)
    starts = sizes.cumsum(0) - sizes
    pieces = {}
    for name, tensor in tensors.items():
        graph, is_ends = graphs[along[name]], name in _ENDS.values()
        numbers = tensor - starts[graph] if is_ends else tensor
        order, counts = graph.argsort(stable=True), torch.bincount(graph, minlength=len(sizes)).tolist()
        dim = 1 if is_ends else 0
        pieces[name] = numbers.index_select(dim, order).split(counts, dim=dim)
    return [
        Data(**{name: of[number] for name, of in pieces.items()}, num_nodes=size)
        for number, size in enumerate(sizes.tolist())
    ]


def _graphs_of_ends(name: str, ends: Tensor, batch: Tensor) -> Tensor:
    """Return the graph of each edge; both of its ends are nodes of that."""
    odd = ends[(ends < 0) | (ends >= len(batch))]
    if odd.numel():
        raise BadValue(f"a node in {name}", int(odd[0]), f"numbers from 0 to {len(batch) - 1}")
    source, target = batch[ends]
    if not torch.equal(source, target):
        raise BadValue(name, "an edge between two graphs", "edges within the graphs that batch tells apart")
    return source
