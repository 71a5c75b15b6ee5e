"""Functions of tensors by the compiled kernels, with gradients of any order.

Each function here has a twin in Torch that computes the same but for rounding. The twin computes where there are no
kernels, or where they do not serve: other types than float32, other devices, memory in another order. It also computes
gradients of gradients: the kernels' own gradients have none.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import Parameter

from gnz_track.training.acceleration.library import Attention, Gat, GatGradients, Products, kernels
from gnz_track.training.acceleration.patterns import Pattern

__all__ = ["Bits", "attend_by_products", "attend_by_sums", "serves", "sum_compiled"]

# As many numbers as ``kernels.cpp`` has room for.
MOST_HEADS = 64


def serves(*tensors: Tensor | None) -> bool:
    """Tell whether there are kernels, and tensors (None: there is none) are what they take."""
    return kernels() is not None and all(tensor is None or _is_usual(tensor) for tensor in tensors)


def _is_usual(tensor: Tensor) -> bool:
    is_plain = type(tensor) in {Tensor, Parameter}
    return is_plain and tensor.dtype is torch.float32 and tensor.is_cpu and tensor.layout is torch.strided


def _at(tensor: Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _differentiate(
    twin: Callable[..., Tensor], inputs: Sequence[Tensor | None], needs: Sequence[bool], gradient: Tensor
) -> list[Tensor | None]:
    """Return gradients of a twin that have gradients themselves.

    Parameters
    ----------
    twin
        The function in Torch.
    inputs
        What it was given.
    needs
        Whether the gradient of each is needed.
    gradient
        That of its output.
    """
    with torch.enable_grad():
        # Under names of their own: one input may have been computed from another.
        own = [None if one is None else one.view_as(one) for one in inputs]
        wanted = [one for one, is_needed in zip(own, needs, strict=True) if is_needed]
        found = iter(torch.autograd.grad(twin(*own), wanted, gradient, create_graph=True, allow_unused=True))
    return [next(found) if is_needed else None for is_needed in needs]


# ------------------------------------------------------------------------------------------------ sums over neighbours


class _Sum(torch.autograd.Function):
    """``A(values) @ x / divisors + bias``, where values and divisors are constant."""

    @staticmethod
    def forward(
        ctx: Any,
        twin: Callable[..., Tensor],
        pattern: Pattern,
        values: Tensor | None,
        divisors: Tensor | None,
        x: Tensor,
        bias: Tensor | None,
    ) -> Tensor:
        ctx.twin, ctx.pattern, ctx.values, ctx.divisors = twin, pattern, values, divisors
        ctx.save_for_backward(x, bias)
        x, out = x.contiguous(), torch.empty(pattern.n_rows, x.size(1))
        kernels().sum_neighbours(pattern.edges, x.size(1), *map(_at, (values, x, bias, divisors, out)))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        needs = ctx.needs_input_grad[4:]
        if torch.is_grad_enabled():
            return None, None, None, None, *_differentiate(ctx.twin, ctx.saved_tensors, needs, gradient)
        gradient, to_x, to_bias = gradient.contiguous(), None, None
        n, width = gradient.shape
        if needs[0]:
            to_x = torch.zeros(ctx.pattern.n_columns, width)
            places = map(_at, (ctx.values, gradient, ctx.divisors, to_x))
            kernels().spread_to_neighbours(ctx.pattern.edges, width, *places)
        if needs[1]:
            to_bias = torch.empty(width)
            kernels().sum_columns(_at(gradient), n, width, _at(to_bias))
        return None, None, None, None, to_x, to_bias


def sum_compiled(
    twin: Callable[..., Tensor],
    pattern: Pattern,
    x: Tensor,
    *,
    values: Tensor | None = None,
    divisors: Tensor | None = None,
    bias: Tensor | None = None,
) -> Tensor:
    """Return ``A(values) @ x / divisors + bias``, differentiable in x and bias.

    Parameters
    ----------
    twin
        Function of x and bias that computes the same in Torch.
    pattern
        Where A has entries.
    x
        Rows to sum, ``[n_columns, width]``.
    values
        Value of each entry, ``[n_entries]``; None: ones.
    divisors
        By which the sum of each row is divided, ``[n_rows]``; None: one.
    bias
        Added to each row, ``[width]``; None: nothing.
    """
    serving = serves(x, values, divisors, bias) and pattern.edges is not None and x.dim() == 2
    if not serving or (values is not None and values.requires_grad) or x.size(0) != pattern.n_columns:
        return twin(x, bias)
    if bias is not None and bias.shape != (x.size(1),):
        return twin(x, bias)
    return _Sum.apply(twin, pattern, values, divisors, x, bias)  # type: ignore[no-any-return]


# ----------------------------------------------------------------------------------------------------------- attention


class Bits:
    """Mask of dropout over attention weights ``[n_entries, heads]`` in the order of the given edges, and the scale."""

    def __init__(self, bits: Tensor | None, keep: float) -> None:
        self.bits, self.keep = bits, keep
        # As dropout computes it, in single precision.
        self.scale = float(torch.ones(1).div_(keep))


class _Heads:
    """What one call has of attention beside its inputs, and the weights after the softmax.

    ``number`` is the slope of the activation of scores, or the root of the width, by which they are divided.
    """

    def __init__(self, twin: Callable[..., Tensor], pattern: Pattern, heads: int, bits: Bits, number: float) -> None:
        self.twin, self.pattern, self.heads, self.bits, self.number = twin, pattern, heads, bits, number

    def serve(self, *wide: Tensor | None) -> bool:
        """Tell whether the kernels compute with inputs ``[n_nodes, heads * width]``."""
        is_square = self.pattern.n_rows == self.pattern.n_columns and self.pattern.edges is not None
        shapes = {tuple(tensor.shape) for tensor in wide if tensor is not None}
        n, *widths = shapes.pop()
        fits = not shapes and n == self.pattern.n_rows and len(widths) == 1 and widths[0] % self.heads == 0
        return is_square and fits and self.heads <= MOST_HEADS

    def begin(self, width: int) -> Attention:
        """Return the struct of the kernels, with room for weights."""
        self.weights = torch.empty(self.pattern.n_entries * self.heads)
        return self.struct(width)

    def struct(self, width: int) -> Attention:
        """Return the struct of the kernels."""
        edges, bits = ctypes.pointer(self.pattern.edges), _at(self.bits.bits)
        return Attention(edges, self.heads, width // self.heads, bits, self.bits.scale, _at(self.weights))


class _BySums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Heads, x: Tensor, *others: Tensor | None) -> Tensor:
        ctx.call = call
        ctx.save_for_backward(x, *others)
        x, (source, target, bias), out = x.contiguous(), others, torch.empty_like(x)
        ctx.products = [torch.empty(x.size(0) * call.heads) for _ in range(2)]
        gat = Gat(*map(_at, (x, source, target, *ctx.products)), call.number)
        kernels().gat_forward(call.begin(x.size(1)), gat, _at(bias), _at(out))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        call, needs = ctx.call, ctx.needs_input_grad[1:]
        if torch.is_grad_enabled():
            return None, *_differentiate(call.twin, ctx.saved_tensors, needs, gradient)
        x, source, target, _ = ctx.saved_tensors
        x, gradient = x.contiguous(), gradient.contiguous()
        found = [torch.zeros_like(one) for one in (x, source, target, *ctx.products)]
        gat = Gat(*map(_at, (x, source, target, *ctx.products)), call.number)
        kernels().gat_back(call.struct(x.size(1)), gat, _at(gradient), GatGradients(*map(_at, found)))
        to_bias = None
        if needs[3]:
            to_bias = torch.empty(x.size(1))
            kernels().sum_columns(_at(gradient), *x.shape, _at(to_bias))
        return None, *found[:3], to_bias


def attend_by_sums(
    twin: Callable[..., Tensor],
    pattern: Pattern,
    bits: Bits,
    slope: float,
    x: Tensor,
    vectors: tuple[Tensor, Tensor],
    bias: Tensor | None,
) -> Tensor:
    """Return the attention of GAT over x ``[n_nodes, heads * width]``, with a bias ``[heads * width]``.

    Parameters
    ----------
    twin
        Function of x, both vectors and bias that computes the same in Torch.
    pattern
        The edges.
    bits
        The mask of dropout.
    slope
        Of the leaky activation of scores.
    x
        What is summed.
    vectors
        For sources and for targets, ``[1, heads, width]``.
    bias
        Added to each row; None: nothing.
    """
    source, target = vectors
    call = _Heads(twin, pattern, source.size(1), bits, slope)
    fits = source.is_contiguous() and target.is_contiguous() and source.numel() == target.numel() == x.size(1)
    if not (serves(x, source, target, bias) and call.serve(x) and fits):
        return twin(x, source, target, bias)
    return _BySums.apply(call, x, source, target, bias)  # type: ignore[no-any-return]


class _ByProducts(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Heads, *inputs: Tensor | None) -> Tensor:
        ctx.call = call
        ctx.save_for_backward(*inputs)
        query, key, value, added = (None if one is None else one.contiguous() for one in inputs)
        out = torch.empty_like(value)
        products = Products(_at(query), _at(key), _at(value), call.number)
        kernels().products_forward(call.begin(out.size(1)), products, _at(added), _at(out))
        return out

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        call, needs = ctx.call, ctx.needs_input_grad[1:]
        if torch.is_grad_enabled():
            return None, *_differentiate(call.twin, ctx.saved_tensors, needs, gradient)
        inputs, gradient = [one.contiguous() for one in ctx.saved_tensors[:3]], gradient.contiguous()
        found = [torch.zeros_like(one) for one in inputs]
        products = Products(*map(_at, inputs), call.number)
        kernels().products_back(call.struct(gradient.size(1)), products, _at(gradient), *map(_at, found))
        return None, *found, gradient if needs[3] else None


def attend_by_products(
    twin: Callable[..., Tensor], pattern: Pattern, bits: Bits, heads: int, inputs: tuple[Any, ...]
) -> Tensor:
    """Return attention by products of queries and keys, over the root of their width.

    Parameters
    ----------
    twin
        Function of the inputs that computes the same in Torch.
    pattern
        The edges.
    bits
        The mask of dropout.
    heads
        How many heads lie side by side.
    inputs
        Query, key, value, and what is added, or None; all ``[n_nodes, heads * width]``.
    """
    call = _Heads(twin, pattern, heads, bits, (inputs[0].size(1) // heads) ** 0.5)
    if not (serves(*inputs) and call.serve(*inputs)):
        return twin(*inputs)
    return _ByProducts.apply(call, *inputs)  # type: ignore[no-any-return]
