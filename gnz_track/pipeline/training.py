"""The stage ``run``: the cells of a task, as far as they are not finished, and their results as files.

The store is neither read nor written by DVC: a stage that was interrupted finds there what it had finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gnz_track.pipeline.choosing import CURVES, DATA, RESULTS, choose, require
from gnz_track.pipeline.params import Params
from gnz_track.request import Request, carry_out, make_request_agenda
from gnz_track.runs.agenda import Agenda
from gnz_track.runs.events import Tell
from gnz_track.runs.nursery import Nursery
from gnz_track.runs.plan import Place
from gnz_track.runs.sweep import Sweep
from gnz_track.store.address import parse_address
from gnz_track.store.curve_reader import read_curves
from gnz_track.store.curve_table import write_curves
from gnz_track.store.curves import Curve, thin_all
from gnz_track.store.results import write_table
from gnz_track.store.search_record import SearchRecord

__all__ = ["Training", "make_request", "make_training", "train"]


@dataclass(frozen=True, kw_only=True)
class Training:
    """Cells of one task's stage, and those that are left to train; ``found`` are the searches whose winners it has."""

    name: str
    request: Request
    agenda: Agenda
    found: tuple[SearchRecord, ...] = ()


def make_request(params: Params, name: str, *, source: str) -> Request:
    """Return what is asked of a task: its cells on the data that were frozen for it.

    Parameters
    ----------
    params
        Parameters of the benchmark.
    name
        Task by name.
    source
        Command that asks.
    """
    chosen = choose(params)
    home = require(DATA / name, f"data@{name}")
    return Request(
        tasks=[chosen.task(name)],
        models=chosen.models,
        seeds=params.seeds,
        protocol=chosen.protocol,
        address=parse_address(params.store),
        suite=params.suite,
        epochs=params.tasks[name].epochs,
        hidden_channels=params.hidden_channels,
        device=params.device,
        place=Place(home=home.absolute()),
        jobs=params.jobs,
        timeout=params.timeout,
        source=source,
    )


def make_training(params: Params, name: str, found: Sequence[SearchRecord] = ()) -> Training:
    """Plan the cells of a task, with those of winners where it was tuned, and look up which of them are finished.

    Parameters
    ----------
    params
        Parameters of the benchmark.
    name
        Task by name.
    found
        Searches whose winners are trained too.
    """
    request = make_request(params, name, source=f"dvc run@{name}")
    return Training(name=name, request=request, agenda=make_request_agenda(request, found), found=tuple(found))


def train(training: Training, *, tell: Tell, nursery: Nursery | None = None) -> Sweep:
    """Train what is left of a task; write its results table and its curves once every cell has ended.

    Parameters
    ----------
    training
        Cells of the stage.
    tell
        Listener of events.
    nursery
        Workers that are getting ready.
    """
    sweep = carry_out(training.request, training.agenda, found=training.found, tell=tell, nursery=nursery)
    write_curves(_curves_of(sweep, training.request), CURVES / f"{training.name}.parquet")
    write_table(sweep.table, RESULTS / f"{training.name}.parquet")
    return sweep


def _curves_of(sweep: Sweep, request: Request) -> dict[str, dict[str, Curve]]:
    """Return the curves of all finished cells: of those trained now, and of those that the store has."""
    trained = sweep.series()
    finished = sweep.table[sweep.table["status"] == "finished"]
    keep = dict(zip(finished["fingerprint"], finished["selected_epoch"], strict=True))
    now = {key: thin_all(trained[key], keep=int(epoch)) for key, epoch in keep.items() if key in trained}
    past = {row.run_id: row.fingerprint for row in finished.itertuples() if row.fingerprint not in now}
    stored = read_curves(request.address, past)
    return now | {past[run_id]: series for run_id, series in stored.items()}
