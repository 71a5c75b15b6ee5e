"""Names that somebody may have meant."""

from __future__ import annotations

import difflib
import itertools
from collections.abc import Iterable

__all__ = ["near_matches"]

LEAST_LIKENESS, MOST = 0.5, 3


def near_matches(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three known names that look like a name, best first, ignoring case.

    Of names that are as alike, one that begins as ``name`` does comes first: the end is where people slip.

    >>> near_matches("graphsage", ["GCN", "GraphSAGE"]), near_matches("GCM", ["GIN", "SGC", "GCN"])
    (['GraphSAGE'], ['GCN', 'SGC'])
    """
    wanted = name.lower()
    likeness = {one: difflib.SequenceMatcher(None, one.lower(), wanted).ratio() for one in sorted(known)}

    def distance(one: str) -> tuple[float, int]:
        alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one.lower(), wanted, strict=False))
        return -likeness[one], -len(list(alike))

    return [one for one in sorted(likeness, key=distance) if likeness[one] >= LEAST_LIKENESS][:MOST]
