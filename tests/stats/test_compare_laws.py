from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_tables import table_of

from gnz_track.records import to_json
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Comparison


def verdicts(found: Comparison) -> dict[tuple[str, frozenset[str]], tuple[str, str | None]]:
    """Return (task, pair) -> verdict, and which of the two is better on average; tasks and all of them together."""
    better = {
        (pair.task, frozenset((pair.first, pair.second))): (
            str(pair.verdict),
            None if abs(pair.effects.mean.mean or 0.0) < 1e-12 else pair.first if _mean(pair) > 0 else pair.second,
        )
        for pair in found.pairs
    }
    across = {("", frozenset((pair.first, pair.second))): (str(pair.verdict), None) for pair in found.across.pairs}
    return {**better, **across}


def _mean(pair: Any) -> float:
    return float(pair.effects.mean.mean or 0.0)


scores_in_thousandths = st.integers(0, 40)


@st.composite
def score_arrays(draw: st.DrawFn) -> np.ndarray[Any, Any]:
    n_tasks, n_models, n_seeds = draw(st.integers(1, 3)), draw(st.integers(2, 4)), draw(st.integers(2, 7))
    size = n_tasks * n_models * n_seeds
    whole = draw(st.lists(scores_in_thousandths, min_size=size, max_size=size))
    return np.round(0.5 + 0.001 * np.array(whole).reshape(n_tasks, n_models, n_seeds), 3)


@settings(max_examples=25, deadline=None)
@given(scores=score_arrays(), seed=st.integers(0, 2**32 - 1), test=st.sampled_from(["t", "wilcoxon"]))
def test_verdicts_do_not_depend_on_order_scale_or_noise(scores: np.ndarray[Any, Any], seed: int, test: str) -> None:
    rng = np.random.default_rng(seed)
    found = verdicts(compare(table_of(scores), test=test))
    shuffled = table_of(scores).sample(frac=1.0, random_state=seed % 2**31)
    assert verdicts(compare(shuffled, test=test)) == found
    order = rng.permutation(scores.shape[1])
    renamed = verdicts(compare(table_of(scores[:, order]), test=test))
    # Model m of the permuted table is model order[m] of the first one.
    names = {f"m{place:02}": f"m{model:02}" for place, model in enumerate(order)}
    names |= {"": ""}
    back = {
        (task, frozenset(names[name] for name in pair)): (verdict, better and names[better])
        for (task, pair), (verdict, better) in renamed.items()
    }
    assert back == found
    for factor in (1e3, 1e-3):
        assert verdicts(compare(table_of(scores * factor), test=test)).keys() == found.keys()
        scaled = verdicts(compare(table_of(scores * factor), test=test))
        assert {key: value[0] for key, value in scaled.items()} == {key: value[0] for key, value in found.items()}
    for noise in (
        1e-17 * rng.normal(size=scores.shape),
        np.nextafter(scores, rng.integers(0, 2, scores.shape)) - scores,
    ):
        assert verdicts(compare(table_of(scores + noise), test=test)) == found


@settings(max_examples=25, deadline=None)
@given(scores=score_arrays())
def test_turning_direction_and_sign_changes_nothing_and_direction_alone_mirrors(scores: np.ndarray[Any, Any]) -> None:
    found = compare(table_of(scores), margin=0.004)
    both = compare(table_of(-scores, direction="down"), margin=0.004)
    assert verdicts(both) == verdicts(found)
    mirrored = compare(table_of(scores, direction="down"), margin=0.004)
    for one, other in zip(found.pairs, mirrored.pairs, strict=True):
        assert one.verdict is other.verdict
        assert _mean(one) == -_mean(other)
        assert one.p == other.p
    assert found.across.ranks is not None
    assert mirrored.across.ranks is not None
    sums = np.add(found.across.ranks.mean_ranks, mirrored.across.ranks.mean_ranks)
    assert sums == pytest.approx(scores.shape[1] + 1)


@settings(max_examples=60, deadline=None)
@given(
    scores=score_arrays(),
    missing=st.sampled_from(["drop_pair", "drop_task", "drop_model", "worst_rank"]),
    cut=st.data(),
)
def test_no_nan_travels(scores: np.ndarray[Any, Any], missing: str, cut: Any) -> None:
    holes = cut.draw(st.lists(st.booleans(), min_size=scores.size, max_size=scores.size))
    scores = np.where(np.reshape(holes, scores.shape), np.nan, scores)
    if np.isnan(scores).all():
        return
    found = compare(table_of(scores), missing=missing, margin=0.01, bounds=(0.0, 1.0), n_resamples=20)
    # Refuses NaN and infinity.
    assert to_json(found)
    assert not re.search(r"\bnan\b|\binf\b|None", str(found))
    assert found.n_finished == np.isfinite(scores).sum()
    assert found.n_finished + found.n_missing == found.n_cells
