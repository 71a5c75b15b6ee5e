"""Drawn neighbours: probabilities by the book, decided by names alone, the same with and without kernels."""

from __future__ import annotations

import gc
import itertools
import math
import threading
import weakref
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

from gnz_track.training.acceleration import sampling
from gnz_track.training.acceleration.patterns import Pattern
from gnz_track.training.acceleration.sampling import NeighbourSampler, Sampled, attach_rows, key_of_batch
from gnz_track.training.acceleration.structure import Structure, structure_of

N_NODES = 300
Draw = Callable[..., Sampled]
# Of a right sampler one test in ten thousand would be below; keys are fixed, so that none is by chance.
SMALLEST_P = 1e-4


def _graph(n_edges: int = 4000) -> Tensor:
    """Return edges of which some are loops, some parallel, and whose degrees differ a lot; node 0 has none."""
    generator = torch.Generator().manual_seed(0)
    source = torch.randint(N_NODES, (n_edges,), generator=generator)
    target = 1 + (torch.rand(n_edges, generator=generator) ** 2 * (N_NODES - 1)).long()
    return torch.stack([source, target])


def _star(degree: int) -> Pattern:
    """Return a graph whose node 0 has so many neighbours, 1 and so on."""
    zeros = torch.zeros(degree, dtype=torch.int64)
    return Pattern.from_entries(zeros, torch.arange(1, degree + 1), degree + 1, degree + 1)


