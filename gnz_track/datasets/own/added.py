"""Datasets that a user has added: known by name to every later command on this machine.

Their files are copied below the folder of frozen data, so that they can be frozen and checked again; a record beside
them says how they are read. Nothing of a record is run: the reader is always that of this package.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from gnz_track.datasets.homes import data_home, folder_name
from gnz_track.errors import BadValue, DuplicateName, GnzError
from gnz_track.files import write_whole
from gnz_track.records import from_json, to_json
from gnz_track.registry import PluginWarning
from gnz_track.text import split_names
from gnz_track.types import Category, DatasetRow, Task, TaskType

__all__ = ["AddedDataset", "added_rows", "added_tasks", "is_added", "keep", "load", "remove"]

_FOLDER = "own"
_LOADER = "gnz_track.datasets.own.added:load"
_ENDING = ".json"


@dataclass(frozen=True, kw_only=True)
class AddedDataset:
    """A dataset as its user has added it: one file, or all of a folder; how it is read, posed and scored."""

    name: str
    task_type: TaskType
    file: str = ""
    label: str = ""
    ignore: tuple[str, ...] = ()
    is_directed: bool = False
    allow_unlabelled: bool = False
    epochs: int = 30
    metric: str = ""
    checksum: str = ""
    source: str = "given by the user"
    licence: str = "not stated"
    citation: str = "not stated"

    @property
    def reading(self) -> dict[str, Any]:
        """The options of its reader that are not the usual ones."""
        values = {name: getattr(self, name) for name in ("is_directed", "allow_unlabelled")}
        labels = split_names(self.label)
        values |= {"label": labels if len(labels) > 1 else self.label, "ignore": list(self.ignore)}
        return {name: value for name, value in values.items() if value}

    def row(self) -> DatasetRow:
        """Return its row in the table of datasets."""
        return DatasetRow(
            name=self.name,
            category=Category.custom,
            task_types=(self.task_type,),
            loader=_LOADER,
            raw=f"{_FOLDER}/{folder_name(self.name)}",
            options={"file": self.file, **self.reading},
            checksum=self.checksum,
            source=self.source,
            licence=self.licence,
            citation=self.citation,
        )

    def task(self) -> Task:
        """Return its task."""
        return Task(self.name, self.task_type, epochs=self.epochs, metric=self.metric)


def load(folder: str | Path, *, file: str = "", **options: Any) -> Any:
    """Read the graphs of an added dataset from the copies of its files.

    Parameters
    ----------
    folder
        Where the copies lie.
    file
        The one that is read; empty for all of the folder.
    **options
        As of :func:`gnz_track.datasets.own.graphs.read_tables`.
    """
    from gnz_track.datasets.own.files import read_own
    from gnz_track.datasets.own.tasks import without_empty_features

    found = read_own(Path(folder) / file, **options)
    if isinstance(found, tuple):
        return tuple(without_empty_features(part) for part in found)
    return without_empty_features(found if isinstance(found, list) else [found])


def added_rows() -> dict[str, DatasetRow]:
    """Return the rows of all datasets that were added on this machine, by name."""
    return {name: one.row() for name, one in _read_all().items()}


def is_added(row: DatasetRow) -> bool:
    """Tell the row of a dataset that was added on this machine from all others."""
    return row.loader == _LOADER


def added_tasks() -> dict[str, Task]:
    """Return the tasks of all datasets that were added on this machine, by name."""
    return {name: one.task() for name, one in _read_all().items()}


def _find(name: str) -> AddedDataset | None:
    """Return an added dataset by name, None where there is none."""
    return _read_all().get(name)


def _record(name: str) -> Path:
    return data_home() / _FOLDER / f"{folder_name(name)}{_ENDING}"


def _read_all() -> Mapping[str, AddedDataset]:
    folder = data_home() / _FOLDER
    try:
        changed = folder.stat().st_mtime_ns
    except OSError:
        return {}
    return _read_folder(folder, changed)


# Until something is added or removed there.
@lru_cache(maxsize=4)
def _read_folder(folder: Path, changed: int) -> Mapping[str, AddedDataset]:
    del changed
    found = {}
    for file in sorted(folder.glob(f"*{_ENDING}")):
        try:
            one = from_json(AddedDataset, file.read_text("utf-8"), ignores_unknown=True)
            _check(one, file)
        except (OSError, ValueError, TypeError, AttributeError, KeyError, RecursionError, GnzError) as error:
            said = " ".join(str(error).split())
            message = f"an added dataset is missing: {file} does not read ({said}). Add it again, or remove the file"
            warnings.warn(PluginWarning(message), stacklevel=2)
            continue
        found[one.name] = one
    return found


def _check(one: AddedDataset, file: Path) -> None:
    """Refuse a record that says what none of ours does, such as a file outside of its folder."""
    texts = (one.name, one.file, one.label, one.metric, one.checksum, one.source, one.licence, one.citation)
    is_plain = all(isinstance(text, str) for text in (*texts, *one.ignore)) and type(one.epochs) is int
    if not is_plain or one.epochs < 1 or folder_name(one.name) != file.stem or Path(one.file).name != one.file:
        raise BadValue("the record", file.name, "as gnz data add has written it")


def keep(one: AddedDataset, path: Path, *, replaces: bool = False) -> AddedDataset:
    """Copy the files of a dataset, freeze it, and make it known by its name; return it with its digest.

    Parameters
    ----------
    one
        The dataset.
    path
        Its file or folder.
    replaces
        Whether one of the same name may be replaced.
    """
    from gnz_track.datasets.catalogue import DATASETS, TASKS
    from gnz_track.datasets.collation import collate_loaded
    from gnz_track.datasets.own.files import files_of
    from gnz_track.datasets.own.tasks import check_own
    from gnz_track.datasets.preparation import freeze_row

    known = _find(one.name)
    if known is None and (one.name in DATASETS or one.name in TASKS):
        raise DuplicateName("dataset", one.name)
    if known is not None and not replaces:
        allowed = "a name that is not taken, unless with --replace: its past cells are then of other data"
        raise BadValue("--name", one.name, allowed, command=f"gnz data add {path} --name {one.name} --replace")
    one = replace(one, file=path.name if path.is_file() else "")
    home = data_home()
    with _replaced(home / "raw" / one.row().raw) as raw:
        for file in files_of(path).values():
            shutil.copyfile(file, raw / file.name)
        check_own(one.name, collate_loaded(load(raw, **one.row().options)))
        frozen = freeze_row(one.row(), seed=0, home=home)
    one = replace(one, checksum=frozen.digest)
    _record(one.name).parent.mkdir(exist_ok=True)
    with write_whole(_record(one.name)) as file:
        file.write_text(json.dumps(json.loads(to_json(one)), indent=1) + "\n", "utf-8")
    return one


@contextlib.contextmanager
def _replaced(folder: Path) -> Iterator[Path]:
    """Give an empty folder in place of what was there, which comes back where something goes wrong."""
    before = folder.with_name(f"{folder.name}.before")
    shutil.rmtree(before, ignore_errors=True)
    if folder.exists():
        folder.rename(before)
    folder.mkdir(parents=True)
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder)
        if before.exists():
            before.rename(folder)
        raise
    shutil.rmtree(before, ignore_errors=True)


def remove(name: str) -> None:
    """Forget a dataset that was added, with the copies of its files and what was frozen of them."""
    one = _find(name)
    if one is None:
        raise BadValue("the dataset", name, f"one that was added: {', '.join(_read_all()) or 'none was'}")
    home = data_home()
    for folder in (home / "raw" / one.row().raw, home / folder_name(name)):
        shutil.rmtree(folder, ignore_errors=True)
    _record(name).unlink()
