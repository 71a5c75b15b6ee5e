"""The record of a comparison, with every choice; the verdicts on pairs of models, and all of it as plain text."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gnz_track.errors import UnknownName
from gnz_track.stats.comparison.admission import Finding
from gnz_track.stats.comparison.choices import POSTHOCS, Choices
from gnz_track.stats.design.power import Attainability, DesignPower
from gnz_track.stats.estimates.aggregate import Aggregate, Profile
from gnz_track.stats.estimates.effects import Effects, MeanAdvantage
from gnz_track.stats.estimates.flags import PairFlags
from gnz_track.stats.estimates.intervals import MeanInterval
from gnz_track.stats.estimates.variance import Decomposition
from gnz_track.stats.ranking.friedman import Friedman
from gnz_track.stats.ranking.groups import NemenyiGroups, PairwiseGroups
from gnz_track.stats.ranking.ranks import PrintedRanks, RankTable
from gnz_track.stats.ranking.stability import RankJackknife
from gnz_track.stats.significance.bayes import BayesianSignedRank, CorrelatedT
from gnz_track.stats.significance.equivalence import Equivalence
from gnz_track.stats.significance.paired import PairedTest
from gnz_track.text import first_names, plural
from gnz_track.types import Direction

__all__ = [
    "EXACT_TESTS",
    "AcrossTasks",
    "CellSummary",
    "Comparison",
    "FamilySummary",
    "ModelAggregates",
    "ModelPair",
    "PairComparison",
    "TaskComparison",
    "Verdict",
    "judge",
    "judge_sameness",
    "write_across",
    "write_comparison",
    "write_sentence",
    "write_task",
]


# Tests whose smallest p-value is bounded by the number of pairs; the t test's is not.
EXACT_TESTS = frozenset({"wilcoxon", "sign_flip"})


class Verdict(enum.StrEnum):
    """Verdict of a test of difference and one of equivalence together; and what is plain without a test.

    Models with the same score on every seed are ``identical``, which is no statistical equivalence: nothing was drawn
    that could have differed. Where two models are the same, identical or equivalent, and neither has been shown to be
    better than its baseline, they have both learnt nothing, and nothing is said of what they could learn.
    """

    different = "different"
    equivalent = "equivalent"
    trivial = "trivial"
    undetermined = "undetermined"
    identical = "identical"
    nothing = "both learnt nothing"


# (whether the difference is significant, whether it lies within the margin) -> verdict.
VERDICTS = {
    (True, False): Verdict.different,
    (True, True): Verdict.trivial,
    (False, True): Verdict.equivalent,
    (False, False): Verdict.undetermined,
}


def judge(*, is_rejected: bool, is_within_margin: bool, can_reject: bool) -> Verdict:
    """Return the verdict; a test that could not have rejected leaves the pair undetermined whatever else was found.

    Parameters
    ----------
    is_rejected
        Whether the test of difference rejects.
    is_within_margin
        Whether the test of equivalence does.
    can_reject
        Whether the design lets the test of difference reject.
    """
    return VERDICTS[is_rejected, is_within_margin] if can_reject else Verdict.undetermined


def judge_sameness(verdict: Verdict, *, is_identical: bool, are_at_chance: bool) -> Verdict:
    """Return the verdict on two models, where both may score the same, or both be at chance level.

    Parameters
    ----------
    verdict
        Verdict of the tests.
    is_identical
        Whether both have the same scores on all seeds.
    are_at_chance
        Whether both are at chance level.
    """
    if is_identical:
        verdict = Verdict.identical
    return Verdict.nothing if are_at_chance and verdict in {Verdict.identical, Verdict.equivalent} else verdict


@dataclass(frozen=True, kw_only=True)
class CellSummary:
    """One model on one task: scores by seed, the runs behind them, and their mean with its interval."""

    task: str
    model: str
    n_planned: int
    n_finished: int
    n_failed: int
    n_missing: int
    seeds: tuple[int, ...]
    scores: tuple[float, ...]
    run_ids: tuple[str, ...]
    mean: float | None
    sd: float | None
    iqm: float | None
    interval: MeanInterval

    def __str__(self) -> str:
        return f"{self.model}: {self.interval}"


@dataclass(frozen=True, kw_only=True)
class FamilySummary:
    """A family of tests that were adjusted together.

    ``m`` counts the planned comparisons without those not run; degenerate ones, which have no p-value, stay in it.
    """

    test: str
    scope: str
    method: str
    controls: str
    alpha: float
    m: int
    n_planned: int
    n_not_run: int
    n_degenerate: int
    n_rejected: int
    simultaneous_level: float | None

    def __str__(self) -> str:
        return f"{self.test}, {self.method}, {self.scope}, m = {self.m}: {self.n_rejected} rejected at {self.alpha:g}"


@dataclass(frozen=True, kw_only=True)
class PairComparison:
    """Two models on one task; advantages are positive where ``first`` is better.

    ``n_unmatched`` seeds of the task are not in the pair, because ``n_missing`` cells of the two have no score.
    ``p`` and ``p_adjusted`` are those of the test that the verdict rests on, which is not determined where this test
    ``can_reject`` is False. ``simultaneous`` holds with all others of its family (Bonferroni; Holm may reject where it
    touches 0). ``design`` gives the smallest detectable effects at alpha and alpha / m. ``seeds_for_observed``, and
    ``seeds_for_margin`` where a margin is declared, are the seeds at which the paired t at alpha / m would find an
    advantage as large as the observed one (Hedges' d_z), or as the margin, with the chosen power: for planning, no
    evidence.
    """

    task: str
    first: str
    second: str
    n_pairs: int
    n_unmatched: int
    n_missing: int
    quantum: float
    t: PairedTest
    t_adjusted: float | None
    wilcoxon: PairedTest
    wilcoxon_adjusted: float | None
    chosen: PairedTest
    p: float | None
    p_adjusted: float | None
    is_rejected: bool
    can_reject: bool
    effects: Effects
    simultaneous: MeanAdvantage
    equivalence: Equivalence | None
    equivalence_adjusted: float | None
    posterior: CorrelatedT | None
    flags: PairFlags
    design: DesignPower
    seeds_for_observed: int | None
    seeds_for_margin: int | None
    verdict: Verdict
    note: str = ""

    @property
    def is_apart(self) -> bool:
        """Whether the verdict tells which of the two is better, be it by more than the margin or not."""
        return self.verdict in {Verdict.different, Verdict.trivial}

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks of its test and its flags on the differences, each once."""
        return tuple(dict.fromkeys(word for word in (self.note, *self.flags.words) if word))

    def __str__(self) -> str:
        p = "no p" if self.p_adjusted is None else f"adjusted p = {self.p_adjusted:.4g}"
        flags = f"; {', '.join(self.flags.words)}" if self.flags.words else ""
        note = f" ({self.note})" if self.note else ""
        return f"{self.task}: {self.first} - {self.second}: {self.effects.mean}, {p}: {self.verdict}{note}{flags}"


@dataclass(frozen=True, kw_only=True)
class TaskComparison:
    """All models on one task; ``not_distinguishable`` are those whose pair with ``best`` is not rejected.

    Models ``at_chance`` have not been shown to be better than whoever has learnt nothing; where the runs do not tell
    such a baseline, nothing is claimed of them.
    The pairs with the best are read from the family of all pairs, because which model is best is known only afterwards.
    """

    task: str
    metric: str
    direction: Direction
    seeds: tuple[int, ...]
    models: tuple[str, ...]
    at_chance: tuple[str, ...]
    not_planned: tuple[str, ...]
    dropped: tuple[str, ...]
    cells: tuple[CellSummary, ...]
    pairs: tuple[PairComparison, ...]
    families: tuple[FamilySummary, ...]
    best: str | None
    not_distinguishable: tuple[str, ...]
    attainability: Attainability | None
    variance: Decomposition
    margin: float | None
    note: str = ""

    def count(self, verdict: Verdict) -> int:
        """Return how many pairs have a verdict."""
        return sum(pair.verdict is verdict for pair in self.pairs)

    def __str__(self) -> str:
        from gnz_track.stats.comparison.comparison import write_task

        return write_task(self)


@dataclass(frozen=True, kw_only=True)
class ModelPair:
    """Two models across tasks, by the mean scores of each task; ``p_adjusted`` is Holm's over all pairs of models."""

    first: str
    second: str
    n_tasks: int
    wins: int
    ties: int
    losses: int
    wilcoxon: PairedTest
    p_adjusted: float | None
    nemenyi_p: float | None
    can_reject: bool
    verdict: Verdict
    posterior: BayesianSignedRank | None = None
    note: str = ""

    def __str__(self) -> str:
        p = "no p" if self.p_adjusted is None else f"adjusted p = {self.p_adjusted:.4g}"
        return (
            f"{self.first} - {self.second}: {self.wins} won, {self.ties} tied, {self.losses} lost of {self.n_tasks} "
            f"tasks, {p}: {self.verdict}"
        )


@dataclass(frozen=True, kw_only=True)
class AcrossTasks:
    """All models over all tasks: both ways to group them are always here, ``posthoc`` says which one was chosen."""

    posthoc: str
    ranks: RankTable | None
    friedman: Friedman | None
    pairs: tuple[ModelPair, ...]
    wilcoxon_holm: PairwiseGroups | None
    nemenyi: NemenyiGroups | None
    stability: RankJackknife | None
    attainability: Attainability | None
    printed: PrintedRanks | None
    metrics: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        from gnz_track.stats.comparison.comparison import write_across

        return "\n".join(write_across(self))


@dataclass(frozen=True, kw_only=True)
class ModelAggregates:
    """One model over all ranked tasks, scores on the declared scale from 0 (worst) to 1 (best).

    ``improvement_by_first`` is the chance that a run of the model ranked first beats one of this model.
    """

    model: str
    n_tasks: int
    interquartile_mean: Aggregate
    optimality_gap: Aggregate
    profile: Profile
    improvement_by_first: Aggregate | None

    def __str__(self) -> str:
        return f"{self.model}: {self.interquartile_mean}; {self.optimality_gap}"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """All of it; ``str`` gives a page of plain text, :func:`gnz_track.records.to_json` the whole record."""

    choices: Choices
    models: tuple[str, ...]
    tasks: tuple[TaskComparison, ...]
    across: AcrossTasks
    aggregates: tuple[ModelAggregates, ...]
    n_cells: int
    n_finished: int
    n_failed: int
    n_missing: int
    missing_policy: str
    findings: tuple[Finding, ...]
    versions: Mapping[str, str]

    @property
    def pairs(self) -> tuple[PairComparison, ...]:
        """All pairs of models within tasks."""
        return tuple(pair for task in self.tasks for pair in task.pairs)

    def count(self, verdict: Verdict) -> int:
        """Return how many pairs within tasks have a verdict."""
        return sum(task.count(verdict) for task in self.tasks)

    def __getitem__(self, task: str) -> TaskComparison:
        for found in self.tasks:
            if found.task == task:
                return found
        raise UnknownName("task", task, [found.task for found in self.tasks])

    def __str__(self) -> str:
        from gnz_track.stats.comparison.comparison import write_comparison

        return write_comparison(self)


MOST_TASKS, MOST_NAMES = 12, 6


def write_comparison(comparison: Comparison) -> str:
    """Return the page."""
    lines = [write_sentence(comparison), f"  {comparison.choices}", "Across tasks"]
    lines += [f"  {line}" for line in write_across(comparison.across)]
    if comparison.aggregates:
        lines += ["On the declared scale", *(f"  {item}" for item in comparison.aggregates[:MOST_TASKS])]
    lines.append("Within tasks")
    shown = comparison.tasks if len(comparison.tasks) <= MOST_TASKS + 1 else comparison.tasks[:MOST_TASKS]
    lines += [f"  {task}" for task in shown]
    if len(shown) < len(comparison.tasks):
        lines.append(f"  ... and {len(comparison.tasks) - len(shown)} more tasks")
    lines += [f"  {line}" for line in _attainability(comparison)]
    lines += _left_out(comparison)
    if comparison.findings:
        lines += ["Warnings", *(f"  {finding}" for finding in comparison.findings)]
    versions = comparison.versions
    lines.append(
        f"gnz_track {versions['gnz_track']}, numpy {versions['numpy']}, scipy {versions['scipy']}; "
        f"seed of all resampling {comparison.choices.seed}"
    )
    return "\n".join(lines)


def write_sentence(comparison: Comparison) -> str:
    """Return the comparison in one sentence."""
    seeds = sorted({len(task.seeds) for task in comparison.tasks})
    n_seeds = plural(seeds[0], "seed") if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]} seeds"
    found = [_across(comparison.across)]
    # A pair without a seed in common was planned, and says nothing yet.
    compared = [pair for pair in comparison.pairs if pair.n_pairs]
    n_pairs, n_without = len(compared), len(comparison.pairs) - len(compared)
    if n_pairs:
        n_different = comparison.count(Verdict.different)
        verb = "differs" if n_different == 1 else "differ"
        more = f" ({plural(n_without, 'further pair')} without a seed in common)" if n_without else ""
        found.append(f"{n_different} of {plural(n_pairs, 'within-task pair')} {verb}{more}")
        for verdict, word in (
            (Verdict.trivial, "trivial"),
            (Verdict.equivalent, "equivalent"),
            (Verdict.undetermined, "undetermined"),
            (Verdict.identical, "identical"),
            (Verdict.nothing, "in which both learnt nothing"),
        ):
            count = sum(pair.verdict is verdict for pair in compared)
            found += [f"{count} {word}"] if count else []
    models, tasks = plural(len(comparison.models), "model"), plural(len(comparison.tasks), "task")
    is_whole = comparison.n_finished == comparison.n_cells
    kept = "" if is_whole else f", {comparison.n_finished} of {plural(comparison.n_cells, 'cell')} finished"
    return f"{models}, {tasks}, {n_seeds}{kept}: {'; '.join(found)}"


