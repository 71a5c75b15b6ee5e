"""The loop: it learns, it repeats itself bit for bit, it stops where it should, and it says why it cannot go on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gnz_track.errors import Diverged, ScoreUndefined
from gnz_track.training.acceleration import accelerate
from gnz_track.training.loop import Trained, train
from gnz_track.training.metrics import METRICS
from gnz_track.types import CellSettings, Optimiser, Selection, TaskType

Toys = dict[str, Callable[[], Any]]
BEST = Selection.best_validation


GOOD = {"accuracy": 0.8, "average_precision": 0.9, "auc": 0.7, "mae": 0.6}


def _train(
    toy: Any, *, parts: tuple[str, ...] = ("val", "test"), is_fast: bool = False, batch_seed: int = 5, **changes: Any
) -> Trained:
    torch.manual_seed(1)
    model = accelerate(toy.model()) if is_fast else toy.model()
    return train(
        model,
        toy.objective,
        {part: toy.scorers[part] for part in parts},
        toy.settings(**changes),
        batch_seed=batch_seed,
    )


def test_training_learns(toy: Any) -> None:
    trained = _train(toy, epochs=60)
    losses, score = trained.series["train/loss"], trained.scores["test"][toy.metric]
    assert losses[-1] < 0.8 * losses[0]
    assert METRICS.get(toy.metric).direction.better(score, GOOD[toy.metric]), (losses[0], losses[-1], score)
    assert trained.seconds_per_epoch > 0


def test_the_same_settings_give_the_same_bits(toy: Any) -> None:
    first, second = (_train(toy, epochs=8) for _ in range(2))
    assert first.series == second.series
    assert first.scores == second.scores


def test_scoring_on_test_changes_nothing_else(toy: Any) -> None:
    with_test, without = _train(toy, selection=BEST), _train(toy, selection=BEST, parts=("val",))
    assert with_test.series.keys() - without.series.keys() == {f"test/{toy.metric}"}
    assert all(with_test.series[name] == values for name, values in without.series.items())
    assert with_test.selected_epoch == without.selected_epoch


@pytest.mark.parametrize("selection", Selection)
def test_the_score_is_that_of_the_selected_epoch(toy: Any, selection: Selection) -> None:
    trained = _train(toy, selection=selection)
    series = trained.series[f"test/{toy.metric}"]
    assert trained.scores["test"][toy.metric] == series[trained.selected_epoch]
    if selection is Selection.last_epoch:
        assert trained.selected_epoch == 29
    else:
        validation = trained.series[f"val/{toy.metric}"]
        best = max(validation) if METRICS.get(toy.metric).direction == "up" else min(validation)
        assert trained.selected_epoch == validation.index(best)


@pytest.mark.parametrize(
    ("name", "is_random"),
    [("graph_classes", True), ("graph_numbers", True), ("triples", True), ("nodes", False), ("links", False)],
)
def test_the_batch_seed_decides_batches_and_negatives_alone(toys: Toys, name: str, *, is_random: bool) -> None:
    toy = toys[name]()
    one, other = (_train(toy, epochs=4, batch_seed=seed).series["train/loss"] for seed in (1, 2))
    assert (one != other) == is_random


def test_batches_do_not_depend_on_the_global_generator(toys: Toys) -> None:
    toy = toys["graph_numbers"]()
    series = []
    for drawn in (0, 5):
        torch.manual_seed(1)
        model = toy.model()
        torch.rand(drawn)
        series.append(train(model, toy.objective, toy.scorers, toy.settings(epochs=3), batch_seed=5).series)
    assert series[0] == series[1]


def test_acceleration_changes_no_more_than_rounding(toy: Any) -> None:
    own, fast = (_train(toy, epochs=5, is_fast=is_fast).series["train/loss"] for is_fast in (False, True))
    assert fast == pytest.approx(own, rel=1e-4)


class _Counter(nn.Module):
    """One number that falls by the learning rate at every step, so that it tells how often it was stepped."""

    def __init__(self) -> None:
        super().__init__()
        self.number = nn.Parameter(torch.zeros(1, 1))
        self.register_buffer("n_calls", torch.zeros(1))

    def forward(self) -> Tensor:
        self.n_calls += self.training
        return self.number


LR = 0.125


class _Counting:
    """The objective of a counter; it may leave the numbers at an epoch."""

    def __init__(self, *, bad_loss: int = -1, bad_prediction: int = -1, value: float = math.nan) -> None:
        self.bad_loss, self.bad_prediction, self.value = bad_loss, bad_prediction, value
        self.modes: list[bool] = []

    def batches(self, _: torch.Generator) -> Iterator[None]:
        yield None

    def loss(self, model: Any, _: None) -> tuple[Tensor, int]:
        self.modes.append(model.training)
        number = model()
        return number.sum() * (self.value if _epoch(number) + 1 == self.bad_loss else 1.0), 1

    def predict(self, model: Any) -> Tensor:
        self.modes.append(model.training)
        number = model()
        return number * (self.value if _epoch(number) == self.bad_prediction else 1.0)


def _epoch(prediction: Tensor) -> int:
    return round(-prediction.item() / LR) - 1


class _Scripted:
    """Scores each epoch as written."""

    def __init__(self, *scores: float) -> None:
        self.scores = scores

    def score(self, model: nn.Module, prediction: Tensor, metric: str) -> float:
        assert not model.training
        assert not torch.is_grad_enabled()
        assert metric in METRICS
        return self.scores[_epoch(prediction)]

    def score_fully(self, model: nn.Module, prediction: Tensor) -> Mapping[str, float]:
        return {name: self.score(model, prediction, name) for name in ("accuracy", "mae")}


def _settings(epochs: int, **changes: Any) -> CellSettings:
    given = {
        "optimiser": Optimiser(lr=LR),
        "selection": BEST,
        "metric": "accuracy",
    }
    return CellSettings(task_type=TaskType.node_cls, seed=0, epochs=epochs, **{**given, **changes})


def _run(*scores: float, objective: Any = None, **changes: Any) -> tuple[Trained, _Counter]:
    model = _Counter()
    scorers = {"val": _Scripted(*scores), "test": _Scripted(*(-score for score in scores))}
    return train(model, objective or _Counting(), scorers, _settings(len(scores), **changes), batch_seed=0), model


UP_AND_DOWN = (0.1, 0.5, 0.5, 0.4, 0.3, 0.9, 0.2)


@pytest.mark.parametrize(
    ("patience", "n_epochs", "selected"), [(0, 7, 5), (1, 3, 1), (2, 4, 1), (3, 5, 1), (4, 7, 5), (9, 7, 5)]
)
def test_patience_counts_epochs_without_a_better_score(patience: int, n_epochs: int, selected: int) -> None:
    trained, model = _run(*UP_AND_DOWN, patience=patience)
    assert trained.series["val/accuracy"] == list(UP_AND_DOWN[:n_epochs])
    assert {len(values) for values in trained.series.values()} == {n_epochs}
    assert trained.selected_epoch == selected == _epoch(model.number)
    assert trained.scores["test"]["accuracy"] == -UP_AND_DOWN[selected]
    # Buffers go back with the parameters.
    assert model.n_calls.item() == selected + 1


def test_down_means_down() -> None:
    trained, model = _run(0.4, 0.2, 0.3, 0.2, 0.5, metric="mae", patience=3)
    assert trained.selected_epoch == 1 == _epoch(model.number)
    assert len(trained.series["val/mae"]) == 5


def test_the_last_epoch_is_the_last_whatever_the_scores_and_the_patience() -> None:
    trained, model = _run(*UP_AND_DOWN, selection=Selection.last_epoch, patience=1)
    assert trained.selected_epoch == len(UP_AND_DOWN) - 1 == _epoch(model.number)
    assert trained.series["val/accuracy"] == list(UP_AND_DOWN)


def test_selection_by_validation_needs_no_test_part() -> None:
    model = _Counter()
    trained = train(model, _Counting(), {"val": _Scripted(*UP_AND_DOWN)}, _settings(7), batch_seed=0)
    assert trained.scores["val"]["accuracy"] == 0.9
    assert trained.series.keys() == {"train/loss", "val/accuracy"}


def test_a_model_trains_in_training_mode_and_predicts_in_the_other() -> None:
    objective = _Counting()
    _run(0.1, 0.2, 0.3, objective=objective, selection=Selection.last_epoch)
    assert objective.modes[:6] == [True, False] * 3
    assert not any(objective.modes[6:])


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("what", ["bad_loss", "bad_prediction"])
def test_a_loss_or_a_prediction_that_leaves_the_numbers_names_the_epoch(what: str, value: float) -> None:
    trained, objective = Trained(), _Counting(**{what: 2}, value=value)
    scorers = {"val": _Scripted(*UP_AND_DOWN)}
    with pytest.raises(Diverged, match="at epoch 2") as caught:
        train(_Counter(), objective, scorers, _settings(7), batch_seed=0, trained=trained)
    assert caught.value.epoch == 2
    # What was measured before is kept.
    assert trained.series["val/accuracy"] == list(UP_AND_DOWN[:2])


def test_a_learning_rate_far_too_large_diverges(toys: Toys) -> None:
    with pytest.raises(Diverged):
        _train(toys["graph_numbers"](), epochs=40, optimiser=Optimiser(lr=1e12))


def test_an_undefined_validation_score_is_an_error_where_it_selects() -> None:
    with pytest.raises(ScoreUndefined, match="'accuracy' is nan on the val part"):
        _run(0.1, math.nan, 0.3)


@pytest.mark.parametrize("selection", Selection)
def test_an_undefined_final_score_is_an_error(selection: Selection) -> None:
    scorers = {"val": _Scripted(0.1, 0.2), "test": _Scripted(0.5, math.nan)}
    with pytest.raises(ScoreUndefined, match="'accuracy' is nan on the test part"):
        train(_Counter(), _Counting(), scorers, _settings(2, selection=selection), batch_seed=0)


def test_further_scores_that_are_undefined_are_left_out() -> None:
    class Further(_Scripted):
        def score_fully(self, model: nn.Module, prediction: Tensor) -> Mapping[str, float]:
            return {**super().score_fully(model, prediction), "auc": math.nan}

    trained = train(_Counter(), _Counting(), {"val": Further(0.1, 0.2)}, _settings(2), batch_seed=0)
    assert trained.scores["val"] == {"accuracy": 0.2, "mae": 0.2}


def test_the_loss_of_an_epoch_is_the_mean_over_its_examples(toys: Toys) -> None:
    toy = toys["graph_numbers"]()
    torch.manual_seed(1)
    model = toy.model()
    frozen = train(
        model,
        toy.objective,
        {"val": toy.scorers["val"]},
        toy.settings(epochs=1, optimiser=Optimiser(lr=0.0)),
        batch_seed=5,
    )
    generator = torch.Generator().manual_seed(5)
    losses = [toy.objective.loss(model.train(), batch) for batch in toy.objective.batches(generator)]
    expected = sum(loss.item() * n for loss, n in losses) / sum(n for _, n in losses)
    assert frozen.series["train/loss"] == [pytest.approx(expected, rel=1e-12)]


def test_weight_decay_reaches_the_optimiser() -> None:
    model = _Counter()
    nn.init.constant_(model.number, 10.0)
    optimiser = Optimiser(lr=LR, weight_decay=1.0)
    objective = _Counting(bad_loss=10**9)
    objective.loss = lambda model, _: (0.0 * model().sum(), 1)  # type: ignore[method-assign]
    scorers = {"val": _Scripted(*[0.0] * 200)}
    train(model, objective, scorers, _settings(1, optimiser=optimiser, selection=Selection.last_epoch), batch_seed=0)
    assert model.number.item() == pytest.approx(10.0 - LR)
