"""The one training loop, with its schedules, and what it asks of an objective and of a scorer, which meet only here."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import torch
from torch import Generator, Tensor, nn
from torch.optim.lr_scheduler import ReduceLROnPlateau

from gnz_track.errors import BadValue, Diverged, ScoreUndefined
from gnz_track.optimisers import Adam
from gnz_track.training.answers import Answers
from gnz_track.training.forwards import scaler_of
from gnz_track.training.metrics import METRICS
from gnz_track.types import CellSettings, Direction, Metric, Optimiser, Selection
from gnz_track.waking_time import WakingTime

__all__ = [
    "ALSO",
    "SCHEDULES",
    "TRAINING",
    "Clock",
    "Objective",
    "Observer",
    "Schedule",
    "Scorer",
    "Trained",
    "answer",
    "make_schedule",
    "train",
    "watches_loss",
]


SECONDS_PER_HOUR = 3600.0


class Objective(Protocol):
    """Loss and prediction of a problem: one epoch is one pass over ``batches``, each gives one step on ``loss``.

    An objective holds what training may see: features, message edges, and training labels. The model is given graphs
    whose ``y`` shows training labels only: others are -1 (classes) or NaN (numbers), and batches of held-out graphs
    have no ``y``. Each call gets a shallow copy of its graph, so that a model that sets fields of its input finds it
    unchanged the next time. What is said of ``y`` holds for ``edge_label`` where edges are classified.
    """

    def batches(self, generator: Generator) -> Iterator[Any]:
        """Yield the batches of one epoch; all order is drawn from the generator."""
        ...

    def loss(self, model: nn.Module, batch: Any) -> tuple[Tensor, int]:
        """Return the mean loss over a batch (a scalar) and the number of examples in it."""
        ...

    def predict(self, model: nn.Module) -> Tensor:
        """Return, in one pass, all that scoring of held-out examples needs."""
        ...

    def predict_training(self, model: nn.Module) -> Tensor:
        """Return all that scoring of training examples needs; asked for once, at the end."""
        ...


class Scorer(Protocol):
    """Labels of one part, validation or test, and the metrics on them; never given to an objective.

    All scorers of an epoch read the same prediction, made by one forward pass.
    """

    def score(self, model: nn.Module, prediction: Tensor, metric: str) -> float:
        """Return one metric of a prediction.

        Parameters
        ----------
        model
            Model that made it, for scorers that decode.
        prediction
            What the objective predicted.
        metric
            Name of the metric.
        """
        ...

    def score_fully(self, model: nn.Module, prediction: Tensor) -> Mapping[str, float]:
        """Return every usual metric of the task type, costly ones included."""
        ...

    def loss(self, model: nn.Module, prediction: Tensor) -> float:
        """Return what training minimises, on this part."""
        ...

    def answers(self, model: nn.Module, prediction: Tensor) -> tuple[Answers, ...]:
        """Return what the model answers to each example, for every kind of example that there is."""
        ...


class Schedule(Protocol):
    """A schedule is told of every epoch, may change the learning rate, and says whether training is over."""

    def end_epoch(self, row: Mapping[str, float]) -> bool:
        """Take note of the values of an epoch by series; return whether it was the last one."""
        ...


class _Constant:
    """The learning rate stays what it is."""

    def __init__(self, optimiser: torch.optim.Optimizer, settings: Optimiser, metric: Metric | None) -> None:
        del optimiser, settings, metric

    def end_epoch(self, row: Mapping[str, float]) -> bool:
        del row
        return False


class _Plateau:
    """The learning rate falls while the validation loss does not, and ends training once it is too small."""

    def __init__(self, optimiser: torch.optim.Optimizer, settings: Optimiser, metric: Metric | None) -> None:
        self._optimiser, self._min_lr = optimiser, settings.min_lr
        self._series, mode = self.watched(metric)
        self._inner = ReduceLROnPlateau(optimiser, mode=mode, factor=settings.factor, patience=settings.patience)

    def watched(self, metric: Metric | None) -> tuple[str, Literal["min", "max"]]:
        """Return the series that is to become better, and whether it then falls or rises."""
        del metric
        return "val/loss", "min"

    def end_epoch(self, row: Mapping[str, float]) -> bool:
        self._inner.step(row[self._series])
        return bool(self._optimiser.param_groups[0]["lr"] < self._min_lr)


class _ScorePlateau(_Plateau):
    """The same by the score on validation."""

    def watched(self, metric: Metric | None) -> tuple[str, Literal["min", "max"]]:
        if metric is None:
            raise BadValue("the metric of schedule 'score_plateau'", None, "one that validation is scored by")
        return f"val/{metric.name}", "max" if metric.direction is Direction.up else "min"


SCHEDULES: dict[str, Callable[[torch.optim.Optimizer, Optimiser, Metric | None], Schedule]] = {
    "constant": _Constant,
    "plateau": _Plateau,
    "score_plateau": _ScorePlateau,
}
# Those that are told of ``val/loss``, which costs a pass over the validation labels.
_WATCHFUL = frozenset({"plateau"})


def make_schedule(optimiser: torch.optim.Optimizer, settings: Optimiser, *, metric: Metric | None = None) -> Schedule:
    """Return the schedule that the settings of an optimiser name.

    Parameters
    ----------
    optimiser
        Optimiser whose learning rate changes.
    settings
        Name and numbers of the schedule.
    metric
        Metric of the task.
    """
    if settings.schedule not in SCHEDULES:
        raise BadValue("schedule", settings.schedule, ", ".join(SCHEDULES))
    return SCHEDULES[settings.schedule](optimiser, settings, metric)


def watches_loss(settings: Optimiser) -> bool:
    """Tell whether a schedule has to be told of the validation loss."""
    return settings.schedule in _WATCHFUL


class Clock:
    """Says when the longest time that training may take is over; 0 hours is never, and one that is stopped waits."""

    def __init__(self, hours: float) -> None:
        self._seconds, self._time = hours * SECONDS_PER_HOUR, WakingTime() if hours else None

    def is_over(self) -> bool:
        """Tell whether the time is up."""
        return self._time is not None and self._time.seconds() >= self._seconds


# Told of each epoch: its number, and the value of each series.
Observer = Callable[[int, Mapping[str, float]], None]


@dataclass(kw_only=True)
class Trained:
    """Outcome of training: one value per epoch and series, and the scores of the selected epoch by part.

    ``prediction`` is what was scored there; :func:`answer` makes answers of it. ``last`` is the state of the model
    after the last epoch, where another one was selected.
    """

    series: dict[str, list[float]] = field(default_factory=dict)
    scores: dict[str, Mapping[str, float]] = field(default_factory=dict)
    prediction: Tensor | None = None
    answers: Mapping[str, tuple[Answers, ...]] = field(default_factory=dict)
    selected_epoch: int = -1
    seconds_per_epoch: float = math.nan
    last: Mapping[str, Any] = field(default_factory=dict)


def train(
    model: nn.Module,
    objective: Objective,
    scorers: Mapping[str, Scorer],
    settings: CellSettings,
    *,
    batch_seed: int,
    trained: Trained | None = None,
    observe: Observer | None = None,
) -> Trained:
    """Train a model and score it once an epoch on each part of ``scorers``.

    The objective never meets a scorer. Where selection is by validation, the model ends in its selected state.

    Parameters
    ----------
    model
        Model to train.
    objective
        Loss of an epoch, and predictions.
    scorers
        Scorer of each part, ``"val"`` and ``"test"``. The last is the one reported: all metrics of the task type are
        computed for it, some of which cost more than an epoch. ``training``, where it is asked for,
        is scored at the end alone.
    settings
        How long, by which optimiser, and by which metric; ``also`` names what is scored beside, see :data:`ALSO`.
    batch_seed
        Decides, alone, the order of batches and the sampled negatives.
    trained
        Filled as training goes, so that its series survive an error.
    observe
        Told of every epoch.
    """
    for name in settings.also:
        if name not in ALSO:
            raise BadValue("what is scored beside the selected epoch", name, ", ".join(ALSO))
    trained, best = Trained() if trained is None else trained, _Best(settings)
    optimiser = Adam(
        model.parameters(), lr=settings.optimiser.lr, weight_decay=settings.optimiser.weight_decay, fused=True
    )
    schedule = make_schedule(optimiser, settings.optimiser, metric=METRICS.get(settings.metric))
    scaler = scaler_of(settings)
    clock = Clock(settings.hours)
    generator = torch.Generator().manual_seed(batch_seed)
    held_out = {part: scorer for part, scorer in scorers.items() if part != TRAINING}
    started = time.perf_counter()
    for epoch in range(settings.epochs):
        row = {
            "train/loss": _step_through(model, objective, optimiser, scaler, generator, epoch, settings.optimiser.clip)
        }
        prediction = _predict(model, objective.predict, epoch)
        row |= _score(model, prediction, held_out, settings)
        for name, value in row.items():
            trained.series.setdefault(name, []).append(value)
        if observe is not None:
            observe(epoch, row)
        is_over = schedule.end_epoch(row)
        if best.update(epoch, row, model) or is_over or clock.is_over():
            break
    trained.seconds_per_epoch = (time.perf_counter() - started) / (epoch + 1)
    trained.last = best.last(model, epoch)
    trained.selected_epoch = best.restore(model)
    prediction = _predict(model, objective.predict, trained.selected_epoch)
    scores = _score_fully(model, prediction, held_out, settings.metric)
    for name in settings.also:
        scores |= ALSO[name](model, objective, scorers, settings, trained)
    trained.scores = {list(held_out)[-1]: scores}
    trained.prediction = prediction
    return trained


@torch.no_grad()
def answer(model: nn.Module, prediction: Tensor, scorers: Mapping[str, Scorer]) -> dict[str, tuple[Answers, ...]]:
    """Return the answers to held-out examples, part by part, of a prediction that was made: no node is encoded again.

    Parameters
    ----------
    model
        Model in its selected state.
    prediction
        What it predicted in that state.
    scorers
        Scorer of each part.
    """
    return {part: scorer.answers(model, prediction) for part, scorer in scorers.items() if part != TRAINING}


def _step_through(
    model: nn.Module,
    objective: Objective,
    optimiser: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    generator: torch.Generator,
    epoch: int,
    clip: float,
) -> float:
    """Take one step a batch and return the mean training loss of the epoch."""
    _turn(model, is_training=True)
    total, n = 0.0, 0
    for batch in objective.batches(generator):
        optimiser.zero_grad()
        loss, size = objective.loss(model, batch)
        scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        if clip:
            scaler.unscale_(optimiser)
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        scaler.step(optimiser)
        scaler.update()
        value = loss.item()
        if not math.isfinite(value):
            raise Diverged("the training loss", value, epoch)
        total, n = total + value * size, n + size
    return total / n


def _turn(model: nn.Module, *, is_training: bool) -> None:
    """Set the mode of a model, as ``model.train()`` and ``model.eval()`` do, twice an epoch and sooner than they."""
    if type(model).eval is nn.Module.eval and "eval" not in vars(model):
        _turn_part(model, is_training=is_training)
    elif is_training:
        model.train()
    else:
        model.eval()


def _turn_part(module: nn.Module, *, is_training: bool) -> None:
    cls, own = type(module), vars(module)
    # Whoever has something to do when the mode changes is told.
    is_plain = cls.train is nn.Module.train and cls.__setattr__ is nn.Module.__setattr__ and "train" not in own
    if not is_plain or hasattr(cls, "training"):
        module.train(is_training)
        return
    own["training"] = is_training
    for part in own["_modules"].values():
        if part is not None:
            _turn_part(part, is_training=is_training)


@torch.no_grad()
def _predict(model: nn.Module, predict: Callable[[nn.Module], Tensor], epoch: int) -> Tensor:
    _turn(model, is_training=False)
    prediction = predict(model)
    # One sum finds any NaN or infinity; a sum that overflows is as far gone.
    total = prediction.sum().item()
    if not math.isfinite(total):
        raise Diverged("the sum of predictions", total, epoch)
    return prediction


@torch.no_grad()
def _score(
    model: nn.Module, prediction: Tensor, scorers: Mapping[str, Scorer], settings: CellSettings
) -> dict[str, float]:
    metric = settings.metric
    found = {f"{part}/{metric}": scorer.score(model, prediction, metric) for part, scorer in scorers.items()}
    if watches_loss(settings.optimiser):
        found["val/loss"] = scorers["val"].loss(model, prediction)
    return found


@torch.no_grad()
def _score_fully(model: nn.Module, prediction: Tensor, scorers: Mapping[str, Scorer], metric: str) -> dict[str, float]:
    """Return every metric that is defined on the last part; the one of the task has to be."""
    part, scorer = list(scorers.items())[-1]
    found = dict(scorer.score_fully(model, prediction))
    if metric not in found:
        found[metric] = scorer.score(model, prediction, metric)
    scores = {name: value for name, value in found.items() if math.isfinite(value)}
    if metric not in scores:
        raise ScoreUndefined(metric, part, math.nan)
    return scores


def _score_best_validation(
    model: nn.Module, objective: Objective, scorers: Mapping[str, Scorer], settings: CellSettings, trained: Trained
) -> dict[str, float]:
    """Return the score of the last part at the epoch that validation would have selected, the first of equal ones."""
    del model, objective
    metric = METRICS.get(settings.metric)
    validation = trained.series[f"val/{metric.name}"]
    defined = [epoch for epoch, score in enumerate(validation) if math.isfinite(score)]
    if not defined:
        return {}
    sign = 1 if metric.direction is Direction.up else -1
    best = max(defined, key=lambda epoch: (sign * validation[epoch], -epoch))
    part = [name for name in scorers if name != TRAINING][-1]
    return {f"{metric.name}_at_best_validation": trained.series[f"{part}/{metric.name}"][best]}


@torch.no_grad()
def _score_training(
    model: nn.Module, objective: Objective, scorers: Mapping[str, Scorer], settings: CellSettings, trained: Trained
) -> dict[str, float]:
    """Return the score of the training part at the selected epoch."""
    prediction = _predict(model, objective.predict_training, trained.selected_epoch)
    metric = settings.metric
    return {f"{metric}_on_training": scorers[TRAINING].score(model, prediction, metric)}


TRAINING = "training"
# What can be scored beside the selected epoch -> how; the names are those of ``Protocol.also``.
ALSO = {"best_validation": _score_best_validation, TRAINING: _score_training}


class _Best:
    """The selected epoch so far; what it keeps depends on the kind of selection, by look-up."""

    def __init__(self, settings: CellSettings) -> None:
        self._metric, self._patience = METRICS.get(settings.metric), settings.patience
        self._is_by_validation = settings.selection is Selection.best_validation
        self._epoch, self._score = -1, math.nan
        self._state: dict[str, Tensor] = {}

    def update(self, epoch: int, row: Mapping[str, float], model: nn.Module) -> bool:
        """Take note of an epoch; return whether training should stop.

        Parameters
        ----------
        epoch
            Its number, from 0.
        row
            Value of each series.
        model
            Model in the state after it.
        """
        if not self._is_by_validation:
            self._epoch = epoch
            return False
        score = row[f"val/{self._metric.name}"]
        if math.isnan(score):
            raise ScoreUndefined(self._metric.name, "val", score)
        if self._epoch < 0 or self._metric.direction.better(score, self._score):
            self._epoch, self._score, self._state = epoch, score, copy.deepcopy(model.state_dict())
        return 0 < self._patience <= epoch - self._epoch

    def last(self, model: nn.Module, epoch: int) -> dict[str, Any]:
        """Return the state of a model after its last epoch; nothing where that one is selected."""
        return copy.deepcopy(model.state_dict()) if self._epoch != epoch else {}

    def restore(self, model: nn.Module) -> int:
        """Bring a model to the selected epoch, and return its number."""
        if self._state:
            model.load_state_dict(self._state)
        return self._epoch
