"""The trials of a study as this house keeps them in Optuna's storage: what is asked, what is known, who is at it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from gnz_track.store.owners import parse_owner, this_owner
from gnz_track.tuning.spaces import Value

__all__ = ["DEFAULT", "ENDED", "SAMPLER", "Trial", "TrialRow", "is_left_behind", "read_row", "round_of"]

# Attributes of a trial.
OWNER, SOURCE, ROUND, VALUES, NOTE = "gnz.owner", "gnz.source", "gnz.round", "gnz.values", "gnz.note."
# Where values come from; other sources are the names of past studies.
SAMPLER, DEFAULT = "sampler", "default"
ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
STATES = {TrialState.COMPLETE: "complete", TrialState.PRUNED: "pruned", TrialState.FAIL: "failed"}
# A process on another machine of which nothing was heard for so long is taken for dead. Where it is not, it and who
# takes its trial over find the same, and the first of them is heard.
SECONDS_OF_SILENCE = 6 * 3600.0

Notes = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial to evaluate: its number, its hyperparameters, and what is known of it already.

    ``notes`` are those of :meth:`gnz_track.tuning.studies.Study.note`, by key.
    """

    number: int
    values: Mapping[str, Value]
    notes: Notes


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """One trial that has ended, complete, failed or pruned; ``score`` is None unless it is complete."""

    number: int
    state: str
    values: Mapping[str, Value]
    score: float | None
    source: str
    notes: Notes
    steps: Mapping[int, float]


def read_trial(trial: FrozenTrial) -> Trial:
    """Return a trial to evaluate."""
    return Trial(number=trial.number, values=_values_of(trial), notes=_notes_of(trial))


def read_row(trial: FrozenTrial) -> TrialRow:
    """Return a trial that has ended."""
    return TrialRow(
        number=trial.number,
        state=STATES[trial.state],
        values=_values_of(trial),
        score=trial.value if trial.state is TrialState.COMPLETE else None,
        source=trial.user_attrs.get(SOURCE, SAMPLER),
        notes=_notes_of(trial),
        steps=dict(trial.intermediate_values),
    )


def round_of(trial: FrozenTrial) -> int:
    """Return the round in which a trial was proposed."""
    return int(trial.user_attrs.get(ROUND, 0))


def total_of(trials: Iterable[FrozenTrial], fact: str) -> float:
    """Return the sum over all notes of trials of one of their facts, such as epochs."""
    return sum(float(note.get(fact, 0)) for trial in trials for note in _notes_of(trial).values())


def write_owner() -> str:
    """Return who takes a trial up now."""
    return json.dumps([str(this_owner()), time.time()])


def is_left_behind(trial: FrozenTrial) -> bool:
    """Tell whether the process that had a trial is gone, as far as can be seen from this machine."""
    text, since = json.loads(trial.user_attrs.get(OWNER, '["", 0]'))
    owner, me = parse_owner(text), this_owner()
    if owner is None:
        return True
    if owner.is_on_the_machine_of(me):
        return not owner.is_alive(since=since)
    heard = max([since, *(note.get("at", 0.0) for note in _notes_of(trial).values())])
    return bool(time.time() - heard > SECONDS_OF_SILENCE)


def _values_of(trial: FrozenTrial) -> dict[str, Value]:
    # Values that the space does not hold are no parameters for Optuna.
    outside = trial.user_attrs.get(VALUES)
    return json.loads(outside) if outside else dict(trial.params)


def _notes_of(trial: FrozenTrial) -> dict[str, dict[str, Any]]:
    """Return the notes of a trial, shorter keys first: seeds come in their order."""
    found = {key.removeprefix(NOTE): text for key, text in trial.user_attrs.items() if key.startswith(NOTE)}
    return {key: json.loads(found[key]) for key in sorted(found, key=lambda key: (len(key), key))}
