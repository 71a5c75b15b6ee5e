"""The matrix of pairs prints what the record says, above and below the diagonal, in one order everywhere."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from figure_boxes import HOSTILE, bytes_of, compare_example, count_faults, make_example, with_gid, words_of
from matplotlib.colors import to_rgb
from score_tables import table_of, with_values

from gnz_track.errors import UnknownName
from gnz_track.report.figures.axes import decimals_for, signed
from gnz_track.report.figures.labels import write_p
from gnz_track.report.figures.pairs import BINS, DIVERGING, draw_pairs
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Comparison, PairComparison


def oriented(comparison: Comparison, task: str, row: str, column: str) -> tuple[PairComparison, float]:
    pair = next(pair for pair in comparison[task].pairs if {pair.first, pair.second} == {row, column})
    return pair, pair.effects.mean.mean * (1 if pair.first == row else -1)


@pytest.mark.parametrize(("k", "n_tasks"), [(2, 1), (2, 20), (4, 20), (15, 3), (16, 2), (30, 3)])
@pytest.mark.parametrize("layout", ["matrix", "list"])
def test_no_label_collides_or_leaves_the_canvas(k: int, n_tasks: int, layout: str) -> None:
    assert count_faults(draw_pairs(compare_example(k, n_tasks), layout=layout)) == (0, 0)


def test_every_cell_prints_the_record() -> None:
    comparison = compare_example(5, 2, 6)
    order = comparison.across.ranks.order
    figure = draw_pairs(comparison)
    for task, axes in zip(comparison.tasks, (axes for axes in figure.axes if axes.get_label() != "scale"), strict=True):
        printed = {(text.get_position(), text.get_gid()): text for text in axes.texts}
        decimals = decimals_for(max(abs(pair.effects.mean.mean) for pair in task.pairs))
        assert len(printed) == 2 * len(task.pairs)
        for row, column in itertools.combinations(range(5), 2):
            pair, advantage = oriented(comparison, task.task, order[row], order[column])
            above = printed[(column + 0.5, row + 0.5), "gnz-advantage"]
            assert above.get_text() == signed(advantage, decimals)
            assert (above.get_weight() == "bold") is pair.is_rejected
            assert printed[(row + 0.5, column + 0.5), "gnz-p"].get_text() == write_p(pair.p_adjusted)


def test_colours_are_symmetric_around_white_and_bins_are_three() -> None:
    comparison = compare_example(4, 1, 6)
    order = comparison.across.ranks.order
    figure = draw_pairs(comparison)
    (cells,) = with_gid(figure, "gnz-cells")
    colours = np.asarray(cells.get_array()).reshape(4, 4, 3)
    limit = max(abs(pair.effects.mean.mean) for pair in comparison.pairs)
    for row, column in itertools.combinations(range(4), 2):
        pair, advantage = oriented(comparison, "t00", order[row], order[column])
        assert np.allclose(colours[row, column], DIVERGING(0.5 + 0.5 * advantage / limit)[:3])
        place = 0 if pair.p_adjusted <= 0.01 else 1 if pair.p_adjusted <= 0.05 else 2
        assert np.allclose(colours[column, row], to_rgb(BINS[place][2]))
    assert np.allclose(DIVERGING(0.5)[:3], 1.0, atol=0.02)


def test_grey_print_keeps_the_bins_apart_and_numbers_readable() -> None:
    greys = [float(grey) for _, _, grey in BINS]
    assert min(b - a for a, b in itertools.pairwise(greys)) >= 0.15
    for text in draw_pairs(compare_example(6, 1)).axes[0].texts:
        assert text.get_color() in {"0", "1"}


def test_more_than_fifteen_models_have_symbols_only() -> None:
    comparison = compare_example(16, 1, 8)
    figure = draw_pairs(comparison)
    assert not figure.axes[0].texts
    n_plus, n_minus = (sum(len(line.get_xdata()) for line in with_gid(figure, f"gnz-{sign}")) for sign in "+_")
    assert n_plus + n_minus == sum(pair.is_rejected for pair in comparison.pairs)
    n_strong, n_plain = (
        sum(len(line.get_xdata()) for line in with_gid(figure, f"gnz-{n}")) for n in ("strong", "plain")
    )
    assert n_strong == sum(pair.p_adjusted <= 0.01 for pair in comparison.pairs)
    assert n_strong + n_plain == sum(pair.p_adjusted <= 0.05 for pair in comparison.pairs)
    assert len(draw_pairs(compare_example(15, 1)).axes[0].texts) == 210


def test_very_many_models_make_a_small_file() -> None:
    figure = draw_pairs(compare_example(60, 1, 3))
    assert len(bytes_of(figure)) < 700_000
    (cells,) = with_gid(figure, "gnz-cells")
    assert cells.get_array().shape[:2] == (60, 60)
    assert count_faults(figure) == (0, 0)


def test_order_is_the_mean_rank_in_all_panels_and_names_stand_once_a_row() -> None:
    comparison = compare_example(4, 3)
    figure = draw_pairs(comparison)
    names = sorted((text for text in figure.texts if text.get_gid() == "gnz-model"), key=lambda t: -t.get_position()[1])
    assert tuple(text.get_text() for text in names)[:4] == comparison.across.ranks.order
    assert len({text.get_position()[0] for text in names}) == 1


def test_absent_pairs_are_hatched() -> None:
    table = table_of(make_example(3, 2, 4), models=["a", "b", "c"])
    absent = {("t00", "a", seed): float("nan") for seed in range(4)}
    table = with_values(table, "score", absent, "task", "model", "seed").astype({"score": float})
    figure = draw_pairs(compare(table), task="t00")
    # Two pairs of "a", above and below the diagonal.
    assert len(with_gid(figure, "gnz-absent")) == 4
    assert all(patch.get_hatch() for patch in with_gid(figure, "gnz-absent"))
    assert count_faults(figure) == (0, 0)


def test_list_prints_the_record() -> None:
    comparison = compare_example(3, 1, 6, margin=0.01)
    figure = draw_pairs(comparison, layout="list")
    cells = [text.get_text() for text in figure.texts if text.get_gid() == "gnz-cell"]
    pairs = sorted(comparison.pairs, key=lambda pair: -pair.effects.mean.mean)
    decimals = decimals_for(max(abs(pair.effects.mean.mean) for pair in pairs))
    for pair, row in zip(pairs, _fours(cells), strict=True):
        mean = pair.effects.mean
        ends = f"[{signed(mean.low, decimals)}, {signed(mean.high, decimals)}]"
        assert tuple(row) == (signed(mean.mean, decimals), ends, write_p(pair.p_adjusted), str(pair.verdict))
    assert "\u2020: 3 pairs" in draw_pairs(compare_example(3, 1, 4, test="wilcoxon"), layout="list").alt_text


def _fours(cells: list[str]) -> list[list[str]]:
    return [cells[start : start + 4] for start in range(0, len(cells), 4)]


def test_panels_side_by_side_are_as_asked_for() -> None:
    comparison = compare_example(2, 4)
    widths = [draw_pairs(comparison, max_cols=n).get_size_inches()[0] for n in (1, 2, 4)]
    assert widths == sorted(set(widths))


def test_caption_names_test_family_size_level_and_seeds() -> None:
    said = draw_pairs(compare_example(4, 3, 7, alpha=0.1)).alt_text.replace("\u00a0", " ")
    for words in (
        "paired t",
        "Holm-adjusted over all pairs of one task (m = 6)",
        "\u03b1 = 0.1",
        "7 seeds",
        "mean rank",
    ):
        assert words in said


def test_unknown_layout_is_refused() -> None:
    with pytest.raises(UnknownName, match="lst"):
        draw_pairs(compare_example(2, 1), layout="lst")


def test_bytes_are_stable() -> None:
    comparison = compare_example(4, 2)
    for kind, layout in (("svg", "matrix"), ("pdf", "matrix"), ("svg", "list")):
        one, other = (bytes_of(draw_pairs(comparison, layout=layout), kind) for _ in range(2))
        assert one == other


@pytest.mark.parametrize("layout", ["matrix", "list"])
def test_hostile_names_are_text(layout: str) -> None:
    figure = draw_pairs(compare(table_of(make_example(len(HOSTILE), 1, 3), models=HOSTILE)), layout=layout)
    assert count_faults(figure) == (0, 0)
    assert b"<script>" not in bytes_of(figure)


def test_nothing_to_compare_is_said_in_words() -> None:
    for layout in ("matrix", "list"):
        figure = draw_pairs(compare_example(1, 3), layout=layout)
        assert not figure.axes
        assert "No pair of models" in words_of(figure)
    assert count_faults(draw_pairs(compare_example(3, 1, 1))) == (0, 0)
