"""Selectors on testbeds: published figures come out again, and comparisons are paired over graphs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from selection.published_scores import LINKS, NODES, known_at, load_published

from gnz_track.errors import BadValue
from gnz_track.selection.study.evaluation import (
    ScoredGraphs,
    compare_selectors,
    fold_by_numbers,
    fold_by_strata,
    try_selector,
    try_selectors,
)


def planted(n: int = 40, m: int = 8) -> tuple[ScoredGraphs, np.ndarray]:
    """Return graphs of four kinds, on each of which another setting is best; features tell the kinds apart."""
    generator = np.random.default_rng(1)
    kinds = np.arange(n) % 4
    features = np.eye(4)[kinds] * 10 + generator.normal(0, 0.1, (n, 4))
    scores = 0.5 + 0.1 * generator.random((n, m))
    scores[np.arange(n), kinds] = 0.9 + 0.01 * generator.random(n)
    return ScoredGraphs(features, scores), kinds


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("kind", "selector", "auc"),
    [
        (LINKS, "global_best_score", 0.731),
        (LINKS, "global_best_rank", 0.731),
        (LINKS, "argosmart", 0.825),
        (NODES, "global_best_score", 0.744),
        (NODES, "global_best_rank", 0.741),
        (NODES, "argosmart", 0.758),
    ],
)
def test_published_figures_come_out_again(kind: str, selector: str, auc: float, mirror: Path) -> None:
    arrays = load_published(mirror, kind)
    features = np.nan_to_num(arrays["M_regular"])
    folds = fold_by_numbers(ScoredGraphs(features, known_at(arrays)), arrays["fold_fully_observed"])
    # Published features are scaled over all graphs, those of the test included.
    outcome = try_selector(selector, folds, bounds=(features.min(axis=0), features.max(axis=0)))
    assert outcome.mean("auc") == pytest.approx(auc, abs=0.001)


@pytest.mark.parametrize("selector", ["isac", "argosmart", "forest_neighbours"])
def test_planted_kinds_are_found(selector: str) -> None:
    trial, kinds = planted()
    outcome = try_selector(selector, fold_by_strata(trial, kinds))
    assert outcome.mean("auc") == 1
    assert outcome.mean("regret") == pytest.approx(0, abs=1e-12)
    assert outcome.standard_error("auc") == 0
    assert sorted(outcome.rows.tolist()) == list(range(40))


def test_comparison_is_paired_over_graphs_and_adjusted() -> None:
    trial, kinds = planted()
    outcomes = try_selectors(["random", "global_best_score", "argosmart"], fold_by_strata(trial, kinds))
    found = compare_selectors(outcomes, "argosmart", metric="regret")
    assert [one.other for one in found] == ["random", "global_best_score"]
    for one in found:
        losses = {outcome.selector: outcome.mean("regret") for outcome in outcomes}
        # Less regret is an advantage.
        assert one.advantage.mean == pytest.approx(losses[one.other] - losses["argosmart"])
        assert one.advantage.n_pairs == 40
        assert one.p is not None
        assert one.p_adjusted is not None
        assert one.p <= one.p_adjusted < 0.01
    with pytest.raises(BadValue, match="metric of a ranking"):
        compare_selectors(outcomes, "argosmart", metric="accuracy")
    for ask in (outcomes[0].mean, outcomes[0].standard_error):
        with pytest.raises(BadValue, match="metric of a ranking is 'acc'; allowed: auc"):
            ask("acc")
    with pytest.raises(BadValue, match="the selector to compare with"):
        compare_selectors(outcomes, "isac")


def test_nothing_to_try_or_to_compare_is_told() -> None:
    trial, kinds = planted()
    folds = fold_by_strata(trial, kinds)
    with pytest.raises(BadValue, match="number of folds is 0"):
        try_selector("random", [])
    for names in ("random", ["random", "random"]):
        with pytest.raises(BadValue, match="a list of names, each once"):
            try_selectors(names, folds)
    outcomes = try_selectors(["random", "global_best_score"], folds)
    for few in (outcomes[:1], [*outcomes, outcomes[0]]):
        with pytest.raises(BadValue, match=r"selectors to compare is .* two or more, each once"):
            compare_selectors(few, "random")
