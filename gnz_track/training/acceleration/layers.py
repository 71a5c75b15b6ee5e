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

from gnz_track.training.acceleration.compiled import Bits, attend_by_products, attend_by_sums, sum_compiled
from gnz_track.training.acceleration.dropout import draw_mask, drop
from gnz_track.training.acceleration.features import SparseFeatures
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.products import DTYPES, score_edges, softmax_rows, sum_neighbours
from gnz_track.training.acceleration.structure import Structure, structure_of

__all__ = ["FORWARDS", "accelerate", "release"]


def _gcn(layer: GCNConv, x: Tensor, structure: Structure) -> Tensor:
    pattern, weights = structure.looped, structure.normalised_weights(x.dtype)

    def twin(h: Tensor, bias: Tensor | None) -> Tensor:
        out = sum_neighbours(pattern, weights, h)
        return out if bias is None else out + bias

    return sum_compiled(twin, pattern, layer.lin(x), values=weights, bias=layer.bias)


def _sum(x: Tensor, structure: Structure, divisors: Tensor | None = None) -> Tensor:
    """Return the sum of the sources of each node, divided by ``[n_nodes, 1]``."""

    def twin(x: Tensor, _: None) -> Tensor:
        out = sum_neighbours(structure.plain, None, x)
        return out if divisors is None else out / divisors

    return sum_compiled(twin, structure.plain, x, divisors=None if divisors is None else divisors.flatten())


def _sage(layer: SAGEConv, x: Tensor, structure: Structure) -> Tensor:
    if isinstance(x, SparseFeatures):
        mean: Tensor = x.average(structure)
    else:
        mean = _sum(x, structure, structure.degrees.to(x.dtype))
    out = layer.lin_l(mean)
    if layer.root_weight:
        out = out + layer.lin_r(x)
    return functional.normalize(out, p=2.0, dim=-1) if layer.normalize else out


def _gin(layer: GINConv, x: Tensor, structure: Structure) -> Tensor:
    x = x.dense() if isinstance(x, SparseFeatures) else x
    return layer.nn(_sum(x, structure) + (1 + layer.eps) * x)  # type: ignore[no-any-return]


def _gat(layer: GATConv, x: Tensor, structure: Structure) -> Tensor:
    heads, pattern, slope = layer.heads, structure.looped, layer.negative_slope
    h, vectors = layer.lin(x), (layer.att_src, layer.att_dst)
    bits = _draw_bits(pattern, heads, layer.dropout if layer.training else 0.0)

    def twin(h: Tensor, source: Tensor, target: Tensor, bias: Tensor | None) -> Tensor:
        blocks, h = structure.blocks("looped", heads), _by_head(h, heads)
        by_head = h.view(heads, -1, h.size(1))
        # Multiplied and summed: a product with a matrix of one column takes three times as long.
        products = [(by_head * one.view(heads, 1, -1)).sum(dim=-1).flatten() for one in (source, target)]
        scores = products[0].index_select(0, blocks.columns) + products[1].index_select(0, blocks.rows)
        weights = _drop_weights(softmax_rows(blocks, functional.leaky_relu(scores, slope)), bits, pattern, heads)
        out = _join_heads(sum_neighbours(blocks, weights, h), heads)
        return out if bias is None else out + bias

    is_last = layer.concat and layer.res is None
    out = attend_by_sums(twin, pattern, bits, slope, h, vectors, layer.bias if is_last else None)
    if is_last:
        return out
    out = out if layer.concat else _mean_over_heads(out, heads)
    if layer.res is not None:
        out = out + layer.res(x)
    return out if layer.bias is None else out + layer.bias


def _transformer(layer: TransformerConv, x: Tensor, structure: Structure) -> Tensor:
    heads, pattern = layer.heads, structure.plain
    query, key, value = (linear(x) for linear in (layer.lin_query, layer.lin_key, layer.lin_value))
    bits = _draw_bits(pattern, heads, layer.dropout if layer.training else 0.0)
    skip = layer.lin_skip(x) if layer.root_weight else None

    def twin(query: Tensor, key: Tensor, value: Tensor, added: Tensor | None) -> Tensor:
        blocks = structure.blocks("plain", heads)
        query, key, value = (_by_head(one, heads) for one in (query, key, value))
        scores = score_edges(blocks, query, key) / math.sqrt(query.size(1))
        weights = _drop_weights(softmax_rows(blocks, scores), bits, pattern, heads)
        out = _join_heads(sum_neighbours(blocks, weights, value), heads)
        return out if added is None else out + added

    if layer.concat:
        return attend_by_products(twin, pattern, bits, heads, (query, key, value, skip))
    out = _mean_over_heads(attend_by_products(twin, pattern, bits, heads, (query, key, value, None)), heads)
    return out if skip is None else out + skip


def _by_head(h: Tensor, heads: int) -> Tensor:
    """Turn ``[n_nodes, heads * width]`` into ``[heads * n_nodes, width]``."""
    if heads == 1:
        return h
    n_nodes = h.size(0)
    return h.view(n_nodes, heads, -1).transpose(0, 1).reshape(heads * n_nodes, -1)


def _join_heads(h: Tensor, heads: int) -> Tensor:
    """Turn ``[heads * n_nodes, width]`` into ``[n_nodes, heads * width]``."""
    if heads == 1:
        return h
    h = h.view(heads, -1, h.size(1))
    return h.transpose(0, 1).reshape(h.size(1), -1)


def _mean_over_heads(h: Tensor, heads: int) -> Tensor:
    """Turn ``[n_nodes, heads * width]`` into ``[n_nodes, width]``."""
    return h if heads == 1 else h.view(h.size(0), heads, -1).mean(dim=1)


def _draw_bits(pattern: Pattern, heads: int, p: float) -> Bits:
    """Draw which attention weights stay, in the layer's own order ``[n_entries, heads]``."""
    n, keep = pattern.n_entries * heads, 1.0 - p
    return Bits(None if p == 0.0 or n == 0 else draw_mask(n, keep), keep)


def _drop_weights(weights: Tensor, bits: Bits, single: Pattern, heads: int) -> Tensor:
    """Drop attention weights ``[heads * n_entries]``."""
    if bits.bits is None:
        return weights
    mask = bits.bits.view(-1, heads).index_select(0, single.order)
    return weights * mask.t().reshape(-1).to(weights.dtype).div_(bits.keep)


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
