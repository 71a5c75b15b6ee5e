"""Facts of the data that a model needs before its parameters can be drawn. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Sizes"]


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Facts of the data that a model is built by.

    ``vocabulary`` holds one size per integer feature column and is empty for real features; ``n_relations`` is above
    zero for knowledge graphs only. ``n_edge_features`` counts the features of labelled edges, ``is_directed`` says
    whether these have an order; both matter where edges are classified. ``edge_channels`` counts the features of the
    message edges, ``edge_vocabulary`` is to them what ``vocabulary`` is to those of nodes. ``n_encoding`` is the width
    of the positional encoding, ``n_nodes`` the number of nodes where there is one graph, ``n_graph_targets`` counts
    what is predicted of a graph beside the ``out_channels`` of each of its nodes. ``category_channels`` is the width of
    what stands for a category, ``code_channels`` that of codes by which links are scored; 0 is ``hidden_channels``.
    """

    in_channels: int
    hidden_channels: int
    out_channels: int
    vocabulary: tuple[int, ...] = ()
    n_relations: int = 0
    n_edge_features: int = 0
    is_directed: bool = False
    edge_channels: int = 0
    edge_vocabulary: tuple[int, ...] = ()
    n_encoding: int = 0
    n_nodes: int = 0
    n_graph_targets: int = 0
    category_channels: int = 0
    code_channels: int = 0

    @property
    def embedding_channels(self) -> int:
        """The width of what stands for a category."""
        return self.category_channels or self.hidden_channels
