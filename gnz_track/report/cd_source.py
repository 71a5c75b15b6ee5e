"""A comparison as what its critical-difference diagram says."""

from __future__ import annotations

from gnz_track.report.cd_facts import CdFacts
from gnz_track.stats.comparison import Comparison

__all__ = ["cd_facts_of"]

GROUPS = {"wilcoxon-holm": "wilcoxon_holm", "nemenyi": "nemenyi"}


def cd_facts_of(comparison: Comparison) -> CdFacts:
    """Return the groups of the chosen test across tasks, Friedman's test beside them, and what was left out."""
    across = comparison.across
    ranks = across.ranks
    return CdFacts(
        groups=getattr(across, GROUPS[across.posthoc]),
        n_tasks=0 if ranks is None else ranks.n_tasks,
        friedman=across.friedman,
        dropped_tasks=() if ranks is None else ranks.dropped_tasks,
        dropped_models=() if ranks is None else ranks.dropped_models,
        notes=across.notes,
    )
