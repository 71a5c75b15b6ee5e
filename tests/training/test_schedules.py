"""When the learning rate falls and when training is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from gnz_track.errors import BadValue
from gnz_track.training.loop import Clock, make_schedule, train, watches_loss
from gnz_track.training.metrics import METRICS
from gnz_track.types import Optimiser, Selection

PLATEAU = Optimiser(lr=5e-4, schedule="plateau", factor=0.5, patience=5, min_lr=1e-6)


def _adam(settings: Optimiser) -> torch.optim.Optimizer:
    return torch.optim.Adam([torch.zeros(1, requires_grad=True)], lr=settings.lr)


def _rates(settings: Optimiser, losses: list[float]) -> list[float]:
    """Return the learning rate after each epoch, up to the one that ends training."""
    optimiser, found = _adam(settings), []
    schedule = make_schedule(optimiser, settings)
    for loss in losses:
        is_over = schedule.end_epoch({"val/loss": loss})
        found.append(optimiser.param_groups[0]["lr"])
        if is_over:
            break
    return found


def test_a_flat_loss_ends_training_after_nine_halvings_of_six_epochs() -> None:
    rates = _rates(PLATEAU, [2.3] * 1000)
    assert len(rates) == 55
    # The first epoch is better than none; then every sixth one halves.
    assert rates == pytest.approx([5e-4 * 0.5 ** ((epoch) // 6) for epoch in range(55)])
    assert rates[-1] < PLATEAU.min_lr <= rates[-2]


def test_a_falling_loss_keeps_the_rate_and_one_bad_stretch_lowers_it_once() -> None:
    assert set(_rates(PLATEAU, [1 / (1 + epoch) for epoch in range(100)])) == {5e-4}
    stretch = [1.0, *[2.0] * 6, *[0.9 - 0.01 * epoch for epoch in range(20)]]
    assert _rates(PLATEAU, stretch) == [5e-4] * 6 + [2.5e-4] * 21


@pytest.mark.parametrize(("name", "better"), [("hits_at_50", 1), ("mae", -1)])
def test_a_score_that_gets_no_better_lowers_the_rate(name: str, better: int) -> None:
    settings, metric = replace(PLATEAU, schedule="score_plateau", patience=2), METRICS.get(name)

    def rates(scores: list[float]) -> list[float]:
        optimiser = _adam(settings)
        schedule = make_schedule(optimiser, settings, metric=metric)
        found = []
        for score in scores:
            schedule.end_epoch({f"val/{name}": score, "val/loss": 0.0})
            found.append(optimiser.param_groups[0]["lr"] / settings.lr)
        return found

    assert rates([5.0 + better * epoch for epoch in range(8)]) == [1.0] * 8
    assert rates([5.0 - better * epoch for epoch in range(7)]) == [1.0] * 3 + [0.5] * 3 + [0.25]
    assert not watches_loss(settings)


def test_a_score_that_no_metric_names_is_an_error() -> None:
    with pytest.raises(BadValue, match="the metric of schedule 'score_plateau'"):
        make_schedule(_adam(PLATEAU), replace(PLATEAU, schedule="score_plateau"))


def test_a_constant_rate_watches_nothing() -> None:
    assert not watches_loss(Optimiser(lr=0.1))
    assert watches_loss(PLATEAU)
    assert make_schedule(_adam(PLATEAU), Optimiser(lr=0.1)).end_epoch({}) is False


def test_an_unknown_schedule_is_an_error() -> None:
    with pytest.raises(BadValue, match="schedule is 'cosine'; allowed: constant, plateau"):
        make_schedule(_adam(PLATEAU), replace(PLATEAU, schedule="cosine"))


def test_the_clock_stops_at_its_time_and_without_one_never() -> None:
    assert not Clock(0.0).is_over()
    assert not Clock(1.0).is_over()
    assert Clock(1e-12).is_over()


def test_training_ends_where_the_schedule_or_the_clock_says(toy: Any) -> None:
    # A rate that is too small from the start is noticed once it has been lowered.
    settings = toy.settings(optimiser=replace(PLATEAU, lr=1e-9, patience=0, batch_size=10), epochs=50)
    torch.manual_seed(0)
    trained = train(toy.model(), toy.objective, toy.scorers, settings, batch_seed=5)
    assert len(trained.series["val/loss"]) == len(trained.series["train/loss"]) < 50
    assert trained.selected_epoch == len(trained.series["train/loss"]) - 1
    out_of_time = train(toy.model(), toy.objective, toy.scorers, toy.settings(hours=1e-12), batch_seed=5)
    assert len(out_of_time.series["train/loss"]) == 1
    assert "val/loss" not in out_of_time.series


def test_the_validation_loss_is_what_training_would_minimise_there(toys: dict[str, Callable[[], Any]]) -> None:
    toy = toys["nodes"]()
    torch.manual_seed(0)
    model = toy.model()
    trained = train(model, toy.objective, toy.scorers, toy.settings(optimiser=replace(PLATEAU, lr=0.02)), batch_seed=5)
    scorer = toy.scorers["val"]
    logits = model.eval()(toy.objective.data)[scorer.rows]
    expected = torch.nn.functional.cross_entropy(logits, scorer.labels).item()
    assert trained.series["val/loss"][-1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("selection", list(Selection))
def test_the_best_validation_epoch_is_scored_beside_the_selected_one(toy: Any, selection: Selection) -> None:
    torch.manual_seed(0)
    settings = toy.settings(also=("best_validation",), selection=selection)
    trained = train(toy.model(), toy.objective, toy.scorers, settings, batch_seed=5)
    sign = 1 if METRICS.get(settings.metric).direction == "up" else -1
    validation = [sign * value for value in trained.series[f"val/{toy.metric}"]]
    best = validation.index(max(validation))
    scores = trained.scores["test"]
    assert scores[f"{toy.metric}_at_best_validation"] == trained.series[f"test/{toy.metric}"][best]
    assert scores[toy.metric] == trained.series[f"test/{toy.metric}"][trained.selected_epoch]


def test_training_examples_are_scored_at_the_end_where_asked(toys: dict[str, Callable[[], Any]]) -> None:
    toy = toys["graph_classes"]()
    objective = toy.objective
    scorer = replace(toy.scorers["val"], rows=torch.arange(objective.train.numel()), labels=objective.labels)
    torch.manual_seed(0)
    model = toy.model()
    trained = train(
        model, objective, {"training": scorer, **toy.scorers}, toy.settings(also=("training",)), batch_seed=5
    )
    assert not any(name.startswith("training/") for name in trained.series)
    assert list(trained.scores) == ["test"]
    batch = next(iter(objective.graphs.batches(objective.train, 1000)))[0]
    right = model.eval()(batch).argmax(dim=1) == objective.labels
    assert trained.scores["test"]["accuracy_on_training"] == right.double().mean().item()


def test_nothing_else_can_be_scored(toys: dict[str, Callable[[], Any]]) -> None:
    toy = toys["nodes"]()
    with pytest.raises(BadValue, match="is 'median'; allowed: best_validation, training"):
        train(toy.model(), toy.objective, toy.scorers, toy.settings(also=("median",)), batch_seed=5)
