"""Record of what stored predictions say of one task, as plain numbers and texts, ready to be shown."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gnz_track.stats.predictions.two_levels import TwoLevelEstimate
from gnz_track.types import Direction

__all__ = [
    "BestExplained",
    "CalibrationFacts",
    "ConfusionFacts",
    "EnsembleFacts",
    "EnsembleScore",
    "ExampleFacts",
    "ModelFacts",
    "PairFacts",
    "RankFacts",
    "ReliabilityFacts",
    "RocFacts",
    "SlicePart",
    "TaskPredictions",
]


@dataclass(frozen=True, kw_only=True)
class CalibrationFacts:
    """Errors of calibration of a model, means over seeds; ``after`` a temperature that was fitted on validation."""

    ece: float | None
    brier: float | None
    log_loss: float | None
    temperature: float | None = None
    ece_after: float | None = None
    brier_after: float | None = None
    log_loss_after: float | None = None


@dataclass(frozen=True, kw_only=True)
class ModelFacts:
    """One model: its mean score with both intervals, and how far two of its own seeds decide alike (``kappa``)."""

    model: str
    n_seeds: int
    score: TwoLevelEstimate | None = None
    area: float | None = None
    kappa: float | None = None
    calibration: CalibrationFacts | None = None


@dataclass(frozen=True, kw_only=True)
class PairFacts:
    """Two models: the advantage of the first, p adjusted over all pairs of the task, and how far they agree.

    ``shared_errors`` is the Jaccard index of what they get wrong.
    """

    first: str
    second: str
    advantage: TwoLevelEstimate
    p_seeds: float | None
    p_examples: float | None
    verdict_seeds: str
    verdict_examples: str
    kappa: float | None = None
    shared_errors: float | None = None


@dataclass(frozen=True, kw_only=True)
class SlicePart:
    """The part of one slice in the advantage of the best model over another one, with the scores of both in it.

    ``place`` orders the slices of a descriptor, and is -1 where that is unknown. ``excess`` is what the slice has
    beyond its share of the examples; ``is_clear`` where its interval, which holds for all slices of the task at once,
    leaves out 0.
    """

    descriptor: str
    slice: str
    place: int
    n_examples: int
    share: float
    part: float
    excess: float
    low: float | None
    high: float | None
    is_clear: bool
    first: float | None
    second: float | None

    @property
    def expected(self) -> float:
        """The part that its share of the examples would give it."""
        return self.part - self.excess


@dataclass(frozen=True, kw_only=True)
class BestExplained:
    """Where the best model gains on another one, the slice with most beyond its share first."""

    first: str
    second: str
    advantage: float
    slices: tuple[SlicePart, ...]


@dataclass(frozen=True, kw_only=True)
class EnsembleScore:
    """One score of an ensemble beside that of the best single model; p adjusted over all ensembles of the task."""

    score: str
    value: float
    single: float
    advantage: TwoLevelEstimate
    p_seeds: float | None
    p_examples: float | None
    verdict_seeds: str
    verdict_examples: str


@dataclass(frozen=True, kw_only=True)
class EnsembleFacts:
    """Cells that were trained already, averaged; ``members`` with their weights."""

    name: str
    members: tuple[tuple[str, float], ...]
    scores: tuple[EnsembleScore, ...]


@dataclass(frozen=True, kw_only=True)
class ExampleFacts:
    """One example: its label, what the cells answer instead, and the share of the cells that does.

    ``margin`` is the mean probability of the answer less that of the label. ``about`` is what the data say of it.
    """

    id: int
    ends: tuple[int, ...]
    label: int
    answer: int
    agreement: float
    n_cells: int
    margin: float | None = None
    about: tuple[tuple[str, float], ...] = ()

    @property
    def name(self) -> str:
        """Its number, and those of its ends."""
        return f"{self.id} ({' to '.join(map(str, self.ends))})" if self.ends else str(self.id)


@dataclass(frozen=True, kw_only=True)
class ReliabilityFacts:
    """Bins of the confidence of a model, all seeds together: examples, mean confidence and accuracy with bounds."""

    n: tuple[int, ...]
    confidence: tuple[float, ...]
    accuracy: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ConfusionFacts:
    """Examples of each class (row) by the class that a model decides for (column), means over seeds."""

    model: str
    counts: tuple[tuple[float, ...], ...]

    @property
    def shares(self) -> list[list[float]]:
        """The share of each row's examples; 0 in rows without any."""
        return [[count / (sum(row) or 1.0) for count in row] for row in self.counts]


@dataclass(frozen=True, kw_only=True)
class RocFacts:
    """ROC curve of one model under one seed, by some of its points."""

    model: str
    seed: int
    area: float
    false_positive: tuple[float, ...]
    true_positive: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class RankFacts:
    """Ranks of true triples among their candidates, those of tails and of heads together; means over seeds.

    ``shares`` are those of ranks up to each of ``uppers`` and above the one before, and ``hits`` of all up to it. The
    last bin has no upper end, None, where some ranks are above all edges. ``reciprocal`` is the mean reciprocal rank.
    """

    model: str
    n_seeds: int
    n_ranks: int
    reciprocal: float
    uppers: tuple[int | None, ...]
    shares: tuple[float, ...]
    hits: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class TaskPredictions:
    """Record of what predictions say of one task; what is not defined for it is empty, and ``left_out`` says why.

    ``score`` names the mean over examples that is judged, and ``direction`` which of its values are better; ``metric``
    is that of the table. ``points`` are (true, predicted) of the best model, mean over seeds. ``missing`` names runs
    without predictions, and ``command`` makes the first of them.
    """

    task: str
    kind: str
    metric: str
    score: str
    direction: Direction
    alpha: float
    n_examples: int
    seeds: tuple[int, ...]
    has_one_split: bool
    best: str = ""
    models: tuple[ModelFacts, ...] = ()
    pairs: tuple[PairFacts, ...] = ()
    explained: tuple[BestExplained, ...] = ()
    ensembles: tuple[EnsembleFacts, ...] = ()
    reliability: ReliabilityFacts | None = None
    reliability_after: ReliabilityFacts | None = None
    n_unsolved: int | None = None
    n_divided: int | None = None
    unsolved: tuple[ExampleFacts, ...] = ()
    n_suspects: int | None = None
    suspects: tuple[ExampleFacts, ...] = ()
    confusion: ConfusionFacts | None = None
    points: tuple[tuple[float, float], ...] = ()
    curves: tuple[RocFacts, ...] = ()
    ranks: tuple[RankFacts, ...] = ()
    missing: tuple[str, ...] = ()
    command: str = ""
    left_out: tuple[str, ...] = ()

    def with_best(self) -> Iterator[PairFacts]:
        """Give the pairs of the best model with each other one; it is the first of them."""
        return (pair for pair in self.pairs if pair.first == self.best)
