from __future__ import annotations

import doctest
import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import gnz_track
from gnz_track.registry import import_target

ROOT = Path(__file__).resolve().parents[1]
MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "gnz_track").rglob("*.py"))
    # What gnz init copies belongs to another project, and runs there.
    if path.stem != "__main__" and path.parent.name != "starter"
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
HEAVY = "{'torch', 'torch_geometric', 'mlflow', 'numpy', 'pandas', 'scipy', 'sklearn', 'optuna', 'matplotlib', 'ray'}"
HELP = "import sys; sys.argv = ['gnz', '--help']; from gnz_track.cli import main; main()"


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )


def test_import_is_cheap() -> None:
    found = run_python(f"import sys, gnz_track; print(sorted({HEAVY} & set(sys.modules)))")
    assert found.stdout.strip() == "[]"


def test_statistics_can_be_used_alone() -> None:
    every = "for one in pkgutil.walk_packages(stats.__path__, 'gnz_track.stats.'): importlib.import_module(one.name)"
    code = f"import importlib, pkgutil, sys; from gnz_track import stats\n{every}\n"
    foreign = {"torch", "torch_geometric", "mlflow", "optuna", "matplotlib", "sklearn", "sqlalchemy"}
    found = run_python(f"{code}print('numpy' in sys.modules, sorted({foreign} & set(sys.modules)))")
    # Something was imported, and none of these.
    assert found.stdout.strip() == "True []"


def test_help_is_cheap_and_names_the_command() -> None:
    at_exit = f"import atexit, sys; atexit.register(lambda: print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr))"
    found = run_python(f"{at_exit}; {HELP}")
    assert found.stderr.strip() == "[]"
    assert "gnz" in found.stdout


# All that a list or a mistaken word can do without; NumPy, which is there at once, is not among it.
SLOW = "{'torch', 'torch_geometric', 'mlflow', 'pandas', 'scipy', 'sklearn', 'optuna', 'matplotlib', 'ray'}"
CALLS = {
    "run --task coraa": "unknown task 'coraa'; did you mean 'cora'",
    "run --model GCM": "unknown model 'GCM'; did you mean 'GCN'",
    "run --protocol graphnets": "unknown protocol 'graphnets'",
    "run --suite quik": "unknown suite 'quik'",
    "run --category sozial": "category is 'sozial'",
    "run --task-type node": "task type is 'node'",
    "run --seeds x": "cannot read seeds 'x'",
    "run --executor x": "unknown executor 'x'",
    "run --jobs 0": "jobs is 0",
    "run --amp x": "amp is 'x'; allowed: bfloat16, float16",
    "tune --amp x": "amp is 'x'; allowed: bfloat16, float16",
    "run --keep x": "unknown files to keep 'x'",
    "run --keep-at-most x": "--keep-at-most is 'x'",
    "run --store xyz://a": "the store 'xyz://a' cannot be used",
    "tune --task coraa": "unknown task 'coraa'",
    "tune --model GCM": "unknown model 'GCM'",
    "recommend coraa": "unknown graph 'coraa'",
    "data get coraa": "unknown dataset 'coraa'",
    "tasks cora": "citation",
    "tasks coraa": "unknown task 'coraa'",
    "models": "GraphSAGE",
    "protocols best-val": "best_validation",
    "data list": "planted_partition",
}
CALL_ALL = f"""
import contextlib, io, json, sys
from gnz_track.cli import main
found = []
for call in json.loads(sys.argv[1]):
    sys.argv = ["gnz", *call.split()]
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit:
            pass
    found.append([out.getvalue(), sorted({SLOW} & set(sys.modules))])
print(json.dumps(found))
"""


def test_words_of_a_call_are_checked_before_anything_slow_is_imported() -> None:
    call = [sys.executable, "-c", CALL_ALL, json.dumps(list(CALLS))]
    done = subprocess.run(call, cwd=ROOT, capture_output=True, text=True, timeout=100, check=True)
    for words, expected, (said, imported) in zip(CALLS, CALLS.values(), json.loads(done.stdout), strict=True):
        assert expected in said, words
        assert imported == [], words


