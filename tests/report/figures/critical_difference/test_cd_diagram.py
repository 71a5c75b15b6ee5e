"""Critical-difference diagrams obey the rules of drawing: nothing collides, nothing is cut off, bars are the groups."""

from __future__ import annotations

import io
from itertools import combinations, pairwise, product
from pathlib import Path

import figure_boxes
import numpy as np
import pytest
from diagrams import long_names, make_scores, nemenyi_facts, random_facts
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

from gnz_track.errors import BadValue, UnknownName
from gnz_track.report.figures.critical_difference.content import CdFacts, write_caption
from gnz_track.report.figures.critical_difference.draw import draw_cd_diagram
from gnz_track.report.figures.critical_difference.layout import CdLook, lay_out_cd, pack_groups, spread
from gnz_track.report.figures.critical_difference.shapes import CdLayout
from gnz_track.report.figures.style import measure_text
from gnz_track.stats.ranking.friedman import run_friedman
from gnz_track.stats.ranking.groups import Group, group_by_nemenyi, group_by_p

SIZES = (3, 4, 14, 30, 40)
# A lone surrogate is no text at all, and neither is nothing.
HOSTILE = [*figure_boxes.HOSTILE, "\x00\ud800", ""]


def boxes_by_renderer(figure: Figure) -> list[tuple[str, tuple[float, float, float, float]]]:
    renderer = FigureCanvasAgg(figure).get_renderer()
    found = []
    for text in figure.axes[0].texts:
        box = text.get_window_extent(renderer)
        found.append((text.get_text(), (box.x0, box.y0, box.x1, box.y1)))
    return found


def count_faults(figure: Figure) -> tuple[int, int]:
    """Return how many pairs of texts overlap and how many texts leave the canvas, as the renderer has them."""
    boxes = boxes_by_renderer(figure)
    width, height = figure.bbox.width, figure.bbox.height
    outside = sum(x0 < 0 or y0 < 0 or x1 > width or y1 > height for _, (x0, y0, x1, y1) in boxes)
    overlaps = sum(
        a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3] for (_, a), (_, b) in combinations(boxes, 2)
    )
    return overlaps, outside


def cross(a: tuple, b: tuple, c: tuple, d: tuple) -> bool:
    """Tell whether segments ab and cd share a point, with a hair of tolerance."""

    def side(p: tuple, q: tuple, r: tuple) -> float:
        return (q[0] - p[0]) * (r[1] - p[1]) - (q[1] - p[1]) * (r[0] - p[0])

    def overlap(i: int) -> bool:
        return max(min(a[i], b[i]), min(c[i], d[i])) <= min(max(a[i], b[i]), max(c[i], d[i])) + 1e-9

    return overlap(0) and overlap(1) and side(a, b, c) * side(a, b, d) <= 1e-9 and side(c, d, a) * side(c, d, b) <= 1e-9


def leaders(layout: CdLayout) -> list[tuple[tuple[float, float], ...]]:
    return [stroke.points for stroke in layout.strokes if stroke.role == "leader"]


def ink_of(figure: Figure) -> np.ndarray:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("test", ["wilcoxon", "nemenyi"])
def test_no_label_collides_or_leaves_the_canvas(k: int, test: str) -> None:
    faults = []
    for seed in range(8):
        facts = random_facts(k, seed=seed) if test == "wilcoxon" else nemenyi_facts(make_scores(k, seed=seed))
        assert all(len(name) == 21 for name in facts.models)
        faults.append(count_faults(draw_cd_diagram(facts)))
    assert faults == [(0, 0)] * 8


@settings(max_examples=25, deadline=None)
@given(
    k=st.integers(2, 40),
    n_tasks=st.integers(2, 30),
    seed=st.integers(0, 10**6),
    is_best_left=st.booleans(),
    is_zoomed=st.booleans(),
    shape=st.sampled_from(["auto", "elbows", "list"]),
)
def test_nothing_collides_whatever_the_look(
    k: int, n_tasks: int, seed: int, *, is_best_left: bool, is_zoomed: bool, shape: str
) -> None:
    look = CdLook(is_best_left=is_best_left, is_zoomed=is_zoomed, shape=shape)
    facts = nemenyi_facts(make_scores(k, n_tasks=n_tasks, seed=seed, effect=0.5))
    assert count_faults(draw_cd_diagram(facts, look=look)) == (0, 0)


