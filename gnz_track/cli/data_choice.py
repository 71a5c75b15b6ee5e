"""Datasets that a command names: by themselves, and by suites, categories and tasks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from gnz_track.errors import BadValue
from gnz_track.kinds import Category
from gnz_track.types import DatasetRow

__all__ = ["Choice", "choose_rows"]


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Names as they were typed, each text one or several by commas; ``names`` are datasets."""

    names: tuple[str, ...] = ()
    suite: str = ""
    category: str = ""
    task: tuple[str, ...] = ()


def choose_rows(choice: Choice) -> tuple[list[DatasetRow], list[DatasetRow]]:
    """Return the rows asked for, each once, and the retired ones that were met but not asked for by name."""
    from gnz_track.datasets.catalogue import DATASETS, SUITES, TASKS

    of_suites = [name for suite in _split([choice.suite]) for name in SUITES.get(suite).tasks]
    tasks = [TASKS.get(name) for name in [*of_suites, *_split(choice.task)]]
    named = [DATASETS.get(name) for name in [*_split(choice.names), *(task.dataset for task in tasks)]]
    areas = {Category(name) for name in _split([choice.category])}
    of_areas = [row for row in DATASETS.rows() if row.category in areas]
    retired = [row for row in of_areas if row.retired and row not in named]
    rows = {row.name: row for row in [*named, *of_areas] if row not in retired}
    if not rows and not retired:
        allowed = "datasets by name, --suite, --category or --task"
        raise BadValue("what to get", "nothing", allowed, command="gnz data get --suite ten, or gnz data list")
    return list(rows.values()), retired


def _split(texts: Iterable[str]) -> list[str]:
    return [part.strip() for text in texts for part in text.split(",") if part.strip()]
