"""Deep Graph Infomax (Velickovic et al., ICLR 2019), then a linear map, which held-out labels can score."""

from __future__ import annotations

from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.models.embeddings.fitted import FittedEmbedding
from gnz_track.models.embeddings.infomax import ENCODERS, SUMMARIES, Infomax, fit_infomax
from gnz_track.models.options import choice

__all__ = ["DGILinear"]


class DGILinear(FittedEmbedding):
    """Codes as wide as ``hidden_channels`` by 300 steps of infomax, then a linear map.

    ``encoder_act`` bends the codes: prelu, relu or tanh; ``summary`` of all codes is mean, max, min or var.
    """

    defaults = FittedEmbedding.defaults.but(encoder_act=choice("prelu", ENCODERS), summary=choice("mean", SUMMARIES))

    def embed(self, data: Data, generator: Generator) -> Tensor:
        """Return codes ``[n_nodes, width]``."""
        how = Infomax(self.linear.in_features, self.options.encoder_act, self.options.summary)
        return fit_infomax(how, data.x, data.edge_index, generator)
