"""A report as one text of JSON, and back: the table before any statistic, so that others can ask other questions."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from gnz_track.errors import BadValue
from gnz_track.predictions.facts import TaskPredictions
from gnz_track.records import from_plain, to_json
from gnz_track.report.joining import NotMerged
from gnz_track.report.sources import ReportParts
from gnz_track.stats.comparison.choices import Choices, choose
from gnz_track.store.results_table import COLUMNS, REAL, TIME, WHOLE, make_table
from gnz_track.store.searches import SearchRecord

__all__ = ["SCHEMA", "read_report", "write_report"]

SCHEMA = "gnz-report/1"
# Choices that are pairs, where they are not pairs by task.
PAIRS = ("split_sizes", "bounds")


def write_report(parts: ReportParts) -> str:
    """Return the JSON; equal reports give equal texts."""
    payload = {
        "schema": SCHEMA,
        "seeds": list(parts.seeds or ()),
        "config": _plain(parts.config),
        "choices": _plain({item.name: getattr(parts.choices, item.name) for item in dataclasses.fields(Choices)}),
        "table": {name: _column(parts.table[name], kind) for name, (_, _, kind) in COLUMNS.items()},
        "series": {key: _plain(parts.series[key]) for key in sorted(parts.series)},
        "not_merged": [dataclasses.asdict(item) for item in parts.not_merged],
    }
    if parts.searches:
        payload["searches"] = [json.loads(to_json(search)) for search in parts.searches]
    if parts.predictions:
        payload["predictions"] = [json.loads(to_json(facts)) for facts in parts.predictions.values()]
    return json.dumps(payload, indent=1, allow_nan=False) + "\n"


def read_report(source: str | Path) -> ReportParts:
    """Read what :func:`write_report` wrote, from a file or from the text itself."""
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    shown = "a text" if is_text else str(source)
    try:
        payload = json.loads(str(source) if is_text else Path(source).read_text("utf-8"))
        if not isinstance(payload, dict) or payload.get("schema") != SCHEMA:
            found = payload.get("schema") if isinstance(payload, dict) else type(payload).__name__
            raise BadValue("the schema of the report", found, SCHEMA)
        return ReportParts(
            table=make_table(payload["table"]),
            seeds=tuple(payload["seeds"]),
            config=payload["config"],
            series={key: _series(value) for key, value in payload["series"].items()},
            choices=choose(None, _choices(payload["choices"])),
            not_merged=tuple(NotMerged(**item) for item in payload["not_merged"]),
            searches=tuple(from_plain(SearchRecord, item) for item in payload.get("searches", ())),
            predictions={item["task"]: from_plain(TaskPredictions, item) for item in payload.get("predictions", ())},
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadValue("report", shown, f"the JSON that to_json wrote ({reason})") from error


def _column(values: pd.Series, kind: str) -> list[Any]:
    if kind == TIME:
        return [None if pd.isna(value) else int(value.value // 1_000_000) for value in values]
    if kind == WHOLE:
        return [None if pd.isna(value) else int(value) for value in values]
    if kind == REAL:
        return [None if pd.isna(value) else _plain(float(value)) for value in values]
    return [str(value) for value in values]


def _series(series: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    return {name: tuple(float(value) for value in values) for name, values in series.items()}


def _choices(given: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _pair(value) if name in PAIRS else value for name, value in given.items()}


def _pair(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _pair(item) for name, item in value.items()}
    return tuple(value) if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    """Return a value as JSON has it; numbers that JSON does not know are words that ``float`` reads."""
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list | set | frozenset | range):
        return [_plain(item) for item in value]
    return str(value)
