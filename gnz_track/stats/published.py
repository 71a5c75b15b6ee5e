"""Whether a reader can recompute published mean ranks from the table that was printed with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.kinds import Direction
from gnz_track.stats.inputs import Floats, check_whole, read_finite
from gnz_track.stats.ranks import rank_rows

__all__ = ["PublishedRanks", "check_published_ranks"]

# Ways to break the ties of a printed table that are tried.
MOST_WAYS = 20_000


@dataclass(frozen=True, kw_only=True)
class PublishedRanks:
    """Published mean ranks beside those of the printed scores.

    ``follow_by_ties`` says whether some order among scores that are printed as equal gives the published values, and
    None that there are too many orders to try.
    """

    models: tuple[str, ...]
    published: tuple[float, ...]
    recomputed: tuple[float, ...]
    decimals: int
    models_that_differ: tuple[str, ...]
    tasks_with_ties: tuple[str, ...]
    are_reproducible: bool
    follow_by_ties: bool | None

    def __str__(self) -> str:
        if self.are_reproducible:
            return f"the printed scores give the published mean ranks of all {len(self.models)} models"
        at = [self.models.index(name) for name in self.models_that_differ]
        given, found = (
            ", ".join(f"{self.models[place]} {ranks[place]:.{self.decimals}f}" for place in at)
            for ranks in (self.published, self.recomputed)
        )
        text = f"the printed scores cannot reproduce the published mean ranks {given}: they give {found}"
        if self.follow_by_ties:
            ties = ", ".join(self.tasks_with_ties)
            text += f"; the published ones follow only from digits that were not printed (ties on {ties})"
        return text


def check_published_ranks(
    scores: npt.ArrayLike,
    directions: Direction | Sequence[Direction],
    *,
    published: Sequence[float],
    models: Sequence[str],
    tasks: Sequence[str],
    decimals: int = 2,
) -> PublishedRanks:
    """Recompute mean ranks from printed scores [N, k] and compare them with the published ones [k].

    ``decimals`` is what the mean ranks are printed with.
    """
    array = read_finite("scores", scores, ndim=2)
    wanted = read_finite("published ranks", published, ndim=1)
    shape = (len(tasks), len(models))
    if array.shape != shape or wanted.size != len(models):
        raise BadValue("the shape of scores", array.shape, f"(tasks, models) = {shape}, and a published rank per model")
    slack = 0.5 * 10.0 ** -check_whole("decimals", decimals, least=0) + 1e-9
    ranks = rank_rows(array, directions)
    means = ranks.mean(axis=0)
    differs = np.abs(means - wanted) > slack
    return PublishedRanks(
        models=tuple(models),
        published=tuple(wanted.tolist()),
        recomputed=tuple(means.tolist()),
        decimals=decimals,
        models_that_differ=tuple(name for name, is_other in zip(models, differs, strict=True) if is_other),
        tasks_with_ties=tuple(
            task for task, row in zip(tasks, ranks, strict=True) if len(set(row.tolist())) < len(models)
        ),
        are_reproducible=not differs.any(),
        follow_by_ties=_follow(ranks, wanted, slack),
    )


def _follow(ranks: Floats, wanted: Floats, slack: float) -> bool | None:
    """Tell whether some way to break ties gives the wanted means."""
    choices = [list(_orders(row)) for row in ranks]
    if math.prod(len(found) for found in choices) > MOST_WAYS:
        return None
    ways = itertools.product(*choices)
    return any(bool((np.abs(np.mean(way, axis=0) - wanted) <= slack).all()) for way in ways)


def _orders(row: Floats) -> Iterator[Floats]:
    """Give the ranks of one task, and those with all of its ties broken, in every way."""
    yield row
    blocks = [np.flatnonzero(row == value) for value in np.unique(row) if (row == value).sum() > 1]
    if not blocks or math.prod(math.factorial(len(block)) for block in blocks) > MOST_WAYS:
        return
    for orders in itertools.product(*(itertools.permutations(range(len(block))) for block in blocks)):
        broken = row.copy()
        for block, order in zip(blocks, orders, strict=True):
            broken[block] = row[block[0]] - (len(block) - 1) / 2 + np.array(order)
        yield broken
