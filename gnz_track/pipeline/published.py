"""Files that DVC shows and compares of a report: ``metrics.json`` for ``dvc metrics``, tables for ``dvc plots``."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.figures.learning_curves import choose_series
from gnz_track.stats.comparison.comparison import Comparison, Verdict
from gnz_track.stats.estimates.intervals import mean_curve

__all__ = ["METRICS", "PLOTS", "publish"]

METRICS, PLOTS = Path("metrics.json"), Path("plots")


def publish(report: BenchmarkReport) -> None:
    """Write the metrics and the tables of plots of a report, in place of those that were there."""
    METRICS.write_text(json.dumps(metrics_of(report.comparison), indent=2) + "\n", encoding="utf-8")
    ranks = report.comparison.across.ranks
    places = [] if ranks is None else [(name, ranks.mean_ranks[ranks.models.index(name)]) for name in ranks.order]
    _write_table(PLOTS / "ranks.csv", ("model", "mean_rank"), places)
    _write_table(PLOTS / "curves.csv", ("task", "series", "model", "epoch", "mean"), _mean_curves(report))


def metrics_of(comparison: Comparison) -> dict[str, Any]:
    """Return what a comparison says as numbers by name: cells, verdicts, mean ranks, and means with intervals."""
    ranks = comparison.across.ranks
    return {
        "cells": {
            "finished": comparison.n_finished,
            "failed": comparison.n_failed,
            "missing": comparison.n_missing,
        },
        "pairs": {str(verdict): comparison.count(verdict) for verdict in Verdict},
        "mean_rank": {} if ranks is None else dict(zip(ranks.models, ranks.mean_ranks, strict=True)),
        "mean": {
            task.task: {cell.model: cell.mean for cell in task.cells if cell.mean is not None}
            for task in comparison.tasks
        },
        "half_width": {
            task.task: {
                cell.model: (cell.interval.high - cell.interval.low) / 2
                for cell in task.cells
                if cell.interval.low is not None and cell.interval.high is not None
            }
            for task in comparison.tasks
        },
    }


def _mean_curves(report: BenchmarkReport) -> Iterable[tuple[Any, ...]]:
    """Yield (task, series, model, epoch, mean over seeds) of the series that a report draws."""
    for task, models in report.histories.items():
        names = sorted({name for seeds in models.values() for series in seeds for name in series})
        if not names:
            continue
        chosen = choose_series(names)
        for model, seeds in models.items():
            curve = mean_curve([series.get(chosen, ()) for series in seeds])
            for epoch, mean in zip(curve.epochs, curve.means, strict=True):
                if mean is not None:
                    yield task, chosen, model, epoch, mean


def _write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)