def test_the_fault_counter_counts() -> None:
    figure = draw_cd_diagram(random_facts(4, seed=0))
    texts = figure.axes[0].texts
    texts[0].set_position(texts[1].get_position())
    texts[2].set_position((-5.0, texts[2].get_position()[1]))
    overlaps, outside = count_faults(figure)
    assert overlaps >= 1
    assert outside >= 1


@settings(max_examples=60, deadline=None)
@given(k=st.integers(2, 40), seed=st.integers(0, 10**6), is_best_left=st.booleans())
def test_leaders_never_cross(k: int, seed: int, *, is_best_left: bool) -> None:
    layout = lay_out_cd(random_facts(k, seed=seed), look=CdLook(shape="elbows", is_best_left=is_best_left))
    assert len(leaders(layout)) == k
    for one, other in combinations(leaders(layout), 2):
        for n, m in product(range(len(one) - 1), range(len(other) - 1)):
            # Equal ranks share their tick on the axis, and nothing below it.
            is_shared_tick = n == m == 0 and one[0] == other[0]
            assert is_shared_tick or not cross(one[n], one[n + 1], other[m], other[m + 1])


@settings(max_examples=60, deadline=None)
@given(k=st.integers(2, 40), seed=st.integers(0, 10**6), shape=st.sampled_from(["elbows", "list"]))
def test_bars_are_the_groups_and_never_merge(k: int, seed: int, shape: str) -> None:
    facts = random_facts(k, seed=seed)
    layout = lay_out_cd(facts, look=CdLook(shape=shape))
    pairs = [dot for dot in layout.dots if dot.role == "pair"]
    if pairs:
        joined = {frozenset(pair) for group in facts.groups.groups for pair in combinations(group.members, 2)}
        assert len(pairs) == 2 * len(joined)
        assert not layout.bars
        return
    assert sorted(bar.members for bar in layout.bars) == sorted(group.members for group in facts.groups.groups)
    along = 0 if shape == "elbows" else 1
    for one, other in combinations(layout.bars, 2):
        if one.lane == other.lane:
            a, b = sorted([sorted(end[along] for end in bar.ends) for bar in (one, other)])
            assert b[0] - a[1] >= 4.0 - 1e-9


@settings(max_examples=60, deadline=None)
@given(k=st.integers(2, 20), seed=st.integers(0, 10**6))
def test_a_bar_touches_exactly_the_leaders_of_its_members(k: int, seed: int) -> None:
    facts = random_facts(k, seed=seed)
    layout = lay_out_cd(facts, look=CdLook(shape="elbows"))
    x_of = dict(zip(facts.models, sorted(points[2][0] for points in leaders(layout)), strict=True))
    for bar in layout.bars:
        start, stop = bar.ends[0][0], bar.ends[1][0]
        touched = {name for name, x in x_of.items() if start - 1.0 <= x <= stop + 1.0}
        dotted = {name for name, x in x_of.items() if any(abs(x - spot[0]) < 1e-6 for spot in bar.spots)}
        assert set(bar.members) == (touched if bar.is_contiguous else dotted)


def test_a_group_with_gaps_is_a_thin_line_with_dots_on_its_members_only() -> None:
    p = [[None, 0.5, 0.001], [0.5, None, 0.001], [0.001, 0.001, None]]
    groups = group_by_p(p, models=["A", "B", "C"], mean_ranks=[1.0, 3.0, 2.0])
    layout = lay_out_cd(CdFacts(groups=groups, n_tasks=20))
    (bar,) = layout.bars
    assert bar.members == ("A", "B")
    assert len(bar.spots) == 2
    assert "dot on it" in layout.caption
    contiguous = lay_out_cd(CdFacts(groups=group_by_p(p, models=["A", "B", "C"], mean_ranks=[1, 2, 3]), n_tasks=20))
    assert contiguous.bars[0].width > 2 * bar.width
    assert not contiguous.bars[0].spots


