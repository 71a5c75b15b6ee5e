"""Files that cells leave: what they hold is what was scored, and they change no number."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import own_nets
import pytest
import torch
from sklearn.metrics import roc_auc_score

from gnz_track import read_predictions
from gnz_track.datasets.frozen import FrozenDataset, open_frozen
from gnz_track.datasets.mapped_tensors import digest_of
from gnz_track.errors import BadValue
from gnz_track.records import to_json
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.files_of_cell import check_most_bytes, read_most_bytes, tell_too_large
from gnz_track.runs.plan import Plan
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.run_one import run_one
from gnz_track.runs.sweep import run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store.address import Address
from gnz_track.store.cell_files.kept_files import describe_files
from gnz_track.store.cell_files.predictions import PartPredictions, decode_predictions
from gnz_track.store.cell_files.series import decode_series
from gnz_track.store.cell_files.splits import decode_split
from gnz_track.store.past_runs import read_run
from gnz_track.types import Cell, CellResult

MakeCell = Callable[..., Cell]
World = Callable[[str], Any]
MEASURED = ("seconds", "seconds_per_epoch", "cpu_seconds", "peak_rss_mib", "memory_mib")


def parts_of(result: CellResult) -> list[PartPredictions]:
    return decode_predictions(result.files["predictions.parquet"])


def test_files_change_no_number_and_hold_both_parts(any_world: Any, cell_on: MakeCell) -> None:
    cell = cell_on(any_world)
    bare, kept = run_one(cell), run_one(replace(cell, keep="predictions"))
    assert kept.is_finished, kept.failure
    assert set(kept.files) >= {"predictions.parquet", "curves.parquet"}
    same = dict.fromkeys(MEASURED)
    assert replace(kept, cell=cell, files={}, **same) == replace(bare, **same)
    assert list(dict.fromkeys(one.part for one in parts_of(kept))) == ["val", "test"]
    assert kept.n_test == len(parts_of(kept)[-1].outputs) * (2 if any_world.name == "two levels" else 1) or (
        any_world.task_type in {"link_pred", "multi_task"}
    )
    assert decode_series(kept.files["curves.parquet"]) == dict(kept.series)


def test_blind_cell_keeps_validation_alone(any_world: Any, cell_on: MakeCell) -> None:
    result = run_one(replace(cell_on(any_world), is_blind=True, keep="predictions"))
    assert {one.part for one in parts_of(result)} == {"val"}


@pytest.mark.parametrize("name", ["nodes", "graphs", "edges", "edges, several graphs"])
def test_targets_are_those_of_the_ids_and_outputs_give_the_score(name: str, world: World, cell_on: MakeCell) -> None:
    cell = cell_on(world(name))
    test = parts_of(result := run_one(replace(cell, keep="predictions")))[-1]
    dataset = open_frozen(cell.data)
    labels = dataset.tensors["edge_label" if "edges" in name else "y"].numpy()
    assert (labels[test.numbers["id"]] == test.targets).all()
    assert np.mean(test.outputs.argmax(axis=1) == test.targets) == result.scores["accuracy"]
    if "edges" in name:
        assert_ends_are_of_their_graph(dataset, test)


def assert_ends_are_of_their_graph(dataset: FrozenDataset, test: PartPredictions) -> None:
    local = dataset.tensors["edge_label_index"].numpy()[:, test.numbers["id"]]
    starts = dataset.node_ptr.numpy()
    for row, name in enumerate(("head", "tail")):
        graph = np.searchsorted(starts, test.numbers[name], side="right") - 1
        assert (test.numbers[name] - starts[graph] == local[row]).all()


def test_split_is_that_of_the_digest_and_of_the_predictions(any_world: Any, cell_on: MakeCell) -> None:
    result = run_one(replace(cell_on(any_world), keep="predictions"))
    split = decode_split(result.files["split.parquet"])
    assert list(split) == ["train", "val", "test"]
    if "id" in split["test"]:
        parts = {name: torch.from_numpy(numbers["id"].copy()) for name, numbers in split.items()}
        assert digest_of(parts) == result.split_digest
    for one in parts_of(result):
        names = [name for name in split[one.part] if name in one.numbers]
        if one.kind != "node" or any_world.name != "two levels":
            assert names
            for name in names:
                found, expected = one.numbers[name], split[one.part][name]
                assert sorted(found) == sorted(expected[: len(found)] if "published" in any_world.name else expected)


@pytest.mark.parametrize("name", ["links", "links, published"])
def test_pairs_have_their_ends_and_give_the_score(name: str, world: World, cell_on: MakeCell) -> None:
    result = run_one(replace(cell_on(world(name)), keep="predictions"))
    test = parts_of(result)[-1]
    head, tail = test.numbers["head"], test.numbers["tail"]
    assert (test.numbers["id"] == head * 50 + tail).all()
    assert (test.kind, test.outputs.shape) == ("link", (len(head), 1))
    assert roc_auc_score(test.targets, test.outputs[:, 0]) == pytest.approx(result.scores["auc"], abs=1e-12)


def test_triples_have_the_rank_of_the_true_one(world: World, cell_on: MakeCell) -> None:
    result = run_one(replace(cell_on(world("triples")), keep="predictions"))
    validation, test = parts_of(result)
    is_true = test.targets == 1
    ranks = np.concatenate([test.ranks["rank_of_tail"][is_true], test.ranks["rank_of_head"][is_true]])
    assert np.mean(1 / ranks) == pytest.approx(result.scores["mrr"], abs=1e-12)
    assert np.isnan(test.ranks["rank_of_tail"][~is_true]).all()
    assert np.isnan(validation.ranks["rank_of_tail"]).all(), "ranks that scoring does not count were counted"
    relation = test.numbers["relation"]
    assert (test.numbers["id"] == (relation * 30 + test.numbers["head"]) * 30 + test.numbers["tail"]).all()


def test_ranks_that_are_read_back_give_the_score(world: World, cell_on: MakeCell, address: Address) -> None:
    cell = replace(cell_on(world("triples")), keep="predictions")
    remaining = find_remaining(Plan(cells=(cell,), skipped=()), address)
    sweep = run_sweep(remaining, Tracking(address=address, sweep="ranked"), execute=run_inline)
    ranks = read_predictions(address, task=cell.task.name).ranks
    each = np.concatenate([ranks["rank_of_tail"].ravel(), ranks["rank_of_head"].ravel()])
    stored = read_run(address, sweep.table["run_id"][0]).metrics
    assert np.nanmean(1 / each) == pytest.approx(stored["test/mrr"], abs=1e-12)


def test_two_levels_are_two_kinds_of_example(world: World, cell_on: MakeCell) -> None:
    cell = cell_on(world("two levels"), own_nets.TwoLevels) if hasattr(own_nets, "TwoLevels") else None
    result = run_one(replace(cell or cell_on(world("two levels")), keep="predictions"))
    nodes, graphs = (one for one in parts_of(result) if one.part == "test")
    dataset = open_frozen(result.cell.data)
    assert (dataset.tensors["y"].numpy()[nodes.numbers["id"]] == nodes.targets).all()
    assert (dataset.tensors["graph_y"].numpy()[graphs.numbers["id"]] == graphs.targets).all()
    assert (nodes.kind, nodes.outputs.shape[1], graphs.kind, graphs.outputs.shape[1]) == ("node", 2, "graph", 1)


def test_failed_cell_shows_no_label(world: World, cell_on: MakeCell) -> None:
    result = run_one(replace(cell_on(world("nodes"), own_nets.FailsForward), keep="predictions"))
    assert not result.is_finished
    assert "predictions.parquet" not in result.files


def test_large_predictions_are_counted_and_left_out(world: World, cell_on: MakeCell) -> None:
    cell = replace(cell_on(world("nodes")), keep="predictions")
    whole = len(run_one(cell).files["predictions.parquet"])
    for most in (whole - 1, 16):
        result = run_one(replace(cell, keep_at_most=most))
        assert "predictions.parquet" not in result.files
        assert "a cell, and at most" in result.left_out["predictions.parquet"]
    assert "predictions.parquet" in run_one(replace(cell, keep_at_most=whole)).files


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("16MiB", 2**24),
        ("0.0625 gib", 2**26),
        (" 1.5KiB", 1536),
        ("65MiB", None),
        ("16", None),
        ("16MB", None),
        ("0MiB", None),
        ("-1MiB", None),
        ("1e1MiB", None),
        ("\u0661MiB", None),
    ],
)
def test_sizes_have_a_unit_and_a_limit(text: str, n_bytes: int | None) -> None:
    if n_bytes is not None:
        assert read_most_bytes(text) == n_bytes
        return
    with pytest.raises(BadValue, match="a size such as 16MiB, at most 64MiB") as caught:
        read_most_bytes(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize("n_bytes", [0, -1, 2**26 + 1])
def test_request_of_no_size_is_refused(n_bytes: int) -> None:
    with pytest.raises(BadValue, match=f"--keep-at-most is {n_bytes}"):
        check_most_bytes(n_bytes)


def test_what_is_too_large_is_said_with_the_option_that_keeps_it(world: World, cell_on: MakeCell) -> None:
    cell = replace(cell_on(world("nodes")), keep_at_most=2**22)
    said = tell_too_large("predictions.parquet", int(9.3 * 2**20), cell)
    start = f"predictions.parquet of {cell.task.name} is not kept: 9.3MiB a cell, and at most 4MiB are"
    assert said == f"{start}; to keep it: --keep-at-most 10MiB"
    # No option keeps so much.
    assert tell_too_large("predictions.parquet", 2**30, cell) == f"{start.replace('9.3MiB', '1GiB')}"


def test_weights_that_are_too_large_are_left_out_with_their_folder(world: World, cell_on: MakeCell) -> None:
    cell = replace(cell_on(world("nodes")), keep="weights")
    n_bytes = len(run_one(cell).files["model/model.safetensors"])
    assert "model/MLmodel" in run_one(replace(cell, keep_at_most=n_bytes)).files
    result = run_one(replace(cell, keep_at_most=n_bytes - 1))
    assert result.is_finished
    assert not {name for name in result.files if name.startswith("model/")}
    assert result.left_out["model/model.safetensors"].startswith("model/model.safetensors of nodes is not kept: ")
    assert "to keep it: --keep-at-most" in result.left_out["model/model.safetensors"]


class WithNotes(own_nets.Plain):
    """Has more to remember than numbers."""

    def get_extra_state(self) -> object:
        return {"note": "text"}

    def set_extra_state(self, state: object) -> None:
        del state


class Halved(own_nets.Plain):
    """Has numbers of a kind that NumPy lacks."""

    def __init__(self, *widths: int) -> None:
        super().__init__(*widths)
        self.register_buffer("rough", torch.zeros(2, dtype=torch.bfloat16))


@pytest.mark.parametrize(("model", "words"), [(WithNotes, "is no tensor of plain numbers"), (Halved, "of this kind")])
def test_state_that_is_no_plain_numbers_is_left_out_in_words(
    model: type, words: str, world: World, cell_on: MakeCell
) -> None:
    result = run_one(replace(cell_on(world("nodes"), model), keep="weights"))
    assert result.is_finished, result.failure
    assert words in result.left_out["model/model.safetensors"]
    assert "predictions.parquet" in result.files
    assert not {name for name in result.files if name.startswith("model/")}


AGAIN = """
import sys
from gnz_track.records import from_json, to_json
from gnz_track.runs.run_one import run_one
from gnz_track.store.cell_files.kept_files import describe_files, tag_of_files
from gnz_track.types import Cell
print(tag_of_files(describe_files(run_one(from_json(Cell, sys.argv[1])).files)))
"""


def test_equal_cells_leave_equal_bytes_in_another_process_and_folder(
    world: World, cell_on: MakeCell, tmp_path: Path
) -> None:
    cell = replace(cell_on(world("nodes")), keep="weights")
    elsewhere = shutil.copytree(cell.data, tmp_path / "elsewhere")
    there = to_json(replace(cell, data=str(elsewhere)))
    said = subprocess.run([sys.executable, "-c", AGAIN, there], capture_output=True, text=True, check=True).stdout
    here = describe_files(run_one(cell).files)
    assert {"predictions.parquet", "config.json", "model/model.safetensors", "model/MLmodel"} <= here.keys()
    assert all(f'"{name}": {to_json(file)}' in said for name, file in here.items())
