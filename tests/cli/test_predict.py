"""``gnz predict`` lets the model of a past run answer its own data, others, and files; mistakes are one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gnz_track.store.cell_files.predictions import decode_predictions

Gnz = Callable[..., Any]


@pytest.fixture
def run_id(gnz: Gnz, tmp_path: Path) -> str:
    """Return a run with weights, of the first seed that no other test asks for."""
    call = ("run", "--task", "planted_partition", "--models", "GCN", "--seeds", "3", "--epochs", "3")
    assert gnz(*call, "--keep", "weights").code == 0
    [file] = tmp_path.rglob("model.safetensors")
    return file.parents[2].name


def test_own_data_files_and_what_is_refused(gnz: Gnz, run_id: str, tmp_path: Path) -> None:
    out = tmp_path / "found" / "predictions.parquet"
    found = gnz("predict", run_id[:8], "planted_partition", "--out", str(out))
    assert (found.code, found.err) == (0, "")
    assert f"GCN of planted_partition, run {run_id[:12]}, on planted_partition" in found.out
    assert "the data that it was trained on, split as then" in found.out
    [stored] = (tmp_path / "runs").rglob("predictions.parquet")
    assert out.read_bytes() == stored.read_bytes()
    file = tmp_path / "graph.npz"
    given = {"x": np.random.default_rng(0).normal(size=(5, 16)), "edge_index": np.array([[0, 1, 2], [1, 2, 3]])}
    np.savez(file, **given)
    asked = gnz("predict", run_id[:8], str(file), "--out", str(out), "--last")
    assert (asked.code, asked.err) == (0, "")
    [part] = decode_predictions(out.read_bytes())
    assert (part.part, part.outputs.shape) == ("all", (5, 4))
    for arguments, words in (
        ((run_id[:8], "csl_generated"), "features of nodes of the data is 1; allowed: 16, as the model of run"),
        (
            (run_id[:8], "planted_partitio"),
            "unknown task or dataset 'planted_partitio'; did you mean 'planted_partition'",
        ),
        ((run_id[:8], str(tmp_path / "nothing.npz")), "a file that exists"),
        (("abcdef12", "planted_partition"), "no id begins so"),
        ((run_id[:8], str(file), "--device", "cuda:77"), "cuda:77"),
        ((run_id[:8], str(file), "--out", str(tmp_path)), "--out"),
    ):
        refused = gnz("predict", *arguments)
        assert (refused.code, words in refused.err) == (2, True), refused.err
        assert len(refused.err.splitlines()) == 1
    np.savez(file, x=given["x"][:, :3], edge_index=given["edge_index"])
    refused = gnz("predict", run_id[:8], str(file))
    assert (refused.code, "allowed: float32 [-1, 16]" in refused.err) == (2, True)
    np.savez(file, edge_index=np.array([object()], dtype=object))
    assert "Python objects, which are never run" in gnz("predict", run_id[:8], str(file)).err
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    refused = gnz("predict", run_id[:8], str(tmp_path / "edges.csv"))
    assert (refused.code, "features of nodes of the data is 'none'; allowed: float32" in refused.err) == (2, True)


def test_run_without_weights_names_the_command_that_makes_them(gnz: Gnz, tmp_path: Path) -> None:
    call = ("--task", "planted_partition", "--models", "MLP", "--seeds", "3", "--epochs", "2")
    assert gnz("run", *call).code == 0
    [file] = tmp_path.rglob("predictions.parquet")
    run_id = file.parents[1].name
    refused = gnz("predict", run_id, "planted_partition")
    assert (refused.code, f"make them: gnz reproduce {run_id[:12]} --keep weights" in refused.err) == (2, True), (
        refused.err
    )
    made = gnz("reproduce", run_id, "--keep", "weights")
    assert made.code == 0, made.err
    assert "model/model.safetensors" in made.out
    assert gnz("predict", run_id, "planted_partition", "--out", str(tmp_path / "p.parquet")).code == 0


def test_best_alone_keeps_weights(gnz: Gnz, tmp_path: Path) -> None:
    call = ("--task", "planted_partition", "--models", "GCN,MLP", "--seeds", "0-2", "--epochs", "2")
    assert gnz("run", *call, "--keep", "best").code == 0
    assert len(list(tmp_path.rglob("model.safetensors"))) == 2
    refused = gnz("run", *call, "--keep", "bets")
    assert (refused.code, "did you mean 'best'" in refused.err) == (2, True)
