"""Scorers: filtered ranks against a loop, and which metric goes with which labels."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from gnz_track.errors import BadValue
from gnz_track.models.adapters import LinkHead, TripleHead
from gnz_track.problems.graph import GraphScorer
from gnz_track.problems.link_pred import LinkPredictionScorer
from gnz_track.problems.nodes_and_edges import ClassScorer
from gnz_track.problems.triples import CHUNK, TripleScorer
from gnz_track.training.metrics import METRICS, auc, average_precision

MODEL = nn.Identity()
N_NODES, N_RELATIONS = 6, 2
Triple = tuple[int, int, int]


class _Table(nn.Module):
    """A relational model whose scores are a table ``[heads, relations, tails]``."""

    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = table

    def decode(self, _: Tensor, pairs: Tensor, relations: Tensor) -> Tensor:
        return self.table[pairs[0], relations, pairs[1]]

    def score_tails(self, _: Tensor, heads: Tensor, relations: Tensor) -> Tensor:
        return self.table[heads, relations]

    def score_heads(self, _: Tensor, tails: Tensor, relations: Tensor) -> Tensor:
        return self.table[:, relations, tails].t()


def _rank(scores: dict[int, float], answer: int, others: set[int]) -> float:
    """Return the expected rank of an answer among candidates, in plain Python; other true answers do not compete."""
    rivals = [score for node, score in scores.items() if node != answer and node not in others]
    above = sum(score > scores[answer] for score in rivals)
    return 1 + above + 0.5 * sum(score == scores[answer] for score in rivals)


def _ranks(table: Tensor, triples: list[Triple], known: set[Triple]) -> list[float]:
    nodes = range(table.size(0))
    tails = [
        _rank({n: float(table[h, r, n]) for n in nodes}, t, {n for n in nodes if (h, r, n) in known})
        for h, r, t in triples
    ]
    heads = [
        _rank({n: float(table[n, r, t]) for n in nodes}, h, {n for n in nodes if (n, r, t) in known})
        for h, r, t in triples
    ]
    return tails + heads


def _columns(triples: list[Triple]) -> Tensor:
    return torch.tensor(triples, dtype=torch.int64).t()


TRIPLES = st.lists(
    st.tuples(st.integers(0, N_NODES - 1), st.integers(0, N_RELATIONS - 1), st.integers(0, N_NODES - 1)),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=80)
@given(triples=TRIPLES, others=TRIPLES, seed=st.integers(0, 999), is_known=st.booleans())
def test_ranks_are_those_of_a_loop(triples: list[Triple], others: list[Triple], seed: int, *, is_known: bool) -> None:
    # Few distinct scores, so that there are ties.
    generator = torch.Generator().manual_seed(seed)
    table = torch.randint(3, (N_NODES, N_RELATIONS, N_NODES), generator=generator).float()
    known = [*others, *triples] if is_known else others
    scorer = TripleScorer(_columns(triples), torch.zeros(len(triples), dtype=torch.int64), _columns(known))
    ranks = np.array(_ranks(table, triples, set(known)))
    found = scorer.score_fully(_Table(table), torch.zeros(N_NODES, 1))
    assert found["mrr"] == pytest.approx((1 / ranks).mean())
    for k in (1, 3, 10):
        assert found[f"hits_at_{k}"] == pytest.approx((ranks <= k).mean())


def test_many_triples_are_ranked_in_pieces() -> None:
    generator = torch.Generator().manual_seed(0)
    table = torch.rand(40, 1, 40, generator=generator)
    triples = list(itertools.islice(itertools.product(range(40), [0], range(40)), 0, 1600, 2))
    assert len(triples) > CHUNK
    scorer = TripleScorer(_columns(triples), torch.zeros(len(triples), dtype=torch.int64), _columns(triples))
    expected = (1 / np.array(_ranks(table, triples, set(triples)))).mean()
    assert scorer.score(_Table(table), torch.zeros(40, 1), "mrr") == pytest.approx(expected)


def test_scores_that_are_no_numbers_never_rank_first() -> None:
    triples = [(0, 0, 1), (2, 1, 3)]
    table = torch.full((N_NODES, N_RELATIONS, N_NODES), math.nan)
    scorer = TripleScorer(_columns(triples), torch.tensor([0, 0]), _columns(triples))
    found = scorer.score(_Table(table), torch.zeros(N_NODES, 1), "mrr")
    assert found == pytest.approx(1 / (N_NODES + 1))


def test_true_triples_are_told_from_false_ones() -> None:
    generator = torch.Generator().manual_seed(0)
    table = torch.rand(N_NODES, N_RELATIONS, N_NODES, generator=generator)
    triples, false_tails = [(0, 1, 2), (3, 0, 4), (5, 1, 1)], [1, 1, 0]
    scorer = TripleScorer(_columns(triples), torch.tensor(false_tails), _columns(triples))
    scores = [float(table[t]) for t in triples]
    scores += [float(table[h, r, f]) for (h, r, _), f in zip(triples, false_tails, strict=True)]
    truth = np.array([1, 1, 1, 0, 0, 0])
    found = scorer.score_fully(_Table(table), torch.zeros(N_NODES, 1))
    assert found["auc"] == auc(truth, np.array(scores))
    assert found["average_precision"] == average_precision(truth, np.array(scores))
    assert all(found[name] == scorer.score(_Table(table), torch.zeros(N_NODES, 1), name) for name in found)


def test_distmult_scores_all_nodes_as_it_decodes_pairs() -> None:
    torch.manual_seed(0)
    head = TripleHead(nn.Identity(), 4, N_RELATIONS)
    codes = torch.randn(N_NODES, 4)
    for relation, node in itertools.product(range(N_RELATIONS), range(N_NODES)):
        pairs = torch.stack([torch.full((N_NODES,), node), torch.arange(N_NODES)])
        relations = torch.full((N_NODES,), relation)
        expected = head.decode(codes, pairs, relations)
        one = torch.tensor([node]), torch.tensor([relation])
        torch.testing.assert_close(head.score_tails(codes, *one)[0], expected)
        torch.testing.assert_close(head.score_heads(codes, *one)[0], head.decode(codes, pairs.flip(0), relations))


LOGITS = torch.tensor([[0.9, 0.1], [0.2, 0.7], [0.6, 0.5], [0.3, 0.4], [9.0, 9.0]])


def test_nodes_are_scored_where_they_are_held_out() -> None:
    nodes, labels = torch.tensor([3, 0, 2]), torch.tensor([0, 0, 1])
    found = ClassScorer(nodes, labels).score_fully(MODEL, LOGITS)
    margin = np.array([0.1, -0.8, -0.1])
    assert found == {
        "accuracy": pytest.approx(1 / 3),
        "f1_macro": pytest.approx(1 / 4),
        "auc": auc(labels.numpy(), margin),
        "average_precision": average_precision(labels.numpy(), margin),
    }
    three = torch.cat([LOGITS, torch.zeros(5, 1)], dim=1)
    assert ClassScorer(nodes, labels).score_fully(MODEL, three).keys() == {"accuracy", "f1_macro"}


def test_graphs_are_scored_by_their_kind() -> None:
    rows, nan = torch.tensor([1, 0]), math.nan
    classes = GraphScorer(rows, torch.tensor([1, 1]), "classes").score_fully(MODEL, LOGITS[:, [0, 1, 0]])
    assert classes == {"accuracy": 0.5, "f1_macro": pytest.approx(1 / 3)}
    numbers = GraphScorer(rows, torch.tensor([[1.2, nan], [0.4, 0.1]]), "numbers").score_fully(MODEL, LOGITS)
    assert numbers == {"mae": pytest.approx(0.5), "mse": pytest.approx((1.0 + 0.25) / 3)}
    labels = torch.tensor([[0.0, 1.0], [1.0, nan]])
    found = GraphScorer(rows, labels, "labels").score_fully(MODEL, LOGITS)
    # Of three known labels one is foretold too many.
    f1 = {"f1_micro": pytest.approx(0.8), "f1_macro": pytest.approx(5 / 6)}
    assert found == {"average_precision": 1.0, "auc": 1.0, **f1}


def test_links_are_scored_by_their_codes() -> None:
    codes, pairs = torch.tensor([[1.0], [2.0], [-1.0]]), torch.tensor([[0, 0, 1], [1, 2, 2]])
    found = LinkPredictionScorer(pairs, torch.tensor([0.0, 1.0, 1.0])).score_fully(LinkHead(MODEL), codes)
    assert found == {"auc": 0.0, "average_precision": pytest.approx((1 / 2 + 2 / 3) / 2)}


SCORERS: dict[str, tuple[Any, Any, Tensor]] = {
    "nodes": (ClassScorer(torch.tensor([0]), torch.tensor([0])), MODEL, LOGITS[:, [0, 1, 0]]),
    "classes": (GraphScorer(torch.tensor([0]), torch.tensor([0]), "classes"), MODEL, LOGITS[:, [0, 1, 0]]),
    "labels": (GraphScorer(torch.tensor([0]), torch.ones(1, 2), "labels"), MODEL, LOGITS),
    "numbers": (GraphScorer(torch.tensor([0]), torch.ones(1, 2), "numbers"), MODEL, LOGITS),
    "links": (LinkPredictionScorer(torch.tensor([[0], [1]]), torch.ones(1)), LinkHead(MODEL), LOGITS),
    "triples": (
        TripleScorer(_columns([(0, 0, 1)]), torch.tensor([0]), _columns([(0, 0, 1)])),
        _Table(torch.rand(5, 1, 5)),
        LOGITS,
    ),
}


@pytest.mark.parametrize(("scorer", "model", "prediction"), SCORERS.values(), ids=SCORERS)
def test_a_metric_of_other_labels_is_refused_with_those_that_fit(scorer: Any, model: Any, prediction: Tensor) -> None:
    fitting = scorer.score_fully(model, prediction)
    # Metrics that fit, and are computed where a task asks for them.
    more = {"balanced_accuracy", "f1", "mcc"} if "accuracy" in fitting else set()
    more |= {"rmse", "r2"} if "mae" in fitting else {"nll", "brier"}
    more |= {"hits_at_10", "hits_at_50", "hits_at_100"} if isinstance(scorer, LinkPredictionScorer) else set()
    for metric in set(METRICS) - more:
        if metric in fitting:
            np.testing.assert_equal(scorer.score(model, prediction, metric), fitting[metric])
        else:
            with pytest.raises(BadValue, match=f"'{metric}'; allowed: .*{next(iter(fitting))}"):
                scorer.score(model, prediction, metric)
