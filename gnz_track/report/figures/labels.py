"""Words of figures: names as one line of visible characters, and parts of captions on tests, families and seeds."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gnz_track.stats.comparison.choices import FAMILIES, TESTS
from gnz_track.stats.comparison.comparison import Comparison, PairComparison, TaskComparison, Verdict
from gnz_track.stats.estimates.intervals import INTERVALS
from gnz_track.text import plural
from gnz_track.types import Direction

__all__ = [
    "ADJUSTED",
    "ARROWS",
    "Extent",
    "clean_name",
    "say_counts",
    "say_interval",
    "say_range",
    "say_seeds",
    "say_test",
    "say_unattainable",
    "say_verdicts",
    "show_controls",
    "write_p",
]


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


ADJUSTED = {
    "holm": "Holm-adjusted",
    "bonferroni": "Bonferroni-adjusted",
    "shaffer": "Shaffer-adjusted",
    "benjamini_hochberg": "Benjamini-Hochberg-adjusted",
}
INTERVAL_NAMES = {"t": "Student t", "percentile": "percentile bootstrap", "bca": "BCa", "bootstrap_t": "bootstrap-t"}
# What a test that was asked for by name stands for in a sentence.
SMALLEST_P = 0.001


def say_range(values: Iterable[int]) -> str:
    """Return one number where all are equal, and the smallest and the largest otherwise."""
    found = sorted(set(values)) or [0]
    return str(found[0]) if len(found) == 1 else f"{found[0]} to {found[-1]}"


def say_seeds(tasks: Sequence[TaskComparison]) -> str:
    """Return how many seeds the tasks were run with."""
    found = say_range(len(task.seeds) for task in tasks)
    return f"{found} seed" if found == "1" else f"{found} seeds"


def say_interval(comparison: Comparison) -> str:
    """Return the intervals of the mean scores."""
    method = comparison.choices.interval
    name = INTERVAL_NAMES.get(method, method) if method in INTERVALS else method
    return f"{100 * (1 - comparison.choices.alpha):g} % {name} intervals over seeds"


def say_test(comparison: Comparison, tasks: Sequence[TaskComparison]) -> str:
    """Return the test, its correction, the family with its size m, and the level."""
    choices = comparison.choices
    adjusted = ADJUSTED.get(choices.adjustment, f"adjusted by {choices.adjustment}")
    sizes = [family.m for task in tasks for family in task.families if family.test == TESTS[choices.test]]
    m = f"m\u00a0=\u00a0{say_range(sizes)}" if sizes else "no pair"
    level = f"\u03b1\u00a0=\u00a0{choices.alpha:g}"
    return f"{TESTS[choices.test]}, {adjusted} over {FAMILIES[choices.family]} ({m}), {level}"


def say_unattainable(pairs: Sequence[PairComparison], *, how: str) -> str:
    """Return how many pairs have no chance to be told apart, and how they are drawn; empty where there are none."""
    n = sum(not pair.can_reject for pair in pairs)
    if not n:
        return ""
    notes = sorted({pair.note for pair in pairs if not pair.can_reject and pair.note})
    because = f" ({clean_name(notes[0])}{', and others' if len(notes) > 1 else ''})" if notes else ""
    return f"{how}: {plural(n, 'pair')} that the test cannot tell apart whatever the data{because}."


def say_verdicts(pairs: Sequence[PairComparison]) -> str:
    """Return how often each verdict was found."""
    found = {verdict: sum(pair.verdict is verdict for pair in pairs) for verdict in Verdict}
    return ", ".join(f"{n} {verdict}" for verdict, n in found.items() if n)


def say_counts(comparison: Comparison) -> str:
    """Return what is missing; empty where nothing is."""
    lost = [f"{n} {word}" for n, word in ((comparison.n_failed, "failed"), (comparison.n_missing, "missing")) if n]
    return f"Of {plural(comparison.n_cells, 'cell')} {' and '.join(lost)}." if lost else ""


def write_p(p: float | None) -> str:
    """Return a p-value with three decimals and no leading zero.

    >>> write_p(0.0117), write_p(0.0002), write_p(1.0), write_p(None)
    ('.012', '<.001', '1', 'n.a.')
    """
    if p is None:
        return "n.a."
    if p < SMALLEST_P:
        return "<.001"
    return "1" if p > 0.9995 else f"{p:.3f}".removeprefix("0")
