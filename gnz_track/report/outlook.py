"""Pairs that more seeds would settle, and the whole comparison in one sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gnz_track.stats.comparison import Comparison
from gnz_track.stats.comparison_text import write_sentence
from gnz_track.stats.verdicts import Verdict

__all__ = ["Outlook", "look_ahead", "write_summary"]

# Nobody runs more than this many times the seeds that there are.
MOST_TIMES = 4


@dataclass(frozen=True, kw_only=True)
class Outlook:
    """So many more seeds would find so many of the undetermined pairs, if these differ as much as was observed."""

    n_undetermined: int
    n_more_seeds: int
    n_settled: int
    power: float

    def __str__(self) -> str:
        if not self.n_undetermined:
            return ""
        if not self.n_settled:
            return f"no affordable number of seeds (up to {MOST_TIMES} times as many) would settle any of them"
        seeds = "1 more seed" if self.n_more_seeds == 1 else f"{self.n_more_seeds} more seeds"
        which = f"{self.n_settled} of them" if self.n_settled < self.n_undetermined else "all of them"
        return f"{seeds} would settle {which}" if self.n_undetermined > 1 else f"{seeds} would settle it"


def look_ahead(comparison: Comparison) -> Outlook:
    """Return the fewest seeds that settle half of the undetermined pairs, or as many as can be afforded.

    By the paired t at alpha / m with the chosen power, for the observed effects: for planning, no evidence.
    """
    pairs = [pair for pair in comparison.pairs if pair.verdict is Verdict.undetermined and pair.n_pairs]
    needed = sorted(
        max(1, pair.seeds_for_observed - pair.n_pairs)
        for pair in pairs
        if pair.seeds_for_observed is not None and pair.seeds_for_observed <= MOST_TIMES * max(2, pair.n_pairs)
    )
    n_more = needed[min(len(needed), math.ceil(len(pairs) / 2)) - 1] if needed else 0
    return Outlook(
        n_undetermined=len(pairs),
        n_more_seeds=n_more,
        n_settled=sum(more <= n_more for more in needed),
        power=comparison.choices.power,
    )


def write_summary(comparison: Comparison) -> str:
    """Return the comparison in one sentence, with what more seeds would settle."""
    found = [write_sentence(comparison), str(look_ahead(comparison))]
    return f"{'; '.join(filter(None, found))}."
