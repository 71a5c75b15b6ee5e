"""Variants of one model: what a table calls cells that bear the name of one model and are not the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence

from gnz_track.types import is_tuned

__all__ = ["label_variants"]


def label_variants(
    models: Sequence[str],
    *,
    tasks: Sequence[str] = (),
    protocols: Sequence[str] = (),
    hyperparameters: Sequence[str] = (),
) -> list[str]:
    """Return the label of each row: its model, and what tells that from its variants in the same table.

    Hyperparameters make variants where a task was run with several under one protocol: what differs from task to task
    alone, as widths do under a budget of parameters, and what a search has found, makes none. Protocols make variants
    wherever a model was run under several. What is empty is not known, and tells nothing apart.

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
    by_changes = {model for model in _models_with_several(models, within, hyperparameters) if not is_tuned(model)}
    columns: tuple[tuple[set[str], Sequence[str], Callable[[str], str]], ...] = (
        (by_changes, hyperparameters, _write_changes),
        (_models_with_several(models, [], protocols), protocols, str),
    )
    for apart, values, write in columns:
        if apart:
            # Cells by the hundred thousand have a few settings.
            shown = {value: f" {write(value)}".rstrip() for value in set(values)}
            labels = [
                label + shown[value] if model in apart else label
                for label, model, value in zip(labels, models, values, strict=True)
            ]
    return labels


def _models_with_several(models: Sequence[str], within: Iterable[Sequence[str]], values: Sequence[str]) -> set[str]:
    """Return the models that have several values somewhere: in a group of rows that agree in ``within``."""
    if not values:
        return set()
    first: dict[tuple[str, ...], str] = {}
    # Of all rows the different ones are few.
    pairs = set(zip(zip(models, *within, strict=True), values, strict=True))
    return {group[0] for group, value in pairs if first.setdefault(group, value) != value}


def _write_changes(text: str) -> str:
    try:
        changed = json.loads(text or "{}")
    except json.JSONDecodeError:
        return text
    return " ".join(f"{name}={value}" for name, value in changed.items()) if isinstance(changed, dict) else text
