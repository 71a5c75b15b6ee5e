"""Scores of examples that are rows of a prediction: classes, labels and numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import Tensor, nn

from gnz_track.problems.baselines import ConstantAnswer
from gnz_track.problems.scoring import kind_of_rows, score_answers
from gnz_track.training.answers import Answers, Examples
from gnz_track.training.losses import choose_loss, mean_over_batches
from gnz_track.training.metrics import find_metric, metrics_of

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
        kind = kind_of_rows(self.kind, prediction)
        outputs = prediction.index_select(0, self.rows)
        return score_answers(find_metric(kind, metric), kind, self.labels, outputs, batches=self.batches)

    def loss(self, model: nn.Module, prediction: Tensor) -> float:
        """Return what training minimises, on this part."""
        del model
        loss = choose_loss(self.kind, self.loss_name)
        return mean_over_batches(loss, prediction.index_select(0, self.rows), self.labels, self.batches)

    def score_fully(self, model: nn.Module, prediction: Tensor) -> Mapping[str, float]:
        """Return all usual metrics of the kind."""
        return {
            row.name: self.score(model, prediction, row.name) for row in metrics_of(kind_of_rows(self.kind, prediction))
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
