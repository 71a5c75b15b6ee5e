"""One contract for every executor: the same cells, the same bits, the same events, whatever goes wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from crews import Crew

from gnz_track.models.catalogue import describe
from gnz_track.runs.executors.events import Event, Points, Started, ignore
from gnz_track.runs.run_one import run_one
from gnz_track.types import Cell, CellResult, ModelRow

MakeCell = Callable[..., Cell]
# Measured anew in every run.
MEASURED = {"seconds": 0.0, "seconds_per_epoch": None, "cpu_seconds": 0.0, "peak_rss_mib": None, "memory_mib": None}


def numbers_of(result: CellResult) -> CellResult:
    """Return a result without what depends on the machine's speed, and a failure without its traceback."""
    failure = result.failure and replace(result.failure, traceback="")
    return replace(result, **MEASURED, failure=failure)


def train(crew: Crew, cells: list[Cell], *, timeout: float | None = None) -> tuple[list[CellResult], list[Event]]:
    heard: list[Event] = []
    results = list(crew.start(timeout=timeout)(cells, heard.append))
    return results, heard


def test_same_bits_in_any_order(crew: Crew, make_cell: MakeCell) -> None:
    cells = [make_cell(model, seed) for model in ("GCN", "GAT", "MLP") for seed in (0, 1)]
    expected = {cell: numbers_of(run_one(cell)) for cell in cells}
    for order in (cells, cells[::-1]):
        results, _ = train(crew, order)
        assert {result.cell: numbers_of(result) for result in results} == expected
        assert len(results) == len(cells), "a cell was given back twice"


def test_files_come_back_as_they_were_made(crew: Crew, make_cell: MakeCell) -> None:
    cells = [replace(make_cell(model), keep="predictions") for model in ("GCN", "MLP")]
    results, _ = train(crew, cells)
    found = {result.cell: result.files for result in results}
    assert found == {cell: run_one(cell).files for cell in cells}
    names = {"predictions.parquet", "config.json", "curves.parquet", "split.parquet"}
    assert all(set(files) == names for files in found.values())


def test_each_cell_is_told_once_and_before_it_ends(crew: Crew, make_cell: MakeCell) -> None:
    cells = [make_cell(seed=seed) for seed in range(6)]
    seen: list[tuple[str, Cell]] = []
    results = crew.start()(cells, lambda event: seen.append((type(event).__name__, event.cell)))
    seen.extend(("Done", result.cell) for result in results)
    assert sorted(kind for kind, _ in seen) == ["Done"] * 6 + ["Started"] * 6
    for cell in cells:
        assert [kind for kind, of in seen if of == cell] == ["Started", "Done"]


@pytest.mark.parametrize("model", ["Crashing", "Leaving", "NotANumber"])
def test_errors_of_models_are_results_and_not_repeated(
    crew: Crew, make_cell: MakeCell, notes: Path, model: str
) -> None:
    broken = make_cell(model)
    results, heard = train(crew, [broken, make_cell(seed=1)])
    found = {result.cell: result for result in results}
    assert (notes / model).read_text().count("\n") == 1, "it was trained again"
    assert numbers_of(found[broken]) == numbers_of(run_one(broken))
    failure = found[broken].failure
    assert failure is not None
    assert "Traceback" in failure.traceback
    assert found[make_cell(seed=1)].is_finished
    assert {event.cell for event in heard} == {broken, make_cell(seed=1)}


def test_cells_that_cannot_be_trained_fail_alike(crew: Crew, make_cell: MakeCell, tmp_path: Path) -> None:
    lost = make_cell(data=str(tmp_path / "nowhere"))
    nobody = make_cell(model="MLP", seed=3)
    away = replace(nobody, model=replace(nobody.model, name="Away", target="no_such_module:Net", is_encoder=False))
    results, _ = train(crew, [lost, away])
    found = {result.cell: numbers_of(result).failure for result in results}
    assert found == {cell: numbers_of(run_one(cell)).failure for cell in (lost, away)}


