"""Rules of a protocol on the size of networks and on the learning rate, in sentences for a paper."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from gnz_track.kinds import TaskType
from gnz_track.settings import Optimiser, Protocol
from gnz_track.training.protocols import PROTOCOLS

__all__ = ["write_protocol_terms"]

NEEDED = ("task", "task_type", "dataset", "protocol", "epochs", "hyperparameters")
CONSTANT = "constant"
# Schedule -> what it waits for.
AWAITED = {"plateau": "a smaller validation loss", "score_plateau": "a better score on validation"}
# What the hyperparameters of a cell may have otherwise.
OF_CELL = ("lr", "patience", "min_lr")


@dataclass(frozen=True)
class LearningRateTerms:
    """Schedule of the learning rate of some cells of a task, and the latest end of their training."""

    task: str
    optimiser: Optimiser
    epochs: int
    hours: float


def write_protocol_terms(table: pd.DataFrame) -> Iterator[str]:
    """Yield a sentence for each protocol that has a budget of parameters or changes the learning rate.

    Numbers that differ from task to task, or from model to model, are given from the smallest to the largest. A
    protocol that is not in the catalogue is passed over.
    """
    if not set(NEEDED) <= set(table.columns):
        return
    known = {protocol.label: protocol for protocol in PROTOCOLS.rows()}
    for label, rows in table[list(NEEDED)].drop_duplicates().groupby("protocol", sort=True):
        protocol = known.get(str(label))
        if protocol is not None:
            found = [terms for row in rows.itertuples(index=False) for terms in _terms(protocol, row)]
            parts = [*_budget(protocol), *_rates(found)]
            yield from [f"Under the protocol {label}, {'; '.join(parts)}."] if parts else []


def _terms(protocol: Protocol, row: tuple[object, ...]) -> Iterator[LearningRateTerms]:
    said = dict(zip(NEEDED, row, strict=True))
    task_type = next((kind for kind in TaskType if kind == said["task_type"]), None)
    usual = None if task_type is None else protocol.optimiser_for(task_type, str(said["dataset"]))
    try:
        changed = json.loads(str(said["hyperparameters"]) or "{}")
    except json.JSONDecodeError:
        return
    if usual is not None and isinstance(changed, dict):
        given = {name: changed[name] for name in OF_CELL if isinstance(changed.get(name), int | float)}
        hours = protocol.amendment_for(str(said["dataset"])).hours or protocol.hours
        epochs = 0 if pd.isna(said["epochs"]) else int(float(str(said["epochs"])))
        yield LearningRateTerms(str(said["task"]), replace(usual, **given), epochs, hours)


def _budget(protocol: Protocol) -> Iterator[str]:
    if protocol.budget:
        yield (
            f"every network had on each task the width at which it has about {protocol.budget:,} parameters, within "
            f"{100 * protocol.tolerance:g} %"
        )


def _rates(found: Sequence[LearningRateTerms]) -> Iterator[str]:
    """Yield what is said of each schedule, and of which tasks where there are several."""
    by_schedule: dict[str, list[LearningRateTerms]] = {}
    for terms in found:
        by_schedule.setdefault(terms.optimiser.schedule, []).append(terms)
    if set(by_schedule) <= {CONSTANT}:
        return
    for schedule, group in by_schedule.items():
        where = f"on {', '.join(dict.fromkeys(terms.task for terms in group))} " if len(by_schedule) > 1 else ""
        rate = _span(terms.optimiser.lr for terms in group)
        if schedule == CONSTANT:
            yield f"{where}the learning rate was {rate}"
            continue
        yield (
            f"{where}the learning rate began at {rate} and was multiplied by "
            f"{_span(terms.optimiser.factor for terms in group)} after more than "
            f"{_span(terms.optimiser.patience for terms in group)} epochs without {AWAITED[schedule]}, and training "
            f"ended once it was below {_span(terms.optimiser.min_lr for terms in group)}{_limits(group)}"
        )


def _limits(group: Sequence[LearningRateTerms]) -> str:
    epochs = [terms.epochs for terms in group if terms.epochs]
    hours = [terms.hours for terms in group if terms.hours]
    limits = [*([f"{_span(epochs)} epochs"] if epochs else []), *([f"{_span(hours)} hours"] if hours else [])]
    return f", or after {' or '.join(limits)}" if limits else ""


def _span(values: Iterable[float]) -> str:
    ordered = sorted(set(values))
    return f"{ordered[0]:g}" if len(ordered) == 1 else f"{ordered[0]:g} to {ordered[-1]:g}"
