"""Functions of tensors that deep layers are made of, by the compiled kernels, with gradients of any order.

Batch normalisation with what comes before and after it; sums over neighbours that edges weigh, number by number by
gates as in GatedGCN, or by several kernels as in MoNet; attention between all nodes of a graph, without filling the
graphs of a batch up to the size of the largest. Each returns None where the kernels do not serve.
"""

from __future__ import annotations

import ctypes
import functools
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gnz_track.training.acceleration.compiled import ACTIVATIONS, differentiate, serves
from gnz_track.training.acceleration.guards import may_normalise
from gnz_track.training.acceleration.library import AmongAll, Gates, Mixture, Normalisation, kernels
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.structure import Structure

__all__ = ["attend_among_all", "mix", "normalise", "sum_gated"]

# Kernels take 16 columns at once; below so many numbers, calling them costs more than it saves.
NARROWEST, SMALLEST = 16, 1 << 14


def _pays(x: Tensor) -> bool:
    return x.size(1) >= NARROWEST and x.numel() >= SMALLEST


class _NormCall:
    """Facts of a call beside its tensors, and what its way back needs."""

    def __init__(self, layer: Any, activation: str) -> None:
        self.layer, self.epsilon, self.activation = layer, layer.eps, activation

    def twin(self, x: Tensor, before: Any, after: Any, weight: Tensor, bias: Tensor) -> Tensor:
        """Return the same, by Torch."""
        x = x if before is None else x + before
        y = functional.batch_norm(x, None, None, weight, bias, training=True, eps=self.epsilon)
        y = ACTIVATIONS[self.activation][1](y)
        return y if after is None else after + y

    def norm(self, x: Tensor, weight: Tensor, bias: Tensor, moments: Tensor) -> Any:
        """Return the struct of the kernels; moments are mean and scale ``[2, width]``."""
        n, width = x.shape
        mean = moments.data_ptr()
        places = weight.data_ptr(), bias.data_ptr(), mean, mean + 4 * width
        return ctypes.byref(Normalisation(n, width, *places, ACTIVATIONS[self.activation][0]))


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _NormCall, moments: Tensor, *inputs: Tensor | None) -> Tensor:
        ctx.call, ctx.moments = call, moments
        ctx.save_for_backward(*inputs)
        x, before, after, weight, bias = inputs
        joined, out = _joined(x, before), torch.empty_like(x)
        ctx.joined = None if before is None else joined
        norm = call.norm(joined, weight, bias, moments)  # type: ignore[arg-type]
        layer = call.layer
        kept = layer.momentum, layer.running_mean.data_ptr(), layer.running_var.data_ptr()
        kernels().find_moments(norm, joined.data_ptr(), call.epsilon, *kept)
        kernels().normalise(norm, joined.data_ptr(), None if after is None else after.data_ptr(), out.data_ptr())
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        call, needs, inputs = ctx.call, ctx.needs_input_grad[2:], ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, None, *differentiate(call.twin, inputs, needs, gradient)
        x, _, _, weight, bias = inputs
        x, gradient = x if ctx.joined is None else ctx.joined, gradient.contiguous()
        to_x, to_both = torch.empty_like(x), torch.empty(2, x.size(1))
        norm = call.norm(x, weight, bias, ctx.moments)
        kernels().normalise_back(norm, *(one.data_ptr() for one in (x, gradient, to_x, to_both)))
        found = (to_x, to_x, gradient, to_both[1], to_both[0])
        return None, None, *(one if is_needed else None for one, is_needed in zip(found, needs, strict=True))


def _joined(x: Any, before: Tensor | None) -> Tensor:
    if before is None:
        return x  # type: ignore[no-any-return]
    joined = torch.empty_like(x)
    kernels().add_rows(x.data_ptr(), before.data_ptr(), x.numel(), joined.data_ptr())
    return joined


