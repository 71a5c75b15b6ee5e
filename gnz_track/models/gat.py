"""Graph attention network (Velickovic et al., ICLR 2018)."""

from __future__ import annotations

from torch_geometric.nn import GATConv

from gnz_track.models.stack import AttentionStack

__all__ = ["GAT"]


class GAT(AttentionStack):
    """Attention layers, two unless told, ELU between them, dropout on all inputs; ``forward -> [n_nodes, out]``.

    The options are those of :mod:`gnz_track.models.stack`; ``dropout`` is that of the features and the attention too.
    """

    defaults = AttentionStack.defaults.but(heads=8, dropout=0.6, act="elu")
    attention = GATConv
    drops_input = True
