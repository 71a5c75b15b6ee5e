"""Attention between all nodes of each graph of a batch, without filling the graphs up to the size of the largest."""

from __future__ import annotations

import ctypes
import math
from typing import Any

import torch
from torch import Tensor

from gnz_track.training.acceleration.compiled import _differentiate as differentiate
from gnz_track.training.acceleration.compiled import serves
from gnz_track.training.acceleration.library import AmongAll, kernels

__all__ = ["attend_among_all"]

# In larger graphs products are large enough for Torch's own.
LARGEST = 256


class _Call:
    """What a call knows beside its tensors, and what its way back needs."""

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
            query, key, value = part.view(len(part), 3, self.heads, -1).permute(1, 2, 0, 3)
            weights = (query @ key.transpose(1, 2) / math.sqrt(query.size(2))).softmax(dim=2)
            found.append((weights @ value).transpose(0, 1).reshape(len(part), across))
        return torch.cat(found) if n else codes[:, :across]


class _Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, call: _Call, codes: Tensor) -> Tensor:
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
    return _Attend.apply(_Call(starts, heads), codes)  # type: ignore[no-any-return]
