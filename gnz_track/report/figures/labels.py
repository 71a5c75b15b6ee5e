"""Names as they can be drawn: one line of visible characters, measured, and wrapped where they are too long."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Extent", "Measure", "clean_name", "show_controls", "wrap_name", "wrap_prose"]

# Characters that no format can show: control characters, halves of a pair, and those that no one has defined.
INVISIBLE = frozenset({"Cc", "Cs", "Cn"})
# They would turn the text that stands beside them, too.
TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Control characters but blanks: no page shows them, and who copies a text from it hands them to a terminal.
CONTROLS = {code: ascii(chr(code))[1:-1] for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}
# A line of prose ends behind spaces (others hold numbers and signs together); a name has no spaces to end at.
PROSE = re.compile("[^ ]* *")
NAME = re.compile(r"[^\s_\-/.,;:]*[\s_\-/.,;:]*")


@dataclass(frozen=True)
class Extent:
    """Size of a line of text in points: to the right of its start, above and below its baseline."""

    width: float
    ascent: float
    descent: float


# (one line of text, font size) -> how far it reaches.
Measure = Callable[[str, float], Extent]


def clean_name(name: str) -> str:
    r"""Return a name as one line: runs of blanks are one space, and what cannot be shown is a replacement character.

    >>> clean_name("a\nb\x00")
    'a b\ufffd'
    """
    words = " ".join(TURNING.sub("", name).split())
    shown = "".join("\ufffd" if unicodedata.category(sign) in INVISIBLE else sign for sign in words)
    return shown or "(no name)"


def show_controls(value: Any) -> Any:
    r"""Return data for a page: in every text, control characters are written so that they can be read.

    >>> show_controls({"name": ["\x1b[31mred", 1]})
    {'name': ['\\x1b[31mred', 1]}
    """
    if isinstance(value, str):
        # Markup stays Markup.
        return value.translate(CONTROLS)
    if isinstance(value, Mapping):
        return {key: show_controls(one) for key, one in value.items()}
    return [show_controls(one) for one in value] if isinstance(value, list | tuple) else value


def wrap_name(name: str, width: float, *, size: float, measure: Measure) -> tuple[str, ...]:
    """Return the lines of a name, none wider than ``width`` points unless one character alone is.

    Parameters
    ----------
    name
        Name of a model or a task.
    width
        Most points of a line.
    size
        Font size in points.
    measure
        Measure of a line of text.
    """
    return _wrap(NAME.findall(name), width, size=size, measure=measure)


def wrap_prose(text: str, width: float, *, size: float, measure: Measure) -> tuple[str, ...]:
    """Return the lines of a text, none wider than ``width`` points unless one character alone is.

    Parameters
    ----------
    text
        Sentences.
    width
        Most points of a line.
    size
        Font size in points.
    measure
        Measure of a line of text.
    """
    return _wrap(PROSE.findall(text), width, size=size, measure=measure)


def _wrap(pieces: Sequence[str], width: float, *, size: float, measure: Measure) -> tuple[str, ...]:
    lines, line = [], ""
    for piece in (part for whole in pieces for part in _cut(whole, width, size=size, measure=measure)):
        if line and measure((line + piece).rstrip(), size).width > width:
            lines.append(line.rstrip())
            line = ""
        line += piece
    return (*lines, line.rstrip()) if line.strip() else tuple(lines)


def _cut(piece: str, width: float, *, size: float, measure: Measure) -> list[str]:
    """Return a piece in parts that fit, cut between characters where it must be."""
    parts = []
    while piece:
        n = len(piece)
        while n > 1 and (found := measure(piece[:n].rstrip(), size).width) > width:
            n = max(1, min(n - 1, int(n * width / found)))
        parts.append(piece[:n])
        piece = piece[n:]
    return parts
