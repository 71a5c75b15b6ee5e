"""Catalogue: knowledge graphs."""

from __future__ import annotations

from gnz_track.types import Category, DatasetRow, Task, TaskType

__all__ = ["ROWS", "TASKS"]

ROWS = (
    DatasetRow(
        name="fb15k_237",
        category=Category.knowledge,
        task_types=(TaskType.link_pred,),
        loader="gnz_track.datasets.triples:read_triples",
        raw="RelLinkPredDataset/FB15k-237/raw",
        source="Freebase triples without inverse relations, published parts",
        licence="CC BY 2.5 (Freebase)",
        citation=(
            "Toutanova, Chen: Observed versus latent features for knowledge base and text inference. CVSC 2015; "
            "Schlichtkrull et al.: Modeling Relational Data with Graph Convolutional Networks. ESWC 2018"
        ),
        url="https://github.com/MichSchli/RelationPrediction",
        expected={"n_graphs": 1, "n_nodes": 14_541, "n_edges": 544_230, "n_features": 0, "n_relations": 474},
        checksum="298310f54a85f7b24c75d57541362193",
        notes="474 relation numbers, 237 of them inverses; training triples pass messages from head to tail only.",
    ),
)

TASKS = (Task("fb15k_237", TaskType.link_pred, epochs=20, category=Category.knowledge),)
