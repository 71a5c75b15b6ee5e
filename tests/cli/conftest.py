"""The command line called in this process, and as a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gnz_track.cli import main

OWN_MODELS = Path(__file__).parents[1] / "runs"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a call printed, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def gnz(home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Return a function that calls ``gnz`` in this process, with a home of its own and no mirror."""
    monkeypatch.setenv("GNZ_DATA", str(home))
    monkeypatch.delenv("GNZ_MIRROR", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.syspath_prepend(OWN_MODELS)

    def gnz(*arguments: str) -> Answer:
        monkeypatch.setattr(sys, "argv", ["gnz", *arguments])
        capfd.readouterr()
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        printed = capfd.readouterr()
        assert isinstance(code, int)
        return Answer(code=code, out=printed.out, err=printed.err)

    return gnz


@pytest.fixture
def environment(home: Path, root: Path) -> dict[str, str]:
    """Return the environment of a process of its own: no mirror, no colour asked for, own models within reach."""
    silent = {"GNZ_MIRROR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"}
    kept = {name: value for name, value in os.environ.items() if name not in silent}
    return {**kept, "GNZ_DATA": str(home), "PYTHONPATH": f"{root}{os.pathsep}{OWN_MODELS}", "PYTHONUNBUFFERED": ""}


@pytest.fixture
def gnz_process(environment: dict[str, str]) -> Callable[..., Answer]:
    """Return a function that calls ``python -m gnz_track`` with pipes."""

    def gnz_process(*arguments: str) -> Answer:
        command = [sys.executable, "-m", "gnz_track", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)
        return Answer(code=ended.returncode, out=ended.stdout, err=ended.stderr)

    return gnz_process
