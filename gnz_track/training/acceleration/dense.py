"""Dense products with the bits of Torch's own, sooner on processors of AMD with 512-bit vectors.

MKL leaves half of these vectors unused there. The compiled kernels add up in its order, with its rounding: products are
equal bit by bit, so that it is not to be told from any number which of them computed. That holds for some versions of
MKL on some processors, so it is tried once per process before it is relied upon; elsewhere, and for shapes in which
MKL takes another order, Torch computes.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from gnz_track.training.acceleration.compiled import MOST_OUTPUTS, differentiate, is_left_to_torch, save, serves
from gnz_track.training.acceleration.library import kernels

__all__ = ["map_compiled", "multiply", "multiply_turned"]

# Below this many products, calling costs more than it saves. MKL has ways of its own for few columns, and so have the
# kernels of every level: a map that those take where these do not serve would not have the same bits everywhere.
SMALLEST = 1 << 20
NARROWEST = MOST_OUTPUTS + 1
# Sums of an odd number of products between these are not always added up in one order.
_HALVES = range(193, 384)
# Rows, inputs, outputs; sums in one part, in two halves, in several parts, and in rows that fill no vector.
_TRIED = ((96, 64, 32), (130, 250, 33), (40, 500, 71), (777, 48, 19))


@functools.cache
def _has_torchs_bits() -> bool:
    """Tell whether the kernels multiply well on this processor, and give the bits that Torch gives."""
    if kernels() is None or not kernels().multiplies_well():
        return False
    generator = torch.Generator().manual_seed(20243)
    for n, inputs, outputs in _TRIED:
        x, weight, y = (
            torch.randn(size, generator=generator) for size in ((n, inputs), (outputs, inputs), (n, outputs))
        )
        bias, found = torch.randn(outputs, generator=generator), [torch.empty(n, outputs) for _ in range(2)]
        back, turned = torch.empty(n, inputs), torch.empty(outputs, inputs)
        _multiply_rows(x, weight, bias, found[0], is_turned=True)
        _multiply_rows(x, weight, None, found[1], is_turned=True)
        _multiply_rows(y, weight, None, back, is_turned=False)
        kernels().multiply_turned(n, outputs, inputs, y.data_ptr(), x.data_ptr(), turned.data_ptr())
        expected = (functional.linear(x, weight, bias), functional.linear(x, weight), y @ weight, y.t() @ x)
        if not all(map(torch.equal, (*found, back, turned), expected)):
            return False
    return True


def _multiply_rows(x: Tensor, weight: Tensor, bias: Tensor | None, out: Tensor, *, is_turned: bool) -> None:
    places = (x.data_ptr(), weight.data_ptr(), int(is_turned), None if bias is None else bias.data_ptr())
    kernels().multiply_rows(*x.shape, out.size(1), *places, out.data_ptr())


def _pays(rows: int, summed: int, columns: int) -> bool:
    """Tell whether a product ``[rows, summed] @ [summed, columns]`` is of a size that is known and pays."""
    is_large = rows * summed * columns >= SMALLEST and min(rows, summed, columns) >= NARROWEST
    is_known = summed % 2 == 0 or summed not in _HALVES
    # Torch would divide the work among its threads.
    return is_large and is_known and torch.get_num_threads() == 1 and _has_torchs_bits()


def _is_whole(*tensors: Tensor | None) -> bool:
    return all(tensor is None or tensor.is_contiguous() for tensor in tensors)


def multiply(x: Tensor, weight: Tensor, bias: Tensor | None = None, *, is_turned: bool = True) -> Tensor:
    """Return ``x @ weight.T + bias``, or, where it is not turned, ``x @ weight``; without gradients.

    Parameters
    ----------
    x
        ``[n, inputs]``, contiguous.
    weight
        ``[outputs, inputs]``, or not turned ``[inputs, outputs]``; contiguous.
    bias
        ``[outputs]``; None: nothing.
    is_turned
        Which of both.
    """
    outputs = weight.size(0) if is_turned else weight.size(1)
    if not _pays(*x.shape, outputs):
        return functional.linear(x, weight, bias) if is_turned else x @ weight
    out = torch.empty(x.size(0), outputs)
    _multiply_rows(x, weight, bias, out, is_turned=is_turned)
    return out


def multiply_turned(left: Tensor, right: Tensor) -> Tensor:
    """Return ``left.T @ right`` of contiguous ``[n, a]`` and ``[n, b]``; without gradients."""
    n, a, b = *left.shape, right.size(1)
    if not _pays(a, n, b):
        return left.t() @ right
    out = torch.empty(a, b)
    kernels().multiply_turned(n, a, b, left.data_ptr(), right.data_ptr(), out.data_ptr())
    return out


class _Map(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        save(ctx, x, weight, bias)
        return multiply(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        needs, saved = ctx.needs_input_grad, ctx.saved_tensors
        if is_left_to_torch(ctx, saved):
            return tuple(differentiate(functional.linear, saved, needs, gradient))
        x, weight, _ = saved
        gradient = gradient.contiguous()
        return (
            multiply(gradient, weight, is_turned=False) if needs[0] else None,
            multiply_turned(gradient, x) if needs[1] else None,
            gradient.sum(dim=0) if needs[2] else None,
        )


def map_compiled(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
    """Return ``x @ weight.T + bias`` with the bits that Torch gives, or None where that takes Torch itself.

    Parameters
    ----------
    x
        ``[n, inputs]``.
    weight
        ``[outputs, inputs]``.
    bias
        ``[outputs]``; None: nothing.
    """
    if x.dim() != 2 or weight.dim() != 2 or x.size(1) != weight.size(1) or not _pays(*x.shape, weight.size(0)):
        return None
    if not serves(x, weight, bias) or not _is_whole(x, weight, bias):
        return None
    if bias is not None and bias.shape != weight.shape[:1]:
        return None
    return _Map.apply(x, weight, bias)  # type: ignore[no-any-return]
