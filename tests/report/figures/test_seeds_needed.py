"""Seeds against detectable effects: the curves are exact, the marks are the record's."""

from __future__ import annotations

import pytest
from figure_boxes import bytes_of, compare_example, count_faults, make_example, points_of, with_gid, words_of
from score_tables import table_of, with_values

from gnz_track.report.figures.seeds_needed import draw_detectable_effects
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.design.power import smallest_effect


@pytest.mark.parametrize(("k", "n_tasks", "n_seeds"), [(2, 1, 2), (4, 20, 10), (15, 1, 3), (30, 1, 5), (2, 1, 60)])
def test_no_label_collides_or_leaves_the_canvas(k: int, n_tasks: int, n_seeds: int) -> None:
    assert count_faults(draw_detectable_effects(compare_example(k, n_tasks, n_seeds))) == (0, 0)


def test_curves_are_exact_and_marks_are_those_of_the_record() -> None:
    comparison = compare_example(4, 2, 10)
    figure = draw_detectable_effects(comparison)
    for gid, alpha in (("gnz-m-1", 0.05), ("gnz-m-6", 0.05 / 6)):
        points = points_of(with_gid(figure, gid))
        assert points == [(n, smallest_effect(int(n), alpha=alpha, power=0.8)) for n, _ in points]
        assert len(points) > 8
    design = comparison.pairs[0].design
    assert points_of(with_gid(figure, "gnz-design")) == [(10, design.effect), (10, design.effect_in_family)]
    assert [round(y, 3) for _, y in points_of(with_gid(figure, "gnz-design"))] == [0.996, 1.371]


def test_families_of_several_sizes_have_a_curve_each() -> None:
    table = table_of(make_example(4, 2, 5), models=["a", "b", "c", "d"])
    table = table[(table["task"] == "t00") | (table["model"] != "d")]
    figure = draw_detectable_effects(compare(table))
    assert with_gid(figure, "gnz-m-3")
    assert with_gid(figure, "gnz-m-6")
    assert "m = 3" in words_of(figure)


def test_curves_differ_by_pattern_and_the_caption_says_what_they_are() -> None:
    figure = draw_detectable_effects(compare_example(4, 1, 7, power=0.9))
    lines = [line for axes in figure.axes for line in axes.lines if str(line.get_gid()).startswith("gnz-m-")]
    assert len({line.get_linestyle() for line in lines}) == 2
    for words in ("power 0.9", "7 seeds", "exact"):
        assert words in figure.alt_text


def test_nothing_to_plan_is_said_in_words() -> None:
    for comparison, words in ((compare_example(1, 2), "make no pair"), (compare_example(3, 2, 1), "two seeds")):
        figure = draw_detectable_effects(comparison)
        assert not figure.axes
        assert words in words_of(figure)


def test_pairs_without_seeds_in_common_are_counted() -> None:
    table = table_of(make_example(3, 1, 4), models=["a", "b", "c"])
    lost = {("t00", "a", seed): float("nan") for seed in range(3)}
    table = with_values(table, "score", lost, "task", "model", "seed").astype({"score": float})
    assert "2 pairs with fewer than two seeds" in draw_detectable_effects(compare(table)).alt_text


def test_bytes_are_stable() -> None:
    comparison = compare_example(3, 1)
    for kind in ("svg", "pdf"):
        one, other = (bytes_of(draw_detectable_effects(comparison), kind) for _ in range(2))
        assert one == other
