"""Products against dense references, and their gradients against finite differences."""

from __future__ import annotations

import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.utils import softmax

from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.products import score_edges, softmax_rows, sum_neighbours

Case = tuple[Pattern, int]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a pattern, with empty rows and repeated entries, and a width."""
    n_rows, n_columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    pairs = st.tuples(st.integers(0, n_rows - 1), st.integers(0, n_columns - 1))
    return _pattern(n_rows, n_columns, draw(st.lists(pairs, max_size=10))), draw(st.integers(1, 3))


def _pattern(n_rows: int, n_columns: int, pairs: list[tuple[int, int]]) -> Pattern:
    rows, columns = torch.tensor(pairs, dtype=torch.int64).view(-1, 2).t()
    return Pattern.from_entries(rows, columns, n_rows, n_columns)


EMPTY = (_pattern(2, 3, []), 2)
DOUBLE = (_pattern(3, 2, [(2, 1), (0, 0), (2, 1), (2, 0)]), 2)
MORE_ENTRIES_THAN_PLACES = (_pattern(1, 2, [(0, 1), (0, 1), (0, 0)]), 2)


def _numbers(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()


def _dense(pattern: Pattern, values: Tensor) -> Tensor:
    zeros = torch.zeros(pattern.n_rows, pattern.n_columns, dtype=values.dtype)
    return zeros.index_put((pattern.rows.long(), pattern.columns.long()), values, accumulate=True)


@settings(deadline=None, max_examples=40)
@given(cases())
@example(EMPTY)
@example(DOUBLE)
@example(MORE_ENTRIES_THAN_PLACES)
def test_sum_over_neighbours(case: Case) -> None:
    pattern, width = case
    values, x = _numbers(pattern.n_entries), _numbers(pattern.n_columns, width, seed=1)
    torch.testing.assert_close(sum_neighbours(pattern, values, x), _dense(pattern, values) @ x)
    ones = torch.ones(pattern.n_entries, dtype=torch.float64)
    torch.testing.assert_close(sum_neighbours(pattern, None, x), _dense(pattern, ones) @ x)
    assert torch.autograd.gradcheck(lambda values, x: sum_neighbours(pattern, values, x), (values, x))
    # Where only one of the two wants a gradient, as constant weights and first layers do.
    assert torch.autograd.gradcheck(lambda x: sum_neighbours(pattern, values.detach(), x), (x,))
    assert torch.autograd.gradcheck(lambda values: sum_neighbours(pattern, values, x.detach()), (values,))


@settings(deadline=None, max_examples=40)
@given(cases())
@example(EMPTY)
@example(DOUBLE)
@example(MORE_ENTRIES_THAN_PLACES)
def test_scores_of_edges(case: Case) -> None:
    pattern, width = case
    a, b = _numbers(pattern.n_rows, width), _numbers(pattern.n_columns, width, seed=1)
    expected = (a @ b.t())[pattern.rows.long(), pattern.columns.long()]
    torch.testing.assert_close(score_edges(pattern, a, b), expected)
    assert torch.autograd.gradcheck(lambda a, b: score_edges(pattern, a, b), (a, b))
    assert torch.autograd.gradcheck(lambda b: score_edges(pattern, a.detach(), b), (b,))


@settings(deadline=None, max_examples=40)
@given(cases())
@example(EMPTY)
@example(DOUBLE)
@example(MORE_ENTRIES_THAN_PLACES)
def test_softmax_within_rows(case: Case) -> None:
    pattern, _ = case
    scores = _numbers(pattern.n_entries)
    weights = softmax_rows(pattern, scores)
    torch.testing.assert_close(weights, softmax(scores, pattern.rows.long(), num_nodes=pattern.n_rows))
    sums = _dense(pattern, weights.detach()).sum(1)
    assert torch.allclose(sums, (pattern.offsets.diff() > 0).double())
    assert torch.autograd.gradcheck(lambda scores: softmax_rows(pattern, scores), (scores,))


def test_softmax_of_large_scores_is_finite() -> None:
    pattern, _ = DOUBLE
    weights = softmax_rows(pattern, torch.tensor([1e4, -1e4, 1e4, 1e4 + 1], dtype=torch.float64))
    assert weights[0] == 1
    assert torch.isfinite(weights).all()


def test_gradients_that_are_not_contiguous() -> None:
    pattern, _ = DOUBLE
    values, x = _numbers(pattern.n_entries), _numbers(2, 3)
    found = torch.autograd.grad(sum_neighbours(pattern, values, x).t().sum(0).square().sum(), (values, x))
    expected = torch.autograd.grad((_dense(pattern, values) @ x).t().sum(0).square().sum(), (values, x))
    torch.testing.assert_close(found, expected)
    expanded = torch.autograd.grad(sum_neighbours(pattern, values, x).sum(), (values, x))
    torch.testing.assert_close(expanded, torch.autograd.grad((_dense(pattern, values) @ x).sum(), (values, x)))