def normalise(
    layer: nn.BatchNorm1d,
    x: Tensor,
    *,
    activation: str = "none",
    before: Tensor | None = None,
    after: Tensor | None = None,
) -> Tensor | None:
    """Return ``after + activation(layer(x + before))``, or None where the kernels do not serve; statistics are kept.

    Parameters
    ----------
    layer
        The batch normalisation.
    x
        Rows ``[n, width]``.
    activation
        ``none``, ``relu`` or ``elu``.
    before, after
        Added to the rows, and to what becomes of them, ``[n, width]``; None: nothing.
    """
    rows = [one for one in (x, before, after) if one is not None]
    if not may_normalise(layer, x):
        return None
    told = (layer.weight, layer.bias, layer.running_mean, layer.running_var)
    if not serves(*rows, *told) or any(one.shape != x.shape[1:] or not one.is_contiguous() for one in told):  # type: ignore[union-attr]
        return None
    if any(one.shape != x.shape or not one.is_contiguous() for one in rows) or not _pays(x):
        return None
    call, moments = _NormCall(layer, activation), torch.empty(2, x.size(1))
    if not layer.training:
        return _normalise_as_known(layer, call, moments, x, before, after)
    if x.size(0) < 2:
        return None
    # As the layer itself does first of all; the kernel keeps what else is to be kept.
    layer.num_batches_tracked.add_(1)  # type: ignore[union-attr]
    return _Normalise.apply(call, moments, x, before, after, layer.weight, layer.bias)  # type: ignore[no-any-return]


def _normalise_as_known(
    layer: Any, call: _NormCall, moments: Tensor, x: Tensor, before: Tensor | None, after: Tensor | None
) -> Tensor | None:
    """Return the same by the moments that a layer has kept, where nobody asks for gradients."""
    inputs = (x, before, after, layer.weight, layer.bias)
    if torch.is_grad_enabled() and any(one is not None and one.requires_grad for one in inputs):
        return None
    moments[0], moments[1] = layer.running_mean, (layer.running_var + layer.eps).rsqrt()
    x, out = _joined(x, before), torch.empty_like(x)
    norm = call.norm(x, layer.weight, layer.bias, moments)
    kernels().normalise(norm, x.data_ptr(), None if after is None else after.data_ptr(), out.data_ptr())
    return out


# ----------------------------------------------------------------------------------------------- sums that edges weigh


