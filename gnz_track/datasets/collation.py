"""Many graphs into one set of tensors with pointers, and back; and the facts that a card tells of them.

Every field is concatenated along the dimension that PyG would use; ``edge_index`` keeps the local numbering of its
graph. Pointers ``ptr/node`` and ``ptr/edge`` are always there; ``cut/<key>`` only for fields that follow neither.
"""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.card import Field
from gnz_track.datasets.tensor_types import CODES
from gnz_track.errors import BadValue

__all__ = [
    "SPLIT",
    "Collated",
    "PartedGraphs",
    "RunningFacts",
    "check_split",
    "choose_cut",
    "collate",
    "collate_loaded",
    "describe",
    "is_multi_label",
    "parts_of_sizes",
    "pointer_of",
    "sizes_of",
    "value_of",
]

SPLIT = "graph/split"
# Edges that are looked at together where a graph has more, so that looking takes no memory for all of them.
PORTION = 1 << 21
_LARGEST = 2**63
_NODE_FIELDS = ("x", "pos", "batch", "train_mask", "val_mask", "test_mask")
_COUNTED = ("n_graphs", "n_nodes", "n_edges")
_TYPES = ", ".join(str(dtype).removeprefix("torch.") for dtype in CODES)
_DENSE = f"a dense tensor of real numbers or booleans, with its data: {_TYPES}"
_EDGES_OF = "graph.edge_index, graph.edge_weight = torch_geometric.utils.to_edge_index({key})"


@dataclass(frozen=True, eq=False)
class PartedGraphs:
    """Graphs and the part of each: ``split`` ``[n_graphs]`` of 0 (train), 1 (validation), 2 (test).

    With several columns, ``[n_graphs, n_columns]``, each column is a split of its own, as one fold of several is.
    ``graphs`` may be an iterator, so that they need not all be in memory.
    """

    graphs: Iterable[Data]
    split: Tensor


def parts_of_sizes(n_train: int, n_val: int, n_test: int) -> Tensor:
    """Return the split ``[n_train + n_val + n_test]`` of graphs that come part by part.

    >>> parts_of_sizes(2, 1, 1).tolist()
    [0, 0, 1, 2]

    Parameters
    ----------
    n_train, n_val, n_test
    """
    return torch.arange(3).repeat_interleave(torch.tensor([n_train, n_val, n_test]))


@dataclass(frozen=True)
class Collated:
    """Tensors by name, how each field of the graphs lies in them, and whether graphs carry ``num_nodes``."""

    tensors: Mapping[str, Tensor]
    fields: Mapping[str, Field]
    has_num_nodes: bool


@dataclass(frozen=True)
class _Column:
    """One field of all graphs, on its way into one tensor."""

    key: str
    values: list[Any]
    dim: int | None
    counts: Mapping[str, list[int]]
    first: int


def collate(graphs: Sequence[Data], *, split: Tensor | None = None, first: int = 0) -> Collated:
    """Concatenate graphs into one set of tensors.

    Parameters
    ----------
    graphs
    split
        ``[n_graphs]`` of 0 (train), 1 (validation), 2 (test), or ``[n_graphs, n_columns]`` of several splits.
    first
        Number of the first graph, for messages.
    """
    keys = _common_keys(graphs, first)
    for position, graph in enumerate(graphs, first):
        _refuse_odd_tensors(graph, position)
    counts = {"node": [_count_nodes(graph) for graph in graphs], "edge": [_count_edges(graph) for graph in graphs]}
    tensors = {f"ptr/{name}": pointer_of(lengths) for name, lengths in counts.items()}
    fields: dict[str, Field] = {}
    for key in keys:
        values = [graph[key] for graph in graphs]
        dim = graphs[0].__cat_dim__(key, values[0]) if isinstance(values[0], Tensor) else None
        column = _Column(key, values, dim, counts, first)
        fields[key], new = _COLLATORS.get(type(values[0]), _collate_tensors)(column)
        tensors |= new
    if split is not None:
        tensors[SPLIT] = check_split(split, len(graphs))
    if "x" in fields and fields["x"].kind == "tensor" and fields["x"].along != "node":
        _refuse_rows(graphs, counts["node"], first)
    if "edge_index" in keys:
        _check_edges(tensors)
    is_countable = any(key in keys for key in ("x", "pos", "batch"))
    return Collated(tensors, fields, not is_countable or any(graph.get("num_nodes") is not None for graph in graphs))


