"""GraRep (Cao, Lu and Xu, CIKM 2015) as the published space has it: singular vectors of a power of the adjacency."""

from __future__ import annotations

import functools

import numpy as np
import torch
from scipy.sparse.linalg import LinearOperator, svds
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.models.embeddings.fitted import FittedEmbedding, check_one_graph, undirected_links
from gnz_track.models.sizes import Sizes
from gnz_track.models.stack import check_count

__all__ = ["GraRep"]


class GraRep(FittedEmbedding):
    """Left singular vectors of the ``num_components`` largest singular values of a ``power``, then a linear map.

    The power is never formed: it is multiplied with, and memory stays in proportion to the edges.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        sizes: Sizes,
        num_components: int = 64,
        power: int = 2,
        is_scaled: bool = True,
    ) -> None:
        check_one_graph(sizes, "GraRep")
        del in_channels, hidden_channels
        check_count("num_components", num_components)
        check_count("power", power)
        embed = functools.partial(_embed, num_components, power)
        super().__init__(num_components, out_channels, embed, is_scaled=is_scaled)


def _embed(n_components: int, power: int, data: Data, generator: Generator) -> Tensor:
    links = undirected_links(data)

    def multiply(x: np.ndarray) -> np.ndarray:
        return functools.reduce(lambda found, _: links @ found, range(power), x)

    n = links.shape[0]
    # Symmetric: its transpose is itself.
    operator = LinearOperator((n, n), matvec=multiply, rmatvec=multiply, matmat=multiply, rmatmat=multiply, dtype=float)
    first = torch.rand(n, generator=generator, dtype=torch.float64).numpy()
    vectors = svds(operator, k=min(n_components, n - 1), v0=first)[0]
    return torch.from_numpy(np.ascontiguousarray(vectors)).to(data.edge_index.device)
