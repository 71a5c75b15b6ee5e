"""Score of a model that has learnt nothing of the features: one answer for all, the best that labels allow.

Of classes the commonest one of training, of labels and links one score for all, of numbers the mean of training, and
the median where errors are absolute: whoever answers so has the smallest such error, and needs no features for it. The
score is that of the metric itself on the part that is reported, so that it is known exactly: the share of the class for
accuracy, one over the classes for balanced accuracy, a half for areas under ROC curves, the prevalence for average
precision, the error of the mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnz_track.problems.multi_task import TwoLevelScorer
from gnz_track.training.metrics import find_metric
from gnz_track.training.scorers import ClassScorer, GraphScorer, LinkPredictionScorer, Scorer, TripleScorer

__all__ = ["constant_answer", "score_constant"]

# Errors that are smallest around the median.
ABSOLUTE = frozenset({"mae"})


def constant_answer(labels: Tensor, kind: str, width: int, metric: str) -> Tensor:
    """Return the one row ``[width]`` to answer to every example.

    Parameters
    ----------
    labels
        Training labels ``[n]`` or ``[n, width]``.
    kind
        ``classes``, ``labels`` or ``numbers``.
    width
        Classes, or columns of labels.
    metric
        Metric of the task: an absolute error is least at the median.
    """
    if kind == "classes":
        counts = torch.bincount(labels[labels >= 0].flatten().cpu(), minlength=width)
        return torch.nn.functional.one_hot(counts.argmax(), width).float()
    if kind == "labels":
        return torch.zeros(width)
    numbers = labels.double()
    centre = numbers.nanmedian(dim=0).values if metric in ABSOLUTE else numbers.nanmean(dim=0)
    return centre.nan_to_num().cpu()


def score_constant(scorer: Scorer, answer: Any, metric: str) -> float | None:
    """Return the score of the same answer to everything; None where a metric has none that could be known.

    Parameters
    ----------
    scorer
        Scorer of a part.
    answer
        Answer to every example.
    metric
        Metric of the task.
    """
    for kind, score in _SCORES.items():
        if isinstance(scorer, kind):
            found = score(scorer, answer, metric)
            return found if found is not None and math.isfinite(found) else None
    return None


class _ConstantAnswer(torch.nn.Module):
    """Decodes every pair to one score."""

    def decode(self, codes: Tensor, pairs: Tensor, *relation: Tensor) -> Tensor:
        """Return a zero for each pair ``[n]``."""
        del codes, relation
        return torch.zeros(pairs.size(1))


def _score_rows(scorer: Any, answer: Tensor, metric: str) -> float:
    n_rows = int(scorer.rows.max()) + 1
    found: float = scorer.score(_ConstantAnswer(), answer.to(scorer.rows.device).expand(n_rows, -1), metric)
    return found


def _score_levels(scorer: Any, answer: tuple[Tensor, Tensor], metric: str) -> float:
    of_nodes, of_graphs = answer
    n_graphs = int(scorer.graph_rows.max()) + 1
    whole = torch.cat([of_nodes.repeat(scorer.n_nodes), of_graphs.repeat(n_graphs)])
    found: float = scorer.score(_ConstantAnswer(), whole.to(scorer.node_rows.device), metric)
    return found


def _score_pairs(scorer: Any, answer: None, metric: str) -> float | None:
    del answer
    labels = scorer.labels.cpu()
    row = find_metric(scorer.kind, metric)
    if row.takes == "ranks":
        # Links are put anywhere among the others: each rank is as likely as any other.
        n_others = int((labels <= 0).sum())
        return row.function(np.arange(1, n_others + 2))
    found: float = LinkPredictionScorer(scorer.pairs.cpu(), labels).score(_ConstantAnswer(), torch.empty(0), metric)
    return found


def _score_triples(scorer: Any, answer: None, metric: str) -> float | None:
    # A rank by chance depends on how many answers are known of each question: it is not told.
    del answer, scorer
    return {"auc": 0.5, "average_precision": 0.5}.get(metric)


_SCORES: dict[Any, Callable[[Any, Any, str], float | None]] = {
    ClassScorer: _score_rows,
    GraphScorer: _score_rows,
    TwoLevelScorer: _score_levels,
    LinkPredictionScorer: _score_pairs,
    TripleScorer: _score_triples,
}
