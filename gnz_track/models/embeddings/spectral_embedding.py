"""Spectral embedding (Belkin and Niyogi, 2003): leading eigenvectors of the normalised adjacency with loops."""

from __future__ import annotations

import functools

import numpy as np
import torch
from scipy import sparse
from scipy.sparse.linalg import eigsh
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.embeddings.fitted import FittedEmbedding, check_one_graph, undirected_links
from gnz_track.models.sizes import Sizes
from gnz_track.models.stack import check_count

__all__ = ["SpectralEmbedding"]


class SpectralEmbedding(FittedEmbedding):
    """Eigenvectors of the ``num_components`` eigenvalues of largest size, to a ``tolerance``, then a linear map."""

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        sizes: Sizes,
        num_components: int = 64,
        tolerance: float = 0.001,
        is_scaled: bool = True,
    ) -> None:
        check_one_graph(sizes, "SpectralEmbedding")
        del in_channels, hidden_channels
        check_count("num_components", num_components)
        if not tolerance >= 0:
            raise BadValue("tolerance", tolerance, "a number from 0 upwards")
        embed = functools.partial(_embed, num_components, tolerance)
        super().__init__(num_components, out_channels, embed, is_scaled=is_scaled)


def _embed(n_components: int, tolerance: float, data: Data, generator: Generator) -> Tensor:
    links = undirected_links(data)
    n = links.shape[0]
    looped = links + sparse.eye(n)
    half = sparse.diags(np.asarray(looped.sum(axis=1)).ravel() ** -0.5)
    first = torch.rand(n, generator=generator, dtype=torch.float64).numpy()
    k = min(n_components, n - 1)
    vectors = eigsh(half @ looped @ half, k=k, which="LM", tol=tolerance, v0=first)[1]
    return torch.from_numpy(np.ascontiguousarray(vectors)).to(data.edge_index.device)
