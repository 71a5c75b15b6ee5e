"""Triples that a split hides, as problems."""

from __future__ import annotations

import copy
import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Generator, Tensor
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.datasets.encodings import parse_encoding
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.links import TriplePart, TripleSplit, split_triples
from gnz_track.errors import BadValue
from gnz_track.problems.inputs import complete_sizes, unfit, whole_graph_of
from gnz_track.problems.problem import Problem, ProblemKind, check_outputs, known_classes, scored
from gnz_track.problems.scoring import score_answers
from gnz_track.training.answers import Answers, Examples
from gnz_track.training.loop import TRAINING
from gnz_track.training.metrics import MetricRow, find_metric, metrics_of
from gnz_track.types import CellSettings

__all__ = ["CHUNK", "TRIPLES", "TripleObjective", "TripleScorer", "pose_triples"]


@dataclass(frozen=True, eq=False)
class TripleObjective:
    """Binary cross-entropy over training triples and as many with a false tail, drawn anew every epoch.

    ``triples [3, n]`` are head, relation, tail. A false tail is drawn again while it makes a training triple; after
    :data:`REDRAWS` times it is drawn among the tails that do not, if there are any.
    """

    data: Data
    triples: Tensor
    n_relations: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "_known", self._code(*self.triples).sort().values)
        n = self.triples.size(1)
        object.__setattr__(self, "_labels", torch.cat([torch.ones(n), torch.zeros(n)]).to(self.triples.device))

    def batches(self, generator: Generator) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield all pairs ``[2, 2n]`` and relations ``[2n]`` of an epoch, the true ones first."""
        head, relation, tail = self.triples
        false = self._draw_tails(generator)
        pairs = torch.stack([torch.cat([head, head]), torch.cat([tail, false])])
        yield pairs, torch.cat([relation, relation])

    def loss(self, model: Any, batch: tuple[Tensor, Tensor]) -> tuple[Tensor, int]:
        """Return the cross-entropy of true and false triples."""
        codes = check_outputs(model, model.encode(copy.copy(self.data)), self.data.num_nodes)
        logits = model.decode(codes, *batch)
        return functional.binary_cross_entropy_with_logits(logits, self._labels), logits.numel()  # type: ignore[attr-defined]

    def predict(self, model: Any) -> Tensor:
        """Return the node codes ``[n_nodes, width]``."""
        codes: Tensor = model.encode(copy.copy(self.data))
        return codes

    def predict_training(self, model: Any) -> Tensor:
        """Return the same."""
        return self.predict(model)

    def _code(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        n_nodes = self.data.num_nodes
        return (head * self.n_relations + relation) * n_nodes + tail

    def _draw_tails(self, generator: Generator) -> Tensor:
        head, relation, tail = self.triples
        n_nodes = self.data.num_nodes
        # Drawn on the CPU whatever the device, so that a seed means the same numbers everywhere.
        false = torch.randint(n_nodes, tail.shape, generator=generator).to(tail.device)
        suspects = torch.arange(tail.numel(), device=tail.device)
        known: Tensor = self._known  # type: ignore[attr-defined]
        for _ in range(REDRAWS):
            codes = self._code(head[suspects], relation[suspects], false[suspects])
            at = torch.searchsorted(known, codes).clamp_(max=known.numel() - 1)
            suspects = suspects[known[at] == codes]
            if suspects.numel() == 0:
                return false
            false[suspects] = torch.randint(n_nodes, suspects.shape, generator=generator).to(tail.device)
        for suspect in suspects.tolist():
            codes = self._code(head[suspect], relation[suspect], torch.arange(n_nodes, device=tail.device))
            is_false = torch.isin(codes, known, invert=True)
            if is_false.any():
                choices = is_false.nonzero().flatten()
                false[suspect] = choices[torch.randint(choices.numel(), (), generator=generator)]
        return false


REDRAWS = 8


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
            Those of :class:`~gnz_track.training.loop.Scorer`.
        """
        return self._score([find_metric("triples", metric)], model, prediction)[metric]

    def score_fully(self, model: Any, prediction: Tensor) -> Mapping[str, float]:
        """Return AUC, average precision, filtered MRR and Hits@1/3/10 over heads and tails."""
        return self._score(metrics_of("triples"), model, prediction)

    def loss(self, model: Any, prediction: Tensor) -> float:
        """Return what training minimises, on this part."""
        labels, logits = self._decode(model, prediction)
        return float(functional.binary_cross_entropy_with_logits(logits, labels))

    def answers(self, model: Any, prediction: Tensor) -> tuple[Answers, ...]:
        """Return the logits of true and of false triples; of true ones the ranks too, where scoring has counted them.

        Ranks cost more than an epoch, and are not counted once more.
        """
        labels, logits = self._decode(model, prediction)
        head, relation, tail = self.triples
        numbers = {
            "head": torch.cat([head, head]),
            "relation": torch.cat([relation, relation]),
            "tail": torch.cat([tail, self.false_tails]),
        }
        n_nodes = prediction.size(0)
        code = (numbers["relation"] * n_nodes + numbers["head"]) * n_nodes + numbers["tail"]
        facts = self._rank_facts(prediction, head.numel())
        return (Answers(Examples("triple", {"id": code, **numbers}), labels.long(), logits.unsqueeze(1), facts),)

    def score_constant(self, answer: None, metric: str) -> float | None:
        """Return the score of who tells no triple from another; None of ranks."""
        # A rank by chance depends on how many answers are known of each question: it is not told.
        del answer
        return {"auc": 0.5, "average_precision": 0.5, "nll": math.log(2), "brier": 0.25}.get(metric)

    def _decode(self, model: Any, prediction: Tensor) -> tuple[Tensor, Tensor]:
        """Return labels and logits of the true triples, then of the false ones."""
        head, relation, tail = self.triples
        true = model.decode(prediction, torch.stack([head, tail]), relation)
        false = model.decode(prediction, torch.stack([head, self.false_tails]), relation)
        return torch.cat([torch.ones_like(true), torch.zeros_like(false)]), torch.cat([true, false])

    def _score(self, rows: list[MetricRow], model: Any, prediction: Tensor) -> dict[str, float]:
        labels, logits = self._decode(model, prediction)
        ranks = functools.cache(functools.partial(self._ranks, model, prediction))
        return {row.name: score_answers(row, "triples", labels, logits, ranks=ranks) for row in rows}

    def _ranks(self, model: Any, prediction: Tensor) -> Any:
        head, relation, tail = self.triples
        known_head, known_relation, known_tail = self.known
        tails = _ranks(model.score_tails, prediction, (head, relation, tail), (known_head, known_relation, known_tail))
        heads = _ranks(model.score_heads, prediction, (tail, relation, head), (known_tail, known_relation, known_head))
        object.__setattr__(self, "_last_ranks", (prediction, tails, heads))
        return np.concatenate([tails, heads])

    def _rank_facts(self, prediction: Tensor, n: int) -> dict[str, Tensor]:
        """Return the ranks that were counted of this very prediction, NaN for false triples."""
        of, *ranks = getattr(self, "_last_ranks", (None,))
        if of is not prediction:
            return {}
        none = np.full(self.false_tails.numel(), np.nan)
        names = ("rank_of_tail", "rank_of_head")
        return {name: torch.from_numpy(np.concatenate([one[:n], none])) for name, one in zip(names, ranks, strict=True)}


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


