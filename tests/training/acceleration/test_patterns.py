"""Patterns: what they hold, and that windows and repetitions are what sorting anew would give."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from gnz_track.training.acceleration import compiled
from gnz_track.training.acceleration.library import kernels
from gnz_track.training.acceleration.patterns import Pattern

Entries = tuple[int, int, list[tuple[int, int]]]


@st.composite
def entries(draw: st.DrawFn, *, is_square: bool = False) -> Entries:
    """Draw a number of rows and columns, and entries in any order: some rows empty, some entries several times."""
    n_rows = draw(st.integers(1, 6))
    n_columns = n_rows if is_square else draw(st.integers(1, 6))
    pairs = st.tuples(st.integers(0, n_rows - 1), st.integers(0, n_columns - 1))
    return n_rows, n_columns, draw(st.lists(pairs, max_size=14))


def make(n_rows: int, n_columns: int, pairs: list[tuple[int, int]]) -> Pattern:
    rows, columns = torch.tensor(pairs, dtype=torch.int64).view(-1, 2).t()
    return Pattern.from_entries(rows, columns, n_rows, n_columns)


def assert_same(found: Pattern, expected: Pattern) -> None:
    assert (found.n_rows, found.n_columns, found.n_entries) == (expected.n_rows, expected.n_columns, expected.n_entries)
    for name in ("pointers", "offsets", "columns", "rows", "order"):
        assert torch.equal(getattr(found, name), getattr(expected, name)), name
    assert all(map(torch.equal, found.transposed, expected.transposed))


def _dense(pattern: Pattern, values: Tensor, given: list[tuple[int, int]]) -> Tensor:
    dense = torch.zeros(pattern.n_rows, pattern.n_columns, dtype=values.dtype)
    for value, place in zip(values, pattern.order.tolist(), strict=True):
        dense[given[place]] += value
    return dense


@settings(deadline=None, max_examples=60)
@given(entries())
def test_values_belong_to_their_entries(case: Entries) -> None:
    pattern = make(*case)
    values = torch.arange(1.0, pattern.n_entries + 1, dtype=torch.float64)
    expected = _dense(pattern, values, case[2])
    identity = torch.eye(pattern.n_columns, dtype=torch.float64)
    assert torch.equal(pattern.matrix(values) @ identity, expected)
    other = torch.eye(pattern.n_rows, dtype=torch.float64)
    assert torch.equal(pattern.transposed_matrix(values) @ other, expected.t())


@settings(deadline=None, max_examples=60)
@given(entries())
def test_entries_are_sorted_by_row_and_else_as_given(case: Entries) -> None:
    pattern = make(*case)
    expected = sorted(range(len(case[2])), key=lambda place: case[2][place][0])
    assert pattern.order.tolist() == expected
    found = list(zip(pattern.rows.tolist(), pattern.columns.tolist(), strict=True))
    assert found == [case[2][place] for place in expected]


@settings(deadline=None, max_examples=60)
@given(cases=st.lists(entries(is_square=True), min_size=1, max_size=4), data=st.data())
def test_a_window_is_the_pattern_of_its_part(cases: list[Entries], data: st.DataObject) -> None:
    starts = [0]
    for n, _, _ in cases:
        starts.append(starts[-1] + n)
    shifted = [[(r + s, c + s) for r, c in pairs] for s, (_, _, pairs) in zip(starts, cases, strict=False)]
    union = make(starts[-1], starts[-1], [pair for pairs in shifted for pair in pairs])
    first = data.draw(st.integers(0, len(cases) - 1))
    end = data.draw(st.integers(first + 1, len(cases)))
    low, high = starts[first], starts[end]
    part = [(r - low, c - low) for pairs in shifted[first:end] for r, c in pairs]
    assert_same(union.window(low, high), make(high - low, high - low, part))


@settings(deadline=None, max_examples=60)
@given(case=entries(), times=st.integers(1, 3))
def test_a_repetition_is_the_pattern_of_the_block_diagonal(case: Entries, times: int) -> None:
    n_rows, n_columns, pairs = case
    blocks = [(r + k * n_rows, c + k * n_columns) for k in range(times) for r, c in pairs]
    assert_same(make(*case).repeat(times), make(times * n_rows, times * n_columns, blocks))


def test_patterns_are_freed_at_once() -> None:
    pattern = make(2, 2, [(0, 1), (1, 1)])
    transposed, window = pattern.transposed, pattern.window(0, 2)
    assert transposed[0].tolist() == [0, 0, 2]
    assert window.transposed[0].tolist() == [0, 0, 2]
    watched = weakref.ref(pattern)
    gc.disable()
    try:
        del pattern, window
        assert watched() is None, "a ring of references keeps it in memory"
    finally:
        gc.enable()


def test_sorted_entries_make_the_same_pattern_as_sorting_them() -> None:
    rows, columns = torch.tensor([0, 0, 2, 2, 2, 5]), torch.tensor([3, 1, 0, 0, 2, 1])
    first, second = (make(rows, columns, 6, 4) for make in (Pattern.from_sorted, Pattern.from_entries))
    values = torch.arange(6.0)
    for name in ("pointers", "columns", "order", "rows"):
        assert torch.equal(getattr(first, name), getattr(second, name))
    assert torch.equal(first.transposed_matrix(values).to_dense(), second.matrix(values).to_dense().t())


def test_a_column_beyond_the_matrix_is_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "sum_neighbours", lambda *_: torch.tensor(7.0))
    for column, is_sound in ((2, True), (3, False), (-1, False)):
        pattern = Pattern.from_entries(torch.tensor([0, 1]), torch.tensor([0, column]), 3, 3)
        assert pattern.is_sound is is_sound
        # Kernels would read whatever lies there in memory.
        found = compiled.sum_compiled(pattern, torch.ones(3, 2))
        assert (found.dim() == 0) == (kernels() is None or not is_sound)
