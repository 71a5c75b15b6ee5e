"""Leading vectors of a matrix of the graph, then a linear map of them."""

from __future__ import annotations

import functools

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, eigsh, svds
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.models.embeddings.fitted import OneGraphEmbedding, undirected_links
from gnz_track.models.options import Option, count

__all__ = ["GraRep", "SpectralEmbedding"]


class SpectralEmbedding(OneGraphEmbedding):
    """Eigenvectors of the normalised adjacency with loops (Belkin and Niyogi, 2003), then a linear map.

    They belong to the ``num_components`` eigenvalues of largest size, and are exact to a ``tolerance``.
    """

    defaults = OneGraphEmbedding.defaults.but(
        num_components=count(64), tolerance=Option(0.001, lambda value: value >= 0, "a number from 0 upwards")
    )

    def code_width(self, hidden_channels: int) -> int:
        """Return how many vectors there are."""
        del hidden_channels
        return int(self.options.num_components)

    def embed(self, data: Data, generator: Generator) -> Tensor:
        """Return eigenvectors ``[n_nodes, up to num_components]``."""
        links = undirected_links(data)
        n = links.shape[0]
        looped = links + sparse.eye(n)
        half = sparse.diags(np.asarray(looped.sum(axis=1)).ravel() ** -0.5)
        first = torch.rand(n, generator=generator, dtype=torch.float64).numpy()
        k = min(self.options.num_components, n - 1)
        vectors = eigsh(half @ looped @ half, k=k, which="LM", tol=self.options.tolerance, v0=first)[1]
        return torch.from_numpy(np.ascontiguousarray(vectors)).to(data.edge_index.device)


class GraRep(OneGraphEmbedding):
    """Left singular vectors of a ``power`` of the adjacency (Cao, Lu and Xu, CIKM 2015), then a linear map.

    They belong to the ``num_components`` largest singular values. The power is never formed:
    it is multiplied with, and memory stays in proportion to the edges.
    """

    defaults = OneGraphEmbedding.defaults.but(num_components=count(64), power=count(2))

    def code_width(self, hidden_channels: int) -> int:
        """Return how many vectors there are."""
        del hidden_channels
        return int(self.options.num_components)

    def embed(self, data: Data, generator: Generator) -> Tensor:
        """Return singular vectors ``[n_nodes, up to num_components]``."""
        links = undirected_links(data)

        def multiply(x: np.ndarray) -> np.ndarray:
            return functools.reduce(lambda found, _: links @ found, range(self.options.power), x)

        n = links.shape[0]
        # Symmetric: its transpose is itself.
        products = dict.fromkeys(("matvec", "rmatvec", "matmat", "rmatmat"), multiply)
        first = torch.rand(n, generator=generator, dtype=torch.float64).numpy()
        k = min(self.options.num_components, n - 1)
        vectors = svds(LinearOperator((n, n), dtype=float, **products), k=k, v0=first)[0]
        return torch.from_numpy(np.ascontiguousarray(vectors)).to(data.edge_index.device)
