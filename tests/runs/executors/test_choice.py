"""Which executor is chosen, and that all give results and tell of the same events."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import own_nets
import pytest

from gnz_track.errors import BadValue, UnknownName
from gnz_track.runs.executors.choice import Crew, check_crew, choose_executor
from gnz_track.runs.executors.events import Event, Started, Tell, ignore
from gnz_track.runs.run_one import run_one
from gnz_track.types import Cell, CellResult


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", None])
def test_jobs_that_cannot_be_are_refused(jobs: Any) -> None:
    with pytest.raises(BadValue, match=f"jobs is {jobs!r}; allowed: a whole number from 1 upwards.* --jobs 2"):
        choose_executor(jobs=jobs)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan")])
def test_timeouts_that_cannot_be_are_refused(timeout: float) -> None:
    with pytest.raises(BadValue, match=r"timeout is .*; allowed: seconds, more than 0.* --timeout 300"):
        choose_executor(timeout=timeout)


@pytest.mark.parametrize(
    ("crew", "model", "is_here"),
    [
        ({}, "GCN", True),
        ({}, own_nets.Plain, False),
        ({"executor": "inline"}, own_nets.Plain, True),
    ],
)
def test_one_job_of_our_own_models_without_a_time_limit_needs_no_worker(
    crew: dict[str, Any],
    model: object,
    is_here: bool,  # noqa: FBT001
    cell_on: Callable[..., Cell],
    world: Callable[[str], Any],
) -> None:
    cells = [cell_on(world("nodes"), model, epochs=1)]
    n_before = _count_children()
    results = choose_executor(**crew)(cells, ignore)
    result = next(results)
    assert result.is_finished
    # Whoever has workers keeps them until nobody wants more.
    assert (_count_children() == n_before) is is_here
    results.close()


def _count_children() -> int:
    return len(list(Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()))


def test_workers_give_results_and_tell_what_else_goes_on(
    cell_on: Callable[..., Cell], world: Callable[[str], Any]
) -> None:
    cells = [cell_on(world("nodes"), model, epochs=1) for model in ("GCN", own_nets.FailsForward, "MLP")]
    heard: list[Event] = []
    n_before = _count_children()
    left = choose_executor(jobs=1, timeout=120)(cells, heard.append)
    first = next(left)
    assert _count_children() > n_before, "only a worker can be stopped"
    results = [first, *left]
    found = {result.cell: result.is_finished for result in results}
    assert [found[cell] for cell in cells] == [True, False, True]
    assert len(results) == len(cells)
    # Those of our own models come before the one that makes the process its own.
    expected = [Started(cell=cells[number]) for number in (0, 2, 1)]
    assert heard == expected, "results are given, and not told as well"


def test_no_cells_are_no_results() -> None:
    for execute in (choose_executor(), choose_executor(jobs=2)):
        assert list(execute([], ignore)) == []


def in_reverse(cells: Sequence[Cell], tell: Tell) -> Iterator[CellResult]:
    for cell in reversed(cells):
        tell(Started(cell=cell))
        yield run_one(cell)


def in_a_list(cells: Sequence[Cell], tell: Tell) -> Iterable[CellResult]:
    return list(in_reverse(cells, tell))


@pytest.mark.parametrize("own", [in_reverse, in_a_list])
def test_function_of_ones_own_is_an_executor(
    own: Any, cell_on: Callable[..., Cell], world: Callable[[str], Any]
) -> None:
    cells = [cell_on(world("nodes"), model, epochs=1) for model in ("GCN", "MLP")]
    heard: list[Event] = []
    results = choose_executor(executor=own)(cells, heard.append)
    assert next(results).cell == cells[1]
    results.close()
    assert list(results) == []
    assert Started(cell=cells[1]) in heard


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"jobs": 2}, "jobs is '2'; allowed: 1 with an executor of your own"),
        ({"timeout": 60.0}, "timeout is '60.0'; allowed: None with an executor of your own"),
        ({"gpu_share": 0.5}, "gpu_share is '0.5'; allowed: 0.0 with an executor of your own"),
        ({"address": "me:secret@head:1"}, r"address is 'me:\*\*\*@head:1'; allowed: '' with an executor of your own"),
    ],
)
def test_function_of_ones_own_is_told_nothing_that_it_would_not_hear(changes: Any, said: str) -> None:
    with pytest.raises(BadValue, match=said):
        check_crew(Crew(executor=in_reverse, **changes))


@pytest.mark.parametrize("executor", [3, None, ["ray"]])
def test_what_is_neither_a_name_nor_a_function_is_no_executor(executor: Any) -> None:
    with pytest.raises(UnknownName, match="unknown executor"):
        check_crew(Crew(executor=executor))


def test_executors_without_ray_are_all_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(BadValue, match=r"'ray'; allowed: auto, inline or processes; ray once .*gnz-track\[ray\]"):
        check_crew(Crew(executor="ray"))


def test_no_password_of_a_cluster_is_shown_where_there_is_none() -> None:
    with pytest.raises(BadValue, match=r"address is 'me:\*\*\*@head:6379'; allowed: only with a cluster"):
        check_crew(Crew(address="me:secret@head:6379"))


ASK = """
import sys
from gnz_track.runs.executors.choice import AUTO
from gnz_track.models.catalogue import describe
describe("GCN")
print("torch" in sys.modules)
print(describe("curious_nets:Net").name)
"""


def test_originals_are_noted_before_models_of_others_are_imported_and_not_for_ours(tmp_path: Path) -> None:
    seen = "'gnz_track.runs.isolation.canary' in sys.modules"
    net = f"import sys\nprint({seen}, 'torch' in sys.modules)\nimport torch\n\nclass Net(torch.nn.Module):\n"
    (tmp_path / "curious_nets.py").write_text(f"{net}    task_types = {{'node_cls'}}\n", "utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    done = subprocess.run([sys.executable, "-c", ASK], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:3] == ["False", "True True", "Net"]


def test_originals_are_noted_as_soon_as_the_package_is_asked_for_its_one_call() -> None:
    code = "import sys; from gnz_track import run_benchmark; print('gnz_track.runs.isolation.canary' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"
