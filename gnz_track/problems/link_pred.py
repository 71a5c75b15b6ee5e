"""Links that a split hides, as problems.

Links whose parts are published: trained in batches, told from pairs drawn anew, ranked among published non-links.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Generator, Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits.links import LinkPart, LinkSplit, split_links
from gnz_track.errors import BadValue
from gnz_track.problems.baselines import KnownScorer
from gnz_track.problems.inputs import complete_sizes, mapped_graph_of, whole_graph_of
from gnz_track.problems.problem import (
    Problem,
    ProblemKind,
    batch_of_scores,
    check_outputs,
    known_classes,
    scored,
)
from gnz_track.problems.sampled import SampledLinks, batches_from
from gnz_track.problems.scoring import score_answers
from gnz_track.training.answers import Answers, Examples
from gnz_track.training.loop import TRAINING, Objective
from gnz_track.training.metrics import Kind, MetricRow, find_metric, metrics_of
from gnz_track.types import CellSettings

__all__ = ["LINKS", "LinkBatches", "LinkObjective", "LinkPredictionScorer", "PublishedLinkScorer", "pose_links"]


# Pairs decoded at a time where there are millions of them.
CHUNK = 1 << 16


@dataclass(frozen=True, eq=False)
class LinkObjective:
    """Binary cross-entropy over training pairs ``[2, n]`` with labels ``[n]``; predicts node codes.

    A step takes ``batch_size`` of the pairs, in random order, and the whole graph; of 0 it takes all.
    """

    data: Data
    pairs: Tensor
    labels: Tensor
    batch_size: int = 0

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield the whole graph, once for every batch of pairs, whose places are its ``scored_pairs``."""
        if not self.batch_size:
            yield copy.copy(self.data)
            return
        order = torch.randperm(self.labels.numel(), generator=generator).to(self.labels.device)
        for places in order.split(self.batch_size):
            batch = copy.copy(self.data)
            batch.scored_pairs = places
            yield batch

    def pairs_of(self, batch: Data) -> tuple[Tensor, Tensor]:
        """Return the pairs ``[2, n]`` of a batch, and which of them are links ``[n]``."""
        if "scored_pairs" not in batch:
            return self.pairs, self.labels
        return self.pairs[:, batch.scored_pairs], self.labels[batch.scored_pairs]

    def loss(self, model: Any, batch: Data) -> tuple[Tensor, int]:
        """Return the cross-entropy of a batch of training pairs."""
        pairs, labels = self.pairs_of(batch)
        logits = model.decode(check_outputs(model, model.encode(batch), batch.num_nodes), pairs)
        return functional.binary_cross_entropy_with_logits(logits, labels), labels.numel()

    def predict(self, model: Any) -> Tensor:
        """Return the node codes ``[n_nodes, width]``."""
        codes: Tensor = model.encode(copy.copy(self.data))
        return codes

    def predict_training(self, model: Any) -> Tensor:
        """Return the same."""
        return self.predict(model)


