"""Words for what a layer knows of an edge (``edge_repr``), and the options of models that have a choice."""

from __future__ import annotations

from gnz_track.models.options import Option, choice

__all__ = ["EDGE_CODES", "EDGE_FEAT", "ISOTROPIC", "edge_options"]

ISOTROPIC, EDGE_FEAT, EDGE_CODES = "isotropic", "edge_feat", "edge_repr"


def edge_options(default: str) -> dict[str, Option]:
    """Return the options of a model that is made for every kind, with its usual one."""
    kinds = dict.fromkeys((ISOTROPIC, EDGE_FEAT, EDGE_CODES))
    return {"edge_repr": choice(default, kinds), "edge_features": Option(default=False)}