def test_command_of_the_project_can_be_imported() -> None:
    assert callable(import_target(PROJECT["scripts"]["gnz"]))


def test_every_public_name_resolves() -> None:
    assert len(set(gnz_track.__all__)) == len(gnz_track.__all__)
    for name in gnz_track.__all__:
        assert getattr(gnz_track, name) is not None, name
    assert dir(gnz_track) == sorted(gnz_track.__all__)


def test_public_names_are_those_of_their_rooms() -> None:
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.models.adapters import multi_task_factory
    from gnz_track.runs.run_one import run_one
    from gnz_track.types import Task

    assert (gnz_track.Task, gnz_track.TASKS, gnz_track.run_one) == (Task, TASKS, run_one)
    # Its name in the published package, which is not advertised.
    assert gnz_track._multi_task_factory is multi_task_factory  # noqa: SLF001
    assert "_multi_task_factory" not in gnz_track.__all__


def test_names_without_torch_resolve_without_it() -> None:
    names = ("Cell", "CellResult", "Direction", "GnzError", "MODELS", "Protocol", "TASKS", "Task", "register_model")
    code = f"import gnz_track, sys; [getattr(gnz_track, name) for name in {names}]; print('torch' in sys.modules)"
    assert run_python(code).stdout.strip() == "False"


def test_every_public_name_stands_once_in_the_table() -> None:
    listed = [name for names in gnz_track._PUBLIC.values() for name in names]  # noqa: SLF001
    assert sorted(gnz_track.__all__) == sorted(["__version__", *listed])


def test_star_import_brings_all_names() -> None:
    found: dict[str, object] = {}
    exec("from gnz_track import *", found)  # noqa: S102  (there is no other way to write it)
    assert set(gnz_track.__all__) <= found.keys()


def test_package_runs_as_a_module() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "gnz_track", "--help"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "Usage: gnz" in ended.stdout


def test_name_that_is_not_public_is_refused() -> None:
    with pytest.raises(AttributeError, match="module 'gnz_track' has no attribute 'no_such_name'"):
        _ = gnz_track.no_such_name


@pytest.mark.parametrize("module", MODULES)
def test_examples_in_docstrings_hold(module: str) -> None:
    if module == "gnz_track.runs.executors.ray.driver":
        pytest.importorskip("ray", reason="ray is an extra: pip install 'gnz-track[ray]'")
    found = doctest.testmod(importlib.import_module(module), optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_words_show_examples() -> None:
    registry = importlib.import_module("gnz_track.registry")
    assert sum(len(test.examples) for test in doctest.DocTestFinder().find(registry)) >= 5


def test_every_dependency_is_pinned_within_its_bounds() -> None:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) for pin in pins), "exact versions without local tags only"
    versions = {canonicalize_name(pin.name): str(pin.specifier).removeprefix("==") for pin in pins}
    for dependency in _needed_by_tests():
        version = versions.get(canonicalize_name(dependency.name))
        assert version, f"{dependency.name} is not pinned"
        assert dependency.specifier.contains(version), f"{dependency} does not allow {version}"


def _needed_by_tests() -> list[Requirement]:
    """Return what the package and its tests need; extras of our own stand for what they hold."""
    extras = PROJECT["optional-dependencies"]
    wanted = [Requirement(text) for text in PROJECT["dependencies"] + extras["test"]]
    named = [name for item in wanted if item.name == PROJECT["name"] for name in item.extras]
    assert named, "the tests need the extras that they try"
    own = [Requirement(text) for name in named for text in extras[name]]
    return [item for item in [*wanted, *own] if item.name != PROJECT["name"]]


