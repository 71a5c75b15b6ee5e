"""Products of a sparse pattern with dense matrices, with gradients.

Message passing is two products. A weighted sum over neighbours is ``A(values) @ x``; a score per edge is
``<a[row], b[col]>``, the same pattern sampled from ``a @ b.T``. Each is the other's backward pass, so that neither
ever forms an ``edges x width`` matrix, which is what gather-multiply-scatter spends its time on.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from gnz_track.training.acceleration.patterns import Pattern

__all__ = ["DTYPES", "score_edges", "softmax_rows", "sum_neighbours"]

# What the sparse products of the CPU are made for.
DTYPES = frozenset({torch.float32, torch.float64})


class _SumNeighbours(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, values: Tensor, x: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(values, x if values.requires_grad else None)
        return pattern.matrix(values.detach()) @ x

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        values, x = ctx.saved_tensors
        pattern, gradient = ctx.pattern, gradient.contiguous()
        to_values = _sample(pattern, gradient, x) if ctx.needs_input_grad[1] else None
        to_x = pattern.transposed_matrix(values) @ gradient if ctx.needs_input_grad[2] else None
        return None, to_values, to_x


class _ScoreEdges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(a, b)
        return _sample(pattern, a, b)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        a, b = ctx.saved_tensors
        pattern, gradient = ctx.pattern, gradient.contiguous()
        to_a = pattern.matrix(gradient) @ b if ctx.needs_input_grad[1] else None
        to_b = pattern.transposed_matrix(gradient) @ a if ctx.needs_input_grad[2] else None
        return None, to_a, to_b


class _SoftmaxRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, pattern: Pattern, scores: Tensor) -> Tensor:
        rows = pattern.rows
        highest = torch.segment_reduce(scores, "max", offsets=pattern.offsets, unsafe=True)
        weights = (scores - highest.index_select(0, rows)).exp_()
        total = torch.segment_reduce(weights, "sum", offsets=pattern.offsets, unsafe=True)
        # The same guard as in PyG's softmax, which this replaces.
        weights /= (total + 1e-16).index_select(0, rows)
        ctx.pattern = pattern  # type: ignore[attr-defined]
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        (weights,) = ctx.saved_tensors
        product = weights * gradient
        total = torch.segment_reduce(product, "sum", offsets=ctx.pattern.offsets, unsafe=True)
        return None, product - weights * total.index_select(0, ctx.pattern.rows)


def _sample(pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
    """Return ``<a[row], b[column]>`` of each entry ``[n_entries]``."""
    if pattern.n_entries > pattern.n_rows * pattern.n_columns:
        # More entries than places, as parallel edges of a tiny graph: Torch refuses to sample that.
        return (a.index_select(0, pattern.rows) * b.index_select(0, pattern.columns)).sum(dim=1)
    empty = pattern.matrix(pattern.ones(a.dtype))
    return torch.sparse.sampled_addmm(empty, a.contiguous(), b.t(), beta=0.0).values()


def sum_neighbours(pattern: Pattern, values: Tensor | None, x: Tensor) -> Tensor:
    """Return ``A(values) @ x``: ``[n_rows, width]``, differentiable in values and x.

    Parameters
    ----------
    pattern
        Where A has entries.
    values
        Value of each entry, ``[n_entries]``; None: ones.
    x
        Rows to sum, ``[n_columns, width]``.
    """
    return _SumNeighbours.apply(pattern, pattern.ones(x.dtype) if values is None else values, x)  # type: ignore[no-any-return]


def score_edges(pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
    """Return ``<a[row], b[column]>`` of each entry: ``[n_entries]``, differentiable in a and b.

    Parameters
    ----------
    pattern
        The entries.
    a, b
        ``[n_rows, width]`` and ``[n_columns, width]``.
    """
    return _ScoreEdges.apply(pattern, a, b)  # type: ignore[no-any-return]


def softmax_rows(pattern: Pattern, scores: Tensor) -> Tensor:
    """Normalise scores ``[n_entries]`` to sum to one within each row; differentiable."""
    return _SoftmaxRows.apply(pattern, scores)  # type: ignore[no-any-return]
