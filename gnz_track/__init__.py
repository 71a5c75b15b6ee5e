"""Statistically honest benchmarks of graph neural networks, tracked in MLflow.

The public names are resolved on first use, so that ``import gnz_track`` costs nothing. Each room says in its docstring
what its files are for:

- `cli`: commands; `api`: the same from Python; `benchmark`: what both ask for
- `runs`: which cells are wanted and done, and who trains them
- `problems`: what may be seen of a dataset; `datasets`: graphs and their splits; `models`: networks
- `training`: one model trained, metrics, protocols; `tuning`: searches of hyperparameters
- `store`: where results lie; `stats`: whether differences are real; `report`: what is shown
- `predictions`: what past runs predicted, asked anew; `selection`: which model first; `quality`: whether a dataset is
  worth it
- `user_code`: whether a user's code has changed; `pipeline`: stages for DVC; `compat`: names of published packages
"""

from __future__ import annotations

import importlib
from typing import Any

from gnz_track.deferred_imports import defer_imports
from gnz_track.streams import take_missing_streams

__version__ = "0.1.0.dev0"

# The one place that lists the public names: module -> names that it owns.
_PUBLIC = {
    "gnz_track.types": ("Cell", "CellResult", "Direction", "Protocol", "Task", "TaskType"),
    "gnz_track.errors": ("GnzError",),
    "gnz_track.datasets.catalogue": (
        "BENCHMARK_TASKS",
        "DATASETS",
        "SUITES",
        "TASKS",
        "iter_benchmark_tasks",
        "iter_tasks",
        "register_task",
        "unregister_task",
    ),
    "gnz_track.compat.graphnetz": ("LOADER_REGISTRY", "list_datasets"),
    "gnz_track.datasets.own.tasks": ("task_from_dataset",),
    "gnz_track.datasets.own.graphs": ("from_networkx", "read_network", "read_tables"),
    "gnz_track.datasets.generators.images": ("superpixels",),
    "gnz_track.datasets.streaming": ("freeze_stream",),
    "gnz_track.datasets.preparation": ("prepare",),
    "gnz_track.datasets.frozen": ("FrozenDataset", "freeze", "open_frozen"),
    "gnz_track.models.catalogue": ("MODELS", "register_model"),
    "gnz_track.models.adapters": ("multi_task_factory",),
    "gnz_track.models.gcn": ("GCN",),
    "gnz_track.models.gat": ("GAT",),
    "gnz_track.models.graph_sage": ("GraphSAGE",),
    "gnz_track.models.graph_transformer": ("GraphTransformer",),
    "gnz_track.models.gin": ("GIN",),
    "gnz_track.models.mlp": ("MLP",),
    "gnz_track.models.embeddings.dgi": ("DGI", "DGIWrapper"),
    "gnz_track.training.pretraining": ("train_dgi",),
    "gnz_track.training.protocols": ("PROTOCOLS",),
    "gnz_track.runs.run_one": ("run_one",),
    "gnz_track.runs.plan": ("make_plan",),
    "gnz_track.api": ("run_benchmark",),
    "gnz_track.report.benchmark_report": ("BenchmarkReport",),
    "gnz_track.stats.comparison.compare": ("compare",),
    "gnz_track.tuning.settings": ("SearchSettings", "SearchSpace"),
    "gnz_track.store.reader": ("read_table", "read_tensor"),
    "gnz_track.store.cell_files.joined_predictions": ("read_predictions",),
    "gnz_track.predictions.stored_models": ("load_model",),
    "gnz_track.selection.study.glemos": ("list_published_settings", "plan_published_settings"),
    "gnz_track.selection.recommendation": ("recommend",),
    "gnz_track.selection.confirmation": ("warm_starts",),
}
# Before any file of ours, or of a library, gets the number of a standard stream that is closed.
take_missing_streams()
# Before any file of ours imports PyG.
defer_imports()

_OWNERS = {name: module for module, names in _PUBLIC.items() for name in names}
# The published name of one of them.
_OWNERS["_multi_task_factory"] = "gnz_track.models.adapters"

__all__ = ["__version__", *(name for names in _PUBLIC.values() for name in names)]  # noqa: PLE0604  (names come from the table)


def __getattr__(name: str) -> Any:
    owner = _OWNERS.get(name)
    if owner is None:
        message = f"module 'gnz_track' has no attribute {name!r}"
        raise AttributeError(message)
    return getattr(importlib.import_module(owner), name)


def __dir__() -> list[str]:
    return sorted(__all__)
