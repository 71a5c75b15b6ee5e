"""node2vec (Grover and Leskovec, KDD 2016): skip-gram codes of biased walks, then a linear map."""

from __future__ import annotations

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.models.adjacency import undirected_links
from gnz_track.models.embeddings.fitted import OneGraphEmbedding
from gnz_track.models.embeddings.skip_gram import fit_skip_gram
from gnz_track.models.embeddings.walks import Walker
from gnz_track.models.options import Option, count

__all__ = ["Node2Vec"]

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