def test_single_models_and_groups_inside_others_get_no_bar() -> None:
    groups = nemenyi_facts(make_scores(4)).groups
    a, b, c, d = groups.order
    made = [
        Group(members=(a, b, c), is_contiguous=True),
        Group(members=(b, c), is_contiguous=True),
        Group(members=(d,), is_contiguous=True),
    ]
    facts = CdFacts(groups=type(groups)(**{**vars(groups), "groups": tuple(made)}), n_tasks=20)
    assert [bar.members for bar in lay_out_cd(facts).bars] == [(a, b, c)]


def test_the_ruler_is_nemenyis_alone_and_has_the_length_of_the_difference() -> None:
    facts = nemenyi_facts(make_scores(4, n_tasks=10))
    layout = lay_out_cd(facts)
    ruler = max((s for s in layout.strokes if s.role == "ruler"), key=lambda s: s.box.right - s.box.left)
    ticks = {label.text: label.x for label in layout.labels if label.role == "tick"}
    length = ruler.points[1][0] - ruler.points[0][0]
    assert length / (ticks["2"] - ticks["1"]) == pytest.approx(1.48323, abs=1e-4)
    assert [label.text for label in layout.labels if label.role == "ruler"] == ["CD = 1.48"]
    pairs = lay_out_cd(random_facts(4, seed=1))
    assert not [s for s in pairs.strokes if s.role == "ruler"]
    assert "no single CD" in pairs.caption


def test_the_ruler_stays_on_the_canvas_where_it_is_longer_than_the_axis() -> None:
    facts = nemenyi_facts(make_scores(3, n_tasks=2), ["A", "B", "C"], alpha=0.001)
    layout = lay_out_cd(facts, look=CdLook(is_zoomed=True))
    assert facts.critical_difference > 2.0
    assert all(s.box.left > 0 and s.box.right < layout.width for s in layout.strokes)
    assert count_faults(draw_cd_diagram(facts)) == (0, 0)


def test_best_is_left_and_top_by_default_and_right_on_request() -> None:
    facts = nemenyi_facts(make_scores(6, n_tasks=15, decimals=6))
    for is_best_left in (True, False):
        layout = lay_out_cd(facts, look=CdLook(is_best_left=is_best_left))
        ticks = [label for label in layout.labels if label.role == "tick"]
        assert [label.text for label in sorted(ticks, key=lambda label: label.x)] == [
            str(n) for n in (range(1, 7) if is_best_left else range(6, 0, -1))
        ]
        highest = max(label.y for label in layout.labels if label.role == "model")
        tops = [label for label in layout.labels if label.role == "model" and label.y > highest - 3.0]
        assert {label.text for label in tops} == {facts.models[0], facts.models[-1]}
        outer = min(tops, key=lambda label: label.x)
        assert outer.text == facts.models[0 if is_best_left else -1]


def test_equal_ranks_are_ordered_by_name_and_share_a_tick() -> None:
    groups = group_by_nemenyi([2.0, 2.0, 2.0], models=["c", "a", "b"], n_tasks=20)
    facts = CdFacts(groups=groups, n_tasks=20)
    layout = lay_out_cd(facts, look=CdLook(shape="list"))
    models = [label for label in layout.labels if label.role == "model"]
    assert [label.text for label in sorted(models, key=lambda label: -label.y)] == ["a", "b", "c"]
    elbows = leaders(lay_out_cd(facts))
    assert len({points[0] for points in elbows}) == 1
    assert len({points[2][0] for points in elbows}) == 3


def test_zoom_keeps_to_the_ranks_that_occur() -> None:
    facts = CdFacts(groups=group_by_nemenyi([4.2, 5.0, 5.8], models=["a", "b", "c"], n_tasks=20), n_tasks=20)
    ticks = [label.text for label in lay_out_cd(facts, look=CdLook(is_zoomed=True)).labels if label.role == "tick"]
    assert ticks == ["4", "5", "6"]


def test_many_models_are_a_list_and_few_are_elbows() -> None:
    shapes = {k: lay_out_cd(nemenyi_facts(make_scores(k))).shape for k in (2, 3, 20, 21, 40)}
    assert shapes == {2: "elbows", 3: "elbows", 20: "elbows", 21: "list", 40: "list"}


