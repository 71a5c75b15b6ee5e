"""Products of a sparse pattern with dense matrices, with gradients of any order.

Message passing is two products. A weighted sum over neighbours is ``A(values) @ x``; a score per edge is
``<a[row], b[col]>``, the same pattern sampled from ``a @ b.T``. Each is the other's backward pass, so that neither
ever forms an ``edges x width`` matrix, which is what gather-multiply-scatter spends its time on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from gnz_track.training.acceleration.patterns import Pattern

__all__ = ["DTYPES", "score_edges", "softmax_rows", "sum_neighbours"]

# What the sparse products of the CPU are made for.
DTYPES = frozenset({torch.float32, torch.float64})


class _SumNeighbours(torch.autograd.Function):
    """``A(values) @ x``, or with the transpose of A, whose gradients are such sums again."""

    @staticmethod
    def forward(ctx: Any, pattern: Pattern, values: Tensor, x: Tensor, is_transposed: bool) -> Tensor:  # noqa: FBT001
        ctx.pattern, ctx.is_transposed = pattern, is_transposed
        ctx.save_for_backward(values, x if values.requires_grad else None)
        return _sum(pattern, values, x, is_transposed)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None, None]:
        values, x = ctx.saved_tensors
        pattern, gradient = ctx.pattern, gradient.contiguous()
        to_values = to_x = None
        if ctx.needs_input_grad[1]:
            rows, columns = (x, gradient) if ctx.is_transposed else (gradient, x)
            to_values = _sampling()(pattern, rows, columns)
        if ctx.needs_input_grad[2]:
            to_x = _summing()(pattern, values, gradient, not ctx.is_transposed)
        return None, to_values, to_x, None


class _ScoreEdges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
        ctx.pattern = pattern
        ctx.save_for_backward(a, b)
        return _sample(pattern, a, b)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None, Tensor | None]:
        a, b = ctx.saved_tensors
        pattern, gradient = ctx.pattern, gradient.contiguous()
        to_a = _summing()(pattern, gradient, b, False) if ctx.needs_input_grad[1] else None  # noqa: FBT003
        to_b = _summing()(pattern, gradient, a, True) if ctx.needs_input_grad[2] else None  # noqa: FBT003
        return None, to_a, to_b


class _SoftmaxRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, scores: Tensor) -> Tensor:
        rows = pattern.rows
        highest = torch.segment_reduce(scores, "max", offsets=pattern.offsets, unsafe=True)
        weights = (scores - highest.index_select(0, rows)).exp_()
        # The same guard as in PyG's softmax, which this replaces.
        weights /= (_sum_rows(pattern, weights) + 1e-16).index_select(0, rows)
        ctx.pattern = pattern
        ctx.save_for_backward(weights)
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        (weights,) = ctx.saved_tensors
        product = weights * gradient
        return None, product - weights * _sum_rows(ctx.pattern, product).index_select(0, ctx.pattern.rows)


def _summing() -> Callable[..., Any]:
    """Return what sums in a backward pass: with a gradient only where one of the gradient is asked for."""
    return _SumNeighbours.apply if torch.is_grad_enabled() else _sum  # type: ignore[no-any-return]


def _sampling() -> Callable[..., Any]:
    return _ScoreEdges.apply if torch.is_grad_enabled() else _sample  # type: ignore[no-any-return]


def _sum(pattern: Pattern, values: Tensor, x: Tensor, is_transposed: bool) -> Tensor:  # noqa: FBT001
    return (pattern.transposed_matrix if is_transposed else pattern.matrix)(values.detach()) @ x


def _sum_rows(pattern: Pattern, values: Tensor) -> Tensor:
    """Return the sum of the values of each row ``[n_rows]``."""
    if torch.is_grad_enabled():
        # For a gradient of a gradient, which segments do not have.
        return values.new_zeros(pattern.n_rows).index_add(0, pattern.rows, values)
    return torch.segment_reduce(values, "sum", offsets=pattern.offsets, unsafe=True)


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
    values = pattern.ones(x.dtype) if values is None else values
    return _SumNeighbours.apply(pattern, values, x, False)  # type: ignore[no-any-return]  # noqa: FBT003


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
