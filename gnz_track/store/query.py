"""Conditions on rows of the results table, in a small language of its own: nothing in it can run anything.

::

    task = 'cora' and model in ('GCN', 'GAT')
    (score >= 0.8 or status = 'failed') and not protocol like 'best%'

Comparisons are ``=``, ``!=``, ``<``, ``<=``, ``>``, ``>=``, ``in (...)``, ``not in (...)``, ``like`` and ``not like``;
``not`` binds closer than ``and``, and ``and`` closer than ``or``. ``%`` stands for any characters and ``_`` for one. A
value that is missing matches no comparison. Times are texts such as ``'2026-11-18'``, in UTC.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from gnz_track.errors import BadExpression
from gnz_track.store.results_table import COLUMNS, TEXT, TIME

__all__ = ["Condition", "Word", "parse_condition", "select_rows"]


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


def _cut_words(text: str) -> list[Word]:
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


# Table -> which of its rows are meant.
Condition = Callable[[pd.DataFrame], "pd.Series[bool]"]
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
MOST_DEEP = 50
# Kind of column -> the kind of word that its values are compared with, and how an error calls it.
VALUES = {TEXT: ("text", "a text in quotes"), TIME: ("text", "a time in quotes, such as '2026-11-18'")}
NUMBER = ("number", "a number")


def select_rows(table: pd.DataFrame, text: str) -> pd.DataFrame:
    """Return the rows of a results table for which a condition holds."""
    return table[parse_condition(text)(table)].reset_index(drop=True)


def parse_condition(text: str) -> Condition:
    """Read a condition; what cannot be read raises :class:`BadExpression`, which says where."""
    reader = ConditionReader(text, _cut_words(text))
    found = reader.either(depth=0)
    reader.expect("end", "and, or, or the end")
    return found


@dataclass
class ConditionReader:
    """The words of a condition, and how far they are read."""

    text: str
    words: Sequence[Word]
    place: int = 0

    def either(self, *, depth: int) -> Condition:
        """Read parts joined by ``or``."""
        parts = [self.both(depth=depth)]
        while self.takes("keyword", "or"):
            parts.append(self.both(depth=depth))
        return _join_conditions(parts, operator.or_)

    def both(self, *, depth: int) -> Condition:
        """Read parts joined by ``and``."""
        parts = [self.single(depth=depth)]
        while self.takes("keyword", "and"):
            parts.append(self.single(depth=depth))
        return _join_conditions(parts, operator.and_)

    def single(self, *, depth: int) -> Condition:
        """Read one comparison, what stands in parentheses, or either behind ``not``."""
        if depth > MOST_DEEP:
            raise self.wrong(f"at most {MOST_DEEP} parentheses and nots within one another")
        if self.takes("keyword", "not"):
            turned = self.single(depth=depth + 1)
            return lambda table: ~turned(table)
        if self.takes("sign", "("):
            inner = self.either(depth=depth + 1)
            self.expect("sign", "a closing parenthesis", ")")
            return inner
        return self.comparison()

    def comparison(self) -> Condition:
        """Read a column, an operator and a value."""
        word = self.next
        name = str(self.expect("name", "a column").value)
        if name not in COLUMNS:
            raise BadExpression(self.text, word.at, f"there is no column {name!r}", columns=COLUMNS)
        is_turned = self.takes("keyword", "not")
        if self.takes("keyword", "in"):
            found = self.membership(name)
        elif self.takes("keyword", "like"):
            found = self.likeness(name)
        elif is_turned:
            raise self.wrong("in or like behind not")
        else:
            return self.order(name)
        return (lambda table: table[name].notna() & ~found(table)) if is_turned else found

    def order(self, name: str) -> Condition:
        """Read one of the six comparisons and its value."""
        word = self.expect("sign", "=, !=, <, <=, >, >=, in, not in or like", *COMPARISONS)
        compare, value = COMPARISONS[str(word.value)], self.value(name)
        return lambda table: _plain_mask(table[name].notna() & compare(table[name], value))

    def membership(self, name: str) -> Condition:
        """Read a list of values in parentheses."""
        self.expect("sign", "an opening parenthesis", "(")
        values = [self.value(name)]
        while self.takes("sign", ","):
            values.append(self.value(name))
        self.expect("sign", "a comma or a closing parenthesis", ")")
        return lambda table: _plain_mask(table[name].notna() & table[name].isin(values))

    def likeness(self, name: str) -> Condition:
        """Read a pattern."""
        if COLUMNS[name][2] != TEXT:
            raise self.wrong(f"a comparison with a number: {name} is no text, and like compares texts")
        pattern = str(self.expect("text", "a text in quotes, with % for any characters").value)
        signs = {"%": ".*", "_": "."}
        # As MLflow's own LIKE: case counts.
        wanted = re.compile("".join(signs.get(sign, re.escape(sign)) for sign in pattern), re.DOTALL)
        return lambda table: table[name].map(lambda value: wanted.fullmatch(value) is not None).astype(bool)

    def value(self, name: str) -> Any:
        """Read a value of the kind that a column has."""
        kind = COLUMNS[name][2]
        word_kind, wanted = VALUES.get(kind, NUMBER)
        word = self.expect(word_kind, f"{wanted}, as {name} holds")
        if kind != TIME:
            return word.value
        try:
            time = pd.Timestamp(str(word.value))
        except ValueError:
            time = pd.NaT
        if time is pd.NaT:
            raise BadExpression(self.text, word.at, f"{word.shown} is no time; {wanted} was expected")
        return time.tz_localize("UTC") if time.tzinfo is None else time

    @property
    def next(self) -> Word:
        """The word that is read next."""
        return self.words[self.place]

    def takes(self, kind: str, *values: str) -> bool:
        """Go past the next word, and say so, if it is of a kind and has one of the values."""
        is_it = self.next.kind == kind and (not values or self.next.value in values)
        self.place += is_it
        return is_it

    def expect(self, kind: str, wanted: str, *values: str) -> Word:
        """Return the next word and go past it; another one is an error."""
        word = self.next
        if not self.takes(kind, *values):
            raise self.wrong(wanted)
        return word

    def wrong(self, wanted: str) -> BadExpression:
        """Return the error that names what was expected in the place of the next word."""
        return BadExpression(self.text, self.next.at, f"expected {wanted}, found {self.next.shown}")


def _join_conditions(parts: Sequence[Condition], join: Callable[[Any, Any], Any]) -> Condition:
    if len(parts) == 1:
        return parts[0]

    def joined(table: pd.DataFrame) -> pd.Series[bool]:
        found = parts[0](table)
        for part in parts[1:]:
            found = join(found, part(table))
        return found

    return joined


def _plain_mask(found: Any) -> pd.Series[bool]:
    """Return plain booleans: comparisons of numbers that may be missing know a third value."""
    return pd.Series(found).fillna(value=False).astype(bool)
