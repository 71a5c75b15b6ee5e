"""Pairs of models that were planned to be compared, and the tests of them that are only run where they are chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from gnz_track.stats.cells import ModelCells, TaskCells
from gnz_track.stats.choices import Choices
from gnz_track.stats.joins import SeedPairs, stack
from gnz_track.stats.overlap import sizes_for
from gnz_track.stats.paired import Outcome, PairedTest, nadeau_bengio_rows, unrunnable
from gnz_track.stats.sequential import AnytimeTest, FixedLooks, look_at_every_seed, look_at_fixed_seeds
from gnz_track.stats.sign_flip import sign_flip_rows

__all__ = ["FURTHER_TESTS", "PlannedPair", "compute_by"]

Key = TypeVar("Key")
Item = TypeVar("Item")
Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedPair:
    """One pair of models of one task."""

    task: TaskCells
    first: ModelCells
    second: ModelCells
    joined: SeedPairs


def compute_by(
    keys: Sequence[Key], items: Sequence[Item], compute: Callable[[Sequence[Item], Key], Iterable[Found]]
) -> list[Found]:
    """Compute for all items with the same key at once, and return the results in the order of the items.

    Parameters
    ----------
    keys
        Key of each item.
    items
        Items [n].
    compute
        Function from the items of one key, and the key, to their results.
    """
    groups: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(key, []).append(row)
    if len(groups) == 1:
        return list(compute(items, next(iter(groups))))
    found: dict[int, Found] = {}
    for key, rows in groups.items():
        found.update(zip(rows, compute([items[row] for row in rows], key), strict=True))
    return [found[row] for row in range(len(items))]


def _sign_flips(planned: Sequence[PlannedPair], choices: Choices) -> tuple[PairedTest, ...]:
    return sign_flip_rows([pair.joined for pair in planned], seed=choices.seed)


def _nadeau_bengios(planned: Sequence[PlannedPair], choices: Choices) -> tuple[PairedTest, ...]:
    tasks = {pair.task.task: pair.task for pair in planned}
    sizes = dict(zip(tasks, sizes_for(list(tasks.values()), choices), strict=True))

    def test(part: Sequence[SeedPairs], size: tuple[int, int]) -> Iterable[PairedTest]:
        return nadeau_bengio_rows(part, n_train=size[0], n_test=size[1])

    return tuple(compute_by([sizes[pair.task.task] for pair in planned], [pair.joined for pair in planned], test))


def _at_every_seed(planned: Sequence[PlannedPair], choices: Choices) -> tuple[PairedTest, ...]:
    return _looks("anytime-valid t", planned, {"looks": "every seed", "g": 1.0}, choices, look_at_every_seed)


def _at_fixed_seeds(planned: Sequence[PlannedPair], choices: Choices) -> tuple[PairedTest, ...]:
    return _looks("t at fixed looks", planned, {"looks": "3, 5, 10, 20, 30"}, choices, look_at_fixed_seeds)


def _looks(
    test: str,
    planned: Sequence[PlannedPair],
    how: Mapping[str, str | float],
    choices: Choices,
    look: Callable[..., AnytimeTest | FixedLooks],
) -> tuple[PairedTest, ...]:
    """Look at pairs in the order of their seeds; p-values are corrected for the looks, and go into the family as any.

    Each look can be had again from the scores in the record.
    """
    rows = stack([pair.joined for pair in planned])
    found = []
    for row, pair in enumerate(planned):
        n = pair.joined.n_pairs
        if n < 2:
            found.append(unrunnable(test, rows, row, how))
            continue
        result = look(pair.joined.quantised, alpha=choices.alpha)
        too_early = result.p is None and not result.looks
        found.append(
            PairedTest(
                test=test,
                outcome=Outcome.run if result.p is not None else OUTCOMES[too_early],
                p=result.p,
                statistic=None,
                n_pairs=n,
                n_effective=n,
                choices={**how, "n_looks": len(result.looks)},
                note=result.note,
            )
        )
    return tuple(found)


# Whether no look was due yet -> what a sequential test without a p-value is.
OUTCOMES = {True: Outcome.not_run, False: Outcome.degenerate}
FURTHER_TESTS: dict[str, Callable[[Sequence[PlannedPair], Choices], tuple[PairedTest, ...]]] = {
    "sign_flip": _sign_flips,
    "nadeau_bengio": _nadeau_bengios,
    "anytime": _at_every_seed,
    "fixed_looks": _at_fixed_seeds,
}
