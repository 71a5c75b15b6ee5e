"""Held-out labels, and the metrics on them.

A scorer is built for one part (validation or test) and never given to an objective. All scorers of an epoch read the
same prediction, made by one forward pass.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gnz_track.training.losses import choose_loss, mean_over_batches
from gnz_track.training.metrics import Kind, MetricRow, find_metric, metrics_of, rank_links

__all__ = ["ClassScorer", "GraphScorer", "LinkPredictionScorer", "Scorer", "TripleScorer"]


class Scorer(Protocol):
    """Scores one held-out part."""

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


def _arrays(labels: Tensor, outputs: Tensor) -> tuple[Any, Any]:
    return labels.numpy(force=True), outputs.numpy(force=True)


@dataclass(frozen=True, eq=False)
class ClassScorer:
    """Classes of held-out nodes or labelled edges: places ``rows [n]`` among the logits of all of them.

    Given the batch ``batches [n]`` of each, scores and losses are means over batches.
    """

    rows: Tensor
    labels: Tensor
    loss_name: str = ""
    batches: Tensor | None = None

    def score(self, model: nn.Module, prediction: Tensor, metric: str) -> float:
        """Return one metric; ``auc`` for two classes uses the margin between them.

        Parameters
        ----------
        model, prediction, metric
            Those of :class:`Scorer`.
        """
        del model
        kind = _kind_of("classes", prediction)
        score = functools.partial(_score_rows, find_metric(kind, metric), kind)
        return _mean_of_batches(score, self.labels, prediction.index_select(0, self.rows), self.batches)

    def score_fully(self, model: nn.Module, prediction: Tensor) -> Mapping[str, float]:
        """Return accuracy and macro F1, and AUC and average precision where there are two classes."""
        return {
            row.name: self.score(model, prediction, row.name) for row in metrics_of(_kind_of("classes", prediction))
        }

    def loss(self, model: nn.Module, prediction: Tensor) -> float:
        """Return what training minimises, on this part."""
        del model
        loss = choose_loss("classes", self.loss_name)
        return mean_over_batches(loss, prediction.index_select(0, self.rows), self.labels, self.batches)


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
    return row.function(*_arrays(labels, outputs))


@dataclass(frozen=True, eq=False)
class GraphScorer:
    """Labels of held-out graphs; ``rows [n]`` are their places in the prediction. Kinds as in the losses.

    Given the batch ``batches [n]`` of each, scores and losses are means over batches.
    """

    rows: Tensor
    labels: Tensor
    kind: str
    loss_name: str = ""
    batches: Tensor | None = None

    def score(self, model: nn.Module, prediction: Tensor, metric: str) -> float:
        """Return one metric of classes, labels or numbers.

        Parameters
        ----------
        model, prediction, metric
            Those of :class:`Scorer`.
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


@dataclass(frozen=True, eq=False)
class LinkPredictionScorer:
    """Held-out pairs ``[2, n]`` with labels ``[n]``, from node codes."""

    pairs: Tensor
    labels: Tensor
    kind: ClassVar[Kind] = "links"

    def score(self, model: Any, prediction: Tensor, metric: str) -> float:
        """Return AUC, average precision, or the share of links among the first.

        Parameters
        ----------
        model, prediction, metric
            Those of :class:`Scorer`.
        """
        return self._score(find_metric(self.kind, metric), self.decode(model, prediction))

    def score_fully(self, model: nn.Module, prediction: Tensor) -> Mapping[str, float]:
        """Return the usual metrics: AUC and average precision."""
        logits = self.decode(model, prediction)
        return {row.name: self._score(row, logits) for row in metrics_of(self.kind)}

    def loss(self, model: Any, prediction: Tensor) -> float:
        """Return what training minimises, on this part."""
        logits = self.decode(model, prediction)
        return float(functional.binary_cross_entropy_with_logits(logits, self.labels))

    def decode(self, model: Any, prediction: Tensor) -> Tensor:
        """Return one logit per pair ``[n]``."""
        logits: Tensor = model.decode(prediction, self.pairs)
        return logits

    def _score(self, row: MetricRow, logits: Tensor) -> float:
        truth, scores = _arrays(self.labels, logits)
        return row.function(rank_links(truth, scores)) if row.takes == "ranks" else row.function(truth, scores)


