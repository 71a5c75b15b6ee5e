"""Frozen datasets of tasks on this machine. Nothing is fetched from a network here."""

from __future__ import annotations

import json
import pickle
import shlex
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from gnz_track.datasets.card import Card, digest_loader
from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.frozen import FrozenDataset, freeze_collated, open_frozen
from gnz_track.datasets.homes import data_home, folder_name, frozen_folder, require_extra
from gnz_track.datasets.mapped_tensors import digest_of
from gnz_track.datasets.sources.fetch import find_complete, parse_mirror, raw_folder
from gnz_track.errors import BadValue, DataCorrupted, DataMissing, DataUnusable
from gnz_track.registry import import_target
from gnz_track.types import DatasetRow, Task

__all__ = [
    "check_dataset",
    "find_frozen",
    "find_mirror",
    "find_prepared",
    "forget_loaded",
    "freeze_row",
    "prepare",
    "prepare_dataset",
]

# Loaders of users that ran for one plan, so that ten seeds load a dataset once. The loader itself is kept, since a
# number of an object means nothing once the object is gone.
_LOADED: dict[tuple[int, str, str, int | None], tuple[Any, Path]] = {}


def forget_loaded() -> None:
    """Call loaders of users again from now on: what they read, and what they refer to, may have changed."""
    _LOADED.clear()


def find_mirror(mirror: str | Path | None = None) -> Path | None:
    """Return the folder of raw files: the argument, else ``GNZ_MIRROR``; None without one.

    None for an address too: preparing reads what is on the disk, and only ``gnz data get`` fetches.
    """
    found = parse_mirror(mirror)
    return found if isinstance(found, Path) else None


def _find_raw(row: DatasetRow, *, home: Path | None = None, mirror: str | Path | None = None) -> Path:
    """Return the folder with a dataset's raw files, from the mirror or from ``raw`` in the data home.

    A folder that has all files comes before one that lacks some.
    """
    home, found_mirror = home or data_home(), find_mirror(mirror)
    complete = find_complete(row, home=home, mirror=found_mirror)
    if complete is not None:
        return complete
    places = [*([found_mirror / row.raw] if found_mirror else []), raw_folder(row, home)]
    existing = next((place for place in places if place.is_dir()), None)
    if existing is None:
        raise DataMissing(row.name, places, command=_fetch_command(row), reason=row.retired)
    return existing


def prepare(
    task: Task | str, *, seed: int, home: Path | None = None, mirror: str | Path | None = None
) -> FrozenDataset:
    """Return the frozen dataset of a task for a seed; freeze it where it is not yet.

    Two processes may prepare the same dataset at once: both get the same bytes, and the first folder stays.

    Parameters
    ----------
    task, seed
    home, mirror
        Folders of frozen data and of raw files; ``GNZ_DATA`` and ``GNZ_MIRROR`` where left out.
    """
    task = TASKS.get(task) if isinstance(task, str) else task
    home = Path(home).absolute() if home else data_home()
    if task.loader is not None:
        return _prepare_own(task, seed=seed, home=home)
    return prepare_dataset(DATASETS.get(task.dataset), seed=seed, home=home, mirror=mirror)


def prepare_dataset(row: DatasetRow, *, seed: int, home: Path, mirror: str | Path | None = None) -> FrozenDataset:
    """Return the frozen form of a catalogue row; rows that do not depend on the seed have one for all seeds.

    Parameters
    ----------
    row, seed, home, mirror
    """
    return find_prepared(row, seed=seed, home=home) or freeze_row(row, seed=seed, home=home, mirror=mirror)


def find_prepared(row: DatasetRow, *, seed: int, home: Path) -> FrozenDataset | None:
    """Open the frozen form of a catalogue row; None where it is not frozen yet, or not as the row is by now.

    Parameters
    ----------
    row, seed, home
    """
    return _open_existing(frozen_folder(row, seed=seed, home=home), row, seed if row.is_seed_aware else None)


def freeze_row(row: DatasetRow, *, seed: int, home: Path, mirror: str | Path | None = None) -> FrozenDataset:
    """Freeze a catalogue row from its raw files, or generate it, in place of what was frozen before.

    Parameters
    ----------
    row, seed, home, mirror
    """
    from gnz_track.datasets.collation import PartedGraphs, collate_loaded
    from gnz_track.datasets.own.tasks import takes
    from gnz_track.datasets.streaming import BlockedGraph, freeze_blocks, freeze_stream

    folder = frozen_folder(row, seed=seed, home=home)
    options = {**row.options, **({"seed": seed} if row.is_seed_aware else {})}
    require_extra(row)
    loader = _resolve_loader(row.loader)
    if takes(loader, "cache"):
        # What was dear to find is kept beside the frozen data; what is generated does not depend on it.
        options["cache"] = home / "found"
    if row.raw:
        place = _find_raw(row, home=home, mirror=mirror)
        graphs = _read_raw(row, loader, place, options)
    else:
        place, graphs = folder, loader(**options)
    card_seed = seed if row.is_seed_aware else None
    accept = partial(_check_card, row=row, place=place)
    if isinstance(graphs, BlockedGraph):
        return freeze_blocks(graphs, folder, row=row, seed=card_seed, accept=accept)
    if isinstance(graphs, Iterator):
        # One after another: a loader of tens of thousands of graphs need not hold them all.
        return freeze_stream(graphs, folder, row=row, seed=card_seed, accept=accept)
    if isinstance(graphs, PartedGraphs) and isinstance(graphs.graphs, Iterator):
        return freeze_stream(graphs.graphs, folder, row=row, seed=card_seed, split=graphs.split, accept=accept)
    return freeze_collated(collate_loaded(graphs), folder, row=row, seed=card_seed, accept=accept)


