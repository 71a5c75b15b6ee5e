"""The record of a comparison: everything that was computed, by task and across tasks, with every choice."""

from __future__ import annotations

from dataclasses import dataclass

from gnz_track.errors import UnknownName
from gnz_track.stats.comparison.admission import Finding
from gnz_track.stats.comparison.choices import Choices
from gnz_track.stats.comparison.verdicts import Verdict
from gnz_track.stats.design.power import DesignPower
from gnz_track.stats.estimates.aggregate import Aggregate, Profile
from gnz_track.stats.estimates.effects import Effects, MeanAdvantage
from gnz_track.stats.estimates.flags import PairFlags
from gnz_track.stats.estimates.intervals import MeanInterval
from gnz_track.stats.estimates.variance import Decomposition
from gnz_track.stats.ranking.friedman import Friedman
from gnz_track.stats.ranking.groups import NemenyiGroups, PairwiseGroups
from gnz_track.stats.ranking.ranks import PrintedRanks, RankTable
from gnz_track.stats.ranking.stability import RankJackknife
from gnz_track.stats.significance.attainability import Attainability
from gnz_track.stats.significance.bayes import BayesianSignedRank, CorrelatedT
from gnz_track.stats.significance.equivalence import Equivalence
from gnz_track.stats.significance.paired import PairedTest
from gnz_track.types import Direction

__all__ = [
    "AcrossTasks",
    "CellSummary",
    "Comparison",
    "FamilySummary",
    "ModelAggregates",
    "ModelPair",
    "PairComparison",
    "TaskComparison",
    "Versions",
]


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
        from gnz_track.stats.comparison.comparison_text import write_task

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
        from gnz_track.stats.comparison.comparison_text import write_across

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
class Versions:
    """Versions of the code that computed the comparison."""

    gnz_track: str
    numpy: str
    scipy: str


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
    versions: Versions

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
        from gnz_track.stats.comparison.comparison_text import write_comparison

        return write_comparison(self)
