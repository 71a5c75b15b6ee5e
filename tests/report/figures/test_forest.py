"""The forest draws what the record says, verdicts by shape, zero at one place, and no label on another."""

from __future__ import annotations

import numpy as np
import pytest
from figure_boxes import HOSTILE, bytes_of, compare_example, count_faults, make_example, points_of, with_gid, words_of
from score_tables import table_of, with_values

from gnz_track.errors import UnknownName
from gnz_track.report.figures.forest import draw_forest
from gnz_track.report.figures.pairs import LOOKS, MOST_ROWS
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Verdict


@pytest.mark.parametrize(("k", "n_tasks"), [(2, 1), (2, 20), (4, 1), (4, 20), (15, 3), (30, 2)])
def test_no_label_collides_or_leaves_the_canvas(k: int, n_tasks: int) -> None:
    assert count_faults(draw_forest(compare_example(k, n_tasks))) == (0, 0)


def test_marks_and_intervals_are_those_of_the_record() -> None:
    comparison = compare_example(4, 1, 8, margin=0.01)
    figure = draw_forest(comparison)
    pairs = sorted(comparison.pairs, key=lambda pair: -pair.effects.mean.mean)
    drawn = {}
    for verdict in Verdict:
        for x, y in points_of(with_gid(figure, f"gnz-{verdict}")):
            drawn[round(y)] = (x, verdict)
    assert [drawn[row] for row in range(6)] == [(pair.effects.mean.mean, pair.verdict) for pair in pairs]
    for gid, read in (("gnz-interval", lambda pair: pair.effects.mean), ("gnz-simultaneous", lambda p: p.simultaneous)):
        (lines,) = with_gid(figure, gid)
        ends = [(segment[0][0], segment[1][0]) for segment in lines.get_segments()]
        assert ends == [(read(pair).low, read(pair).high) for pair in pairs]


def test_order_of_the_record_is_kept_on_request() -> None:
    comparison = compare_example(4, 1)
    figure = draw_forest(comparison, sort_within=False)
    (lines,) = with_gid(figure, "gnz-interval")
    assert [segment[0][0] for segment in lines.get_segments()] == [pair.effects.mean.low for pair in comparison.pairs]


def test_every_verdict_has_a_shape_of_its_own() -> None:
    shapes = {
        (look["marker"], look["fillstyle"], look.get("markerfacecolor", look["color"]) == "white")
        for look in LOOKS.values()
    }
    assert len(shapes) == len(Verdict) == len(LOOKS)


def test_zero_is_at_one_place_in_all_panels() -> None:
    figure = draw_forest(compare_example(5, 6))
    shares = [-axes.get_xlim()[0] / (axes.get_xlim()[1] - axes.get_xlim()[0]) for axes in figure.axes]
    assert len(figure.axes) == 6
    assert np.allclose(shares, shares[0])


def test_band_is_the_margin_unless_given() -> None:
    comparison = compare_example(3, 2, margin=0.01)
    assert not with_gid(draw_forest(compare_example(3, 2)), "gnz-band")
    for band, half in ((None, 0.01), (0.02, 0.02)):
        figure = draw_forest(comparison, band=band)
        for patch in with_gid(figure, "gnz-band"):
            assert patch.get_x() == -half
            assert patch.get_width() == 2 * half
        assert len(with_gid(figure, "gnz-band")) == 2
        assert f"\u00b1{half:g}" in figure.alt_text


def test_rows_that_cannot_be_told_apart_are_hatched_and_said() -> None:
    figure = draw_forest(compare_example(4, 1, 5, test="wilcoxon"))
    assert sum(patch.get_hatch() is not None for patch in figure.axes[0].patches) == 6
    assert "Hatched: 6 pairs" in figure.alt_text
    assert "exact Wilcoxon, Holm-adjusted" in figure.alt_text
    assert not any(
        patch.get_hatch() for patch in draw_forest(compare_example(4, 1, 10, test="wilcoxon")).axes[0].patches
    )


