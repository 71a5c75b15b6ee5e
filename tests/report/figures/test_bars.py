"""Bars are the means of the record, with their intervals, and dots where seeds are few."""

from __future__ import annotations

import numpy as np
import pytest
from figure_boxes import HOSTILE, bytes_of, compare_example, count_faults, make_example, points_of, with_gid, words_of
from score_tables import table_of, with_values

from gnz_track.report.figures.axes import model_marks, order_models
from gnz_track.report.figures.bars import draw_bars
from gnz_track.stats.comparison.compare import compare


@pytest.mark.parametrize(("k", "n_tasks"), [(1, 1), (2, 1), (2, 20), (4, 20), (15, 6), (30, 4)])
def test_no_label_collides_or_leaves_the_canvas(k: int, n_tasks: int) -> None:
    assert count_faults(draw_bars(compare_example(k, n_tasks))) == (0, 0)


def test_lengths_intervals_and_dots_are_those_of_the_record() -> None:
    comparison = compare_example(4, 2, 5)
    figure = draw_bars(comparison)
    order = order_models(comparison)
    for task, axes in zip(comparison.tasks, figure.axes, strict=True):
        cells = {cell.model: cell for cell in task.cells}
        bars = {round(patch.get_y() + patch.get_height() / 2): patch for patch in axes.patches}
        assert [bars[row].get_width() for row in range(4)] == [cells[name].mean for name in order]
        assert {patch.get_x() for patch in axes.patches} == {0}
        lines = {line.get_ydata()[0]: line.get_xdata() for line in axes.lines if line.get_gid() == "gnz-interval"}
        for row, name in enumerate(order):
            assert tuple(lines[row]) == (cells[name].interval.low, cells[name].interval.high)
        dots = [x for x, _ in points_of(line for line in axes.lines if line.get_gid() == "gnz-seeds")]
        assert sorted(dots) == sorted(score for cell in task.cells for score in cell.scores)


def test_many_seeds_have_no_dots() -> None:
    assert not with_gid(draw_bars(compare_example(2, 1, 13)), "gnz-seeds")
    assert with_gid(draw_bars(compare_example(2, 1, 12)), "gnz-seeds")


def test_models_differ_by_hatch_and_colour_and_keep_them_when_others_leave() -> None:
    marks = model_marks([f"m{n:02}" for n in range(56)])
    assert len({(mark.colour, mark.hatch) for mark in marks.values()}) == 56
    patches = draw_bars(compare_example(8, 1)).axes[0].patches
    assert len({patch.get_hatch() for patch in patches}) == 8


def test_errors_and_scales_of_several_metrics() -> None:
    table = table_of(make_example(3, 2), models=["a", "b", "c"])
    table["metric"] = ["mae" if task == "t01" else "accuracy" for task in table["task"]]
    table["direction"] = ["down" if task == "t01" else "up" for task in table["task"]]
    table["score"] = np.where(table["task"] == "t01", 1000 * table["score"], table["score"])
    figure = draw_bars(compare(table))
    assert figure.axes[0].get_xlim()[1] < 2
    assert figure.axes[1].get_xlim()[1] > 500
    assert "mae (lower is better)" in words_of(figure)
    assert count_faults(figure) == (0, 0)


def test_failed_and_absent_cells_are_written_and_negative_scores_go_left() -> None:
    table = table_of(make_example(3, 2, 4) - 0.7, models=["a", "b", "c"])
    lost = {("t00", "a", seed): float("nan") for seed in range(4)} | {("t01", "b", 0): float("nan")}
    table = with_values(table, "score", lost, "task", "model", "seed").astype({"score": float})
    figure = draw_bars(compare(table))
    assert "no score" in words_of(figure)
    assert "3/4" in words_of(figure)
    assert "Of 24 cells 5 missing." in figure.alt_text
    assert min(axes.get_xlim()[0] for axes in figure.axes) < 0
    assert count_faults(figure) == (0, 0)


def test_one_seed_has_no_interval_and_the_caption_says_what_is_drawn() -> None:
    figure = draw_bars(compare_example(3, 1, 1))
    assert not with_gid(figure, "gnz-interval")
    said = draw_bars(compare_example(3, 1, 6, alpha=0.1)).alt_text
    assert "90 % Student t intervals over seeds" in said
    assert "6 seeds" in said


def test_bytes_are_stable_and_hostile_names_are_text() -> None:
    comparison = compare(table_of(make_example(len(HOSTILE), 2, 3), models=HOSTILE))
    figure = draw_bars(comparison)
    found = bytes_of(figure)
    assert found == bytes_of(draw_bars(comparison))
    assert b"<script>" not in found
    assert count_faults(figure) == (0, 0)
