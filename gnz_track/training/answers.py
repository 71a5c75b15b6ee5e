"""Answers of a model to the examples of a part, and what these examples are called in the dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor

__all__ = ["Answers", "Examples"]


@dataclass(frozen=True, eq=False)
class Examples:
    """Examples by their numbers in the dataset, each ``[n]``: ``id`` tells them apart, edges and triples have ends.

    ``kind`` says what they are: ``node``, ``graph``, ``edge``, ``link`` or ``triple``.
    """

    kind: str
    numbers: Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class Answers:
    """Outputs of a model ``[n, width]``, logits or values, beside what is true of each example ``[n]`` or ``[n, k]``.

    ``facts [n]`` is what else scoring knows of them: the batch in which they are scored, the ranks of true triples.
    """

    examples: Examples
    targets: Tensor
    outputs: Tensor
    facts: Mapping[str, Tensor] = field(default_factory=dict)
