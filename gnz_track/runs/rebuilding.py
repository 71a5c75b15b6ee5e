"""From the record of a run back to the cell that it was, on this machine."""

from __future__ import annotations

import pickle
import platform
import re
import shlex
from dataclasses import dataclass, field, replace

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.preparation import find_frozen
from gnz_track.errors import BadValue, DataMissing, NotReproducible
from gnz_track.registry import import_target
from gnz_track.runs.cell_code import changed_parts, code_of
from gnz_track.runs.plan import Place, resolve_device
from gnz_track.runs.trust import check_model, is_known_loader, refuse_loader
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.cell_book import CellBook, digest_of_book, read_book
from gnz_track.store.past_run import PastRun, read_sweep_run
from gnz_track.store.places import find_place
from gnz_track.types import Cell, ModelRow
from gnz_track.user_code.digests import ITSELF, Code, describe_own

__all__ = ["Conditions", "Rebuilt", "rebuild"]

TRAIN_ANEW = "gnz run trains its cell anew"
# What an executor calls the failure of a cell whose process it had to give up: the cell itself said nothing.
ENDED_FROM_OUTSIDE = frozenset({"WorkerDied", "TimeLimit"})


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """Conditions under which a run is trained again: where its data are, on which device, and whether its code may run.

    That is code which lies in the store, and code which the store names and nothing here has registered. No device
    means the one that the run was trained on.
    """

    place: Place = field(default_factory=Place)
    device: str = ""
    trusts_code: bool = False


@dataclass(frozen=True, kw_only=True)
class Rebuilt:
    """A cell as it was planned, what its fingerprint was made with, and the code of its model as it is now."""

    cell: Cell
    numbers: int
    code: Code

    @property
    def cell_now(self) -> Cell:
        """The cell to train: with the code of now, which is not held against that of then."""
        model = replace(self.cell.model, parts={}, unseen=())
        return replace(self.cell, model=model, code=code_of(self.cell.perturbation))


def rebuild(run: PastRun, address: Address, conditions: Conditions) -> Rebuilt:
    """Return the cell of a run from what the store says of it; nothing else is known of the past.

    The data are those of the same digest, to the byte.

    Parameters
    ----------
    run
        Run as the store has it.
    address
        Its store.
    conditions
        Device and data of the repetition, and whether code is trusted that is not registered here.
    """
    _refuse_what_has_no_end(run)
    book = _fetch_book(run, address)
    cell = book.cells.get(run.tags.get(schema.FINGERPRINT, ""))
    if cell is None:
        raise _lost(run, "the cells that its sweep describes do not contain it")
    if not conditions.trusts_code:
        check_model(run.run_id, cell.model, address)
    code = _describe_code_now(run, cell.model)
    device = _choose_device(run, conditions)
    dataset = _find_data(run, cell, address, conditions)
    cell = replace(cell, device=device, data=str(dataset.folder))
    return Rebuilt(cell=cell, numbers=book.numbers, code=code)


def _refuse_what_has_no_end(run: PastRun) -> None:
    if run.tags.get(schema.KIND) != schema.CELL:
        sweep = run.tags.get(schema.SWEEP, "")
        reason = f"it trained nothing, it stands for the whole sweep {sweep!r}"
        raise NotReproducible(run.run_id, reason, remedy=f"name one of its cells: gnz ls --sweep {shlex.quote(sweep)}")
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
    # Says in its own words where this machine does not look, and why.
    find_place(address, of_sweep.artifacts)
    text = read_artifact(address, of_sweep.artifacts, name)
    if text is None:
        raise _lost(run, f"{name} of its sweep is gone from {of_sweep.artifacts}")
    if digest_of_book(text) != digest:
        raise _lost(run, f"{name} of its sweep was changed: its digest is {digest_of_book(text)}")
    return read_book(text)


def _lost(run: PastRun, reason: str) -> NotReproducible:
    return NotReproducible(run.run_id, reason, remedy=TRAIN_ANEW)


def _describe_code_now(run: PastRun, model: ModelRow) -> Code:
    """Return the code of the model as it is now; none where the record has none, as for our own models."""
    if not model.payload:
        found = [import_target(target) for target in (model.target, model.factory) if target]
        return describe_own(*found) if model.source_digest else Code()
    python = run.tags.get("env.python", "")
    if _minor(python) != _minor(platform.python_version()):
        reason = f"its model {model.name!r} lies in the store as code of Python {_minor(python)}"
        remedy = f"call that Python; this is {_minor(platform.python_version())}"
        raise NotReproducible(run.run_id, reason, remedy=remedy)
    found = pickle.loads(model.payload)  # noqa: S301  (known here, or trusted; its bytes are those recorded)
    code = describe_own(*(item for item in found if item is not None))
    # What it refers to and lies in files may have changed; the model itself is in the record.
    if model.parts and any(name.endswith(ITSELF) for name in changed_parts(model.parts, code.parts)):
        digests = f"{code.digest}, not {model.source_digest}"
        raise _lost(run, f"the code of its model {model.name!r} has the digest {digests}")
    return code


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


def _find_data(run: PastRun, cell: Cell, address: Address, conditions: Conditions) -> FrozenDataset:
    digest, task, place = cell.dataset_digest, cell.source_task, conditions.place
    if not re.fullmatch("[0-9a-f]+", digest):
        raise _lost(run, f"the digest of its data is {digest!r}")
    may_load = conditions.trusts_code or is_known_loader(task)
    try:
        dataset = find_frozen(
            task, digest=digest, seed=cell.seed, home=place.home, mirror=place.mirror, may_load=may_load
        )
    except DataMissing as error:
        if may_load:
            raise
        raise refuse_loader(run.run_id, task, digest, address) from error
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
