"""Deep Graph Infomax (Velickovic et al., ICLR 2019), then a linear map, which held-out labels can score."""

from __future__ import annotations

import functools

from torch import Generator, Tensor
from torch_geometric.data import Data

from gnz_track.models.embeddings.fitted import FittedEmbedding
from gnz_track.models.embeddings.infomax import ENCODERS, SUMMARIES, Infomax, fit_infomax
from gnz_track.models.stack import check_choice

__all__ = ["DGILinear"]


class DGILinear(FittedEmbedding):
    """Codes as wide as ``hidden_channels`` by 300 steps of infomax, then a linear map.

    ``encoder_act`` bends the codes: prelu, relu or tanh; ``summary`` of all codes is mean, max, min or var.
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        *,
        encoder_act: str = "prelu",
        summary: str = "mean",
        is_scaled: bool = True,
    ) -> None:
        del in_channels
        check_choice("encoder_act", encoder_act, ENCODERS)
        check_choice("summary", summary, SUMMARIES)
        embed = functools.partial(_embed, Infomax(hidden_channels, encoder_act, summary))
        super().__init__(hidden_channels, out_channels, embed, is_scaled=is_scaled)


def _embed(how: Infomax, data: Data, generator: Generator) -> Tensor:
    return fit_infomax(how, data.x, data.edge_index, generator)
