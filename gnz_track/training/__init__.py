"""Training of one model: an objective (what is minimised) and scorers (held-out labels) meet only in the `loop`.

- `loop`: the one training loop, with its schedules, and what it asks of an objective and of a scorer
- `answers`: outputs of a model for the examples of a part, and what these are called
- `losses`: losses by kind of label and by name
- `metrics`: functions of arrays, each a row with its direction, bounds and the kinds of problem it serves
- `protocols`: the table of protocols
- `graphs`: many small graphs as one union, and batches cut from it
- `forwards`: forwards of a model as a cell asks for them: by fast layers, compiled by Torch, in half precision
- `compiler`: ways in which a cell may ask Torch to compute it, and what they need of a machine
- `lent`: copies of inputs for models of somebody's own
- `pretraining`: training without labels
- `usage`: seconds and memory that a cell cost
- `allocator`: freed memory of the C library, kept for the next step or given back
- `acceleration/`: the same numbers, sooner
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "acceleration.features": ("sparsify",),
    "acceleration.layers": ("accelerate", "release"),
    "acceleration.library": ("VARIABLE", "describe_kernels", "kernels"),
    "acceleration.receptive_field": ("receptive_field_of",),
    "acceleration.sampling": ("NeighbourSampler", "attach_rows", "key_of_batch"),
    "acceleration.structure": ("Structure", "attach", "structure_of"),
    "allocator": ("keep_freed_memory",),
    "answers": ("Answers", "Examples"),
    "compiler": ("OF_TORCH", "check_forwards", "describe_forwards"),
    "forwards": ("compute_as_asked", "has_fast_layers"),
    "graphs": ("GraphCollection", "Pairs", "expand"),
    "lent": ("LentInputs",),
    "loop": ("Objective", "Observer", "SCHEDULES", "Scorer", "TRAINING", "Trained", "answer", "train"),
    "losses": ("LOSSES", "choose_loss", "mean_over_batches"),
    "metrics": (
        "DEFAULT_METRICS",
        "Kind",
        "METRICS",
        "MetricRow",
        "find_metric",
        "metric_of",
        "metrics_of",
        "presumed_metric",
        "rank_links",
    ),
    "protocols": ("PROTOCOLS",),
    "usage": ("Gauge",),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
