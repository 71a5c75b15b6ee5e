"""From the record of a run back to the cell that it was, on this machine."""

from __future__ import annotations

import pickle
import platform
import re
from dataclasses import dataclass, field, replace

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.preparation import find_frozen
from gnz_track.errors import BadValue, NotReproducible
from gnz_track.models.source_digest import digest_source
from gnz_track.registry import import_target
from gnz_track.runs.plan import Place, resolve_device
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.cell_book import CellBook, digest_of_book, read_book
from gnz_track.store.past_run import PastRun, read_sweep_run
from gnz_track.types import Cell, ModelRow

__all__ = ["Conditions", "Rebuilt", "rebuild"]

TRAIN_ANEW = "gnz run trains its cell anew"
# What an executor calls the failure of a cell whose process it had to give up: the cell itself said nothing.
ENDED_FROM_OUTSIDE = frozenset({"WorkerDied", "TimeLimit"})


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """How a run is to be trained again: where its data are, on which device, and whether code out of the store may run.

    No device means the one that the run was trained on.
    """

    place: Place = field(default_factory=Place)
    device: str = ""
    trusts_payloads: bool = False


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """A cell, ready to be trained; what its fingerprint was made with, and the digest of its model's source now."""

    cell: Cell
    numbers: int
    source_digest: str


def rebuild(run: PastRun, address: Address, conditions: Conditions) -> Rebuilt:
    """Return the cell of a run from what the store says of it; nothing else is known of the past.

    Models and loaders that have a name are imported from this machine. The data are those of the same digest, to the
    byte.
    """
    _refuse_what_has_no_end(run)
    book = _fetch_book(run, address)
    cell = book.cells.get(run.tags.get(schema.FINGERPRINT, ""))
    if cell is None:
        raise _lost(run, "the cells that its sweep describes do not contain it")
    source_digest = _digest_source_now(run, cell.model, conditions)
    device = _choose_device(run, conditions)
    dataset = _find_data(run, cell, conditions.place)
    cell = replace(cell, device=device, data=str(dataset.folder))
    return Rebuilt(cell=cell, numbers=book.numbers, source_digest=source_digest)


def _refuse_what_has_no_end(run: PastRun) -> None:
    if run.tags.get(schema.KIND) != schema.CELL:
        sweep = run.tags.get(schema.SWEEP, "")
        reason = f"it trained nothing, it stands for the whole sweep {sweep!r}"
        raise NotReproducible(run.run_id, reason, remedy=f"name one of its cells: gnz ls --sweep {sweep}")
    error = run.tags.get(schema.ERROR, "")
    if run.status == "KILLED":
        raise NotReproducible(run.run_id, f"it was killed before it ended ({error})", remedy=TRAIN_ANEW)
    if run.status not in {"FINISHED", "FAILED"}:
        raise NotReproducible(run.run_id, f"it has not ended yet ({run.status})", remedy="wait for it: gnz ls")
    if error.partition(":")[0] in ENDED_FROM_OUTSIDE:
        raise NotReproducible(run.run_id, f"it did not end by itself ({error})", remedy=TRAIN_ANEW)


def _fetch_book(run: PastRun, address: Address) -> CellBook:
    digest, sweep = run.tags.get(schema.BOOK, ""), run.tags.get(schema.SWEEP, "")
    if not re.fullmatch("[0-9a-f]{16}", digest):
        raise _lost(run, f"an earlier version wrote it, without the tag {schema.BOOK}")
    of_sweep = read_sweep_run(address, suite=run.tags.get(schema.SUITE, ""), sweep=sweep)
    if of_sweep is None:
        raise _lost(run, f"the run of its sweep {sweep!r}, which describes its cells, is gone")
    name = schema.book_file(digest)
    text = read_artifact(address, of_sweep.artifacts, name)
    if text is None:
        raise _lost(run, f"{name} of its sweep is gone, or lies where this machine cannot look: {of_sweep.artifacts}")
    if digest_of_book(text) != digest:
        raise _lost(run, f"{name} of its sweep was changed: its digest is {digest_of_book(text)}")
    return read_book(text)


def _lost(run: PastRun, reason: str) -> NotReproducible:
    return NotReproducible(run.run_id, reason, remedy=TRAIN_ANEW)


def _digest_source_now(run: PastRun, model: ModelRow, conditions: Conditions) -> str:
    """Return the digest of the model's source as it is now; none where the record has none, as for our own models."""
    if not model.payload:
        found = [import_target(target) for target in (model.target, model.factory) if target]
        return digest_source(*found) if model.source_digest else ""
    if not conditions.trusts_payloads:
        reason = f"its model {model.name!r} lies in the store as code, which would run here"
        raise NotReproducible(
            run.run_id, reason, remedy=f"if you trust whoever wrote it: gnz reproduce {run.run_id} --trust"
        )
    python = run.tags.get("env.python", "")
    if _minor(python) != _minor(platform.python_version()):
        reason = f"its model {model.name!r} lies in the store as code of Python {_minor(python)}"
        remedy = f"call that Python; this is {_minor(platform.python_version())}"
        raise NotReproducible(run.run_id, reason, remedy=remedy)
    found = pickle.loads(model.payload)  # noqa: S301  (asked for above, in words)
    digest = digest_source(*(item for item in found if item is not None))
    if digest != model.source_digest:
        raise _lost(run, f"the code of its model {model.name!r} has the digest {digest}, not {model.source_digest}")
    return digest


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _choose_device(run: PastRun, conditions: Conditions) -> str:
    if conditions.device:
        return resolve_device(conditions.device)
    then = run.tags.get(schema.ENV_DEVICE, "cpu")
    try:
        return resolve_device(then)
    except BadValue as error:
        reason = f"it was trained on {then!r}, which is not here ({error})"
        raise NotReproducible(run.run_id, reason, remedy="train it elsewhere: --device cpu") from error


def _find_data(run: PastRun, cell: Cell, place: Place) -> FrozenDataset:
    digest = cell.dataset_digest
    if not re.fullmatch("[0-9a-f]+", digest):
        raise _lost(run, f"the digest of its data is {digest!r}")
    dataset = find_frozen(cell.source_task, digest=digest, seed=cell.seed, home=place.home, mirror=place.mirror)
    if dataset.digest != digest:
        name, found = cell.task.dataset, f"{dataset.digest} in {dataset.folder}"
        reason = f"it was trained on {name!r} of digest {digest}, and here it is {found}"
        raise NotReproducible(run.run_id, reason, remedy=_remedy_for(run, cell))
    return dataset


def _remedy_for(run: PastRun, cell: Cell) -> str:
    if cell.task.dataset in DATASETS:
        version = run.tags.get(schema.VERSION, "of then")
        return f"the data of then are made by gnz_track {version}: gnz data get {cell.task.dataset} --home FOLDER"
    return "bring the data of then back"
