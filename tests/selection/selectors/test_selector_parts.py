"""Parts of selectors against what they stand for: forests, factors, completion, weights of past graphs."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesRegressor, RandomForestRegressor

from gnz_track.selection.selectors.catalogue import fit_selector
from gnz_track.selection.selectors.factors import complete, factorise
from gnz_track.selection.selectors.forest_neighbours import weigh_past_graphs, weigh_themselves
from gnz_track.selection.selectors.forests import forest_arrays, predict_forest
from gnz_track.selection.selectors.lessons import column_means, fill_rows

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
