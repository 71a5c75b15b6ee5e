"""Profiles are those of the record; without declared bounds a sentence says how to get them."""

from __future__ import annotations

import numpy as np
import pytest
from figure_boxes import HOSTILE, bytes_of, compare_example, count_faults, make_example, with_gid, words_of
from score_tables import table_of

from gnz_track.report.figures.profiles import draw_profiles
from gnz_track.stats.comparison.compare import compare

QUICK = {"bounds": (0.0, 1.0), "n_resamples": 100}


@pytest.mark.parametrize("k", [1, 2, 4, 15, 30])
def test_no_label_collides_or_leaves_the_canvas(k: int) -> None:
    assert count_faults(draw_profiles(compare_example(k, 3, **QUICK))) == (0, 0)


def test_lines_and_bands_are_those_of_the_record() -> None:
    comparison = compare_example(3, 4, **QUICK)
    figure = draw_profiles(comparison)
    lines = with_gid(figure, "gnz-profile")
    assert [tuple(line.get_ydata()) for line in lines] == [one.profile.shares for one in comparison.aggregates]
    assert [tuple(line.get_xdata()) for line in lines] == [one.profile.thresholds for one in comparison.aggregates]
    for band, one in zip(with_gid(figure, "gnz-band"), comparison.aggregates, strict=True):
        ys = band.get_paths()[0].vertices[:, 1]
        assert np.isclose(ys.max(), max(one.profile.highs))
        assert np.isclose(ys.min(), min(one.profile.lows))


def test_models_differ_by_line_and_marker() -> None:
    lines = with_gid(draw_profiles(compare_example(9, 2, **QUICK)), "gnz-profile")
    assert len({(line.get_linestyle(), line.get_marker()) for line in lines}) == 9


def test_many_models_have_no_bands_and_the_caption_says_so() -> None:
    figure = draw_profiles(compare_example(7, 2, **QUICK))
    assert not with_gid(figure, "gnz-band")
    assert "No bands: 7 models" in figure.alt_text
    few = draw_profiles(compare_example(2, 3, 6, **QUICK)).alt_text
    for words in ("95 %, pointwise", "2 models over 3 tasks", "6 seeds"):
        assert words in few


def test_without_bounds_a_sentence_says_how_to_get_them() -> None:
    figure = draw_profiles(compare_example(3, 2))
    assert not figure.axes
    assert "bounds=(0, 1)" in words_of(figure)
    assert count_faults(figure) == (0, 0)


def test_one_seed_has_no_band() -> None:
    figure = draw_profiles(compare_example(2, 2, 1, **QUICK))
    assert not with_gid(figure, "gnz-band")
    assert len(with_gid(figure, "gnz-profile")) == 2


def test_bytes_are_stable_and_hostile_names_are_text() -> None:
    comparison = compare(table_of(make_example(len(HOSTILE), 2, 3), models=HOSTILE), **QUICK)
    assert bytes_of(draw_profiles(comparison)) == bytes_of(draw_profiles(comparison))
    assert b"<script>" not in bytes_of(draw_profiles(comparison))
    assert count_faults(draw_profiles(comparison)) == (0, 0)
