"""PyG's layers, computed as sparse products where the layer and its input allow it.

Each entry of :data:`FORWARDS` serves one layer class of PyG, and no subclass of it. It computes the same function, with
the same parameters and the same random numbers in the same order; whatever it does not know it hands back to the
layer's own ``forward``. Models are not changed: only the bound ``forward`` of a layer instance is replaced, by
:func:`accelerate`.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv

from gnz_track.training.acceleration.dropout import draw_mask, drop
from gnz_track.training.acceleration.features import SparseFeatures
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.products import DTYPES, score_edges, softmax_rows, sum_neighbours
from gnz_track.training.acceleration.structure import Structure, structure_of

__all__ = ["FORWARDS", "accelerate", "release"]


def _gcn(layer: GCNConv, x: Tensor, structure: Structure) -> Tensor:
    out = sum_neighbours(structure.looped, structure.normalised_weights(x.dtype), layer.lin(x))
    return out if layer.bias is None else out + layer.bias


def _sage(layer: SAGEConv, x: Tensor, structure: Structure) -> Tensor:
    if isinstance(x, SparseFeatures):
        mean: Tensor = x.average(structure)
    else:
        mean = sum_neighbours(structure.plain, None, x) / structure.degrees.to(x.dtype)
    out = layer.lin_l(mean)
    if layer.root_weight:
        out = out + layer.lin_r(x)
    return functional.normalize(out, p=2.0, dim=-1) if layer.normalize else out


def _gin(layer: GINConv, x: Tensor, structure: Structure) -> Tensor:
    x = x.dense() if isinstance(x, SparseFeatures) else x
    return layer.nn(sum_neighbours(structure.plain, None, x) + (1 + layer.eps) * x)  # type: ignore[no-any-return]


def _gat(layer: GATConv, x: Tensor, structure: Structure) -> Tensor:
    heads, width = layer.heads, layer.out_channels
    pattern, single = structure.blocks("looped", heads), structure.looped
    h = _by_head(layer.lin(x), heads)
    by_head = h.view(heads, -1, width)
    # Multiplied and summed: a product with a matrix of one column takes three times as long.
    to_source = (by_head * layer.att_src.view(heads, 1, width)).sum(dim=-1).flatten()
    to_target = (by_head * layer.att_dst.view(heads, 1, width)).sum(dim=-1).flatten()
    scores = to_source.index_select(0, pattern.columns) + to_target.index_select(0, pattern.rows)
    weights = softmax_rows(pattern, functional.leaky_relu(scores, layer.negative_slope))
    weights = _drop_weights(weights, single, heads, layer.dropout if layer.training else 0.0)
    out = _join_heads(sum_neighbours(pattern, weights, h), heads, is_joined=layer.concat)
    if layer.res is not None:
        out = out + layer.res(x)
    return out if layer.bias is None else out + layer.bias


def _transformer(layer: TransformerConv, x: Tensor, structure: Structure) -> Tensor:
    heads = layer.heads
    pattern, single = structure.blocks("plain", heads), structure.plain
    query, key, value = (_by_head(linear(x), heads) for linear in (layer.lin_query, layer.lin_key, layer.lin_value))
    scores = score_edges(pattern, query, key) / math.sqrt(layer.out_channels)
    weights = softmax_rows(pattern, scores)
    weights = _drop_weights(weights, single, heads, layer.dropout if layer.training else 0.0)
    out = _join_heads(sum_neighbours(pattern, weights, value), heads, is_joined=layer.concat)
    return out + layer.lin_skip(x) if layer.root_weight else out


def _by_head(h: Tensor, heads: int) -> Tensor:
    """Turn ``[n_nodes, heads * width]`` into ``[heads * n_nodes, width]``."""
    if heads == 1:
        return h
    n_nodes = h.size(0)
    return h.view(n_nodes, heads, -1).transpose(0, 1).reshape(heads * n_nodes, -1)


def _join_heads(h: Tensor, heads: int, *, is_joined: bool) -> Tensor:
    """Turn ``[heads * n_nodes, width]`` into ``[n_nodes, heads * width]``, or into the mean over heads."""
    if heads == 1:
        return h
    h = h.view(heads, -1, h.size(1))
    return h.transpose(0, 1).reshape(h.size(1), -1) if is_joined else h.mean(dim=0)


def _drop_weights(weights: Tensor, single: Pattern, heads: int, p: float) -> Tensor:
    """Drop attention weights ``[heads * n_entries]``, drawn in the layer's own order ``[n_entries, heads]``."""
    if p == 0.0 or weights.numel() == 0:
        return weights
    keep = 1.0 - p
    mask = draw_mask(weights.numel(), keep).view(-1, heads).index_select(0, single.order)
    return weights * mask.t().reshape(-1).to(weights.dtype).div_(keep)


