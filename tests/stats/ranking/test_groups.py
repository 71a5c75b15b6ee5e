"""Groups: what they cover, how they are ordered, and that nothing explodes."""

from __future__ import annotations

import time
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.stats.ranking.groups import (
    MOST_CLIQUES,
    cover_edges,
    critical_difference,
    find_maximal_cliques,
    group_by_nemenyi,
    group_by_p,
    nemenyi_p,
    nemenyi_q,
)

# The first call imports what is imported late; a machine may be busy.
LAW = settings(deadline=None)

SIZES = st.integers(1, 9)


def names(k: int) -> list[str]:
    return [f"m{n:02}" for n in range(k)]


@st.composite
def matrices(draw: st.DrawFn) -> list[list[float | None]]:
    k = draw(SIZES)
    p: list[list[float | None]] = [[1.0] * k for _ in range(k)]
    for a, b in combinations(range(k), 2):
        p[a][b] = p[b][a] = draw(st.sampled_from([0.001, 0.05, 0.3, 1.0, None]))
    return p


def joined(p: list[list[float | None]]) -> set[tuple[int, int]]:
    return {(a, b) for a, b in combinations(range(len(p)), 2) if (value := p[a][b]) is None or value > 0.05}


@LAW
@given(matrices(), st.randoms(use_true_random=False))
def test_groups_cover_exactly_the_pairs_that_are_not_told_apart(p: list[list[float | None]], random: object) -> None:
    k = len(p)
    means = [random.randint(2, 2 * k) / 2 for _ in range(k)]  # type: ignore[attr-defined]
    found = group_by_p(p, models=names(k), mean_ranks=means)
    covered = {
        tuple(sorted((names(k).index(a), names(k).index(b))))
        for group in found.groups
        for a, b in combinations(group.members, 2)
    }
    assert covered == joined(p)
    sets = [set(group.members) for group in found.groups]
    assert not any(a < b or len(a) < 2 for a in sets for b in sets)
    # Every group is maximal: no model outside is joined to all of its members.
    graph = nx.Graph(joined(p))
    expected = {frozenset(names(k)[node] for node in clique) for clique in nx.find_cliques(graph)} if graph else set()
    assert {frozenset(item) for item in sets} == expected
    for group in found.groups:
        places = [found.order.index(name) for name in group.members]
        assert places == sorted(places)
        assert group.is_contiguous == (places[-1] - places[0] == len(places) - 1)
    to_json(found)


@LAW
@given(matrices())
def test_covering_covers_every_edge_with_maximal_cliques(p: list[list[float | None]]) -> None:
    k = len(p)
    bits = [sum(1 << b for b in range(k) if (min(a, b), max(a, b)) in joined(p)) for a in range(k)]
    cliques = cover_edges(bits)
    assert {pair for clique in cliques for pair in combinations(clique, 2)} == joined(p)
    assert set(cliques) <= set(find_maximal_cliques(bits))


@LAW
@given(st.lists(st.integers(10, 100).map(lambda n: n / 10), min_size=2, max_size=9), st.integers(2, 60))
def test_nemenyi_groups_cover_exactly_the_gaps_below_cd(means: list[float], n_tasks: int) -> None:
    k = len(means)
    found = group_by_nemenyi(means, models=names(k), n_tasks=n_tasks)
    gap = critical_difference(k, n_tasks)
    covered = {frozenset(pair) for group in found.groups for pair in combinations(group.members, 2)}
    below = {
        frozenset((names(k)[a], names(k)[b]))
        for a, b in combinations(range(k), 2)
        if abs(means[a] - means[b]) < gap - 1e-12
    }
    assert covered == below
    sets = [set(group.members) for group in found.groups]
    assert not any(a < b for a in sets for b in sets)
    assert all(group.is_contiguous for group in found.groups)
    # p and CD give the same verdict, but for gaps at the very border.
    for a, b in combinations(range(k), 2):
        if abs(abs(means[a] - means[b]) - gap) > 1e-9:
            assert (found.p[a][b] > 0.05) == (frozenset((names(k)[a], names(k)[b])) in below)
    to_json(found)


