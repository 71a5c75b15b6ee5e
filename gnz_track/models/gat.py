"""Graph attention network (Velickovic et al., ICLR 2018)."""

from __future__ import annotations

from torch_geometric.nn import GATConv

from gnz_track.models.stack import AttentionStack

__all__ = ["GAT"]


class GAT(AttentionStack):
    """Attention layers with ELU between them, dropout on all inputs; ``forward(data) -> [n_nodes, out]``.

    Options of :mod:`gnz_track.models.stack`: ``n_layers=2``, ``heads=8``, ``dropout=0.6``, ``norm='none'``,
    ``jumping='none'``. ``dropout`` is that of the features and the attention too.
    """

    defaults = AttentionStack.defaults.but(heads=8, dropout=0.6, act="elu")
    attention = GATConv
    drops_input = True
