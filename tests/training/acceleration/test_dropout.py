"""Dropout: bit for bit that of Torch, and the generator with it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from gnz_track.training.acceleration.dropout import PIECE, draw_mask, drop

Drop = Callable[[Tensor], Tensor]


def _run(function: Drop, x: Tensor, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return the output, the gradient of a weighted sum of it, and the state of the generator."""
    x = x.clone(memory_format=torch.preserve_format).requires_grad_()
    torch.manual_seed(seed)
    out = function(x)
    state = torch.get_rng_state()
    probe = torch.arange(out.numel(), dtype=out.dtype).view_as(out).sin()
    (gradient,) = torch.autograd.grad((out * probe).sum(), x)
    return out.detach(), gradient, state


def _assert_same(x: Tensor, p: float, *, training: bool = True, seed: int = 0) -> None:
    found = _run(lambda x: drop(x, p, training=training), x, seed)
    expected = _run(lambda x: functional.dropout(x, p, training=training), x, seed)
    assert all(map(torch.equal, found, expected))


@settings(deadline=None, max_examples=150)
@given(
    shape=st.lists(st.integers(0, 7), min_size=1, max_size=4),
    p=st.floats(0.0, 1.0),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 2**32),
)
def test_any_shape_and_any_probability(shape: list[int], p: float, dtype: torch.dtype, seed: int) -> None:
    _assert_same(torch.ones(shape, dtype=dtype) * 1.7, p, seed=seed)


@pytest.mark.parametrize("size", [PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 2 * PIECE + 3, 16, 15, 17, 1])
def test_sizes_around_the_pieces(size: int) -> None:
    _assert_same(torch.linspace(-1, 1, size), 0.6)
    found, expected = (torch.Generator().manual_seed(1).get_state() for _ in range(2))
    assert torch.equal(found, expected)


@pytest.mark.parametrize(
    "x",
    [
        torch.randn(6, 5).t(),
        torch.randn(6, 10)[:, ::2],
        torch.randn(4, 1).expand(4, 5),
        torch.tensor(2.0),
        torch.tensor([float("nan"), float("inf"), -0.0, 1.0]),
    ],
    ids=["transposed", "strided", "expanded", "scalar", "not finite"],
)
def test_other_layouts_and_odd_values(x: Tensor) -> None:
    torch.manual_seed(3)
    found = drop(x, 0.5, training=True)
    state = torch.get_rng_state()
    torch.manual_seed(3)
    expected = functional.dropout(x, 0.5, training=True)
    torch.testing.assert_close(found, expected, rtol=0, atol=0, equal_nan=True)
    assert torch.equal(state, torch.get_rng_state())


def test_evaluation_and_zero_probability_draw_nothing() -> None:
    x = torch.randn(10)
    before = torch.get_rng_state()
    assert torch.equal(drop(x, 0.9, training=False), x)
    assert torch.equal(drop(x, 0.0, training=True), x)
    assert not drop(x, 1.0, training=True).any()
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("p", [-0.1, 1.1])
def test_a_probability_out_of_range_is_refused(p: float) -> None:
    with pytest.raises(ValueError, match="probability has to be between 0 and 1"):
        drop(torch.ones(3), p, training=True)


def test_the_mask_is_true_as_often_as_it_should_be() -> None:
    torch.manual_seed(0)
    n, keep = 200_000, 0.3
    share = draw_mask(n, keep).double().mean().item()
    assert abs(share - keep) < 5 * (keep * (1 - keep) / n) ** 0.5
