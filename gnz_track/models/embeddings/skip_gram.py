"""Skip-gram with negative samples (Mikolov et al., NeurIPS 2013) of walks, by Adam on full tables."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Generator, Tensor
from torch.nn import functional

__all__ = ["fit_skip_gram", "pairs_of"]

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
    optimiser = torch.optim.Adam(tables, lr=LR)
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
