"""Tables of what there is, plain in a pipe, and the state of this machine."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cells import context_of

from gnz_track import __version__
from gnz_track.cli.catalogue import TABLES
from gnz_track.cli.terminal.output import print_failures, print_rows
from gnz_track.datasets.catalogue import SUITES, TASKS, iter_tasks
from gnz_track.datasets.rows.suites import SECONDS
from gnz_track.models.catalogue import MODELS
from gnz_track.store.writer import open_store
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Optimiser, Protocol

Gnz = Callable[..., Any]


def first_column(out: str) -> list[str]:
    """Return the first words of a table, which ends at an empty line."""
    return [line.split()[0] for line in out.partition("\n\n")[0].splitlines()[2:]]


def test_tasks_are_listed(gnz: Gnz) -> None:
    answer = gnz("tasks")
    assert (answer.code, answer.err) == (0, "")
    assert first_column(answer.out) == TASKS.names()
    (cora,) = (line for line in answer.out.splitlines() if line.startswith("cora "))
    for word in ("social", "node_cls", "100", "classic", "unknown", "MIT", "nodes=2708", "classes=7"):
        assert word in cora


def test_a_suite_tells_downloads_and_times(gnz: Gnz) -> None:
    answer = gnz("tasks", "--suite", "ten")
    for name in SUITES.get("ten").tasks:
        (line,) = (line for line in answer.out.splitlines() if line.startswith(f"{name} "))
        assert re.search(r" \d+\.\d [KM]iB ", line), "what is to be fetched"
        assert f" {SECONDS[name]:.1f} " in line
    assert f"on {len(SUITES.get('ten').tasks)} of these tasks takes about" in answer.out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--suite", "quick"), set(SUITES.get("quick").tasks)),
        (("--category", "biology"), {task.name for task in iter_tasks("biology")}),
        (("--task-type", "graph_reg"), {task.name for task in iter_tasks(task_type="graph_reg")}),
        (("--category", "social", "--task-type", "link_pred", "--suite", "classic"), {"cora_link_pred"}),
        (("--category", "custom"), set()),
    ],
)
def test_tasks_are_filtered(words: tuple[str, ...], expected: set[str], gnz: Gnz) -> None:
    answer = gnz("tasks", *words)
    assert answer.code == 0
    assert set(first_column(answer.out)) == expected
    assert answer.out.startswith(f"{len(expected)} of {len(TASKS)} tasks")


def test_models_are_listed_and_filtered(gnz: Gnz) -> None:
    assert first_column(gnz("models").out) == MODELS.names()
    without = set(first_column(gnz("models", "--task-type", "link_pred").out))
    assert set(MODELS.names()) - without == {"GIN", "LabelPropagation", "NearestNeighbours", "RingGNN", "ThreeWLGNN"}


def test_protocols_are_listed_with_their_versions(gnz: Gnz) -> None:
    assert first_column(gnz("protocols").out) == [row.label for row in PROTOCOLS.rows()]


@pytest.mark.parametrize("row", PROTOCOLS.rows(), ids=lambda row: row.label)
def test_all_of_a_protocol_is_shown(row: Protocol, gnz: Gnz) -> None:
    answer = gnz("protocols", row.name)
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{row.label}: {row.description}\n")
    lines = [re.split(r"\s{2,}", line.strip()) for line in answer.out.splitlines()]
    told = {line[0]: line[1:] for line in lines}
    numbers = ("patience", "hidden_channels", "epochs", "hours", "budget", "tolerance", "code_channels")
    for name in (*numbers, "selection", "splits", "features", "encoding", "scoring"):
        value = getattr(row, name)
        if value:
            assert told[name][0].replace(",", "") == (f"{value:g}" if isinstance(value, float) else str(value))
    assert (told["epochs"] == ["those of each task"]) is (row.epochs == 0)
    head = next(line for line in lines if line[0] == "task type")
    for task_type, optimiser in row.optimisers.items():
        shown = dict(zip(head, [task_type, *told[task_type]], strict=True))
        assert shown["lr"] == f"{optimiser.lr:g}"
        assert shown["schedule"] == optimiser.schedule
        assert shown["min_lr"] == (f"{optimiser.min_lr:g}" if optimiser.min_lr else "-")
    for given in (*row.by_model.items(), *[("all that have it", row.options)] * bool(row.options)):
        assert told[given[0]] == [" ".join(f"{name}={value}" for name, value in given[1].items())]
    for dataset, override in row.by_dataset.items():
        (shown,) = told[dataset]
        pairs = [pair for part in (override.optimiser, override.options) for pair in part.items()]
        pairs += [pair for part in override.by_model.values() for pair in part.items()]
        pairs += [("hours", f"{override.hours:g}")] * bool(override.hours)
        assert all(f"{name}={value}" in shown for name, value in pairs)
        assert all(model in shown for model in override.by_model)
        assert (override.encoding or "") in shown
    assert (
        f"trains {sum(task.task_type in row.task_types for task in TASKS.rows())} of {len(TASKS)} tasks" in answer.out
    )
    assert f"gnz run --protocol {row.name}\n" in answer.out
    assert ("gnz models --protocol" in answer.out) is (row.budget > 0)


def test_no_field_of_a_protocol_is_left_out(gnz: Gnz) -> None:
    out = gnz("protocols", "dwivedi-500k-pe").out
    for field in {field.name for field in dataclasses.fields(Protocol)} - TABLES:
        assert re.search(rf"^{field} ", out, flags=re.MULTILINE), field
    for field in dataclasses.fields(Optimiser):
        assert f" {field.name}" in out


def test_protocol_is_found_by_its_label_and_told_when_there_is_none(gnz: Gnz) -> None:
    assert gnz("protocols", "best-val@1").out == gnz("protocols", "best-val").out
    answer = gnz("protocols", "best-vall")
    assert answer.code == 2
    assert "did you mean 'best-val'" in answer.err


def test_pipe_gets_plain_whole_lines(gnz_process: Gnz) -> None:
    answer = gnz_process("tasks")
    assert (answer.code, answer.err) == (0, "")
    assert "\x1b" not in answer.out
    assert first_column(answer.out) == TASKS.names()
    assert "…" not in answer.out


def test_nothing_is_cut_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    long = "/".join(["folder"] * 200)
    print_rows("long", ("a", ">b"), [(long, "x" * 300), ("[bold]y[/bold]", "[/]")])
    _, header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["a", "b"]
    assert first.split() == [long, "x" * 300]
    assert second.split() == ["[bold]y[/bold]", "[/]"]


def test_failures_of_none_print_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    print_failures([])
    assert capsys.readouterr() == ("", "")


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell with pipes")
@pytest.mark.parametrize("words", [("tasks",), ("models",), ("run", "--help")])
def test_reader_that_leaves_early_is_no_error(words: tuple[str, ...], environment: dict[str, str]) -> None:
    command = [sys.executable, "-m", "gnz_track", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        assert process.stdout is not None
        # Gone before the first line, which is worse than `head -1`.
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""


# This machine -------------------------------------------------------------------------------------------------------

METADATA = """Metadata-Version: 2.4
Name: gnz-track
Version: 0.1.0.dev0
Requires-Dist: packaging>=1
Requires-Dist: torch>=2000
Requires-Dist: no-such-package-anywhere>=1
Requires-Dist: pytest>=1; extra == "test"
Requires-Dist: no-such-extra-either>=1; extra == "ray"
"""


@pytest.fixture
def doctor(gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], tuple[int, dict[str, str]]]:
    """Return a function to the exit code and the lines of ``gnz doctor``, with what the distribution says it needs."""

    def doctor(metadata: str) -> tuple[int, dict[str, str]]:
        (tmp_path / "site" / "gnz_track-0.1.0.dist-info").mkdir(parents=True)
        (tmp_path / "site" / "gnz_track-0.1.0.dist-info" / "METADATA").write_text(metadata, encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path / "site")
        answer = gnz("doctor")
        assert answer.err == ""
        return answer.code, {line.split()[0]: line for line in answer.out.splitlines() if line.strip()}

    return doctor


def test_doctor_tells_what_is_missing(doctor: Callable[[str], tuple[int, dict[str, str]]]) -> None:
    code, lines = doctor(METADATA)
    assert code == 1
    assert lines["packaging"].split()[2] == ">=1"
    assert "outside of >=2000" in lines["torch"]
    assert "missing" in lines["no-such-package-anywhere"]
    assert "extra test" in lines["pytest"]
    assert "not installed" in lines["no-such-extra-either"]
    assert "extra ray" in lines["no-such-extra-either"]


def test_doctor_is_content_where_nothing_is_missing(
    doctor: Callable[[str], tuple[int, dict[str, str]]], home: Path
) -> None:
    code, lines = doctor("".join(line for line in METADATA.splitlines(keepends=True) if "anywhere" not in line))
    assert code == 0
    assert sys.version.split()[0] in lines["python"]
    assert str(home) in lines["data"]
    assert "writable" in lines["data"]
    assert "GNZ_MIRROR" in lines["mirror"]
    assert __version__ in lines["gnz_track"]
    assert "empty" in lines["store"]


def test_version_is_told(gnz: Gnz) -> None:
    assert gnz("--version").out == f"gnz_track {__version__}\n"


def test_doctor_says_that_a_home_is_no_folder(gnz: Gnz, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNZ_DATA", "/dev/null/x")
    answer = gnz("doctor")
    (line,) = (line for line in answer.out.splitlines() if line.startswith("data home"))
    assert "not writable" in line


def _make_foreign_schema(folder: Path) -> dict[str, str]:
    with open_store(str(folder / "new.db")) as store:
        store.open_sweep(context_of("first"))
    # MLflow looks at each file once.
    shutil.copy(folder / "new.db", folder / "old.db")
    with contextlib.closing(sqlite3.connect(folder / "old.db")) as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'unknown'")
        connection.commit()
    return {"GNZ_STORE": str(folder / "old.db")}


def _make_garbage(folder: Path) -> dict[str, str]:
    (folder / "gnz.db").write_bytes(b"no database " * 1000)
    return {"GNZ_STORE": str(folder / "gnz.db")}


def _make_file_of_folder(folder: Path) -> dict[str, str]:
    (folder / "share").mkdir()
    (folder / "share" / "gnz_track").touch()
    return {"GNZ_STORE": "", "XDG_DATA_HOME": str(folder / "share")}


# What is made, the row that tells of it, and what that row says.
UNUSABLE: dict[str, tuple[Callable[[Path], dict[str, str]], str, str]] = {
    "a folder": (lambda folder: {"GNZ_STORE": str(folder)}, "store", "it is a folder"),
    "no scheme": (lambda _: {"GNZ_STORE": "mysql://me:secret@host/x"}, "store", "'mysql'"),
    "garbage": (_make_garbage, "store", "not a database"),
    "another version": (_make_foreign_schema, "store", "another version of MLflow"),
    "a file, store": (_make_file_of_folder, "store", "is no folder"),
    "a file, spool": (_make_file_of_folder, "spool", "not writable"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_doctor_ends_with_code_1_where_something_cannot_be_used(
    name: str, gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, what, said = UNUSABLE[name]
    for variable, value in make(tmp_path).items():
        monkeypatch.setenv(variable, value)
    answer = gnz("doctor")
    assert answer.code == 1
    (line,) = (line for line in answer.out.splitlines() if line.startswith(f"{what} "))
    assert said in line
    assert "not usable" in line or "not writable" in line
    assert "secret" not in answer.out


def test_doctor_looks_at_the_store_that_it_is_told(gnz: Gnz, tmp_path: Path) -> None:
    answer = gnz("doctor", "--store", str(tmp_path / "other.db"))
    (line,) = (line for line in answer.out.splitlines() if line.startswith("store "))
    assert answer.code == 0
    assert "empty" in line
    assert "other.db" in line
    assert not (tmp_path / "other.db").exists()


def test_widths_for_a_budget_are_printed(gnz: Gnz, tmp_path: Path) -> None:
    words = ("models", "--task", "graph_families", "--home", str(tmp_path))
    lines = gnz(*words, "--budget", "100000").out.splitlines()
    assert lines[0] == "widths on graph_families for 100,000 parameters"
    n_rows = next(place for place, line in enumerate(lines) if line.startswith("left out: "))
    rows, told = {line.split()[0]: line.split()[1:] for line in lines[2:n_rows]}, " ".join(lines[n_rows:])
    # Each within the tolerance, or with a reason below.
    for model, cells in rows.items():
        assert abs(int(cells[1].replace(",", "")) - 100_000) <= 5_000 or model in told, model
    assert rows["DeepGCN"] == ["145", "99,452", "-0.55%"]
    assert "GatedGCN-E, DeepGAT-E, DeepGraphSAGE-E, GPS-E: edge_features is True; allowed: False" in told
    assert "GatedGCN-E" not in rows
    # Sentences are made for a terminal of usual width.
    assert max(map(len, lines)) <= 100


def test_widths_need_a_task_and_a_budget(gnz: Gnz) -> None:
    task = ("--task", "graph_families")
    wrong = [("--budget", "100000"), task, ("--protocol", "dwivedi-100k"), ("--protocol", "graphnetz", *task)]
    for words in (*wrong, *(("--budget", budget, *task) for budget in ("0", "-5"))):
        found = gnz("models", *words)
        assert found.code == 2
        assert found.out == ""
        assert "gnz models --budget 100000 --task graph_families" in found.err


WATCHED = """
import sys
from gnz_track.cli import main
try:
    main()
finally:
    print(sorted({"torch", "pandas", "mlflow"} & {*sys.modules}))
"""


def test_lists_of_tasks_and_protocols_wait_for_no_torch() -> None:
    for words in (("tasks", "--suite", "quick"), ("models",), ("protocols",)):
        done = subprocess.run([sys.executable, "-c", WATCHED, *words], capture_output=True, text=True, check=True)
        assert done.stdout.splitlines()[-1] == "[]", words
