"""Tasks for rows that nobody chose for a category: by name only, since some of them take gigabytes and days."""

from __future__ import annotations

from collections.abc import Iterable

from gnz_track.types import DatasetRow, Task, TaskType

__all__ = ["EPOCHS", "tasks_beside"]

# What the published benchmark trains its own tasks of each kind for, in the middle.
EPOCHS = {
    TaskType.node_cls: 100,
    TaskType.graph_cls: 20,
    TaskType.graph_reg: 10,
    TaskType.link_pred: 80,
    TaskType.edge_cls: 80,
    TaskType.multi_task: 20,
}


def tasks_beside(rows: Iterable[DatasetRow], chosen: Iterable[Task], large: Iterable[Task]) -> list[Task]:
    """Return the large tasks, then one for each row and kind of problem that has none.

    A task bears the name of its row where that is free, else the kind of problem behind it: ``cora_link_pred``.

    Parameters
    ----------
    rows
    chosen
        Tasks that stand for a category.
    large
        Tasks that are run by name only.
    """
    large = list(large)
    taken = {task.name for task in (*chosen, *large)}
    posed = {(task.dataset, task.task_type) for task in (*chosen, *large)}
    found = large
    for row in rows:
        for task_type in row.task_types:
            if (row.name, task_type) in posed:
                continue
            name = f"{row.name}_{task_type}" if row.name in taken else row.name
            taken.add(name)
            found.append(Task(name, task_type, epochs=EPOCHS[task_type], dataset=row.name, category=row.category))
    return found
