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

__all__ = ["DTYPES", "Pattern", "score_edges", "softmax_rows", "sum_neighbours"]

# What the sparse products of the CPU are made for.
DTYPES = frozenset({torch.float32, torch.float64})


class Pattern:
    """Positions of a sparse ``n_rows x n_columns`` matrix in CSR form, and of its transpose.

    Values of a pattern are vectors of shape ``[n_entries]`` in CSR order: by row, and within a row in the order in
    which the entries were given, so that sums run in the order of a scatter over the given list.
    """

    def __init__(self, pointers: Tensor, columns: Tensor, order: Tensor, n_columns: int) -> None:
        """Take CSR arrays ``pointers [n_rows + 1]`` and ``columns [n_entries]``; ``order`` is whence each entry came."""
        self.n_rows, self.n_columns = pointers.numel() - 1, n_columns
        self.order = order
        self.offsets = pointers
        # Half as wide indices are what the sparse products of the CPU work with.
        self.pointers, self.columns = pointers.int(), columns.int()
        self._rows: Tensor | None = None
        self._transposed: tuple[Tensor, Tensor, Tensor] | None = None
        self._ones: dict[torch.dtype, Tensor] = {}

    @classmethod
    def from_entries(cls, rows: Tensor, columns: Tensor, n_rows: int, n_columns: int) -> Pattern:
        """Make a pattern from the row and the column of each entry ``[n_entries]``, in any order."""
        order = torch.argsort(rows, stable=True)
        return cls(_pointers(rows, n_rows), columns[order], order, n_columns)

    @property
    def n_entries(self) -> int:
        """Number of entries."""
        return self.columns.numel()

    @property
    def rows(self) -> Tensor:
        """Row of each entry ``[n_entries]``."""
        if self._rows is None:
            self._rows = torch.repeat_interleave(
                torch.arange(self.n_rows, dtype=torch.int32), self.offsets.diff(), output_size=self.n_entries
            )
        return self._rows

    @property
    def transposed(self) -> tuple[Tensor, Tensor, Tensor]:
        """Pointers, columns and the position of each entry, for the transpose."""
        if self._transposed is None:
            order = torch.argsort(self.columns, stable=True)
            pointers = _pointers(self.columns, self.n_columns)
            self._transposed = (pointers.int(), self.rows[order], order.int())
        return self._transposed

    def ones(self, dtype: torch.dtype) -> Tensor:
        """Values of one ``[n_entries]``."""
        if dtype not in self._ones:
            self._ones[dtype] = torch.ones(self.n_entries, dtype=dtype)
        return self._ones[dtype]

    def matrix(self, values: Tensor) -> Tensor:
        """Return the sparse CSR matrix of some values ``[n_entries]``."""
        return torch.sparse_csr_tensor(
            self.pointers, self.columns, values, (self.n_rows, self.n_columns), check_invariants=False
        )

    def transposed_matrix(self, values: Tensor) -> Tensor:
        """Return the transpose of :meth:`matrix`."""
        pointers, columns, order = self.transposed
        return torch.sparse_csr_tensor(
            pointers, columns, values.index_select(0, order), (self.n_columns, self.n_rows), check_invariants=False
        )


def _pointers(index: Tensor, n: int) -> Tensor:
    pointers = torch.zeros(n + 1, dtype=torch.int64)
    torch.cumsum(torch.bincount(index, minlength=n), 0, out=pointers[1:])
    return pointers


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
    empty = pattern.matrix(pattern.ones(a.dtype))
    return torch.sparse.sampled_addmm(empty, a.contiguous(), b.t(), beta=0.0).values()


def sum_neighbours(pattern: Pattern, values: Tensor | None, x: Tensor) -> Tensor:
    """Return ``A(values) @ x``: ``[n_rows, width]`` from values ``[n_entries]`` (None: ones), x ``[n_columns, width]``.

    Differentiable in values and x.
    """
    return _SumNeighbours.apply(pattern, pattern.ones(x.dtype) if values is None else values, x)  # type: ignore[no-any-return]


def score_edges(pattern: Pattern, a: Tensor, b: Tensor) -> Tensor:
    """Return ``<a[row], b[column]>`` of each entry: ``[n_entries]`` from a ``[n_rows, w]`` and b ``[n_columns, w]``.

    Differentiable in a and b.
    """
    return _ScoreEdges.apply(pattern, a, b)  # type: ignore[no-any-return]


def softmax_rows(pattern: Pattern, scores: Tensor) -> Tensor:
    """Normalise scores ``[n_entries]`` to sum to one within each row; differentiable."""
    return _SoftmaxRows.apply(pattern, scores)  # type: ignore[no-any-return]
