"""The one way from answers to a score: scorers of training take it, and so does who scores stored predictions anew."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gnz_track.training.metrics import Kind, MetricRow, rank_links

__all__ = ["kind_of_rows", "mean_errors", "score_answers", "score_errors"]


def kind_of_rows(labels: str, outputs: Tensor) -> Kind:
    """Return the kind of problem, given the kind of label: two classes, which are told by a score, from more."""
    kinds: dict[str, Kind] = {"labels": "labels", "numbers": "numbers"}
    return kinds.get(labels, "two classes" if outputs.size(1) == 2 else "classes")


def score_answers(
    row: MetricRow,
    kind: Kind,
    labels: Tensor,
    outputs: Tensor,
    *,
    batches: Tensor | None = None,
    ranks: Callable[[], Any] | None = None,
) -> float:
    """Return a metric of the answers to the examples of a part, all at once or as the mean over batches.

    Parameters
    ----------
    row, kind
        The metric, and the kind of problem, which it serves.
    labels
        True classes ``[n]``; 0/1 labels or numbers ``[n, k]``; of links and triples 0 or 1 ``[n]``.
    outputs
        What the model put out: ``[n, width]``; of links and triples one logit each ``[n]``.
    batches
        Batch ``[n]`` of each example, where scores are taken by batch: each weighs as much as any other.
    ranks
        Gives the ranks of true answers; without it links are ranked among the other pairs.
    """
    if batches is not None:
        members = [(batches == number).nonzero().flatten() for number in batches.unique()]
        return float(np.mean([score_answers(row, kind, labels[rows], outputs[rows]) for rows in members]))
    if row.takes == "decisions":
        # A label is decided for where its probability is above a half.
        outputs = (outputs > 0).long() if kind == "labels" else outputs.argmax(dim=1)
    elif row.takes == "scores" and kind == "two classes":
        outputs = outputs[:, 1] - outputs[:, 0]
    if row.takes != "ranks":
        return row.function(labels.numpy(force=True), outputs.numpy(force=True))
    if ranks is not None:
        return row.function(ranks())
    return row.function(rank_links(labels.numpy(force=True), outputs.numpy(force=True)))


def mean_errors(pairs: Sequence[tuple[Tensor, Tensor]]) -> tuple[Tensor, ...]:
    """Return the mean squared error of each column ``[k]`` of outputs and targets ``[n, k]``, in double precision."""
    return tuple((found.double() - true.double()).square().mean(dim=0) for found, true in pairs)


def score_errors(row: MetricRow, errors: Sequence[Tensor]) -> float:
    """Return a metric of the mean of all errors, those of several levels."""
    return row.function(torch.cat(list(errors)).mean().item())
