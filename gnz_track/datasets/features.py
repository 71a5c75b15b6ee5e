"""Node features for graphs that have none."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gnz_track.errors import BadValue

__all__ = [
    "LARGEST_IDENTITY",
    "N_LEARNED",
    "N_STRUCTURAL",
    "identity_features",
    "node_numbers",
    "structural_features",
]

LARGEST_IDENTITY = 8_192
# Columns of structural features.
N_STRUCTURAL = 3
# Columns of features that are learnt.
N_LEARNED = 32


def structural_features(message_edges: Tensor, n_nodes: int) -> Tensor:
    """Return ``[n_nodes, 3]`` float32: log-degree, its square and a constant, from training edges ``[2, M]`` only.

    Log-degree is log(1 + edges that leave the node) / log(max(n_nodes, 2)).
    """
    degree = torch.bincount(message_edges[0], minlength=n_nodes).float()
    log_degree = degree.log1p() / math.log(max(n_nodes, 2))
    return torch.stack([log_degree, log_degree.square(), torch.ones(n_nodes)], dim=1)


def identity_features(n_nodes: int) -> Tensor:
    """Return the identity matrix ``[n_nodes, n_nodes]`` float32, up to 8,192 nodes."""
    if n_nodes > LARGEST_IDENTITY:
        raise BadValue("the number of nodes for identity features", n_nodes, f"at most {LARGEST_IDENTITY}")
    return torch.eye(n_nodes)


def node_numbers(n_nodes: int) -> Tensor:
    """Return the number of each node ``[n_nodes, 1]``: categories, of which a model learns one code each."""
    return torch.arange(n_nodes).unsqueeze(1)