@pytest.fixture(params=["kernels", "numpy"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "numpy":
        monkeypatch.setattr(sampling, "kernels", lambda: None)
    elif sampling.kernels() is None:
        pytest.skip("no kernels here")
    return str(request.param)


def _drawn(sampler: NeighbourSampler, n: int, seeds: Tensor | None = None) -> Iterator[Sampled]:
    seeds = torch.tensor([0]) if seeds is None else seeds
    return (sampler.sample(seeds, key_of_batch(17, number)) for number in range(n))


def test_rows_are_those_of_sorting(way: str) -> None:
    edges = _graph()
    found = structure_of(attach_rows(edges, N_NODES), N_NODES)
    usual = Structure(edges, N_NODES)
    assert found is not None
    for name in ("plain", "looped"):
        mine, other = getattr(found, name), getattr(usual, name)
        assert torch.equal(mine.pointers, other.pointers), (way, name)
        assert torch.equal(mine.columns, other.columns)
        assert torch.equal(mine.order, other.order)
        assert mine.columns.dtype is other.columns.dtype is torch.int32


@pytest.mark.parametrize("edges", [torch.empty(2, 0, dtype=torch.int64), torch.zeros(2, 3, dtype=torch.int64)])
def test_graphs_of_nothing_have_rows(way: str, edges: Tensor) -> None:
    found = structure_of(attach_rows(edges, 2), 2)
    assert found is not None
    assert found.looped.columns.tolist() == [0, 1], way
    sampled = NeighbourSampler(found.plain, [2, 2]).sample(torch.tensor([1, 0]), 3)
    assert sampled.nodes.tolist() == [1, 0]
    assert sampled.entries.numel() == min(2, edges.size(1))


def test_rows_of_a_graph_are_no_ring_in_memory() -> None:
    gc.collect()
    gc.disable()
    try:
        edges = attach_rows(_graph(), N_NODES)
        found = structure_of(edges, N_NODES)
        assert found is not None
        kept = weakref.ref(found)
        found.looped.order.sum(), found.plain.order.sum()
        del found, edges
        assert kept() is None
    finally:
        gc.enable()


def test_kernels_and_numpy_draw_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    if sampling.kernels() is None:
        pytest.skip("no kernels here")
    pattern = Pattern.from_entries(*_graph().flip(0), N_NODES, N_NODES)
    sampler = NeighbourSampler(pattern, [5, 7, 3])
    seeds = torch.randperm(N_NODES, generator=torch.Generator().manual_seed(1))[:20]
    keys = [0, 1, -1, 2**63 - 1, -(2**63), *(key_of_batch(5, number) for number in range(20))]
    first = [sampler.sample(seeds, key) for key in keys]
    monkeypatch.setattr(sampling, "kernels", lambda: None)
    for one, key in zip(first, keys, strict=True):
        other = sampler.sample(seeds, key)
        for mine, theirs in zip(one, other, strict=True):
            assert mine.dtype is theirs.dtype
            assert torch.equal(mine, theirs)


def test_a_sub_graph_holds_edges_of_the_graph_each_once_and_no_more_than_asked_for(way: str) -> None:
    edges = _graph()
    pattern, fan_outs = Pattern.from_entries(edges[1], edges[0], N_NODES, N_NODES), (4, 3)
    seeds = torch.tensor([7, 0, 250, 3])
    for nodes, edge_index, entries in _drawn(NeighbourSampler(pattern, fan_outs), 30, seeds):
        assert nodes[:4].tolist() == seeds.tolist(), way
        assert nodes.unique().numel() == nodes.numel()
        assert entries.unique().numel() == entries.numel()
        assert torch.equal(nodes[edge_index], edges[:, pattern.order[entries.long()]])
        degrees, drawn = pattern.offsets.diff()[nodes], torch.bincount(edge_index[1], minlength=nodes.numel())
        # Who was reached by the last hop alone is a neighbour, and has none.
        first = torch.zeros(nodes.numel(), dtype=torch.bool).index_fill(0, edge_index[0][edge_index[1] < 4], value=True)
        first[:4] = False
        assert torch.equal(drawn[:4], degrees[:4].clamp(max=4))
        assert torch.equal(drawn[first], degrees[first].clamp(max=3))
        assert int(drawn[4:][~first[4:]].sum()) == 0
        # What is found later has a larger number: sources of a hop follow those of the hop before.
        assert torch.equal(edge_index[1], edge_index[1].sort().values)


@pytest.mark.parametrize(("degree", "n"), [(12, 5), (40, 1), (9, 8), (1000, 10)])
def test_every_neighbour_is_drawn_with_the_same_probability(degree: int, n: int) -> None:
    # With and without kernels: both draw the same, as another test holds.
    n_draws = 4000
    sampler = NeighbourSampler(_star(degree), [n])
    counts = np.zeros(degree)
    for _, _, entries in _drawn(sampler, n_draws):
        counts[entries.numpy()] += 1
    assert counts.sum() == n_draws * n
    # Counts without replacement vary less than those of a multinomial by the share that is left out.
    expected = n_draws * n / degree
    statistic = ((counts - expected) ** 2 / expected).sum() / (1 - n / degree) * (degree - 1) / degree
    p = stats.chi2(degree - 1).sf(statistic)
    assert SMALLEST_P < p < 1 - SMALLEST_P


def test_every_set_of_neighbours_is_as_likely_as_any_other() -> None:
    degree, n, n_draws = 7, 3, 7000
    sets = {one: place for place, one in enumerate(itertools.combinations(range(degree), n))}
    counts = np.zeros(len(sets))
    for _, _, entries in _drawn(NeighbourSampler(_star(degree), [n]), n_draws):
        counts[sets[tuple(entries.tolist())]] += 1
    assert len(sets) == math.comb(degree, n)
    assert stats.chisquare(counts).pvalue > SMALLEST_P


def test_nodes_and_batches_are_drawn_apart() -> None:
    # Nodes 0 and 1 have the same number of neighbours, and so has every neighbour.
    degree, n_draws = 6, 6000
    rows = torch.arange(2).repeat_interleave(degree)
    columns = torch.arange(2, 2 + degree).repeat(2)
    pattern = Pattern.from_entries(rows, columns, 8, 8)
    table = np.zeros((degree, degree))
    before, follows = -1, np.zeros((degree, degree))
    for _, _, entries in _drawn(NeighbourSampler(pattern, [1]), n_draws, torch.tensor([0, 1])):
        first, second = entries.tolist()
        table[first, second - degree] += 1
        if before >= 0:
            follows[before, first] += 1
        before = first
    assert stats.chi2_contingency(table).pvalue > SMALLEST_P
    assert stats.chi2_contingency(follows).pvalue > SMALLEST_P


def test_the_second_hop_is_reached_with_the_product_of_both_probabilities() -> None:
    # Node 0 has 5 neighbours, 1 to 5, each of which has 4 of its own.
    rows = torch.cat([torch.zeros(5, dtype=torch.int64), torch.arange(1, 6).repeat_interleave(4)])
    pattern = Pattern.from_entries(rows, torch.arange(1, 26), 26, 26)
    n_draws, counts = 4000, np.zeros(26)
    for nodes, _, _ in _drawn(NeighbourSampler(pattern, [2, 1]), n_draws):
        counts[nodes.numpy()] += 1
    assert counts[0] == n_draws
    for share, found in ((2 / 5, counts[1:6]), (2 / 5 / 4, counts[6:])):
        tails = [stats.binomtest(int(count), n_draws, share).pvalue for count in found]
        assert min(tails) > SMALLEST_P


def test_a_draw_is_decided_by_its_key_alone_whoever_draws_and_when(way: str) -> None:
    pattern = Pattern.from_entries(*_graph().flip(0), N_NODES, N_NODES)
    seeds = torch.arange(40)
    alone = [NeighbourSampler(pattern, [3, 3]).sample(seeds, key_of_batch(1, number)) for number in range(6)]
    found: dict[int, Sampled] = {}

    def draw(numbers: list[int]) -> None:
        sampler = NeighbourSampler(pattern, [3, 3])
        found.update({number: sampler.sample(seeds, key_of_batch(1, number)) for number in numbers})

    threads = [threading.Thread(target=draw, args=(numbers,)) for numbers in ([5, 0, 3], [4, 2, 1])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, one in enumerate(alone):
        assert all(torch.equal(mine, theirs) for mine, theirs in zip(one, found[number], strict=True)), way
    assert not torch.equal(alone[0].entries, alone[1].entries)
    other = NeighbourSampler(pattern, [3, 3]).sample(seeds, key_of_batch(2, 0))
    assert not torch.equal(alone[0].entries, other.entries)


def test_keys_of_batches_differ_and_stay_what_they_are() -> None:
    keys = {key_of_batch(epoch, number) for epoch in range(50) for number in range(50)}
    assert len(keys) == 2500
    assert all(-(2**63) <= key < 2**63 for key in keys)
    assert [key_of_batch(0, 0), key_of_batch(2**62 - 1, 7)] == [-6411193824288604561, 6122764118401774241]