def write_across(across: AcrossTasks) -> list[str]:
    """Return the lines on all tasks together."""
    lines = [str(part) for part in (across.ranks, across.friedman) if part is not None]
    if across.ranks is not None and across.ranks.n_models > 1 and across.ranks.n_tasks > 1:
        for name, groups in (("wilcoxon-holm", across.wilcoxon_holm), ("nemenyi", across.nemenyi)):
            lines.append(f"{groups}{' (chosen)' if name == across.posthoc else ''}")
        lines.append(str(across.stability))
        if across.attainability is not None and not across.attainability.can_reject:
            lines.append(f"Wilcoxon: {across.attainability}")
    if across.printed is not None and not across.printed.are_reproducible:
        lines.append(str(across.printed))
    return lines + list(across.notes)


def write_task(task: TaskComparison) -> str:
    """Return one line on a task: the best model, whom it cannot be told from, and how many pairs differ."""
    title = f"{task.task} ({task.metric}, {task.direction})"
    best = next((cell for cell in task.cells if cell.model == task.best), None)
    if best is None or best.mean is None:
        return f"{title}: no score"
    interval = best.interval
    bounds = "" if interval.low is None or interval.high is None else f" [{interval.low:.4g}, {interval.high:.4g}]"
    parts = [f"best {task.best} {best.mean:.4g}{bounds}"]
    if task.pairs:
        parts.append(f"not distinguishable: {_list_names(task.not_distinguishable)}")
        counts = ", ".join(f"{task.count(verdict)} {verdict}" for verdict in Verdict if task.count(verdict))
        parts.append(f"{counts} ({plural(task.families[0].m, 'test')} corrected together)")
        parts += _flagged(task)
    parts += [f"no better than a constant answer: {_list_names(task.at_chance)}"] if task.at_chance else []
    parts += [f"dropped {_list_names(task.dropped)}"] if task.dropped else []
    parts += [task.note] if task.note else []
    return f"{title}: {'; '.join(parts)}"


