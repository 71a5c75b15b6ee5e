"""The one training loop."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from gnz_track.errors import Diverged, ScoreUndefined
from gnz_track.training.objectives import Objective
from gnz_track.training.scorers import Scorer
from gnz_track.types import Metric, Optimiser, Selection

__all__ = ["Observer", "Settings", "Trained", "train"]


# Told of each epoch: its number, and the value of each series.
Observer = Callable[[int, Mapping[str, float]], None]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How to train: optimiser, number of epochs, which epoch to select, and by which metric.

    ``batch_seed`` alone decides the order of batches and the sampled negatives.
    """

    epochs: int
    optimiser: Optimiser
    selection: Selection
    patience: int
    metric: Metric
    batch_seed: int


@dataclass(kw_only=True)
class Trained:
    """What training leaves: one value per epoch and series, and the scores of the selected epoch by part."""

    series: dict[str, list[float]] = field(default_factory=dict)
    scores: dict[str, Mapping[str, float]] = field(default_factory=dict)
    selected_epoch: int = -1
    seconds_per_epoch: float = math.nan


def train(
    model: nn.Module,
    objective: Objective,
    scorers: Mapping[str, Scorer],
    settings: Settings,
    *,
    trained: Trained | None = None,
    observe: Observer | None = None,
) -> Trained:
    """Train a model and score it once an epoch on each part of ``scorers`` (``"val"``, ``"test"``).

    The objective never meets a scorer. The last part is the one reported: all metrics of the task type are computed for
    it, some of which cost more than an epoch. Where selection is by validation, the model ends in its selected state.
    ``trained`` is filled as training goes, so that its series survive an error; ``observe`` is told of every epoch.
    """
    trained, best = Trained() if trained is None else trained, _Best(settings)
    optimiser = torch.optim.Adam(
        model.parameters(), lr=settings.optimiser.lr, weight_decay=settings.optimiser.weight_decay, fused=True
    )
    generator = torch.Generator().manual_seed(settings.batch_seed)
    started = time.perf_counter()
    for epoch in range(settings.epochs):
        row = {"train/loss": _step_through(model, objective, optimiser, generator, epoch)}
        prediction = _predict(model, objective, epoch)
        row |= _score(model, prediction, scorers, settings.metric.name)
        for name, value in row.items():
            trained.series.setdefault(name, []).append(value)
        if observe is not None:
            observe(epoch, row)
        if best.update(epoch, row, model):
            break
    trained.seconds_per_epoch = (time.perf_counter() - started) / (epoch + 1)
    trained.selected_epoch = best.restore(model)
    prediction = _predict(model, objective, trained.selected_epoch)
    trained.scores = _score_fully(model, prediction, scorers, settings.metric.name)
    return trained


def _step_through(
    model: nn.Module, objective: Objective, optimiser: torch.optim.Optimizer, generator: torch.Generator, epoch: int
) -> float:
    """Take one step a batch and return the mean training loss of the epoch."""
    model.train()
    total, n = 0.0, 0
    for batch in objective.batches(generator):
        optimiser.zero_grad()
        loss, size = objective.loss(model, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        value = loss.item()
        if not math.isfinite(value):
            raise Diverged("the training loss", value, epoch)
        total, n = total + value * size, n + size
    return total / n


@torch.no_grad()
def _predict(model: nn.Module, objective: Objective, epoch: int) -> Tensor:
    model.eval()
    prediction = objective.predict(model)
    # One sum finds any NaN or infinity; a sum that overflows is as far gone.
    total = prediction.sum().item()
    if not math.isfinite(total):
        raise Diverged("the sum of predictions", total, epoch)
    return prediction


@torch.no_grad()
def _score(model: nn.Module, prediction: Tensor, scorers: Mapping[str, Scorer], metric: str) -> dict[str, float]:
    return {f"{part}/{metric}": scorer.score(model, prediction, metric) for part, scorer in scorers.items()}


@torch.no_grad()
def _score_fully(
    model: nn.Module, prediction: Tensor, scorers: Mapping[str, Scorer], metric: str
) -> dict[str, Mapping[str, float]]:
    """Return every metric that is defined on the last part; the one of the task has to be."""
    part, scorer = list(scorers.items())[-1]
    scores = {name: value for name, value in scorer.score_fully(model, prediction).items() if math.isfinite(value)}
    if metric not in scores:
        raise ScoreUndefined(metric, part, math.nan)
    return {part: scores}


class _Best:
    """The selected epoch so far; what it keeps depends on the kind of selection, by look-up."""

    def __init__(self, settings: Settings) -> None:
        self._metric, self._patience = settings.metric, settings.patience
        self._is_by_validation = settings.selection is Selection.best_validation
        self._epoch, self._score = -1, math.nan
        self._state: dict[str, Tensor] = {}

    def update(self, epoch: int, row: Mapping[str, float], model: nn.Module) -> bool:
        """Take note of an epoch; return whether training should stop."""
        if not self._is_by_validation:
            self._epoch = epoch
            return False
        score = row[f"val/{self._metric.name}"]
        if math.isnan(score):
            raise ScoreUndefined(self._metric.name, "val", score)
        if self._epoch < 0 or self._metric.direction.better(score, self._score):
            self._epoch, self._score, self._state = epoch, score, copy.deepcopy(model.state_dict())
        return 0 < self._patience <= epoch - self._epoch

    def restore(self, model: nn.Module) -> int:
        """Bring a model to the selected epoch, and return its number."""
        if self._state:
            model.load_state_dict(self._state)
        return self._epoch
