"""Data that change under a sweep: no cell that saw other bytes than its digest names is ever a finished one."""

from __future__ import annotations

import json
import mmap
import os
import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import own_nets
import pytest
import torch

from gnz_track.datasets import frozen, steady
from gnz_track.datasets.frozen import CARD, TENSORS, FrozenDataset, freeze, open_frozen
from gnz_track.datasets.mapped_tensors import digest_of_file
from gnz_track.errors import DataCorrupted, DataUnusable
from gnz_track.runs.executors.choice import choose_executor
from gnz_track.runs.executors.events import Done, Event, Started, Tell, ignore
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.plan import Plan
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.run_one import run_one
from gnz_track.runs.sweep import Sweep, run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store.address import Address
from gnz_track.types import Cell, CellResult

Cells = Callable[..., Cell]


@pytest.fixture
def data(world: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FrozenDataset:
    """Return a dataset of one's own, that was written long before anybody looks."""
    monkeypatch.setattr(steady, "NANOSECONDS_TO_SETTLE", 0)
    found: FrozenDataset = world("nodes").freeze(tmp_path / "data" / "nodes")
    time.sleep(0.02)
    return found


def write_into(file: Path) -> None:
    """Shuffle the numbers of a file where they lie, as a script does that opens it for writing; sizes stay."""
    entry = open_frozen(file.parent).tensors.entries["x"]
    with file.open("r+b") as opened:
        opened.seek(entry.begin)
        content = opened.read(entry.end - entry.begin)
        opened.seek(entry.begin)
        opened.write(content[::-1])


def write_with_old_time(file: Path) -> None:
    """Write, and set the time of writing back to what it was."""
    before = file.stat()
    write_into(file)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def replace_by_another(file: Path) -> None:
    """Put another file in its place, of the same size and time, as a copy from elsewhere does."""
    before, elsewhere = file.stat(), file.parent.with_name("elsewhere")
    shutil.copytree(file.parent, elsewhere)
    write_into(elsewhere / TENSORS)
    os.utime(elsewhere / TENSORS, ns=(before.st_atime_ns, before.st_mtime_ns))
    (elsewhere / TENSORS).replace(file)


def write_and_restore(file: Path) -> None:
    """Write other numbers, train a while, and put the old ones back: at the end all bytes are as they were."""
    write_into(file)
    write_into(file)


DEEDS = [write_into, write_with_old_time, replace_by_another, write_and_restore]


class Deed(own_nets.Plain):
    """Does something to a file once, in the midst of a training."""

    act: Any = None

    def forward(self, data: Any) -> Any:
        codes = super().forward(data)
        if Deed.act is not None:
            Deed.act()
            Deed.act = None
        return codes


@pytest.mark.parametrize("deed", DEEDS)
def test_cell_whose_data_change_while_it_trains_has_failed(
    deed: Callable[[Path], None], data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells
) -> None:
    cell = cell_on(world("nodes"), Deed, dataset=data)
    file = data.folder / TENSORS
    assert run_one(cell).is_finished
    Deed.act = staticmethod(lambda: deed(file))
    result = run_one(cell)
    assert Deed.act is None, "nothing was done to the data"
    assert result.failure is not None
    assert result.failure.kind == "DataCorrupted"
    assert str(file) in result.failure.message
    assert f"expected digest {data.digest}, found {digest_of_file(file)}" in result.failure.message
    assert result.score is None


@pytest.mark.parametrize("deed", DEEDS[:3])
def test_cell_whose_data_changed_since_the_last_one_has_failed(
    deed: Callable[[Path], None], data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells
) -> None:
    cell = cell_on(world("nodes"), dataset=data)
    assert run_one(cell).is_finished
    deed(data.folder / TENSORS)
    result = run_one(replace(cell, seed=1))
    assert result.failure is not None
    assert result.failure.kind == "DataCorrupted"
    assert data.digest in result.failure.message
    assert digest_of_file(data.folder / TENSORS) in result.failure.message
    assert not result.series


def test_card_of_other_tensors_is_no_card(data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells) -> None:
    cell = cell_on(world("nodes"), dataset=data)
    write_into(data.folder / TENSORS)
    found = digest_of_file(data.folder / TENSORS)
    # Whoever makes the card fit makes another dataset of it.
    card = data.folder / "card.json"
    card.write_text(card.read_text().replace(data.digest, found))
    result = run_one(cell)
    assert result.failure is not None
    assert (data.digest in result.failure.message, found in result.failure.message) == (True, True)


def test_card_that_changes_while_a_cell_trains_fails_it(
    data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells
) -> None:
    card = data.folder / "card.json"
    Deed.act = staticmethod(lambda: card.write_text(card.read_text().replace("made up", "elsewhere")))
    result = run_one(cell_on(world("nodes"), Deed, dataset=data))
    assert result.failure is not None
    assert result.failure.kind == "DataCorrupted"


def test_links_and_rights_are_no_change(data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells) -> None:
    file = data.folder / TENSORS

    def touch_no_byte() -> None:
        file.chmod(0o444)
        os.link(file, data.folder.parent / "linked")

    Deed.act = staticmethod(touch_no_byte)
    assert run_one(cell_on(world("nodes"), Deed, dataset=data)).is_finished


def test_a_cell_costs_a_look_and_no_reading(
    data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = cell_on(world("nodes"), dataset=data)
    read: list[Path] = []

    def count(path: Path) -> str:
        read.append(path)
        return digest_of_file(path)

    monkeypatch.setattr("gnz_track.datasets.frozen.digest_of_file", count)
    monkeypatch.setattr("gnz_track.datasets.steady.digest_of_file", count)
    for seed in range(3):
        assert run_one(replace(cell, seed=seed)).is_finished
    assert len(read) == 1
    os.utime(data.folder / TENSORS)
    assert run_one(cell).is_finished
    assert len(read) == 2, "what looks otherwise is read again"


def test_card_that_is_not_right_is_told_by_who_looks_at_its_tensors_and_bytes_are_read_once(
    data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = cell_on(world("nodes"), dataset=data)
    card = json.loads((data.folder / CARD).read_text("utf-8"))
    card["sizes"]["n_classes"] += 1
    (data.folder / CARD).write_text(json.dumps(card), "utf-8")
    time.sleep(0.02)
    read: list[Path] = []
    monkeypatch.setattr(frozen, "digest_of_file", lambda path: (read.append(path), digest_of_file(path))[1])
    assert steady.open_steady(data.folder, has_facts=False).digest == data.digest
    for _ in range(2):
        with pytest.raises(DataUnusable, match="its card is not right about sizes"):
            steady.open_steady(data.folder)
    result = run_one(cell)
    assert result.failure is not None
    assert "its card is not right about sizes" in result.failure.message
    assert len(read) == 1
    write_into(data.folder / TENSORS)
    with pytest.raises(DataCorrupted):
        steady.open_steady(data.folder, has_facts=False)


def test_what_was_written_just_now_is_read_for_every_cell(
    world: Callable[[str], Any], cell_on: Cells, tmp_path: Path
) -> None:
    """Clocks of files tick: within a tick a second write leaves no trace."""
    data = world("nodes").freeze(tmp_path / "nodes")
    cell, file = cell_on(world("nodes"), Deed, dataset=data), data.folder / TENSORS
    assert run_one(cell).is_finished
    before = file.stat()
    Deed.act = staticmethod(lambda: write_with_old_time(file))
    result = run_one(cell)
    assert (file.stat().st_mtime_ns, file.stat().st_size) == (before.st_mtime_ns, before.st_size)
    assert result.failure is not None
    assert result.failure.kind == "DataCorrupted"


# Sweeps --------------------------------------------------------------------------------------------------------------


def sweep(chosen: list[Cell], address: Address, *, tell: Tell = ignore, jobs: int = 1) -> Sweep:
    """Do what ``gnz run`` does with cells."""
    for cell in chosen:
        steady.open_steady(cell.data)
    remaining = find_remaining(Plan(cells=tuple(chosen), skipped=()), address)
    tracking = Tracking(address=address, sweep="changed", suite="quick")
    execute = run_inline if jobs == 1 else choose_executor(jobs=jobs)
    return run_sweep(remaining, tracking, execute=execute, tell=tell)


def once_done(number: int, act: Callable[[], None]) -> Tell:
    """Return a listener that acts once so many cells are done."""
    done: list[CellResult] = []

    def hear(event: Event) -> None:
        if isinstance(event, Done):
            done.append(event.result)
            if len(done) == number:
                act()

    return hear


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_no_cell_after_the_change_is_finished_and_those_before_are(
    jobs: int, data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells, address: Address
) -> None:
    cells = [cell_on(world("nodes"), "GCN", dataset=data, seed=seed, epochs=5) for seed in range(12)]
    alone = {cell.seed: run_one(cell).score for cell in cells}
    found = sweep(cells, address, tell=once_done(3, lambda: write_into(data.folder / TENSORS)), jobs=jobs)
    finished = found.table[found.table["status"] == "finished"]
    assert 3 <= len(finished) < 12
    assert {int(row.seed): row.score for row in finished.itertuples()} == {n: alone[n] for n in finished["seed"]}
    failed = found.table[found.table["status"] == "failed"]
    assert failed["error"].str.startswith("DataCorrupted").all()
    assert any(data.digest in notice and "not concerned" in notice for notice in found.notices)


def test_data_that_change_without_a_trace_are_noticed_at_the_end(
    data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells, address: Address
) -> None:
    """Pages that another process has open for writing change without a word in the file's times."""
    file = data.folder / TENSORS
    entry = data.tensors.entries["x"]
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as page:
        page[entry.begin] = page[entry.begin]
        time.sleep(0.02)
        looks = file.stat()

        def change() -> None:
            page[entry.begin] ^= 1

        cells = [cell_on(world("nodes"), dataset=data, seed=seed) for seed in range(2)]
        if file.stat() != looks:
            pytest.skip("this file system tells of every write")
        with pytest.raises(DataCorrupted, match=f"expected digest {data.digest}, found .* is in doubt"):
            sweep(cells, address, tell=once_done(1, change))


def test_data_that_stay_are_not_spoken_of(
    data: FrozenDataset, world: Callable[[str], Any], cell_on: Cells, address: Address
) -> None:
    heard: list[Event] = []
    found = sweep([cell_on(world("nodes"), dataset=data)], address, tell=heard.append)
    assert found.notices == ()
    assert [type(event) for event in heard] == [Started, Done]


# What is kept beside the data ---------------------------------------------------------------------------------------


def test_features_of_other_bytes_are_not_kept_under_the_digest(tmp_path: Path, world: Callable[[str], Any]) -> None:
    import pandas as pd

    from gnz_track.selection.evidence import KEPT, features_of_tasks

    data = freeze(world("nodes").graphs, tmp_path / "home" / "nodes", row=world("nodes").row)
    table = pd.DataFrame({"task": ["nodes"], "dataset_digest": [data.digest], "task_type": ["node_cls"]})
    write_into(data.folder / TENSORS)
    with pytest.raises(DataCorrupted, match=data.digest):
        features_of_tasks(table, ["nodes"], name="task", home=tmp_path / "home")
    assert not (tmp_path / "home" / KEPT).exists()


def test_audit_of_other_bytes_is_none(tmp_path: Path, world: Callable[[str], Any]) -> None:
    from gnz_track.quality.audit import audit_dataset
    from gnz_track.types import Task, TaskType

    data = world("nodes").freeze(tmp_path / "nodes")
    write_into(data.folder / TENSORS)
    with pytest.raises(DataCorrupted, match=data.digest):
        audit_dataset(data, Task("nodes", TaskType.node_cls))


def test_encoding_that_was_read_stays_what_it_was(tmp_path: Path, world: Callable[[str], Any]) -> None:
    from gnz_track.datasets.encodings import encode_nodes, encoding_file, parse_encoding

    data, encoding = world("nodes").freeze(tmp_path / "nodes"), parse_encoding("lap4")
    assert encoding is not None
    computed = encode_nodes(data, encoding)
    file = encoding_file(data, encoding)
    read = encode_nodes(data, encoding)
    assert torch.equal(read, computed)
    content = file.read_bytes()
    with file.open("r+b") as opened:
        opened.seek(len(content) - computed.numel() * computed.element_size())
        opened.write(bytes(computed.numel() * computed.element_size()))
    assert torch.equal(read, computed), "it changes with its file"
    assert torch.equal(encode_nodes(data, encoding), computed), "what does not fit its digest is computed again"


def test_encoding_of_other_bytes_is_not_kept(tmp_path: Path, world: Callable[[str], Any]) -> None:
    from gnz_track.datasets.encodings import encode_nodes, encoding_file, parse_encoding

    data, encoding = world("nodes").freeze(tmp_path / "nodes"), parse_encoding("lap4")
    assert encoding is not None
    write_into(data.folder / TENSORS)
    with pytest.raises(DataCorrupted, match=data.digest):
        encode_nodes(data, encoding)
    assert not encoding_file(data, encoding).exists()
