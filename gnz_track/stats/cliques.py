"""Maximal cliques of a small graph whose nodes are numbers and whose neighbourhoods are the bits of numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

__all__ = ["MOST_CLIQUES", "cover_edges", "find_maximal_cliques"]

# A graph of 40 nodes can have 3^13 maximal cliques; nobody reads more bars than this.
MOST_CLIQUES = 500


def find_maximal_cliques(neighbours: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return all maximal cliques, sorted, single nodes included; stop at one more than ``MOST_CLIQUES``.

    ``neighbours`` [k]: bit j of entry i says that i and j are joined.
    """
    found = islice(_grow(neighbours, 0, (1 << len(neighbours)) - 1, 0), MOST_CLIQUES + 1)
    return tuple(sorted(_nodes(members) for members in found))


def cover_edges(neighbours: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """Return maximal cliques that together hold every edge, at most one per edge, sorted.

    Each edge that is not covered yet is grown by the lowest nodes that fit.
    """
    covered = [0] * len(neighbours)
    found: set[int] = set()
    for node, joined in enumerate(neighbours):
        for other in _nodes(joined):
            if other > node and not covered[node] >> other & 1:
                members = _fill(neighbours, node, other)
                found.add(members)
                for member in _nodes(members):
                    covered[member] |= members
    return tuple(sorted(_nodes(members) for members in found))


def _grow(neighbours: Sequence[int], chosen: int, candidates: int, excluded: int) -> Iterator[int]:
    """Bron and Kerbosch's recursion, with the pivot that leaves the fewest branches."""
    if not candidates and not excluded:
        yield chosen
        return
    pivot = max(_nodes(candidates | excluded), key=lambda node: (neighbours[node] & candidates).bit_count())
    for node in _nodes(candidates & ~neighbours[pivot]):
        yield from _grow(neighbours, chosen | 1 << node, candidates & neighbours[node], excluded & neighbours[node])
        candidates &= ~(1 << node)
        excluded |= 1 << node


def _fill(neighbours: Sequence[int], node: int, other: int) -> int:
    members = 1 << node | 1 << other
    candidates = neighbours[node] & neighbours[other]
    while candidates:
        lowest = candidates & -candidates
        members |= lowest
        candidates &= neighbours[lowest.bit_length() - 1]
    return members


def _nodes(bits: int) -> tuple[int, ...]:
    return tuple(node for node in range(bits.bit_length()) if bits >> node & 1)
