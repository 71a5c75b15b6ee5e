"""Freezing in one line, for all tests of this room."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from gnz_track.datasets.frozen import FrozenDataset, freeze
from gnz_track.types import Category, DatasetRow, TaskType

ROW = DatasetRow(
    name="made_up",
    category=Category.custom,
    task_types=(TaskType.node_cls,),
    loader="",
    source="made up in a test",
    licence="none",
    citation="none",
)


@pytest.fixture(scope="session")
def row() -> DatasetRow:
    return ROW


@pytest.fixture(scope="session")
def frozen_from(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., FrozenDataset]:
    """Return a function that freezes graphs in a new folder."""
    home = tmp_path_factory.mktemp("frozen")
    numbers = itertools.count()

    def frozen(graphs: Any, **options: Any) -> FrozenDataset:
        return freeze(graphs, home / str(next(numbers)), row=ROW, **options)

    return frozen
