"""Code of the user's that enters a cell's numbers beside its model: metrics, losses and perturbations of one's own.

Those of the package are known by their names, and by the number that stands for all of its changes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gnz_track.datasets.perturbations import PERTURBATIONS
from gnz_track.errors import ModelInvalid
from gnz_track.models.catalogue import renew_code
from gnz_track.training.losses import LOSSES
from gnz_track.training.metrics import FUNCTIONS
from gnz_track.types import Cell, ModelRow
from gnz_track.user_code.digests import describe_own

__all__ = ["changed_parts", "check_code", "code_of", "tell_unseen"]

_MOST_SHOWN = 3


def code_of(perturbation: str) -> tuple[tuple[str, str], ...]:
    """Return (what, digest) of each metric, loss and part of a perturbation that is the user's, sorted."""
    found = ((what, describe_own(item).digest) for what, item in _all_code(perturbation))
    return tuple(sorted((what, digest) for what, digest in found if digest))


def _all_code(perturbation: str) -> Iterator[tuple[str, Any]]:
    yield from ((f"metric {name}", function) for name, function in FUNCTIONS.items())
    for kind, losses in LOSSES.items():
        yield from ((f"loss {name or 'usual'} of {kind}", function) for name, function in losses.items())
    if perturbation and perturbation in PERTURBATIONS:
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
