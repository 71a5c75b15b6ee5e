"""node2vec (Grover and Leskovec, KDD 2016): skip-gram codes of biased walks, then a linear map."""

from __future__ import annotations

import functools

import torch
from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.adjacency import undirected_links
from gnz_track.models.embeddings.fitted import FittedEmbedding, check_one_graph
from gnz_track.models.embeddings.skip_gram import fit_skip_gram
from gnz_track.models.embeddings.walks import Walker
from gnz_track.models.sizes import Sizes
from gnz_track.models.stack import check_count

__all__ = ["Node2Vec"]

# Walks from every node, as published.
N_ROUNDS = 10


class Node2Vec(FittedEmbedding):
    """Codes as wide as ``hidden_channels`` of ten walks from every node, then a linear map.

    Walks have ``walk_length`` nodes and contexts reach ``context_size`` steps; to go back weighs ``1 / p``, to go away
    ``1 / q``. Nodes without a neighbour keep a code that says nothing.
    """

    def __init__(  # noqa: PLR0913  (each is an option that a search tunes)
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        sizes: Sizes,
        walk_length: int = 20,
        context_size: int = 10,
        p: float = 1.0,
        q: float = 1.0,
        is_scaled: bool = True,
    ) -> None:
        check_one_graph(sizes, "Node2Vec")
        del in_channels
        check_count("walk_length", walk_length)
        check_count("context_size", context_size)
        for name, value in (("p", p), ("q", q)):
            if not value > 0:
                raise BadValue(name, value, "a number above 0")
        embed = functools.partial(_embed, hidden_channels, walk_length, context_size, (p, q))
        super().__init__(hidden_channels, out_channels, embed, is_scaled=is_scaled)


def _embed(width: int, length: int, window: int, bias: tuple[float, float], data: Data, generator: Generator) -> Tensor:
    links = undirected_links(data)
    degrees = torch.from_numpy(links.indptr).long().diff()
    first = degrees.nonzero().flatten()
    walker = Walker(links, *bias)
    rounds = (walker.walk(first, length, generator) for _ in range(N_ROUNDS if first.numel() else 0))
    codes = fit_skip_gram(rounds, links.shape[0], width, window=window, counts=degrees, generator=generator)
    return codes.to(data.edge_index.device)
