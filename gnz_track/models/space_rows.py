"""Models of the published space of settings that are not among the usual ones: rows, to be run by name of their row."""

from __future__ import annotations

from gnz_track.types import ModelRow, TaskType

__all__ = ["CLASSES_OF_SPACE", "ROOM", "SPACE_ROWS"]

ROOM = "gnz_track.models"

_NODES, _LINKS, _EDGES = (TaskType.node_cls,), (TaskType.link_pred,), (TaskType.edge_cls,)
# Name, target below this package, kinds of problem, whether heads carry it there, what it is.
_ROWS: tuple[tuple[str, str, tuple[TaskType, ...], bool, str], ...] = (
    ("SGC", "polynomial.sgc", tuple(TaskType), True, "hops, then one linear map (Wu et al., 2019)"),
    (
        "ChebNet",
        "polynomial.cheb_net",
        tuple(TaskType),
        True,
        "Chebyshev polynomials, 2 layers (Defferrard et al., 2016)",
    ),
    (
        "AveragedGAT",
        "convolutions.averaged_gat",
        tuple(TaskType),
        True,
        "attention, 2 layers, heads averaged last (Velickovic et al., 2018)",
    ),
    ("NodeGIN", "convolutions.node_gin", tuple(TaskType), True, "isomorphism layers of nodes (Xu et al., 2019)"),
    ("EGC", "convolutions.egc", tuple(TaskType), True, "bases combined by every node, 2 layers (Tailor et al., 2022)"),
    (
        "PNA",
        "convolutions.pna",
        _NODES + _LINKS + _EDGES,
        True,
        "aggregation scaled by degrees, 2 layers (Corso et al., 2020)",
    ),
    (
        "SpectralEmbedding",
        "embeddings.spectral_embedding",
        _NODES + _LINKS,
        False,
        "eigenvectors, then a linear map (Belkin and Niyogi, 2003)",
    ),
    (
        "GraRep",
        "embeddings.gra_rep",
        _NODES + _LINKS,
        False,
        "singular vectors of a power, then a linear map (Cao et al., 2015)",
    ),
    (
        "DGILinear",
        "embeddings.dgi_linear",
        _NODES + _LINKS,
        False,
        "codes by infomax, then a linear map (Velickovic et al., 2019)",
    ),
    (
        "Node2Vec",
        "embeddings.node2vec",
        _NODES + _LINKS,
        False,
        "codes of random walks, then a linear map (Grover and Leskovec, 2016)",
    ),
    (
        "LabelPropagation",
        "label_propagation",
        _NODES,
        False,
        "training labels passed along edges, no weights (Huang et al., 2021)",
    ),
    ("SEAL", "enclosing.seal", _LINKS, False, "a network of the graph around each pair (Zhang and Chen, 2018)"),
    ("Jaccard", "neighbourhood.jaccard", _LINKS, False, "share of neighbours in common (Jaccard, 1901)"),
    (
        "AdamicAdar",
        "neighbourhood.adamic_adar",
        _LINKS,
        False,
        "neighbours in common, rare ones more (Adamic and Adar, 2003)",
    ),
    (
        "ResourceAllocation",
        "neighbourhood.resource_allocation",
        _LINKS,
        False,
        "neighbours in common over their degrees (Zhou et al., 2009)",
    ),
)
SPACE_ROWS: dict[str, ModelRow] = {
    name: ModelRow(
        name=name,
        target=f"{ROOM}:{name}",
        task_types=task_types,
        is_encoder=is_encoder,
        description=text,
    )
    for name, _, task_types, is_encoder, text in _ROWS
}
CLASSES_OF_SPACE = {name: module for name, module, *_ in _ROWS}
