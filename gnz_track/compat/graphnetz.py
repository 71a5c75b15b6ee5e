"""The published face of the catalogue: ``LOADER_REGISTRY[category][task_type]``, names and callables. No torch here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.homes import data_home
from gnz_track.registry import import_target
from gnz_track.types import Category, DatasetRow, TaskType

__all__ = ["LOADER_REGISTRY", "list_datasets"]

_PREPARE = "gnz_track.datasets.preparation:prepare_dataset"
# Prepares one dataset of the catalogue and returns it frozen, a sequence of graphs: ``loader(root, seed=0)``.
Loader = Callable[..., Any]


class _LoadersByCategory(Mapping[str, Mapping[str, list[tuple[str, Loader]]]]):
    """``[category][task_type] -> list of (name, loader)``, read from the table at every access."""

    def __getitem__(self, category: str) -> dict[str, list[tuple[str, Loader]]]:
        found: dict[str, list[tuple[str, Loader]]] = {}
        for row in _rows_of(category):
            for task_type in row.task_types:
                found.setdefault(str(task_type), []).append((row.name, partial(_prepare, row.name)))
        if not found:
            raise KeyError(category)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(str(row.category) for row in DATASETS.rows()))

    def __len__(self) -> int:
        return len({row.category for row in DATASETS.rows()})


def _prepare(name: str, root: str | Path | None = None, *, seed: int = 0) -> Any:
    """Return a frozen dataset; ``root`` is the folder of frozen data, the usual one where it is left out."""
    prepare: Any = import_target(_PREPARE)
    home = Path(root).expanduser().absolute() if root else data_home()
    return prepare(DATASETS.get(name), seed=seed, home=home)


def _rows_of(category: str) -> list[DatasetRow]:
    return [row for row in DATASETS.rows() if row.category == category]


LOADER_REGISTRY: Mapping[str, Mapping[str, list[tuple[str, Loader]]]] = _LoadersByCategory()


def list_datasets(
    category: Category | str | None = None, task: TaskType | str | None = None
) -> dict[str, dict[str, list[str]]]:
    """Return names of loaders as ``{category: {task_type: [name, ...]}}``, all or those of a category or task type.

    Examples
    --------
    >>> list_datasets("physics", "link_pred")
    {'physics': {'link_pred': ['ising_lattice']}}
    """
    categories = list(LOADER_REGISTRY) if category is None else [str(Category(category))]
    chosen = tuple(TaskType) if task is None else (TaskType(task),)
    return {
        name: {kind: [loader for loader, _ in found] for kind, found in by_type.items() if kind in chosen}
        for name, by_type in ((name, LOADER_REGISTRY.get(name, {})) for name in categories)
    }
