"""Names as LaTeX prints them with any engine: escaped, with places to break long ones, in whatever script."""

from __future__ import annotations

import math
import unicodedata

from gnz_track.report.labels import clean_name
from gnz_track.report.tex import escape_tex

__all__ = ["DEFINITIONS", "tex_lines", "tex_name", "tex_sign", "tex_text", "tex_width"]

# pdfLaTeX knows few signs; other engines take them all. A sign that is unknown is named, and stops no document.
DEFINITIONS = r"\providecommand{\gnzsign}[2]{\ifdefined\directlua#1\else\ifdefined\XeTeXversion#1\else[U+#2]\fi\fi}"
# Grave, acute, circumflex, tilde, diaeresis, ring, caron, cedilla: on a letter, every encoding has them.
ACCENTS = "\u0300\u0301\u0302\u0303\u0308\u030a\u030c\u0327"
LETTERS = "\u00df\u00e6\u00c6\u00f8\u00d8\u0153\u0152\u0142\u0141"
LAST = 0x17F
SIGNS = {"\u2020": r"$\dagger$", "\u00b1": r"$\pm$", "\u2013": "--", "\u2019": "'", "\u00a0": "~"}
# Names longer than this are set in lines, and broken behind these signs or after so many others.
LONGEST, BREAKS, UNBROKEN = 28, "_-/.:;,", 4
# Shorter words are not broken.
SHORT = 24


def tex_name(name: str, *, longest: int = LONGEST) -> str:
    """Return a name; one with more characters in a box of several lines."""
    text = clean_name(name)
    if len(text) <= longest:
        return "".join(map(tex_sign, text))
    return rf"\parbox[t]{{{longest / 2:g}em}}{{\raggedright {tex_text(text)}\strut}}"


def tex_text(text: str) -> str:
    """Return a text for a paragraph; in long words there are places to break."""
    return " ".join(
        _breakable(word) if len(word) > SHORT else "".join(map(tex_sign, word)) for word in clean_name(text).split(" ")
    )


def tex_width(name: str) -> int:
    """Return about how many characters wide a name is printed."""
    return min(len(clean_name(name)), LONGEST)


def tex_lines(name: str, *, longest: int = LONGEST) -> int:
    """Return in about how many lines a name is printed."""
    return math.ceil(len(clean_name(name)) / (longest - UNBROKEN)) if len(clean_name(name)) > longest else 1


def _breakable(word: str) -> str:
    parts, run = [], 0
    for sign in word:
        run = 0 if sign in BREAKS else run + 1
        parts.append(tex_sign(sign) + (r"\allowbreak{}" if run % UNBROKEN == 0 else ""))
    return "".join(parts)


def tex_sign(sign: str) -> str:
    """Return one character; :data:`DEFINITIONS` must stand before it, for those that pdfLaTeX does not know."""
    if sign in SIGNS:
        return SIGNS[sign]
    if sign.isascii() or sign in LETTERS:
        return escape_tex(sign)
    parts = unicodedata.normalize("NFD", sign)
    base, marks = parts[0], parts[1:]
    if ord(sign) <= LAST and base.isascii() and base.isalpha() and len(marks) == 1 and marks in ACCENTS:
        return sign
    return rf"\gnzsign{{{sign}}}{{{ord(sign):04X}}}"
