"""Files of a past run against those of its repetition, and runs that get the files which they lack."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnz_track import read_predictions
from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import NotReproducible, UnknownName
from gnz_track.models.catalogue import describe
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.file_comparison import compare_files
from gnz_track.runs.plan import Place, Plan, make_plan
from gnz_track.runs.remaining import find_remaining
from gnz_track.runs.reproduce import Conditions, Reproduction, ReproductionVerdict, reproduce
from gnz_track.runs.sweep import Sweep, run_sweep
from gnz_track.runs.sweep_writer import Tracking
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import find_place
from gnz_track.store.cell_files.kept_files import describe_files, tag_of_files
from gnz_track.store.cell_files.predictions import decode_predictions, encode_predictions
from gnz_track.store.cell_files.series import encode_series
from gnz_track.store.cell_files.weights import decode_weights, encode_weights
from gnz_track.store.past_runs import read_run
from gnz_track.training.protocols import PROTOCOLS

Again = Callable[..., Reproduction]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frozen")


def track(address: Address, home: Path, keep: str, *, keep_at_most: int = 2**22) -> str:
    """Train one cell, write it, and return its run."""
    return str(sweep_of(address, home, keep, keep_at_most=keep_at_most).table["run_id"][0])


def sweep_of(address: Address, home: Path, keep: str, *, keep_at_most: int) -> Sweep:
    tasks, models = [TASKS.get("planted_partition")], [describe("GCN")]
    plan = make_plan(tasks, models, seeds=[0], protocol=PROTOCOLS.get("graphnetz"), epochs=2, place=Place(home=home))
    cells = tuple(replace(cell, keep=keep, keep_at_most=keep_at_most) for cell in plan.cells)
    remaining = find_remaining(Plan(cells=cells, skipped=()), address)
    return run_sweep(remaining, Tracking(address=address, sweep="past"), execute=run_inline)


@pytest.fixture
def again(address: Address, home: Path) -> Again:
    return lambda run_id, **more: reproduce(run_id, address, conditions=Conditions(place=Place(home=home)), **more)


def test_equal_files_are_bit_identical(address: Address, home: Path, again: Again) -> None:
    found = again(track(address, home, "predictions"))
    assert found.verdict is ReproductionVerdict.bit_identical
    assert found.compared_files == ("curves.parquet", "predictions.parquet")
    assert (found.files, found.kept) == ((), ())


def test_run_gets_the_files_that_it_lacks(address: Address, home: Path, again: Again) -> None:
    run_id = track(address, home, "nothing")
    before = again(run_id)
    assert (before.verdict, before.compared_files) == (ReproductionVerdict.bit_identical, ())
    found = again(run_id, keep="predictions")
    assert set(found.kept) == {"predictions.parquet", "config.json", "curves.parquet", "split.parquet"}
    predictions = read_predictions(address, task="planted_partition")
    run = read_run(address, run_id)
    assert np.mean(predictions.outputs[0, 0].argmax(axis=1) == predictions.targets) == run.metrics["test/accuracy"]
    assert again(run_id).compared_files == ("curves.parquet", "predictions.parquet")


def test_what_is_too_large_is_said_by_a_sweep_and_by_a_repetition_until_more_is_allowed(
    address: Address, home: Path, again: Again
) -> None:
    sweep = sweep_of(address, home, "predictions", keep_at_most=2**10)
    run_id = sweep.table["run_id"][0]
    told = "predictions.parquet of planted_partition is not kept: "
    [said] = [one for one in sweep.notices if one.startswith(told)]
    assert said.endswith("KiB a cell, and at most 1KiB are; to keep it: --keep-at-most 1MiB")
    found = again(run_id, keep="predictions", keep_at_most=2**10)
    assert said in found.notes
    assert "predictions.parquet" not in found.kept
    # In a later call, of which only the limit is another.
    assert "predictions.parquet" in again(run_id, keep="predictions", keep_at_most=2**20).kept
    found = again(run_id, keep_at_most=2**10)
    assert (found.verdict, found.files) == (ReproductionVerdict.bit_identical, ()), "a large file was not compared"
    assert "predictions.parquet" in found.compared_files


def test_changed_file_is_told_and_can_be_mended(address: Address, home: Path, again: Again) -> None:
    run_id = track(address, home, "predictions")
    file = Path(find_place(address, read_run(address, run_id).artifacts)) / "predictions.parquet"
    content = file.read_bytes()
    file.write_bytes(content[:-5])
    # That a file was changed since does not say that the cell comes out otherwise.
    assert again(run_id).verdict is ReproductionVerdict.bit_identical
    again(run_id, keep="predictions")
    assert file.read_bytes() == content


def test_weights_are_compared_and_made_again(address: Address, home: Path, again: Again) -> None:
    run_id = track(address, home, "predictions")
    found = again(run_id, keep="weights")
    assert {"model/model.safetensors", "model/MLmodel"} <= set(found.kept)
    run = read_run(address, run_id)
    assert run.tags[schema.LOGGED_MODELS]
    assert again(run_id).compared_files == ("curves.parquet", "model/model.safetensors", "predictions.parquet")
    file = Path(find_place(address, run.artifacts)) / "model/model.safetensors"
    content = file.read_bytes()
    tensors, about = decode_weights(content, name=file.name)
    first = min(tensors)
    tensors[first].flat[0] += 0.5
    other = encode_weights(tensors, json.dumps(about).encode())
    file.write_bytes(other)
    told = tag_of_files(describe_files({"model/model.safetensors": other}))
    _, [difference] = compare_files(
        replace(run, tags={**run.tags, schema.FILES: told}), {"model/model.safetensors": content}, address
    )
    assert difference.reason == f"1 of {len(tensors)} weights differ"
    assert difference.largest == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(UnknownName, match="files to keep 'best'"):
        again(run_id, keep="best")


def test_other_predictions_are_different(address: Address, home: Path) -> None:
    run_id = track(address, home, "predictions")
    run = read_run(address, run_id)
    file = Path(find_place(address, run.artifacts)) / "predictions.parquet"
    parts = decode_predictions(content := file.read_bytes())
    outputs = parts[1].outputs.copy()
    outputs[3, 0] += 0.5
    other = encode_predictions([parts[0], replace(parts[1], outputs=outputs)])
    file.write_bytes(other)
    told = tag_of_files(describe_files({"predictions.parquet": other}))
    changed = replace(run, tags={**run.tags, schema.FILES: told})
    _, [difference] = compare_files(changed, {"predictions.parquet": content}, address)
    total = sum(len(one.outputs) for one in parts)
    assert difference.reason == f"outputs of 1 of {total} examples differ"
    assert difference.largest == pytest.approx(0.5, abs=1e-6)
    _, [gone] = compare_files(changed, {}, address)
    assert gone.reason == "there is none now"
    file.unlink()
    _, [lost] = compare_files(changed, {"predictions.parquet": content}, address)
    assert "the file of then is gone" in lost.reason


def test_equal_content_in_other_bytes_is_no_difference(address: Address, home: Path) -> None:
    run_id = track(address, home, "predictions")
    run = read_run(address, run_id)
    file = Path(find_place(address, run.artifacts)) / "curves.parquet"
    told = tag_of_files(describe_files({"curves.parquet": file.read_bytes()}))
    run = replace(run, tags={**run.tags, schema.FILES: told})
    from gnz_track.store.cell_files.series import decode_series

    series = decode_series(file.read_bytes())
    _, [difference] = compare_files(run, {"curves.parquet": encode_series({**series, "train/loss": (1.0,)})}, address)
    assert difference.reason == "train/loss differ"


def test_files_are_not_kept_of_another_outcome(
    address: Address, home: Path, again: Again, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_id = track(address, home, "nothing")
    with pytest.raises(UnknownName, match="predictions"):
        again(run_id, keep="prediction")
    from gnz_track.runs import reproduce as module

    def other(cells: Any) -> Any:
        return [replace(one, scores={**one.scores, "accuracy": 0.0}) for one in run_inline(cells)]

    monkeypatch.setattr(module, "run_inline", other)
    with pytest.raises(NotReproducible, match="not be those of the run"):
        again(run_id, keep="predictions")
    assert schema.FILES not in read_run(address, run_id).tags
