"""Bars side by side: which lane each takes, and where the lines that they join stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gnz_track.stats.groups import Group

__all__ = ["Span", "pack_groups", "spread"]


@dataclass(frozen=True, kw_only=True)
class Span:
    """A group from ``start`` to ``stop`` in a lane, with the places of its members."""

    group: Group
    start: float
    stop: float
    places: tuple[float, ...]
    lane: int


def pack_groups(groups: Sequence[Group], at: Mapping[str, float], *, overhang: float, gap: float) -> tuple[Span, ...]:
    """Pack groups into the fewest lanes such that two in one lane are at least ``gap`` apart; sorted by their start.

    ``at`` is the place of each model. Greedy by the start is optimal for intervals.
    """
    places = {group.members: tuple(sorted(at[name] for name in group.members)) for group in groups}
    spans: list[Span] = []
    reached: list[float] = []
    for group in sorted(groups, key=lambda one: (places[one.members][0], -places[one.members][-1], one.members)):
        start, stop = places[group.members][0] - overhang, places[group.members][-1] + overhang
        lane = next((n for n, end in enumerate(reached) if start - end >= gap), len(reached))
        reached[lane : lane + 1] = [stop]
        spans.append(Span(group=group, start=start, stop=stop, places=places[group.members], lane=lane))
    return tuple(spans)


def spread(places: Sequence[float], *, gap: float, low: float, high: float) -> tuple[float, ...]:
    """Move sorted places as little as possible (in squares) until neighbours are ``gap`` apart, within low and high.

    R. E. Barlow et al., Statistical inference under order restrictions, 1972: pool adjacent violators.
    """
    pools: list[tuple[float, int]] = []
    for n, place in enumerate(places):
        mean, size = place - n * gap, 1
        while pools and pools[-1][0] > mean:
            earlier, count = pools.pop()
            mean, size = (earlier * count + mean * size) / (count + size), count + size
        pools.append((mean, size))
    level = [mean for mean, size in pools for _ in range(size)]
    highest = max(low, high - (len(places) - 1) * gap)
    return tuple(min(max(value, low), highest) + n * gap for n, value in enumerate(level))
