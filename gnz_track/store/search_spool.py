"""A search on disk before it is in the store: a store that is away costs no search."""

from __future__ import annotations

from pathlib import Path

from gnz_track.errors import GnzError
from gnz_track.store.address import Address
from gnz_track.store.locks import file_lock
from gnz_track.store.search_record import SearchRecord, search_to_json
from gnz_track.store.search_writer import write_search
from gnz_track.store.spool import (
    DONE,
    LINES,
    LOCK,
    append_line,
    end_torn_line,
    file_stem,
    make_spool_folder,
    marks_of,
    remove_files,
)
from gnz_track.store.spool_lines import SEARCH, read_lines, sealed
from gnz_track.store.writer import Store, open_store
from gnz_track.wording import sync_command

__all__ = ["keep_search"]


def keep_search(address: Address, record: SearchRecord) -> tuple[str, str]:
    """Write a search to its store, outside of any sweep; return the run's id, and a sentence where it waits on disk.

    Where the store is away, or refuses it, the record is safe on this disk and the id is empty: ``gnz sync`` writes it.
    """
    path = _path(address, record)
    with file_lock(path.with_suffix(LOCK)):
        _append(path, record)
        try:
            with open_store(address) as store:
                return _deliver(path, store, record), ""
        except GnzError as error:
            return "", f"{error}. The search of {record.title} waits on this disk: {sync_command(address)}"


def _path(address: Address, record: SearchRecord) -> Path:
    stem = file_stem(f"search-{record.task}-{record.model}-{record.key[:12]}")
    return make_spool_folder(address) / (stem + LINES)


def _append(path: Path, record: SearchRecord) -> None:
    end_torn_line(path)
    append_line(path, sealed(SEARCH, search_to_json(record)))


def _deliver(path: Path, store: Store, record: SearchRecord) -> str:
    run_id = write_search(store, record)
    # What the search was before is in the store too, in what it is now.
    lines = read_lines(path)
    for key in lines.keys - marks_of(path):
        append_line(path.with_suffix(DONE), key)
    if not lines.bad:
        remove_files(path)
    return run_id