def find_frozen(
    task: Task,
    *,
    digest: str,
    seed: int,
    home: Path | None = None,
    mirror: str | Path | None = None,
    may_load: bool = True,
) -> FrozenDataset:
    """Return the frozen dataset of a task of the past, every byte checked.

    An own dataset is found by its digest or loaded again; one of the catalogue is prepared, and may by now be another
    one.

    Parameters
    ----------
    task, digest, seed, home, mirror
    may_load
        Whether a loader of an own dataset may be called.
    """
    folder = (Path(home).absolute() if home else data_home()) / "custom" / folder_name(task.name)
    for frozen in (folder / digest, folder / f"{digest}-seed-{seed}"):
        if frozen.is_dir():
            return open_frozen(frozen, verify=True)
    if task.loader is None and task.dataset not in DATASETS:
        command = f"the script that made the task {task.name!r}"
        reason = f"no own dataset of digest {digest} is frozen, and the catalogue has none of this name"
        raise DataMissing(task.dataset, [folder], command=command, reason=reason)
    if task.loader is not None and not may_load:
        command = f"the script that made the task {task.name!r}"
        raise DataMissing(task.name, [folder], command=command, reason="its loader is not to be called")
    return open_frozen(prepare(task, seed=seed, home=home, mirror=mirror).folder, verify=True)


def check_dataset(row: DatasetRow, *, seed: int, home: Path) -> FrozenDataset:
    """Open the frozen form of a catalogue row and derive its digest again from every byte; nothing is written.

    Parameters
    ----------
    row, seed, home
    """
    folder = frozen_folder(row, seed=seed, home=home)
    if not folder.is_dir():
        raise DataMissing(row.name, [folder], command=_fetch_command(row), reason="it is not frozen yet")
    return open_frozen(folder, verify=True)


def _read_raw(row: DatasetRow, loader: Callable[..., Any], place: Path, options: Mapping[str, Any]) -> Any:
    try:
        return loader(place, **options)
    except FileNotFoundError as error:
        raise DataMissing(row.name, [place], command=_fetch_command(row), reason=f"no file {error.filename}") from error
    except (ValueError, KeyError, IndexError, EOFError, pickle.UnpicklingError) as error:
        reason = f"the raw files do not read, {type(error).__name__}: {error}"
        raise DataUnusable(row.name, place, reason, command=_fetch_command(row)) from error


def _prepare_own(task: Task, *, seed: int, home: Path) -> FrozenDataset:
    from gnz_track.datasets.collation import collate
    from gnz_track.datasets.own.tasks import (
        GivenDataset,
        check_own,
        is_seed_aware,
        load_graphs,
        own_row,
        without_empty_features,
    )

    loader = _resolve_loader(task.loader)
    own_seed = seed if is_seed_aware(loader) else None
    key = (id(loader), task.name, str(home), own_seed)
    row = own_row(task)
    if key in _LOADED:
        existing = _open_existing(_LOADED[key][1], row, own_seed)
        if existing is not None:
            return existing
    folder = home / "custom" / folder_name(task.name)
    graphs, split = load_graphs(task, loader, root=folder / "root", seed=seed)
    collated = collate(without_empty_features(graphs), split=split)
    check_own(task.name, collated)
    # Named by content: another dataset under the same name must never be taken for this one.
    suffix = "" if own_seed is None else f"-seed-{own_seed}"
    frozen = folder / f"{digest_of(collated.tensors)}{suffix}"
    dataset = _open_existing(frozen, row, own_seed) or freeze_collated(collated, frozen, row=row, seed=own_seed)
    if not isinstance(loader, GivenDataset):  # a dataset in memory may be changed in place between two calls
        _LOADED[key] = (loader, frozen)
    return dataset


def _open_existing(folder: Path, row: DatasetRow, seed: int | None) -> FrozenDataset | None:
    """Open what is frozen already; None where there is nothing, or where the row has other options or facts by now."""
    if not folder.is_dir() or not any(folder.iterdir()):
        return None
    dataset = open_frozen(folder)
    card = dataset.card
    now = [row.name, row.category, list(row.task_types), dict(row.options), row.source, row.licence, row.citation, seed]
    then = [card.name, card.category, list(card.task_types), dict(card.options), card.source, card.licence]
    if row.checksum and card.digest != row.checksum:
        # The reader has been mended since.
        return None
    loader = digest_loader(row)
    if loader and card.loader != loader:
        # A loader of somebody's own, which has been edited since.
        return None
    is_same = json.dumps(now, sort_keys=True) == json.dumps([*then, card.citation, card.seed], sort_keys=True)
    return dataset if is_same else None


def _check_card(card: Card, *, row: DatasetRow, place: Path) -> None:
    """Raise before anything appears where sizes or digest are not those of the catalogue."""
    for name, expected in row.expected.items():
        if card.sizes.get(name) != expected:
            reason = f"{name} is {card.sizes.get(name)}, the catalogue says {expected}"
            raise DataUnusable(row.name, place, reason, command=_fetch_command(row))
    if row.checksum and card.digest != row.checksum:
        raise DataCorrupted(row.name, place, expected=row.checksum, found=card.digest, command=_fetch_command(row))


def _resolve_loader(loader: Callable[..., Any] | str | None) -> Callable[..., Any]:
    found = import_target(loader) if isinstance(loader, str) else loader
    if not callable(found):
        raise BadValue("loader", loader, "a callable or 'package.module:function'")
    return found


def _fetch_command(row: DatasetRow) -> str:
    needs_mirror = row.raw and (row.retired or not row.origins)
    return f"gnz data get {shlex.quote(row.name)}" + (" --mirror FOLDER" if needs_mirror else "")
