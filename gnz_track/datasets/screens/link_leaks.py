"""Held-out links and triples that training gives away."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from gnz_track.datasets.link_splits import LinkSplit, TriplePart, TripleSplit

__all__ = [
    "Answered",
    "Inverses",
    "Reversed",
    "Shared",
    "find_answered",
    "find_inverses",
    "find_reversed",
    "find_shared",
]

# A relation is nearly the inverse or the copy of another where this share of either is found in the other.
NEARLY = 0.8


@dataclass(frozen=True)
class Reversed:
    """Test edges that pass messages in training as they are, and the other way round."""

    n_present: int
    n_reversed: int


@dataclass(frozen=True)
class Shared:
    """Test triples, those that another part has too, and those of entities or relations that training lacks."""

    n_test: int
    n_repeated: int
    n_unseen: int


@dataclass(frozen=True)
class Answered:
    """Test triples whose two entities another relation links in training, and those of them linked backwards."""

    n_linked: int
    n_backwards: int


@dataclass(frozen=True)
class Inverses:
    """Pairs of relations that are nearly inverses or copies, and test triples that follow from one of them."""

    n_pairs: int
    n_solved: int


def find_reversed(split: LinkSplit) -> Reversed:
    """Count test edges among the message edges of training."""
    pairs = split.test.pairs[:, split.test.labels == 1]
    base = int(torch.cat([split.message_edges, pairs], dim=1).max()) + 1
    known = split.message_edges[0] * base + split.message_edges[1]
    is_present = torch.isin(pairs[0] * base + pairs[1], known)
    is_reversed = torch.isin(pairs[1] * base + pairs[0], known)
    return Reversed(int(is_present.sum()), int(is_reversed.sum()))


def find_shared(split: TripleSplit) -> Shared:
    """Count test triples of other parts, and of what training never shows."""
    base = _one_past_largest(split)
    known = torch.cat([_encode_triples(split.train, base), _encode_triples(split.val, base)])
    test = split.test
    entities, relations = split.train.edge_index.unique(), split.train.edge_type.unique()
    is_seen = torch.isin(test.edge_index, entities).all(dim=0) & torch.isin(test.edge_type, relations)
    n_repeated = int(torch.isin(_encode_triples(test, base), known).sum())
    return Shared(test.edge_type.numel(), n_repeated, int((~is_seen).sum()))


def find_answered(split: TripleSplit) -> Answered:
    """Count test pairs that training links."""
    n, _ = _one_past_largest(split)
    head, tail = split.train.edge_index
    known, wanted = head * n + tail, split.test.edge_index
    forwards = torch.isin(wanted[0] * n + wanted[1], known)
    backwards = torch.isin(wanted[1] * n + wanted[0], known)
    return Answered(int((forwards | backwards).sum()), int(backwards.sum()))


def find_inverses(split: TripleSplit) -> Inverses:
    """Find relations that nearly repeat another one in training, as it is or backwards, and what follows in test.

    A relation may be nearly its own inverse (symmetric). Toutanova and Chen, 2015; Dettmers et al., 2018.
    """
    base = _one_past_largest(split)
    n, n_relations = base
    train = split.train
    (head, tail), kind = train.edge_index, train.edge_type
    counts = kind.bincount(minlength=n_relations)
    rules: list[tuple[int, int, bool]] = []
    for is_backwards in (False, True):
        ends = tail * n + head if is_backwards else head * n + tail
        first, second = _matches(ends, head * n + tail)
        pairs = torch.stack([kind[first], kind[second]])
        pairs = pairs if is_backwards else pairs[:, pairs[0] != pairs[1]]
        codes, shared = torch.unique(pairs[0] * n_relations + pairs[1], return_counts=True)
        one, other = codes // n_relations, codes % n_relations
        is_near = (shared >= NEARLY * counts[one]) & (shared >= NEARLY * counts[other])
        rules += [(int(a), int(b), is_backwards) for a, b in zip(one[is_near], other[is_near], strict=True)]
    known, is_solved = _encode_triples(train, base), torch.zeros(split.test.edge_type.numel(), dtype=torch.bool)
    for one, other, is_backwards in rules:
        rows = (split.test.edge_type == one).nonzero().flatten()
        ends = split.test.edge_index[:, rows]
        ends = ends.flip(0) if is_backwards else ends
        is_solved[rows] |= torch.isin((ends[0] * n_relations + other) * n + ends[1], known)
    return Inverses(len({frozenset((one, other)) for one, other, _ in rules}), int(is_solved.sum()))


def _matches(wanted: Tensor, known: Tensor) -> tuple[Tensor, Tensor]:
    """Return all pairs of positions ``(i, j)`` with ``wanted[i] == known[j]``."""
    ordered, order = known.sort()
    low, high = torch.searchsorted(ordered, wanted), torch.searchsorted(ordered, wanted, right=True)
    counts = high - low
    first = torch.arange(wanted.numel()).repeat_interleave(counts)
    offset = torch.arange(first.numel()) - (counts.cumsum(0) - counts).repeat_interleave(counts)
    return first, order[low.repeat_interleave(counts) + offset]


def _one_past_largest(split: TripleSplit) -> tuple[int, int]:
    """Return one past the largest entity, and one past the largest relation."""
    parts = (split.train, split.val, split.test)
    entities, relations = (
        max(int(getattr(part, name).max()) for part in parts) for name in ("edge_index", "edge_type")
    )
    return entities + 1, relations + 1


def _encode_triples(part: TriplePart, base: tuple[int, int]) -> Tensor:
    n, n_relations = base
    return (part.edge_index[0] * n_relations + part.edge_type) * n + part.edge_index[1]