def test_groups_that_overlap_too_much_are_shown_pair_by_pair() -> None:
    generator = np.random.default_rng(0)
    upper = np.triu(generator.uniform(size=(30, 30)) < 0.5, 1)
    p = np.where(upper | upper.T, 0.5, 0.001)
    groups = group_by_p(p.tolist(), models=long_names(30), mean_ranks=list(np.linspace(5, 26, 30)))
    layout = lay_out_cd(CdFacts(groups=groups, n_tasks=20))
    assert not layout.bars
    assert sum(dot.role == "pair" for dot in layout.dots) == 2 * int(upper.sum())
    assert sum(dot.role == "self" for dot in layout.dots) == 30
    assert "row of one model and the column of" in layout.caption
    assert "Bars join" not in layout.caption


def test_diagrams_are_compact() -> None:
    few, many = lay_out_cd(random_facts(14, seed=0)), lay_out_cd(random_facts(30, seed=0))
    assert few.width / 72 < 7.0
    assert few.height / 72 < 2.6
    assert many.width / 72 < 6.0
    assert many.height / 72 < 5.2


def test_height_grows_by_rows() -> None:
    look = CdLook(shape="list", has_caption=False)
    heights = [lay_out_cd(nemenyi_facts(make_scores(k)), look=look).height for k in (10, 20, 30)]
    assert heights[1] - heights[0] == pytest.approx(heights[2] - heights[1], abs=8.0)
    assert heights[2] - heights[1] < 110.0


def test_given_width_is_kept_or_refused_with_the_least_one() -> None:
    facts = random_facts(8, seed=0)
    assert lay_out_cd(facts, look=CdLook(width=6.0)).width == pytest.approx(432.0)
    assert lay_out_cd(facts, look=CdLook(width=4.2)).shape == "list"
    with pytest.raises(BadValue, match=r"at least \d\.\d\d inches"):
        lay_out_cd(facts, look=CdLook(width=1.0))
    with pytest.raises(UnknownName, match="elbows"):
        lay_out_cd(facts, look=CdLook(shape="elbow"))


def test_caption_says_all_that_is_needed() -> None:
    facts = nemenyi_facts(make_scores(4, n_tasks=10))
    full = CdFacts(
        groups=facts.groups, n_tasks=10, friedman=facts.friedman, dropped_tasks=("cora",), dropped_models=("X", "Y")
    )
    caption = write_caption(full).replace("\u00a0", " ")
    for part in ("k = 4 models", "N = 10 tasks", "\u03b1 = 0.05", "Nemenyi", "m = 6", "CD = 1.483", "Friedman", "p = "):
        assert part in caption
    assert "Dropped: 1 task (cora) and 2 models (X, Y)." in caption
    pairs = write_caption(random_facts(4, seed=0)).replace("\u00a0", " ")
    assert "Wilcoxon signed-rank test, Holm-adjusted over m = 6 pairs; no single CD." in pairs


def test_caption_says_when_the_test_cannot_reject() -> None:
    assert "cannot reject" in write_caption(random_facts(4, seed=0, n_tasks=7))
    assert "cannot reject" not in write_caption(random_facts(4, seed=0, n_tasks=8))


def test_bars_are_grey_with_words_where_friedman_does_not_reject() -> None:
    same = np.tile([[1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [3.0, 1.0, 2.0]], (4, 1))
    held = nemenyi_facts(same, ["A", "B", "C"])
    clear = CdFacts(groups=held.groups, n_tasks=12, friedman=run_friedman(np.tile([[1.0, 2.0, 3.0]], (12, 1))))
    assert {bar.tone for bar in lay_out_cd(held).bars} == {"held"}
    assert "Friedman\u2019s test does not reject" in lay_out_cd(held).caption
    assert {bar.tone for bar in lay_out_cd(clear).bars} == {"ink"}
    assert "does not reject" not in lay_out_cd(clear).caption


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (CdFacts(groups=None, n_tasks=0), "0 models on 0 tasks"),
        (
            CdFacts(groups=group_by_p([[None]], models=["GCN"], mean_ranks=[1.0]), n_tasks=5),
            "1 model on 5 tasks leave nothing to compare",
        ),
        (
            CdFacts(groups=group_by_nemenyi([1.0, 2.0], models=["GCN", "$x_1$"], n_tasks=1), n_tasks=1),
            "Ranks on the only task: GCN 1, $x_1$ 2",
        ),
    ],
    ids=["nothing", "one model", "one task"],
)
def test_nothing_to_compare_is_said_in_words(facts: CdFacts, words: str) -> None:
    figure = draw_cd_diagram(facts, look=CdLook(has_caption=False))
    assert words in " ".join(text for text, _ in boxes_by_renderer(figure))
    assert count_faults(figure) == (0, 0)


