"""Catalogue: vision."""

from __future__ import annotations

from gnz_track.types import Category, DatasetRow, Task, TaskType

__all__ = ["ROWS", "TASKS"]

ROWS = (
    DatasetRow(
        name="digits_regions",
        category=Category.vision,
        task_types=(TaskType.graph_cls,),
        loader="gnz_track.datasets.digit_regions:digits_regions",
        options={"grid": 4, "intensity_weight": 0.5, "n_rounds": 5},
        source="shipped by scikit-learn (load_digits), turned into graphs of regions here",
        licence="CC BY 4.0 (UCI); BSD-3-Clause (scikit-learn)",
        citation=(
            "Alpaydin, Kaynak: Optical Recognition of Handwritten Digits. UCI Machine Learning Repository, 1998, "
            "doi:10.24432/C50P49"
        ),
        url="https://archive.ics.uci.edu/dataset/80",
        expected={"n_graphs": 1_797, "n_features": 4, "n_classes": 10},
        notes="scikit-learn ships the test part of the UCI set.",
    ),
)

TASKS = (Task("digits_regions", TaskType.graph_cls, epochs=10, category=Category.vision),)
