"""A project folder with parameters of its own, data and runs of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

SMALL: dict[str, Any] = {
    "suite": "quick",
    "tasks": {"planted_partition": {"epochs": 3}, "les_miserables": {"epochs": 2}},
    "models": ["GCN", "MLP", "GIN"],
    "seeds": "0-1",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that writes ``params.yaml`` into the working folder: a small benchmark, with changes."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GNZ_MIRROR", raising=False)
    monkeypatch.setenv("GNZ_DATA", str(tmp_path / "home"))
    monkeypatch.setenv("GNZ_STORE", str(tmp_path / "gnz.db"))

    def write(**changes: Any) -> Path:
        Path("params.yaml").write_text(yaml.safe_dump({**SMALL, **changes}, sort_keys=False), "utf-8")
        return folder

    return write
