"""Every selector: seeded, started anew by every fit, saved without pickle, and at ease with what is missing."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
import torch

from gnz_track.errors import BadValue, UnknownName
from gnz_track.selection.selectors.catalogue import SELECTORS, Fitted, fit_selector, load_fitted

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
    with pytest.raises(BadValue, match=r"a file that Fitted\.save wrote"):
        load_fitted(tmp_path / "odd.npz")
