"""Links and triples that a split hides, as problems."""

from __future__ import annotations

import torch
from torch import Tensor

from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.splits import TriplePart, split_links, split_triples
from gnz_track.runs.model_inputs import Terms, whole_graph_of
from gnz_track.runs.posed import Problem, scored
from gnz_track.runs.sizes import sizes_of
from gnz_track.training.loop import TRAINING
from gnz_track.training.objectives import LinkObjective, TripleObjective
from gnz_track.training.scorers import LinkScorer, TripleScorer

__all__ = ["pose_links", "pose_triples"]


def pose_links(dataset: FrozenDataset, terms: Terms) -> Problem:
    """Pose the links that a split hides."""
    split = split_links(dataset, policy=terms.protocol.splits, seed=terms.seed)
    data = whole_graph_of(dataset, split.message_edges, terms, split_digest=split.digest)
    move = terms.device
    return Problem(
        objective=LinkObjective(
            data, split.train.pairs.to(move), split.train.labels.to(move), batch_size=terms.batch_size
        ),
        scorers={name: LinkScorer(part.pairs.to(move), part.labels.to(move)) for name, part in scored(split, terms)},
        sizes=sizes_of(dataset, terms),
        split_digest=split.digest,
    )


def pose_triples(dataset: FrozenDataset, terms: Terms) -> Problem:
    """Pose the tails and heads of triples that a split hides."""
    split = split_triples(dataset, seed=terms.seed)
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
    )


def _triples(part: TriplePart) -> Tensor:
    return torch.stack([part.edge_index[0], part.edge_type, part.edge_index[1]])
