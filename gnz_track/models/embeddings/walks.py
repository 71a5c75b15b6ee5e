"""Random walks of the second order (Grover and Leskovec, KDD 2016), many at once.

A step goes to a neighbour drawn evenly, which is accepted with the probability of its weight over the largest one, and
drawn again otherwise: no table of transitions is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from scipy import sparse
from torch import Generator, Tensor

__all__ = ["Walker"]


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
