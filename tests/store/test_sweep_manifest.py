"""How a sweep's own run says what it was about, and the views that its experiments have of it."""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest
from cells import REGRESSION, TASK, context_of, failed_record, record

from gnz_track.stats import rank_table
from gnz_track.store.reader import read_table
from gnz_track.store.run_record import RunRecord
from gnz_track.store.schema import PLAN_FILE
from gnz_track.store.sweep_manifest import (
    PLAN_COLUMNS,
    SweepPlan,
    conclude_sweep,
    is_concluded,
    plan_from_json,
    plan_to_json,
)
from gnz_track.store.writer import Store


def plan_of(records: Iterable[RunRecord]) -> str:
    rows = ({**{name: getattr(one, name, 0) for name in PLAN_COLUMNS}, "epochs": 200} for one in records)
    return plan_to_json(SweepPlan(cells=tuple({**row, "direction": str(row["direction"])} for row in rows)))


def records_of(sweep: str = "first", seeds: tuple[int, ...] = (0, 1)) -> list[RunRecord]:
    context = context_of(sweep)
    models = ("GCN", "GAT", "GraphSAGE")
    return [
        record(seed, model=model, task=task, context=context)
        for task in (TASK, REGRESSION)
        for model in models
        for seed in seeds
    ]


def test_run_of_a_sweep_says_how_each_model_did(store: Store) -> None:
    records = [*records_of(), failed_record(2, model="GAT", context=context_of())]
    run_id = store.open_sweep(context_of())
    for one in records:
        store.finish(one)
    conclude_sweep(store, "quick", "first", run_id=run_id, plan=plan_of(records))
    run = store.tracking.get_run(run_id).data
    expected = {"tasks": "cora, zinc", "models": "GAT, GCN, GraphSAGE", "seeds": "0, 1, 2", "protocol": "best-val@2"}
    assert run.params == expected
    assert (run.metrics["cells/finished"], run.metrics["cells/failed"]) == (12, 1)
    rows = read_table(store.address)
    means = rows[rows["status"] == "finished"].groupby(["task", "model"])["score"].mean().unstack()
    assert run.metrics["mean/accuracy/GCN"] == pytest.approx(means.loc["cora", "GCN"])
    assert run.metrics["mean/mae/GraphSAGE"] == pytest.approx(means.loc["zinc", "GraphSAGE"])
    ranks = rank_table(means.to_numpy(), ["up", "down"], models=list(means), tasks=list(means.index))
    assert {model: run.metrics[f"rank/{model}"] for model in means} == dict(
        zip(ranks.models, ranks.mean_ranks, strict=True)
    )


def test_concluding_again_changes_no_param(store: Store) -> None:
    for seeds in ((0,), (0, 1)):
        run_id = store.open_sweep(context_of())
        records = records_of(seeds=seeds)
        for one in records:
            store.finish(one)
        conclude_sweep(store, "quick", "first", run_id=run_id, plan=plan_of(records))
    run = store.tracking.get_run(run_id).data
    assert run.params["seeds"] == "0"
    assert run.metrics["cells/finished"] == 12


def test_each_task_has_a_view_of_the_sweep_with_its_models_folded(store: Store) -> None:
    run_id, records = store.open_sweep(context_of()), records_of()
    for one in records:
        store.finish(one)
    conclude_sweep(store, "quick", "first", run_id=run_id, plan=plan_of(records))
    for task, score, is_rising in (("cora", "accuracy", False), ("zinc", "mae", True)):
        tags = store.tracking.get_experiment_by_name(f"gnz/quick/{task}").tags
        view = json.loads(tags["mlflow.sharedViewState.gnz-first"])
        state = json.loads(view["state"])
        assert (view["name"], state["orderByKey"]) == ("first by model", f"metrics.`test/{score}`")
        assert state["orderByAsc"] is is_rising
        assert state["searchFilter"] == "tags.`gnz.counts` = 'yes' AND tags.`gnz.sweep` = 'first'"
        assert state["groupsExpanded"] == {f"param.model.{model}": False for model in ("GAT", "GCN", "GraphSAGE")}


def test_view_of_a_sweep_shows_what_earlier_sweeps_had_finished(store: Store) -> None:
    for one in records_of():
        store.finish(one)
    run_id, more = store.open_sweep(context_of("second")), records_of("second", (2,))
    for one in more:
        store.finish(one)
    conclude_sweep(store, "quick", "second", run_id=run_id, plan=plan_of([*records_of(), *more]))
    tags = store.tracking.get_experiment_by_name("gnz/quick/cora").tags
    state = json.loads(json.loads(tags["mlflow.sharedViewState.gnz-second"])["state"])
    assert state["searchFilter"] == "tags.`gnz.counts` = 'yes' AND tags.`gnz.protocol` = 'best-val@2'"
    assert store.tracking.get_run(run_id).data.metrics["cells/finished"] == 18


def test_sweep_is_concluded_with_its_own_plan_while_its_table_is_true(store: Store) -> None:
    run_id, records = store.open_sweep(context_of()), records_of()
    for one in records:
        store.finish(one)
    plan, other = plan_of(records), plan_of(records[:-1])
    assert not is_concluded(store.address, "first", plan=plan), "its run is running"
    store.write_text(run_id, PLAN_FILE, plan)
    conclude_sweep(store, "quick", "first", run_id=run_id, plan=plan)
    store.close_sweep(run_id)
    assert is_concluded(store.address, "first", plan=plan)
    assert not is_concluded(store.address, "first", plan=other)
    assert not is_concluded(store.address, "second", plan=plan)
    running = store.start(record(9, context=context_of("second")))
    assert not is_concluded(store.address, "first", plan=plan), "another run may have to be ended"
    store.kill(running, "Killed: by a test")
    assert is_concluded(store.address, "first", plan=plan)
    store.tracking.delete_run(read_table(store.address)["run_id"].iloc[0])
    assert not is_concluded(store.address, "first", plan=plan), "its table names a run that is gone"


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"columns": ["task"], "cells": [["cora"]], "left_out": []}'])
def test_plan_that_was_cut_is_none(text: str) -> None:
    assert plan_from_json(text) is None


def test_sweep_whose_tasks_have_no_model_in_common_has_no_ranks(store: Store) -> None:
    run_id, context = store.open_sweep(context_of()), context_of()
    records = [record(0, model="GCN", context=context), record(0, model="GAT", task=REGRESSION, context=context)]
    for one in records:
        store.finish(one)
    conclude_sweep(store, "quick", "first", run_id=run_id, plan=plan_of(records))
    names = store.tracking.get_run(run_id).data.metrics
    assert {"mean/accuracy/GCN", "mean/mae/GAT"} <= set(names)
    assert not [name for name in names if name.startswith("rank/")]
