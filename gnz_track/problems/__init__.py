"""Problems: what a dataset, a task type and a seed make of each other, ready to be trained and scored.

A task type is one file, which ends in its kind of problem: what it needs, its split, sizes, objective and scorer; the
rows of its metrics name the kind (`training/metrics.py`). `catalogue` looks kinds up by name.

- `baselines`: score of a model that has learnt nothing of the features: one answer for all, the best that
  labels allow
- `catalogue`: from a frozen dataset, a split and a protocol to what the training room works with, by a look-up of kinds
- `forms`: arrays that a trained model is given and gives, by their names
- `graph`: classes, labels and numbers of graphs
- `inputs`: inputs of a model from a frozen dataset: features, edges, fields, encodings, and their sizes
- `link_pred`: links that a split hides, drawn or published
- `multi_task`: numbers of nodes and numbers of graphs, predicted together
- `nodes_and_edges`: classes, labels and numbers of nodes and of labelled edges: of one graph at once, of many in
  batches of graphs
- `problem`: a task made concrete for one seed, a kind of such, and the labels that each side may see
- `rows`: scores of examples that are rows of a prediction: classes, labels and numbers
- `sampled`: mini-batches of one large graph, drawn around some of its nodes
- `scoring`: the one way from answers to a score, for scorers and for who scores stored predictions
- `triples`: triples of a knowledge graph that a split hides
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "baselines": ("score_constant",),
    "catalogue": ("ask", "count_training", "losses_of", "pose", "sizes_of"),
    "forms": ("Form", "form_of"),
    "inputs": ("FEATURES", "complete_sizes", "sizes_of_edges"),
    "nodes_and_edges": ("ClassObjective", "ClassScorer"),
    "problem": ("Problem", "SCORINGS"),
    "scoring": ("kind_of_rows", "mean_errors", "score_answers", "score_errors"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
