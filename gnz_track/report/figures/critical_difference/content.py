"""Content of a critical-difference diagram: models, ranks and groups of a comparison, and the caption."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from gnz_track.report.figures.labels import ADJUSTED, clean_name
from gnz_track.stats.comparison.comparison import Comparison
from gnz_track.stats.design.power import attainability
from gnz_track.stats.ranking.friedman import Friedman
from gnz_track.stats.ranking.groups import Group, NemenyiGroups, PairwiseGroups
from gnz_track.text import plural

__all__ = ["CdFacts", "cd_facts_of", "write_caption"]

HELD = "Friedman\u2019s test does not reject that all models rank alike, so {marks} are grey."
BARS = "Bars join models that are not told apart{gaps}."
PAIRS = (
    "The groups overlap too much for bars: a dot in the row of one model and the column of another says that the two "
    "are not told apart; columns are in the order of the rows, and the faint diagonal shows which is whose."
)
# Below this a p-value says more about the approximation than about the models.
SMALLEST_P = 1e-16
# More names than these are counted instead.
MOST_NAMES = 6
GROUPS = {"wilcoxon-holm": "wilcoxon_holm", "nemenyi": "nemenyi"}


@dataclass(frozen=True, kw_only=True)
class CdFacts:
    """Groups of models over ``n_tasks`` tasks, by either test; None where there was nothing to group."""

    groups: PairwiseGroups | NemenyiGroups | None
    n_tasks: int
    friedman: Friedman | None = None
    dropped_tasks: tuple[str, ...] = ()
    dropped_models: tuple[str, ...] = ()
    # Further sentences for the caption, such as what else was decided about missing scores.
    notes: tuple[str, ...] = field(default=())

    @property
    def models(self) -> tuple[str, ...]:
        """Names from best to worst."""
        return self.groups.order if self.groups else ()

    @property
    def mean_ranks(self) -> dict[str, float]:
        """Model -> mean rank, best first."""
        if not self.groups:
            return {}
        found = dict(zip(self.groups.models, self.groups.mean_ranks, strict=True))
        return {name: found[name] for name in self.groups.order}

    @property
    def has_diagram(self) -> bool:
        """Whether there are two models and two tasks, without which a diagram would be empty."""
        return len(self.models) > 1 and self.n_tasks > 1

    @property
    def critical_difference(self) -> float | None:
        """The length of the ruler; there is none where pairs are tested one by one."""
        return self.groups.critical_difference if isinstance(self.groups, NemenyiGroups) else None

    @property
    def is_held_back(self) -> bool:
        """Whether Friedman's test does not reject, so that no group should be read as a finding."""
        return self.friedman is not None and self.friedman.rejects is False

    @property
    def cliques(self) -> tuple[Group, ...]:
        """Groups of two and more that lie in no other one, in rank order."""
        found = [group for group in (self.groups.groups if self.groups else ()) if len(group.members) > 1]
        sets = [frozenset(group.members) for group in found]
        places = {name: place for place, name in enumerate(self.models)}
        kept = {
            members: group for group, members in zip(found, sets, strict=True) if not any(members < one for one in sets)
        }
        return tuple(sorted(kept.values(), key=lambda group: [places[name] for name in group.members]))


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


def write_caption(facts: CdFacts, *, is_by_pair: bool = False) -> str:
    """Return the caption: sizes, test and correction, Friedman's test, and what was left out.

    ``is_by_pair`` says that groups are drawn as a dot for each pair instead of as bars.
    """
    k = len(facts.models)
    if not facts.has_diagram:
        models, tasks = plural(k, "model"), plural(facts.n_tasks, "task")
        lines = [f"No critical-difference diagram: {models} on {tasks} leave nothing to compare across tasks."]
        ranks = ", ".join(f"{clean_name(name)} {rank:g}" for name, rank in facts.mean_ranks.items())
        lines += [f"Ranks on the only task: {ranks}."] if facts.n_tasks == 1 and k > 1 else []
        return " ".join([*lines, *_say_rest(facts)])
    level = f", \u03b1 = {facts.groups.alpha:g}" if facts.groups else ""
    sizes = f"k = {k} models, N = {facts.n_tasks} tasks{level}."
    said = [
        sizes,
        _say_test(facts),
        *_say_bars(facts, is_by_pair=is_by_pair),
        *_say_friedman(facts.friedman),
        *_say_rest(facts),
    ]
    # No line ends inside "k = 4".
    return re.sub(r" ([=<]) ", "\u00a0\\1\u00a0", " ".join(said))


def _say_test(facts: CdFacts) -> str:
    groups = facts.groups
    if isinstance(groups, NemenyiGroups):
        return f"Nemenyi\u2019s test, m = {groups.m} pairs at once, CD = {groups.critical_difference:.4g}."
    if groups is None:
        return ""
    adjusted = ADJUSTED.get(groups.adjustment, f"adjusted by {groups.adjustment}")
    said = f"{groups.test} test, {adjusted} over m = {plural(groups.m, 'pair')}; no single CD."
    if groups.m < 1 or "ilcoxon" not in groups.test:
        return said
    reach = attainability(facts.n_tasks, groups.m, alpha=groups.alpha, unit="task")
    return said if reach.can_reject else f"{said} {str(reach).capitalize()}."


def _say_bars(facts: CdFacts, *, is_by_pair: bool) -> list[str]:
    if not facts.cliques:
        return ["No bar: all pairs are told apart."]
    has_gaps = not all(group.is_contiguous for group in facts.cliques)
    gaps = "; a thin line joins only the models with a dot on it" if has_gaps else ""
    held = [HELD.format(marks="the dots" if is_by_pair else "the bars")] if facts.is_held_back else []
    return [PAIRS if is_by_pair else BARS.format(gaps=gaps), *held]


def _say_friedman(found: Friedman | None) -> list[str]:
    if found is None:
        return []
    if found.p is None:
        return [f"Friedman not run: {found.note}."]
    value = "" if found.chi2 is None else f" \u03c7\u00b2({found.df}) = {found.chi2:.4g},"
    p = f"p = {found.p:.3g}" if found.p >= SMALLEST_P else f"p < {SMALLEST_P:g}"
    return [f"Friedman{value} {p}{'' if found.p_method == 'chi2' else f' ({found.p_method})'}."]


def _say_rest(facts: CdFacts) -> list[str]:
    dropped = [
        _name_orcount(names, kind)
        for names, kind in ((facts.dropped_tasks, "task"), (facts.dropped_models, "model"))
        if names
    ]
    notes = [facts.groups.note] if facts.groups and facts.groups.note and facts.has_diagram else []
    return [
        *([f"Dropped: {' and '.join(dropped)}."] if dropped else []),
        *(f"{note[0].upper()}{note[1:].rstrip('.')}." for note in (*notes, *facts.notes)),
    ]


def _name_orcount(names: tuple[str, ...], kind: str) -> str:
    listed = f" ({', '.join(clean_name(name) for name in names)})" if len(names) <= MOST_NAMES else ""
    return f"{plural(len(names), kind)}{listed}"
