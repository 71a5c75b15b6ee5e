"""Where reports come from: stores, parquet, other people's numbers; and what joins what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from score_tables import table_of
from torch_geometric.data import Data

from gnz_track import run_benchmark, task_from_dataset
from gnz_track.errors import BadValue, GnzError, NothingToCompare, UnknownName
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.joining import join_tables
from gnz_track.report.page.page import render_page
from gnz_track.store.address import parse_address
from gnz_track.store.listings import list_sweeps
from gnz_track.store.results_table import load_table, make_table, write_table
from gnz_track.store.sweep_manifest import read_plan, read_wanted_cells
from gnz_track.types import Task


def scores(n_tasks: int = 2, n_models: int = 2, n_seeds: int = 3, *, draw: int = 0) -> Any:
    return np.random.default_rng(draw).normal(0.8, 0.02, (n_tasks, n_models, n_seeds))


def tracked(first_seed: int = 0, draw: int = 0, prefix: str = "", **columns: Any) -> BenchmarkReport:
    """Return a report as a store gives it: runs, fingerprints, digests."""
    plain = table_of(scores(draw=draw))
    plain["seed"] += first_seed
    names = plain["task"] + plain["model"] + plain["seed"].astype(str)
    known = {
        "run_id": prefix + names,
        "fingerprint": "f" + names,
        "status": "finished",
        "dataset_digest": "d" + plain["task"],
        "split_digest": "s" + plain["task"] + plain["seed"].astype(str),
        "protocol": "graphnetz/1",
        "epochs": 10,
        "hyperparameters": "{}",
        **columns,
    }
    return BenchmarkReport.from_frame(plain.assign(**known))


def of_other_model(**columns: Any) -> BenchmarkReport:
    """Return somebody else's runs of one model."""
    table = tracked(prefix="theirs-").table
    return BenchmarkReport.from_frame(table[table["model"] == "m00"].assign(model="mine", fingerprint="", **columns))


def ring(name: str = "ring", n: int = 30) -> Task:
    generator = torch.Generator().manual_seed(0)
    edges = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    graph = Data(x=torch.randn(n, 4, generator=generator), edge_index=edges, y=torch.arange(n) % 2)
    return task_from_dataset(name, "node_cls", graph)


@pytest.fixture
def train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a call that trains a little and writes to a store of the test's own."""
    monkeypatch.setenv("GNZ_STORE", str(tmp_path / "gnz.db"))
    monkeypatch.setenv("GNZ_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("GNZ_MIRROR", raising=False)

    def train(**options: Any) -> BenchmarkReport:
        return run_benchmark(
            **{"tasks": [ring()], "models": ["MLP", "GCN"], "epochs": 2, "seeds": range(2), "verbose": False, **options}
        )

    return train


def test_store_gives_what_the_sweep_gave(train: Any) -> None:
    fresh = train()
    found = BenchmarkReport.from_store(sweep=fresh.config["sweep"])
    assert sorted(found.table["run_id"]) == sorted(fresh.table["run_id"])
    assert found.final_metrics() == fresh.final_metrics()
    assert found.histories == fresh.histories
    assert (found.seeds, found.config["cells_without_run"], found.not_merged) == ((0, 1), 0, ())
    assert BenchmarkReport.from_json(found.to_json()).histories == fresh.histories


def test_sweep_has_the_cells_that_others_had_finished(train: Any) -> None:
    first = train(models=["MLP"])
    second = train(seeds=range(3))
    assert set(second.table["sweep"]) == {first.config["sweep"], second.config["sweep"]}
    found = BenchmarkReport.from_store(sweep=second.config["sweep"])
    assert found.final_metrics() == second.final_metrics()
    wanted = read_plan("", second.config["sweep"])
    assert wanted is not None
    assert wanted.fingerprints == set(second.table["fingerprint"])
    alone = BenchmarkReport.from_store(sweep=first.config["sweep"])
    assert sorted(alone.table["run_id"]) == sorted(first.table["run_id"])


def test_without_its_plan_a_sweep_has_its_own_cells(train: Any, tmp_path: Path) -> None:
    train(models=["MLP"])
    second = train()
    plan = max(tmp_path.rglob("plan.json"), key=lambda file: file.stat().st_size)
    for text in ("[", '{"a": 1}', '["abc"]', '{"columns": ["task"], "cells": [["ring"]], "left_out": []}', None):
        plan.unlink() if text is None else plan.write_text(text)
        found = read_wanted_cells("", second.config["sweep"])
        assert set(found.table["sweep"]) == {second.config["sweep"]}
        assert found.n_without_run is None
    assert read_plan("", "no-such-sweep") is None


class Stops(torch.nn.Module):
    """Somebody types Ctrl-C while its second seed is trained."""

    task_types = frozenset({"node_cls"})
    n_built = 0

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int) -> None:
        super().__init__()
        Stops.n_built += 1
        del hidden_channels
        self.layer = torch.nn.Linear(in_channels, out_channels)

    def forward(self, data: Data) -> torch.Tensor:
        if Stops.n_built > 1:
            raise KeyboardInterrupt
        found: torch.Tensor = self.layer(data.x)
        return found


