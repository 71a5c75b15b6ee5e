"""What one search leaves in the store: what was agreed, every trial that ended, and the winner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gnz_track.records import freeze_mappings
from gnz_track.types import Direction, TaskType

__all__ = ["SearchRecord", "TrialRecord"]

Value = int | float | str | bool
COMPLETE, FAILED, PRUNED = "complete", "failed", "pruned"


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    """One trial that has ended: ``state`` is complete, failed or pruned.

    ``score`` is the mean of ``seed_scores``, the validation score by tuning seed; None where the trial failed.
    ``reason`` says why it failed. ``epochs``, ``seconds`` and ``cpu_seconds`` are sums over its cells, which
    ``fingerprints`` name. ``source`` says where its values come from: the sampler, the default, or a past search.
    """

    number: int
    state: str
    score: float | None
    hyperparameters: Mapping[str, Value]
    seed_scores: Mapping[int, float] = field(default_factory=dict)
    epochs: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    reason: str = ""
    source: str = "sampler"
    fingerprints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_mappings(self, "hyperparameters", "seed_scores")


@dataclass(frozen=True, kw_only=True)
class SearchRecord:
    """One search: for the winner on all reporting seeds (kind ``per-task``) or on one (``nested``, with its ``seed``).

    ``space`` is the JSON-able form of the search space, ``budget`` the limits in trials and, where they were given,
    epochs or seconds. ``default`` is what trial 0 took, ``best`` the winner's values, empty where all trials failed.
    ``versions`` are those of the sampler's library and of this package; ``storage`` shows no password.
    """

    name: str
    suite: str
    sweep: str
    task: str
    task_type: TaskType
    dataset: str
    dataset_digest: str
    model: str
    protocol: str
    kind: str
    metric: str
    direction: Direction
    sampler: str
    study_seed: int
    tuning_seeds: tuple[int, ...]
    space: Mapping[str, object]
    space_digest: str
    budget: Mapping[str, float]
    trials: tuple[TrialRecord, ...]
    default: Mapping[str, Value] = field(default_factory=dict)
    best: Mapping[str, Value] = field(default_factory=dict)
    best_number: int | None = None
    best_score: float | None = None
    seed: int | None = None
    pruner: str = "none"
    storage: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    borders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        freeze_mappings(self, "space", "budget", "default", "best", "versions")
