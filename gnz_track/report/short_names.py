"""Names cut to the room there is, and still different from each other."""

from __future__ import annotations

from collections.abc import Sequence

from gnz_track.report.canvas import measure_text
from gnz_track.report.labels import clean_name

__all__ = ["cut_text", "short_names"]


def cut_text(text: str, width: float, *, size: float, ending: str = "") -> str:
    """Return one line, cut in its middle where it is too wide.

    Parameters
    ----------
    text
        The line.
    width
        Most points.
    size
        Font size in points.
    ending
        Text behind it, never cut.
    """
    whole = clean_name(text) + ending
    if measure_text(whole, size).width <= width:
        return whole
    shown = clean_name(text)
    fits, too_many = 0, len(shown)
    while too_many - fits > 1:
        kept = (fits + too_many) // 2
        is_narrow = measure_text(_without_middle(shown, kept) + ending, size).width <= width
        fits, too_many = (kept, too_many) if is_narrow else (fits, kept)
    return _without_middle(shown, fits) + ending


def short_names(names: Sequence[str], width: float, *, size: float) -> dict[str, str]:
    """Return a line for each name; those that would look equal are numbered.

    Parameters
    ----------
    names
        Names to shorten.
    width
        Most points of a line.
    size
        Font size in points.
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        shown, n = cut_text(name, width, size=size), 1
        while shown in taken:
            n += 1
            shown = cut_text(name, width, size=size, ending=f" #{n}")
        taken.add(shown)
        found[name] = shown
    return found


def _without_middle(text: str, kept: int) -> str:
    head = (kept + 1) // 2
    return f"{text[:head].rstrip()}\u2026{text[len(text) - (kept - head) :].lstrip()}"