@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_two_savings_are_equal(kind: str) -> None:
    contents = []
    for _ in range(2):
        stream = io.BytesIO()
        draw_cd_diagram(random_facts(14, seed=5)).savefig(stream, format=kind)
        contents.append(stream.getvalue())
    assert contents[0] == contents[1]


@pytest.mark.parametrize("shape", ["elbows", "list"])
@pytest.mark.parametrize("kind", ["svg", "pdf", "png"])
def test_hostile_names_are_shown_as_text(shape: str, kind: str, tmp_path: Path) -> None:
    facts = nemenyi_facts(make_scores(len(HOSTILE), n_tasks=12), HOSTILE)
    figure = draw_cd_diagram(facts, look=CdLook(shape=shape))
    assert count_faults(figure) == (0, 0)
    figure.savefig(tmp_path / f"a.{kind}")
    content = (tmp_path / f"a.{kind}").read_bytes()
    assert len(content) > 1000
    if kind == "svg":
        text = content.decode("utf-8")
        assert ">$x_1$</text>" in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;</text>" in text
        assert "<script" not in text
        assert "\u4e2d\u6587\u6a21\u578b</text>" in text
        assert text.count("M" * 15) >= 1


def test_everything_is_grey_and_text_is_dark() -> None:
    figure = draw_cd_diagram(random_facts(14, seed=2))
    ink = ink_of(figure).astype(int)
    assert (ink.max(axis=2) - ink.min(axis=2)).max() == 0
    assert all(to_rgba(text.get_color())[0] <= 0.35 for text in figure.axes[0].texts)


def test_nothing_is_drawn_at_the_edge() -> None:
    for k in SIZES:
        ink = ink_of(draw_cd_diagram(random_facts(k, seed=1)))
        edge = np.concatenate([ink[0].ravel(), ink[-1].ravel(), ink[:, 0].ravel(), ink[:, -1].ravel()])
        assert (edge == 255).all()


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=15), st.floats(0.5, 5.0))
def test_spread_places_keep_order_gap_and_bounds(places: list[float], gap: float) -> None:
    places = sorted(places)
    found = spread(places, gap=gap, low=0.0, high=100.0)
    assert all(b - a >= gap - 1e-9 for a, b in pairwise(found))
    assert min(found) >= -1e-9
    assert max(found) <= 100.0 + 1e-9


def test_places_that_are_apart_stay() -> None:
    assert spread([1.0, 6.0, 20.0], gap=4.0, low=0.0, high=30.0) == pytest.approx((1.0, 6.0, 20.0))
    assert spread([10.0, 10.0], gap=4.0, low=0.0, high=30.0) == pytest.approx((8.0, 12.0))


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=12, unique=True))
def test_lanes_are_as_few_as_the_bars_that_meet(ends: list[tuple[int, int]]) -> None:
    at = {str(n): float(n) for n in range(31)}
    groups = [Group(members=(str(min(e)), str(max(e))), is_contiguous=True) for e in ends]
    spans = pack_groups(groups, at, overhang=0.0, gap=0.5)
    deepest = max(sum(span.start <= place / 2 < span.stop + 0.5 for span in spans) for place in range(62))
    assert max(span.lane for span in spans) + 1 == deepest


def test_measured_extents_hold_what_is_drawn() -> None:
    figure = draw_cd_diagram(random_facts(14, seed=0))
    renderer = FigureCanvasAgg(figure).get_renderer()
    for text in figure.axes[0].texts:
        drawn = text.get_window_extent(renderer).width * 72.0 / figure.dpi
        assert drawn <= measure_text(text.get_text(), text.get_fontsize()).width + 1.0
