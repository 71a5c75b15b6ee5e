"""Score of a model that has learnt nothing of the features: one answer for all, the best that labels allow.

Of classes the commonest one of training, of labels and links one score for all, of numbers the mean of training, and
the median where errors are absolute; where probabilities are scored, the shares of training, and where labels are
decided for, those that make F1 largest in training. Whoever answers so has the
smallest such error, and needs no features for it. The score is that of the metric itself on the part that is reported,
so that it is known exactly: the share of the class for accuracy, one over the classes for balanced accuracy, a half for
areas under ROC curves, the prevalence for average precision, the error of the mean.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import torch
from torch import Tensor

from gnz_track.training.loop import Scorer
from gnz_track.training.metrics import METRICS

__all__ = ["ConstantAnswer", "KnownScorer", "constant_answer", "score_constant"]


class KnownScorer(Scorer, Protocol):
    """Scores one part of a problem, and says what whoever has learnt nothing scores there."""

    def score_constant(self, answer: Any, metric: str) -> float | None:
        """Return the score of the same answer to every example; None where that cannot be known."""
        ...


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
        Metric of the task, whose row says around what it is best.
    """
    is_likely = METRICS.get(metric).takes == "logits"
    if kind == "classes":
        counts = torch.bincount(labels[labels >= 0].flatten().cpu(), minlength=width)
        if is_likely:
            return (counts / counts.sum()).log()
        return torch.nn.functional.one_hot(counts.argmax(), width).float()
    if kind == "labels" and METRICS.get(metric).takes == "decisions":
        return _decide_labels(labels, metric)
    if kind == "labels":
        return labels.double().nanmean(dim=0).logit().nan_to_num().float().cpu() if is_likely else torch.zeros(width)
    numbers = labels.double()
    is_median = METRICS.get(metric).best_constant == "median"
    centre = numbers.nanmedian(dim=0).values if is_median else numbers.nanmean(dim=0)
    return centre.nan_to_num().cpu()


def _decide_labels(labels: Tensor, metric: str) -> Tensor:
    """Return for each label whether every example is said to have it, as logits ``[width]`` of 1 and -1.

    The F1 of each label alone is best where all have it; that of all labels together where the commonest do, as many as
    make it largest.
    """
    shares, order = labels.double().nanmean(dim=0).nan_to_num().cpu().sort(descending=True)
    n_labels = torch.arange(1, shares.numel() + 1)
    together = 2 * shares.cumsum(0) / (shares.sum() + n_labels)
    n_chosen = shares.numel() if metric == "f1_macro" else int(together.argmax()) + 1
    answer = torch.full(shares.shape, -1.0)
    answer[order[:n_chosen]] = 1.0
    return answer


def score_constant(scorer: KnownScorer, answer: Any, metric: str) -> float | None:
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
    found = scorer.score_constant(answer, metric)
    return found if found is not None and math.isfinite(found) else None


class ConstantAnswer(torch.nn.Module):
    """Model that decodes every pair to one score."""

    def decode(self, codes: Tensor, pairs: Tensor, *relation: Tensor) -> Tensor:
        """Return a zero for each pair ``[n]``."""
        del codes, relation
        return torch.zeros(pairs.size(1))