@dataclass(frozen=True, eq=False)
class LinkBatches:
    """Binary cross-entropy over training links ``[2, n]`` in shuffled batches, each beside as many random pairs.

    Every batch is the whole graph with its pairs as ``edge_label_index`` and 1.0 or 0.0 as ``edge_label``. A pair is
    drawn again while it is a link or a loop. ``batch_size`` counts links; 0 takes all. Predicts node codes.
    """

    data: Data
    links: Tensor
    batch_size: int = 0

    def __post_init__(self) -> None:
        n_nodes: int = self.data.num_nodes  # type: ignore[assignment]
        both = torch.cat([self.data.edge_index, self.links], dim=1)
        known = torch.unique(self._code(both[:, both[0] != both[1]])).cpu()
        if known.numel() >= n_nodes * (n_nodes - 1):
            raise BadValue("the links of a graph", f"all pairs of {n_nodes} nodes", "some pairs that are no links")
        # A mark for the last bits of each link's code, in a table of which a sixteenth at most is marked.
        marks = torch.zeros(1 << (16 * known.numel()).bit_length(), dtype=torch.bool)
        marks[known & (marks.numel() - 1)] = True
        object.__setattr__(self, "_known", known)
        object.__setattr__(self, "_marks", marks)

    def batches(self, generator: Generator) -> Iterator[Data]:
        """Yield the graph with the pairs of one batch after another."""
        n = self.links.size(1)
        for rows in torch.randperm(n, generator=generator).split(self.batch_size or n):
            links = self.links[:, rows.to(self.links.device)]
            batch = copy.copy(self.data)
            batch.edge_label_index = torch.cat([links, self._draw(rows.numel(), generator)], dim=1)
            batch.edge_label = torch.cat([torch.ones(rows.numel()), torch.zeros(rows.numel())]).to(links.device)
            yield batch

    def pairs_of(self, batch: Data) -> tuple[Tensor, Tensor]:
        """Return the pairs ``[2, n]`` of a batch, and which of them are links ``[n]``."""
        return batch.edge_label_index, batch.edge_label

    def loss(self, model: Any, batch: Data) -> tuple[Tensor, int]:
        """Return the mean of the cross-entropy of links and of that of drawn pairs."""
        codes = check_outputs(model, model.encode(batch), batch.num_nodes)
        logits = model.decode(codes, batch.edge_label_index)
        return functional.binary_cross_entropy_with_logits(logits, batch.edge_label), batch.edge_label.numel()

    def predict(self, model: Any) -> Tensor:
        """Return the node codes ``[n_nodes, width]``."""
        codes: Tensor = model.encode(copy.copy(self.data))
        return codes

    def predict_training(self, model: Any) -> Tensor:
        """Return the same."""
        return self.predict(model)

    def _code(self, pairs: Tensor) -> Tensor:
        return pairs[0] * self.data.num_nodes + pairs[1]

    def _draw(self, n: int, generator: Generator) -> Tensor:
        """Return random pairs ``[2, n]``, none of which is a link of training or a loop."""
        known: Tensor = self._known  # type: ignore[attr-defined]
        marks: Tensor = self._marks  # type: ignore[attr-defined]
        # Drawn on the CPU whatever the device, so that a seed means the same numbers everywhere.
        found, places = torch.empty(2, n, dtype=torch.int64), torch.arange(n)
        while places.numel():
            drawn = torch.randint(self.data.num_nodes, (2, places.numel()), generator=generator)
            found[:, places] = drawn
            codes, is_bad = self._code(drawn), drawn[0] == drawn[1]
            # Few have the last bits of a link; these alone are looked for among all links, which takes long.
            like_links = marks[codes & (marks.numel() - 1)].nonzero().flatten()
            codes = codes[like_links]
            at = torch.searchsorted(known, codes).clamp_(max=known.numel() - 1)
            is_bad[like_links[known[at] == codes]] = True
            places = places[is_bad]
        return found.to(self.links.device)


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
            Those of :class:`~gnz_track.training.loop.Scorer`.
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

    def answers(self, model: Any, prediction: Tensor) -> tuple[Answers, ...]:
        """Return the logit of each pair, with 1 where it is a link and 0 where it is none."""
        head, tail = self.pairs
        examples = Examples("link", {"id": head * prediction.size(0) + tail, "head": head, "tail": tail})
        return (Answers(examples, self.labels.long(), self.decode(model, prediction).unsqueeze(1)),)

    def score_constant(self, answer: None, metric: str) -> float:
        """Return the score of who tells no pair from another."""
        del answer
        row, labels = find_metric(self.kind, metric), self.labels.cpu()
        if row.takes == "ranks":
            # Links are put anywhere among the others: each rank is as likely as any other.
            n_others = int((labels <= 0).sum())
            return row.function(np.arange(1, n_others + 2))
        return self._score(row, torch.zeros(labels.numel()))

    def _score(self, row: MetricRow, logits: Tensor) -> float:
        return score_answers(row, self.kind, self.labels, logits)


@dataclass(frozen=True, eq=False)
class PublishedLinkScorer(LinkPredictionScorer):
    """Held-out links and the published pairs that they are told from; the usual metrics rank among these too."""

    kind: ClassVar[Kind] = "published links"

    def loss(self, model: Any, prediction: Tensor) -> float:
        """Return what training minimises, on this part: links weigh as much as pairs that are none."""
        logits, is_link = self.decode(model, prediction), self.labels > 0
        parts = (functional.softplus(-logits[is_link]), functional.softplus(logits[~is_link]))
        return float(torch.stack([part.mean() for part in parts]).mean())

    def decode(self, model: Any, prediction: Tensor) -> Tensor:
        """Return one logit per pair ``[n]``, some of them at a time."""
        return torch.cat([model.decode(prediction, pairs) for pairs in self.pairs.split(CHUNK, dim=1)])


