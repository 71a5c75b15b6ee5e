"""Sums over neighbours that edges weigh: number by number by gates, as GatedGCN, or by several kernels, as MoNet."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import torch
from torch import Tensor

from gnz_track.training.acceleration.compiled import _differentiate as differentiate
from gnz_track.training.acceleration.compiled import serves
from gnz_track.training.acceleration.library import Gates, Mixture, kernels
from gnz_track.training.acceleration.normalisation import NARROWEST
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.structure import Structure

__all__ = ["mix", "sum_gated"]


class _Call:
    """What a call knows beside its tensors, and what its way back needs."""

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
        return ctypes.byref(
            Gates(ctypes.pointer(self.pattern.ordered_edges), scores.size(1), *places, *further)
        )

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
    def forward(ctx: Any, call: _Call, nodes: Tensor, codes: Tensor | None) -> tuple[Tensor, Tensor]:
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
    return _Gate.apply(_Call(structure, epsilon), nodes, codes)  # type: ignore[no-any-return]


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
        kernels().mix_back(_mixture(ctx.pattern, codes, weights), gradient.data_ptr(), *(one.data_ptr() for one in found))
        return None, *found


def _mixture(pattern: Pattern, codes: Tensor, weights: Tensor) -> Any:
    edges, n = ctypes.pointer(pattern.ordered_edges), weights.size(1)
    return ctypes.byref(Mixture(edges, n, codes.size(1) // n, codes.data_ptr(), weights.data_ptr()))


def _mix_in_torch(edge_index: Tensor, codes: Tensor, weights: Tensor) -> Tensor:
    source, target = edge_index
    sent = codes.view(codes.size(0), weights.size(1), -1).index_select(0, source)
    mixed = (weights.unsqueeze(2) * sent).sum(dim=1)
    return mixed.new_zeros(codes.size(0), mixed.size(1)).index_add(0, target, mixed)


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
