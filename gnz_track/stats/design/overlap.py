"""Seeds that draw different splits of the same data: how large the parts were, and what the right test would say.

Splits of one dataset share examples, be they drawn at random or folds of a cross-validation, and so scores of seeds are
correlated. The plain tests keep their size for a claim about these splits; for one about others they reject too often.
Nadeau and Bengio (2003), Machine Learning 52.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from gnz_track.errors import BadValue
from gnz_track.stats.comparison.cells import TaskCells
from gnz_track.stats.comparison.choices import Choices, value_for
from gnz_track.stats.inputs import read_number

__all__ = [
    "FOR_OVERLAP",
    "draws_splits",
    "recorded_sizes",
    "sizes_for",
    "write_assumed",
    "write_given",
    "write_overlap",
]

# The test that knows of seeds which draw splits.
FOR_OVERLAP = "nadeau_bengio"
BY_HAND = "gnz report --test nadeau_bengio --split-sizes 150,19"
RECORDED = "gnz report --test nadeau_bengio"


def draws_splits(task: TaskCells) -> bool:
    """Tell whether seeds stand for different splits of one dataset."""
    return len(_values_of(task, "dataset_digest")) == 1 and len(_values_of(task, "split_digest")) > 1


def recorded_sizes(task: TaskCells) -> tuple[int, int] | None:
    """Return the examples in training and in test that the cells tell, the mean over seeds; None where none tells.

    Folds differ by one example at most, random splits by none.
    """
    found: dict[int, tuple[float, float]] = {}
    for cell in task.cells:
        n_train, n_test = (read_number(cell.facts.get(name, "")) or 0.0 for name in ("n_train", "n_test"))
        if min(n_train, n_test) >= 1:
            found.setdefault(cell.seed, (n_train, n_test))
    if not found:
        return None
    of_train, of_test = (round(math.fsum(part) / len(found)) for part in zip(*found.values(), strict=True))
    return of_train, of_test


def sizes_for(tasks: Sequence[TaskCells], choices: Choices) -> list[tuple[int, int]]:
    """Return the sizes of both parts on each task: those given by hand, and else those that the cells tell."""
    given = [value_for(choices.split_sizes, task.task, task.metric) for task in tasks]
    found = [tuple(size) if size else recorded_sizes(task) for size, task in zip(given, tasks, strict=True)]
    unknown = sorted({task.task for task, size in zip(tasks, found, strict=True) if not size})
    if unknown:
        allowed = (
            "(examples in training, in test), one pair or a pair by task, for the test nadeau_bengio on "
            f"{', '.join(unknown)}, whose runs do not tell them"
        )
        raise BadValue(
            "split_sizes", choices.split_sizes, allowed, command="--split-sizes 150,19 or split_sizes=(150, 19)"
        )
    return [size for size in found if size]


def write_overlap(tasks: Sequence[TaskCells], counts: tuple[int, int] | None = None) -> tuple[str, tuple[str, ...]]:
    """Return the sentence on tasks whose seeds draw splits, and how many splits the seeds of tasks share.

    ``counts`` are the pairs that are told apart, and those of them that the test for such splits tells apart too.
    """
    command = RECORDED if all(map(recorded_sizes, tasks)) else BY_HAND
    if counts is not None and counts[0]:
        n_different, n_lasting = counts
        differences = f"difference{'' if n_different == 1 else 's'} remain{'s' if n_lasting == 1 else ''}"
        advice = f"by the test nadeau_bengio {n_lasting} of {n_different} {differences} ({command})"
    else:
        sizes = "" if command == RECORDED else ", with the sizes of both parts"
        advice = f"choose the test nadeau_bengio{sizes} ({command})"
    text = (
        "seeds draw different splits of the same data, which overlap: the plain tests reject too often if they are to "
        f"speak of other splits; {advice}"
    )
    return text, _by_task({task.task: _note_shared_splits(task) for task in tasks})


def write_assumed(tasks: Sequence[TaskCells], choices: Choices) -> tuple[str, tuple[str, ...]]:
    """Return the sentence on what the test for overlapping splits took for granted, and the sizes that it took."""
    text = (
        f"the test {FOR_OVERLAP} assumes that scores of two seeds are correlated by n_test / (n_train + n_test), as "
        "those of splits drawn at random are"
    )
    sizes = dict(zip((task.task for task in tasks), sizes_for(tasks, choices), strict=True))
    return text, _by_task(
        {name: f"{n_train} examples in training and {n_test} in test" for name, (n_train, n_test) in sizes.items()}
    )


def write_given(tasks: Sequence[TaskCells], choices: Choices) -> tuple[str, tuple[str, ...]]:
    """Return the sentence on sizes that were given by hand and are not those of the runs, and both by task.

    Folds differ by an example, so that one may be given of all; no example where nothing contradicts.
    """
    found: dict[str, str] = {}
    for task in tasks:
        given, recorded = value_for(choices.split_sizes, task.task, task.metric), recorded_sizes(task)
        if given and recorded and max(abs(one - other) for one, other in zip(given, recorded, strict=True)) > 1:
            found[task.task] = f"{given[0]},{given[1]} given, {recorded[0]},{recorded[1]} recorded"
    text = "sizes of splits were given by hand, and went before others that the runs recorded"
    return text, _by_task(found)


def _by_task(said: Mapping[str, str]) -> tuple[str, ...]:
    """Return what is said of tasks, each saying once; the tasks are named where not the same is said of all."""
    by_saying: dict[str, list[str]] = {}
    for task, saying in said.items():
        by_saying.setdefault(saying, []).append(task)
    if len(by_saying) == 1:
        return tuple(filter(None, by_saying))
    return tuple(f"{saying} ({', '.join(tasks)})" for saying, tasks in by_saying.items() if saying)


def _note_shared_splits(task: TaskCells) -> str:
    """Say how few splits the seeds of a task share, as those of a cross-validation that is repeated."""
    n_splits, n_seeds = len(_values_of(task, "split_digest")), len({cell.seed for cell in task.cells})
    return f"{n_seeds} seeds share {n_splits} splits" if n_splits < n_seeds else ""


def _values_of(task: TaskCells, column: str) -> set[str]:
    return {cell.facts[column] for cell in task.cells if column in cell.facts}
