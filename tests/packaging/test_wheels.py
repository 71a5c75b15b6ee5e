"""Packages, built and installed as strangers do: with a compiler of the system, with one from an index, with none.

Everything else that the package needs is that of the environment of the tests.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

# The tools that build are fetched.
pytestmark = [pytest.mark.slow, pytest.mark.network]

COMPILERS = re.compile(r"(.*-)?(cc|c\+\+|cpp|gcc|g\+\+|clang|clang\+\+|c89|c99|tcc|zig|nvcc)(-[\d.]+)?")
OLDEST_C_LIBRARY = (2, 17)
SWEEP = """
import json, sys
from gnz_track import run_benchmark
from gnz_track.training.acceleration.library import describe_kernels
report = run_benchmark(
    tasks=["planted_partition"], models=["GCN", "GAT"], seeds=range(2), epochs=20, store="gnz.db", root="data",
    jobs=1, verbose=False,
)
rows = report.table.sort_values(["model", "seed"])
losses = {model: [list(map(float.hex, one["train/loss"])) for one in runs]
          for model, runs in report.histories["planted_partition"].items()}
print(json.dumps({"kernels": describe_kernels()[0], "scores": list(rows["score"]), "losses": losses}))
"""


class Place(NamedTuple):
    """An environment without gnz_track, and the programs that it finds."""

    python: Path
    path: str

    def call(self, *words: str, folder: Path, **settings: str) -> str:
        environment = {
            name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "CXX", "CC", "GNZ_KERNELS"}
        }
        environment |= {
            "PATH": f"{self.python.parent}{os.pathsep}{self.path}",
            "XDG_DATA_HOME": str(folder / "waiting"),
        }
        command = [str(self.python), *words]
        done = subprocess.run(
            command, cwd=folder, env={**environment, **settings}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{' '.join(words)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
        return done.stdout + done.stderr

    def train(self, folder: Path) -> dict[str, Any]:
        (folder / "sweep.py").write_text(SWEEP, encoding="utf-8")
        return json.loads(self.call("sweep.py", folder=folder).splitlines()[-1])


@pytest.fixture(scope="session")
def sources(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the files of the project that are in git, without anything that was built."""
    folder = tmp_path_factory.mktemp("sources")
    git = shutil.which("git") or "git"
    listed = subprocess.run([git, "ls-files", "-z"], cwd=root, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).is_file() and not name.startswith(("tests/", "docs/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(root / name, folder / name)
    return folder


@pytest.fixture(scope="session")
def without_compilers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return a search path with all programs of this one but compilers."""
    folder = tmp_path_factory.mktemp("programs")
    for place in reversed(os.environ["PATH"].split(os.pathsep)):
        for program in Path(place).iterdir() if Path(place).is_dir() else ():
            if not COMPILERS.fullmatch(program.name) and not program.name.startswith("python"):
                (folder / program.name).unlink(missing_ok=True)
                (folder / program.name).symlink_to(program)
    assert not any(shutil.which(name, path=str(folder)) for name in ("cc", "c++", "gcc", "g++", "clang"))
    return str(folder)


@pytest.fixture
def place(tmp_path: Path) -> Callable[[str], Place]:
    """Return a function that makes an environment with everything but gnz_track, and with a search path."""

    def make(path: str) -> Place:
        subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "environment")], check=True)
        python = tmp_path / "environment" / "bin" / "python"
        found = Place(python, path)
        ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
        theirs = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout
        own = found.call("-c", ask, folder=tmp_path).strip()
        (Path(own) / "all_else.pth").write_text(theirs, encoding="utf-8")
        return found

    return make


@pytest.fixture(scope="session")
def distributions(sources: Path, without_compilers: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a source distribution and the wheel of it, built without a compiler of the system."""
    folder = tmp_path_factory.mktemp("distributions")
    subprocess.run([sys.executable, "-m", "venv", str(folder / "tools")], check=True)
    tools = Place(folder / "tools" / "bin" / "python", without_compilers)
    tools.call("-m", "pip", "install", "--quiet", "build>=1.5,<2", folder=folder)
    tools.call("-m", "build", "--outdir", str(folder / "dist"), str(sources), folder=folder)
    return folder / "dist"


@pytest.fixture(scope="session")
def trained_here(tmp_path_factory: pytest.TempPathFactory, root: Path) -> dict[str, Any]:
    """Return what the sources of the tests compute, with the kernels that are theirs."""
    folder = tmp_path_factory.mktemp("here")
    here = Place(Path(sys.executable), os.environ["PATH"])
    (folder / "sweep.py").write_text(SWEEP, encoding="utf-8")
    return json.loads(here.call("sweep.py", folder=folder, PYTHONPATH=str(root)).splitlines()[-1])


def test_a_wheel_built_without_a_compiler_serves_old_systems_and_any_python(distributions: Path) -> None:
    [wheel] = distributions.glob("*.whl")
    assert re.fullmatch(r"gnz_track-.*-py3-none-manylinux_2_17_\w+\.whl", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        libraries = [archive.read(name) for name in archive.namelist() if name.endswith(".so")]
    assert len(libraries) >= 1
    for library in libraries:
        needed = {tuple(map(int, found.split(b"."))) for found in re.findall(rb"GLIBC_(\d+\.\d+)", library)}
        assert max(needed, default=OLDEST_C_LIBRARY) <= OLDEST_C_LIBRARY
        assert b"libstdc++" not in library, "systems need not have it"
        assert b"libpython" not in library


def test_its_kernels_compute_as_those_of_the_sources(
    distributions: Path, place: Callable[[str], Place], without_compilers: str, trained_here: Any, tmp_path: Path
) -> None:
    fresh = place(without_compilers)
    [wheel] = distributions.glob("*.whl")
    fresh.call("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel), folder=tmp_path)
    assert re.search(
        rf"kernels +\S+ +{re.escape(str(tmp_path))}", fresh.call("-m", "gnz_track", "doctor", folder=tmp_path)
    )
    found = fresh.train(tmp_path)
    assert found["kernels"] not in {"none", ""}
    if trained_here["kernels"] == "none":
        pytest.skip("the sources have no kernels here to compare with: make setup compiles them")
    assert found == trained_here


@pytest.mark.parametrize("has_compiler", [True, False])
def test_a_source_distribution_compiles_where_it_is_installed(
    distributions: Path,
    place: Callable[[str], Place],
    without_compilers: str,
    trained_here: Any,
    tmp_path: Path,
    *,
    has_compiler: bool,
) -> None:
    if has_compiler and shutil.which("c++") is None:
        pytest.skip("there is no compiler here")
    fresh = place(os.environ["PATH"] if has_compiler else without_compilers)
    [archive] = distributions.glob("*.tar.gz")
    fresh.call("-m", "pip", "install", "--quiet", "--no-deps", str(archive), folder=tmp_path)
    found = fresh.train(tmp_path)
    assert found["kernels"] != "none"
    if trained_here["kernels"] != "none":
        assert found["scores"] == trained_here["scores"]


def test_where_nothing_compiles_torch_alone_computes(
    distributions: Path, place: Callable[[str], Place], without_compilers: str, trained_here: Any, tmp_path: Path
) -> None:
    fresh = place(without_compilers)
    [archive] = distributions.glob("*.tar.gz")
    # A package index with what builds, and without ziglang.
    index = tmp_path / "index"
    fresh.call("-m", "pip", "download", "--quiet", "--dest", str(index), "hatchling>=1.33,<2", folder=tmp_path)
    words = ("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--find-links", str(index), str(archive))
    fresh.call(*words, folder=tmp_path, GNZ_KERNELS="off")
    assert "not compiled from these sources; Torch alone computes" in " ".join(
        fresh.call("-m", "gnz_track", "doctor", folder=tmp_path, COLUMNS="400").split()
    )
    found = fresh.train(tmp_path)
    assert found["kernels"] == "none"
    assert found["scores"] == pytest.approx(trained_here["scores"], abs=0.02)
    for model, runs in found["losses"].items():
        for mine, other in zip(runs, trained_here["losses"][model], strict=True):
            assert [float.fromhex(one) for one in mine] == pytest.approx(
                [float.fromhex(one) for one in other], rel=5e-3
            )
