"""A condition on rows, cut into words, each with its place in the text."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gnz_track.errors import BadExpression

__all__ = ["Word", "cut_words"]

KEYWORDS = frozenset({"and", "or", "not", "in", "like"})
SIGNS = {"==": "=", "<>": "!="}
# A quote within a text is written twice, as in SQL.
PATTERN = re.compile(
    r"""(?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
      | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
      | (?P<name>[A-Za-z_]\w*)
      | (?P<sign><=|>=|!=|<>|==|[=<>(),])
    """,
    re.VERBOSE | re.ASCII,
)


@dataclass(frozen=True)
class Word:
    """One word: text, number, name, keyword or sign, where it starts, and what it says."""

    kind: str
    at: int
    value: str | float

    @property
    def shown(self) -> str:
        """Words by which an error names it."""
        return "the end" if self.kind == "end" else repr(self.value)


def cut_words(text: str) -> list[Word]:
    """Return the words of a text; the last one is the end."""
    # A call may hold bytes that are no UTF-8, and no table holds half a character.
    half = next((at for at, sign in enumerate(text) if "\ud800" <= sign <= "\udfff"), None)
    if half is not None:
        raise BadExpression(text.encode("utf-8", "replace").decode(), half, "half a character stands there")
    words, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        found = PATTERN.match(text, at)
        if found is None:
            reason = "the quote is never closed" if text[at] in "'\"" else "nothing that can be read starts so"
            raise BadExpression(text, at, reason)
        words.append(_word(str(found.lastgroup), at, found.group()))
        at = found.end()
    return [*words, Word("end", len(text), "")]


def _word(kind: str, at: int, said: str) -> Word:
    if kind == "text":
        return Word(kind, at, said[1:-1].replace(said[0] * 2, said[0]))
    if kind == "number":
        return Word(kind, at, float(said))
    if kind == "name" and said.lower() in KEYWORDS:
        return Word("keyword", at, said.lower())
    return Word(kind, at, SIGNS.get(said, said))
