"""Record of one search in the store: its terms, every trial that ended, and the winner."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings, to_json
from gnz_track.types import Direction, TaskType

__all__ = [
    "COMPLETE",
    "FAILED",
    "PRUNED",
    "SearchRecord",
    "TrialRecord",
    "agreed_to_json",
    "rising_best",
    "search_from_json",
    "search_to_json",
]

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
    ``sweep`` is the one that trained its winner, nothing where none has yet.
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

    @property
    def key(self) -> str:
        """Key that tells this search from all others, 32 characters; written again, it is the same run."""
        text = json.dumps([self.suite, self.sweep, self.name])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def title(self) -> str:
        """Title for readers: ``cora GCN``, with the seed where it is for one alone."""
        return f"{self.task} {self.model}" + (f" s{self.seed}" if self.seed is not None else "")

    @property
    def complete(self) -> tuple[TrialRecord, ...]:
        """The trials that went to their end with a score, by number; the winner is one of them."""
        ended = (trial for trial in self.trials if trial.state == COMPLETE and trial.score is not None)
        return tuple(sorted(ended, key=lambda trial: trial.number))

    @property
    def n_failed(self) -> int:
        """Number of failed trials."""
        return sum(trial.state == FAILED for trial in self.trials)

    @property
    def cost(self) -> dict[str, float]:
        """Cost of all trials together, those that failed included."""
        totals = {name: sum(getattr(trial, name) for trial in self.trials) for name in ("seconds", "cpu_seconds")}
        n_epochs = sum(trial.epochs for trial in self.trials)
        return {"trials": len(self.trials), "failed_trials": self.n_failed, "epochs": n_epochs, **totals}


def rising_best(record: SearchRecord) -> Iterator[tuple[int, float]]:
    """Yield (number, score) of each trial that was better than all before it."""
    sign = 1.0 if record.direction is Direction.up else -1.0
    best: float | None = None
    for trial in record.complete:
        if trial.score is not None and (best is None or sign * trial.score > sign * best):
            best = trial.score
            yield trial.number, trial.score


def search_to_json(record: SearchRecord) -> str:
    """Write a search, trials included, as one line."""
    return to_json(record)


def agreed_to_json(record: SearchRecord) -> str:
    """Write all of a search but its trials, with what they cost, for people to read."""
    fields = json.loads(to_json(dataclasses.replace(record, trials=())))
    del fields["trials"]
    return json.dumps({**fields, "cost": record.cost}, indent=1, sort_keys=True, allow_nan=False) + "\n"


def search_from_json(text: str, *, trials: tuple[TrialRecord, ...] = ()) -> SearchRecord:
    """Read what :func:`search_to_json` wrote, or :func:`agreed_to_json` and its ``trials``."""
    fields: dict[str, Any] = json.loads(text)
    fields.pop("cost", None)
    _refuse_unknown("search", fields, SearchRecord)
    fields["task_type"], fields["direction"] = TaskType(fields["task_type"]), Direction(fields["direction"])
    fields["trials"] = tuple(_read_trial(trial) for trial in fields.get("trials", ())) or trials
    fields |= {name: tuple(fields.get(name, ())) for name in ("tuning_seeds", "borders")}
    return SearchRecord(**fields)


def _read_trial(fields: dict[str, Any]) -> TrialRecord:
    _refuse_unknown("trial", fields, TrialRecord)
    seed_scores = {int(seed): score for seed, score in fields["seed_scores"].items()}
    return TrialRecord(**{**fields, "seed_scores": seed_scores, "fingerprints": tuple(fields["fingerprints"])})


def _refuse_unknown(what: str, fields: Mapping[str, Any], kind: type[SearchRecord | TrialRecord]) -> None:
    unknown = set(fields) - {item.name for item in dataclasses.fields(kind)}
    if unknown:
        raise BadValue(f"record of a {what}", ", ".join(sorted(unknown)), "the fields of this version's records")
