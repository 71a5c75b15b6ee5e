"""Searches as an engine leaves them, made of plain numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gnz_track.store.searches import COMPLETE, SearchRecord, TrialRecord
from gnz_track.store.searches import SEARCH_RECORD_FAILED as FAILED
from gnz_track.types import Direction, TaskType

SEEDS = (1000, 1001)


def trial_of(number: int, score: float | None, **changed: Any) -> TrialRecord:
    """Return a trial whose two tuning seeds lie around its score."""
    facts: dict[str, Any] = {
        "hyperparameters": {"lr": 0.001 * (number + 1), "hidden_channels": 16 << number % 3, "norm": "it's 100 % é"},
        "seed_scores": {} if score is None else {SEEDS[0]: score - 0.01, SEEDS[1]: score + 0.01},
        "epochs": 20 + number,
        "seconds": 1.5,
        "cpu_seconds": 1.25,
        "reason": "Diverged: loss is nan" if score is None else "",
        "source": "default" if number == 0 else "sampler",
        "fingerprints": (f"{number:02}" * 16, f"{number + 1:02}" * 16),
        **changed,
    }
    state = FAILED if score is None else COMPLETE
    return TrialRecord(number=number, state=state, score=score, **facts)


SCORES = (0.6, 0.55, None, 0.7, 0.65)


def search_of(model: str = "GCN", *, scores: tuple[float | None, ...] = SCORES, **changed: Any) -> SearchRecord:
    """Return a search for the best of its scores."""
    trials = tuple(trial_of(number, score) for number, score in enumerate(scores))
    known = [trial for trial in trials if trial.score is not None]
    best = max(known, key=lambda trial: trial.score or 0.0, default=None)
    record = SearchRecord(
        name=f"quick cora {model}",
        suite="quick",
        sweep="first",
        task="cora",
        task_type=TaskType.node_cls,
        dataset="cora",
        dataset_digest="d" * 32,
        model=model,
        protocol="best-val@2",
        kind="per-task",
        metric="accuracy",
        direction=Direction.up,
        sampler="tpe",
        study_seed=7,
        tuning_seeds=SEEDS,
        space={"lr": {"low": 0.0001, "high": 0.1, "log": True}, "hidden_channels": [16, 32, 64], "norm": ["x"]},
        space_digest="abcdef0123456789",
        budget={"trials": 5},
        trials=trials,
        default=dict(trials[0].hyperparameters),
        best=dict(best.hyperparameters) if best else {},
        best_number=best.number if best else None,
        best_score=best.score if best else None,
        storage="journal gnz.log",
        versions={"optuna": "5.0.0", "gnz_track": "0.1"},
        borders=("hidden_channels is 16, the lowest",),
    )
    return replace(record, **changed)
