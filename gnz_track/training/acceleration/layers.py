"""PyG's layers, computed as sparse products where the layer and its input allow it.

Each entry of :data:`FORWARDS` serves one layer class of PyG, and no subclass of it. It computes the same function, with
the same parameters and the same random numbers in the same order; whatever it does not know
(:mod:`~gnz_track.training.acceleration.guards`) it hands back to the layer's own ``forward``. Models are not changed:
only the bound ``forward`` of a layer instance is replaced, by :func:`accelerate`.
"""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import (
    APPNP,
    ChebConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    GPSConv,
    InnerProductDecoder,
    Linear,
    SAGEConv,
    SGConv,
    TransformerConv,
)
from torch_geometric.nn.aggr import Aggregation, MaxAggregation, MeanAggregation, SumAggregation

from gnz_track.training.acceleration.compiled import (
    Bits,
    attend_by_bent_sums,
    attend_by_products,
    attend_by_sums,
    bend_compiled,
    narrow_compiled,
    serves,
    sum_compiled,
)
from gnz_track.training.acceleration.deep import DEEP, forward_gps, forward_own
from gnz_track.training.acceleration.dense import map_compiled
from gnz_track.training.acceleration.dropout import draw_mask, drop
from gnz_track.training.acceleration.features import SparseFeatures, is_served
from gnz_track.training.acceleration.gathered import (
    find_largest,
    keep,
    multiply_in_torch,
    multiply_pairs,
    pool,
    sum_rectified,
)
from gnz_track.training.acceleration.guards import (
    GUARDS,
    FastForward,
    Guard,
    gives,
    is_ordinary,
    is_unwatched,
    may_activate,
    may_drop,
    may_multiply,
    may_pair,
    may_pool,
)
from gnz_track.training.acceleration.library import kernels
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.products import score_edges, softmax_rows, sum_neighbours
from gnz_track.training.acceleration.receptive_field import draw_mask_of, tag
from gnz_track.training.acceleration.structure import Structure, structure_of

__all__ = ["FORWARDS", "accelerate", "release"]


# Numbers that are gathered of neighbours at a time where no gradient is asked for.
GATHERED = 1 << 24


def _gcn(layer: GCNConv, x: Tensor, structure: Structure) -> Tensor:
    weights, x = structure.normalised_weights(x.dtype), _choose(x, structure.rows_of_sources)
    return sum_compiled(structure.looped, layer.lin(x), values=weights, bias=layer.bias)


def _sage(layer: SAGEConv, x: Tensor, structure: Structure) -> Tensor:
    if isinstance(x, SparseFeatures):
        # What is the same at every step is computed once, for all nodes.
        aggregation = "max" if type(layer.aggr_module) is MaxAggregation else "mean"
        gathered: Tensor = _choose(x.gather(structure.whole, aggregation), structure.rows_of_targets)
        return _join_root(layer, gathered, _choose(x, structure.rows_of_targets))
    if not torch.is_grad_enabled() and x.numel() > GATHERED and structure.whole is structure:
        return _sage_by_rows(layer, x, structure)
    sources = _choose(x, structure.rows_of_sources)
    gathered = _gather_rows(layer, sources, structure.plain, structure.degrees)
    return _join_root(layer, gathered, _choose(x, structure.rows_of_targets))