def pose_triples(dataset: FrozenDataset, settings: CellSettings) -> Problem:
    """Pose the tails and heads of triples that a split hides."""
    split = split_triples(dataset, seed=settings.seed_of("split"), is_blind=settings.is_blind)
    every = torch.arange(dataset.n_nodes)
    data = whole_graph_of(dataset, split.train.edge_index, settings, split_digest=split.digest, in_training=every)
    data.edge_type = split.train.edge_type.to(settings.device)
    # Ranks are filtered by what is known: in a blind problem that is no test triple.
    parts, device = scored(split, settings), settings.device
    triples = {name: _triples(part).to(device) for name, part in [("train", split.train), *parts]}
    known = torch.cat([found for name, found in triples.items() if name != TRAINING], dim=1)
    return Problem(
        objective=TripleObjective(data, triples["train"], dataset.n_relations),
        scorers={name: TripleScorer(triples[name], part.negatives[1].to(device), known) for name, part in parts},
        sizes=complete_sizes(dataset, settings, _sizes_of_triples(dataset, settings)),
        split_digest=split.digest,
        split=partial(_numbers_of_triples, split),
        part_sizes=split.sizes,
    )


def _numbers_of_triples(split: TripleSplit) -> dict[str, dict[str, Tensor]]:
    """Return the triples of each part, then the false ones that were drawn for them."""
    found = {}
    for name, part in {"train": split.train, "val": split.val, "test": split.test}.items():
        head, tail = torch.cat([part.edge_index, part.negatives], dim=1)
        n = part.edge_type.numel()
        label = torch.cat([torch.ones(n), torch.zeros(n)]).long()
        found[name] = {"head": head, "relation": part.edge_type.repeat(2), "tail": tail, "label": label}
    return found


def _triples(part: TriplePart) -> Tensor:
    return torch.stack([part.edge_index[0], part.edge_type, part.edge_index[1]])


def _sizes_of_triples(dataset: FrozenDataset, settings: CellSettings) -> dict[str, Any]:
    return {"out_channels": settings.hidden_channels, "n_relations": dataset.n_relations}


def _refuse_settings(dataset: FrozenDataset, settings: CellSettings) -> None:
    if settings.perturbation:
        raise unfit(dataset, settings, f"edges have kinds, for which {settings.perturbation!r} means nothing")
    encoding = parse_encoding(settings.encoding)
    if encoding is not None and encoding.variation != "none":
        raise BadValue(
            "the encoding of a knowledge graph", encoding.name, "one that training does not vary: lap20-plain"
        )


def _ask(model: Any, dataset: FrozenDataset, settings: CellSettings) -> tuple[Answers, ...]:
    """Score the triples that a dataset names, along all of its edges."""
    (head, tail), relation = (dataset.tensors[name].long() for name in ("edge_label_index", "edge_label_type"))
    data = whole_graph_of(dataset, dataset.global_edge_index, settings)
    codes = model.encode(data)
    logits = model.decode(codes, torch.stack([head, tail]).to(settings.device), relation.to(settings.device))
    number = (relation * dataset.n_nodes + head) * dataset.n_nodes + tail
    examples = Examples("triple", {"id": number, "head": head, "relation": relation, "tail": tail})
    return (Answers(examples, known_classes(dataset, "edge_label", head.numel()), logits.unsqueeze(1)),)


TRIPLES = ProblemKind(pose=pose_triples, sizes=_sizes_of_triples, ask=_ask, has_one_loss=True, refuse=_refuse_settings)
