"""Tasks from what a script names."""

from __future__ import annotations

from collections.abc import Iterable

from gnz_track.datasets.catalogue import TASKS, iter_benchmark_tasks
from gnz_track.errors import BadValue, UnknownName
from gnz_track.kinds import Category, TaskType
from gnz_track.types import Task

__all__ = ["choose_tasks"]


def choose_tasks(
    category: str | None, tasks: Iterable[Task | str] | None, task_type: TaskType | None, only: Iterable[str] | None
) -> list[Task]:
    """Return tasks by what a script names.

    Parameters
    ----------
    category
        All tasks of a category, where ``tasks`` names none.
    tasks
    task_type, only
        Keep tasks of this type, and those of these names.
    """
    if tasks is None and category is None:
        raise BadValue("category", None, f"tasks=[...], or one of: {', '.join(Category)}", command="gnz tasks")
    given = [tasks] if isinstance(tasks, str | Task) else tasks
    wanted_tasks = list(given) if given is not None else iter_benchmark_tasks(category)
    chosen = [TASKS.get(task) if isinstance(task, str) else task for task in wanted_tasks]
    for task in chosen:
        if not isinstance(task, Task):
            raise BadValue("task", task, "a name, or a Task as from task_from_dataset(name, task_type, dataset)")
    chosen = [task for task in chosen if task_type in (None, task.task_type)]
    names = [task.name for task in chosen]
    wanted = names if only is None else [only] if isinstance(only, str) else list(only)
    for name in wanted:
        if name not in names:
            raise UnknownName("task", name, names, command="gnz tasks")
    return [task for task in chosen if task.name in wanted]
