"""Searches out of a store: found by SQL where the store is a database, by MLflow's search otherwise."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnz_track.errors import GnzError
from gnz_track.store import schema
from gnz_track.store.address import Address, parse_address
from gnz_track.store.artifacts import fetch_artifact
from gnz_track.store.connection import connect, disconnect, says_in_one_line
from gnz_track.store.reading import can_read_by_sql
from gnz_track.store.rest_reader import experiments_named, pages
from gnz_track.store.search_record import SearchRecord, search_from_json
from gnz_track.store.sql_reader import ACTIVE, RUNS, rows_of
from gnz_track.store.sweeps import has_tables
from gnz_track.store.trial_table import load_trials
from gnz_track.store.writer import FAILED, FINISHED

__all__ = ["read_searches"]

LOG = logging.getLogger(__name__)
# (run id, where its artifacts lie).
Place = tuple[str, str]


def read_searches(
    uri: str | Address = "", *, suite: str = "", sweep: str = "", task: str = "", model: str = ""
) -> tuple[SearchRecord, ...]:
    """Return the searches that bear all names given, sorted by suite, task, model, seed and name.

    A search that is being written just now is not there yet; one whose files are gone is left out, and a warning says
    so.

    Parameters
    ----------
    uri
        Address of the store; empty: the default store.
    suite, sweep, task, model
        Names that searches must bear.
    """
    address = uri if isinstance(uri, Address) else parse_address(uri)
    if not has_tables(address):
        return ()
    wanted = {schema.SUITE: suite, schema.SWEEP: sweep, schema.TASK: task, schema.MODEL: model}
    tags = {schema.KIND: schema.SEARCH_RUN, **{key: value for key, value in wanted.items() if value}}
    places = _by_sql(address, tags) if can_read_by_sql(address) else _by_rest(address, tags)
    found = [record for place in places if (record := _read_record(address, place)) is not None]
    return tuple(sorted(found, key=_order))


def _order(record: SearchRecord) -> tuple[str, str, str, str, int, str]:
    seed = -1 if record.seed is None else record.seed
    return record.suite, record.sweep, record.task, record.model, seed, record.name


def _by_sql(address: Address, tags: Mapping[str, str]) -> list[Place]:
    values, joins = {"finished": FINISHED, "failed": FAILED}, []
    for n, (key, value) in enumerate(tags.items()):
        values |= {f"f{n}_key": key, f"f{n}": value}
        joins.append(f"JOIN tags f{n} ON f{n}.run_uuid = r.run_uuid AND f{n}.key = :f{n}_key AND f{n}.value = :f{n}")
    # Only names of this file's own making are in the text; what users give travels as values.
    text = (
        f"SELECT r.run_uuid, r.artifact_uri {RUNS} {' '.join(joins)} "
        f"WHERE {ACTIVE} AND r.status IN (:finished, :failed) ORDER BY r.start_time, r.run_uuid"
    )
    return [(run_id, place) for run_id, place in rows_of(address, text, values)]


def _by_rest(address: Address, tags: Mapping[str, str]) -> list[Place]:
    with says_in_one_line(address):
        tracking = connect(address, creates=False)
        runs: Any = pages(tracking, experiments_named(tracking, f"{schema.PREFIX}/"), tags)
        found = [(run.info.run_id, run.info.artifact_uri) for run in runs if run.info.status in {FINISHED, FAILED}]
        disconnect(tracking)
    return found


def _read_record(address: Address, place: Place) -> SearchRecord | None:
    run_id, artifacts = place
    with tempfile.TemporaryDirectory() as temporary:
        names = (schema.SEARCH_FILE, schema.TRIALS_FILE)
        agreed, trials = (fetch_artifact(address, artifacts, name, Path(temporary)) for name in names)
        if agreed is None or trials is None:
            LOG.warning("the search of run %s in %s is left out: its files are gone", run_id, address)
            return None
        try:
            return search_from_json(agreed.read_text("utf-8"), trials=load_trials(trials))
        except (OSError, ValueError, KeyError, TypeError, GnzError) as error:
            LOG.warning("the search of run %s in %s is left out: %s", run_id, address, error)
            return None
