"""Identity of cells: two of one fingerprint are the same.

Metrics, losses and perturbations of a user's own enter it by their code. Those of the package are known by their names,
and by the number that stands for all of its changes.
"""

from __future__ import annotations

import functools
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gnz_track.errors import ModelInvalid
from gnz_track.models.catalogue import renew_code
from gnz_track.records import to_json
from gnz_track.training.metrics import METRICS
from gnz_track.types import Cell, ModelRow, Protocol, TaskType
from gnz_track.user_code.digests import describe_own
from gnz_track.user_code.modules import is_ours

__all__ = ["NUMBERS", "changed_parts", "check_code", "code_of", "fingerprint", "tell_unseen"]


_MOST_SHOWN = 3


def code_of(perturbation: str) -> tuple[tuple[str, str], ...]:
    """Return (what, digest) of each metric, loss and part of a perturbation that is the user's, sorted."""
    found = ((what, describe_own(item).digest) for what, item in _all_code(perturbation))
    return tuple(sorted((what, digest) for what, digest in found if digest))


def _all_code(perturbation: str) -> Iterator[tuple[str, Any]]:
    yield from ((f"metric {row.name}", row.function) for row in METRICS.rows())
    # Nobody has put a loss of theirs into a table that has not been imported: it is not imported to see that.
    losses_by_kind = getattr(sys.modules.get("gnz_track.training.losses"), "LOSSES", {})
    for kind, losses in losses_by_kind.items():
        yield from ((f"loss {name or 'usual'} of {kind}", function) for name, function in losses.items())
    if not perturbation:
        return
    from gnz_track.datasets.perturbations import PERTURBATIONS

    if perturbation in PERTURBATIONS:
        one = PERTURBATIONS.get(perturbation)
        found = {"edges": one.edges, "features": one.features}
        yield from ((f"perturbation {perturbation}, {what}", item) for what, item in found.items() if item is not None)


def check_code(cell: Cell) -> None:
    """Raise where this process has other code than the one that planned the cell: its number would be of neither."""
    _check_model(cell.model)
    now = code_of(cell.perturbation)
    if now != cell.code:
        changed = ", ".join(changed_parts(dict(cell.code), dict(now)))
        remedy = "register it in a module that is imported where cells are trained, or take --jobs 1"
        raise ModelInvalid(cell.model.name, f"this process does not have the same {changed} as the plan", remedy=remedy)


# Once in a process: what has been imported by then is what runs from then on.
@functools.lru_cache(maxsize=256)
def _check_model(model: ModelRow) -> None:
    now = renew_code(model) if model.parts else model
    if now.source_digest != model.source_digest:
        changed = changed_parts(model.parts, now.parts) or ["the order of its class and factory"]
        shown = ", ".join(changed[:_MOST_SHOWN]) + (", ..." if changed[_MOST_SHOWN:] else "")
        reason = f"its code is not that of the plan any more: {shown}"
        raise ModelInvalid(model.name, reason, remedy="the same call again trains it with its code of now")


def changed_parts(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Return the names of parts that are not what they were, sorted; those that came and those that went as well."""
    return sorted(name for name in {**then, **now} if then.get(name) != now.get(name))


def tell_unseen(models: Iterable[ModelRow]) -> list[str]:
    """Return a sentence for each model whose code leads to where it is not followed."""
    return [
        f"model {model.name}: what it reaches through these is not followed, so that a change there trains nothing "
        f"anew (--fresh does): {'; '.join(model.unseen)}"
        for model in models
        if model.unseen
    ]


# Raised whenever a change of this package makes the same cell give other numbers: past results then no longer count
# as the same cell. Versions of Torch and PyG are recorded with each run and compared in reports, not here.
# 2: accuracy is a float64.
# 3: no number is another; models of the package are told by their names, no more by the modules that they lie in.
NUMBERS = 3
# The same for single models of the package; 1 of all others.
_OF_MODELS: dict[str, int] = {}
# The same for blind cells of some task types; a mere True of all others.
# link_pred 2: what is drawn beside the links knows no test link.
_BLIND: dict[TaskType, int] = {TaskType.link_pred: 2}


def fingerprint(cell: Cell) -> str:
    """Return 32 hexadecimal characters that change with all that decides a cell's numbers, and with nothing else.

    In: the names of task and model, task type and metric, where the model's code comes from and a digest of it (of a
    model of the package: its registered name and the version of its numbers), its options, the protocol's settings,
    epochs, hyperparameters, seed, the digest of the data, whether test labels are erased, the perturbation, digests of
    metrics, losses and perturbations that are the user's.
    Out: where the data lie, the device, descriptions, categories, and the usual number of epochs of the task.
    It is computed once for each cell, which keeps it, and takes it along to workers: a plan is made of new cells.
    """
    kept: str | None = vars(cell).get(KEPT)
    if kept is None:
        # No field, so that cells that are changed, compared or written know nothing of it.
        kept = vars(cell)[KEPT] = _compute_fingerprint(cell)
    return kept


# Where a cell keeps its fingerprint.
KEPT = "_fingerprint"


def _compute_fingerprint(cell: Cell) -> str:
    task = cell.task
    parts = {
        "numbers": NUMBERS,
        "task": [task.name, task.task_type, task.metric],
        "epochs": cell.epochs,
        "hyperparameters": sorted([name, value] for name, value in cell.hyperparameters),
        "seed": cell.seed,
        "data": cell.dataset_digest,
        # A word only where it is true: cells of before keep their fingerprints.
        **({"blind": _BLIND.get(cell.task.task_type, True)} if cell.is_blind else {}),
        **({"perturbation": cell.perturbation} if cell.perturbation else {}),
        **({"code": cell.code} if cell.code else {}),
    }
    texts = {name: _write(value) for name, value in parts.items()}
    texts |= {"model": _text_of_model(cell.model), "protocol": _text_of_protocol(cell.protocol)}
    # JSON of all of it, keys sorted, put together from texts that cells share.
    content = ", ".join(f'"{name}": {texts[name]}' for name in sorted(texts))
    return hashlib.sha256(f"{{{content}}}".encode()).hexdigest()[:32]


# Cells by the hundred thousand share a few models and protocols.
@functools.lru_cache(maxsize=1024)
def _text_of_model(model: ModelRow) -> str:
    # One more item where there are options: rows of before had none.
    said = [sorted([name, value] for name, value in model.options.items())] if model.options else []
    return _write([model.name, _code(model.target), _code(model.factory), model.source_digest, model.is_encoder, *said])


def _code(target: str) -> str | list[str | int]:
    """Return the registered name of a class of the package and the version of its numbers; others as they are."""
    name = target.rpartition(":")[2]
    return [name, _OF_MODELS.get(name, 1)] if is_ours(target) else target


@functools.lru_cache(maxsize=64)
def _text_of_protocol(protocol: Protocol) -> str:
    settings: dict[str, object] = json.loads(to_json(protocol))
    settings.pop("description")
    return _write(settings)


_write = json.JSONEncoder(sort_keys=True).encode
