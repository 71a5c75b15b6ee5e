"""Optimisers that train: Torch's own, without the import of its compiler that they begin with."""

from __future__ import annotations

import inspect

import torch

__all__ = ["Adam"]


class Adam(torch.optim.Adam):
    """Torch's Adam, number for number.

    Torch wraps methods of optimisers so that its compiler leaves them alone, and imports the compiler for that, which
    takes as long as Torch itself. Nothing is compiled here: the methods are those inside the wrappers.
    """

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))
