"""Graph transformer with attention over neighbours (Shi et al., IJCAI 2021)."""

from __future__ import annotations

from torch_geometric.nn import TransformerConv

from gnz_track.models.stack import AttentionStack

__all__ = ["GraphTransformer"]


class GraphTransformer(AttentionStack):
    """Transformer convolutions with ReLU and dropout between them; ``forward(data) -> [n_nodes, out]``.

    Options of :mod:`gnz_track.models.stack`: ``n_layers=2``, ``heads=4``, ``dropout=0.1``, ``norm='none'``,
    ``jumping='none'``. ``dropout`` is that of the attention too.
    """

    defaults = AttentionStack.defaults.but(heads=4, dropout=0.1)
    attention = TransformerConv
