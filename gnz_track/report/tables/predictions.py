"""Data frames of what stored predictions say, for programs: models, pairs, slices, ensembles and single examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from gnz_track.predictions.facts import TaskPredictions
from gnz_track.stats.predictions.two_levels import TwoLevelEstimate

__all__ = ["prediction_frames"]


def prediction_frames(predictions: Mapping[str, TaskPredictions]) -> dict[str, pd.DataFrame]:
    """Return name -> a table with a row for each model, pair, slice, ensemble, example or bin of ranks of each task."""
    tables = {
        "predictions_models": _models,
        "predictions_pairs": _pairs,
        "predictions_slices": _slices,
        "predictions_ensembles": _ensembles,
        "predictions_examples": _examples,
        "predictions_ranks": _ranks,
    }
    found = {
        name: pd.DataFrame([{"task": facts.task, **row} for facts in predictions.values() for row in write(facts)])
        for name, write in tables.items()
    }
    return {name: frame for name, frame in found.items() if len(frame)}


def _intervals(estimate: TwoLevelEstimate | None) -> dict[str, Any]:
    """Return both intervals of an estimate, nothing of none."""
    if estimate is None:
        return {}
    return {
        f"{end}_{level}": getattr(getattr(estimate, f"new_{level}"), end)
        for level in ("seeds", "examples")
        for end in ("low", "high")
    }


def _models(facts: TaskPredictions) -> Iterator[dict[str, Any]]:
    for one in facts.models:
        value = one.area if one.score is None else one.score.value
        numbers = {} if one.calibration is None else vars(one.calibration)
        row = {"model": one.model, "score": facts.score, "direction": str(facts.direction), "n_seeds": one.n_seeds}
        yield {**row, "value": value, **_intervals(one.score), "kappa_of_seeds": one.kappa, **numbers}


def _pairs(facts: TaskPredictions) -> Iterator[dict[str, Any]]:
    for one in facts.pairs:
        yield {
            "first": one.first,
            "second": one.second,
            "score": facts.score,
            "advantage": one.advantage.value,
            **_intervals(one.advantage),
            "p_adjusted_seeds": one.p_seeds,
            "p_adjusted_examples": one.p_examples,
            "verdict_seeds": one.verdict_seeds,
            "verdict_examples": one.verdict_examples,
            "kappa": one.kappa,
            "shared_errors": one.shared_errors,
        }


def _slices(facts: TaskPredictions) -> Iterator[dict[str, Any]]:
    for one in facts.explained:
        for part in one.slices:
            yield {"first": one.first, "second": one.second, "advantage": one.advantage} | {
                "score_of_first" if name == "first" else "score_of_second" if name == "second" else name: value
                for name, value in vars(part).items()
                if name != "place"
            }


def _ensembles(facts: TaskPredictions) -> Iterator[dict[str, Any]]:
    for one in facts.ensembles:
        members = "; ".join(f"{model} {weight:.4g}" for model, weight in one.members)
        for line in one.scores:
            numbers = {name: value for name, value in vars(line).items() if name != "advantage"}
            advantage = {"advantage": line.advantage.value, **_intervals(line.advantage)}
            yield {"ensemble": one.name, "members": members, **numbers, **advantage}


def _examples(facts: TaskPredictions) -> Iterator[dict[str, Any]]:
    for kind, listed in (("unsolved", facts.unsolved), ("suspected label", facts.suspects)):
        for one in listed:
            row = {"what": kind, "id": one.id, "ends": " ".join(map(str, one.ends)), "label": one.label}
            row |= {"answer": one.answer, "agreement": one.agreement, "n_cells": one.n_cells, "margin": one.margin}
            yield {**row, **dict(one.about)}


def _ranks(facts: TaskPredictions) -> Iterator[dict[str, Any]]:
    for one in facts.ranks:
        about = {"model": one.model, "n_seeds": one.n_seeds, "n_ranks": one.n_ranks, "reciprocal": one.reciprocal}
        for above, upper, share, hits in zip((0, *one.uppers), one.uppers, one.shares, one.hits, strict=False):
            yield {**about, "rank_above": above, "rank_up_to": upper, "share": share, "hits": hits}
