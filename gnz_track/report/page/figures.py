"""The figures of a report: which are drawn, how large a comparison may be for them, and each as inline SVG."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from gnz_track.predictions.facts import TaskPredictions
from gnz_track.report.figures.bars import draw_bars
from gnz_track.report.figures.critical_difference.content import cd_facts_of
from gnz_track.report.figures.critical_difference.draw import draw_cd_diagram
from gnz_track.report.figures.forest import draw_forest
from gnz_track.report.figures.learning_curves import draw_learning_curves
from gnz_track.report.figures.pairs import draw_pairs
from gnz_track.report.figures.predictions import draw_prediction_figures
from gnz_track.report.figures.profiles import draw_profiles
from gnz_track.report.figures.seeds_needed import draw_detectable_effects
from gnz_track.report.figures.trade_offs import draw_trade_off
from gnz_track.report.page.searches import draw_search_figures
from gnz_track.report.tuned_models import SearchSummary
from gnz_track.stats.comparison.comparison import Comparison

__all__ = ["FigureSet", "ShownFigure", "draw_figures", "write_inline_svg"]

MOST_TASK_FIGURES = 12
PREAMBLE = re.compile(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", re.DOTALL)
LENGTH = re.compile(r'\b(width|height)="([\d.]+)pt"')
# Figures have the size of print; on screens, people sit farther away.
SCALE = 1.3
USED = re.compile(r'(url\(#|href="#)([^)"]+)')
NAMED = re.compile(r' id="([^"]*)"')


@dataclass(frozen=True, kw_only=True)
class ShownFigure:
    """One figure; ``task`` is empty where it shows all tasks. ``name`` is that of its files.

    ``is_of_search`` figures show what searches saw, which is no result, ``is_of_predictions`` what predictions say.
    """

    name: str
    title: str
    task: str
    figure: Any
    is_of_search: bool = False
    is_of_predictions: bool = False

    @property
    def alt(self) -> str:
        """Text for those who cannot see the figure."""
        return str(getattr(self.figure, "alt_text", "")) or self.title

    @property
    def svg(self) -> str:
        """The figure as an element of an HTML page."""
        return write_inline_svg(self.figure, prefix=self.name)


@dataclass(frozen=True, kw_only=True)
class FigureSet:
    """The figures that were drawn, and in words those that were not."""

    figures: tuple[ShownFigure, ...]
    left_out: tuple[str, ...] = field(default=())

    def of(self, task: str = "") -> list[ShownFigure]:
        """Return the figures of one task, or those of all tasks together."""
        return [one for one in self.figures if one.task == task and not (one.is_of_search or one.is_of_predictions)]

    def of_predictions(self, task: str) -> list[ShownFigure]:
        """Return the figures of the predictions of one task."""
        return [figure for figure in self.figures if figure.task == task and figure.is_of_predictions]

    @property
    def of_searches(self) -> list[ShownFigure]:
        """The figures of searches."""
        return [figure for figure in self.figures if figure.is_of_search]


@dataclass(frozen=True, kw_only=True)
class FigureKind:
    """A kind of figure, and the largest comparison for which it can be read, and drawn in time."""

    name: str
    title: str
    draw: Callable[[Comparison, pd.DataFrame, str], Any]
    most_models: int
    most_tasks: int = 60
    needs: Callable[[Comparison, pd.DataFrame], bool] = lambda *_: True


def draw_figures(
    comparison: Comparison,
    table: pd.DataFrame,
    *,
    histories: Mapping[str, Any] | None = None,
    searches: SearchSummary | None = None,
    predictions: Mapping[str, TaskPredictions] | None = None,
) -> FigureSet:
    """Draw every figure that the comparison is neither too large nor too small for.

    Parameters
    ----------
    comparison
        Comparison of the models.
    table
        Results table behind it.
    histories
        ``[task][model]`` -> series by seed, for learning curves.
    searches
        Searches of the report.
    predictions
        Task -> what its predictions say.
    """
    drawn: list[ShownFigure] = []
    left_out: list[str] = []
    for kind in OF_ALL:
        if not kind.needs(comparison, table):
            continue
        if reason := _too_large(kind, comparison):
            left_out.append(reason)
            continue
        figure = kind.draw(comparison, table, "")
        drawn.append(ShownFigure(name=kind.name, title=kind.title, task="", figure=figure))
    for kind in OF_TASKS:
        found, reason = _of_tasks(kind, comparison, table)
        drawn += found
        left_out += [reason] if reason else []
    if histories:
        figure = draw_learning_curves(histories)
        drawn.append(ShownFigure(name="learning_curves", title="Learning curves", task="", figure=figure))
    if searches is not None:
        shown, reasons = draw_search_figures(searches)
        drawn += [
            ShownFigure(name=name, title=title, task="", figure=figure, is_of_search=True)
            for name, title, figure in shown
        ]
        left_out += reasons
    for place, facts in enumerate((predictions or {}).values()):
        if place < MOST_TASK_FIGURES:
            drawn += [
                ShownFigure(
                    name=f"{name}_{place:02}", title=title, task=facts.task, figure=figure, is_of_predictions=True
                )
                for name, title, figure in draw_prediction_figures(facts)
            ]
    return FigureSet(figures=tuple(drawn), left_out=tuple(left_out))


def write_inline_svg(figure: Any, *, prefix: str) -> str:
    """Return a figure as SVG whose names are its own: several may stand on one page."""
    target = io.StringIO()
    figure.savefig(target, format="svg")
    text = PREAMBLE.sub("", target.getvalue()).strip()
    text = LENGTH.sub(lambda found: f'{found[1]}="{SCALE * float(found[2]):.1f}pt"', text, count=2)
    # A name that nothing refers to may be there twice.
    used = {found[1] for found in USED.findall(text)}
    text = NAMED.sub(lambda found: f' id="{prefix}-{found[1]}"' if found[1] in used else "", text)
    return USED.sub(lambda found: f"{found[1]}{prefix}-{found[2]}", text)


def _of_tasks(kind: FigureKind, comparison: Comparison, table: pd.DataFrame) -> tuple[list[ShownFigure], str]:
    fitting = [task for task in comparison.tasks if 2 <= len(task.models) <= kind.most_models]
    n_large = sum(len(task.models) > kind.most_models for task in comparison.tasks)
    drawn: list[ShownFigure] = []
    for place, task in enumerate(fitting[:MOST_TASK_FIGURES]):
        figure = kind.draw(comparison, table, task.task)
        drawn.append(ShownFigure(name=f"{kind.name}_{place:02}", title=kind.title, task=task.task, figure=figure))
    reasons = [f"{n_large} tasks have more than {kind.most_models} models"] if n_large else []
    rest = len(fitting) - MOST_TASK_FIGURES
    reasons += [f"it is drawn for the first {MOST_TASK_FIGURES} tasks, {rest} more are left"] if rest > 0 else []
    return drawn, f"{kind.title}: {'; '.join(reasons)}" if reasons else ""


def _too_large(kind: FigureKind, comparison: Comparison) -> str:
    sizes = (
        ("models", len(comparison.models), kind.most_models),
        ("tasks", len(comparison.tasks), kind.most_tasks),
    )
    found = [f"{n} {noun}, and it can be read with at most {most}" for noun, n, most in sizes if n > most]
    return f"{kind.title}: there are {' and '.join(found)}" if found else ""


def _has_ranks(comparison: Comparison, _: pd.DataFrame) -> bool:
    ranks = comparison.across.ranks
    return ranks is not None and ranks.n_tasks > 1 and ranks.n_models > 1


def _has(column: str) -> Callable[[Comparison, pd.DataFrame], bool]:
    return lambda comparison, table: (
        column in table.columns and bool(table[column].notna().any()) and _has_ranks(comparison, table)
    )


def _has_pairs(comparison: Comparison, _: pd.DataFrame) -> bool:
    return bool(comparison.pairs)


OF_ALL = (
    FigureKind(
        name="critical_difference",
        title="Critical-difference diagram",
        draw=lambda comparison, *_: draw_cd_diagram(cd_facts_of(comparison)),
        most_models=60,
        most_tasks=10_000,
        needs=_has_ranks,
    ),
    FigureKind(
        name="bars",
        title="Mean scores",
        draw=lambda comparison, *_: draw_bars(comparison),
        most_models=12,
        most_tasks=12,
    ),
    FigureKind(
        name="profiles",
        title="Performance profiles",
        draw=lambda comparison, *_: draw_profiles(comparison),
        most_models=12,
        needs=lambda comparison, _: bool(comparison.aggregates),
    ),
    FigureKind(
        name="time",
        title="Score against training time",
        draw=lambda comparison, table, _: draw_trade_off(comparison, table),
        most_models=30,
        needs=_has("seconds"),
    ),
    FigureKind(
        name="parameters",
        title="Score against parameters",
        draw=lambda comparison, table, _: draw_trade_off(comparison, table, cost="n_parameters"),
        most_models=30,
        needs=_has("n_parameters"),
    ),
    FigureKind(
        name="seeds_needed",
        title="What so many seeds can detect",
        draw=lambda comparison, *_: draw_detectable_effects(comparison),
        most_models=1000,
        most_tasks=1000,
        needs=_has_pairs,
    ),
)
OF_TASKS = (
    FigureKind(
        name="forest",
        title="Paired differences",
        draw=lambda comparison, _, task: draw_forest(comparison, task=task),
        most_models=8,
    ),
    FigureKind(
        name="pairs",
        title="Matrix of pairs",
        draw=lambda comparison, _, task: draw_pairs(comparison, task=task),
        most_models=15,
    ),
)
