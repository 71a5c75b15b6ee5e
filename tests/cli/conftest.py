"""The command line called in this process, and as a process of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from gnz_track.cli import main

OWN_MODELS = Path(__file__).parents[1] / "runs"

# Records as a sweep leaves them: tests/store/cells.py.
sys.path.append(str(Path(__file__).parents[1] / "store"))


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a call printed, and how it ended."""

    code: int
    out: str
    err: str


def places(folder: Path, home: Path) -> dict[str, str]:
    """Return the variables that keep a call away from the data and the runs of whoever runs the tests."""
    return {
        "GNZ_DATA": str(home),
        "GNZ_STORE": str(folder / "runs" / "gnz.db"),
        "XDG_DATA_HOME": str(folder / "data"),
    }


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def gnz(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Callable[..., Answer]:
    """Return a function that calls ``gnz`` in this process, with a home and a store of its own and no mirror."""
    for name, value in places(tmp_path, home).items():
        monkeypatch.setenv(name, value)
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
def environment(home: Path, tmp_path: Path, root: Path) -> dict[str, str]:
    """Return the environment of a process of its own: no mirror, no colour asked for, own models within reach."""
    own = places(tmp_path, home)
    silent = {"GNZ_MIRROR", "FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS"}
    kept = {name: value for name, value in os.environ.items() if name not in silent}
    return {**kept, **own, "PYTHONPATH": f"{root}{os.pathsep}{OWN_MODELS}", "PYTHONUNBUFFERED": ""}


@pytest.fixture(scope="session")
def filled_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an sqlite store with a sweep of ten cells, one of them failed, and a second one that runs."""
    from cells import context_of, record, sweep_records

    from gnz_track.store.writer import open_store

    file = tmp_path_factory.mktemp("filled") / "gnz.db"
    with open_store(str(file)) as store:
        first, second = context_of("first"), context_of("second")
        run_id = store.open_sweep(first)
        for one in sweep_records(first):
            store.finish(one)
        store.close_sweep(run_id)
        store.open_sweep(second)
        store.finish(record(7, context=second))
    return file


@pytest.fixture
def store_file(filled_database: Path, tmp_path: Path) -> Path:
    """Return the file that ``GNZ_STORE`` names, filled so."""
    folder = tmp_path / "runs"
    folder.mkdir()
    return Path(shutil.copy(filled_database, folder / "gnz.db"))


@pytest.fixture
def gnz_process(environment: dict[str, str]) -> Callable[..., Answer]:
    """Return a function that calls ``python -m gnz_track`` with pipes."""

    def gnz_process(*arguments: str) -> Answer:
        command = [sys.executable, "-m", "gnz_track", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)
        return Answer(code=ended.returncode, out=ended.stdout, err=ended.stderr)

    return gnz_process
