"""Score against cost: points are means of the runs that count, and the line is the Pareto front."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from diagrams import long_names
from figure_boxes import HOSTILE, bytes_of, count_faults, make_example, points_of, with_gid, words_of
from score_tables import table_of

from gnz_track.errors import UnknownName
from gnz_track.report.figures.trade_offs import draw_trade_off
from gnz_track.stats.comparison.compare import compare


def costed(k: int, n_tasks: int, n_seeds: int = 4, *, names: list[str] | None = None, **columns: Any) -> pd.DataFrame:
    table = table_of(make_example(k, n_tasks, n_seeds), models=names or long_names(k), **columns)
    draw = np.random.default_rng(5)
    cost = {name: 10 ** draw.uniform(2, 6) for name in sorted(set(table["model"]))}
    table["n_parameters"] = [int(cost[name]) for name in table["model"]]
    table["seconds"] = [cost[name] ** 0.2 * draw.uniform(0.8, 1.2) for name in table["model"]]
    return table


@pytest.mark.parametrize(("k", "n_tasks"), [(1, 1), (2, 1), (4, 20), (15, 1), (30, 4)])
@pytest.mark.parametrize("cost", ["seconds", "n_parameters"])
def test_no_label_collides_or_leaves_the_canvas(k: int, n_tasks: int, cost: str) -> None:
    table = costed(k, n_tasks)
    assert count_faults(draw_trade_off(compare(table), table, cost=cost)) == (0, 0)


def test_points_are_means_of_scores_and_costs() -> None:
    table = costed(5, 2)
    figure = draw_trade_off(compare(table), table)
    for axes, (_, rows) in zip(figure.axes, table.groupby("task"), strict=True):
        means = rows.groupby("model")[["seconds", "score"]].mean().sort_values("seconds")
        drawn = points_of(line for line in axes.lines if line.get_gid() == "gnz-point")
        assert np.allclose(drawn, means.to_numpy())


@pytest.mark.parametrize("direction", ["up", "down"])
def test_the_front_passes_no_better_point(direction: str) -> None:
    table = costed(9, 1, direction=direction)
    figure = draw_trade_off(compare(table), table)
    (front,) = with_gid(figure, "gnz-front")
    sign = 1 if direction == "up" else -1
    steps = front.get_xydata()
    assert np.all(np.diff(steps[:, 0]) >= 0)
    assert np.all(sign * np.diff(steps[:, 1]) >= 0)
    for x, y in points_of(with_gid(figure, "gnz-point")):
        reached = sign * steps[steps[:, 0] <= x + 1e-12, 1]
        assert reached.max() >= sign * y - 1e-12


def test_long_ways_are_logarithmic_and_short_ones_are_not() -> None:
    table = costed(5, 1)
    assert draw_trade_off(compare(table), table, cost="n_parameters").axes[0].get_xscale() == "log"
    table["seconds"] = 10.0 + table["seed"]
    figure = draw_trade_off(compare(table), table)
    assert figure.axes[0].get_xscale() == "linear"
    assert count_faults(figure) == (0, 0)


def test_what_has_no_cost_is_left_out_or_said() -> None:
    table = costed(3, 2)
    comparison = compare(table)
    figure = draw_trade_off(comparison, table.assign(seconds=table["seconds"].where(table["task"] == "t00")))
    assert len(figure.axes) == 1
    assert "Left out: 1 task" in figure.alt_text
    for without, words in (
        (table.drop(columns="seconds"), "no column seconds"),
        (table.assign(seconds=None), "no cell"),
    ):
        figure = draw_trade_off(comparison, without)
        assert not figure.axes
        assert words in words_of(figure)
    with pytest.raises(UnknownName, match="watts"):
        draw_trade_off(comparison, table, cost="watts")


def test_caption_says_what_is_drawn() -> None:
    table = costed(3, 1, 6)
    said = draw_trade_off(compare(table, alpha=0.1), table).alt_text
    for words in ("90 % Student t intervals", "seconds of training", "6 seeds", "Pareto front"):
        assert words in said


def test_time_is_that_of_processors_where_they_computed_all() -> None:
    table = costed(3, 1).assign(device="cpu")
    table["cpu_seconds"] = table["seconds"]
    # As where another process ran beside the first model.
    table["seconds"] = table["seconds"].where(table["model"] != table["model"].iloc[0], 10 * table["seconds"])
    figure = draw_trade_off(compare(table), table)
    means = table.groupby("model")["cpu_seconds"].mean().sort_values()
    drawn = points_of(line for line in figure.axes[0].lines if line.get_gid() == "gnz-point")
    assert np.allclose([x for x, _ in drawn], means.to_numpy())
    assert "CPU seconds of training" in figure.alt_text
    assert "Wall times are up to 10 times what cells computed" in figure.alt_text
    on_gpu = table.assign(device="cuda")
    assert "wall seconds of training" in draw_trade_off(compare(on_gpu), on_gpu).alt_text


def test_bytes_are_stable_and_hostile_names_are_text() -> None:
    table = costed(len(HOSTILE), 1, 3, names=HOSTILE)
    comparison = compare(table)
    assert bytes_of(draw_trade_off(comparison, table)) == bytes_of(draw_trade_off(comparison, table))
    assert b"<script>" not in bytes_of(draw_trade_off(comparison, table))
    assert count_faults(draw_trade_off(comparison, table)) == (0, 0)