def test_models_travel_by_value(crew: Crew, make_cell: MakeCell) -> None:
    cell = replace(make_cell(), model=_local_net())
    ((result,), _) = train(crew, [cell])
    assert result.is_finished, result.failure
    assert result.series == run_one(cell).series


def _local_net() -> ModelRow:
    import torch
    from torch_geometric.nn import SAGEConv

    class Local(torch.nn.Module):
        task_types = ("link_pred",)

        def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:  # noqa: ARG002
            super().__init__()
            self.layer = SAGEConv(in_channels, out_channels)

        def forward(self, data: object) -> torch.Tensor:
            return self.layer(data.x, data.edge_index)

    return describe(Local)


def test_dead_worker_costs_its_cell_only(crew: Crew, make_cell: MakeCell) -> None:
    if not crew.outlives_cells:
        pytest.skip(f"{crew.name} is the process of its caller, and dies with it")
    killed, others = make_cell("Killed"), [make_cell(seed=seed) for seed in range(4)]
    results, _ = train(crew, [others[0], killed, *others[1:]])
    found = {result.cell: result for result in results}
    assert len(results) == 5
    failure = found.pop(killed).failure
    assert failure is not None
    assert failure.kind == "WorkerDied"
    assert {cell: numbers_of(result) for cell, result in found.items()} == {
        cell: numbers_of(run_one(cell)) for cell in others
    }


def test_time_limit_costs_the_slow_cell_only(crew: Crew, make_cell: MakeCell) -> None:
    if not crew.outlives_cells:
        pytest.skip(f"{crew.name} has no worker that could be ended")
    slow, others = make_cell("Beating"), [make_cell(seed=seed) for seed in range(3)]
    results, _ = train(crew, [slow, *others], timeout=6)
    found = {result.cell: result for result in results}
    failure = found.pop(slow).failure
    assert failure is not None
    assert (failure.kind, "6 s" in failure.message) == ("TimeLimit", True)
    assert [result.is_finished for result in found.values()] == [True] * 3


def test_closing_ends_what_runs(crew: Crew, make_cell: MakeCell, notes: Path) -> None:
    if not crew.outlives_cells:
        pytest.skip(f"{crew.name} trains only while it is asked for the next result")
    cells = [make_cell("GCN"), *(make_cell("Beating", seed=seed) for seed in range(8))]
    results = crew.start()(cells, ignore)
    assert next(results).cell == cells[0]
    until = time.monotonic() + 60
    while not (notes / "beats").exists() and time.monotonic() < until:
        time.sleep(0.05)
    results.close()
    until = time.monotonic() + 30
    before = -1
    while (now := (notes / "beats").stat().st_size) != before:
        assert time.monotonic() < until, "workers go on after they were told to end"
        before = now
        time.sleep(1)


def test_closing_before_the_end_trains_no_more(crew: Crew, make_cell: MakeCell, notes: Path) -> None:
    cells = [make_cell("Slow", seed=seed % 3, epochs=1 + seed) for seed in range(9)]
    results = crew.start()(cells, ignore)
    next(results)
    results.close()
    time.sleep(0.5)
    n_begun = (notes / "Slow").read_text().count("\n")
    assert n_begun < len(cells)
    time.sleep(1.5)
    assert (notes / "Slow").read_text().count("\n") == n_begun
    assert list(results) == []


def test_no_cells_are_no_results(crew: Crew) -> None:
    results, heard = train(crew, [])
    assert (results, heard) == ([], [])


@pytest.mark.slow
def test_epochs_of_a_long_cell_are_told_while_it_trains(crew: Crew, make_cell: MakeCell) -> None:
    cell = make_cell("Slow", epochs=30)
    ((result,), heard) = train(crew, [cell])
    assert [type(event) for event in heard[:2]] == [Started, Points]
    rows = [row for event in heard if isinstance(event, Points) for row in event.rows]
    assert [epoch for epoch, _ in rows] == list(range(len(rows)))
    for epoch, row in rows:
        assert row == {name: values[epoch] for name, values in result.series.items()}
