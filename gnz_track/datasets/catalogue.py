"""The one table of datasets, tasks and suites. Importing it imports no torch: rows name their loaders.

Adding a dataset is one row in the module of its category; other packages add theirs by the entry points
``gnz_track.datasets`` and ``gnz_track.tasks``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping

from gnz_track.datasets.own.added import added_rows, added_tasks
from gnz_track.datasets.rows import (
    biology,
    combinatorial,
    computing,
    finance,
    infrastructure,
    knowledge,
    physics,
    security,
    social,
    suites,
    vision,
)
from gnz_track.errors import BadValue, UnknownName
from gnz_track.registry import Registry
from gnz_track.types import Category, DatasetRow, Suite, Task, TaskType

__all__ = [
    "BENCHMARK_TASKS",
    "DATASETS",
    "SUITES",
    "TASKS",
    "choose_tasks",
    "iter_benchmark_tasks",
    "iter_tasks",
    "register_task",
    "unregister_task",
]

_LISTING = "gnz tasks"

DATASETS = Registry[DatasetRow](
    "dataset", command="gnz data list", entry_point_group="gnz_track.datasets", row_type=DatasetRow
)
TASKS = Registry[Task]("task", command=_LISTING, entry_point_group="gnz_track.tasks", row_type=Task)
SUITES = Registry[Suite]("suite", command=_LISTING, entry_point_group="gnz_track.suites", row_type=Suite)

_MODULES = (
    combinatorial,
    biology,
    social,
    knowledge,
    infrastructure,
    finance,
    computing,
    vision,
    physics,
    security,
)

for _module in _MODULES:
    for _row in _module.ROWS:
        DATASETS.add(_row.name, _row)
    for _task in _module.TASKS:
        TASKS.add(_task.name, _task)


def _add_more_tasks() -> dict[str, Task]:
    """Add the tasks that can be run by name but that no category runs by itself; return them by name."""
    chosen = [task for module in _MODULES for task in module.TASKS]
    rows = [row for module in _MODULES for row in module.ROWS]
    large = [task for module in (social, biology, finance, vision, combinatorial) for task in module.LARGE_TASKS]
    return {task.name: TASKS.add(task.name, task) for task in suites.tasks_beside(rows, chosen, large)}


_BY_NAME_ONLY = _add_more_tasks()

for _suite in suites.SUITES:
    SUITES.add(_suite.name, _suite)

DATASETS.add_source(added_rows)
TASKS.add_source(added_tasks)


def register_task(category: Category | str, task: Task) -> Task:
    """Add an own task to the table under a category and return it as it stands there."""
    if not isinstance(task, Task):
        raise BadValue("task", type(task).__name__, "a Task, as from task_from_dataset(name, task_type, dataset)")
    return TASKS.add(task.name, dataclasses.replace(task, category=Category(category)))


def unregister_task(category: Category | str, name: str) -> Task:
    """Remove a task of a category from the table and return it."""
    known = [task.name for task in iter_benchmark_tasks(category)]
    if name not in known:
        raise UnknownName(f"task of category {Category(category)!s}", name, known, command=_LISTING)
    return TASKS.remove(name)


def iter_tasks(category: Category | str | None = None, task_type: TaskType | str | None = None) -> list[Task]:
    """Return all tasks, or those of a category, of a task type, or of both; also those that are run by name only.

    Examples
    --------
    >>> "enzymes" in [task.name for task in iter_tasks("biology", "graph_cls")]
    True
    """
    categories = tuple(Category) if category is None else (Category(category),)
    task_types = tuple(TaskType) if task_type is None else (TaskType(task_type),)
    return [task for task in TASKS.rows() if task.category in categories and task.task_type in task_types]


def iter_benchmark_tasks(category: Category | str | None = None, task_type: TaskType | str | None = None) -> list[Task]:
    """Return the tasks that a category stands for, or a task type, or both: the curated ones and those registered.

    Examples
    --------
    >>> [task.name for task in iter_benchmark_tasks("finance", "link_pred")]
    ['product_space', 'board_directors']
    """
    return [task for task in iter_tasks(category, task_type) if _BY_NAME_ONLY.get(task.name) is not task]


class _TasksByCategory(Mapping[str, Mapping[str, list[Task]]]):
    """``[category][task_type] -> list of tasks``, read from the table at every access."""

    def __getitem__(self, category: str) -> dict[str, list[Task]]:
        tasks = [task for task in iter_benchmark_tasks() if task.category == category]
        if not tasks:
            raise KeyError(category)
        found: dict[str, list[Task]] = {}
        for task in tasks:
            found.setdefault(str(task.task_type), []).append(task)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(str(task.category) for task in iter_benchmark_tasks()))

    def __len__(self) -> int:
        return len({task.category for task in iter_benchmark_tasks()})


BENCHMARK_TASKS: Mapping[str, Mapping[str, list[Task]]] = _TasksByCategory()


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
