"""Lists of graphs with published parts."""

from __future__ import annotations

from torch_geometric.data import Data

__all__ = ["GraphParts", "with_validation"]

_EVERY = 10
GraphParts = tuple[list[Data], list[Data], list[Data]]


def with_validation(train: list[Data], test: list[Data]) -> GraphParts:
    """Set every tenth training graph aside for validation, where only training and test parts are published."""
    kept = [graph for place, graph in enumerate(train) if place % _EVERY]
    return kept, train[::_EVERY], test
