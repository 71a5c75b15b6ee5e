"""Models of the published space of settings that are not among the usual ones: rows, to be run by name of their row."""

from __future__ import annotations

from gnz_track.types import ModelRow, TaskType

__all__ = ["SPACE_ROWS"]

_ROWS: tuple[tuple[str, str, bool, str], ...] = (
    ("SGC", "polynomial.sgc", True, "hops, then one linear map (Wu et al., 2019)"),
    ("ChebNet", "polynomial.cheb_net", True, "Chebyshev polynomials, 2 layers (Defferrard et al., 2016)"),
    ("Jaccard", "neighbourhood.jaccard", False, "share of neighbours in common (Jaccard, 1901)"),
    ("AdamicAdar", "neighbourhood.adamic_adar", False, "neighbours in common, rare ones more (Adamic and Adar, 2003)"),
    (
        "ResourceAllocation",
        "neighbourhood.resource_allocation",
        False,
        "neighbours in common over their degrees (Zhou et al., 2009)",
    ),
)
SPACE_ROWS: dict[str, ModelRow] = {
    name: ModelRow(
        name=name,
        target=f"gnz_track.models.{module}:{name}",
        task_types=tuple(TaskType) if is_encoder else (TaskType.link_pred,),
        is_encoder=is_encoder,
        description=text,
    )
    for name, module, is_encoder, text in _ROWS
}