def pose_links(dataset: FrozenDataset, settings: CellSettings) -> Problem:
    """Pose the links that a split hides."""
    split = split_links(dataset, policy=settings.splits, seed=settings.seed_of("split"), is_blind=settings.is_blind)
    every = torch.arange(dataset.n_nodes)
    graph_of = mapped_graph_of if settings.neighbours else whole_graph_of
    data = graph_of(dataset, split.message_edges, settings, split_digest=split.digest, in_training=every)
    pairs, scorers = (_pose_published if split.is_published else _pose_drawn)(split, settings, data)
    objective: Objective = pairs
    if settings.neighbours:
        objective = SampledLinks(pairs, batches_from(data, dataset, settings))
    return Problem(
        objective=objective,
        scorers=scorers,
        sizes=complete_sizes(dataset, settings, _sizes_of_links(dataset, settings)),
        split_digest=split.digest,
        split=partial(_numbers_of_links, split),
        part_sizes=split.sizes,
    )


def _pose_drawn(split: LinkSplit, settings: CellSettings, data: Data) -> tuple[LinkObjective, dict[str, KnownScorer]]:
    move = settings.device
    train = split.train
    objective = LinkObjective(
        data, train.pairs.to(move), train.labels.to(move), batch_size=settings.optimiser.batch_size
    )
    parts = scored(split, settings)
    return objective, {name: LinkPredictionScorer(part.pairs.to(move), part.labels.to(move)) for name, part in parts}


def _pose_published(split: LinkSplit, settings: CellSettings, data: Data) -> tuple[LinkBatches, dict[str, KnownScorer]]:
    def scorer(name: str, part: LinkPart) -> KnownScorer:
        # Training has no pairs of its own to be told from: those of validation, as published.
        links, others = _links_of(part)[0], _links_of(split.val if name == TRAINING else part)
        non_links = others[1]
        if batch_of_scores(settings):
            # Scores in the literature were taken against the first of these alone, as many as there are links.
            non_links = non_links[:, : others[0].size(1)]
        labels = torch.cat([torch.ones(links.size(1)), torch.zeros(non_links.size(1))])
        return PublishedLinkScorer(torch.cat([links, non_links], dim=1).to(settings.device), labels.to(settings.device))

    objective = LinkBatches(data, split.train.pairs.to(settings.device), settings.optimiser.batch_size)
    return objective, {name: scorer(name, part) for name, part in scored(split, settings)}


def _numbers_of_links(split: LinkSplit) -> dict[str, dict[str, Tensor]]:
    """Return the ends of all pairs of each part, and whether they are links."""
    parts = {"train": split.train, "val": split.val, "test": split.test}
    return {
        name: {"head": part.pairs[0], "tail": part.pairs[1], "label": part.labels.long()}
        for name, part in parts.items()
    }


def _links_of(part: LinkPart) -> tuple[Tensor, Tensor]:
    """Return the links and the pairs that are none."""
    return part.pairs[:, part.labels == 1], part.pairs[:, part.labels == 0]


def _sizes_of_links(dataset: FrozenDataset, settings: CellSettings) -> dict[str, Any]:
    # Features of edges are known for the graph as it is, and not for what a split leaves of it.
    del dataset
    code_channels = settings.code_channels
    return {"out_channels": code_channels or settings.hidden_channels, "code_channels": code_channels}


def _ask(model: Any, dataset: FrozenDataset, settings: CellSettings) -> tuple[Answers, ...]:
    """Score the pairs that a dataset names, along all of its edges."""
    pairs = dataset.tensors["edge_label_index"].long().to(settings.device)
    labels = known_classes(dataset, "edge_label", pairs.size(1))
    codes = model.encode(whole_graph_of(dataset, dataset.global_edge_index, settings))
    return PublishedLinkScorer(pairs, labels).answers(model, codes)


LINKS = ProblemKind(
    pose=pose_links, sizes=_sizes_of_links, ask=_ask, needs=("edge_index",), has_one_loss=True, is_sampled=True
)
