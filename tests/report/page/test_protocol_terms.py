"""What the methods say of protocols: the numbers that training has, and nothing of protocols without any."""

from __future__ import annotations

import re

import pandas as pd
import pytest

from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import describe
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.page.figures import FigureSet
from gnz_track.report.page.methods import AWAITED, CONSTANT, write_protocol_terms
from gnz_track.report.page.page import render_page
from gnz_track.runs.protocol_resolution import given_to, resolve
from gnz_track.store.run_record import check_hyperparameters
from gnz_track.training import loop as schedules
from gnz_track.training.protocols import PROTOCOLS


def _row(task: str, model: str = "DeepGCN", protocol: str = "dwivedi-100k", **changed: object) -> dict[str, object]:
    """Return what the results table says of a cell as a plan makes it."""
    posed, how = TASKS.get(task), PROTOCOLS.get(protocol)
    given = check_hyperparameters(tuple(given_to(describe(model), how, posed).items()))
    facts = {"task_type": str(posed.task_type), "dataset": posed.dataset, "protocol": how.label, "epochs": 1000}
    return {"task": task, "model": model, "hyperparameters": given, **facts, **changed}


def _said(*rows: dict[str, object]) -> list[str]:
    return list(write_protocol_terms(pd.DataFrame(rows)))


def test_budget_and_schedule_are_those_of_the_protocol() -> None:
    (said,) = _said(_row("zinc"), _row("zinc", "DeepGAT"))
    assert said == (
        "Under the protocol dwivedi-100k@1, every network had on each task the width at which it has about 100,000 "
        "parameters, within 5 %; the learning rate began at 0.001 and was multiplied by 0.5 after more than 10 epochs "
        "without a smaller validation loss, and training ended once it was below 1e-05, or after 1000 epochs or 12 "
        "hours."
    )


@pytest.mark.parametrize("name", [name for name in PROTOCOLS.names() if name.startswith("dwivedi")])
def test_numbers_are_those_that_a_cell_is_trained_with(name: str) -> None:
    how = PROTOCOLS.get(name)
    for task in (TASKS.get(row) for row in ("zinc", "csl", "sbm_pattern", "tsp", "proteins") if row in TASKS):
        trained = resolve(how, task)
        (optimiser,) = trained.optimisers.values()
        (said,) = _said(_row(task.name, protocol=name))
        own = given_to(describe("DeepGCN"), how, task)
        rate = own.get("lr", optimiser.lr)
        assert f"about {how.budget:,} parameters" in said
        assert f"began at {rate:g} and was multiplied by {optimiser.factor:g} after more than" in said
        assert f"{optimiser.patience} epochs without" in said
        assert f"below {optimiser.min_lr:g}, or after 1000 epochs or {trained.hours:g} hours." in said


def test_numbers_that_differ_are_given_from_the_smallest_to_the_largest() -> None:
    (said,) = _said(_row("zinc"), _row("csl", epochs=500), _row("zinc", "RingGNN"))
    assert "began at 0.0005 to 0.001 and" in said
    assert "more than 5 to 10 epochs" in said
    assert "below 1e-06 to 1e-05, or after 500 to 1000 epochs or 1.2 to 12 hours." in said


def test_schedules_that_wait_for_other_things_are_told_by_task() -> None:
    (said,) = _said(_row("zinc"), _row("ogbl_collab", epochs=500))
    assert "; on zinc the learning rate began" in said
    assert re.search("; on ogbl_collab the learning rate .* without a better score on validation", said)


def test_every_schedule_has_its_words() -> None:
    assert {*AWAITED, CONSTANT} == set(schedules.SCHEDULES)


def test_several_protocols_have_a_sentence_each_and_others_none() -> None:
    large = _row("zinc", protocol="dwivedi-500k-pe")
    said = _said(_row("zinc"), large, _row("cora", "GCN", "graphnetz"), _row("cora", "GCN", "best-val"))
    assert [one.split(",")[0].rpartition(" ")[2] for one in said] == ["dwivedi-100k@1", "dwivedi-500k-pe@1"]
    assert "about 500,000 parameters" in said[1]
    for label in ("dwivedi-100k@0", ""):
        assert _said({**_row("zinc"), "protocol": label}) == [], "its numbers are not known here"
    (said,) = _said({**_row("zinc"), "hyperparameters": "no JSON"}, {**_row("zinc"), "task_type": "other"})
    assert said.endswith("about 100,000 parameters, within 5 %."), "what is not known of cells is not told"
    assert list(write_protocol_terms(pd.DataFrame([{"task": "zinc", "model": "GCN"}]))) == []


def test_hyperparameters_of_a_model_are_not_taken_for_those_of_training() -> None:
    own = _row("zinc", hyperparameters='{"factor": 7, "schedule": "mine", "lr": 0.25, "patience": "long"}', epochs=20.0)
    (said,) = _said(own)
    assert "began at 0.25 and was multiplied by 0.5 after more than 10 epochs" in said
    assert "or after 20 epochs" in said


def test_page_has_the_sentence() -> None:
    rows = [
        {**_row("zinc", model), "seed": seed, "score": 0.5 + seed / 100, "metric": "mae", "direction": "down"}
        for model in ("DeepGCN", "DeepGAT")
        for seed in range(3)
    ]
    page = render_page(BenchmarkReport.from_frame(pd.DataFrame(rows)), figures=FigureSet(figures=()))
    assert "about 100,000 parameters, within 5 %; the learning rate began at 0.001" in " ".join(page.split())
