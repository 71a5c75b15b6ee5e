"""``gnz data get`` and ``gnz data list``: what is fetched, shown, kept and told."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from file_servers import FileServer, Request, give, run_server

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.frozen import open_frozen
from gnz_track.types import Category, DatasetRow, Download, Task, TaskType

Gnz = Callable[..., Any]
EDGES = "0 1\n1 2\n2 0\n"


@pytest.fixture
def server() -> Iterator[FileServer]:
    with run_server() as running:
        yield running


def read_edges(folder: Path) -> Any:
    """Read an edge list as a loader of a catalogue row does."""
    import torch
    from torch_geometric.data import Data

    pairs = [[int(n) for n in line.split()] for line in (folder / "edges.txt").read_text().splitlines()]
    return Data(edge_index=torch.tensor(pairs).t().contiguous(), num_nodes=3, y=torch.tensor([0, 1, 0]))


@pytest.fixture
def add_row(server: FileServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., DatasetRow]]:
    """Return a function that adds a dataset of the server to the catalogue until the test ends."""
    monkeypatch.setitem(sys.modules, "rows_of_a_test", sys.modules[__name__])
    with contextlib.ExitStack() as added:

        def add(name: str, **others: Any) -> DatasetRow:
            content = EDGES.encode()
            address = f"{server.address}/{name}/edges.txt"
            server.routes[f"/{name}/edges.txt"] = give(content)
            facts: dict[str, Any] = {
                "category": Category.custom,
                "task_types": (TaskType.node_cls,),
                "loader": "rows_of_a_test:read_edges",
                "source": "made up in a test",
                "licence": "CC0",
                "citation": "none",
                "raw": f"{name}/raw",
                "expected": {"n_nodes": 3, "n_edges": 3},
                "origins": (Download(url=address, n_bytes=len(content)),),
            }
            row = DATASETS.add(name, DatasetRow(name=name, **{**facts, **others}))
            added.callback(DATASETS.remove, name)
            return row

        yield add


def _line(text: str, name: str) -> str:
    (line,) = (line for line in text.splitlines() if line.startswith(f"{name} "))
    return line


def test_datasets_are_fetched_and_frozen_and_then_left_alone(
    gnz: Gnz, home: Path, server: FileServer, add_row: Callable[..., DatasetRow]
) -> None:
    for name in ("first", "second"):
        add_row(name)
    answer = gnz("data", "get", "first", "second")
    assert answer.code == 0
    assert "to fetch: 24 B" in answer.out
    announced = _line(answer.out.partition("frozen")[0], "first")
    assert " ".join(announced.split()) == "first 12 B CC0 made up in a test"
    assert sorted(answer.err.splitlines()) == [f"{name}: 12 B of 12 B of edges.txt" for name in ("first", "second")]
    for name in ("first", "second"):
        dataset = open_frozen(home / name, verify=True)
        assert dataset.digest in _line(answer.out.partition("frozen")[2], name)
    asked = len(server.seen)
    again = gnz("data", "get", "first", "second", "--mirror", server.address)
    assert (again.code, again.err) == (0, "")
    assert "to fetch" not in again.out
    assert _line(again.out, "first") == _line(answer.out.partition("frozen")[2], "first")
    assert len(server.seen) == asked


def test_failures_are_told_at_the_end_and_the_others_are_done(
    gnz: Gnz, home: Path, server: FileServer, add_row: Callable[..., DatasetRow]
) -> None:
    add_row("good")
    add_row("absent")
    add_row("odd", expected={"n_nodes": 4})
    add_row("gone", retired="its host is gone")
    add_row("extra", extra="no_such_library")
    del server.routes["/absent/edges.txt"]
    answer = gnz("data", "get", "absent", "odd", "gone", "extra", "good")
    assert answer.code == 1
    failed = [line for line in answer.err.splitlines() if line.startswith("failed: ")]
    assert len(failed) == 4
    for said in (
        "'absent' cannot be fetched. Wanted: edges.txt.",
        "404 Not Found",
        "n_nodes is 3, the catalogue says 4",
        "'gone' is retired: its host is gone",
        "pip install 'gnz-track[no_such_library]'",
    ):
        assert said in answer.err
    assert _line(answer.out.partition("frozen")[2], "good")
    frozen = {path.name for path in home.iterdir()}
    assert frozen == {"raw", "archives", "good"}


def test_raw_only_freezes_nothing(gnz: Gnz, home: Path, add_row: Callable[..., DatasetRow]) -> None:
    add_row("first")
    answer = gnz("data", "get", "first", "les_miserables", "--raw-only")
    assert answer.code == 0
    assert (home / "raw/first/raw/edges.txt").read_text() == EDGES
    assert _line(answer.out.partition("raw files")[2], "first").endswith(str(home / "raw/first/raw"))
    assert "generated" in _line(answer.out, "les_miserables")
    assert {path.name for path in home.iterdir()} == {"raw", "archives"}


def test_a_mirror_may_be_an_address(
    gnz: Gnz, home: Path, server: FileServer, add_row: Callable[..., DatasetRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    add_row("first", origins=(Download(url=f"{server.address}/none/edges.txt"),))
    server.routes["/mirror/first/raw/edges.txt"] = give(EDGES.encode())
    missing = gnz("data", "get", "first")
    assert missing.code == 1
    answer = gnz("data", "get", "first", "--mirror", f"{server.address}/mirror/")
    assert answer.code == 0
    assert open_frozen(home / "first").n_nodes == 3
    monkeypatch.setenv("GNZ_MIRROR", f"{server.address}/mirror")
    elsewhere = home.with_name("elsewhere")
    assert gnz("data", "get", "first", "--home", str(elsewhere)).code == 0
    assert (elsewhere / "raw/first/raw/edges.txt").is_file()
    wrong = gnz("data", "get", "first", "--mirror", "nowhere")
    assert (wrong.code, "the mirror is 'nowhere'" in wrong.err) == (2, True)


def test_training_fetches_nothing(gnz: Gnz, server: FileServer, add_row: Callable[..., DatasetRow]) -> None:
    add_row("first")
    TASKS.add("first", Task("first", TaskType.node_cls))
    try:
        answer = gnz("run", "--task", "first", "--models", "GCN", "--seeds", "0")
    finally:
        TASKS.remove("first")
    assert answer.code == 2
    assert "Fetch with: gnz data get first" in answer.err
    assert server.seen == []


def test_suites_categories_and_tasks_name_datasets(gnz: Gnz, add_row: Callable[..., DatasetRow]) -> None:
    add_row("first")
    add_row("gone", retired="its host is gone")
    by_area = gnz("data", "get", "--category", "custom")
    assert by_area.code == 0
    assert _line(by_area.out.partition("frozen")[2], "first")
    assert "note: gone is left out, as it is retired: its host is gone" in by_area.err
    by_task = gnz("data", "get", "--task", "les_miserables,grid_mines", "--task", "random_tsp")
    assert by_task.code == 0
    names = [line.split()[0] for line in by_task.out.splitlines()[2:]]
    assert names == ["les_miserables", "grid_mines", "random_tsp"]
    assert gnz("data", "get", "--suite", "quick", "--raw-only").code == 0
    for wrong in (("--suite", "tenn"), ("--task", "coraa"), ("--category", "biologie"), ("firsst",)):
        assert gnz("data", "get", *wrong).code == 2


def test_a_corrupted_dataset_is_frozen_anew(gnz: Gnz, home: Path) -> None:
    assert gnz("data", "get", "les_miserables").code == 0
    digest = open_frozen(home / "les_miserables").digest
    (home / "les_miserables" / "card.json").write_text("{}")
    answer = gnz("data", "get", "les_miserables")
    assert answer.code == 0
    assert "note: les_miserables is frozen anew" in answer.err
    assert open_frozen(home / "les_miserables", verify=True).digest == digest


SCRIPT = """
import signal
# As from a terminal: what was begun in the background of a shell ignores an interrupt, and so do its children.
signal.signal(signal.SIGINT, signal.default_int_handler)
import json, sys
from gnz_track.cli import main
from gnz_track.datasets.catalogue import DATASETS
from gnz_track.types import Download
from gnz_track.types import Category, DatasetRow, TaskType
address = sys.argv.pop()
for name in ("small", "large"):
    DATASETS.add(name, DatasetRow(name=name, category=Category.custom, task_types=(TaskType.node_cls,), loader="",
        source="", licence="", citation="", raw=f"{name}/raw", origins=(Download(url=f"{address}/{name}"),)))
