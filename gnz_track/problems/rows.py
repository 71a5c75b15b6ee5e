"""Scores of examples that are rows of a prediction: classes, labels and numbers."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from torch import Tensor, nn

from gnz_track.problems.baselines import ConstantAnswer
from gnz_track.training.answers import Answers, Examples
from gnz_track.training.losses import choose_loss, mean_over_batches
from gnz_track.training.metrics import Kind, MetricRow, find_metric, metrics_of

__all__ = ["RowScorer"]


@dataclass(frozen=True, eq=False)
class RowScorer:
    """Labels of examples; ``rows [n]`` are their places in the prediction. Kinds as in the losses.

    Given the batch ``batches [n]`` of each, scores and losses are means over batches. ``examples`` are their names.
    """

    rows: Tensor
    labels: Tensor
    kind: str
    loss_name: str = ""
    batches: Tensor | None = None
    examples: Examples | None = None

    def score(self, model: nn.Module, prediction: Tensor, metric: str) -> float:
        """Return one metric of classes, labels or numbers; of two classes, scores are the margin between them.

        Parameters
        ----------
        model, prediction, metric
            Those of :class:`~gnz_track.training.loop.Scorer`.
        """
        del model
        kind = _kind_of(self.kind, prediction)
        score = functools.partial(_score_rows, find_metric(kind, metric), kind)
        return _mean_of_batches(score, self.labels, prediction.index_select(0, self.rows), self.batches)

    def loss(self, model: nn.Module, prediction: Tensor) -> float:
        """Return what training minimises, on this part."""
        del model
        loss = choose_loss(self.kind, self.loss_name)
        return mean_over_batches(loss, prediction.index_select(0, self.rows), self.labels, self.batches)

    def score_fully(self, model: nn.Module, prediction: Tensor) -> Mapping[str, float]:
        """Return all usual metrics of the kind."""
        return {
            row.name: self.score(model, prediction, row.name) for row in metrics_of(_kind_of(self.kind, prediction))
        }

    def answers(self, model: nn.Module, prediction: Tensor) -> tuple[Answers, ...]:
        """Return the rows of the prediction that are scored, each with its label."""
        del model
        examples = self.examples or Examples("row", {"id": self.rows})
        facts = {} if self.batches is None else {"batch": self.batches}
        return (Answers(examples, self.labels, prediction.index_select(0, self.rows), facts),)

    def score_constant(self, answer: Tensor, metric: str) -> float:
        """Return the score of the same answer ``[width]`` to every example."""
        n_rows = int(self.rows.max()) + 1
        return self.score(ConstantAnswer(), answer.to(self.rows.device).expand(n_rows, -1), metric)


def _mean_of_batches(
    score: Callable[[Tensor, Tensor], float], labels: Tensor, outputs: Tensor, batches: Tensor | None
) -> float:
    """Return a score of all examples, or the mean of those of the batches, each as much as any other."""
    if batches is None:
        return score(labels, outputs)
    members = [(batches == number).nonzero().flatten() for number in batches.unique()]
    return float(np.mean([score(labels[rows], outputs[rows]) for rows in members]))


def _kind_of(labels: str, outputs: Tensor) -> Kind:
    """Return the kind of problem, given the kind of label: two classes, which are told by a score, from more."""
    kinds: dict[str, Kind] = {"labels": "labels", "numbers": "numbers"}
    return kinds.get(labels, "two classes" if outputs.size(1) == 2 else "classes")


def _score_rows(row: MetricRow, kind: Kind, labels: Tensor, outputs: Tensor) -> float:
    if row.takes == "decisions":
        outputs = outputs.argmax(dim=1)
    elif kind == "two classes":
        outputs = outputs[:, 1] - outputs[:, 0]
    return row.function(labels.numpy(force=True), outputs.numpy(force=True))