def test_cells_that_an_interrupt_left_undone_are_shown_as_missing(train: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(models=[Stops], seeds=range(4), executor="inline")
    [sweep] = {row.sweep for row in list_sweeps(parse_address(""))}
    found = BenchmarkReport.from_store(sweep=sweep)
    [cell] = found.comparison.tasks[0].cells
    assert (cell.n_planned, cell.n_finished, cell.n_missing) == (4, 1, 3)
    assert found.config["cells_without_run"] == 3
    assert set(found.table["metric"]) == {"accuracy"}
    assert "3 missing" in str(found.comparison)
    page = render_page(found)
    assert "1 of 4 cells finished" in page
    assert "3 missing of 4" in page


def test_pairs_left_out_before_training_are_told_from_the_store(train: Any) -> None:
    fresh = train(models=["MLP", "GIN"])
    found = BenchmarkReport.from_store(sweep=fresh.config["sweep"])
    assert found.config["left_out"] == tuple(fresh.config["left_out"])
    assert [item[:2] for item in found.config["left_out"]] == [("ring", "GIN")]
    assert "it serves graph_cls" in render_page(BenchmarkReport.from_json(found.to_json()))


def test_selections_of_a_store(train: Any) -> None:
    train(tasks=[ring(), ring("other", 40)], models=["MLP"])
    assert list(BenchmarkReport.from_store(task="ring")) == ["ring"]
    assert list(BenchmarkReport.from_store(experiment="gnz/custom/other")) == ["other"]
    found = BenchmarkReport.from_store(where={"task": ["ring", "other"], "seed": 1})
    assert (len(found), found.seeds) == (2, (1,))
    assert BenchmarkReport.from_store(suite="custom").config["suite"] == "custom"
    for options in ({"sweep": "none"}, {"task": "rings"}, {"where": {"model": "GAT"}}, {"suite": "x"}):
        with pytest.raises(UnknownName, match=r"unknown (sweep|task|model|suite) '.*'; (did you mean|known:)"):
            BenchmarkReport.from_store(**options)
    with pytest.raises(UnknownName, match="unknown model 'GAT'"):
        BenchmarkReport.from_store(where={"model": ["MLP", "GAT"]})
    with pytest.raises(NothingToCompare, match=r"no run in .* has task 'ring', where \{'seed': \[99\]\}"):
        BenchmarkReport.from_store(task="ring", where={"seed": 99})
    with pytest.raises(UnknownName, match="column"):
        BenchmarkReport.from_store(where={"modle": "GAT"})


def test_selection_over_sweeps_keeps_what_is_comparable(train: Any) -> None:
    train(seeds=range(3))
    train(seeds=range(1), epochs=3)
    train(seeds=range(2), hidden_channels=8, models=["GCN"])
    found = BenchmarkReport.from_store(task="ring")
    assert set(found.final_metrics()["ring"]) == {"MLP", "GCN", "GCN hidden_channels=8"}, "variants are told apart"
    assert len(found.not_merged) == 2
    assert {item.reason.split(" (run")[0] for item in found.not_merged} == {"epochs is '3' here and '2' in the report"}
    assert "GCN s0" in str(found.not_merged[0]) + str(found.not_merged[1])
    assert found.comparison.n_finished == 8


def test_parquet_ours_and_others(tmp_path: Path) -> None:
    found = tracked()
    write_table(found.table, tmp_path / "ours.parquet")
    pd.testing.assert_frame_equal(
        BenchmarkReport.from_parquet(tmp_path / "ours.parquet").table, load_table(tmp_path / "ours.parquet")
    )
    table_of(scores()).to_parquet(tmp_path / "theirs.parquet")
    theirs = BenchmarkReport.from_parquet(tmp_path / "theirs.parquet")
    assert theirs.final_metrics()["t01"]["m01"] == scores()[1, 1].tolist()
    (tmp_path / "no.parquet").write_text("x")
    for name in ("no.parquet", "none.parquet"):
        with pytest.raises(BadValue, match=r"parquet file"):
            BenchmarkReport.from_parquet(tmp_path / name)


def test_plain_numbers_are_filled_up_and_checked() -> None:
    plain = table_of(scores())
    plain.loc[0, "score"] = np.nan
    found = BenchmarkReport.from_frame(plain.assign(comment="x", seed=plain["seed"].astype(float)))
    assert list(found.table.columns) == list(make_table({}).columns)
    assert found.comparison["t00"].cells[0].n_missing == 1
    assert found["t01"] == {"m00": {}, "m01": {}}
    for bad, words in (
        (plain.drop(columns="direction"), "also has the column direction"),
        (plain.assign(direction="max"), "direction of t00 m00 s0 is 'max'; allowed: up"),
        (plain.assign(seed=0.5), "seed is '0.5'"),
        (plain.assign(score="high"), "score is 'high'"),
        (pd.concat([plain, plain]), "more than once"),
    ):
        with pytest.raises(GnzError, match=words):
            BenchmarkReport.from_frame(bad)


def test_more_seeds_and_models_join() -> None:
    base, more = tracked(), tracked(first_seed=3, draw=1)
    own = of_other_model()
    found = base.extend(more, own)
    assert found.not_merged == ()
    assert found.seeds == tuple(range(6))
    assert len(found.final_metrics()["t00"]["m01"]) == 6
    assert found.final_metrics()["t00"]["mine"] == base.final_metrics()["t00"]["m00"]
    assert len(base.table) == 12, "the report itself is left as it was"
    assert base.extend([more, own]).to_json() == found.to_json()


def test_the_same_cells_are_one_row() -> None:
    assert tracked().extend(tracked(prefix="again-")).table["run_id"].tolist() == tracked().table["run_id"].tolist()
    plain = BenchmarkReport.from_frame(table_of(scores()))
    assert len(plain.extend(plain).table) == 12
    assert plain.extend(plain).not_merged == ()


def test_a_finished_run_takes_the_place_of_a_failed_one() -> None:
    failed = tracked(status="failed", score=np.nan, prefix="failed-")
    for found in (failed.extend(tracked()), tracked().extend(failed)):
        assert len(found.table) == 12
        assert set(found.table["status"]) == {"finished"}
        assert found.not_merged == ()


@pytest.mark.parametrize(
    ("column", "value", "words"),
    [
        ("protocol", "other/1", "protocol is 'other/1' here and 'graphnetz/1' in the report (run t00m000)"),
        ("dataset_digest", "x", "dataset_digest is 'x' here and 'dt00' in the report (run t00m000)"),
        ("split_digest", "x", "split_digest is 'x' here and 'st000' in the report (run t00m000)"),
        ("epochs", 11, "epochs is '11' here and '10' in the report (run t00m000)"),
        (
            "hyperparameters",
            '{"lr": 1}',
            """hyperparameters is '{"lr": 1}' here and '{}' in the report (run t00m000)""",
        ),
        ("metric", "auc", "metric is 'auc' here and 'accuracy' in the report (run t00m000)"),
        ("direction", "down", "direction is 'down' here and 'up' in the report (run t00m000)"),
        ("fingerprint", "g", "another cell of this model, task and seed is in the report (run t00m000)"),
    ],
)
def test_what_is_not_comparable_is_listed(column: str, value: Any, words: str) -> None:
    changed: dict[str, Any] = {"fingerprint": "g" + tracked().table["fingerprint"], column: value}
    if column == "fingerprint":
        changed = {column: value + tracked().table["fingerprint"]}
    found = tracked().extend(tracked(prefix="late-", **changed))
    assert len(found.table) == 12
    assert len(found.not_merged) == 12
    first = found.not_merged[0]
    assert (first.task, first.model, first.seed, first.run_id, first.reason) == ("t00", "m00", 0, "late-t00m000", words)
    assert BenchmarkReport.from_json(found.to_json()).not_merged == found.not_merged
    assert found.comparison.n_finished == 12


def test_data_that_differ_for_another_model_do_not_join_either() -> None:
    found = tracked().extend(of_other_model(dataset_digest="x"))
    assert "mine" not in found.comparison.models
    assert len(found.not_merged) == 6


def test_two_scores_of_one_cell_are_not_hidden() -> None:
    found = tracked().extend(tracked(draw=1, prefix="late-"))
    assert len(found.not_merged) == 12
    assert "the same cell has the score" in found.not_merged[0].reason


def test_joining_nothing() -> None:
    table = tracked().table
    joined, left = join_tables(table, [])
    pd.testing.assert_frame_equal(joined, table)
    assert left == ()
    joined, left = join_tables(table[:0], [table])
    assert (len(joined), left) == (12, ())
    assert len(join_tables(table, [table[:0]])[0]) == 12
