"""node2vec (Grover and Leskovec, KDD 2016): skip-gram codes of biased walks, then a linear map.

Walks are of the second order and taken many at once. A step goes to a neighbour drawn evenly, which is accepted with
the probability of its weight over the largest one, and drawn again otherwise: no table of transitions is ever made.
Codes are those of skip-gram with negative samples (Mikolov et al., NeurIPS 2013), by Adam on full tables.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from scipy import sparse
from torch import Generator, Tensor
from torch.nn import functional
from torch_geometric.data import Data

from gnz_track.models.embeddings.fitted import OneGraphEmbedding, undirected_links
from gnz_track.models.options import Option, count
from gnz_track.optimisers import Adam

__all__ = ["Node2Vec", "Walker", "fit_skip_gram", "pairs_of"]


LR, N_NEGATIVES = 0.01, 5
# Pairs of a step, and the steps that a round shall have: a small graph would be over before anything is learnt.
FEWEST, MOST, STEPS = 1 << 5, 1 << 13, 20
# The power of their counts by which nodes are drawn as negatives.
POWER = 0.75


def fit_skip_gram(
    walks: Iterable[Tensor], n_nodes: int, width: int, *, window: int, counts: Tensor, generator: Generator
) -> Tensor:
    """Return codes ``[n_nodes, width]`` by which a node foretells those that are near it on walks.

    Parameters
    ----------
    walks
        rounds of walks, each ``[n_walks, length]``
    n_nodes, width
        shape of the codes
    window
        how many steps a context reaches at most
    counts
        how often nodes are met, up to a factor ``[n_nodes]``
    generator
        draws first codes, windows, the order of pairs, and negatives
    """
    centres = (torch.rand(n_nodes, width, generator=generator) - 0.5) / width
    contexts = torch.zeros(n_nodes, width)
    tables = [centres.requires_grad_(), contexts.requires_grad_()]
    optimiser = Adam(tables, lr=LR)
    reach = counts.double().pow(POWER).cumsum(0)
    with torch.enable_grad():
        for round_of_walks in walks:
            pairs = pairs_of(round_of_walks, window, generator)
            size = min(max(pairs.size(1) // STEPS, FEWEST), MOST)
            for batch in pairs[:, torch.randperm(pairs.size(1), generator=generator)].split(size, dim=1):
                drawn = torch.rand(batch.size(1), N_NEGATIVES, generator=generator, dtype=torch.float64) * reach[-1]
                negatives = torch.searchsorted(reach, drawn, right=True).clamp_(max=n_nodes - 1)
                optimiser.zero_grad()
                _loss(centres, contexts, batch, negatives).backward()  # type: ignore[no-untyped-call]
                optimiser.step()
    return centres.detach()


def pairs_of(walks: Tensor, window: int, generator: Generator) -> Tensor:
    """Return pairs of centre and context ``[2, n]``; each centre looks both ways.

    Parameters
    ----------
    walks
        walks ``[n_walks, length]``
    window
        how many steps a centre looks at most; the number is drawn from 1 to this
    generator
        draws it
    """
    reach = torch.randint(1, window + 1, walks.shape, generator=generator)
    found = []
    for distance in range(1, min(window, walks.size(1) - 1) + 1):
        first, second = walks[:, :-distance], walks[:, distance:]
        ahead, behind = reach[:, :-distance] >= distance, reach[:, distance:] >= distance
        found += [torch.stack([first[ahead], second[ahead]]), torch.stack([second[behind], first[behind]])]
    return torch.cat(found, dim=1) if found else walks.new_empty(2, 0)


def _loss(centres: Tensor, contexts: Tensor, pairs: Tensor, negatives: Tensor) -> Tensor:
    codes = functional.embedding(pairs[0], centres)
    near = (codes * functional.embedding(pairs[1], contexts)).sum(dim=1)
    far = torch.bmm(functional.embedding(negatives, contexts), codes.unsqueeze(2)).squeeze(2)
    # -log sigmoid(s) = softplus(-s), and for negatives softplus(s).
    return functional.softplus(-near).mean() + functional.softplus(far).sum(dim=1).mean()


@dataclass(frozen=True, eq=False)
class Walker:
    """Walks on links ``[n, n]``: going back weighs ``1 / p``, near the last node 1, away from it ``1 / q``."""

    links: sparse.csr_matrix
    p: float
    q: float

    def __post_init__(self) -> None:
        links = self.links.sorted_indices()
        starts, targets = (torch.from_numpy(part).long() for part in (links.indptr, links.indices))
        object.__setattr__(self, "_starts", starts)
        object.__setattr__(self, "_targets", targets)
        sources = torch.arange(self.links.shape[0]).repeat_interleave(starts.diff())
        object.__setattr__(self, "_codes", sources * self.links.shape[0] + targets)

    def walk(self, first: Tensor, length: int, generator: Generator) -> Tensor:
        """Return walks ``[n_walks, length]``.

        Parameters
        ----------
        first
            where walks begin ``[n_walks]``; all of these nodes have a neighbour
        length
            how many nodes a walk has
        generator
            draws the steps
        """
        walks = [first]
        for _ in range(length - 1):
            walks.append(self._step(walks[-1], walks[-2] if len(walks) > 1 else None, generator))
        return torch.stack(walks, dim=1)

    def _step(self, at: Tensor, before: Tensor | None, generator: Generator) -> Tensor:
        found, waiting = torch.empty_like(at), torch.arange(at.numel())
        while waiting.numel():
            drawn = self._neighbours(at[waiting], generator)
            if before is None:
                return drawn
            weights = self._weights(before[waiting], drawn)
            accepted = torch.rand(drawn.numel(), generator=generator) * self._largest < weights
            found[waiting[accepted]] = drawn[accepted]
            waiting = waiting[~accepted]
        return found

    @property
    def _largest(self) -> float:
        return max(1 / self.p, 1.0, 1 / self.q)

    def _neighbours(self, at: Tensor, generator: Generator) -> Tensor:
        starts: Tensor = self._starts  # type: ignore[attr-defined]
        targets: Tensor = self._targets  # type: ignore[attr-defined]
        degrees = starts[at + 1] - starts[at]
        # In double precision, which a number below 1 never leaves by rounding.
        places = (torch.rand(at.numel(), generator=generator, dtype=torch.float64) * degrees).long()
        return targets[starts[at] + places]

    def _weights(self, before: Tensor, drawn: Tensor) -> Tensor:
        codes: Tensor = self._codes  # type: ignore[attr-defined]
        wanted = before * self.links.shape[0] + drawn
        is_near = codes[torch.searchsorted(codes, wanted).clamp_(max=codes.numel() - 1)] == wanted
        weights = torch.where(is_near, 1.0, 1 / self.q)
        return torch.where(drawn == before, 1 / self.p, weights)


# Walks from every node, as published.
N_ROUNDS = 10


def _is_positive(value: float) -> bool:
    return value > 0


class Node2Vec(OneGraphEmbedding):
    """Codes as wide as ``hidden_channels`` of ten walks from every node, then a linear map.

    Walks have ``walk_length`` nodes and contexts reach ``context_size`` steps; to go back weighs ``1 / p``, to go away
    ``1 / q``. Nodes without a neighbour keep a code that says nothing.
    """

    defaults = OneGraphEmbedding.defaults.but(
        walk_length=count(20),
        context_size=count(10),
        p=Option(1.0, _is_positive, "a number above 0"),
        q=Option(1.0, _is_positive, "a number above 0"),
    )

    def embed(self, data: Data, generator: Generator) -> Tensor:
        """Return codes ``[n_nodes, width]``."""
        chosen, links = self.options, undirected_links(data)
        degrees = torch.from_numpy(links.indptr).long().diff()
        first = degrees.nonzero().flatten()
        walker = Walker(links, chosen.p, chosen.q)
        rounds = (walker.walk(first, chosen.walk_length, generator) for _ in range(N_ROUNDS if first.numel() else 0))
        width, window = self.linear.in_features, chosen.context_size
        codes = fit_skip_gram(rounds, links.shape[0], width, window=window, counts=degrees, generator=generator)
        return codes.to(data.edge_index.device)
