"""Spectral embedding (Belkin and Niyogi, 2003): leading eigenvectors of the normalised adjacency with loops."""

from __future__ import annotations

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import eigsh
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.models.embeddings.fitted import OneGraphEmbedding, undirected_links
from gnz_track.models.options import Option, count

__all__ = ["SpectralEmbedding"]


class SpectralEmbedding(OneGraphEmbedding):
    """Eigenvectors of the ``num_components`` eigenvalues of largest size, to a ``tolerance``, then a linear map."""

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
