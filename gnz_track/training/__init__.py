"""Training of one model.

``loop.py`` is the one loop; what it minimises (an objective) and what it scores (scorers, with held-out labels) meet
only there, and are made in `problems/`. `metrics.py` and `protocols.py` are tables. `acceleration/` makes any model's
step cheaper without changing its numbers.

- `allocator`: what the allocator of the C library does with blocks that are freed: kept for the next step, or
  given back
- `graphs`: many small graphs, kept one after another, and batches cut from them
- `lent`: inputs of a model of somebody's own: copies, at every call
- `loop`: the one training loop, and what it asks of an objective and of a scorer
- `losses`: losses by kind of label and by name; the nameless one of a kind is the usual one
- `metrics`: small functions of arrays, each a row with its direction, bounds and the kinds of problem it serves
- `pretraining`: training without labels, as a utility: its loss is no score
- `protocols`: the table of protocols
- `usage`: cost of a cell: seconds of the clock and of the processor, and the most memory that it held itself
- `acceleration/`: the same numbers, sooner: what training does to any model before the first step, on a CPU
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "acceleration.features": ("sparsify",),
    "acceleration.layers": ("accelerate", "release"),
    "acceleration.structure": ("attach",),
    "allocator": ("keep_freed_memory",),
    "graphs": ("GraphCollection", "Pairs", "expand"),
    "lent": ("LentInputs",),
    "loop": ("Objective", "Observer", "Scorer", "TRAINING", "Trained", "TrainingSettings", "train"),
    "losses": ("LOSSES", "choose_loss", "mean_over_batches"),
    "metrics": ("DEFAULT_METRICS", "Kind", "METRICS", "MetricRow", "find_metric", "metrics_of", "rank_links"),
    "protocols": ("PROTOCOLS",),
    "usage": ("Gauge",),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