def tracked_texts() -> dict[str, str]:
    """Return what git tracks, or will once it is added; binary files left out."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    texts = {}
    for name in filter(None, names):
        content = (ROOT / name).read_bytes() if (ROOT / name).is_file() else b""
        if b"\0" not in content:
            texts[name] = content.decode("utf-8")
    return texts


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a clone: git cannot list the tracked files")
    return tracked_texts()


MACHINE_PATH = re.compile(r"(?<![\w.])/(work|tmp/w|root)\b")
# Top-level domains and names that RFC 2606 keeps for examples belong to nobody.
ADDRESS = re.compile(
    r"[\w.+-]+@(?!(?:[\w-]+\.)*example\.)[\w-]+(?:\.[\w-]+)*\.(?!example\b|test\b|invalid\b)[a-z]{2,}\b"
)


# In parts, so that this file does not hold what it looks for.
@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        (MACHINE_PATH, ("see /", "work/main/x.py")),
        (MACHINE_PATH, ("'/", "root/.cache'")),
        (MACHINE_PATH, ("in /", "tmp/w/v")),
        (ADDRESS, ("ask jo.doe", "@uni-x.edu")),
    ],
)
def test_pattern_finds_what_it_should(pattern: re.Pattern[str], parts: tuple[str, ...]) -> None:
    assert pattern.search("".join(parts))
    assert not any(pattern.search(part) for part in parts)


@pytest.mark.parametrize(
    "text", ["gnz_track/work/x", "framework/a", "../work/x", "@app.command()", "default@2", "x @ y.T"]
)
def test_pattern_leaves_other_text_alone(text: str) -> None:
    assert not MACHINE_PATH.search(text)
    assert not ADDRESS.search(text)


@pytest.mark.parametrize("pattern", [MACHINE_PATH, ADDRESS], ids=["machine path", "e-mail address"])
def test_tracked_files_name_no_machine_and_nobody(pattern: re.Pattern[str], texts: dict[str, str]) -> None:
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]
    assert not found, "\n" + "\n".join(found)


FOLDERS = ("gnz_track/", "tests/", "benchmarks/", "docs/", "docker/", "examples/", ".ci/")
FILES = re.compile(r"[\w-]+\.(md|toml)|constraints\.txt|Makefile|LICENSE")


def named_paths(text: str) -> set[str]:
    """Return the paths of this project that a page names, in code marks or as targets of links."""
    marked = [word for code in re.findall(r"`([^`\n]+)`", text) for word in code.split()]
    linked = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text) if "://" not in target]
    candidates = {word.partition(":")[0].rstrip(".,;:") for word in marked} | set(filter(None, linked))
    return {word for word in candidates if word.startswith(FOLDERS) or FILES.fullmatch(word) or word in linked}


def is_there(path: str) -> bool:
    """Tell whether a path exists; ``<name>`` in it is any name, ``file.py:NAME`` one that a file binds."""
    place, _, name = path.partition(":")
    found = list(ROOT.glob(re.sub(r"<[^>]+>", "*", place.rstrip("/"))))
    binds = re.compile(rf"^(def |class )?{name}\b", re.MULTILINE)
    return any(not name or binds.search(file.read_text("utf-8")) for file in found)


def test_named_paths_are_recognised() -> None:
    page = "`gnz_track/<room>/`, `make test`, `a/b`, `nets.py`, [log](CHANGELOG.md#top), [site](https://x.example/a.md)"
    assert named_paths(page) == {"gnz_track/<room>/", "CHANGELOG.md"}
    assert is_there("gnz_track/types.py")
    assert not is_there("gnz_track/no_such_room/<category>.py")
    assert is_there("gnz_track/types.py:Cell")
    assert not is_there("gnz_track/types.py:NoSuchName")


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "README.md"])
def test_paths_that_a_page_names_exist(page: str) -> None:
    named = named_paths((ROOT / page).read_text("utf-8"))
    assert named, f"{page} names no path; has the pattern gone blind?"
    missing = sorted(path for path in named if not is_there(path))
    assert not missing, f"{page} names paths that are gone: {missing}"
