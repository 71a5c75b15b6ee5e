"""Learning curves are means over seeds, with a band while all seeds are there."""

from __future__ import annotations

import numpy as np
import pytest
from diagrams import long_names
from figure_boxes import HOSTILE, bytes_of, count_faults, points_of, with_gid, words_of

from gnz_track.errors import BadValue
from gnz_track.report.figures.learning_curves import choose_series, draw_learning_curves
from gnz_track.stats.estimates.intervals import intervals_of

Histories = dict[str, dict[str, list[dict[str, tuple[float, ...]]]]]


def make_histories(
    k: int, n_tasks: int, n_seeds: int = 3, *, epochs: int = 30, names: list[str] | None = None
) -> Histories:
    draw = np.random.default_rng(3)

    def series() -> dict[str, tuple[float, ...]]:
        rising = 0.8 * (1 - np.exp(-np.arange(epochs) / draw.uniform(3, 9)))
        return {
            "train/loss": tuple(2 - rising),
            "val/accuracy": tuple(rising + draw.normal(0, 0.02, epochs)),
            "test/accuracy": tuple(rising + draw.normal(0, 0.02, epochs)),
        }

    return {
        f"task-{task}": {name: [series() for _ in range(n_seeds)] for name in names or long_names(k)}
        for task in range(n_tasks)
    }


@pytest.mark.parametrize(("k", "n_tasks"), [(1, 1), (2, 1), (4, 20), (15, 1), (30, 3)])
def test_no_label_collides_or_leaves_the_canvas(k: int, n_tasks: int) -> None:
    assert count_faults(draw_learning_curves(make_histories(k, n_tasks))) == (0, 0)


def test_curves_and_bands_are_means_and_intervals() -> None:
    histories = make_histories(1, 1, 4, epochs=12)
    (model,) = histories["task-0"]
    values = np.array([seed["val/accuracy"] for seed in histories["task-0"][model]])
    found = intervals_of(list(values.T))
    figure = draw_learning_curves(histories)
    assert points_of(with_gid(figure, "gnz-curve")) == [(epoch, one.mean) for epoch, one in enumerate(found)]
    (band,) = with_gid(figure, "gnz-band")
    corners = {(round(x), round(y, 9)) for x, y in band.get_paths()[0].vertices}
    assert {(epoch, round(end, 9)) for epoch, one in enumerate(found) for end in (one.low, one.high)} <= corners


def test_behind_the_first_seed_that_stopped_the_mean_is_dotted_and_has_no_band() -> None:
    long, short = tuple(np.linspace(0, 1, 10)), tuple(np.linspace(0, 0.5, 6))
    histories = {"t": {"m": [{"val/auc": long}, {"val/auc": short}]}}
    figure = draw_learning_curves(histories)
    assert max(x for x, _ in points_of(with_gid(figure, "gnz-curve"))) == 5
    assert points_of(with_gid(figure, "gnz-rest"))[-1] == (9, 1.0)
    assert max(band.get_paths()[0].vertices[:, 0].max() for band in with_gid(figure, "gnz-band")) == 5
    assert "Dotted" in figure.alt_text


def test_the_metric_of_validation_comes_first() -> None:
    names = ["train/loss", "val/loss", "test/auc", "val/auc"]
    assert choose_series(names) == "val/auc"
    assert choose_series(["train/loss", "val/loss", "test/auc"]) == "test/auc"
    assert choose_series(["train/loss"]) == "train/loss"
    assert "val/accuracy \u2191" in words_of(draw_learning_curves(make_histories(1, 1), directions={"task-0": "up"}))
    with pytest.raises(BadValue, match="sideways"):
        draw_learning_curves(make_histories(1, 1), directions={"task-0": "sideways"})


def test_values_that_are_no_numbers_leave_a_gap_in_the_band() -> None:
    nan = float("nan")
    histories = {"t": {"m": [{"val/auc": (0.1, 0.2, nan, 0.4, 0.5)}, {"val/auc": (0.2, 0.2, 0.3, 0.5, 0.6)}]}}
    figure = draw_learning_curves(histories)
    assert [y for _, y in points_of(with_gid(figure, "gnz-curve"))] == pytest.approx([0.15, 0.2, 0.3, 0.45, 0.55])
    assert len(with_gid(figure, "gnz-band")) == 2


def test_panels_side_by_side_are_as_asked_for() -> None:
    histories = make_histories(2, 4)
    widths = [draw_learning_curves(histories, max_cols=n).get_size_inches()[0] for n in (1, 2, 4)]
    assert widths == sorted(set(widths))


@pytest.mark.parametrize(
    "histories", [{}, {"t": {}}, {"t": {"m": []}}, {"t": {"m": [{}]}}, {"t": {"m": [{"val/a": ()}]}}]
)
def test_nothing_to_draw_is_said_in_words(histories: Histories) -> None:
    figure = draw_learning_curves(histories)
    assert not figure.axes
    assert "No learning curve" in words_of(figure)


def test_one_seed_and_one_epoch_are_drawn() -> None:
    figure = draw_learning_curves({"t": {"m": [{"val/auc": (0.5,)}], "n": []}})
    assert points_of(with_gid(figure, "gnz-curve")) == [(0, 0.5)]
    assert "1 cell group" in figure.alt_text
    assert count_faults(figure) == (0, 0)


def test_nan_only_series_are_said_in_words() -> None:
    assert not draw_learning_curves({"t": {"m": [{"val/auc": (float("nan"),) * 3}]}}).axes


def test_many_models_have_no_bands_and_long_curves_stay_small() -> None:
    figure = draw_learning_curves(make_histories(7, 1))
    assert not with_gid(figure, "gnz-band")
    assert "No bands" in figure.alt_text
    long = draw_learning_curves(make_histories(2, 1, epochs=3000))
    assert len(with_gid(long, "gnz-curve")[0].get_xdata()) <= 121


def test_bytes_are_stable_and_hostile_names_are_text() -> None:
    histories = make_histories(0, 1, names=HOSTILE)
    assert bytes_of(draw_learning_curves(histories)) == bytes_of(draw_learning_curves(histories))
    assert b"<script>" not in bytes_of(draw_learning_curves(histories))
    assert count_faults(draw_learning_curves(histories)) == (0, 0)
