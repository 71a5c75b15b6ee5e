"""The stage ``report``: all results compared. It reads files only, so that any clone writes the same report."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from gnz_track.errors import NothingToCompare
from gnz_track.pipeline.choosing import CURVES, REPORT, RESULTS, SEARCHES, choose, require
from gnz_track.pipeline.params import Params
from gnz_track.pipeline.published import publish
from gnz_track.pipeline.quality import load_audits
from gnz_track.pipeline.tuning import load_searches
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.bundle import Bundle, write_bundle
from gnz_track.runs.compatibility import Skipped, list_skipped
from gnz_track.stats.choices import Choices
from gnz_track.store.curve_table import load_curves
from gnz_track.store.curves import straighten
from gnz_track.store.results import load_table

__all__ = ["report_all"]


def report_all(params: Params) -> tuple[BenchmarkReport, Bundle]:
    """Write the report of all tasks from the files of their stages, and what DVC shows and compares of it."""
    # A slip in these is told before anything is read.
    choices = Choices(
        alpha=params.alpha,
        margin=params.margin,
        posthoc=params.posthoc,
        test=params.test,
        split_sizes=params.split_sizes,
    )
    chosen = choose(params)
    _remove_others(params)
    report = _read_report(params, list_skipped(chosen.tasks.values(), chosen.models, chosen.protocol))
    report.choices = choices
    bundle = write_bundle(report, REPORT)
    publish(report)
    return report, bundle


def _remove_others(params: Params) -> None:
    """Remove the files of tasks that the parameters name no longer: a clone would not have them."""
    for folder in (RESULTS, CURVES, SEARCHES):
        for file in folder.glob("*.*"):
            if file.stem not in params.tasks:
                file.unlink()


def _read_report(params: Params, skipped: Sequence[Skipped]) -> BenchmarkReport:
    left_out = [(item.task, item.model, item.reason) for item in skipped]
    # A task that no model serves has no results: all of its pairs are among those left out.
    trained = [name for name in params.tasks if sum(task == name for task, *_ in left_out) < len(params.models)]
    if not trained:
        raise NothingToCompare("no model of params.yaml serves any of its tasks")
    tables = [load_table(require(RESULTS / f"{name}.parquet", f"run@{name}")) for name in trained]
    files = [require(CURVES / f"{name}.parquet", f"run@{name}") for name in trained]
    curves = {
        key: {part: straighten(curve) for part, curve in series.items()}
        for file in files
        for key, series in load_curves(file).items()
    }
    config = {
        "name": params.suite,
        "tasks": list(params.tasks),
        "models": list(params.models),
        "protocol": params.protocol,
        "left_out": left_out,
    }
    report = BenchmarkReport(pd.concat(tables, ignore_index=True), seeds=params.seeds, config=config, series=curves)
    report.quality = load_audits(params, trained)
    report.searches = [record for name in trained for record in load_searches(params, name)]
    return report