def _sage_by_rows(layer: SAGEConv, x: Tensor, structure: Structure) -> Tensor:
    """Compute some nodes at a time: what is gathered is as wide as features, of which a large graph has many."""
    out = torch.empty(0)
    for rows in torch.arange(x.size(0)).split(max(1, GATHERED // x.size(1))):
        gathered = _gather_rows(layer, x, structure.plain.choose(rows), structure.degrees[rows])
        found = _join_root(layer, gathered, x[rows])
        out = out if out.numel() else found.new_empty(x.size(0), found.size(1))
        out[rows] = found
    return out


def _gather_rows(layer: SAGEConv, x: Tensor, pattern: Pattern, degrees: Tensor) -> Tensor:
    if type(layer.aggr_module) is MaxAggregation:
        return find_largest(pattern, x)
    return sum_compiled(pattern, x, divisors=degrees.to(x.dtype).flatten())


def _join_root(layer: SAGEConv, gathered: Tensor, x: Any) -> Tensor:
    out: Tensor = layer.lin_l(gathered)
    if layer.root_weight:
        out = out + layer.lin_r(x)
    return functional.normalize(out, p=2.0, dim=-1) if layer.normalize else out


def _gin(layer: GINConv, x: Tensor, structure: Structure) -> Tensor:
    x = x.dense() if isinstance(x, SparseFeatures) else x
    return layer.nn(sum_compiled(structure.plain, x) + (1 + layer.eps) * x)  # type: ignore[no-any-return]


def _gine(layer: GINEConv, x: Tensor, structure: Structure, edge: Any) -> Any:
    x = x.dense() if isinstance(x, SparseFeatures) else x
    is_plain = type(edge) in {Tensor, nn.Parameter} and edge.dim() == 2 and edge.dtype is x.dtype
    if not is_plain or not edge.is_cpu or edge.size(0) != structure.plain.n_entries:
        return NotImplemented
    fits = edge.size(1) == x.size(1) if layer.lin is None else gives(layer, ("lin",), x.size(1))
    if not fits:
        return NotImplemented
    edge = keep(edge) if layer.lin is None else layer.lin(edge)
    return layer.nn(sum_rectified(structure.plain, x, edge) + (1 + layer.eps) * x)


def _is_plain_map(linear: Any) -> bool:
    """Tell whether a linear map is nothing but that, so that it can change places with a sum over neighbours."""
    is_ours = type(linear) is Linear and type(vars(linear).get("forward")) is FastForward
    return is_ours and is_unwatched(linear) and may_multiply(linear, linear.weight)


def _is_finite(codes: Tensor) -> bool:
    """Tell whether all numbers are; what is not would not be the same times zero, before and after a sum."""
    return math.isfinite(float(codes.detach().sum()))


def _sgc(layer: SGConv, x: Tensor, structure: Structure) -> Tensor:
    pattern, values, linear = structure.looped, structure.normalised_weights(x.dtype), layer.lin
    is_sparse = isinstance(x, SparseFeatures)
    # Codes are fewer numbers than features that are sparse; both orders give the same. In PyG's order the map has seen
    # what the hops made of features, so that it goes back the same way whatever is written into these.
    codes = functional.linear(x.apart(), linear.weight) if is_sparse and _is_plain_map(linear) else None  # type: ignore[attr-defined]
    is_first = codes is not None and _is_finite(codes)
    h = codes if is_first else x.dense() if is_sparse else x  # type: ignore[attr-defined]
    for _ in range(layer.K):
        h = sum_compiled(pattern, h, values=values)
    if not is_first:
        return linear(h)  # type: ignore[no-any-return]
    return h if linear.bias is None else h + linear.bias


def _appnp(layer: APPNP, x: Tensor, structure: Structure) -> Tensor:
    pattern, values = structure.looped, structure.normalised_weights(x.dtype)
    x = first = x.dense() if isinstance(x, SparseFeatures) else x
    for _ in range(layer.K):
        x = sum_compiled(pattern, x, values=values) * (1 - layer.alpha) + layer.alpha * first
    return x


def _cheb(layer: ChebConv, x: Tensor, structure: Structure) -> Tensor:
    pattern, maps, kind = structure.looped, layer.lins, layer.normalization

    def normalise() -> Tensor:
        edges, n = structure.edge_index, structure.n_nodes
        return layer.__norm__(edges, n, None, kind, None, dtype=x.dtype)[1][pattern.order]  # type: ignore[no-any-return]

    values = structure.keep(("Chebyshev", kind, x.dtype), normalise)
    if isinstance(x, SparseFeatures):
        # The first map has seen the features themselves, and all others what the hops made of them.
        seen = [x, *[x.apart()] * (len(maps) - 1)] if all(map(_is_plain_map, maps)) else []
        codes = [one(features) for one, features in zip(maps, seen, strict=False)]
        if codes and all(map(_is_finite, codes)):
            out = _sum_up_chebyshev(codes, pattern, values)
            return out if layer.bias is None else out + layer.bias
        x = x.dense()
    out, before, now = maps[0](x), x, x
    if len(maps) > 1:
        now = sum_compiled(pattern, x, values=values)
        out = out + maps[1](now)
    for one in maps[2:]:
        before, now = now, 2.0 * sum_compiled(pattern, now, values=values) - before
        # As PyG does: past the hooks of the map.
        out = out + one.forward(now)
    return out if layer.bias is None else out + layer.bias


def _sum_up_chebyshev(codes: list[Tensor], pattern: Pattern, values: Tensor) -> Tensor:
    """Return the sum of Chebyshev polynomials of a matrix, each times codes of its own (Clenshaw, 1955)."""
    now, before = codes[-1], None
    for place in range(len(codes) - 2, -1, -1):
        # The first polynomial but one is the matrix itself, and not twice it.
        hop = sum_compiled(pattern, now, values=values) * (2.0 if place else 1.0)
        now, before = codes[place] + (hop if before is None else hop - before), now
    return now


def _gat(layer: GATConv, x: Tensor, structure: Structure) -> Tensor:
    heads, slope, kind = layer.heads, layer.negative_slope, "looped" if layer.add_self_loops else "plain"
    pattern: Pattern = getattr(structure, kind)
    # First of all, as in PyG: a map without weights yet draws them at its first call.
    residual = None if layer.res is None else layer.res(x)
    h, vectors = layer.lin(_choose(x, structure.rows_of_sources)), (layer.att_src, layer.att_dst)
    bits = _draw_bits(pattern, heads, layer.dropout if layer.training else 0.0)

    def twin(h: Tensor, source: Tensor, target: Tensor, bias: Tensor | None) -> Tensor:
        blocks, h = structure.blocks(kind, heads), _by_head(h, heads)
        by_head = h.view(heads, -1, h.size(1))
        # Multiplied and summed: a product with a matrix of one column takes three times as long.
        of_source, of_target = ((by_head * one.view(heads, 1, -1)).sum(dim=-1) for one in (source, target))
        of_target = of_target if structure.places is None else of_target.index_select(1, structure.places)
        scores = of_source.flatten().index_select(0, blocks.columns) + of_target.flatten().index_select(0, blocks.rows)
        weights = _drop_weights(softmax_rows(blocks, functional.leaky_relu(scores, slope)), bits, pattern, heads)
        out = _join_heads(sum_neighbours(blocks, weights, h), heads)
        return out if bias is None else out + bias

    is_last = layer.concat and residual is None
    out = attend_by_sums(twin, pattern, bits, slope, h, vectors, layer.bias if is_last else None)
    return out if is_last else _end(layer, out, residual)


def _end(layer: GATConv | GATv2Conv, out: Tensor, residual: Tensor | None) -> Tensor:
    """Return what a layer makes of what all heads have heard ``[n_nodes, heads * width]``."""
    out = out if layer.concat else _mean_over_heads(out, layer.heads)
    if residual is not None:
        out = out + residual
    return out if layer.bias is None else out + layer.bias


def _gatv2(layer: GATv2Conv, x: Tensor, structure: Structure) -> Tensor:
    heads, slope, kind = layer.heads, layer.negative_slope, "looped" if layer.add_self_loops else "plain"
    pattern: Pattern = getattr(structure, kind)
    residual = None if layer.res is None else layer.res(x)
    maps = [layer.lin_l] if layer.share_weights else [layer.lin_l, layer.lin_r]
    codes = _map_all(x, maps)
    bits = _draw_bits(pattern, heads, layer.dropout if layer.training else 0.0)

    def twin(source: Tensor, target: Tensor, vector: Tensor, bias: Tensor | None) -> Tensor:
        blocks = structure.blocks(kind, heads)
        source, target = _by_head(source, heads), _by_head(target, heads)
        sums = source.index_select(0, blocks.columns) + target.index_select(0, blocks.rows)
        vectors = vector.view(heads, -1).repeat_interleave(pattern.n_entries, dim=0)
        scores = (functional.leaky_relu(sums, slope) * vectors).sum(dim=-1)
        weights = _drop_weights(softmax_rows(blocks, scores), bits, pattern, heads)
        out = _join_heads(sum_neighbours(blocks, weights, source), heads)
        return out if bias is None else out + bias

    is_last = layer.concat and residual is None
    inputs = (codes[0], codes[-1], layer.att, layer.bias if is_last else None)
    out = attend_by_bent_sums(twin, pattern, bits, slope, inputs)
    return out if is_last else _end(layer, out, residual)


def _transformer(layer: TransformerConv, x: Tensor, structure: Structure) -> Tensor:
    heads, pattern = layer.heads, structure.plain
    skips, sources = [layer.lin_skip] if layer.root_weight else [], _choose(x, structure.rows_of_sources)
    if structure.places is None or x.requires_grad:
        # All at once, which decides in which order gradients of the input are added up.
        query, key, value, *others = _map_all(sources, [layer.lin_query, layer.lin_key, layer.lin_value, *skips])
        query, *others = (_choose(one, structure.places) for one in (query, *others))
    else:
        query, *others = _map_all(_choose(x, structure.rows_of_targets), [layer.lin_query, *skips])
        key, value = _map_all(sources, [layer.lin_key, layer.lin_value])
    bits, skip = _draw_bits(pattern, heads, layer.dropout if layer.training else 0.0), others[0] if others else None

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


def _choose(x: Tensor, rows: Tensor | None) -> Tensor:
    """Return some rows of an input; all where none are named."""
    if rows is None:
        return x
    return x.choose(rows) if isinstance(x, SparseFeatures) else x.index_select(0, rows)


def _map_all(x: Tensor, maps: list[Any]) -> Sequence[Tensor]:
    """Return what each of several linear maps makes of one input."""
    forwards = [getattr(vars(one).get("forward"), "func", None) for one in maps]
    if (
        all(one is _linear_forward for one in forwards)
        and all(map(is_unwatched, maps))
        and all(may_multiply(one, x) for one in maps)
    ):
        found = narrow_compiled(x, *((one.weight, one.bias) for one in maps))
        if found is not None:
            return found
    return [one(x) for one in maps]


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
    n, keep = pattern.n_given * heads, 1.0 - p
    return Bits(None if p == 0.0 or n == 0 else draw_mask(n, keep), keep)


def _drop_weights(weights: Tensor, bits: Bits, single: Pattern, heads: int) -> Tensor:
    """Drop attention weights ``[heads * n_entries]``."""
    if bits.bits is None:
        return weights
    mask = bits.bits.view(-1, heads).index_select(0, single.order)
    return weights * mask.t().reshape(-1).to(weights.dtype).div_(bits.keep)


# What a guard of :data:`~gnz_track.training.acceleration.guards.GUARDS` lets through is computed by:
FORWARDS: dict[type, Callable[..., Tensor]] = {
    GCNConv: _gcn,
    SAGEConv: _sage,
    GINConv: _gin,
    GINEConv: _gine,
    GATConv: _gat,
    GATv2Conv: _gatv2,
    TransformerConv: _transformer,
    SGConv: _sgc,
    APPNP: _appnp,
    ChebConv: _cheb,
}


def _forward(
    layer: Any, guard: Guard, compute: Callable[..., Tensor], x: Any, edge_index: Any, *args: Any, **kwargs: Any
) -> Any:
    if is_ordinary() and is_served(x) and guard.admits(layer):
        further, structure = guard.read_further(args, kwargs), structure_of(edge_index, x.size(0))
        if further is not None and structure is not None:
            found = compute(layer, x, structure, *further)
            if found is not NotImplemented:
                return tag(found, structure)
    return type(layer).forward(layer, x, edge_index, *args, **kwargs)


def _dropout_forward(layer: nn.Dropout, input: Tensor) -> Tensor:  # noqa: A002  (so Torch's own calls it)
    if may_drop(layer, input):
        return drop(input, layer.p, training=layer.training)
    return type(layer).forward(layer, input)


def _activation_forward(layer: nn.Module, name: str, input: Tensor) -> Tensor:  # noqa: A002
    bent = bend_compiled(input, name, Bits(None, 1.0)) if may_activate(layer, input) else None
    return type(layer).forward(layer, input) if bent is None else bent


def _linear_forward(layer: Any, input: Any) -> Tensor:  # noqa: A002
    if may_multiply(layer, input):
        found = map_compiled(input, layer.weight, layer.bias)
        if found is not None:
            return found
        narrow = narrow_compiled(input, (layer.weight, layer.bias))
        if narrow is not None:
            return narrow[0]
    return type(layer).forward(layer, input)  # type: ignore[no-any-return]


def _sequential_forward(layer: nn.Sequential, input: Any) -> Any:  # noqa: A002
    modules = list(layer)
    while modules:
        bent = _bend_and_drop(modules[0], modules[1], input) if len(modules) > 1 else None
        input = modules[0](input) if bent is None else bent  # noqa: A001
        del modules[: 1 if bent is None else 2]
    return input


def _bend_and_drop(activation: Any, dropout: Any, x: Any) -> Tensor | None:
    """Return what dropout makes of what an activation makes of x, in one go; None where that is not possible."""
    name = _name_pair(activation, dropout)
    if not name or not dropout.training or dropout.p == 0.0:
        return None
    may_both = may_activate(activation, x) and may_drop(dropout, x) and is_unwatched(activation)
    if not may_both or not is_unwatched(dropout) or not serves(x) or not x.is_contiguous() or x.numel() == 0:
        return None
    keep = 1.0 - dropout.p
    return bend_compiled(x, name, Bits(draw_mask_of(x, keep), keep))


def _name_pair(activation: Any, dropout: Any) -> str:
    """Return the activation of two modules that are computed as one; nothing where these are others."""
    forwards = [vars(one).get("forward") for one in (activation, dropout)]
    if any(type(one) is not FastForward for one in forwards):
        return ""
    first, second = forwards
    return first.args[1] if first.func is _activation_forward and second.func is _dropout_forward else ""


def _pool_forward(
    layer: Aggregation,
    pooling: str,
    x: Any,
    index: Any = None,
    ptr: Any = None,
    dim_size: Any = None,
    dim: int = -2,
) -> Any:
    if ptr is None and dim in (0, -2) and type(dim_size) is int and may_pool(layer, x):
        found = pool(x, index, dim_size, pooling)
        if found is not None:
            return found
    return type(layer).forward(layer, x, index, ptr, dim_size, dim)


def _pairs_forward(layer: Any, z: Any, edge_index: Any, sigmoid: bool = True) -> Any:  # noqa: FBT001, FBT002
    found = None
    if may_pair(z) and type(edge_index) is Tensor:
        found = multiply_pairs(z, edge_index)
        if found is None and kernels() is None and edge_index.numel() and int(edge_index.min()) >= 0:
            found = multiply_in_torch(z, edge_index)
    if found is None:
        return type(layer).forward(layer, z, edge_index, sigmoid)
    return found.sigmoid() if sigmoid else found


# Layer class -> its fast forward, and what this is given beside the layer.
_FAST: dict[type, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    nn.ReLU: (_activation_forward, ("relu",)),
    nn.ELU: (_activation_forward, ("elu",)),
    nn.Dropout: (_dropout_forward, ()),
    nn.Linear: (_linear_forward, ()),
    nn.Sequential: (_sequential_forward, ()),
    Linear: (_linear_forward, ()),
    GPSConv: (forward_gps, ()),
    SumAggregation: (_pool_forward, ("sum",)),
    MeanAggregation: (_pool_forward, ("mean",)),
    MaxAggregation: (_pool_forward, ("max",)),
    InnerProductDecoder: (_pairs_forward, ()),
}


def _fast_forward(layer: Any) -> FastForward | None:
    cls = type(layer)
    given = (_forward, (GUARDS[cls], FORWARDS[cls])) if cls in FORWARDS else _FAST.get(cls)
    name = f"{cls.__module__}.{cls.__qualname__}"
    given = (forward_own, (name,)) if name in DEEP else given
    return None if given is None else FastForward(given[0], layer, *given[1])


def _state_of(layer: nn.Module) -> dict[str, Any]:
    """Return what a copy of a layer gets, in memory or in a file: nothing of ours, which would be bound to this one."""
    return {name: value for name, value in vars(layer).items() if name not in _ADDED}


# What an accelerated layer has beside its forward: how Python copies it, and what Torch's scripts are made of.
_ADDED: dict[str, Callable[..., Any]] = {
    "forward": _forward,
    "__getstate__": _state_of,
    "__prepare_scriptable__": copy.copy,
}


def accelerate(model: nn.Module) -> nn.Module:
    """Give every layer of a model that :data:`FORWARDS` knows its fast forward, in place, and return the model.

    A layer with a ``forward`` of its own, set on the instance, keeps it. Copies of the model, in memory or in a file,
    have PyG's. :func:`release` undoes it all.
    """
    for layer in model.modules():
        fast = None if "forward" in vars(layer) else _fast_forward(layer)
        if fast is not None:
            bound = {name: functools.partial(function, layer) for name, function in _ADDED.items()}
            vars(layer).update(bound, forward=fast)
    return model


def release(model: nn.Module) -> nn.Module:
    """Take the fast forwards away again, in place, and return the model.

    A layer that holds its own bound forward is a ring of references: its memory would stay until Python looks for
    rings, and be counted against the next cell.
    """
    for layer in model.modules():
        if type(vars(layer).get("forward")) is FastForward:
            for name in _ADDED:
                vars(layer).pop(name, None)
    return model
