"""The stage ``data``: the data of a task, frozen for all seeds."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from gnz_track.datasets.card import CARD
from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.frozen import FrozenDataset, open_frozen
from gnz_track.datasets.homes import data_home
from gnz_track.datasets.preparation import find_prepared, freeze_row, prepare
from gnz_track.datasets.sources.fetching import fetch
from gnz_track.errors import DataCorrupted
from gnz_track.pipeline.choosing import DATA, choose
from gnz_track.pipeline.params import Params
from gnz_track.pipeline.tuning import seeds_of
from gnz_track.types import DatasetRow

__all__ = ["freeze_task"]

Say = Callable[[str], None]


def freeze_task(params: Params, name: str, *, say: Say) -> list[FrozenDataset]:
    """Freeze the data of a task below ``data/TASK``, for all seeds, tuning seeds included; what is not here is fetched.

    What is frozen already is checked and stays; folders of seeds that are no longer wanted go.

    Parameters
    ----------
    params
        Parameters of the benchmark.
    name
        Task by name.
    say
        Teller of notes.
    """
    task, home = choose(params).task(name), (DATA / name).absolute()
    row = DATASETS.get(task.dataset) if task.loader is None else None
    found = {}
    for seed in seeds_of(params):
        dataset = prepare(task, seed=seed, home=home) if row is None else _freeze(row, seed=seed, home=home, say=say)
        found[dataset.folder.resolve()] = dataset
    for card in list(home.rglob(CARD)):
        if card.parent.resolve() not in found:
            shutil.rmtree(card.parent)
    return list(found.values())


def _freeze(row: DatasetRow, *, seed: int, home: Path, say: Say) -> FrozenDataset:
    try:
        found = find_prepared(row, seed=seed, home=home)
        if found is not None:
            return open_frozen(found.folder, verify=True)
    except DataCorrupted as error:
        say(f"note: {row.name} is frozen anew, as {error}")
    return freeze_row(row, seed=seed, home=home, mirror=_fetch_raw(row))


def _fetch_raw(row: DatasetRow) -> Path | None:
    """Return the root below which the raw files of a row lie, fetched where they are not here; None without any.

    They are kept in the user's data folder: other projects need the same, and DVC versions what was made of them.
    """
    if not row.raw:
        return None
    folder = fetch(row, home=data_home())
    return folder.parents[len(PurePosixPath(row.raw).parts) - 1]
