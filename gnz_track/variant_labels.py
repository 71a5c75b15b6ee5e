"""Labels of variants: what a table calls cells that bear the name of one model and are not the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from gnz_track.types import is_tuned

__all__ = ["label_variants", "read_changes"]


def label_variants(
    models: Sequence[str],
    *,
    tasks: Sequence[str] = (),
    protocols: Sequence[str] = (),
    hyperparameters: Sequence[str] = (),
) -> list[str]:
    """Return the label of each row: its model, and what tells that from its variants in the same table.

    Hyperparameters make variants where a task was run with several under one protocol, and those that differ there are
    named: what differs from task to task alone, as widths do under a budget of parameters, and what a search has found,
    makes none. Protocols make variants wherever a model was run under several. What is empty is not known, and tells
    nothing apart.

    >>> label_variants(["GCN", "GCN", "MLP"], tasks=["cora"] * 3, hyperparameters=['{"lr": 0.1}', "{}", "{}"])
    ['GCN lr=0.1', 'GCN', 'MLP']

    Parameters
    ----------
    models
        Model of each row.
    tasks, protocols
        Task and protocol of each row.
    hyperparameters
        Hyperparameters of each row, as JSON.
    """
    labels = list(models)
    within = [column for column in (tasks, protocols) if column]
    groups = _values_by_group(models, within, hyperparameters)
    changes: dict[str, set[str]] = {}
    for group, values in groups.items():
        if len(values) > 1 and not is_tuned(group[0]):
            changes.setdefault(group[0], set()).update(_differing(values))
    several = {
        group[0]: set[str]() for group, values in _values_by_group(models, [], protocols).items() if len(values) > 1
    }
    columns: tuple[tuple[dict[str, set[str]], Sequence[str], Callable[[str, set[str]], str]], ...] = (
        (changes, hyperparameters, _write_changes),
        (several, protocols, lambda protocol, _: protocol),
    )
    for apart, texts, write in columns:
        if apart:
            # Cells by the hundred thousand have a few settings.
            pairs = {pair for pair in zip(models, texts, strict=True) if pair[0] in apart}
            shown = {(model, text): f" {write(text, apart[model])}".rstrip() for model, text in pairs}
            rows = zip(labels, zip(models, texts, strict=True), strict=True)
            labels = [label + shown.get(pair, "") for label, pair in rows]
    return labels


def _values_by_group(
    models: Sequence[str], within: Iterable[Sequence[str]], values: Sequence[str]
) -> dict[tuple[str, ...], set[str]]:
    """Return the different values of each group of rows that agree in the model and in ``within``."""
    found: dict[tuple[str, ...], set[str]] = {}
    # Of all rows the different ones are few.
    for group, value in set(zip(zip(models, *within, strict=True), values, strict=True)) if values else ():
        found.setdefault(group, set()).add(value)
    return found


# What a budget of parameters decides, and so names no variant beside it.
_BUDGET, _WIDTH = "budget", "hidden_channels"


def _differing(texts: Iterable[str]) -> set[str]:
    """Return the names whose values differ between some hyperparameters; a width only where no budget decides it."""
    known = [changed for changed in map(read_changes, texts) if changed is not None]
    names = {name for changed in known for name in changed}
    found = {name for name in names if len({repr(changed.get(name, ...)) for changed in known}) > 1}
    without = {repr(sorted((name, value) for name, value in one.items() if name != _WIDTH)) for one in known}
    is_decided = all(_BUDGET in changed for changed in known if _WIDTH in changed)
    return found - {_WIDTH} if is_decided and len(without) == len(known) else found


def read_changes(text: str) -> dict[str, Any] | None:
    """Return hyperparameters from their JSON; None where that is something else."""
    try:
        changed = json.loads(text or "{}")
    except json.JSONDecodeError:
        return None
    return changed if isinstance(changed, dict) else None


def _write_changes(text: str, names: set[str]) -> str:
    changed = read_changes(text)
    return text if changed is None else " ".join(f"{name}={changed[name]}" for name in changed if name in names)
