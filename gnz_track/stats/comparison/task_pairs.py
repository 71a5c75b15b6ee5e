"""All planned pairs of models within tasks: joined, tested, adjusted in families and judged, for all tasks at once."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gnz_track.stats.comparison.cells import ModelCells, TaskCells
from gnz_track.stats.comparison.choices import FAMILIES, TESTS, Choices, value_for
from gnz_track.stats.comparison.comparison import EXACT_TESTS, FamilySummary, PairComparison, judge, judge_sameness
from gnz_track.stats.comparison.joins import ManyPairs, SeedPairs, join_all, stack
from gnz_track.stats.design.overlap import FOR_OVERLAP, sizes_for
from gnz_track.stats.design.power import attainability, design_power, seeds_needed_rows, smallest_seeds
from gnz_track.stats.estimates.effects import (
    Effects,
    MeanAdvantage,
    effects_rows,
    mean_advantage_rows,
    widen_for_overlap,
)
from gnz_track.stats.estimates.flags import PairFlags, flag_rows
from gnz_track.stats.significance.bayes import CorrelatedT, correlated_t
from gnz_track.stats.significance.equivalence import Equivalence, tost_rows
from gnz_track.stats.significance.multiple import adjust
from gnz_track.stats.significance.paired import (
    Outcome,
    PairedTest,
    nadeau_bengio_rows,
    paired_t_rows,
    sign_flip_rows,
    unrunnable,
    wilcoxon_rows,
)
from gnz_track.stats.significance.sequential import AnytimeTest, FixedLooks, look_at_every_seed, look_at_fixed_seeds

__all__ = [
    "FURTHER_TESTS",
    "Adjusted",
    "PlannedPair",
    "adjust_by_scope",
    "compare_pairs",
    "compute_by",
    "count_lasting",
    "first_factor",
]


# By what the smallest of m p-values is multiplied, where all of them are equally small; m itself for all others.
FIRST_FACTORS = {"benjamini_hochberg": 1}


@dataclass(frozen=True, kw_only=True)
class Adjusted:
    """The p-values of one test, adjusted; ``levels`` [pairs] is what each raw p was compared with."""

    p: tuple[float | None, ...]
    rejected: tuple[bool, ...]
    levels: tuple[float, ...]
    families: dict[str, FamilySummary]


def first_factor(method: str, m: int) -> int:
    """Return by what the smallest possible p-value is multiplied at least among m comparisons."""
    return FIRST_FACTORS.get(method, max(1, m))


def adjust_by_scope(
    test: str,
    outcomes: Sequence[tuple[Outcome, float | None]],
    scopes: Sequence[str],
    choices: Choices,
) -> Adjusted:
    """Adjust p-values within each scope (a task, or all of them); pairs of one scope stand together.

    A degenerate pair was planned and has data, but no p: it counts in m as one that found nothing.

    Parameters
    ----------
    test
        Name of the test.
    outcomes
        Outcome and p-value of each pair.
    scopes
        Scope of each pair.
    choices
        Method, level and planned size of the families.
    """
    p: list[float | None] = []
    levels: list[float] = []
    families = {}
    for scope, group in itertools.groupby(range(len(scopes)), key=lambda row: scopes[row]):
        rows = [outcomes[row] for row in group]
        raw = [1.0 if outcome is Outcome.degenerate else value for outcome, value in rows]
        family = adjust(raw, method=choices.adjustment, alpha=choices.alpha)
        found = [
            None if outcome is Outcome.degenerate else value
            for (outcome, _), value in zip(rows, family.p_adjusted, strict=True)
        ]
        p += found
        levels += [_level(*both, family.m, choices.alpha) for both in zip(raw, found, strict=True)]
        families[scope] = FamilySummary(
            test=TESTS[test],
            scope=scope if choices.family == "task" else FAMILIES["all"],
            method=family.method,
            controls=family.controls,
            alpha=family.alpha,
            m=family.m,
            n_planned=family.n_planned,
            n_not_run=family.n_not_run,
            n_degenerate=sum(outcome is Outcome.degenerate for outcome, _ in rows),
            n_rejected=sum(value is not None and value <= choices.alpha for value in found),
            simultaneous_level=family.simultaneous_level,
        )
    rejected = tuple(value is not None and value <= choices.alpha for value in p)
    return Adjusted(p=tuple(p), rejected=rejected, levels=tuple(levels), families=families)


def _level(raw: float | None, adjusted: float | None, m: int, alpha: float) -> float:
    """Return what a raw p was compared with: alpha over the factor that it was adjusted by."""
    if raw and adjusted and adjusted < 1.0:
        return min(alpha, alpha * raw / adjusted)
    return alpha / max(1, m)


Key = TypeVar("Key")
Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedPair:
    """One pair of models of one task."""

    task: TaskCells
    first: ModelCells
    second: ModelCells
    joined: SeedPairs


def compute_by(
    keys: Sequence[Key], items: Sequence[Item], compute: Callable[[Sequence[Item], Key], Iterable[Found]]
) -> list[Found]:
    """Compute for all items with the same key at once, and return the results in the order of the items.

    Parameters
    ----------
    keys
        Key of each item.
    items
        Items [n].
    compute
        Function from the items of one key, and the key, to their results.
    """
    groups: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    if len(groups) == 1:
        return list(compute(items, next(iter(groups))))
    found: dict[int, Found] = {}
    for key, rows in groups.items():
        found.update(zip(rows, compute([items[row] for row in rows], key), strict=True))
    return [found[row] for row in range(len(items))]


def _sign_flips(planned: Sequence[PlannedPair], choices: Choices) -> tuple[PairedTest, ...]:
    return sign_flip_rows([pair.joined for pair in planned], seed=choices.seed)


def _nadeau_bengios(planned: Sequence[PlannedPair], choices: Choices) -> tuple[PairedTest, ...]:
    tasks = {pair.task.task: pair.task for pair in planned}
    sizes = dict(zip(tasks, sizes_for(list(tasks.values()), choices), strict=True))

    def test(part: Sequence[SeedPairs], size: tuple[int, int]) -> Iterable[PairedTest]:
        return nadeau_bengio_rows(part, n_train=size[0], n_test=size[1])

    return tuple(compute_by([sizes[pair.task.task] for pair in planned], [pair.joined for pair in planned], test))


def _at_every_seed(planned: Sequence[PlannedPair], choices: Choices) -> tuple[PairedTest, ...]:
    return _look_at_pairs("anytime-valid t", planned, {"looks": "every seed", "g": 1.0}, choices, look_at_every_seed)


def _at_fixed_seeds(planned: Sequence[PlannedPair], choices: Choices) -> tuple[PairedTest, ...]:
    return _look_at_pairs("t at fixed looks", planned, {"looks": "3, 5, 10, 20, 30"}, choices, look_at_fixed_seeds)


def _look_at_pairs(
    test: str,
    planned: Sequence[PlannedPair],
    how: Mapping[str, str | float],
    choices: Choices,
    look: Callable[..., AnytimeTest | FixedLooks],
) -> tuple[PairedTest, ...]:
    """Look at pairs in the order of their seeds; p-values are corrected for the looks, and go into the family as any.

    Each look can be had again from the scores in the record.
    """
    rows = stack([pair.joined for pair in planned])
    found = []
    for row, pair in enumerate(planned):
        n = pair.joined.n_pairs
        if n < 2:
            found.append(unrunnable(test, rows, row, how))
            continue
        result = look(pair.joined.quantised, alpha=choices.alpha)
        too_early = result.p is None and not result.looks
        found.append(
            PairedTest(
                test=test,
                outcome=Outcome.run if result.p is not None else OUTCOMES[too_early],
                p=result.p,
                statistic=None,
                n_pairs=n,
                n_effective=n,
                choices={**how, "n_looks": len(result.looks)},
                note=result.note,
            )
        )
    return tuple(found)


# Whether no look was due yet -> what a sequential test without a p-value is.
OUTCOMES = {True: Outcome.not_run, False: Outcome.degenerate}
FURTHER_TESTS: dict[str, Callable[[Sequence[PlannedPair], Choices], tuple[PairedTest, ...]]] = {
    "sign_flip": _sign_flips,
    "nadeau_bengio": _nadeau_bengios,
    "anytime": _at_every_seed,
    "fixed_looks": _at_fixed_seeds,
}


@dataclass(frozen=True, kw_only=True, eq=False)
class PairColumns:
    """Results of all pairs, each [pairs]."""

    tests: dict[str, tuple[PairedTest, ...]]
    adjusted: dict[str, Adjusted]
    m: list[int]
    effects: tuple[Effects, ...]
    simultaneous: list[MeanAdvantage]
    equivalence: list[Equivalence | None]
    within: Adjusted
    flags: tuple[PairFlags, ...]
    for_observed: list[int | None]
    for_margin: list[int | None]
    are_at_chance: list[bool]


def compare_pairs(
    layout: Sequence[tuple[TaskCells, Sequence[ModelCells]]], choices: Choices, at_chance: Mapping[str, frozenset[str]]
) -> tuple[tuple[PairComparison, ...], dict[str, tuple[FamilySummary, ...]]]:
    """Compare all pairs of models on each task; return pairs, and the families by scope.

    Parameters
    ----------
    layout
        Tasks, each with those of its models that are compared.
    choices
        Tests, levels and families.
    at_chance
        Task -> labels of the models that are at chance level.
    """
    planned = [pair for task, models in layout for pair in _plan_pairs(task, models, choices)]
    if not planned:
        return (), {}
    columns = _compute_columns(planned, choices, at_chance)
    adjusted = [*columns.adjusted.values()]
    families = {scope: tuple(one.families[scope] for one in adjusted) for scope in adjusted[0].families}
    return tuple(_make_pair(row, pair, columns, choices) for row, pair in enumerate(planned)), families


def count_lasting(
    layout: Sequence[tuple[TaskCells, Sequence[ModelCells]]], pairs: Sequence[PairComparison], choices: Choices
) -> int:
    """Return how many of the pairs that are told apart also are by another test, the one that ``choices`` name.

    Parameters
    ----------
    layout
        Tasks, each with those of its models that are compared.
    pairs
        Result of :func:`compare_pairs` for the same layout.
    choices
        Tests, levels and families.
    """
    planned = [pair for task, models in layout for pair in _plan_pairs(task, models, choices)]
    if not planned:
        return 0
    found = FURTHER_TESTS[choices.test](planned, choices)
    adjusted = adjust_by_scope(
        choices.test, [(test.outcome, test.p) for test in found], _scopes(planned, choices), choices
    )
    return sum(pair.is_apart and rejected for pair, rejected in zip(pairs, adjusted.rejected, strict=True))


def _scopes(planned: Sequence[PlannedPair], choices: Choices) -> list[str]:
    return [pair.task.task if choices.family == "task" else "" for pair in planned]


def _plan_pairs(task: TaskCells, models: Sequence[ModelCells], choices: Choices) -> list[PlannedPair]:
    couples = list(itertools.combinations(models, 2))
    scores = {model.label: model.scores for model in models}
    joined = join_all(
        [(scores[first.label], scores[second.label]) for first, second in couples],
        direction=task.direction,
        resolution=value_for(choices.resolution, task.task, task.metric),
    )
    return [
        PlannedPair(task=task, first=first, second=second, joined=pairs)
        for (first, second), pairs in zip(couples, joined, strict=True)
    ]


def _compute_columns(
    planned: Sequence[PlannedPair], choices: Choices, at_chance: Mapping[str, frozenset[str]]
) -> PairColumns:
    pairs = ManyPairs(pair.joined for pair in planned)
    scopes = _scopes(planned, choices)
    tests = {"t": paired_t_rows(pairs), "wilcoxon": wilcoxon_rows(pairs, zero_method=choices.zero_method)}
    if choices.test not in tests:
        tests[choices.test] = FURTHER_TESTS[choices.test](planned, choices)
    adjusted = {
        name: adjust_by_scope(name, [(test.outcome, test.p) for test in found], scopes, choices)
        for name, found in tests.items()
    }
    m = [max(1, adjusted[choices.test].families[scope].m) for scope in scopes]
    found = effects_rows(pairs, alpha=choices.alpha, share_interval=choices.share_interval)
    simultaneous = compute_by(m, pairs, lambda part, size: mean_advantage_rows(part, alpha=choices.alpha / size))
    if choices.test == FOR_OVERLAP:
        sizes = [_split_sizes(test) for test in tests[choices.test]]
        found = tuple(replace(one, mean=_widen(one.mean, size)) for one, size in zip(found, sizes, strict=True))
        simultaneous = [_widen(one, size) for one, size in zip(simultaneous, sizes, strict=True)]
    equivalence = _equivalence(planned, pairs, choices)
    outcomes = [(Outcome.not_run, None) if item is None else (item.outcome, item.p) for item in equivalence]
    return PairColumns(
        tests=tests,
        adjusted=adjusted,
        m=m,
        effects=found,
        simultaneous=simultaneous,
        equivalence=equivalence,
        within=adjust_by_scope("t", outcomes, scopes, choices),
        flags=flag_rows(pairs, alpha=adjusted["t"].levels, p=[test.p for test in tests["t"]]),
        for_observed=_seeds_for_effects(m, [_observed_effect(item) for item in found], choices),
        are_at_chance=[{pair.first.label, pair.second.label} <= at_chance[pair.task.task] for pair in planned],
        for_margin=_seeds_for_effects(
            m, [_margin_in_sd(item, pair, choices) for item, pair in zip(found, planned, strict=True)], choices
        ),
    )


def _split_sizes(test: PairedTest) -> tuple[int, int]:
    """Return the sizes of both parts that a test was corrected by; (1, 0) where it was not run."""
    return int(test.choices.get("n_train", 1)), int(test.choices.get("n_test", 0))


def _widen(found: MeanAdvantage, size: tuple[int, int]) -> MeanAdvantage:
    return widen_for_overlap(found, n_train=size[0], n_test=size[1])


def _make_pair(row: int, pair: PlannedPair, columns: PairColumns, choices: Choices) -> PairComparison:
    chosen, adjusted = columns.tests[choices.test][row], columns.adjusted[choices.test]
    m, n_pairs = columns.m[row], pair.joined.n_pairs
    equivalence, found = columns.equivalence[row], columns.effects[row]
    reason = _why_not(chosen, m, choices)
    can_reject = chosen.outcome is not Outcome.not_run and not reason
    is_rejected = adjusted.rejected[row]
    return PairComparison(
        task=pair.task.task,
        first=pair.first.label,
        second=pair.second.label,
        n_pairs=n_pairs,
        n_unmatched=len(pair.task.seeds) - n_pairs,
        n_missing=sum(len({*model.missing_seeds, *model.failed_seeds}) for model in (pair.first, pair.second)),
        quantum=pair.joined.quantum,
        t=columns.tests["t"][row],
        t_adjusted=columns.adjusted["t"].p[row],
        wilcoxon=columns.tests["wilcoxon"][row],
        wilcoxon_adjusted=columns.adjusted["wilcoxon"].p[row],
        chosen=chosen,
        p=chosen.p,
        p_adjusted=adjusted.p[row],
        is_rejected=is_rejected,
        can_reject=can_reject,
        effects=found,
        simultaneous=columns.simultaneous[row],
        equivalence=equivalence,
        equivalence_adjusted=columns.within.p[row],
        posterior=_posterior(pair, choices),
        flags=columns.flags[row],
        design=design_power(n_pairs, m, alpha=choices.alpha, power=choices.power, sd=found.mean.sd),
        seeds_for_observed=None if is_rejected else columns.for_observed[row],
        seeds_for_margin=columns.for_margin[row],
        verdict=judge_sameness(
            judge(is_rejected=is_rejected, is_within_margin=columns.within.rejected[row], can_reject=can_reject),
            is_identical=n_pairs > 1 and pair.joined.is_all_zero,
            are_at_chance=columns.are_at_chance[row],
        ),
        note=chosen.note or reason,
    )


def _why_not(chosen: PairedTest, m: int, choices: Choices) -> str:
    """Return why the test that was chosen cannot reject with so few pairs that differ; empty where it can."""
    if choices.test not in EXACT_TESTS or not chosen.n_effective:
        return ""
    found = attainability(chosen.n_effective, first_factor(choices.adjustment, m), alpha=choices.alpha)
    return "" if found.can_reject else str(found)


def _equivalence(
    planned: Sequence[PlannedPair], pairs: Sequence[SeedPairs], choices: Choices
) -> list[Equivalence | None]:
    margins = [value_for(choices.margin, pair.task.task, pair.task.metric) for pair in planned]

    def test(part: Sequence[SeedPairs], margin: float | None) -> Iterable[Equivalence | None]:
        return [None] * len(part) if margin is None else tost_rows(part, margin=margin, alpha=choices.alpha)

    return compute_by(margins, pairs, test)


def _seeds_for_effects(m: Sequence[int], sizes: Sequence[float], choices: Choices) -> list[int | None]:
    """Return the seeds at which the paired t at alpha / m finds effects of these sizes; exact tests need some more."""

    def needed(part: Sequence[float], size: int) -> Iterable[int | None]:
        least = smallest_seeds(size, alpha=choices.alpha) if choices.test in EXACT_TESTS else 2
        found = seeds_needed_rows(part, alpha=choices.alpha / size, power=choices.power)
        return [None if n is None else max(n, least) for n in found]

    return compute_by(m, sizes, needed)


def _observed_effect(found: Effects) -> float:
    size = found.standardised
    value = size.hedges if size.hedges is not None else size.d_z
    return math.nan if value is None else value


def _margin_in_sd(found: Effects, pair: PlannedPair, choices: Choices) -> float:
    margin = value_for(choices.margin, pair.task.task, pair.task.metric)
    return margin / found.mean.sd if margin is not None and found.mean.sd else math.nan


def _posterior(pair: PlannedPair, choices: Choices) -> CorrelatedT | None:
    if choices.rope is None:
        return None
    return correlated_t(pair.joined.quantised, rope=choices.rope)
