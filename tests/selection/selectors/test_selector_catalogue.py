"""Every selector: seeded, started anew by every fit, saved without pickle, and at ease with what is missing."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from gnz_track.errors import BadValue, UnknownName
from gnz_track.selection.matrix import ModelSetting, bare_matrix
from gnz_track.selection.selectors.catalogue import SELECTORS, Fitted, fit_selector, load_fitted
from gnz_track.types import Direction

GENERATOR = np.random.default_rng(8)
KINDS = np.arange(24) % 3
FEATURES = np.eye(3)[KINDS] * 4 + GENERATOR.normal(0, 0.2, (24, 3))
SCORES = 0.4 + 0.2 * GENERATOR.random((24, 7))
SCORES[np.arange(24), 2 * KINDS] = 0.95
HOLES = np.where(GENERATOR.random(SCORES.shape) < 0.2, np.nan, SCORES)
NEW = np.eye(3) * 4


@pytest.fixture(scope="module")
def fitted() -> dict[str, Fitted]:
    """Return every selector, fitted on scores of which a fifth is missing."""
    return {name: fit_selector(name, FEATURES, HOLES, seed=5, facts={"metric": "accuracy"}) for name in SELECTORS}


@pytest.mark.parametrize("name", list(SELECTORS))
def test_a_saved_selector_says_the_same_and_holds_no_pickle(
    name: str, fitted: dict[str, Fitted], tmp_path: Path
) -> None:
    before = fitted[name].predict(NEW)
    assert before.shape == (3, 7)
    assert np.isfinite(before).all()
    fitted[name].save(tmp_path / "selector.npz")
    with zipfile.ZipFile(tmp_path / "selector.npz") as archive:
        # An array of objects would be a pickle.
        assert not any(b"'descr': '|O'" in archive.read(item)[:200] for item in archive.namelist())
    loaded = load_fitted(tmp_path / "selector.npz")
    assert (loaded.predict(NEW) == before).all()
    assert (loaded.selector, dict(loaded.facts)) == (name, {"metric": "accuracy"})


def test_a_saved_selector_names_what_it_ranks(tmp_path: Path) -> None:
    settings = [ModelSetting(f"Net{place}", json.dumps({"width": 8 * place}), "quick@1") for place in range(7)]
    matrix = bare_matrix([f"graph {place}" for place in range(24)], settings, "mae", Direction.down)
    matrix.scores[:] = HOLES
    fitted = fit_selector("argosmart", FEATURES, matrix)
    fitted.save(tmp_path / "selector.npz")
    loaded = load_fitted(tmp_path / "selector.npz")
    assert loaded.settings == matrix.settings
    assert loaded.facts["metric"] == "mae"
    assert fit_selector("argosmart", FEATURES, HOLES).settings == ()


@pytest.mark.parametrize("name", list(SELECTORS))
def test_a_graph_beyond_all_past_ones_is_at_their_edge(name: str, fitted: dict[str, Fitted]) -> None:
    far = fitted[name].predict(np.array([[1e29, -1e29, 0.0], [1e40, 1e40, -1e40]]))
    assert np.isfinite(far).all()
    if SELECTORS.get(name).is_scaled:
        low, high = FEATURES.min(axis=0), FEATURES.max(axis=0)
        edge = np.array([[high[0], low[1], np.clip(0, low[2], high[2])], [high[0], high[1], low[2]]])
        assert np.allclose(far, fitted[name].predict(edge))


@pytest.mark.parametrize("name", list(SELECTORS))
def test_a_fit_depends_on_its_seed_and_on_nothing_before(name: str, fitted: dict[str, Fitted]) -> None:
    torch.manual_seed(99)
    np.random.seed(99)  # noqa: NPY002  (a generator that must not matter)
    state = torch.get_rng_state()
    again = fit_selector(name, FEATURES, HOLES, seed=5)
    assert (again.predict(NEW) == fitted[name].predict(NEW)).all()
    assert (torch.get_rng_state() == state).all()


@pytest.mark.parametrize("name", ["s2", "alors", "ncf", "meta_od", "meta_gl", "forest_neighbours"])
def test_another_seed_is_another_fit(name: str, fitted: dict[str, Fitted]) -> None:
    assert (fit_selector(name, FEATURES, HOLES, seed=6).predict(NEW) != fitted[name].predict(NEW)).any()


@pytest.mark.parametrize("name", ["isac", "argosmart", "alors", "meta_gl", "forest_neighbours"])
def test_the_setting_that_wins_on_graphs_of_a_kind_comes_first(name: str) -> None:
    predicted = fit_selector(name, FEATURES, SCORES, seed=1).predict(NEW)
    assert predicted.argmax(axis=1).tolist() == [0, 2, 4]


def test_an_answer_does_not_depend_on_what_else_is_asked(fitted: dict[str, Fitted]) -> None:
    for name in set(SELECTORS) - {"random"}:
        alone = np.concatenate([fitted[name].predict(row[None]) for row in NEW])
        assert alone == pytest.approx(fitted[name].predict(NEW), rel=1e-5), name


def test_graphs_without_a_score_are_left_out() -> None:
    empty = np.concatenate([HOLES, np.full((2, 7), np.nan)])
    features = np.concatenate([FEATURES, np.full((2, 3), 1e6)])
    expected = fit_selector("argosmart", FEATURES, HOLES).predict(NEW)
    assert (fit_selector("argosmart", features, empty).predict(NEW) == expected).all()


def test_mistakes_are_told(tmp_path: Path, fitted: dict[str, Fitted]) -> None:
    with pytest.raises(UnknownName, match="did you mean 'meta_gl'"):
        fit_selector("metagl", FEATURES, SCORES)
    with pytest.raises(BadValue, match="number of graphs with a score is 1"):
        fit_selector("isac", FEATURES[:1], SCORES[:1])
    with pytest.raises(BadValue, match="number of features is 2; allowed: 3"):
        fitted["isac"].predict(NEW[:, :2])
    (tmp_path / "odd.npz").write_bytes(b"no archive")
    with pytest.raises(BadValue, match="a path that can be written"):
        fitted["isac"].save(tmp_path / "none" / "selector.npz")
    np.savez(tmp_path / "other.npz", edges=NEW)
    np.savez(tmp_path / "code.npz", header=np.array([{}]), low=NEW, span=NEW)
    for name, words in (
        ("odd.npz", r"a saved selector is .*; allowed: a whole \.npz archive"),
        ("other.npz", r"a file that Fitted\.save wrote, not one of edges"),
        ("code.npz", "Python objects, which are never run"),
        ("none.npz", "which exists"),
    ):
        with pytest.raises(BadValue, match=words):
            load_fitted(tmp_path / name)


def test_a_file_that_was_changed_since_is_refused(tmp_path: Path) -> None:
    fit_selector("isac", FEATURES, SCORES).save(tmp_path / "whole.npz")
    with np.load(tmp_path / "whole.npz") as found:
        parts = {name: found[name] for name in found.files}
    np.savez(tmp_path / "changed.npz", **(parts | {"low": parts["low"] + 1e-9}))
    np.savez(tmp_path / "short.npz", **{name: part for name, part in parts.items() if not name.startswith("array/")})
    for name in ("changed.npz", "short.npz"):
        with pytest.raises(BadValue, match="changed since: its digest is off"):
            load_fitted(tmp_path / name)


def test_a_name_that_is_near_to_none_lists_them_all() -> None:
    with pytest.raises(UnknownName) as raised:
        fit_selector("qqqq", FEATURES, SCORES)
    assert all(name in str(raised.value) for name in SELECTORS)
    assert "--help" not in str(raised.value)


INFINITE = np.where(np.arange(72).reshape(24, 3) == 7, np.inf, FEATURES)


@pytest.mark.parametrize(
    ("features", "scores", "words"),
    [
        (FEATURES[:20], SCORES, "numbers of rows of features and scores is '20 and 24'; allowed: one row per graph"),
        (FEATURES[:, 0], SCORES, r"shape of features to learn from is \(24,\); allowed: \[graphs, features\]"),
        (FEATURES[:, :0], SCORES, r"shape of features to learn from is \(24, 0\)"),
        (FEATURES, SCORES[0], r"shape of scores to learn from is \(7,\); allowed: \[graphs, settings\]"),
        (INFINITE, SCORES, "row 2, column 1 of features to learn from is inf; allowed: finite numbers, or NaN"),
        (FEATURES, np.where(SCORES > 0.9, -np.inf, SCORES), "row 0, column 0 of scores to learn from is -inf"),
        ([["a"]], SCORES, "features to learn from is 'list'; allowed: numbers"),
    ],
)
def test_what_cannot_be_learnt_from_is_told(features: np.ndarray, scores: np.ndarray, words: str) -> None:
    with pytest.raises(BadValue, match=words):
        fit_selector("isac", features, scores)


def test_what_cannot_be_predicted_for_is_told(fitted: dict[str, Fitted]) -> None:
    for given, words in (
        (np.array([[1.0, np.inf, 0.0]]), "row 0, column 1 of features to predict for is inf"),
        (np.zeros((1, 1, 3)), r"shape of features to predict for is \(1, 1, 3\)"),
        (np.zeros((0, 3)), r"shape of features to predict for is \(0, 3\)"),
    ):
        with pytest.raises(BadValue, match=words):
            fitted["random"].predict(given)
    for bounds in ((NEW[0], NEW[0, :2]), (NEW[0], np.array([1.0, np.nan, 2.0]))):
        with pytest.raises(BadValue, match=r"bounds of features .* two vectors of 3 finite numbers"):
            fit_selector("isac", FEATURES, SCORES, bounds=bounds)


@pytest.mark.parametrize("name", ["isac", "forest_neighbours"])
def test_a_feature_that_is_undefined_counts_as_zero(name: str) -> None:
    holes = np.where(FEATURES < -0.1, np.nan, FEATURES)
    expected = fit_selector(name, np.where(np.isnan(holes), 0, holes), SCORES).predict(NEW * [[1, 1, 0]])
    assert np.isnan(holes).any()
    assert (fit_selector(name, holes, SCORES).predict(np.where(NEW * [[1, 1, 0]] == 0, np.nan, NEW)) == expected).all()
