"""The order of models in figures, and what tells them apart where a colour is printed grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gnz_track.report.canvas import MARKERS, Mark, marks_of
from gnz_track.report.sheet import Key
from gnz_track.report.short_names import short_names
from gnz_track.stats.comparison import Comparison

__all__ = ["ModelMark", "line_key", "model_marks", "order_models"]

HATCHES = ("", "////", "\\\\\\\\", "....", "xxxx", "----", "||||", "++++")
KEY_WIDTH = 130.0
KEY_SIZE = 7.0


@dataclass(frozen=True, kw_only=True)
class ModelMark:
    """Look of a model; ``place`` is that of its name among all names, so that figures of one sweep agree."""

    place: int
    mark: Mark
    hatch: str

    @property
    def marker(self) -> dict[str, Any]:
        """A point, as options of Line2D; the markers of every other round are open."""
        is_open = self.place // len(MARKERS) % 2 == 1
        fill = {"markerfacecolor": "white"} if is_open else {}
        return {"marker": self.mark.marker, "color": self.mark.colour, "markeredgewidth": 0.9, **fill}


def model_marks(names: Sequence[str]) -> dict[str, ModelMark]:
    """Return the mark of each model; by colour and hatch no two of the first 56 are drawn alike."""
    ordered = sorted(set(names))
    marks = marks_of(ordered)
    return {
        name: ModelMark(place=place, mark=marks[name], hatch=HATCHES[place % len(HATCHES)])
        for place, name in enumerate(ordered)
    }


def order_models(comparison: Comparison) -> tuple[str, ...]:
    """Return all models by mean rank; behind them those without one, by name."""
    ranks = comparison.across.ranks
    ranked = ranks.order if ranks else ()
    return (*ranked, *sorted(set(comparison.models) - set(ranked)))


def line_key(models: Sequence[str], marks: dict[str, ModelMark], *, has_lines: bool) -> list[Key]:
    """Return the key of models by marker, colour and line pattern.

    Parameters
    ----------
    models
        Names in the order of the key.
    marks
        Model -> its mark.
    has_lines
        Whether lines are drawn between markers.
    """
    shown = short_names(models, KEY_WIDTH, size=KEY_SIZE)
    return [
        Key(
            text=shown[model],
            line={
                **marks[model].marker,
                "linestyle": marks[model].mark.line if has_lines else "",
                "markersize": 4.0,
                "linewidth": 1.0,
            },
        )
        for model in models
    ]
