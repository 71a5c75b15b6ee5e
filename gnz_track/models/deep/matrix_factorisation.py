"""Matrix factorisation: a code of its own for every node, learnt from links alone (Koren et al., 2009)."""

from __future__ import annotations

from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.deep.readouts import EdgeReadout, MLPReadout
from gnz_track.models.options import Sizes

__all__ = ["MatrixFactorisation"]


class MatrixFactorisation(nn.Module):
    """One embedding per node and a perceptron of those of two nodes; it sees no feature and no edge."""

    is_of_one_graph = True

    def __init__(self, in_channels: int, hidden_channels: int, out_channels: int, *, sizes: Sizes) -> None:
        super().__init__()
        del in_channels, out_channels
        if not sizes.n_nodes:
            raise BadValue("the task of MatrixFactorisation", "many graphs", "the links of one graph")
        self.nodes = nn.Embedding(sizes.n_nodes, hidden_channels)
        self.readout = EdgeReadout(MLPReadout(2 * hidden_channels, 1))

    def encode(self, data: Data) -> Tensor:
        """Return the codes of nodes ``[n_nodes, hidden_channels]``."""
        del data
        return self.nodes.weight

    def decode(self, codes: Tensor, pairs: Tensor) -> Tensor:
        """Return one logit per pair ``[n_pairs]`` of pairs ``[2, n_pairs]``."""
        return self.readout.decode(codes, pairs).squeeze(1)