def _is_stale(x: Tensor) -> bool:
    return isinstance(x, SparseFeatures) and not x.is_sparse_still


def _is_plain(layer: Any) -> bool:
    return layer.flow == "source_to_target" and not layer.explain and layer.decomposed_layers == 1


_SUMS = ("add", "sum")

# Layer class -> (function, whether this instance of the class is within what the function knows).
FORWARDS: dict[type, tuple[Callable[..., Tensor], Callable[[Any], bool]]] = {
    GCNConv: (_gcn, lambda c: c.normalize and c.add_self_loops and not (c.improved or c.cached) and c.aggr in _SUMS),
    SAGEConv: (_sage, lambda c: c.aggr == "mean" and not c.project and isinstance(c.in_channels, int)),
    GINConv: (_gin, lambda c: c.aggr in _SUMS),
    GATConv: (
        _gat,
        lambda c: c.lin is not None and c.lin_edge is None and c.add_self_loops and c.aggr == "add" and c.dropout < 1.0,
    ),
    TransformerConv: (
        _transformer,
        lambda c: c.lin_edge is None and not c.beta and c.aggr == "add" and c.dropout < 1.0,
    ),
}


def _forward(layer: Any, compute: Callable[..., Tensor], x: Any, edge_index: Any, *args: Any, **kwargs: Any) -> Any:
    structure = None
    has_extras = any(value is not None for value in (*args, *kwargs.values()))
    if isinstance(x, Tensor) and x.dim() == 2 and x.dtype in DTYPES and not has_extras and not _is_stale(x):
        structure = structure_of(edge_index, x.size(0))
    if structure is None or torch.is_autocast_enabled("cpu"):
        return type(layer).forward(layer, x, edge_index, *args, **kwargs)
    return compute(layer, x, structure)


def _dropout_forward(layer: nn.Dropout, x: Tensor) -> Tensor:
    if layer.inplace or isinstance(x, SparseFeatures) or x.device.type != "cpu":
        return functional.dropout(x, layer.p, layer.training, layer.inplace)
    return drop(x, layer.p, training=layer.training)


def accelerate(model: nn.Module) -> nn.Module:
    """Give every layer of a model that :data:`FORWARDS` knows its fast forward, in place, and return the model.

    A layer with a ``forward`` of its own, set on the instance, keeps it. :func:`release` undoes it all.
    """
    for layer in model.modules():
        if "forward" in vars(layer):
            continue
        if type(layer) is nn.Dropout:
            layer.forward = functools.partial(_dropout_forward, layer)  # type: ignore[method-assign]
            continue
        compute, is_known = FORWARDS.get(type(layer), (None, None))
        if compute is not None and is_known is not None and _is_plain(layer) and is_known(layer):
            layer.forward = functools.partial(_forward, layer, compute)  # type: ignore[method-assign,assignment]
    return model


def release(model: nn.Module) -> nn.Module:
    """Take the fast forwards away again, in place, and return the model.

    A layer that holds its own bound forward is a ring of references: its memory would stay until Python looks for
    rings, and be counted against the next cell.
    """
    for layer in model.modules():
        forward = vars(layer).get("forward")
        if isinstance(forward, functools.partial) and forward.func in (_forward, _dropout_forward):
            del layer.forward
    return model
