"""The way of features, positions and edge features into a network."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.errors import BadValue
from gnz_track.models.sizes import Sizes

__all__ = ["EdgeInput", "NodeInput"]


class NodeInput(nn.Module):
    """Codes ``[n_nodes, width]``: a table per column of categories or a linear map, plus one of the encoding.

    Where all nodes are of one and the same category, an encoding takes the place of the features: they say nothing.
    """

    def __init__(self, sizes: Sizes, width: int) -> None:
        super().__init__()
        self.is_categorical = bool(sizes.vocabulary)
        says_nothing = self.is_categorical and set(sizes.vocabulary) == {1}
        self.features = None if says_nothing and sizes.n_encoding else _features(sizes, width)
        self.encoding = nn.Linear(sizes.n_encoding, width) if sizes.n_encoding else None

    def forward(self, data: Data) -> Tensor:
        """Embed the nodes of a graph."""
        parts = []
        if self.features is not None:
            parts.append(self.features(data.x))
        if self.encoding is not None:
            parts.append(self.encoding(data.encoding))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]


class EdgeInput(nn.Module):
    """Codes ``[n_edges, width]`` of the message edges: of their features, or one and the same code for all."""

    def __init__(self, sizes: Sizes, width: int, *, has_features: bool) -> None:
        super().__init__()
        self.has_features = has_features
        if has_features and not sizes.edge_channels:
            raise BadValue(
                "edge_features", value=True, allowed="False: the message edges of this task have no features"
            )
        self.features: nn.Module = nn.Linear(1, width)
        if has_features:
            is_categorical = bool(sizes.edge_vocabulary)
            self.features = (
                _CategoryTables(sizes.edge_vocabulary, width)
                if is_categorical
                else nn.Linear(sizes.edge_channels, width)
            )

    def forward(self, data: Data) -> Tensor:
        """Embed the message edges of a graph."""
        if self.has_features:
            return self.features(data.edge_attr.reshape(data.edge_index.size(1), -1))  # type: ignore[no-any-return]
        weight: Tensor = self.features.weight  # type: ignore[assignment]
        return self.features(weight.new_ones(data.edge_index.size(1), 1))  # type: ignore[no-any-return]


class _CategoryTables(nn.Module):
    """The sum of one embedding per column of categories ``[n, n_columns]``."""

    def __init__(self, vocabulary: tuple[int, ...], width: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in vocabulary)

    def forward(self, codes: Tensor) -> Tensor:
        codes = codes.reshape(codes.size(0), -1)
        embedded = [table(codes[:, place]) for place, table in enumerate(self.tables)]
        return embedded[0] if len(embedded) == 1 else torch.stack(embedded).sum(dim=0)


def _features(sizes: Sizes, width: int) -> nn.Module:
    return _CategoryTables(sizes.vocabulary, width) if sizes.vocabulary else nn.Linear(sizes.in_channels, width)