class _GateCall:
    """Facts of a call beside its tensors, and what its way back needs."""

    def __init__(self, structure: Structure, epsilon: float) -> None:
        self.pattern, self.edge_index, self.epsilon = structure.plain, structure.edge_index, epsilon

    def begin(self, width: int) -> Tensor:
        """Make room for gated means and sums of gates; return room for the scores of the edges."""
        self.means, self.below = (torch.empty(self.pattern.n_rows, width) for _ in range(2))
        return torch.empty(self.pattern.n_entries, width)

    def struct(self, nodes: Tensor, codes: Tensor | None, scores: Tensor) -> Any:
        """Return the struct of the kernels."""
        places = (nodes.data_ptr(), None if codes is None else codes.data_ptr(), scores.data_ptr())
        further = (self.means.data_ptr(), self.below.data_ptr(), self.epsilon)
        return ctypes.byref(Gates(ctypes.pointer(self.pattern.ordered_edges), scores.size(1), *places, *further))

    def twin(self, nodes: Tensor, codes: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the same, by Torch."""
        (source, target), (own, sent, as_source, as_target) = self.edge_index, nodes.chunk(4, dim=1)
        scores = as_source.index_select(0, source) + as_target.index_select(0, target)
        scores = scores if codes is None else codes + scores
        gates, none = scores.sigmoid(), own.new_zeros(own.shape)
        total = none.index_add(0, target, sent.index_select(0, source) * gates)
        return own + total / (none.index_add(0, target, gates) + self.epsilon), scores


class _Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _GateCall, nodes: Tensor, codes: Tensor | None) -> tuple[Tensor, Tensor]:
        ctx.set_materialize_grads(False)
        ctx.call, scores = call, call.begin(nodes.size(1) // 4)
        out = torch.empty_like(call.means)
        kernels().gate(call.struct(nodes, codes, scores), out.data_ptr())
        ctx.save_for_backward(nodes, codes, scores)
        return out, scores

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        (nodes, codes, scores), needs = ctx.saved_tensors, ctx.needs_input_grad[1:]
        of_out, of_scores = gradients
        of_out = torch.zeros_like(ctx.call.means) if of_out is None else of_out.contiguous()
        if torch.is_grad_enabled():
            of_scores = torch.zeros_like(scores) if of_scores is None else of_scores
            return None, *differentiate(ctx.call.twin, (nodes, codes), needs, (of_out, of_scores))
        of_scores = None if of_scores is None else of_scores.contiguous()
        to_nodes, to_scores = torch.empty_like(nodes), torch.empty_like(scores)
        places = (None if one is None else one.data_ptr() for one in (of_out, of_scores, to_nodes, to_scores))
        kernels().gate_back(ctx.call.struct(nodes, codes, scores), *places)
        return None, to_nodes, to_scores if needs[1] else None


def sum_gated(
    structure: Structure, nodes: Tensor, codes: Tensor | None, epsilon: float
) -> tuple[Tensor, Tensor] | None:
    """Return new codes of nodes ``[n, width]`` and the scores of edges ``[n_edges, width]``.

    None where the kernels do not serve.

    Parameters
    ----------
    structure
        The edges.
    nodes
        What nodes are themselves, what they send, and their parts in the scores of the edges that leave and enter
        them, side by side ``[n, 4 * width]``.
    codes
        Part of each edge in its score ``[n_edges, width]``; None: nothing.
    epsilon
        Added to the sum of the gates, by which sums are divided.
    """
    width, is_sound = nodes.size(1) // 4, structure.plain.is_sound
    if not serves(nodes, codes) or not nodes.is_contiguous() or width < NARROWEST or not is_sound:
        return None
    if codes is not None and (codes.shape != (structure.plain.n_entries, width) or not codes.is_contiguous()):
        return None
    return _Gate.apply(_GateCall(structure, epsilon), nodes, codes)  # type: ignore[no-any-return]


class _Mix(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, structure: Structure, codes: Tensor, weights: Tensor) -> Tensor:
        ctx.pattern, ctx.edge_index = structure.plain, structure.edge_index
        ctx.save_for_backward(codes, weights)
        out = torch.empty(codes.size(0), codes.size(1) // weights.size(1))
        kernels().mix(_mixture(ctx.pattern, codes, weights), out.data_ptr())
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        codes, weights = ctx.saved_tensors
        if torch.is_grad_enabled():
            twin = functools.partial(_mix_in_torch, ctx.edge_index)
            return None, *differentiate(twin, (codes, weights), ctx.needs_input_grad[1:], gradient)
        gradient, found = gradient.contiguous(), (torch.zeros_like(codes), torch.empty_like(weights))
        kernels().mix_back(
            _mixture(ctx.pattern, codes, weights), gradient.data_ptr(), *(one.data_ptr() for one in found)
        )
        return None, *found


def _mixture(pattern: Pattern, codes: Tensor, weights: Tensor) -> Any:
    edges, n = ctypes.pointer(pattern.ordered_edges), weights.size(1)
    return ctypes.byref(Mixture(edges, n, codes.size(1) // n, codes.data_ptr(), weights.data_ptr()))


def _mix_in_torch(edge_index: Tensor, codes: Tensor, weights: Tensor) -> Tensor:
    source, target = edge_index
    # Told in full: of no nodes, the width could not be concluded.
    n, kernels_of_each = codes.size(0), weights.size(1)
    sent = codes.view(n, kernels_of_each, codes.size(1) // kernels_of_each).index_select(0, source)
    mixed = (weights.unsqueeze(2) * sent).sum(dim=1)
    return mixed.new_zeros(n, mixed.size(1)).index_add(0, target, mixed)


def mix(structure: Structure, codes: Tensor, weights: Tensor) -> Tensor | None:
    """Return the sums of what sources send, weighted by every kernel ``[n, width]``; None where kernels do not serve.

    Parameters
    ----------
    structure
        The edges.
    codes
        What nodes send under each kernel, side by side ``[n, kernels * width]``.
    weights
        Weight of every edge under each kernel ``[n_edges, kernels]``.
    """
    fits = weights.dim() == 2 and weights.size(0) == structure.plain.n_entries and codes.size(1) % weights.size(1) == 0
    if not fits or not serves(codes, weights) or not structure.plain.is_sound:
        return None
    if not codes.is_contiguous() or not weights.is_contiguous() or codes.size(1) // weights.size(1) < NARROWEST:
        return None
    return _Mix.apply(structure, codes, weights)  # type: ignore[no-any-return]


# ------------------------------------------------------------------------------------------------- attention among all


# In larger graphs products are large enough for Torch's own.
LARGEST = 256


class _AllCall:
    """Facts of a call beside its tensors, and what its way back needs."""

    def __init__(self, starts: Tensor, heads: int) -> None:
        self.starts, self.heads = starts, heads

    def begin(self, n: int) -> None:
        """Make room for the largest score and the sum of each node and head."""
        self.most, self.shares = torch.empty(n * self.heads), torch.empty(n * self.heads)

    def struct(self, codes: Tensor) -> Any:
        """Return the struct of the kernels."""
        width = codes.size(1) // (3 * self.heads)
        sizes = (self.starts.numel() - 1, self.heads, width, codes.data_ptr(), 1 / math.sqrt(width))
        return ctypes.byref(AmongAll(self.starts.data_ptr(), *sizes, self.most.data_ptr(), self.shares.data_ptr()))

    def twin(self, codes: Tensor) -> Tensor:
        """Return the same, by Torch, graph after graph."""
        n, across = codes.size(0), codes.size(1) // 3
        found = []
        for part in codes.split(self.starts.diff().tolist()):
            query, key, value = part.view(len(part), 3, self.heads, across // self.heads).permute(1, 2, 0, 3)
            weights = (query @ key.transpose(1, 2) / math.sqrt(query.size(2))).softmax(dim=2)
            found.append((weights @ value).transpose(0, 1).reshape(len(part), across))
        return torch.cat(found) if n else codes[:, :across]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _AllCall, codes: Tensor) -> Tensor:
        out = torch.empty(codes.size(0), codes.size(1) // 3)
        call.begin(codes.size(0))
        kernels().attend_among_all(call.struct(codes), out.data_ptr())
        ctx.call = call
        ctx.save_for_backward(codes, out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None]:
        codes, out = ctx.saved_tensors
        if torch.is_grad_enabled():
            return None, *differentiate(ctx.call.twin, [codes], [True], gradient)  # type: ignore[return-value]
        found, gradient = torch.empty_like(codes), gradient.contiguous()
        places = (one.data_ptr() for one in (out, gradient, found))
        kernels().attend_among_all_back(ctx.call.struct(codes), *places)
        return None, found


def attend_among_all(codes: Tensor, starts: Tensor, heads: int) -> Tensor | None:
    """Return what every node hears from all nodes of its graph ``[n, heads * width]``; None where kernels do not serve.

    Parameters
    ----------
    codes
        Queries, keys and values ``[n, 3 * heads * width]``.
    starts
        Where the nodes of each graph begin ``[n_graphs + 1]``, ascending from 0 to n.
    heads
        How many heads lie side by side.
    """
    if not serves(codes) or not codes.is_contiguous() or starts.numel() < 2 or int(starts.diff().max()) > LARGEST:
        return None
    return _Attend.apply(_AllCall(starts, heads), codes)  # type: ignore[no-any-return]
