"""Stores without runs, each an sqlite file of one's own."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from servers import free_port, mlflow_server

__all__ = ["free_port", "mlflow_server"]

sys.path.insert(0, str(Path(__file__).parent))

# As the writer sets them, for what the tests import of MLflow themselves.
os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an sqlite store without runs: creating its tables takes a second, copying it none."""
    from gnz_track.store.writer import open_store

    file = tmp_path_factory.mktemp("template") / "gnz.db"
    with open_store(str(file)):
        pass
    return file


@pytest.fixture
def database(empty_database: Path, tmp_path: Path) -> Path:
    """Return an sqlite store of one's own, without runs."""
    return Path(shutil.copy(empty_database, tmp_path / "gnz.db"))


@pytest.fixture
def store(database: Path) -> Iterator[Any]:
    """Return that store, open for writing."""
    from gnz_track.store.writer import open_store

    with open_store(str(database)) as opened:
        yield opened