@pytest.mark.parametrize(("k", "gap"), [(2, 1.0), (4, 0.8), (10, 2.5), (25, 9.0)])
def test_nemenyi_p_by_quadrature(k: int, gap: float) -> None:
    n_tasks = 12
    q = gap / np.sqrt(k * (k + 1) / (12 * n_tasks))
    inside, _ = quad(lambda z: k * norm.pdf(z) * (norm.cdf(z) - norm.cdf(z - q)) ** (k - 1), -9, 9 + q, epsabs=1e-13)
    means = [1.0, 1.0 + gap, *[1.0] * (k - 2)]
    assert nemenyi_p(means, n_tasks)[0, 1] == pytest.approx(1 - inside, abs=1e-10)


def test_two_models_are_a_normal_test() -> None:
    assert nemenyi_q(2) == pytest.approx(norm.isf(0.025), abs=1e-9)
    assert nemenyi_p([1.2, 1.8], 10)[0, 1] == pytest.approx(2 * norm.sf(0.6 / np.sqrt(2 * 3 / 60)), abs=1e-9)


def test_groups_may_skip_models() -> None:
    p = [[1.0, 0.2, 0.01], [0.2, 1.0, 0.01], [0.01, 0.01, 1.0]]
    found = group_by_p(p, models=["a", "b", "c"], mean_ranks=[1.0, 3.0, 2.0])
    assert [(group.members, group.is_contiguous) for group in found.groups] == [(("a", "b"), False)]
    assert "{a, b} (gaps)" in str(found)


def test_equal_ranks_are_ordered_by_name() -> None:
    found = group_by_nemenyi([2.0, 2.0, 2.0], models=["c", "a", "b"], n_tasks=5)
    assert found.order == ("a", "b", "c")
    assert found.groups[0].members == ("a", "b", "c")


def test_pairs_that_were_not_run_are_counted() -> None:
    found = group_by_p([[None, None], [None, None]], models=["a", "b"], mean_ranks=[1.0, 2.0])
    assert (found.m, found.n_not_run) == (0, 1)
    assert found.groups[0].members == ("a", "b")
    assert "not run" in found.note


def test_forty_models_do_not_explode() -> None:
    # Thirteen triples of models, told apart inside a triple only: 3^13 maximal cliques.
    k = 40
    p = [[0.001 if a // 3 == b // 3 else 0.5 for b in range(k)] for a in range(k)]
    start = time.process_time()
    found = group_by_p(p, models=names(k), mean_ranks=[float(n) for n in range(k)])
    assert time.process_time() - start < 2.0
    assert not found.is_complete
    assert str(MOST_CLIQUES) in found.note
    covered = {frozenset(pair) for group in found.groups for pair in combinations(group.members, 2)}
    assert covered == {frozenset((names(k)[a], names(k)[b])) for a, b in combinations(range(k), 2) if a // 3 != b // 3}
    assert found == group_by_p(p, models=names(k), mean_ranks=[float(n) for n in range(k)])


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadValue, match="symmetric"):
        group_by_p([[1.0, 0.2], [0.3, 1.0]], models=["a", "b"], mean_ranks=[1.0, 2.0])
    with pytest.raises(BadValue, match="symmetric"):
        group_by_p([[1.0, float("nan")], [float("nan"), 1.0]], models=["a", "b"], mean_ranks=[1.0, 2.0])
    with pytest.raises(BadValue, match="different names"):
        group_by_nemenyi([1.0, 2.0], models=["a", "a"], n_tasks=3)
    with pytest.raises(BadValue, match="2 rows of 2 values"):
        group_by_p([[1.0]], models=["a", "b"], mean_ranks=[1.0, 2.0])


def test_one_model_and_no_task() -> None:
    assert group_by_nemenyi([1.0], models=["a"], n_tasks=3).note
    assert group_by_nemenyi([1.5, 1.5], models=["a", "b"], n_tasks=0).critical_difference is None
    assert group_by_p([[1.0]], models=["a"], mean_ranks=[1.0]).groups == ()


def test_one_task_gives_no_critical_difference() -> None:
    found = group_by_nemenyi([1.0, 2.0, 3.0], models=["a", "b", "c"], n_tasks=1)
    assert (found.critical_difference, found.groups) == (None, ())
    assert "one task gives ranks only" in str(found)
