"""A report among the artifacts of its sweep's run, where MLflow's user interface shows it."""

from __future__ import annotations

from gnz_track.errors import UnknownName
from gnz_track.report.bundle import Bundle
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.past_run import read_sweep_run
from gnz_track.store.sweeps import list_sweeps
from gnz_track.store.writer import open_store

__all__ = ["publish_bundle"]


def publish_bundle(bundle: Bundle, address: Address, *, suite: str, sweep: str) -> str:
    """Copy the files of a report into the run that stands for a sweep, and return that run's id.

    Parameters
    ----------
    bundle
        Files of the report.
    address
        Store of the sweep.
    suite, sweep
        Names of the sweep and of its suite.
    """
    found = read_sweep_run(address, suite=suite, sweep=sweep)
    if found is None:
        known = [row.sweep for row in list_sweeps(address, suite=suite)]
        raise UnknownName("sweep", sweep, known, command="gnz ls")
    with open_store(address) as store:
        for file in bundle.files:
            name = file.relative_to(bundle.folder).as_posix()
            store.write_artifact(found.run_id, f"{schema.REPORT_FOLDER}/{name}", file)
    return found.run_id
