"""Published links: every link once an epoch, beside as many pairs that are none, and ranks among fixed ones."""

from __future__ import annotations

import copy
import itertools
import math
from collections import Counter
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.adapters import LinkHead
from gnz_track.models.gcn import GCN
from gnz_track.problems import link_pred as published_links
from gnz_track.problems.inputs import vary
from gnz_track.problems.link_pred import LinkBatches, PublishedLinkScorer
from gnz_track.training.loop import train

N = 12


def _graph(n_links: int = 20, n: int = N) -> tuple[Data, Tensor]:
    """Return a graph whose edges are its training links, both ways, and these links, the first of them twice."""
    pairs = torch.tensor(list(itertools.combinations(range(n), 2))).t()
    links = pairs[:, torch.randperm(pairs.size(1), generator=torch.Generator().manual_seed(1))][:, :n_links]
    links = torch.cat([links, links[:, :1]], dim=1)
    x = torch.randn(n, 4, generator=torch.Generator().manual_seed(0))
    return Data(x=x, edge_index=torch.cat([links, links.flip(0)], dim=1), num_nodes=n), links


def _columns(pairs: Tensor) -> list[tuple[int, int]]:
    return [(int(a), int(b)) for a, b in pairs.t()]


@settings(deadline=None, max_examples=40)
@given(batch_size=st.integers(0, 25), n_links=st.integers(1, 64), seed=st.integers(0, 99))
def test_an_epoch_has_every_link_once_beside_as_many_pairs_that_are_none(
    batch_size: int, n_links: int, seed: int
) -> None:
    data, links = _graph(n_links)
    objective = LinkBatches(data, links, batch_size)
    batches = list(objective.batches(torch.Generator().manual_seed(seed)))
    seen = torch.cat([batch.edge_label_index[:, batch.edge_label == 1] for batch in batches], dim=1)
    assert Counter(_columns(seen)) == Counter(_columns(links))
    size = batch_size or links.size(1)
    assert [int(batch.edge_label.sum()) for batch in batches[:-1]] == [size] * (len(batches) - 1)
    known = set(_columns(data.edge_index))
    for batch in batches:
        drawn = _columns(batch.edge_label_index[:, batch.edge_label == 0])
        assert len(drawn) == int(batch.edge_label.sum())
        assert not set(drawn) & known
        assert all(a != b and min(a, b) >= 0 and max(a, b) < N for a, b in drawn)
    assert "edge_label" not in data


@settings(deadline=None, max_examples=40)
@given(n_links=st.integers(1, 300), n=st.integers(20, 2**20), seed=st.integers(0, 99))
def test_pairs_are_those_that_are_drawn_one_look_at_all_links_after_another(n_links: int, n: int, seed: int) -> None:
    links = torch.randint(n, (2, n_links), generator=torch.Generator().manual_seed(seed))
    found = LinkBatches(Data(edge_index=links, num_nodes=n), links)
    (batch,) = found.batches(torch.Generator().manual_seed(seed))
    generator, known = torch.Generator().manual_seed(seed), set(_columns(links))
    torch.randperm(n_links, generator=generator)
    pairs, places = [(0, 0)] * n_links, list(range(n_links))
    while places:
        for place, pair in zip(places, _columns(torch.randint(n, (2, len(places)), generator=generator)), strict=True):
            pairs[place] = pair
        places = [place for place in places if pairs[place] in known or pairs[place][0] == pairs[place][1]]
    assert _columns(batch.edge_label_index[:, n_links:]) == pairs


def test_pairs_are_drawn_anew_evenly_and_by_the_generator_alone() -> None:
    data, links = _graph(4, n=5)
    objective = LinkBatches(data, links)
    generator = torch.Generator().manual_seed(0)
    counts: Counter[tuple[int, int]] = Counter()
    for _ in range(600):
        (batch,) = objective.batches(generator)
        counts.update(_columns(batch.edge_label_index[:, batch.edge_label == 0]))
    possible = set(itertools.permutations(range(5), 2)) - set(_columns(data.edge_index))
    assert set(counts) == possible
    mean = sum(counts.values()) / len(possible)
    assert all(abs(count - mean) < 5 * math.sqrt(mean) for count in counts.values())
    first, again = (next(objective.batches(torch.Generator().manual_seed(3))).edge_label_index for _ in range(2))
    assert torch.equal(first, again)


def test_a_graph_without_pairs_that_are_no_links_is_refused() -> None:
    data, links = _graph(10, n=5)
    with pytest.raises(BadValue, match="all pairs of 5 nodes"):
        LinkBatches(data, links)


class _Table:
    """A model whose codes are its scores ``[n, n]``."""

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        return codes[pairs[0], pairs[1]]


def _scorer(n_links: int, n_others: int) -> tuple[PublishedLinkScorer, Tensor]:
    generator = torch.Generator().manual_seed(2)
    pairs = torch.randint(30, (2, n_links + n_others), generator=generator)
    labels = torch.cat([torch.ones(n_links), torch.zeros(n_others)])
    return PublishedLinkScorer(pairs, labels), torch.randn(30, 30, generator=generator)


def test_hits_are_counted_by_hand_and_links_weigh_as_much_as_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, table = _scorer(40, 150)
    scores = table[scorer.pairs[0], scorer.pairs[1]]
    links, others = scores[:40], scores[40:].sort(descending=True).values
    found: Any = scorer.score_fully(_Table(), table)  # type: ignore[arg-type]
    for k in (10, 50, 100):
        assert found[f"hits_at_{k}"] == pytest.approx(float((links > others[k - 1]).double().mean()))
        assert scorer.score(_Table(), table, f"hits_at_{k}") == found[f"hits_at_{k}"]
    assert set(found) == {"auc", "average_precision", "hits_at_10", "hits_at_50", "hits_at_100"}
    of_links, of_others = -links.sigmoid().log().mean(), -(1 - scores[40:].sigmoid()).log().mean()
    assert scorer.loss(_Table(), table) == pytest.approx(float(of_links + of_others) / 2, rel=1e-5)
    monkeypatch.setattr(published_links, "CHUNK", 7)
    assert scorer.score_fully(_Table(), table) == found  # type: ignore[arg-type]


def test_links_are_learnt_in_batches(toys: Any) -> None:
    toy = toys["links"]()
    data, pairs, labels = toy.objective.data, toy.objective.pairs, toy.objective.labels
    objective = LinkBatches(data, pairs[:, labels == 1], batch_size=8)
    scorers = {name: PublishedLinkScorer(each.pairs, each.labels) for name, each in toy.scorers.items()}
    torch.manual_seed(0)
    model = LinkHead(GCN(6, 8, 8))
    trained = train(model, objective, scorers, toy.settings(epochs=20), batch_seed=5)
    assert trained.series["train/loss"][-1] < trained.series["train/loss"][0]
    assert trained.scores["test"]["auc"] > 0.7


def test_signs_of_positions_vary_from_batch_to_batch() -> None:
    data, links = _graph()
    data = copy.copy(data)
    data.encoding = torch.ones(N, 6)
    batches = list(vary(LinkBatches(data, links, 2), "signs").batches(torch.Generator().manual_seed(0)))
    assert len({tuple(batch.encoding[0].tolist()) for batch in batches}) > 1
    assert all("edge_label_index" in batch for batch in batches)
