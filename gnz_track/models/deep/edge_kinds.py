"""What a layer knows of an edge: the switch ``edge_repr``, and the model that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from gnz_track.models.deep.network import Frame
from gnz_track.models.stack import check_choice

__all__ = ["EDGE_CODES", "EDGE_KINDS", "choose_convolution", "make_edge_frame"]

ISOTROPIC, EDGE_FEAT, EDGE_CODES = "isotropic", "edge_feat", "edge_repr"
EDGE_KINDS = (ISOTROPIC, EDGE_FEAT, EDGE_CODES)


def make_edge_frame(edge_repr: str, **settings: Any) -> Frame:
    """Return the frame of a network whose layers know of edges what a word says."""
    check_choice("edge_repr", edge_repr, dict.fromkeys(EDGE_KINDS))
    return Frame(edge_codes=edge_repr == EDGE_CODES, **settings)


def choose_convolution(edge_repr: str, *convolutions: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """Return the convolution of a kind, given those of :data:`EDGE_KINDS` in order."""
    table: Mapping[str, Callable[..., nn.Module]] = dict(zip(EDGE_KINDS, convolutions, strict=True))
    return table[edge_repr]
