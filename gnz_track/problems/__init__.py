"""TODO of this folder.

- `baselines`: score of a model that has learnt nothing of the features: one answer for all, the best that
  labels allow
- `batches`: augmentation of positional encodings in training, batch by batch; evaluation sees them as they are
- `catalogue`: from a frozen dataset, a split and a protocol to what the training room works with
- `graph`: classes, labels and numbers of graphs, as problems; and numbers of nodes and graphs together
- `inputs`: sizes that a model has to know of a dataset, told without making a single tensor of it
- `link_pred`: links and triples that a split hides, as problems
- `multi_task`: numbers of nodes and numbers of graphs, predicted together
- `node_and_edge_cls`: classes of nodes and of labelled edges, as problems: of one graph at once, of many in
  batches of graphs
- `problem`: A task made concrete for one seed, and the labels of it that each side may see
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "baselines": ("score_constant",),
    "catalogue": ("pose",),
    "inputs": ("ProblemTerms", "sizes_of"),
    "problem": ("Problem",),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
