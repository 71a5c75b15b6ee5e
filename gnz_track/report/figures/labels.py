"""Names as they can be shown: one line of visible characters."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gnz_track.types import Direction

__all__ = ["ARROWS", "Extent", "clean_name", "show_controls"]

ARROWS: dict[str, str] = {Direction.up: "\u2191", Direction.down: "\u2193"}
# Characters that no format can show: control characters, halves of a pair, and those that no one has defined.
INVISIBLE = frozenset({"Cc", "Cs", "Cn"})
# They would turn the text that stands beside them, too.
TURNING = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069]")
# Control characters but blanks: no page shows them, and who copies a text from it hands them to a terminal.
CONTROLS = {code: ascii(chr(code))[1:-1] for code in (*range(9), 11, 12, *range(14, 32), *range(127, 160))}


@dataclass(frozen=True)
class Extent:
    """Size of a line of text in points: to the right of its start, above and below its baseline."""

    width: float
    ascent: float
    descent: float


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
