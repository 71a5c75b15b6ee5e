"""State of a catalogue row on this machine: whether it can be used, told without any network. No torch here."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from gnz_track.datasets.card import CARD
from gnz_track.datasets.homes import frozen_folder
from gnz_track.datasets.readers.extras import missing_library
from gnz_track.datasets.sources.raw_folders import find_complete
from gnz_track.origins import Download, PackageFile
from gnz_track.types import DatasetRow

__all__ = ["RowState", "State", "state_of"]


class State(enum.StrEnum):
    """Obstacle between a row and its use."""

    ok = "ok"
    to_fetch = "to fetch"
    needs_extra = "needs extra"
    not_reachable = "not reachable"
    retired = "retired"


@dataclass(frozen=True)
class RowState:
    """The state of a row, the reason for it in a sentence, and both in a word or two."""

    state: State
    reason: str
    short: str


def state_of(row: DatasetRow, *, home: Path, mirror: Path | str | None = None) -> RowState:
    """Tell the state of a row from the files in the data home and in the mirror.

    ``to fetch`` is a row with a pinned file of a package index, ``not reachable`` one whose raw files are not here and
    come from an address that nothing but a download can try.

    Parameters
    ----------
    row, home
    mirror
        Its folder; one at an address is not asked.
    """
    if _is_frozen(row, home):
        return RowState(State.ok, "frozen in the data home", "frozen")
    place = find_complete(row, home=home, mirror=mirror) if row.raw else None
    if row.raw and place is None and row.retired:
        return RowState(State.retired, row.retired, "retired")
    missing = missing_library(row)
    if missing:
        command = f"pip install 'gnz-track[{row.extra}]'"
        return RowState(State.needs_extra, command, f"needs {missing}: {command}")
    if not row.raw:
        return RowState(State.ok, "generated here", "generated")
    if place is None:
        return _state_without_files(row)
    return RowState(State.ok, f"raw files in {_root_of(place, home)}", "raw files here")


def _is_frozen(row: DatasetRow, home: Path) -> bool:
    folder = frozen_folder(row, seed=0, home=home)
    return any((place / CARD).is_file() for place in ((folder,) if not row.is_seed_aware else folder.parent.glob("*")))


def _root_of(place: Path, home: Path) -> str:
    return "the data home" if place.is_relative_to(home) else "the mirror"


def _state_without_files(row: DatasetRow) -> RowState:
    archive = next((origin.file for origin in row.origins if isinstance(origin, PackageFile)), "")
    if archive:
        return RowState(State.to_fetch, f"ships in {archive}", "to fetch")
    urls = [origin.url for origin in row.origins if isinstance(origin, Download)]
    if not urls:
        return RowState(State.not_reachable, "no raw files here; no address is known", "from a mirror only")
    # Whether an address answers is not asked: listing is quick, and works without any network.
    return RowState(State.not_reachable, f"no raw files here; {urls[0]}", "to fetch")
