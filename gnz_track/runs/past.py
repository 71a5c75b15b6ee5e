"""Past runs of cells: which are finished, what they cost, and their rows; read as far as it is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property

import pandas as pd

from gnz_track.store.address import Address
from gnz_track.store.reading import finished_fingerprints, read_table
from gnz_track.store.recorded import table_of_records
from gnz_track.store.results import empty_table, one_row_per_cell
from gnz_track.store.spool import spool_folder, waiting_records
from gnz_track.store.sweeps import has_tables

__all__ = ["OF_COSTS", "Past"]

OF_COSTS = ("task", "model", "seconds_per_epoch", "peak_rss_mib", "peak_device_mib")


class Past:
    """Past runs of some tasks, in a store and waiting on this disk; without a store, those on this disk alone.

    A database is asked each question by itself, for a part of its columns. Through MLflow's search a part takes as long
    as the whole, which is read once.
    """

    def __init__(self, address: Address, tasks: Iterable[str], *, has_store: bool = True) -> None:
        self._address, self._tasks = address, tuple(tasks)
        self._waiting = table_of_records(("", record) for record in waiting_records(spool_folder(address)))
        self._has_store = has_store and has_tables(address)

    def finished(self) -> set[str]:
        """Return the fingerprints of all finished cells."""
        rows = self._waiting if self._is_asked else self._whole_table
        waiting = set(rows["fingerprint"][rows["status"] == "finished"])
        return waiting | finished_fingerprints(self._address) if self._is_asked else waiting

    def costs(self, tasks: Collection[str]) -> pd.DataFrame:
        """Return what past cells of tasks took and held, in the columns ``OF_COSTS``."""
        if not self._is_asked:
            rows = self._whole_table
        elif tasks:
            rows = _join_tables(read_table(self._address, task=tasks, columns=OF_COSTS), self._waiting)
        else:
            rows = empty_table()
        return rows[rows["task"].isin(list(tasks))][list(OF_COSTS)]

    def rows(self, fingerprints: Collection[str]) -> pd.DataFrame:
        """Return the whole rows of finished cells."""
        if not fingerprints:
            return empty_table()
        rows = (
            _join_tables(read_table(self._address, task=self._tasks), self._waiting)
            if self._is_asked
            else self._whole_table
        )
        is_wanted = rows["fingerprint"].isin(list(fingerprints)) & (rows["status"] == "finished")
        return one_row_per_cell(rows[is_wanted])

    @property
    def _is_asked(self) -> bool:
        return self._has_store and self._address.is_database

    @cached_property
    def _whole_table(self) -> pd.DataFrame:
        return (
            _join_tables(read_table(self._address, task=self._tasks), self._waiting)
            if self._has_store
            else self._waiting
        )


def _join_tables(stored: pd.DataFrame, waiting: pd.DataFrame) -> pd.DataFrame:
    # An empty table has no types that could be joined with those of the other.
    parts = [table for table in (stored, waiting[list(stored.columns)]) if not table.empty]
    return pd.concat(parts, ignore_index=True) if parts else stored