def test_caption_names_test_family_size_level_and_seeds() -> None:
    said = draw_forest(compare_example(4, 3, 7, alpha=0.1)).alt_text.replace("\u00a0", " ")
    for words in ("paired t", "Holm-adjusted over all pairs of one task (m = 6)", "\u03b1 = 0.1", "7 seeds", "90 %"):
        assert words in said
    assert "m = 18" in draw_forest(compare_example(4, 3, family="all")).alt_text.replace("\u00a0", " ")


def test_a_wild_interval_ends_in_an_arrow_and_squeezes_no_other() -> None:
    scores = make_example(6, 1, 5)
    scores[0, 3] += [5.0, -5.0, 5.0, -5.0, 0.0]
    figure = draw_forest(compare(table_of(scores)))
    assert with_gid(figure, "gnz-cut")
    assert "An arrow" in figure.alt_text


def test_too_many_pairs_are_those_with_the_best_and_said() -> None:
    comparison = compare_example(15, 1)
    assert len(comparison.pairs) > MOST_ROWS
    figure = draw_forest(comparison)
    (lines,) = with_gid(figure, "gnz-interval")
    assert len(lines.get_segments()) == 14
    assert "91 other pairs are in the tables" in figure.alt_text


def test_one_task_of_many_and_an_unknown_one() -> None:
    comparison = compare_example(3, 4)
    assert len(draw_forest(comparison, task="t02").axes) == 1
    with pytest.raises(UnknownName, match="t99"):
        draw_forest(comparison, task="t99")


def test_bytes_are_stable() -> None:
    comparison = compare_example(4, 2, margin=0.01)
    for kind in ("svg", "pdf", "png"):
        assert bytes_of(draw_forest(comparison), kind) == bytes_of(draw_forest(comparison), kind)


def test_hostile_names_are_text() -> None:
    table = table_of(make_example(len(HOSTILE), 1, 3), models=HOSTILE)
    table["task"] = "<b>$t_1$</b> " + "x" * 200
    figure = draw_forest(compare(table))
    assert count_faults(figure) == (0, 0)
    for kind in ("svg", "pdf", "png"):
        assert b"<script>" not in bytes_of(figure, kind)


def test_nothing_to_compare_is_said_in_words() -> None:
    one_model = compare_example(1, 2)
    figure = draw_forest(one_model)
    assert not figure.axes
    assert "No pair of models" in words_of(figure)
    assert count_faults(figure) == (0, 0)


def test_one_seed_and_absent_scores_leave_rows_without_marks() -> None:
    one_seed = draw_forest(compare_example(3, 2, 1))
    assert not any(lines.get_segments() for lines in with_gid(one_seed, "gnz-interval"))
    assert count_faults(one_seed) == (0, 0)
    table = table_of(make_example(3, 2, 3), models=["a", "b", "c"])
    absent = {("t00", "a", seed): float("nan") for seed in range(3)}
    figure = draw_forest(compare(with_values(table, "score", absent, "task", "model", "seed").astype({"score": float})))
    assert [text.get_text().strip() for text in with_gid(figure, "gnz-absent")] == ["not run", "not run"]
    assert count_faults(figure) == (0, 0)


def test_a_difference_of_names_written_from_right_to_left_is_read_from_left_to_right() -> None:
    hebrew, arabic = "\u05de\u05d5\u05d3\u05dc", "\u0646\u0645\u0648\u0630\u062c"
    comparison = compare(table_of(make_example(2, 1), models=[hebrew, arabic]))
    (pair,) = comparison.pairs
    (label,) = (text.get_text() for text in draw_forest(comparison).texts if text.get_gid() == "gnz-pair")
    assert label == f"\u200e{pair.first}\u200e \u2212 \u200e{pair.second}\u200e"
    assert "\u200e" not in words_of(draw_forest(compare_example(2, 1)))
