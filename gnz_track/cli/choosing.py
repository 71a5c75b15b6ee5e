"""The tasks that a training command names, and training with a line of progress."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import typer

from gnz_track.cli.interrupts import INTERRUPTED
from gnz_track.cli.saying import say
from gnz_track.kinds import Category, TaskType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gnz_track.request import Request
    from gnz_track.runs.agenda import Agenda
    from gnz_track.runs.nursery import Nursery
    from gnz_track.runs.sweep import Sweep
    from gnz_track.store.search_record import SearchRecord
    from gnz_track.types import Task

__all__ = ["choose_suite", "choose_tasks", "find_task", "split", "train"]

QUICK, CUSTOM = "quick", "custom"


def choose_tasks(suite: str, names: Sequence[str], categories: Sequence[str], types: Sequence[str]) -> list[Task]:
    """Return the tasks that were asked for; without names and categories, those of the suite.

    A name that the suite has not is refused: whoever names both means a part of the suite.

    Parameters
    ----------
    suite
        Suite that the tasks must be of.
    names
        Tasks by name, several by commas.
    categories
        Research areas whose tasks are added.
    types
        Task types to keep; all without any.
    """
    from gnz_track.datasets.catalogue import SUITES, iter_benchmark_tasks
    from gnz_track.errors import NothingToRun

    wanted = [name for text in names for name in split(text)]
    of_areas = [task for name in categories for task in iter_benchmark_tasks(Category(name))]
    if not (wanted or categories):
        wanted = list(SUITES.get(suite or QUICK).tasks)
    chosen = {task.name: task for task in [*map(find_task, wanted), *of_areas]}
    if suite:
        own = SUITES.get(suite).tasks
        _refuse_others(suite, own, wanted)
        chosen = {name: task for name, task in chosen.items() if name in own}
    allowed = {TaskType(name) for name in types} or set(TaskType)
    found = [task for task in chosen.values() if task.task_type in allowed]
    if not found:
        asked = " and ".join(filter(None, [", ".join(categories), ", ".join(types)])) or "nothing"
        raise NothingToRun([f"no task{f' of the suite {suite}' if suite else ''} is of {asked}"])
    return found


def _refuse_others(suite: str, own: Sequence[str], wanted: Sequence[str]) -> None:
    from gnz_track.errors import BadValue

    for name in wanted:
        if name not in own:
            allowed = f"a task of the suite {suite} ({', '.join(own)}), or a task without --suite"
            raise BadValue(f"task of the suite {suite}", name, allowed, command=f"--task {name} alone")


def find_task(name: str) -> Task:
    """Return the task of a name; somebody who gives a file is told what files are for."""
    from gnz_track.datasets.catalogue import TASKS
    from gnz_track.errors import BadValue

    if name not in TASKS and os.path.isfile(name):  # noqa: PTH113  (of what is no path, a Path raises)
        allowed = "a name of 'gnz tasks'; data of your own become one by gnz_track.task_from_dataset, from Python"
        raise BadValue("task", name, allowed, command=f"gnz recommend --help, for models for the graph of {name!r}")
    return TASKS.get(name)


def choose_suite(suite: str, category: str, *, is_chosen: bool) -> str:
    """Return the first part of the names of experiments.

    Parameters
    ----------
    suite
        Suite by name.
    category
        Research areas by commas.
    is_chosen
        Whether tasks were named otherwise.
    """
    return suite or category.replace(",", "+") or (CUSTOM if is_chosen else QUICK)


def split(text: str) -> list[str]:
    """Return the names in a text, by commas."""
    return [part.strip() for part in text.split(",") if part.strip()]


def train(
    request: Request,
    agenda: Agenda,
    nursery: Nursery | None,
    found: Sequence[SearchRecord] = (),
    *,
    hint: str = "cells are finished already; --fresh trains them again",
    again: str = "the same command goes on from there",
) -> Sweep:
    """Train what is left of a request with a line of progress.

    Parameters
    ----------
    request
        The benchmark that was asked for.
    agenda
        Its cells, finished and left.
    nursery
        Workers that are getting ready.
    found
        Searches that the agenda was made with.
    hint
        Words behind the number of finished cells.
    again
        Words on how to go on after an interrupt.
    """
    from gnz_track.request import carry_out
    from gnz_track.runs.progress import Progress

    n_finished = len(agenda.done)
    if n_finished:
        n_wanted = len(agenda.plan.cells)
        say(f"{n_finished} of {n_wanted} {hint}", err=True)
    progress = Progress(agenda, jobs=request.jobs)
    try:
        with progress:
            return carry_out(request, agenda, found=found, tell=progress.hear, nursery=nursery)
    except KeyboardInterrupt:
        kept = f"{progress.count_kept()} are kept in {request.address}"
        say(f"{kept}; {again}", err=True)
        raise typer.Exit(INTERRUPTED) from None