main()
"""


def test_interrupted_it_keeps_what_has_arrived(server: FileServer, environment: dict[str, str], home: Path) -> None:
    began, go_on = threading.Event(), threading.Event()

    def slowly(request: Request) -> None:
        request.send_response(200)
        request.send_header("Content-Length", "2000000")
        request.end_headers()
        request.wfile.write(b"x" * 1_000_000)
        request.wfile.flush()
        began.set()
        go_on.wait(20)
        request.wfile.write(b"x" * 1_000_000)

    server.routes["/small"], server.routes["/large"] = give(b"small"), slowly
    command = [
        sys.executable,
        "-c",
        SCRIPT,
        "data",
        "get",
        "small",
        "large",
        "--raw-only",
        "--jobs",
        "1",
        server.address,
    ]
    process = subprocess.Popen(command, env=environment, stdout=-1, stderr=-1, text=True)
    assert began.wait(60)
    process.send_signal(signal.SIGINT)
    threading.Timer(3, go_on.set).start()
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "1 of 2 datasets are in" in errors
    assert "the same command goes on from there" in errors
    assert "Traceback" not in errors
    assert _line(out.partition("raw files")[2], "small")
    (part,) = (home / "archives").glob("*.part")
    assert 0 < part.stat().st_size < 2_000_000


def test_list_tells_what_is_here(gnz: Gnz, add_row: Callable[..., DatasetRow]) -> None:
    add_row("first")
    add_row("raw_here")
    add_row("gone", retired="its host is gone")
    add_row("extra", extra="no_such_library", origins=())
    add_row("mirrored", origins=())
    assert gnz("data", "get", "raw_here", "--raw-only").code == 0
    assert gnz("data", "get", "les_miserables").code == 0
    answer = gnz("data", "list")
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith(f"{len(DATASETS)} of {len(DATASETS)} datasets")
    states = {
        "first": "12 B  to fetch",
        "raw_here": "12 B  raw files here",
        "gone": "-  retired",
        "extra": "unknown  needs no_such_library: pip install 'gnz-track[no_such_library]'",
        "mirrored": "unknown  from a mirror only",
        "les_miserables": "-  frozen",
        "random_tsp": "-  generated",
    }
    for name, state in states.items():
        assert _line(answer.out, name).rstrip().endswith(state)
    for row in DATASETS.rows():
        assert row.licence in _line(answer.out, row.name)
    few = gnz("data", "list", "--category", "custom", "--task-type", "node_cls")
    assert few.out.startswith(f"5 of {len(DATASETS)} datasets")
    assert gnz("data", "list", "--category", "biologie").code == 2


def test_listing_imports_no_torch(environment: dict[str, str]) -> None:
    script = "import sys, json; from gnz_track.cli import app; app(['data', 'list'], standalone_mode=False); "
    script += "print(json.dumps([name for name in ('torch', 'numpy', 'mlflow') if name in sys.modules]))"
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert json.loads(ended.stdout.splitlines()[-1]) == []
