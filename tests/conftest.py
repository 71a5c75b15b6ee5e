"""What all tests share: one thread each, and the mirror of raw public data."""

from __future__ import annotations

import atexit
import os
import runpy
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from servers import postgresql, postgresql_database
from stored_sweep import stored_sweep

__all__ = ["postgresql", "postgresql_database", "stored_sweep"]

# Before anything imports NumPy or Torch: two workers with two threads each fight over two cores.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# A machine that is busy makes no test wrong.
hypothesis.settings.register_profile("gnz", deadline=None)
hypothesis.settings.load_profile("gnz")

# Runs of tests, and of what they start, are never among the user's own.
os.environ.pop("GNZ_STORE", None)
os.environ["XDG_DATA_HOME"] = tempfile.mkdtemp(prefix="gnz-tests-")
atexit.register(shutil.rmtree, os.environ["XDG_DATA_HOME"], ignore_errors=True)
# Nor are their data, of which those that a user has added would be known to every test; workers share what is frozen.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["GNZ_DATA"] = tempfile.mkdtemp(prefix="gnz-tests-data-")
    atexit.register(shutil.rmtree, os.environ["GNZ_DATA"], ignore_errors=True)

ROOT = Path(__file__).resolve().parents[1]
# Kernels are compiled when the package is installed; sources that have changed since are what is tested.
_library = runpy.run_path(str(ROOT / "gnz_track/training/acceleration/library.py"))
if not _library["is_current"]():
    _library["compile_kernels"]()
MIRROR = Path(os.environ.get("GNZ_MIRROR") or ROOT.parent / "shared" / "data")
NO_MIRROR = f"no mirror of raw data: {MIRROR} is not a folder, and GNZ_MIRROR names no other"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests marked ``mirror`` where there is none."""
    if MIRROR.is_dir():
        return
    for item in items:
        if item.get_closest_marker("mirror"):
            item.add_marker(pytest.mark.skip(reason=NO_MIRROR))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: a packed file tells the second of its packing, and workers must agree on names."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def _registries() -> Iterator[None]:
    """Take out what a test has registered: the next one may be any other."""
    from gnz_track.datasets.catalogue import DATASETS, TASKS
    from gnz_track.models.catalogue import MODELS

    known = [(registry, set(registry.names())) for registry in (MODELS, TASKS, DATASETS)]
    yield
    for registry, names in known:
        for name in set(registry.names()) - names:
            registry.remove(name)


@pytest.fixture
def svg_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have reports without PDFs: fonts are cut for each, which takes longer than all else of a report."""
    from gnz_track.report import bundle

    monkeypatch.setattr(bundle, "FIGURE_FORMATS", ("svg",))


@pytest.fixture(scope="session")
def root() -> Path:
    """Return the folder of the project."""
    return ROOT


@pytest.fixture(scope="session")
def mirror() -> Path:
    """Return the folder of raw public data, in the layout of PyG's raw folders."""
    if not MIRROR.is_dir():
        pytest.skip(NO_MIRROR)
    return MIRROR
