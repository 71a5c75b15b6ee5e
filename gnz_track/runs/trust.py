"""Whether code that a store names or holds may run here: only what this process knows, or the user says so.

A record names its model and its loader by ``package.module:attribute``, and importing a module runs it; a model that
has no such name lies in the store as a pickle, which runs when it is read. What this process knows under these very
targets, built in, of a plugin that the user has installed, or registered by the user's own script, is no matter of
trust. All else runs only where the user says so, who is told before what it would be.
"""

from __future__ import annotations

import hashlib
import shlex
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import NotReproducible
from gnz_track.models.catalogue import MODELS
from gnz_track.store.address import Address
from gnz_track.types import ModelRow, Task

__all__ = ["check_model", "describe_unknown", "is_known", "is_known_loader", "refuse_loader"]


def check_model(run_id: str, model: ModelRow, address: Address) -> None:
    """Refuse a model that is not known here; nothing is imported and nothing is read to find that out.

    Parameters
    ----------
    run_id
        Run that names the model.
    model
        Its row, as the run's record has it.
    address
        Store of the run.
    """
    if not is_known(model):
        raise NotReproducible(run_id, describe_unknown(model), remedy=_remedy_of_code(run_id, address))


def describe_unknown(model: ModelRow) -> str:
    """Say which code a model is that is not known here, without importing or reading any."""
    if model.payload:
        digest = hashlib.sha256(model.payload).hexdigest()
        what = f"a pickle of {len(model.payload)} bytes, sha256 {digest}"
        return f"its model {model.name!r} lies in the store as code ({what}), which would run here"
    named = " and ".join(_describe_target(target) for target in (model.target, model.factory) if target)
    return f"its model {model.name!r} is code that the store names and nothing here has registered: {named}"


def is_known_loader(task: Task) -> bool:
    """Tell whether a task has no loader of its own, or one that is registered here."""
    return task.loader is None or any(task.loader == known.loader for known in TASKS.rows())


def refuse_loader(run_id: str, task: Task, digest: str, address: Address) -> NotReproducible:
    """Return the error for data that are not here, and that only code which the store names could make.

    Parameters
    ----------
    run_id
        Run that was trained on the data.
    task, digest
        Its task, and the digest of the data.
    address
        Store of the run.
    """
    where = _describe_target(str(task.loader))
    reason = f"its data of digest {digest!r} are not here, and their loader is code that the store names: {where}"
    return NotReproducible(run_id, reason, remedy=_remedy_of_code(run_id, address))


def is_known(model: ModelRow) -> bool:
    """Tell whether a row of the registry has the same code; the name, which a sweep may change, says nothing."""
    code = (model.target, model.factory, model.is_encoder, model.payload)
    return any(code == (row.target, row.factory, row.is_encoder, row.payload) for row in MODELS.rows())


def _remedy_of_code(run_id: str, address: Address) -> str:
    # With the store: a run that was asked for there is in no other.
    return f"if you trust whoever wrote it: gnz reproduce {run_id} --store {shlex.quote(str(address))} --trust"


def _describe_target(target: str) -> str:
    """Say which file a target would be imported from, with its digest, as far as that is known without importing."""
    file = _find_file(target.partition(":")[0])
    if file is None:
        return f"{target!r} (nothing of that name was found)"
    try:
        digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    except OSError as error:
        return f"{target!r} in {file} ({error.strerror})"
    return f"{target!r} in {file} (sha256 {digest}...)"


def _find_file(module: str) -> Path | None:
    """Return the file of a module; packages on the way are looked at, and not imported."""
    # With --trust the working folder comes first.
    places: list[str] | None = [str(Path.cwd()), *sys.path]
    spec = None
    for n, _ in enumerate(parts := module.split(".")):
        spec = PathFinder.find_spec(".".join(parts[: n + 1]), places)
        if spec is None:
            return None
        places = list(spec.submodule_search_locations or ())
    return Path(spec.origin) if spec is not None and spec.origin else None
