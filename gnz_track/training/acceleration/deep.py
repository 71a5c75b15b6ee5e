"""Layers of deep networks, those of this package and PyG's GPS, by what the compiled kernels have for them.

Classes of this package are told by their names, as this room does not know that of the models.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import BatchNorm, GPSConv

from gnz_track.training.acceleration.compiled import serves, sum_compiled
from gnz_track.training.acceleration.compiled_deep import attend_among_all, mix, normalise, sum_gated
from gnz_track.training.acceleration.dense import map_compiled
from gnz_track.training.acceleration.dropout import drop
from gnz_track.training.acceleration.guards import FastForward, is_ordinary, is_unwatched, may_attend, may_multiply
from gnz_track.training.acceleration.structure import Structure, structure_of

__all__ = ["DEEP", "forward_gps", "forward_own"]

_BENDS = {torch.relu: "relu", functional.relu: "relu", functional.elu: "elu"}


# ----------------------------------------------------------------------------------------------------- normalisation


def _normalise_around(norm: Any, x: Tensor, **around: Any) -> Tensor | None:
    """Return what :func:`normalise` does, of Torch's layer or PyG's around it; None where they are watched."""
    inner = norm.module if type(norm) is BatchNorm else norm
    if type(inner) is not nn.BatchNorm1d or not is_unwatched(norm) or not is_unwatched(inner):
        return None
    is_single = type(norm) is BatchNorm and norm.allow_single_element and x.size(0) <= 1
    return None if is_single or not is_plain(norm) or not is_plain(inner) else normalise(inner, x, **around)


def is_plain(layer: nn.Module) -> bool:
    """Tell whether a layer has no forward of its own but a fast one of this room."""
    return type(vars(layer).get("forward")) in {type(None), FastForward}


# ---------------------------------------------------------------------------------------------- layers of this package


def _finish(norm: Any, bend: Any, x: Tensor, after: Tensor | None) -> Tensor:
    """Return ``after + bend(norm(x))``; None as the bend is none, and nothing is added where nothing is given."""
    name = "none" if bend is None else _BENDS.get(bend, "")
    found = _normalise_around(norm, x, activation=name, after=after) if name else None
    if found is not None:
        return found
    x = norm(x)
    x = x if bend is None else bend(x)
    return x if after is None else after + x


def _layer(layer: Any, h: Tensor, e: Tensor | None, data: Any) -> tuple[Tensor, Tensor | None]:
    (new_h, new_e), adds = layer.convolution(h, e, data), layer.residual
    if layer.edge_norm is not None and e is not None:
        e = layer._drop(_finish(layer.edge_norm, layer.bend, new_e, e if adds else None))  # noqa: SLF001  (of this package)
    bend = layer.bend if layer.bends_nodes else None
    return layer._drop(_finish(layer.norm, bend, new_h, h if adds else None)), e  # noqa: SLF001


def _biased_layer(layer: Any, h: Tensor, e: Tensor | None, data: Any) -> tuple[Tensor, Tensor | None]:
    h, e = _layer(layer, h, e, data)
    return h + layer.bias, e


def _map_together(maps: list[Any], x: Tensor) -> Tensor | None:
    """Return what several linear maps make of one input, side by side; None where one is not plain."""
    if not all(type(one) is nn.Linear and is_plain(one) and is_unwatched(one) and may_multiply(one, x) for one in maps):
        return None
    weight, bias = torch.cat([one.weight for one in maps]), torch.cat([one.bias for one in maps])
    return _map(x, weight, bias)


def _map(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    found = map_compiled(x, weight, bias)
    return functional.linear(x, weight, bias) if found is None else found


def _gated(layer: Any, h: Tensor, e: Tensor | None, _: Any, structure: Structure) -> Any:
    if "_score" in vars(layer):
        return None
    maps = [layer.of_itself, layer.of_neighbours, layer.gate_of_source, layer.gate_of_target]
    nodes = _map_together(maps, h) if serves(h) else None
    if nodes is None:
        return None
    codes = layer.gate_of_edge(e) if "gate_of_edge" in layer._modules else None  # noqa: SLF001
    return sum_gated(structure, nodes, codes, sys.modules[type(layer).__module__].EPSILON)


def _gaussian(layer: Any, h: Tensor, e: Tensor | None, data: Any, structure: Structure) -> Any:
    weights, codes = layer.weigh(data.edge_index, h.size(0)), layer.maps(h)
    found = mix(structure, codes, weights)
    return None if found is None else (found, e)


def _normalised_sum(layer: Any, h: Tensor, e: Tensor | None, _: Any, structure: Structure) -> Any:
    values = structure.balanced_weights(h.dtype)
    return sum_compiled(structure.plain, layer.linear(h), values=values, bias=layer.bias), e


def _neighbour_sum(layer: Any, h: Tensor, e: Tensor | None, _: Any, structure: Structure) -> Any:
    return sum_compiled(structure.plain, layer.linear(h)), e


def _ungated(layer: Any, h: Tensor, e: Tensor | None, _: Any, structure: Structure) -> Any:
    return layer.of_itself(h) + sum_compiled(structure.plain, layer.of_neighbours(h)), e


def _mean(layer: Any, h: Tensor, e: Tensor | None, _: Any, structure: Structure) -> Any:
    return layer.linear(sum_compiled(structure.plain, h, divisors=structure.degrees.to(h.dtype).flatten())), e


_DEEP = "gnz_track.models.deep."
# Class of a convolution -> what computes it along edges whose structure is known, or returns None.
CONVOLUTIONS: dict[str, Callable[..., Any]] = {
    f"{_DEEP}anisotropic._GatedByCodes": _gated,
    f"{_DEEP}anisotropic._GatedByEnds": _gated,
    f"{_DEEP}anisotropic._Ungated": _ungated,
    f"{_DEEP}anisotropic._NeighbourSum": _neighbour_sum,
    f"{_DEEP}anisotropic._GaussianKernels": _gaussian,
    f"{_DEEP}isotropic._NormalisedSum": _normalised_sum,
    f"{_DEEP}isotropic._MeanConvolution": _mean,
}
# Class of a layer -> what computes it around its convolution.
DEEP: dict[str, Callable[..., Any] | None] = {
    **dict.fromkeys(CONVOLUTIONS),
    f"{_DEEP}network.Layer": _layer,
    f"{_DEEP}anisotropic._BiasedLayer": _biased_layer,
}


def forward_own(layer: Any, name: str, h: Tensor, e: Tensor | None, data: Any) -> Any:
    """Return the codes of nodes and edges that a layer of this package makes.

    Parameters
    ----------
    layer
        The layer.
    name
        Its class, in :data:`DEEP`.
    h, e, data
        Codes of nodes and of edges, and the graph.
    """
    if is_ordinary() and type(h) is Tensor and h.is_cpu and h.dim() == 2:
        whole = DEEP[name]
        if whole is not None:
            return whole(layer, h, e, data)
        structure = structure_of(data.edge_index, h.size(0))
        found = None if structure is None else CONVOLUTIONS[name](layer, h, e, data, structure)
        if found is not None:
            return found
    return type(layer).forward(layer, h, e, data)


# ------------------------------------------------------------------------------------------------------------- GPS


def forward_gps(layer: GPSConv, x: Tensor, edge_index: Any, batch: Tensor | None = None, **kwargs: Any) -> Tensor:
    """Return the codes of nodes after a convolution, attention between all nodes of a graph, and a perceptron.

    Parameters
    ----------
    layer
        The layer.
    x
        Codes of nodes ``[n, channels]``.
    edge_index, batch
        Edges, and the graph of every node.
    **kwargs
        What the convolution is given beside.
    """
    starts = _starts_of(batch, x) if may_attend(layer, x) else None
    attended = None if starts is None else _attend(layer.attn, x, starts)
    if attended is None:
        return type(layer).forward(layer, x, edge_index, batch, **kwargs)  # type: ignore[no-any-return]
    h = _enter(layer.norm1, drop(layer.conv(x, edge_index, **kwargs), layer.dropout, training=layer.training), x)
    out = h + _enter(layer.norm2, drop(attended, layer.dropout, training=layer.training), x)
    return _enter(layer.norm3, layer.mlp(out), out)


def _enter(norm: Any, x: Tensor, before: Tensor) -> Tensor:
    """Return ``norm(x + before)``; None is no norm."""
    found = None if norm is None else _normalise_around(norm, x, before=before)
    if found is not None:
        return found
    return x + before if norm is None else norm(x + before)  # type: ignore[no-any-return]


def _starts_of(batch: Tensor | None, x: Tensor) -> Tensor | None:
    """Return where the nodes of each graph begin ``[n_graphs + 1]``; None where they do not follow one another."""
    if batch is None:
        return torch.tensor([0, x.size(0)])
    if batch.dim() != 1 or batch.numel() != x.size(0) or batch.dtype is not torch.int64 or not batch.numel():
        return None
    if int(batch[0]) < 0 or bool((batch.diff() < 0).any()):
        return None
    sizes = torch.bincount(batch)
    return torch.cat([sizes.new_zeros(1), sizes.cumsum(0)])


def _attend(attention: nn.MultiheadAttention, x: Tensor, starts: Tensor) -> Tensor | None:
    codes = _map(x, attention.in_proj_weight, attention.in_proj_bias)
    heard = attend_among_all(codes, starts, attention.num_heads)
    return None if heard is None else _map(heard, attention.out_proj.weight, attention.out_proj.bias)
