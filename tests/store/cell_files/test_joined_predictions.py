"""Predictions of past runs as one array: examples by their ids, runs of other test sets never, changed files named."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cells import REGRESSION, cell_of, context_of, finished, result_of
from conftest import mlflow_server
from mlflow.entities import RunTag

from gnz_track import read_predictions
from gnz_track.errors import BadValue, StoreUnusable, UnknownName
from gnz_track.store.address import parse_address
from gnz_track.store.artifacts import find_place
from gnz_track.store.cell_files.predictions import PartPredictions, encode_predictions
from gnz_track.store.outbox import Outbox, deliver
from gnz_track.store.schema import FILES
from gnz_track.store.writer import Store, open_store

N_CLASSES = 3
TARGETS = np.arange(40) % N_CLASSES


def parts_of(ids: Mapping[str, Any], model: str, seed: int) -> list[PartPredictions]:
    """Return predictions that say from which model, seed and example they are."""
    number = sum(map(ord, model)) + seed / 10
    return [
        PartPredictions(
            part=part,
            kind="node",
            numbers={"id": np.asarray(found)},
            targets=TARGETS[found],
            outputs=np.stack([np.asarray(found) + number] * N_CLASSES, axis=1).astype(np.float32),
        )
        for part, found in ids.items()
    ]


def write(store: Store, folder: Path, cells: list[dict[str, Any]]) -> list[str]:
    """Write a run for each, of model, seed and ids by part, and return their ids."""
    found = []
    with Outbox(folder / "spool", context_of()) as outbox:
        for cell in cells:
            model, seed = cell.pop("model", "GCN"), cell.pop("seed", 0)
            ids = cell.pop("ids", {"val": [0, 1], "test": [5, 3, 9]})
            files = {"predictions.parquet": encode_predictions(parts_of(ids, model, seed))} if ids else {}
            changed = {"split_digest": "one", "files": files, **cell}
            one = finished(replace(result_of(cell_of(model, seed)), **changed))
            outbox.spool(files)
            found.append(deliver(outbox, store, one, tell=pytest.fail))
    return found


def file_of(store: Store, run_id: str) -> Path:
    return Path(find_place(store.address, store.tracking.get_run(run_id).info.artifact_uri)) / "predictions.parquet"


def test_runs_are_joined_by_model_seed_and_example(store: Store, tmp_path: Path) -> None:
    runs = write(store, tmp_path, [{"model": model, "seed": seed} for model in ("GCN", "GAT") for seed in (0, 1)])
    found = read_predictions(store.address, task="cora")
    assert (found.models, found.seeds, found.outputs.shape) == (("GAT", "GCN"), (0, 1), (2, 2, 3, N_CLASSES))
    assert found.ids.tolist() == [3, 5, 9]
    assert found.targets.tolist() == TARGETS[[3, 5, 9]].tolist()
    assert found.mask.all()
    assert found.ranks == {}
    assert found.run_ids.tolist() == [runs[2:], runs[:2]]
    for m, model in enumerate(found.models):
        for s, seed in enumerate(found.seeds):
            expected = (found.ids + sum(map(ord, model)) + seed / 10).astype(np.float32)
            np.testing.assert_array_equal(found.outputs[m, s, :, 0], expected)
    validation = read_predictions(store.address, task="cora", part="val", model="GCN", where={"seed": 1})
    assert (validation.outputs.shape, validation.ids.tolist()) == ((1, 1, 2, N_CLASSES), [0, 1])


def test_random_splits_are_joined_by_example_with_a_mask(store: Store, tmp_path: Path) -> None:
    tests = {0: [5, 3, 9], 1: [9, 7, 1]}
    cells = [{"seed": seed, "ids": {"test": ids}, "split_digest": f"split{seed}"} for seed, ids in tests.items()]
    write(store, tmp_path, cells)
    found = read_predictions(store.address, task="cora")
    assert found.ids.tolist() == [1, 3, 5, 7, 9]
    assert found.split_digests == ("split0", "split1")
    for s, ids in tests.items():
        assert found.ids[found.mask[0, s]].tolist() == sorted(ids)
    assert np.isnan(found.outputs[~found.mask]).all()
    assert np.isfinite(found.outputs[found.mask]).all()
    assert found.targets.tolist() == TARGETS[found.ids].tolist()


def test_ranks_are_joined_by_model_and_seed_as_outputs_are(store: Store, tmp_path: Path) -> None:
    ids = np.array([7, 2, 4])
    cells = [("GCN", 0), ("MLP", 0), ("GCN", 1)]
    with Outbox(tmp_path / "spool", context_of()) as outbox:
        for place, (model, seed) in enumerate(cells):
            [one] = parts_of({"test": ids}, model, seed)
            # Of tails alone: a false triple, the last one, has none.
            ranks = {"rank_of_tail": np.where(ids == 4, np.nan, ids + 10.5 * place)}
            files = {"predictions.parquet": encode_predictions([replace(one, kind="triple", ranks=ranks)])}
            outbox.spool(files)
            about = {"split_digest": "one", "files": files}
            deliver(outbox, store, finished(replace(result_of(cell_of(model, seed)), **about)), tell=pytest.fail)
    found = read_predictions(store.address, task="cora")
    assert list(found.ranks) == ["rank_of_tail"]
    ranks = found.ranks["rank_of_tail"]
    assert ranks.shape == (2, 2, 3)
    for place, (model, seed) in enumerate(cells):
        row = ranks[found.models.index(model), found.seeds.index(seed)]
        np.testing.assert_array_equal(row, [2 + 10.5 * place, np.nan, 7 + 10.5 * place])
    assert np.isnan(ranks[found.models.index("MLP"), 1]).all()


def test_other_test_sets_are_never_joined(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path, [{"model": "GCN"}, {"model": "GAT", "split_digest": "other"}])
    with pytest.raises(BadValue, match=r"test sets of the digests one, other.*split_digest"):
        read_predictions(store.address, task="cora")
    found = read_predictions(store.address, task="cora", where={"split_digest": "other"})
    assert found.models == ("GAT",)


def test_other_data_are_never_joined(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path, [{"seed": 0}, {"seed": 1, "dataset_digest": "e" * 32}])
    with pytest.raises(BadValue, match=r"datasets of the digests d+, e+"):
        read_predictions(store.address, task="cora")


def test_examples_that_are_not_those_of_the_split_are_refused(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path, [{"model": "GCN"}, {"model": "GAT", "ids": {"test": [5, 3, 8]}}])
    with pytest.raises(BadValue, match="examples of run"):
        read_predictions(store.address, task="cora")


def test_examples_of_several_forms_are_refused(store: Store, tmp_path: Path) -> None:
    runs = write(store, tmp_path, [{"seed": seed, "split_digest": f"split{seed}"} for seed in (0, 1)])
    [one] = parts_of({"test": [5, 3, 9]}, "GCN", 1)
    numbers = np.zeros((3, 2), dtype=np.float32)
    ends = {name: np.arange(3) for name in ("id", "head", "tail")}
    for changed in ({"targets": numbers}, {"numbers": ends}, {"kind": "graph\x1b"}):
        store.add_files(runs[1], {"predictions.parquet": encode_predictions([replace(one, **changed)])})
        with pytest.raises(BadValue, match="of one kind, with targets of one form"):
            read_predictions(store.address, task="cora")
    store.add_files(runs[1], {"predictions.parquet": encode_predictions([one, replace(one, kind="graph\x1b")])})
    with pytest.raises(BadValue, match=r"one of node, graph\\x1b"):
        read_predictions(store.address, task="cora")


def test_runs_without_predictions_are_named(store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runs = write(store, tmp_path, [{"model": "GCN"}, {"model": "GAT", "ids": {}}])
    found = read_predictions(store.address, task="cora")
    assert found.mask[:, 0, 0].tolist() == [False, True]
    assert f"gnz reproduce {runs[1][:12]} --keep predictions --store {store.address}" in caplog.text
    assert "--sweep" not in caplog.text, "one run is made again by itself"
    with pytest.raises(BadValue, match=f"gnz reproduce {runs[1][:12]} --keep predictions"):
        read_predictions(store.address, task="cora", model="GAT")


def test_several_runs_without_predictions_can_be_made_again_at_once(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(store, tmp_path, [{"seed": 0}, {"seed": 1, "ids": {}}, {"seed": 2, "ids": {}}])
    read_predictions(store.address, task="cora")
    assert "for all runs of a sweep: gnz reproduce --sweep NAME --keep predictions" in caplog.text


def test_gone_file_is_a_run_without_predictions(store: Store, tmp_path: Path) -> None:
    [run] = write(store, tmp_path, [{}])
    file_of(store, run).unlink()
    with pytest.raises(BadValue, match=run[:12]):
        read_predictions(store.address, task="cora")


def test_changed_and_cut_files_are_named(store: Store, tmp_path: Path) -> None:
    [run] = write(store, tmp_path, [{}])
    file = file_of(store, run)
    content = file.read_bytes()
    another = encode_predictions(parts_of({"test": [1]}, "", 0))
    for other in (content[:-1], content.replace(b"PAR1", b"PAR2"), b"", another):
        file.write_bytes(other)
        with pytest.raises(BadValue, match=rf"predictions\.parquet of run {run}.*digest mismatch"):
            read_predictions(store.address, task="cora")


def test_what_cannot_be_read_is_left_out_and_named_as_what_is_missing_is(
    store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cells = [{"model": model, "seed": seed} for model in ("GCN", "MLP") for seed in (0, 1)]
    whole, changed, huge, bare = write(store, tmp_path, [*cells[:3], {**cells[3], "ids": {}}])
    before = read_predictions(store.address, task="cora").outputs
    file_of(store, changed).write_bytes(b"PAR1")
    said = json.loads(store.tracking.get_run(huge).data.tags[FILES])
    said["predictions.parquet"]["n_bytes"] = 2**26 + 1
    store.tracking.set_tag(huge, RunTag(FILES, json.dumps(said)))
    caplog.clear()
    found = read_predictions(store.address, task="cora")
    assert set(found.left_out) == {changed, huge, bare}
    assert found.left_out[bare] == "no predictions"
    assert "digest mismatch" in found.left_out[changed]
    assert f"size of predictions.parquet of run {huge} is '67108865 bytes'" in found.left_out[huge]
    for run_id in (changed, huge, bare):
        assert run_id[:12] in caplog.text
    at = tuple(np.argwhere(found.run_ids == whole)[0])
    assert found.mask[at].all()
    assert found.mask.sum() == found.mask[at].sum()
    np.testing.assert_array_equal(found.outputs[at], before[at])
    file_of(store, whole).write_bytes(b"")
    with pytest.raises(BadValue, match=r"none that can be read .*digest mismatch"):
        read_predictions(store.address, task="cora")


def test_questions_that_mean_nothing_are_errors(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path, [{}])
    with pytest.raises(BadValue, match="val, test"):
        read_predictions(store.address, task="cora", part="train")
    with pytest.raises(UnknownName, match="cora"):
        read_predictions(store.address, task="cor")
    with pytest.raises(UnknownName, match="GCN"):
        read_predictions(store.address, task="cora", model="GNC")
    with pytest.raises(BadValue, match="node"):
        read_predictions(store.address, task="cora", kind="graph")


def test_one_task_at_a_time(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path, [{}])
    with Outbox(tmp_path / "spool", context_of()) as outbox:
        deliver(outbox, store, finished(result_of(cell_of(task=REGRESSION))), tell=print)
    with pytest.raises(BadValue, match=r"cora, zinc.*task='cora'"):
        read_predictions(store.address)
    assert read_predictions(store.address, where={"task": "cora"}).task == "cora"


def test_place_of_somebody_else_is_not_asked(store: Store, tmp_path: Path) -> None:
    [run] = write(store, tmp_path, [{}])
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "predictions.parquet").write_bytes(file_of(store, run).read_bytes())
    with sqlite3.connect(store.address.file) as database:
        database.execute("UPDATE runs SET artifact_uri = ?", (foreign.as_uri(),))
    with pytest.raises(BadValue, match="none"):
        read_predictions(store.address, task="cora")


def test_files_behind_a_server_are_not_gone(store: Store, tmp_path: Path) -> None:
    """Who reads the database of a server is told where the files are, and not to make them again."""
    [run] = write(store, tmp_path, [{}])
    with sqlite3.connect(store.address.file) as database:
        database.execute("UPDATE runs SET artifact_uri = ?", (f"mlflow-artifacts:/1/{run}/artifacts",))
    with pytest.raises(StoreUnusable, match="lie behind a server; name that one with --store"):
        read_predictions(store.address, task="cora")


@pytest.mark.parametrize("place", [None, b"\xff", 12])
def test_place_that_is_no_text_is_none(store: Store, tmp_path: Path, place: object) -> None:
    write(store, tmp_path, [{}])
    with sqlite3.connect(store.address.file) as database:
        database.execute("UPDATE runs SET artifact_uri = ?", (place,))
    with pytest.raises(BadValue, match="none"):
        read_predictions(store.address, task="cora")


@pytest.mark.slow
def test_server_gives_what_its_database_gives(store: Store, tmp_path: Path) -> None:
    with mlflow_server(store.address.file, tmp_path) as uri, open_store(uri) as served:
        write(served, tmp_path, [{"model": model, "seed": seed} for model in ("GCN", "GAT") for seed in (0, 1)])
        found = read_predictions(parse_address(uri), task="cora")
    assert (found.outputs.shape, bool(found.mask.all())) == ((2, 2, 3, N_CLASSES), True)


def test_neither_torch_nor_mlflow_is_imported(store: Store, tmp_path: Path) -> None:
    write(store, tmp_path, [{}])
    code = (
        "import sys, gnz_track\n"
        "assert gnz_track.read_predictions(sys.argv[1], task='cora').mask.all()\n"
        "print([name for name in ('torch', 'mlflow', 'matplotlib') if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", code, str(store.address.file)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "[]\n"
