"""Optimisers that train: Torch's own, without the import of its compiler that they begin with."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import increment_version
from torch.optim import optimizer as optimizers

__all__ = ["Adam"]

_zero_grad = inspect.unwrap(torch.optim.Adam.zero_grad)
_step = torch.optim.Optimizer.profile_hook_step(torch.no_grad()(inspect.unwrap(torch.optim.Adam.step)))

# Of a group, what the short way of a step takes for granted.
_USUAL = dict.fromkeys(("amsgrad", "maximize", "capturable", "differentiable", "decoupled_weight_decay"), False)


class Adam(torch.optim.Adam):  # type: ignore[misc]
    """Torch's Adam, number for number.

    Torch wraps methods of optimisers so that its compiler leaves them alone, and imports the compiler for that, which
    takes as long as Torch itself. Nothing is compiled here: the methods are those inside the wrappers. Steps of the
    fused kind on a CPU, once there is something to step from, call what does the work without a way through hooks,
    devices and types, which in small models takes longer than the work.
    """

    add_param_group = inspect.unwrap(torch.optim.Adam.add_param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:  # noqa: FBT001, FBT002  (so Torch has it)
        """Forget gradients."""
        if not set_to_none:
            _zero_grad(self, set_to_none=False)
            return
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.grad = None

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step along the gradients; parameters count it as a write, which Torch's fused kind forgets."""
        found = self._step(closure)
        increment_version([one for group in self.param_groups for one in group["params"]])
        return found

    def _step(self, closure: Callable[[], Any] | None) -> Any:
        is_usual = closure is None and not self._is_watched()
        found = [lists for group in self.param_groups if is_usual and (lists := self._read(group))]
        if len(found) < len(self.param_groups):
            return _step(self, closure)
        with torch.no_grad():
            for lists, group in zip(found, self.param_groups, strict=True):
                *_, steps = lists
                torch._foreach_add_(steps, 1)
                beta1, beta2 = group["betas"]
                torch._fused_adam_(
                    *lists[:4],
                    [],
                    steps,
                    lr=group["lr"],
                    beta1=beta1,
                    beta2=beta2,
                    weight_decay=group["weight_decay"],
                    eps=group["eps"],
                    amsgrad=False,
                    maximize=False,
                )
        return None

    # Torch would wrap it otherwise, once more.
    step.hooked = True  # type: ignore[attr-defined]

    def _is_watched(self) -> bool:
        """Tell whether anybody waits for a step, or scales gradients."""
        own = vars(self)
        watchers = (own["_optimizer_step_pre_hooks"], own["_optimizer_step_post_hooks"])
        everywhere = (optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks)  # noqa: SLF001
        return any(watchers) or any(everywhere) or "grad_scale" in own or "found_inf" in own

    def _read(self, group: dict[str, Any]) -> tuple[list[Tensor], ...] | None:
        """Return parameters, gradients, both averages and numbers of steps; None where only the long way will do."""
        is_usual = group["fused"] is True and all(group[name] is value for name, value in _USUAL.items())
        if not is_usual or not all(isinstance(value, float | int) for value in (group["lr"], *group["betas"])):
            return None
        lists: tuple[list[Tensor], ...] = ([], [], [], [], [])
        for parameter in group["params"]:
            gradient, state = parameter.grad, self.state.get(parameter)
            if gradient is None:
                continue
            is_plain = parameter.dtype is torch.float32 and parameter.is_cpu and gradient.layout is torch.strided
            if not state or not is_plain:
                return None
            found = (parameter, gradient, state["exp_avg"], state["exp_avg_sq"], state["step"])
            for one, items in zip(found, lists, strict=True):
                items.append(one)
        return lists if lists[0] else None