def collate_loaded(
    found: Data | Sequence[Data] | PartedGraphs | tuple[Sequence[Data], Sequence[Data], Sequence[Data]],
) -> Collated:
    """Concatenate what a loader of the catalogue returned: one graph, a list, or parts (train, validation, test)."""
    if isinstance(found, Data):
        return collate([found])
    if isinstance(found, PartedGraphs):
        return collate(list(found.graphs), split=found.split)
    if not isinstance(found, tuple):
        return collate(found)
    split = torch.arange(len(found)).repeat_interleave(torch.tensor([len(part) for part in found]))
    return collate([graph for part in found for graph in part], split=split)


def value_of(field: Field, tensor: Tensor, begin: int, end: int) -> Any:
    """Return what one graph has in a field: a view of the collated tensor, or the Python value that it was.

    Parameters
    ----------
    field, tensor
    begin, end
        Where the graph begins and ends along the dimension that is cut.
    """
    cut = tensor[begin] if field.along == "each" else tensor.narrow(field.dim, begin, end - begin)
    if field.kind == "tensor":
        return cut
    return bytes(cut.tolist()).decode("utf-8", "surrogatepass") if field.kind == "str" else cut.item()


def _common_keys(graphs: Sequence[Data], first: int) -> list[str]:
    if not graphs:
        raise BadValue("the number of graphs", 0, "at least one graph")
    for position, graph in enumerate(graphs, first):
        if not isinstance(graph, Data):
            raise BadValue(f"graph {position}", type(graph).__name__, "torch_geometric.data.Data")
    keys = set(graphs[0].keys()) - {"num_nodes"}
    for position, graph in enumerate(graphs, first):
        odd = sorted(keys ^ (set(graph.keys()) - {"num_nodes"}))
        if odd:
            where = f"field {odd[0]!r} of graph {position}"
            raise BadValue(where, "missing" if odd[0] in keys else "extra", "the same fields in all graphs of a list")
    forbidden = sorted(key for key in keys if "/" in key or key == "__metadata__")
    if forbidden:
        raise BadValue("the name of a field", forbidden[0], "a name without '/', other than '__metadata__'")
    return sorted(keys)


# What is wrong with a tensor, and how to make one of it that may be kept.
_ODDITIES: tuple[tuple[Callable[[Tensor], bool], str, str], ...] = (
    (lambda value: value.is_nested, "nested", "torch.nested.to_padded_tensor({key}, 0.0)"),
    (lambda value: value.is_meta, "without data (device meta)", "load it with map_location='cpu'"),
    (lambda value: value.is_quantized, "quantised", "{key}.dequantize()"),
    (lambda value: value.layout != torch.strided, "of layout {value.layout}", "{key}.to_dense()"),
    (lambda value: value.is_complex(), "of {value.dtype}", "torch.view_as_real({key}).flatten(1)"),
    (lambda value: value.dtype not in CODES, "of {value.dtype}", "{key}.float()"),
)


def _refuse_odd_tensors(graph: Data, position: int) -> None:
    """Raise where a tensor is none that can be kept; before it is asked for its size, which not all can tell."""
    for key, value in graph.to_dict().items():
        if not isinstance(value, Tensor):
            continue
        for is_so, what, remedy in _ODDITIES:
            if is_so(value):
                is_matrix = key in {"edge_index", "adj", "adj_t"} and value.layout != torch.strided
                command = (_EDGES_OF if is_matrix else remedy).format(key=key)
                found = f"a tensor {what.format(value=value)}"
                raise BadValue(f"field {key!r} of graph {position}", found, _DENSE, command=command)


