"""Sparse features against the dense tensor that they pass for, in programs that Hypothesis writes.

A program reads features, takes views of them, keeps these, writes into any of what it holds by any name, multiplies
and drops out. Each step is taken by both; what both hold afterwards, and every gradient, has to be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from gnz_track.training.acceleration import SparseFeatures, sparsify
from gnz_track.training.lent import lend

N_NODES, WIDTH = 6, 33
_generator = torch.Generator().manual_seed(0)
DENSE = torch.where(
    torch.rand(N_NODES, WIDTH, generator=_generator) < 0.1,
    torch.randn(N_NODES, WIDTH, generator=_generator, dtype=torch.float64),
    0.0,
)
WEIGHT = torch.randn(WIDTH, WIDTH, generator=_generator, dtype=torch.float64)
BIAS = torch.randn(WIDTH, generator=_generator, dtype=torch.float64)
# Those that are trusted are for models that write into nothing.
FORMS: dict[str, Callable[[Tensor], Tensor]] = {
    "of one's own": sparsify,
    "lent": lambda x: lend(sparsify(x, is_trusted=True)),
    "dropped": lambda x: functional.dropout(sparsify(torch.where(x == 0, x, x / 2)), 0.5, training=True),
}


def _write_item(x: Tensor) -> None:
    x[1:2] = 3.0


def _write_data(x: Tensor) -> None:
    x.data = x.data.clone() * 1.5


# What makes something new, a view or not, out of something held.
READS: dict[str, Callable[[Any], Any]] = {
    "itself": lambda x: x,
    "linear": lambda x: functional.linear(x, WEIGHT[:, : x.size(-1)], BIAS),
    "product": lambda x: x @ WEIGHT[: x.size(-1)],
    "from the left": lambda x: WEIGHT[:, : x.size(0)] @ x,
    "dropout": lambda x: functional.dropout(x, 0.4, training=True),
    "no dropout": lambda x: functional.dropout(x, 0.4, training=False),
    "sum": lambda x: x + 1,
    "multiple": lambda x: x * 2,
    "rectified": lambda x: x.relu(),
    "transposed": lambda x: x.t(),
    "flat": lambda x: x.reshape(-1)[: N_NODES * 2].view(2, -1),
    "rows": lambda x: x[1:4],
    "columns": lambda x: x[:, ::2],
    "chosen rows": lambda x: x[[0, 1]],
    "detached": lambda x: x.detach(),
    "data": lambda x: x.data,
    "cloned": lambda x: x.clone(),
    "contiguous": lambda x: x.contiguous(),
    "joined": lambda x: torch.cat([x, x]),
    "there and back": lambda x: torch.from_numpy(x.detach().numpy()),
    "moved": lambda x: x.to("cpu"),
    "in another precision": lambda x: x.float().double(),
    "expanded": lambda x: x.unsqueeze(0)[0],
    "split": lambda x: x.split(2)[-1],
    "unbound": lambda x: torch.stack(x.unbind(0)),
    "normalised": lambda x: functional.normalize(x, p=1.0),
}
# What writes into something held; None of them returns anything new.
WRITES: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(0.5),
    "mul_": lambda x: x.mul_(2),
    "item": _write_item,
    "data.mul_": lambda x: x.data.mul_(3),
    "data =": _write_data,
    "numpy": lambda x: x.detach().numpy().fill(0.25),
    "zero_": lambda x: x.zero_(),
    "view": lambda x: x[0].fill_(7.0),
    "view's data": lambda x: x[-1].data.fill_(2.0),
    "relu_": lambda x: functional.relu(x, inplace=True),
    "dropout": lambda x: functional.dropout(x, 0.5, training=True, inplace=True),
    "DLPack": lambda x: torch.from_dlpack(x.detach())[0].mul_(2),
    "requires_grad_": lambda x: x.requires_grad_() if x.is_leaf else None,
}

Step = tuple[str, str, int]
PROGRAMS = st.lists(
    st.one_of(
        st.tuples(st.just("read"), st.sampled_from(sorted(READS)), st.integers(0, 9)),
        st.tuples(st.just("write"), st.sampled_from(sorted(WRITES)), st.integers(0, 9)),
    ),
    max_size=8,
)


def _run(x: Tensor, program: list[Step]) -> tuple[list[Any], list[str]]:
    """Return all that a program holds at its end, with gradients, and what it was refused."""
    torch.manual_seed(1)
    held: list[Any] = [x]
    refused: list[str] = []

    def attempt(what: str, act: Callable[[], Any]) -> list[Any]:
        try:
            return [act()]
        except (RuntimeError, IndexError, ValueError) as error:
            refused.append(f"{what}: {type(error).__name__}")
            return []

    for place, (kind, name, which) in enumerate(program):
        target = held[which % len(held)]
        given = attempt(f"{place}", lambda target=target, name=name: {**READS, **WRITES}[name](target))
        held += given if kind == "read" else []
    found = attempt("at last", lambda: functional.linear(x, WEIGHT[:, : x.size(-1)]))
    found += [copied for item in held for copied in attempt("copying", lambda item=item: item + 0)]
    total: Any = sum((item * item.detach().cos()).sum() for item in found)
    traits = [attempt("asking", lambda item=item: torch.tensor([item.requires_grad, item.is_leaf])) for item in held]
    wanted = [item for item, trait in zip(held, traits, strict=True) if trait and trait[0][0]]
    if wanted and total.requires_grad:
        for gradients in attempt("gradients", lambda: torch.autograd.grad(total, wanted, allow_unused=True)):
            found += gradients
    found += [trait for asked in traits for trait in asked]
    return [item.detach().clone() if isinstance(item, Tensor) else item for item in found], refused


def _assert_alike(program: list[Step], form: str) -> None:
    torch.manual_seed(2)
    mine = FORMS[form](DENSE.clone())
    assert type(mine) is SparseFeatures
    torch.manual_seed(2)
    dropped = functional.dropout(torch.where(DENSE == 0, DENSE, DENSE / 2), 0.5, training=True)
    theirs = dropped if form == "dropped" else DENSE.clone()
    found, refused = _run(mine, program)
    expected, refused_too = _run(theirs, program)
    assert refused == refused_too
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10, equal_nan=True)


@settings(deadline=None, max_examples=300, derandomize=True)
@given(PROGRAMS, st.sampled_from(sorted(FORMS)))
def test_any_program(program: list[Step], form: str) -> None:
    _assert_alike(program, form)


@pytest.mark.slow
@settings(deadline=None, max_examples=20_000)
@given(PROGRAMS, st.sampled_from(sorted(FORMS)))
def test_any_program_for_long(program: list[Step], form: str) -> None:
    _assert_alike(program, form)


def test_features_that_miss_a_write_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparseFeatures, "become_dense", lambda _: None)
    with pytest.raises(AssertionError):
        _assert_alike([("write", "data.mul_", 0)], "lent")