def _flagged(task: TaskComparison) -> list[str]:
    """Say how many pairs should not be trusted to a test, and for which reasons."""
    raised = [pair.flags.words for pair in task.pairs if pair.flags.words]
    reasons = dict.fromkeys(word for words in raised for word in words)
    return (
        [f"handle with care: {len(raised)} of {plural(len(task.pairs), 'pair')} ({', '.join(reasons)})"]
        if raised
        else []
    )


def _across(across: AcrossTasks) -> str:
    n_pairs = len(across.pairs)
    if not n_pairs or across.ranks is None or across.ranks.n_tasks < 2:
        return "nothing to test across tasks"
    n_different = sum(pair.verdict is Verdict.different for pair in across.pairs)
    if not any(pair.can_reject for pair in across.pairs):
        return f"no pair can differ across tasks ({POSTHOCS[across.posthoc]})"
    if not n_different:
        return "no pair differs across tasks"
    return f"{n_different} of {plural(n_pairs, 'pair')} {'differs' if n_different == 1 else 'differ'} across tasks"


def _attainability(comparison: Comparison) -> Iterator[str]:
    """Say once for all tasks of the same design that an exact test cannot reject, and whether that binds."""
    found: dict[str, list[str]] = {}
    for task in comparison.tasks:
        if task.attainability is not None and not task.attainability.can_reject:
            found.setdefault(str(task.attainability), []).append(task.task)
    binds = comparison.choices.test in EXACT_TESTS
    for text, tasks in found.items():
        meaning = "so its verdicts are undetermined" if binds else "the verdicts rest on the t test, and on normality"
        if max((len(task.seeds) for task in comparison.tasks), default=0) < 2:
            meaning = "so nothing can differ"
        where = "" if len(tasks) == len(comparison.tasks) else f" ({_list_names(tasks)})"
        yield f"exact Wilcoxon: {text}; {meaning}{where}"


def _left_out(comparison: Comparison) -> list[str]:
    across = comparison.across.ranks
    if comparison.n_finished == comparison.n_cells and (across is None or not across.n_missing):
        return []
    counts = (
        f"{comparison.n_finished} of {plural(comparison.n_cells, 'cell')} finished, {comparison.n_failed} failed, "
        f"{comparison.n_missing} missing; {comparison.choices.missing}: {comparison.missing_policy}"
    )
    lines = ["Missing", f"  {counts}"]
    short = [pair for pair in comparison.pairs if pair.n_unmatched]
    lines += [f"  {len(short)} of {plural(len(comparison.pairs), 'pair')} lack seeds"] if short else []
    for name in ("task", "model"):
        dropped = [] if across is None else getattr(across, f"dropped_{name}s")
        lines += [f"  {plural(len(dropped), name)} left out of the ranks: {_list_names(dropped)}"] if dropped else []
    return lines


def _list_names(names: Sequence[str]) -> str:
    return first_names(names, MOST_NAMES) if names else "none"
