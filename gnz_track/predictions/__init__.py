"""Predictions and models of past cells: what can be asked of them without training anything.

- `analysis`: all that the predictions of one task say, from its two parts and its data to one record
- `facts`: that record, plain numbers and texts
- `explanation`: slices in which the best model wins
- `descriptors`: numbers by which a test set is cut into slices, from the frozen data alone, and where these are
- `stored_models`: models made again from the weights that runs have kept
- `new_predictions`: what a stored model says of data, those of its run or others of the same form
- `input_arrays`: graphs from plain arrays by name
- `pyfunc`: a stored model as MLflow loads it
- `rescoring`: metrics of past cells, from their predictions, written beside their scores
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "analysis": ("analyse",),
    "descriptors": (
        "describe_edges",
        "describe_examples",
        "describe_graphs",
        "describe_links",
        "describe_nodes",
        "find_data",
    ),
    "facts": (
        "BestExplained",
        "EnsembleScore",
        "ExampleFacts",
        "PairFacts",
        "ReliabilityFacts",
        "SlicePart",
        "TaskPredictions",
    ),
    "input_arrays": ("graphs_of_arrays",),
    "new_predictions": ("NewPredictions", "find_dataset", "frozen_graphs", "predict"),
    "rescoring": ("Rescoring", "rescore"),
    "stored_models": ("StoredModel", "load_model", "open_model"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
