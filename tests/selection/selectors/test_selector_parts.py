"""Parts of selectors against what they stand for: forests, factors, completion, weights of past graphs, attention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor
from sklearn.metrics import ndcg_score
from torch import Tensor, nn

from gnz_track.selection.selectors import factor_models as meta_od
from gnz_track.selection.selectors import neural as networks
from gnz_track.selection.selectors.catalogue import SELECTORS, fit_selector
from gnz_track.selection.selectors.factor_models import complete, factorise, forest_arrays, predict_forest
from gnz_track.selection.selectors.forest_neighbours import weigh_past_graphs, weigh_themselves
from gnz_track.selection.selectors.meta_gl import HEADS, HIDDEN, RELATIONS, MetaNetwork
from gnz_track.selection.selectors.training_set import column_means, fill_rows

GENERATOR = np.random.default_rng(2)
X, Y = GENERATOR.random((50, 5)), GENERATOR.random((50, 3))


@pytest.mark.parametrize("kind", [RandomForestRegressor, ExtraTreesRegressor])
def test_a_forest_of_arrays_is_the_forest(kind: type) -> None:
    forest = kind(20, random_state=3).fit(X, Y)
    new = GENERATOR.random((9, 5))
    assert predict_forest(forest_arrays(forest), new) == pytest.approx(forest.predict(new), rel=1e-5)


def test_weights_of_past_graphs_sum_to_one_and_leave_a_graph_out_of_its_own() -> None:
    fitted = fit_selector("forest_neighbours", X, Y, seed=1)
    weights = weigh_past_graphs(fitted.arrays, X[:7])
    assert weights.sum(axis=1) == pytest.approx(1)
    assert (weights.argmax(axis=1) == np.arange(7)).all()
    own = weigh_themselves(fitted.arrays)
    assert own.sum(axis=1) == pytest.approx(1)
    assert (np.diag(own) == 0).all()


def test_weights_are_those_of_the_forest() -> None:
    """The weighted mean of what the trees were grown on is what scikit-learn predicts."""
    fitted = fit_selector("forest_neighbours", X, Y, seed=4)
    arrays, n_trees = fitted.arrays, fitted.arrays["leaves"].shape[1]
    by_hand = np.zeros(50)
    for tree in range(n_trees):
        beside = (arrays["leaves"][3, tree] == arrays["leaves"][:, tree]) * arrays["drawn"][:, tree]
        by_hand += beside / beside.sum()
    assert weigh_past_graphs(arrays, X[3:4])[0] == pytest.approx(by_hand / n_trees)


def test_factors_fit_what_is_known_and_stay_above_zero() -> None:
    whole = GENERATOR.random((20, 3)) @ GENERATOR.random((3, 15))
    holes = np.where(GENERATOR.random(whole.shape) < 0.2, np.nan, whole)
    graphs, settings = factorise(holes, 3, np.random.default_rng(0))
    known = np.isfinite(holes)
    error = np.abs(graphs @ settings - whole)
    assert error[known].mean() < 0.05 * whole.mean()
    assert error[~known].mean() < 0.2 * whole.mean()
    assert min(graphs.min(), settings.min()) > 0


def test_completion_keeps_what_is_known_and_beats_the_means_of_settings() -> None:
    whole = 0.5 + 0.3 * GENERATOR.normal(size=(60, 2)) @ GENERATOR.normal(size=(2, 25))
    holes = np.where(GENERATOR.random(whole.shape) < 0.3, np.nan, whole)
    found, known = complete(holes), np.isfinite(holes)
    assert (found[known] == whole[known]).all()
    naive = np.broadcast_to(column_means(holes), whole.shape)
    assert np.abs(found - whole)[~known].mean() < 0.5 * np.abs(naive - whole)[~known].mean()
    assert (complete(whole) == whole).all()


def test_rows_and_columns_without_any_score() -> None:
    scores = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    assert fill_rows(scores).tolist() == [[1, 2, 3], [0, 0, 0]]
    assert column_means(scores).tolist() == [1, 2, 3]
    assert np.isfinite(complete(scores)).all()


def attend_by_hand(layer: nn.Module, name: str, source: Tensor, target: Tensor, tie: Tensor) -> Tensor:
    """Return the messages of one relation, target by target and head by head over those tied to it."""
    start, end = RELATIONS[name]
    width = HIDDEN // HEADS
    found = torch.zeros(len(target), HIDDEN)
    for row, own in enumerate(target):
        tied = source[torch.isfinite(tie[row])]
        for head in range(HEADS):
            part = slice(head * width, (head + 1) * width)
            keys = layer.keys[start](tied)[:, part] @ layer.likeness[name][head]
            values = layer.values[start](tied)[:, part] @ layer.message[name][head]
            logits = keys @ layer.queries[end](own)[part] * layer.weights[name][head] / width**0.5
            found[row, part] = torch.softmax(logits, dim=0) @ values
    return found


def test_attention_is_that_over_tied_neighbours_alone() -> None:
    torch.manual_seed(0)
    layer = MetaNetwork(3, 2).layers[0]
    for weight in layer.weights.values():
        nn.init.normal_(weight)
    graphs, settings = torch.randn(6, HIDDEN), torch.randn(5, HIDDEN)
    tie = torch.full((6, 5), -torch.inf)
    for row in range(6):
        tie[row, torch.randperm(5)[: 1 + row % 4]] = 0
    with torch.no_grad():
        found = layer._attend("of_setting", settings, graphs, tie)  # noqa: SLF001  (what is reckoned by hand)
        assert torch.allclose(found, attend_by_hand(layer, "of_setting", settings, graphs, tie), atol=1e-6)


def test_scores_of_some_past_graphs_are_those_of_all() -> None:
    torch.manual_seed(1)
    network = MetaNetwork(3, 2).eval()
    sizes = {"graph": 7, "setting": 5}
    ties = {}
    for name, (start, end) in RELATIONS.items():
        ties[name] = torch.full((sizes[end], sizes[start]), -torch.inf)
        ties[name][:, :2] = 0
    with torch.no_grad():
        states = network.start(torch.randn(7, 5), torch.randn(5, 2))
        last = network.spread(states, ties)[-1]
        rows = torch.tensor([4, 0])
        found = network.score(states, ties, rows)
        assert torch.allclose(found, last["graph"][rows] @ last["setting"].T, atol=1e-6)


def test_gain_of_meta_od_is_that_of_scikit_learn() -> None:
    true, predicted = GENERATOR.random((6, 9)), GENERATOR.random((6, 9))
    assert meta_od._ndcg(true, predicted) == pytest.approx(ndcg_score(true, predicted))  # noqa: SLF001
    holes = true.copy()
    holes[:, 4] = np.nan
    rest = [column for column in range(9) if column != 4]
    assert meta_od._ndcg(holes, predicted) == pytest.approx(ndcg_score(true[:, rest], predicted[:, rest]))  # noqa: SLF001
    assert np.isnan(meta_od._ndcg(-true, predicted))  # noqa: SLF001


@pytest.mark.parametrize("name", SELECTORS)
def test_scores_of_any_size_are_learnt_from(name: str) -> None:
    """Losses have no gain over an ideal one, and ten to the power of a percentage is beyond all numbers."""
    for scores in (-Y, 50 + 40 * Y, -30 * Y):
        assert np.isfinite(fit_selector(name, X[:12], scores[:12], seed=1).predict(X[12:14])).all()


def test_meta_od_takes_percentages_and_signed_losses_as_it_takes_shares() -> None:
    # Whole numbers, so that nothing is rounded on the way to shares.
    whole = np.round(64 * Y)
    as_shares = fit_selector("meta_od", X, (whole - whole.min()) / np.ptp(whole), seed=1).predict(X[:5])
    for scores in (3 * whole, whole - 100, 7 * whole - 30):
        assert np.array_equal(fit_selector("meta_od", X, scores, seed=1).predict(X[:5]), as_shares)


def test_settings_that_tie_are_told_apart_by_nothing() -> None:
    """Where a setting stands in the matrix decides nothing, and one that is never worse stands first."""
    usual = np.full(50, 0.9)
    better = usual + np.where(np.arange(50) % 10 == 0, 0.02, 0)
    for pair in ((usual, better), (better, usual)):
        scores = np.column_stack([*pair, 0.8 * Y])
        predicted = fit_selector("forest_neighbours", X, scores, seed=1).predict(X + 0.01)
        at = 0 if pair[0] is better else 1
        assert (predicted[:, at] > predicted[:, 1 - at]).all()
    alike = fit_selector("forest_neighbours", X, np.column_stack([usual, usual, Y]), seed=1).predict(X)
    assert alike[:, 0] == pytest.approx(alike[:, 1])


@pytest.mark.parametrize("name", ["s2", "ncf"])
def test_few_known_settings_still_say_when_to_stop(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of eight settings all are among the best thirty: that all were hit would say nothing."""
    seen: list[float] = []
    judge = networks.Stopping.is_over

    def look(stop: networks.Stopping, epoch: int, score: float, network: nn.Module) -> bool:
        seen.append(score)
        return judge(stop, epoch, score, network)

    monkeypatch.setattr(networks.Stopping, "is_over", look)
    fit_selector(name, X, np.column_stack([Y, 1 - Y, Y[:, ::-1][:, :2]]), seed=1)
    assert len(set(seen)) > 1


def test_one_known_score_moves_a_graph_and_stretches_nothing() -> None:
    """Settings differ by .1 and .2 on every graph: so they do on one where a single score is known."""
    effects, levels = np.array([0.0, 0.1, 0.2]), np.array([0.5, 0.6, 0.7, 0.55, 0.65, 0.45])
    scores = levels[:, None] + effects
    scores[0, 1:] = np.nan
    scores[1, [0, 2]] = np.nan
    filled = complete(scores)
    # Few graphs: what is filled in is drawn towards the middle.
    assert filled[0] == pytest.approx([0.5, 0.6, 0.7], abs=0.07)
    assert filled[1] == pytest.approx([0.6, 0.7, 0.8], abs=0.07)
    assert (np.diff(filled[:2]) > 0.05).all()


@given(hnp.arrays(float, (6, 4), elements=st.floats(0, 1)), hnp.arrays(bool, (6, 4)))
def test_what_is_filled_in_stays_within_what_is_known(scores: Any, known: Any) -> None:
    known[0, 0] = True
    filled = complete(np.where(known, scores, np.nan))
    assert np.array_equal(filled[known], scores[known])
    assert filled.min() >= scores[known].min()
    assert filled.max() <= scores[known].max()
