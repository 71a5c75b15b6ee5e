"""Predictions of past cells: what can be asked of them without training anything.

- `descriptors`: numbers by which a test set is cut into slices, from the frozen data alone
- `rescoring`: metrics of past cells, from their predictions, written beside their scores
"""

from __future__ import annotations

from typing import Any

from gnz_track.public_names import find_public

# File -> the names that it gives to other rooms and to users.
_PUBLIC = {
    "descriptors": ("describe_edges", "describe_examples", "describe_graphs", "describe_links", "describe_nodes"),
    "rescoring": ("Rescoring", "rescore"),
}
__all__ = sorted(name for names in _PUBLIC.values() for name in names)  # noqa: PLE0605  (names come from the table)


def __getattr__(name: str) -> Any:
    return find_public(__name__, _PUBLIC, name)


def __dir__() -> list[str]:
    return __all__
