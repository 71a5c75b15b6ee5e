"""Searches that were really done, as ``tests/golden/train_searches.py`` left them, and what they are altered to."""

from __future__ import annotations

import functools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from gnz_track.records import from_plain
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.store.searches import SearchRecord
from gnz_track.types import tuned_name

GOLDEN = Path(__file__).with_name("golden") / "searches.json"


@functools.cache
def _golden() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(GOLDEN.read_text("utf-8"))
    return found


def searches() -> tuple[SearchRecord, ...]:
    """Return the searches: GAT, GCN and MLP on graph_families (mae, down) and planted_partition (accuracy, up)."""
    return tuple(from_plain(SearchRecord, one) for one in _golden()["searches"])


def search(task: str, model: str) -> SearchRecord:
    """Return one of them."""
    return next(one for one in searches() if (one.task, one.model) == (task, model))


def report() -> BenchmarkReport:
    """Return the report of the cells that were trained with the defaults and with the winners, searches included."""
    found = BenchmarkReport.from_json(json.dumps(_golden()["report"]))
    found.searches = searches()
    return found


def nested() -> BenchmarkReport:
    """Return the same cells as if each seed of one model had its own search: half of them for another winner."""
    found, one = report(), search("planted_partition", "GCN")
    table = found.table[
        (found.table["task"] == one.task) & found.table["model"].isin([one.model, tuned_name(one.model)])
    ]
    table = table.reset_index(drop=True)
    records = [replace(one, kind="nested", seed=seed, name=f"{one.name} s{seed}") for seed in range(6)]
    is_tuned = table["model"] == tuned_name(one.model)
    names = one.name + " s" + table["seed"].astype(str)
    found.table = table.assign(search=names.where(is_tuned, ""))
    found.searches = records
    return found
