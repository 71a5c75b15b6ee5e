"""The audit of a dataset with training: what separability adds to the record, from the scores of a sweep."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from gnz_track.datasets.perturbations import ORIGINAL
from gnz_track.quality.separability import SeparabilitySettings, compare_pairs, smallest_p
from gnz_track.quality.verdict import (
    CORRELATION,
    OF_FEATURES,
    OF_STRUCTURE,
    decide,
    find_informativeness,
    grade,
    grade_performance,
    score_performance,
)
from gnz_track.store.audits import AuditRecord, PairRecord, SampleRecord
from gnz_track.training.metrics import METRICS
from gnz_track.types import Direction, TaskType, perturbed_name

__all__ = ["TRAINED_MODES", "gather_scores", "judge_dataset", "usual_test"]

# As published: the graphs as they are, and every version that takes one mode away.
TRAINED_MODES = (ORIGINAL, *OF_STRUCTURE, *OF_FEATURES)
# A second metric has a say of its own where there is one; the published ones are accuracy and AUROC.
SECOND = ("auc", "average_precision", "f1_macro", "mse", "accuracy")
FEWEST_MODES = 3
# Of the published study, and half of it.
PUBLISHED_SCORES, ENOUGH_SCORES = 100, 50


# Scores by seed: ``[metric][mode][model]``; the metric of the task comes first.
ScoresByMode = Mapping[str, Mapping[str, Mapping[str, tuple[float, ...]]]]


def gather_scores(table: pd.DataFrame, task: str, others: Mapping[str, Mapping[str, float]]) -> ScoresByMode:
    """Return the scores of a task and of its perturbed versions from a results table; failed cells have none.

    They are by seed, as ``[metric][mode][model]``, the metric of the task first.

    Parameters
    ----------
    table
        A results table.
    task
        Name of the task.
    others
        Run -> all of its scores by metric; a metric counts where every run has it.
    """
    names = {task: ORIGINAL, **{perturbed_name(task, mode): mode for mode in TRAINED_MODES}}
    rows = table[table["task"].isin(list(names)) & (table["status"] == "finished") & table["score"].notna()]
    metric = str(rows["metric"].iloc[0]) if len(rows) else ""
    whole = [{**others.get(str(row.run_id), {}), metric: float(row.score)} for row in rows.itertuples()]
    shared = set.intersection(*(set(scores) for scores in whole)) if whole else set()
    metrics = [metric, *[name for name in SECOND if name in shared and name != metric][:1]] if whole else []
    found: dict[str, dict[str, dict[str, list[float]]]] = {name: {} for name in metrics}
    for row, scores in zip(rows.sort_index().itertuples(), whole, strict=True):
        for name in metrics:
            of_mode = found[name].setdefault(names[str(row.task)], {})
            of_mode.setdefault(str(row.model), []).append(scores[name])
    return {
        name: {mode: {model: tuple(scores) for model, scores in models.items()} for mode, models in modes.items()}
        for name, modes in found.items()
    }


def usual_test(task_type: str) -> str:
    """Return the test of a task type: of numbers to predict a bootstrap of means, of all else KS."""
    return "bootstrap" if task_type in {TaskType.graph_reg, TaskType.node_reg, TaskType.edge_reg} else "ks"


def judge_dataset(
    record: AuditRecord, scores: ScoresByMode, settings: SeparabilitySettings | None = None, *, sweep: str = ""
) -> AuditRecord:
    """Return the record with separability, informativeness, performance and the verdict that follows.

    On each version the model with the best mean stands for all; the family of tests is all pairs of versions of this
    dataset under one metric.

    Parameters
    ----------
    record
        Audit of the dataset.
    scores
        Scores of its versions, as of :func:`gather_scores`.
    settings
        Options of the tests.
    sweep
        Name of the sweep that the scores are of.
    """
    settings = settings or SeparabilitySettings(test=usual_test(record.task_type))
    samples = [sample for metric, modes in scores.items() for sample in _best_samples(metric, modes)]
    pairs = {metric: _compare_modes(metric, samples, settings) for metric in scores}
    metric = next(iter(scores), "")
    own = [sample for sample in samples if sample.metric == metric]
    note = _why_unknown(own, settings)
    structure, features = (0, 0) if note else find_informativeness(pairs)
    score = None if note else score_performance(structure, features)
    performance = "" if score is None else grade_performance(score)
    correlation = _correlate(record, own)
    decision, rule = decide(performance=performance, diversity=record.structure.grade)
    missing = _note_missing_modes(scores.get(metric, {}))
    return replace(
        record,
        decision=str(decision),
        rule=rule,
        performance=performance,
        score=score,
        informative={} if note else {"structure": structure, "features": features},
        test=settings.test,
        alpha=settings.alpha,
        n_permutations=settings.n_permutations,
        direction=str(METRICS.get(metric).direction) if metric else "",
        samples=tuple(samples),
        pairs=tuple(itertools.chain.from_iterable(pairs.values())),
        correlation=correlation,
        correlation_grade="" if correlation is None else grade(correlation, CORRELATION),
        sweep=sweep,
        notes=(
            *record.notes,
            *([note] if note else _warn_of_few(samples)),
            *missing,
        ),
    )


def _best_samples(metric: str, modes: Mapping[str, Mapping[str, tuple[float, ...]]]) -> list[SampleRecord]:
    better = max if METRICS.get(metric).direction is Direction.up else min
    found = []
    for mode in (mode for mode in TRAINED_MODES if modes.get(mode)):
        model = better(modes[mode], key=lambda name, models=modes[mode]: float(np.mean(models[name])))  # type: ignore[misc]
        found.append(SampleRecord(mode=mode, model=model, metric=metric, scores=modes[mode][model]))
    return found


def _compare_modes(metric: str, samples: Sequence[SampleRecord], settings: SeparabilitySettings) -> list[PairRecord]:
    own = replace(settings, direction=METRICS.get(metric).direction)
    own_samples = {sample.mode: sample.scores for sample in samples if sample.metric == metric}
    return compare_pairs(own_samples, own, metric=metric)


def _why_unknown(own: Sequence[SampleRecord], settings: SeparabilitySettings) -> str:
    """Return why the performance cannot be rated; nothing where it can."""
    if not any(sample.mode == ORIGINAL for sample in own) or len(own) < 2:
        return "no model was trained on both the graphs as they are and a perturbed version: separability is unknown"
    n_pairs = len(own) * (len(own) - 1) // 2
    fewest = min(len(sample.scores) for sample in own)
    least = smallest_p(fewest, fewest, settings, n_hypotheses=n_pairs)
    # Asked of a bootstrap too: of so few scores its intervals are far too narrow, and of one they are a point.
    if least < settings.alpha:
        return ""
    enough = next(
        (n for n in range(fewest, 200) if smallest_p(n, n, settings, n_hypotheses=n_pairs) < settings.alpha), 0
    )
    remedy = f"--seeds 0-{enough - 1} can" if enough else "more permutations are needed"
    return (
        f"with {fewest} scores each, no pair of {n_pairs} can be told apart at {settings.alpha:g} "
        f"(the smallest adjusted p is {least:.3g}): {remedy}"
    )


def _warn_of_few(samples: Sequence[SampleRecord]) -> list[str]:
    fewest = min((len(sample.scores) for sample in samples), default=PUBLISHED_SCORES)
    few = f"{fewest} scores on each version: what is not separable may still differ"
    return [f"{few}; the published study took {PUBLISHED_SCORES}"] if fewest < ENOUGH_SCORES else []


def _note_missing_modes(modes: Mapping[str, object]) -> list[str]:
    absent = [mode for mode in TRAINED_MODES if not modes.get(mode)]
    return [f"no score on {', '.join(absent)}: nothing was asked of these versions"] if absent and modes else []


def _correlate(record: AuditRecord, samples: Sequence[SampleRecord]) -> float | None:
    """Return Pearson's correlation of mean complementarity and mean score over versions, scores turned upwards."""
    gammas = {mode.name: mode.means[0] for mode in record.modes}
    pairs = [(gammas.get(sample.mode), sample.mean) for sample in samples]
    known = np.array([(gamma, mean) for gamma, mean in pairs if gamma is not None], dtype=np.float64)
    if len(known) < FEWEST_MODES or not np.ptp(known, axis=0).all():
        return None
    sign = 1.0 if METRICS.get(samples[0].metric).direction is Direction.up else -1.0
    gammas_known, means = known.T
    matrix: NDArray[np.float64] = np.atleast_2d(np.corrcoef(gammas_known, means))
    return sign * float(matrix[0, 1])
