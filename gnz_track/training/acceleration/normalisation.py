"""Batch normalisation with what comes before and after it: a sum with other rows, an activation, another sum."""

from __future__ import annotations

import ctypes
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import Parameter, functional

from gnz_track.training.acceleration.compiled import _ACTIVATIONS as ACTIVATIONS
from gnz_track.training.acceleration.compiled import _differentiate as differentiate
from gnz_track.training.acceleration.compiled import serves
from gnz_track.training.acceleration.guards import may_normalise
from gnz_track.training.acceleration.library import Norm, kernels

__all__ = ["NARROWEST", "normalise"]

# Kernels take 16 columns at once; below so many numbers, calling them costs more than it saves.
NARROWEST, SMALLEST = 16, 1 << 14


def _pays(x: Tensor) -> bool:
    return x.size(1) >= NARROWEST and x.numel() >= SMALLEST


class _Call:
    """What a call knows beside its tensors, and what its way back needs."""

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
        return ctypes.byref(Norm(n, width, *places, ACTIVATIONS[self.activation][0]))


class _Normalise(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, moments: Tensor, *inputs: Tensor | None) -> Tensor:
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
    if not may_normalise(layer, x) or not serves(*rows, layer.weight, layer.bias):
        return None
    if any(one.shape != x.shape or not one.is_contiguous() for one in rows) or not _pays(x):
        return None
    call, moments = _Call(layer, activation), torch.empty(2, x.size(1))
    if not layer.training:
        return _normalise_as_known(layer, call, moments, x, before, after)
    if x.size(0) < 2:
        return None
    # As the layer itself does first of all; the kernel keeps what else is to be kept.
    layer.num_batches_tracked.add_(1)  # type: ignore[union-attr]
    return _Normalise.apply(call, moments, x, before, after, layer.weight, layer.bias)  # type: ignore[no-any-return]


def _normalise_as_known(
    layer: Any, call: _Call, moments: Tensor, x: Tensor, before: Tensor | None, after: Tensor | None
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
