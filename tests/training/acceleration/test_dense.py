"""Dense products by compiled kernels: bit by bit what Torch computes, or Torch itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from gnz_track.training.acceleration import accelerate, dense


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


needs_bits = pytest.mark.skipif(
    not dense._has_torchs_bits(),  # noqa: SLF001
    reason="here products are Torch's own",
)
# Sums in one part, in two halves, and in several parts.
_SUMMED = st.one_of(st.integers(16, 192), st.integers(193, 384), st.integers(385, 1100))


def _draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape)))


@needs_bits
@settings(deadline=None, max_examples=60, derandomize=True)
@given(st.integers(16, 3000), _SUMMED, st.integers(16, 400))
def test_products_have_the_bits_of_torch(n: int, inputs: int, outputs: int) -> None:
    x, weight, bias, y = _draw(n, inputs), _draw(outputs, inputs), _draw(outputs), _draw(n, outputs)
    assert torch.equal(dense.multiply(x, weight, bias), functional.linear(x, weight, bias))
    assert torch.equal(dense.multiply(x, weight), functional.linear(x, weight))
    assert torch.equal(dense.multiply(y, weight, is_turned=False), y @ weight)
    assert torch.equal(dense.multiply_turned(y, x), y.t() @ x)


@needs_bits
@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(("n", "inputs", "outputs"), [(900, 68, 68), (333, 144, 101), (4000, 20, 272), (640, 87, 261)])
def test_a_map_and_all_its_gradients_have_the_bits_of_torch(n: int, inputs: int, outputs: int, has_bias: Any) -> None:
    torch.manual_seed(0)
    layer, x = torch.nn.Linear(inputs, outputs, bias=has_bias), _draw(n, inputs).requires_grad_()
    wanted = [x, *layer.parameters()]
    expected = layer(x)
    fast = accelerate(layer)(x)
    assert type(fast.grad_fn).__name__ == "_MapBackward"
    assert torch.equal(fast, expected)
    for probe in (_draw(n, outputs, seed=1), torch.ones(1, 1).expand(n, outputs)):
        pairs = [torch.autograd.grad(one, wanted, probe, retain_graph=True) for one in (fast, expected)]
        assert all(map(torch.equal, *pairs))
    second = [
        torch.autograd.grad(
            torch.autograd.grad(one.square().sum(), x, create_graph=True)[0].square().sum(), layer.weight
        )[0]
        for one in (fast, expected)
    ]
    torch.testing.assert_close(*second)


def test_what_does_not_pay_or_is_not_known_is_left_to_torch() -> None:
    layer = accelerate(torch.nn.Linear(64, 64))
    large = _draw(2000, 64)
    for x in (large[:20], large.double(), large.t()[:, :64].contiguous().t(), _draw(50, 40, 64)):
        layer.to(x.dtype)
        assert type(layer(x).grad_fn).__name__ != "_MapBackward"
    layer.float()
    torch.set_num_threads(2)
    assert type(layer(large).grad_fn).__name__ != "_MapBackward"


@needs_bits
@pytest.mark.parametrize("outputs", [15, 16, 17])
def test_a_map_has_the_same_bits_where_no_dense_product_serves(outputs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    linear, x = accelerate(torch.nn.Linear(64, outputs)), _draw(1200, 64).requires_grad_()

    def compute() -> list[torch.Tensor]:
        y = linear(x)
        return [y, *torch.autograd.grad(y.square().sum(), (x, linear.weight, linear.bias))]

    found = compute()
    monkeypatch.setattr(dense, "_has_torchs_bits", lambda: False)
    for mine, elsewhere in zip(found, compute(), strict=True):
        assert torch.equal(mine, elsewhere)
