"""A study: trials that are asked for, evaluated, and told, so that what was interrupted goes on exactly where it was.

Optuna keeps the trials. They are proposed in rounds: those of one round from what all trials of earlier rounds have
told, and everything random about a trial is derived from the study and the trial's number. So no proposal depends on
which trial of a round ends first, on how many workers there are, or on how often the study was interrupted. A trial
that was left without an outcome is evaluated again as it is.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState, create_trial

from gnz_track.errors import BadValue
from gnz_track.store.environment import parse_owner, this_owner
from gnz_track.tuning.proposals import DIRECTIONS, propose, sampler_inputs_of
from gnz_track.tuning.pruners import PRUNERS, Standing
from gnz_track.tuning.samplers import count_points, distributions_of
from gnz_track.tuning.spaces import Value
from gnz_track.tuning.study_storage import Studies
from gnz_track.tuning.study_terms import StudyTerms
from gnz_track.types import Direction

__all__ = [
    "DEFAULT",
    "ENDED",
    "SAMPLER",
    "First",
    "Study",
    "Trial",
    "TrialOutcome",
    "begin_study",
    "read_trial",
    "run_study",
]


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
    """One trial: its number, its hyperparameters, where they come from, and what is known of it already.

    ``state`` is complete, failed or pruned once it has ended; ``score`` is None unless it is complete. ``notes`` are
    those of :meth:`gnz_track.tuning.study.Study.note`, by key.
    """

    number: int
    values: Mapping[str, Value]
    notes: Notes
    state: str = "running"
    score: float | None = None
    source: str = SAMPLER
    steps: Mapping[int, float] = field(default_factory=dict)


def read_trial(trial: FrozenTrial) -> Trial:
    """Return a trial, to be evaluated or ended."""
    return Trial(
        number=trial.number,
        state=STATES.get(trial.state, "running"),
        values=_values_of(trial),
        score=trial.value if trial.state is TrialState.COMPLETE else None,
        source=trial.user_attrs.get(SOURCE, SAMPLER),
        notes=_notes_of(trial),
        steps=dict(trial.intermediate_values),
    )


def _round_of(trial: FrozenTrial) -> int:
    """Return the round in which a trial was proposed."""
    return int(trial.user_attrs.get(ROUND, 0))


def _total_of(trials: Iterable[FrozenTrial], fact: str) -> float:
    """Return the sum over all notes of trials of one of their facts, such as epochs."""
    return sum(float(note.get(fact, 0)) for trial in trials for note in _notes_of(trial).values())


def _write_owner() -> str:
    """Return who takes a trial up now."""
    return json.dumps([str(this_owner()), time.time()])


def _is_left_behind(trial: FrozenTrial) -> bool:
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


TERMS, FIRST = "gnz.terms", "gnz.first"
SECONDS_BETWEEN_LOOKS = 0.5


@dataclass(frozen=True, kw_only=True)
class TrialOutcome:
    """Outcome of a trial; without a score it failed, unless it was given up on purpose."""

    score: float | None
    is_pruned: bool = False


# Values to be tried before any that a sampler proposes, and where they come from. What they do not name is at its
# default, and never drawn: they are tried as what they are said to be.
First = tuple[Mapping[str, Value], str]


# From trials to outcomes, each as it comes.
Evaluate = Callable[[Sequence[Trial]], Iterator[tuple[Trial, TrialOutcome]]]


class Study:
    """The trials of one search, and what to try next; one process asks and tells, or several that share a storage."""

    def __init__(self, study: optuna.Study, terms: StudyTerms, first: Sequence[First], studies: Studies) -> None:
        self._study, self._storage, self.terms, self._studies = study, study._storage, terms, studies  # noqa: SLF001
        self._first = tuple(first)
        self._asked: set[int] = set()
        self._distributions = distributions_of(terms.space)
        n_points = count_points(terms.sampler, sampler_inputs_of(terms, [values for values, _ in first], 0))
        self.n_trials = terms.budget.trials if n_points is None else min(n_points, terms.budget.trials)

    @property
    def name(self) -> str:
        """Name of the study."""
        return self._study.study_name

    def ask(self, most: int | None = None) -> list[Trial]:
        """Return up to ``most`` trials of the current round to evaluate; what failed counts against the budget.

        Those that a process left behind when it died are among them, with the values that they had. None are left
        where the budget is used up, or where other processes are at the rest of the round: see :meth:`is_over`.
        """
        with self._studies.alone(self.name):
            trials = self._fill(self._trials())
            free = [trial for trial in trials if self._is_free(trial)]
            return [self._take_up(trial) for trial in free[:most]]

    def is_over(self) -> bool:
        """Tell whether no trial is under way; after :meth:`ask` found none, this is the end."""
        return all(trial.state in ENDED for trial in self._trials())

    def note(self, trial: Trial, key: str, facts: Mapping[str, Any]) -> None:
        """Keep a part of an outcome: an interrupt costs no more than what was not noted.

        Parameters
        ----------
        trial
            The trial.
        key, facts
            Name of the part, and the part.
        """
        text = json.dumps({**facts, "at": time.time()}, sort_keys=True)
        self._storage.set_trial_user_attr(self._id_of(trial.number), NOTE + key, text)

    def report(self, trial: Trial, step: int, value: float) -> bool:
        """Take note of the mean score after a step; return whether the trial is to be given up.

        Parameters
        ----------
        trial
            The trial.
        step
            Number of the step, from 1.
        value
            Mean score after it.
        """
        if self.terms.pruner == "none" or step >= self.terms.n_steps:
            return False
        self._storage.set_trial_intermediate_value(self._id_of(trial.number), step, value)
        trials = self._trials()
        mine = trials[trial.number]
        earlier = [other for other in trials if _round_of(other) < _round_of(mine)]
        standing = Standing(
            number=trial.number,
            steps=mine.intermediate_values,
            earlier=[other.intermediate_values for other in earlier if other.state is not TrialState.FAIL],
            n_steps=self.terms.n_steps,
            direction=self.terms.direction,
        )
        # What all others are compared with is trained to its end.
        is_default = mine.user_attrs.get(SOURCE) == DEFAULT
        return not is_default and PRUNERS.get(self.terms.pruner)(standing)

    def tell(self, trial: Trial, outcome: TrialOutcome) -> None:
        """Take note of what a trial gave; where another process has told it meanwhile, that stands."""
        is_score = outcome.score is not None and math.isfinite(outcome.score) and not outcome.is_pruned
        state = TrialState.COMPLETE if is_score else TrialState.PRUNED if outcome.is_pruned else TrialState.FAIL
        score = outcome.score if is_score else None
        self._study.tell(trial.number, score, state=state, skip_if_finished=True)

    def rows(self) -> list[Trial]:
        """Return the trials that have ended, by number."""
        return [read_trial(trial) for trial in self._trials() if trial.state in ENDED]

    def best(self) -> Trial | None:
        """Return the best trial, the first of those that tie; None where all failed."""
        scored = [row for row in self.rows() if row.score is not None]
        sign = -1 if self.terms.direction is Direction.up else 1
        return min(scored, key=lambda row: (sign * (row.score or 0.0), row.number), default=None)

    def _trials(self) -> list[FrozenTrial]:
        return sorted(self._study.get_trials(deepcopy=False), key=lambda trial: trial.number)

    def _is_free(self, trial: FrozenTrial) -> bool:
        if trial.state is TrialState.WAITING:
            return True
        is_running = trial.state is TrialState.RUNNING and trial.number not in self._asked
        # Who has a study alone knows that no other process is at any trial.
        return is_running and (not self._studies.are_shared or _is_left_behind(trial))

    def _take_up(self, trial: FrozenTrial) -> Trial:
        self._asked.add(trial.number)
        self._storage.set_trial_user_attr(trial._trial_id, OWNER, _write_owner())  # noqa: SLF001
        if trial.state is TrialState.WAITING:
            self._storage.set_trial_state_values(trial._trial_id, TrialState.RUNNING)  # noqa: SLF001
        return read_trial(trial)

    def _fill(self, trials: list[FrozenTrial]) -> list[FrozenTrial]:
        """Propose what is missing of the current round, or where it has ended all of the next one.

        A round that is not full was interrupted, or had reached the end of a budget that has grown since.
        """
        current = max(map(_round_of, trials), default=0)
        start = next((trial.number for trial in trials if _round_of(trial) == current), len(trials))
        if trials and len(trials) >= start + self._size_of_round(trials[:start]):
            if not all(trial.state in ENDED for trial in trials):
                return trials
            current, start = current + 1, len(trials)
        end = start + self._size_of_round(trials[:start])
        if len(trials) >= end:
            return trials
        proposed = [trial.params for trial in trials[start:]]
        for number in range(len(trials), end):
            proposed.append(self._propose(number, trials[:start], proposed, current))
        return self._trials()

    def _size_of_round(self, earlier: Sequence[FrozenTrial]) -> int:
        """Return how many trials a round may have, as the budget was when all earlier ones had ended."""
        budget = self.terms.budget
        size = min(self.terms.round_size, self.n_trials - len(earlier))
        if budget.epochs is not None:
            size = min(size, (budget.epochs - int(_total_of(earlier, "epochs"))) // self.terms.price)
        if budget.seconds is not None and _total_of(earlier, "seconds") >= budget.seconds:
            size = 0
        return max(0, size)

    def _propose(
        self, number: int, earlier: Sequence[FrozenTrial], beside: Sequence[Mapping[str, Value]], current: int
    ) -> dict[str, Value]:
        """Write a new trial with all of its values, in one go; return those that are parameters for Optuna."""
        first = self._first[number] if number < len(self._first) else None
        draw = sampler_inputs_of(self.terms, [values for values, _ in self._first], number)
        values, source = first or (propose(self.terms, draw, number, earlier, beside), SAMPLER)
        attributes = {ROUND: current, SOURCE: source}
        is_inside = all(self.terms.space[name].holds(value) for name, value in values.items())
        if not is_inside:
            attributes[VALUES] = json.dumps(dict(values), sort_keys=True)
        params = dict(values) if is_inside else {}
        distributions = {name: self._distributions[name] for name in params}
        self._study.add_trial(
            create_trial(state=TrialState.WAITING, params=params, distributions=distributions, user_attrs=attributes)
        )
        return params

    def _id_of(self, number: int) -> int:
        return int(self._storage.get_trial_id_from_study_id_trial_number(self._study._study_id, number))  # noqa: SLF001


def begin_study(
    studies: Studies, name: str, terms: StudyTerms, *, first: Callable[[], Sequence[First]] | None = None
) -> Study:
    """Open a study, begun where there is none; one that was begun under other terms is refused.

    Parameters
    ----------
    studies
        Where studies lie.
    name
        Name of the study.
    terms
        What every trial of it has in common.
    first
        Asked for values to try after the default when the study begins, and only then: they are kept with it.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with studies.alone(name):
        study = optuna.create_study(
            storage=studies.storage,
            study_name=name,
            direction=DIRECTIONS[terms.direction],
            load_if_exists=True,
        )
        known = study.user_attrs
        if TERMS not in known:
            chosen = [(terms.complete({}), DEFAULT), *(first() if first else ())]
            kept = [[dict(values), source] for values, source in chosen if values]
            study.set_user_attr(FIRST, json.dumps(kept))
            # The last word of a beginning: a study that has terms is whole.
            study.set_user_attr(TERMS, terms.to_json())
        else:
            _refuse_other_terms(name, json.loads(known[TERMS]), json.loads(terms.to_json()))
        kept = json.loads(study.user_attrs[FIRST])
    return Study(study, terms, [(terms.complete(values), source) for values, source in kept], studies)


def run_study(
    study: Study,
    evaluate: Evaluate,
    *,
    most: int | None = None,
) -> list[Trial]:
    """Ask, evaluate and tell until the budget is used up; return all trials that have ended.

    Parameters
    ----------
    study
        The study.
    evaluate
        Trains trials and yields the outcome of each.
    most
        Most trials asked for at once.
    """
    while True:
        asked = study.ask(most)
        for trial, outcome in evaluate(asked):
            study.tell(trial, outcome)
        if not asked:
            if study.is_over():
                return study.rows()
            time.sleep(SECONDS_BETWEEN_LOOKS)


def _refuse_other_terms(name: str, known: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    found = {key for key in {*known, *wanted} if known.get(key) != wanted.get(key)}
    # Another space has other names, and so another default.
    changed = sorted(found - {"default"} if "space" in found else found)
    if changed:
        allowed = f"the {', '.join(changed)} that it was begun with"
        raise BadValue(f"the study {name}", f"another {', '.join(changed)}", allowed, command="--fresh")
