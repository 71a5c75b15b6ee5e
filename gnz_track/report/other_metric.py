"""Reports by another metric than that of the tasks."""

from __future__ import annotations

import logging

import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.store.past_runs import score_by
from gnz_track.training.metrics import METRICS

__all__ = ["by_metric"]

LOG = logging.getLogger(__name__)


def by_metric(report: BenchmarkReport, metric: str) -> BenchmarkReport:
    """Return a report of the same runs by another metric, which training or ``gnz rescore`` has computed.

    Cells that have no such score are left out and named; curves stay those of training.
    """
    row = METRICS.get(metric)
    if not report.addresses:
        raise BadValue("report by another metric", "one of a table without a store", "one of the runs of a store")
    table = report.table
    for address in report.addresses:
        found = score_by(address, report.table, row)
        table = found if table is report.table else table.assign(score=table["score"].fillna(found["score"]))
    is_lacking = (table["status"] == "finished") & table["score"].isna()
    command = f"gnz rescore --metric {metric}"
    if not (table["status"].eq("finished") & ~is_lacking).any():
        raise BadValue("metric of a report", metric, "one that the runs have", command=command)
    if is_lacking.any():
        tasks = ", ".join(dict.fromkeys(table["task"][is_lacking]))
        LOG.warning("%d cells of %s have no %s and are left out. Try: %s", is_lacking.sum(), tasks, metric, command)
    kept = table[~is_lacking & table["task"].isin(set(table["task"][~is_lacking & table["score"].notna()]))]
    other = BenchmarkReport(
        pd.DataFrame(kept.reset_index(drop=True)),
        seeds=report.seeds,
        config={**report.config, "metric": metric},
        series=report._series,  # noqa: SLF001
        address=report.addresses,
        not_merged=report.not_merged,
    )
    other.choices = report.choices
    return other
