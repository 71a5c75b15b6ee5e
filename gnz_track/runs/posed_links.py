"""Links and triples that a split hides, as problems."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits import LinkPart, LinkSplit, TriplePart, split_links, split_triples
from gnz_track.runs.model_inputs import ProblemTerms, whole_graph_of
from gnz_track.runs.posed import Problem, scored
from gnz_track.runs.sizes import sizes_of
from gnz_track.training.loop import TRAINING
from gnz_track.training.objectives import LinkObjective, Objective, TripleObjective
from gnz_track.training.published_links import LinkBatches, PublishedLinkScorer
from gnz_track.training.scorers import LinkPredictionScorer, Scorer, TripleScorer

__all__ = ["pose_links", "pose_triples"]


def pose_links(dataset: FrozenDataset, terms: ProblemTerms) -> Problem:
    """Pose the links that a split hides."""
    split = split_links(dataset, policy=terms.protocol.splits, seed=terms.seed, is_blind=terms.is_blind)
    data = whole_graph_of(dataset, split.message_edges, terms, split_digest=split.digest)
    objective, scorers = (_pose_published if split.is_published else _pose_drawn)(split, terms, data)
    return Problem(
        objective=objective,
        scorers=scorers,
        sizes=sizes_of(dataset, terms),
        split_digest=split.digest,
        part_sizes=split.sizes,
    )


def _pose_drawn(split: LinkSplit, terms: ProblemTerms, data: Data) -> tuple[Objective, dict[str, Scorer]]:
    move = terms.device
    train = split.train
    objective = LinkObjective(data, train.pairs.to(move), train.labels.to(move), batch_size=terms.batch_size)
    parts = scored(split, terms)
    return objective, {name: LinkPredictionScorer(part.pairs.to(move), part.labels.to(move)) for name, part in parts}


def _pose_published(split: LinkSplit, terms: ProblemTerms, data: Data) -> tuple[Objective, dict[str, Scorer]]:
    def scorer(name: str, part: LinkPart) -> Scorer:
        # Training has no pairs of its own to be told from: those of validation, as published.
        links, others = _links_of(part)[0], _links_of(split.val if name == TRAINING else part)
        non_links = others[1]
        if terms.batch_of_scores:
            # Scores in the literature were taken against the first of these alone, as many as there are links.
            non_links = non_links[:, : others[0].size(1)]
        labels = torch.cat([torch.ones(links.size(1)), torch.zeros(non_links.size(1))])
        return PublishedLinkScorer(torch.cat([links, non_links], dim=1).to(terms.device), labels.to(terms.device))

    objective = LinkBatches(data, split.train.pairs.to(terms.device), terms.batch_size)
    return objective, {name: scorer(name, part) for name, part in scored(split, terms)}


def _links_of(part: LinkPart) -> tuple[Tensor, Tensor]:
    """Return the links and the pairs that are none."""
    return part.pairs[:, part.labels == 1], part.pairs[:, part.labels == 0]


def pose_triples(dataset: FrozenDataset, terms: ProblemTerms) -> Problem:
    """Pose the tails and heads of triples that a split hides."""
    split = split_triples(dataset, seed=terms.seed, is_blind=terms.is_blind)
    data = whole_graph_of(dataset, split.train.edge_index, terms, split_digest=split.digest)
    data.edge_type = split.train.edge_type.to(terms.device)
    # Ranks are filtered by what is known: in a blind problem that is no test triple.
    parts = scored(split, terms)
    triples = {name: _triples(part).to(terms.device) for name, part in [("train", split.train), *parts]}
    known = torch.cat([found for name, found in triples.items() if name != TRAINING], dim=1)
    return Problem(
        objective=TripleObjective(data, triples["train"], dataset.n_relations),
        scorers={name: TripleScorer(triples[name], part.negatives[1].to(terms.device), known) for name, part in parts},
        sizes=sizes_of(dataset, terms),
        split_digest=split.digest,
        part_sizes=split.sizes,
    )


def _triples(part: TriplePart) -> Tensor:
    return torch.stack([part.edge_index[0], part.edge_type, part.edge_index[1]])
