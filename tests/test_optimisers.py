"""Our Adam is Torch's in every bit, and does without Torch's compiler."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_pre_hook

from gnz_track.optimisers import Adam

ROOT = Path(__file__).resolve().parents[1]
SETTINGS: list[dict[str, Any]] = [
    {"lr": 0.01, "fused": True},
    {"lr": 0.01, "weight_decay": 5e-4, "fused": True},
    {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3, "fused": True},
    {"lr": 0.1, "maximize": True, "fused": True},
    {"lr": 0.1},
    {"lr": 0.1, "amsgrad": True, "foreach": False},
]


def _train(make: Callable[..., torch.optim.Optimizer], settings: dict[str, Any]) -> list[Tensor]:
    """Return parameters after steps with gradients of all sizes, a smaller rate half-way, and one without gradient."""
    generator = torch.Generator().manual_seed(3)
    held = [torch.randn(shape, generator=generator).requires_grad_() for shape in ((17, 5), (1,), (64,), (3,))]
    optimiser = make(held, **settings)
    for step in range(20):
        optimiser.zero_grad()
        for parameter in held[:-1]:
            parameter.grad = torch.randn(parameter.shape, generator=generator) * 10.0 ** (-step % 5)
        if step == 10:
            optimiser.param_groups[0]["lr"] /= 2
        optimiser.step()
    state = optimiser.state_dict()["state"]
    return [*(parameter.detach() for parameter in held), *(state[place]["exp_avg_sq"] for place in range(3))]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_steps_are_those_of_torch(settings: dict[str, Any]) -> None:
    ours, theirs = _train(Adam, settings), _train(torch.optim.Adam, settings)
    assert all(torch.equal(one, other) for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_groups_and_parameters_of_several_kinds(dtype: torch.dtype) -> None:
    def train(make: Callable[..., torch.optim.Optimizer]) -> list[Tensor]:
        generator = torch.Generator().manual_seed(5)
        held = [torch.randn(9, generator=generator).to(kind).requires_grad_() for kind in (dtype, torch.float32)]
        groups = [{"params": held[:1]}, {"params": held[1:], "lr": 0.3, "weight_decay": 0.1}]
        optimiser = make(groups, lr=0.01, fused=True)
        for step in range(6):
            # One has no gradient at first, and none at the end.
            for one in held[: 1 + (1 < step < 5)]:
                one.grad = torch.randn(9, generator=generator).to(one.dtype)
            optimiser.step()
            optimiser.zero_grad(set_to_none=step % 2 == 0)
        return [one.detach() for one in held]

    assert all(map(torch.equal, train(Adam), train(torch.optim.Adam)))


def test_who_waits_for_a_step_is_told() -> None:
    parameter, told = torch.ones(2, requires_grad=True), []
    parameter.grad, optimiser = torch.ones(2), Adam([parameter], lr=0.1, fused=True)
    optimiser.step()
    for wait in (optimiser.register_step_post_hook, register_optimizer_step_pre_hook):
        handle = wait(lambda *_: told.append("told"))
        optimiser.step()
        handle.remove()
    optimiser.step()
    assert told == ["told", "told"]


def test_gradients_are_recorded_after_a_step_as_before() -> None:
    parameter = torch.ones(2, requires_grad=True)
    optimiser = Adam([parameter], lr=0.1)
    parameter.sum().backward()
    optimiser.step()
    assert torch.is_grad_enabled()
    optimiser.zero_grad()
    assert parameter.grad is None


def test_steps_do_without_the_compiler() -> None:
    code = (
        "import sys, torch; from gnz_track.optimisers import Adam; p = torch.ones(2, requires_grad=True); "
        "o = Adam([p], lr=0.1, fused=True); p.sum().backward(); o.step(); o.zero_grad(); "
        "ours = 'torch._dynamo' in sys.modules; torch.optim.Adam([p]); print(ours, 'torch._dynamo' in sys.modules)"
    )
    found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    # Theirs does not: the second word tells when ours is no longer needed.
    assert found.stdout.split() == ["False", "True"]
