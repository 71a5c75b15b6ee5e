"""Rows gathered along edges, by graph or by pair, and put together by the compiled kernels.

As those of :mod:`~gnz_track.training.acceleration.compiled`, each function has a twin in Torch, which computes
gradients of gradients. Where the kernels do not serve, the functions return None, and whoever asked computes in their
own way.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from gnz_track.training.acceleration.compiled import address_of, differentiate, is_left_to_torch, save, serves
from gnz_track.training.acceleration.library import kernels
from gnz_track.training.acceleration.patterns import Pattern

__all__ = ["POOLINGS", "find_largest", "keep", "multiply_in_torch", "multiply_pairs", "pool", "sum_rectified"]

# As in ``pooling.cpp``.
POOLINGS = {"sum": 0, "mean": 1, "max": 2}


def _is_index(tensor: Any, n: int | None = None) -> bool:
    """Tell whether this is a list of places as the kernels read it, of some length."""
    is_plain = type(tensor) is Tensor and tensor.dtype is torch.int64 and tensor.is_cpu and tensor.dim() == 1
    return is_plain and tensor.is_contiguous() and n in (None, tensor.numel())


# --------------------------------------------------------------------------------------------------- rows by an index


class _Pool(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor, out: Tensor, counts: Tensor, pooling: str) -> Tensor:
        ctx.pooling = pooling
        ctx.mark_dirty(out)
        # As Torch does: the numbers themselves are needed for the largest alone.
        save(ctx, *((x, index, out, counts) if pooling == "max" else (None, index, None, counts)))
        ctx.shape = x.shape
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, index, out, counts = saved = ctx.saved_tensors
        size = counts.numel()
        if not is_left_to_torch(ctx, saved):
            gradient, to_x = gradient.contiguous(), gradient.new_empty(ctx.shape)
            places = map(address_of, (x, out, counts, gradient, to_x))
            n, width = ctx.shape
            if kernels().pool_back(index.data_ptr(), n, size, width, POOLINGS[ctx.pooling], *places):
                return to_x, None, None, None, None
        # Sums do not look at what they sum, as long as it is of that shape.
        own, pooling = gradient.new_zeros(ctx.shape).requires_grad_() if x is None else x, ctx.pooling
        found = differentiate(lambda own: scatter(own, index, 0, size, pooling), [own], [True], gradient)
        return *found, None, None, None, None


def pool(x: Tensor, index: Tensor, size: int, pooling: str) -> Tensor | None:
    """Return the sums, means or largest ``[size, width]`` of the rows of x that have the same index; zero without any.

    Parameters
    ----------
    x
        ``[n, width]``.
    index
        Row of the result for each row of x, in any order ``[n]``.
    size
        How many rows the result has.
    pooling
        ``sum``, ``mean`` or ``max``.
    """
    if not serves(x) or x.dim() != 2 or not x.is_contiguous() or not _is_index(index, x.size(0)):
        return None
    out, counts = torch.empty(size, x.size(1)), torch.empty(size)
    places = (*x.shape[:1], size, x.size(1), POOLINGS[pooling], *map(address_of, (x, counts, out)))
    if not kernels().pool(index.data_ptr(), *places):
        return None
    return _Pool.apply(x, index, out, counts, pooling)  # type: ignore[no-any-return]


def keep(x: Tensor) -> Tensor:
    """Return x, or a copy that may be gone back through whatever is written into x until then.

    Torch gathers rows before it multiplies or compares them, and goes back through what it gathered.
    """
    return x.clone() if x.requires_grad and torch.is_grad_enabled() else x


# ------------------------------------------------------------------------------------------------- products of pairs


def multiply_in_torch(codes: Tensor, pairs: Tensor) -> Tensor:
    """Return the product of the codes of both nodes of each pair ``[n]``."""
    return (codes.index_select(0, pairs[0]) * codes.index_select(0, pairs[1])).sum(dim=-1)


class _MultiplyPairs(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, codes: Tensor, pairs: Tensor, out: Tensor) -> Tensor:
        ctx.mark_dirty(out)
        ctx.save_for_backward(codes, pairs)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, None, None]:
        codes, pairs = ctx.saved_tensors
        if torch.is_grad_enabled():
            found = differentiate(lambda own: multiply_in_torch(own, pairs), [codes], [True], gradient)
            return *found, None, None  # type: ignore[return-value]
        gradient, to_codes = gradient.contiguous(), torch.zeros_like(codes)
        places = map(address_of, (codes, gradient, to_codes))
        kernels().multiply_pairs_back(*_ends(pairs), pairs.size(1), codes.size(1), *places)
        return to_codes, None, None


def multiply_pairs(codes: Tensor, pairs: Tensor) -> Tensor | None:
    """Return the product of the codes of both nodes of each pair ``[n]``.

    Parameters
    ----------
    codes
        ``[n_nodes, width]``.
    pairs
        Places of two nodes ``[2, n]``.
    """
    fits = type(pairs) is Tensor and pairs.dtype is torch.int64 and pairs.is_cpu and pairs.dim() == 2
    if not fits or pairs.size(0) != 2 or pairs.stride(1) != 1 or not serves(codes) or not codes.is_contiguous():
        return None
    n, out = pairs.size(1), torch.empty(pairs.size(1))
    if codes.dim() != 2 or not kernels().multiply_pairs(*_ends(pairs), n, *codes.shape, *map(address_of, (codes, out))):
        return None
    kept = keep(codes)
    # Pairs are kept as the codes are: the kernels would not notice those that are none.
    pairs = pairs if kept is codes else pairs.clone(memory_format=torch.contiguous_format)
    return _MultiplyPairs.apply(kept, pairs, out)  # type: ignore[no-any-return]


def _ends(pairs: Tensor) -> tuple[int, int]:
    """Return where both rows of pairs ``[2, n]`` lie, each of them in one piece."""
    first = pairs.data_ptr()
    return first, first + pairs.stride(0) * pairs.element_size()


# ---------------------------------------------------------------------------------------------- rows along the edges


class _FindLargest(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, x: Tensor) -> Tensor:
        out = torch.empty(pattern.n_rows, x.size(1))
        kernels().find_largest(pattern.edges, x.size(1), address_of(x), address_of(out))
        ctx.pattern = pattern
        ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor | None]:
        (x, out), pattern = ctx.saved_tensors, ctx.pattern
        if torch.is_grad_enabled():
            return None, *differentiate(lambda own: _find_largest_in_torch(pattern, own), [x], [True], gradient)
        gradient, to_x = gradient.contiguous(), torch.zeros_like(x)
        places = map(address_of, (x, out, gradient, to_x))
        kernels().find_largest_back(pattern.edges, x.size(1), *places)
        return None, to_x


def _find_largest_in_torch(pattern: Pattern, x: Tensor) -> Tensor:
    return scatter(x.index_select(0, pattern.columns), pattern.rows.long(), 0, pattern.n_rows, "max")


def find_largest(pattern: Pattern, x: Tensor) -> Tensor:
    """Return the largest ``[n_rows, width]`` of the rows of x that a row has entries for; zero without any.

    Parameters
    ----------
    pattern
        The entries.
    x
        ``[n_columns, width]``.
    """
    serving = serves(x) and x.dim() == 2 and x.size(0) == pattern.n_columns and pattern.is_sound
    if not serving:
        return _find_largest_in_torch(pattern, x)
    return _FindLargest.apply(pattern, keep(x).contiguous())  # type: ignore[no-any-return]


class _SumRectified(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pattern: Pattern, x: Tensor, edge: Tensor) -> Tensor:
        ctx.pattern, out = pattern, torch.empty(pattern.n_rows, x.size(1))
        ctx.save_for_backward(x, edge)
        kernels().sum_rectified(pattern.ordered_edges, x.size(1), *map(address_of, (x, edge, out)))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        saved, pattern = ctx.saved_tensors, ctx.pattern
        if torch.is_grad_enabled():
            needs = ctx.needs_input_grad[1:]
            return None, *differentiate(lambda *own: _sum_rectified_in_torch(pattern, *own), saved, needs, gradient)
        gradient, found = gradient.contiguous(), [torch.zeros_like(one) for one in saved]
        places = map(address_of, (*saved, gradient, *found))
        kernels().sum_rectified_back(pattern.ordered_edges, gradient.size(1), *places)
        return None, *found


def _sum_rectified_in_torch(pattern: Pattern, x: Tensor, edge: Tensor) -> Tensor:
    sent = (x.index_select(0, pattern.columns) + edge.index_select(0, pattern.order)).relu()
    return scatter(sent, pattern.rows.long(), 0, pattern.n_rows, "sum")


def sum_rectified(pattern: Pattern, x: Tensor, edge: Tensor) -> Tensor:
    """Return the sum of ``relu(x + edge)`` over the entries of each row ``[n_rows, width]``.

    Parameters
    ----------
    pattern
        The entries.
    x
        Features of sources ``[n_columns, width]``.
    edge
        Features of edges, in the order as given ``[n_entries, width]``.
    """
    if not serves(x, edge) or not pattern.is_sound or x.size(0) != pattern.n_columns:
        return _sum_rectified_in_torch(pattern, x, edge)
    return _SumRectified.apply(pattern, keep(x).contiguous(), edge.contiguous())  # type: ignore[no-any-return]