def _count_nodes(graph: Data) -> int:
    given = graph.get("num_nodes")
    if given is not None:
        if isinstance(given, float) or int(given) < 0:
            raise BadValue("num_nodes", given, "a whole number from 0 upwards")
        return int(given)
    for key in _NODE_FIELDS:
        if isinstance(graph.get(key), Tensor):
            if not graph[key].dim():
                raise BadValue(f"the shape of {key}", [], "one row for each node")
            return int(graph[key].size(0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyG warns that it counts by the largest index; the card then says so
        found = graph.num_nodes
    if found is None:
        raise BadValue("the number of nodes", None, "a graph with x, pos, edge_index or num_nodes")
    edges = graph.get("edge_index")
    largest = int(edges.max()) if isinstance(edges, Tensor) and edges.numel() else -1
    return max(int(found), largest + 1)


def _count_edges(graph: Data) -> int:
    edges = graph.get("edge_index")
    return int(edges.size(-1)) if isinstance(edges, Tensor) and edges.dim() else 0


def pointer_of(lengths: Sequence[int]) -> Tensor:
    """Return where each of some stretches begins, and one past the last: ``[n + 1]``."""
    return torch.tensor([0, *accumulate(lengths)], dtype=torch.int64)


def _collate_tensors(column: _Column) -> tuple[Field, dict[str, Tensor]]:
    values = [_plain_tensor(column.key, position, value) for position, value in enumerate(column.values, column.first)]
    first = values[0]
    dim = None if column.dim is None or first.dim() == 0 else column.dim % first.dim()
    shape = list(first.shape)
    for position, value in enumerate(values, column.first):
        same = list(value.shape)
        if dim is not None and len(same) == len(shape):
            same[dim] = shape[dim]
        if value.dtype != first.dtype or same != shape:
            found = f"{value.dtype} {list(value.shape)}"
            allowed = f"{first.dtype} {list(first.shape)} as in graph {column.first}, dimension {dim} free"
            raise BadValue(f"field {column.key!r} of graph {position}", found, allowed)
    if dim is None:
        return Field("tensor", "each"), {column.key: torch.stack(values)}
    field, pointer = _cut_along(column, dim, [value.size(dim) for value in values])
    return field, {column.key: torch.cat(values, dim=dim).contiguous(), **pointer}


def _plain_tensor(key: str, position: int, value: object) -> Tensor:
    if not isinstance(value, Tensor):
        allowed = "a tensor, int, float, bool or str, of one type in all graphs"
        is_array = hasattr(value, "__array__")
        # The bytes of an array may stand in another order than this machine's.
        command = f"torch.as_tensor({key}.astype({key}.dtype.newbyteorder('=')))" if is_array else ""
        raise BadValue(f"field {key!r} of graph {position}", type(value).__name__, allowed, command=command)
    return value.detach().cpu().as_subclass(Tensor).resolve_neg()  # type: ignore[no-any-return]


def _cut_along(column: _Column, dim: int, lengths: list[int], kind: str = "tensor") -> tuple[Field, dict[str, Tensor]]:
    field = choose_cut(lengths, column.counts, kind=kind, dim=dim)
    return field, {f"cut/{column.key}": pointer_of(lengths)} if field.along == "own" else {}


def choose_cut(lengths: list[int], counts: Mapping[str, list[int]], *, kind: str, dim: int) -> Field:
    """Return what cuts a field.

    Parameters
    ----------
    lengths
        Length of the field in each graph.
    counts
        The ``node`` and ``edge`` counts of the same graphs.
    kind, dim
    """
    for along in ("node", "edge"):
        if lengths == counts[along]:
            return Field(kind, along, dim)
    return Field(kind, "fixed", dim, lengths[0]) if len(set(lengths)) == 1 else Field(kind, "own", dim)


def _collate_numbers(column: _Column) -> tuple[Field, dict[str, Tensor]]:
    kind = type(column.values[0])
    for position, value in enumerate(column.values, column.first):
        if type(value) is not kind or (kind is int and not -_LARGEST <= value < _LARGEST):
            raise BadValue(f"field {column.key!r} of graph {position}", value, f"{kind.__name__}, at most 64 bits")
    dtype = {int: torch.int64, float: torch.float64, bool: torch.bool}[kind]
    return Field(kind.__name__, "each"), {column.key: torch.tensor(column.values, dtype=dtype)}


def _collate_texts(column: _Column) -> tuple[Field, dict[str, Tensor]]:
    for position, value in enumerate(column.values, column.first):
        if type(value) is not str:
            raise BadValue(
                f"field {column.key!r} of graph {position}", type(value).__name__, f"str as in graph {column.first}"
            )
    texts = [value.encode("utf-8", "surrogatepass") for value in column.values]
    field, pointer = _cut_along(column, 0, [len(text) for text in texts], kind="str")
    joined = b"".join(texts)
    content = torch.frombuffer(bytearray(joined), dtype=torch.uint8) if joined else torch.empty(0, dtype=torch.uint8)
    return field, {column.key: content, **pointer}


_COLLATORS: dict[type, Callable[[_Column], tuple[Field, dict[str, Tensor]]]] = {
    **dict.fromkeys((int, float, bool), _collate_numbers),
    str: _collate_texts,
}


def check_split(split: Tensor, n_graphs: int) -> Tensor:
    """Return a split ``[n_graphs]`` or several ``[n_graphs, n_columns]``; anything but 0, 1 and 2 is an error."""
    split = torch.as_tensor(split, dtype=torch.int64).contiguous()
    fits = split.dim() in {1, 2} and split.size(0) == n_graphs and split.numel() > 0
    if not fits or bool(((split < 0) | (split > 2)).any()):
        allowed = f"one of 0, 1, 2 for each of {n_graphs} graphs, or a row of them"
        raise BadValue("split", f"shape {list(split.shape)}", allowed)
    return split


def _refuse_rows(graphs: Sequence[Data], n_nodes: list[int], first: int) -> None:
    for position, (graph, wanted) in enumerate(zip(graphs, n_nodes, strict=True), first):
        shape = list(graph["x"].shape)
        if shape[:1] != [wanted]:
            allowed = f"one row for each of {wanted} nodes, as num_nodes or another field says"
            raise BadValue(f"the shape of x of graph {position}", shape, allowed)


def _check_edges(tensors: Mapping[str, Tensor]) -> None:
    edges, nodes = tensors["edge_index"], tensors["ptr/node"].diff()
    if edges.dim() != 2 or edges.size(0) != 2 or edges.is_floating_point() or edges.dtype == torch.bool:
        raise BadValue("edge_index", f"{edges.dtype} {list(edges.shape)}", "whole numbers of shape [2, n_edges]")
    limits = nodes.repeat_interleave(tensors["ptr/edge"].diff())
    wrong = ((edges < 0) | (edges >= limits)).any(dim=0).nonzero()
    if wrong.numel():
        edge = edges[:, int(wrong[0])].tolist()
        raise BadValue("edge_index", edge, f"node numbers of its own graph, 0 to {int(limits[wrong[0]]) - 1}")


def describe(tensors: Mapping[str, Tensor]) -> dict[str, object]:
    """Return ``sizes``, ``vocabularies``, ``is_directed`` and ``is_multi_label`` of collated graphs."""
    sizes = sizes_of(tensors)
    return {
        "sizes": sizes,
        "vocabularies": _vocabularies(tensors.get("x")),
        "is_directed": sizes["n_relations"] > 0 or _is_directed(tensors),
        "is_multi_label": is_multi_label(tensors.get("y")),
    }


def sizes_of(tensors: Mapping[str, Tensor]) -> dict[str, int]:
    """Return the sizes that a card names, 0 for what the graphs do not have."""
    x, y = tensors.get("x"), tensors.get("y")
    classes = tensors.get("edge_label") if y is None else y
    return {
        "n_graphs": tensors["ptr/node"].numel() - 1,
        "n_nodes": int(tensors["ptr/node"][-1]),
        "n_edges": int(tensors["ptr/edge"][-1]),
        "n_features": 0 if x is None else _columns(x),
        "n_classes": _columns(y) if y is not None and is_multi_label(y) else _one_past(classes),
        "n_targets": 0 if y is None else _columns(y),
        "n_relations": _one_past(tensors.get("edge_type")),
    }


class RunningFacts:
    """Facts of graphs that come in portions: in the end those that :func:`describe` has of all of them at once."""

    def __init__(self) -> None:
        self._sizes: dict[str, int] = {}
        self._vocabularies: list[tuple[int, ...]] = []
        self._is_directed = False
        self._are_multi_label: list[bool] = []

    def add(self, tensors: Mapping[str, Tensor]) -> None:
        """Take note of one more portion of collated graphs."""
        found: Any = describe(tensors)
        # A portion may by chance have labels of 0 and 1 only, so the largest is kept apart from the columns.
        labels = tensors.get("y", tensors.get("edge_label"))
        for name, size in (found["sizes"] | {"n_classes": _one_past(labels)}).items():
            combine = operator.add if name in _COUNTED else max
            self._sizes[name] = combine(self._sizes.get(name, 0), size)
        if found["vocabularies"]:
            self._vocabularies.append(found["vocabularies"])
        if "y" in tensors and tensors["y"].numel():
            self._are_multi_label.append(found["is_multi_label"])
        self._is_directed |= found["is_directed"]

    def finish(self) -> dict[str, object]:
        """Return the facts of all portions."""
        has_several = bool(self._are_multi_label) and all(self._are_multi_label)
        n_classes = self._sizes["n_targets" if has_several else "n_classes"]
        return {
            "sizes": self._sizes | {"n_classes": n_classes},
            "vocabularies": tuple(map(max, zip(*self._vocabularies, strict=True))),
            "is_directed": self._is_directed,
            "is_multi_label": has_several,
        }


def _columns(tensor: Tensor) -> int:
    return 1 if tensor.dim() < 2 else tensor.size(-1)


def _one_past(tensor: Tensor | None) -> int:
    if tensor is None or tensor.is_floating_point() or not tensor.numel():
        return 0
    return max(int(tensor.max()) + 1, 0)


def is_multi_label(y: Tensor | None) -> bool:
    """Tell labels of several columns, all 0, 1 or unknown, from others."""
    if y is None or y.dim() != 2 or y.size(1) < 2 or not y.numel():
        return False
    return bool(((y == 0) | (y == 1) | y.isnan()).all())


def _vocabularies(x: Tensor | None) -> tuple[int, ...]:
    if x is None or x.is_floating_point() or x.dim() > 2 or not x.numel():
        return ()
    return tuple((x.reshape(x.size(0), -1).amax(dim=0).long() + 1).tolist())


def _is_directed(tensors: Mapping[str, Tensor]) -> bool:
    if "edge_index" not in tensors:
        return False
    edges, n_nodes = tensors["edge_index"], int(tensors["ptr/node"][-1])
    if tensors["ptr/node"].numel() > 2:
        edges = edges + tensors["ptr/node"][:-1].repeat_interleave(tensors["ptr/edge"].diff())
    # Both directions of an edge have the same sum of ends: of many edges, those of some sums are looked at a time.
    n_portions = max(1, math.ceil(edges.size(1) / PORTION))
    return any(_lacks_a_reverse(edges, n_nodes, n_portions, portion) for portion in range(n_portions))


def _lacks_a_reverse(edges: Tensor, n_nodes: int, n_portions: int, portion: int) -> bool:
    """Tell whether an edge lacks its reverse, of the edges of one portion."""
    found = []
    for source, target in zip(edges[0].split(PORTION), edges[1].split(PORTION), strict=True):
        is_here = (source + target) % n_portions == portion
        found.append(torch.stack([source[is_here], target[is_here]]).long())
    source, target = torch.cat(found, dim=1)
    return not torch.equal(torch.unique(source * n_nodes + target), torch.unique(target * n_nodes + source))
