"""The figures of a report under their published names; Matplotlib is imported when the first one is drawn."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from gnz_track.errors import BadValue, UnknownName
from gnz_track.kinds import Direction
from gnz_track.report.choice_names import level_of
from gnz_track.stats.comparison import Comparison

if TYPE_CHECKING:
    from gnz_track.report.canvas import HouseFigure

__all__ = ["ReportFigures"]

# Level of the bands of learning curves.
BAND = 0.95
PARTS = ("test", "val", "train")


class ReportFigures(abc.ABC):
    """What can be drawn of a report.

    Each figure can be unpacked as ``figure, axes = report.plot()``, as the published package returns it.
    """

    table: pd.DataFrame

    @abc.abstractmethod
    def compare(self, **choices: Any) -> Comparison:
        """Return what the table says under these choices."""

    @property
    @abc.abstractmethod
    def histories(self) -> Mapping[str, Mapping[str, list[Any]]]:
        """``[task][model]`` -> series by seed."""

    def plot(self, *, ci: float = 0.95) -> HouseFigure:
        """Draw the means of all cells with their intervals as bars."""
        from gnz_track.report.bars import draw_bars

        return draw_bars(self.compare(alpha=level_of(ci)))

    def plot_forest(
        self, *, task: str | None = None, ci: float = 0.95, sort_within: bool = True, band: Any = None
    ) -> HouseFigure:
        """Draw the paired differences of each task with their intervals.

        Parameters
        ----------
        task
            Task to draw; all of them without one.
        ci
            Level of the intervals.
        sort_within
            Sort by advantage.
        band
            Margin to shade; True or None shades that of the comparison where one was chosen.
        """
        from gnz_track.report.forest import draw_forest

        shaded = None if isinstance(band, bool) else band
        return draw_forest(self.compare(alpha=level_of(ci)), task=task, sort_within=sort_within, band=shaded)

    def plot_pairwise(
        self,
        *,
        task: str | None = None,
        alpha: float | None = None,
        layout: str = "matrix",
        max_cols: int | None = None,
        method: str | None = None,
    ) -> HouseFigure:
        """Draw all pairs within tasks.

        Parameters
        ----------
        task
            Task to draw; all of them without one.
        alpha
            Level of the tests.
        layout
            ``matrix`` (advantages and adjusted p) or ``list``.
        max_cols
            Most panels side by side.
        method
            Test of a pair: t, wilcoxon or another one.
        """
        from gnz_track.report.pair_matrix import draw_pairs

        comparison = self.compare(alpha=alpha, test=method)
        return draw_pairs(comparison, task=task, layout=layout, max_cols=max_cols)

    def plot_critical_difference(self, alpha: float | None = None, *, posthoc: str | None = None) -> HouseFigure:
        """Draw mean ranks across tasks, and bars over models that are not told apart.

        The pairs are tested one by one (Wilcoxon with Holm); ``posthoc="nemenyi"`` draws Nemenyi's with its ruler.
        """
        from gnz_track.report.cd_diagram import draw_cd_diagram
        from gnz_track.report.cd_source import cd_facts_of

        return draw_cd_diagram(cd_facts_of(self.compare(alpha=alpha, posthoc=posthoc)))

    def plot_learning_curves(
        self, *, part: str = "test", ci: float = 0.95, max_cols: int | None = None, ylabel: str | None = None
    ) -> HouseFigure:
        """Draw a series over epochs, a panel per task, with the 95 % interval over seeds at each epoch.

        Parameters
        ----------
        part
            Part of the data: test, val or train.
        ci
            Level of the bands, 0.95.
        max_cols
            Most panels side by side.
        ylabel
            Label of the vertical axes.
        """
        if ci != BAND:
            raise BadValue("ci", ci, f"{BAND} for learning curves")
        if part not in PARTS:
            raise UnknownName("part of the data", part, PARTS)
        from gnz_track.report.learning_curves import draw_learning_curves

        rows = self.table[self.table["direction"].isin(list(Direction))]
        directions = {str(row.task): Direction(row.direction) for row in rows.itertuples()}
        figure = draw_learning_curves(_only(self.histories, part), directions=directions, max_cols=max_cols)
        for text in figure.findobj(_stands_upright) if ylabel is not None else ():
            text.set_text(ylabel)  # type: ignore[attr-defined]
        return figure

    def plot_profiles(self, **choices: Any) -> HouseFigure:
        """Draw the share of runs above each score, on the scale that ``bounds`` declare."""
        from gnz_track.report.profiles import draw_profiles

        return draw_profiles(self.compare(**choices))

    def plot_trade_off(self, cost: str = "") -> HouseFigure:
        """Draw scores against ``cpu_seconds``, ``seconds`` (of the wall) or ``n_parameters``, with the Pareto front."""
        from gnz_track.report.trade_offs import draw_trade_off

        return draw_trade_off(self.compare(), self.table, cost=cost)

    def plot_detectable_effects(self) -> HouseFigure:
        """Draw how small an effect so many seeds detect."""
        from gnz_track.report.seeds_needed import draw_detectable_effects

        return draw_detectable_effects(self.compare())


def _only(histories: Mapping[str, Mapping[str, list[Any]]], part: str) -> dict[str, dict[str, list[Any]]]:
    """Return the series of one part of the data."""
    return {
        task: {
            model: [{name: one[name] for name in one if name.startswith(f"{part}/")} for one in seeds]
            for model, seeds in models.items()
        }
        for task, models in histories.items()
    }


def _stands_upright(artist: Any) -> bool:
    """Tell whether an artist is the label of a vertical axis."""
    return hasattr(artist, "get_text") and artist.get_rotation() == 90.0 and bool(artist.get_text())