@dataclass(frozen=True, eq=False)
class TripleScorer:
    """Held-out triples ``[3, n]`` and their false tails ``[n]``, from node codes.

    ``known [3, m]`` are all true triples of every part: ranks are filtered by them (Bordes et al., NeurIPS 2013).
    """

    triples: Tensor
    false_tails: Tensor
    known: Tensor

    def score(self, model: Any, prediction: Tensor, metric: str) -> float:
        """Return AUC or average precision of true against false triples, or (costly) a rank metric.

        Parameters
        ----------
        model, prediction, metric
            Those of :class:`Scorer`.
        """
        return self._score([find_metric("triples", metric)], model, prediction)[metric]

    def score_fully(self, model: Any, prediction: Tensor) -> Mapping[str, float]:
        """Return AUC, average precision, filtered MRR and Hits@1/3/10 over heads and tails."""
        return self._score(metrics_of("triples"), model, prediction)

    def loss(self, model: Any, prediction: Tensor) -> float:
        """Return what training minimises, on this part."""
        labels, logits = self._decode(model, prediction)
        return float(functional.binary_cross_entropy_with_logits(logits, labels))

    def _decode(self, model: Any, prediction: Tensor) -> tuple[Tensor, Tensor]:
        """Return labels and logits of the true triples, then of the false ones."""
        head, relation, tail = self.triples
        true = model.decode(prediction, torch.stack([head, tail]), relation)
        false = model.decode(prediction, torch.stack([head, self.false_tails]), relation)
        return torch.cat([torch.ones_like(true), torch.zeros_like(false)]), torch.cat([true, false])

    def _score(self, rows: list[MetricRow], model: Any, prediction: Tensor) -> dict[str, float]:
        found, makers = {}, {"scores": self._scores, "ranks": self._ranks}
        arrays = {form: makers[form](model, prediction) for form in {row.takes for row in rows}}
        for row in rows:
            found[row.name] = row.function(*arrays[row.takes])
        return found

    def _scores(self, model: Any, prediction: Tensor) -> tuple[Any, ...]:
        return _arrays(*self._decode(model, prediction))

    def _ranks(self, model: Any, prediction: Tensor) -> tuple[Any, ...]:
        head, relation, tail = self.triples
        known_head, known_relation, known_tail = self.known
        tails = _ranks(model.score_tails, prediction, (head, relation, tail), (known_head, known_relation, known_tail))
        heads = _ranks(model.score_heads, prediction, (tail, relation, head), (known_tail, known_relation, known_head))
        return (np.concatenate([tails, heads]),)


CHUNK = 512


def _ranks(score: Any, codes: Tensor, queries: tuple[Tensor, ...], known: tuple[Tensor, ...]) -> Any:
    """Return the filtered rank, from 1, of each answer ``[n]``; ties count half, as the expected rank.

    A query is (given, relation, answer); answers that are known to be true for it do not compete.
    """
    given, relation, answer = queries
    span = int(torch.cat([relation, known[1]]).max()) + 1
    known_keys, order = (known[0] * span + known[1]).sort(stable=True)
    known_answers = known[2][order]
    ranks = []
    for rows in torch.arange(given.numel()).split(CHUNK):
        scores = score(codes, given[rows], relation[rows])
        own = scores.gather(1, answer[rows].unsqueeze(1))
        keys = given[rows] * span + relation[rows]
        first, last = torch.searchsorted(known_keys, keys), torch.searchsorted(known_keys, keys, right=True)
        at = torch.repeat_interleave(last - first)
        offset = torch.arange(at.numel()) - ((last - first).cumsum(0) - (last - first))[at]
        scores[at, known_answers[first[at] + offset]] = -torch.inf
        scores.scatter_(1, answer[rows].unsqueeze(1), -torch.inf)
        # What is not below and not equal is above: so a NaN ranks last and never first.
        n_equal = ((scores == own) & torch.isfinite(scores)).sum(1)
        ranks.append(1 + (scores <= own).logical_not_().sum(1) + 0.5 * n_equal)
    return torch.cat(ranks).double().numpy(force=True)
