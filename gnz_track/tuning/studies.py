"""A study: trials that are asked for, evaluated, and told, so that what was interrupted goes on exactly where it was.

Optuna keeps the trials. Everything random about a trial is derived from the study and the trial's number, and a trial
that was left without an answer is evaluated again as it is, with the values that it had; so an interrupted and resumed
study is, trial by trial, the uninterrupted one.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState, create_trial

from gnz_track.errors import BadValue
from gnz_track.kinds import Direction
from gnz_track.seeds import derive
from gnz_track.store.owners import parse_owner, this_owner
from gnz_track.tuning.samplers import check_sampler, distributions_of, make_sampler
from gnz_track.tuning.spaces import Space, Value, digest_of_space

__all__ = ["Answer", "Question", "Study", "Terms", "TrialRow", "open_study", "run_study"]

OWNER, FACTS, TERMS = "gnz.owner", "gnz.facts", "gnz.terms"
SECONDS_WITHOUT_OWNER = 60.0
ENDED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)


@dataclass(frozen=True, kw_only=True)
class Question:
    """A trial that wants an answer: its number, and the hyperparameters to evaluate."""

    number: int
    values: Mapping[str, Value]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What an evaluation found; without a score it failed. ``facts`` are kept beside it: seconds, epochs, reasons."""

    score: float | None
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class TrialRow:
    """One trial that has ended; ``score`` is None where it failed."""

    number: int
    values: Mapping[str, Value]
    score: float | None
    facts: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What a study is: two that differ in any of it but the budget are two studies.

    ``default`` becomes trial 0, as far as the space has its names, so that what is found is never worse on validation
    than what one would have taken anyway. ``facts`` are what a score depends on beside the values: data, protocol, and
    seeds.
    """

    space: Space
    direction: Direction
    budget: int
    sampler: str = "tpe"
    seed: int = 0
    default: Mapping[str, Value] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.budget, int) or self.budget < 1:
            raise BadValue("the budget of a search", self.budget, "at least 1 trial", command="--tune 30")
        check_sampler(self.sampler, self.space)

    def to_json(self) -> str:
        """Return all but the budget, which may grow, as one text."""
        agreed = {
            "space": digest_of_space(self.space),
            "direction": str(self.direction),
            "sampler": self.sampler,
            "seed": self.seed,
            "default": dict(self.default),
            **self.facts,
        }
        return json.dumps(agreed, sort_keys=True)


class Study:
    """The trials of one search, and what to try next; ask and tell from one process at a time, or from several."""

    def __init__(self, study: optuna.Study, terms: Terms, *, is_shared: bool) -> None:
        self._study, self.terms, self._is_shared = study, terms, is_shared
        self._asked: set[int] = set()
        self._distributions = distributions_of(terms.space)

    @property
    def name(self) -> str:
        """Name of the study."""
        return self._study.study_name

    def ask(self) -> Question | None:
        """Return the next trial to evaluate, None where the budget is used up; what failed counts against it.

        A trial that a process left behind when it died comes first, with the values that it had.
        """
        left = self._find_left_behind()
        if left is not None:
            return self._take(left)
        if len(self._study.get_trials(deepcopy=False)) - self._n_waiting() >= self.terms.budget:
            return None
        # Its number decides its seed, and is known once it is made: it is made without any value.
        trial = self._study.ask()
        if trial.number >= self.terms.budget:
            # Another process took the last one in between.
            self._study.tell(trial, state=TrialState.FAIL, skip_if_finished=True)
            return None
        return self._take(trial.number)

    def _take(self, number: int) -> Question:
        self._asked.add(number)
        return self._put(number)

    def tell(self, question: Question, answer: Answer) -> None:
        """Take note of what a trial gave."""
        trial_id = self._id_of(question.number)
        self._study._storage.set_trial_user_attr(trial_id, FACTS, json.dumps(dict(answer.facts), sort_keys=True))  # noqa: SLF001
        is_score = answer.score is not None and math.isfinite(answer.score)
        state = TrialState.COMPLETE if is_score else TrialState.FAIL
        self._study.tell(question.number, answer.score if is_score else None, state=state)

    def enqueue(self, values: Mapping[str, Value]) -> None:
        """Put values before all that the sampler proposes, unless they were tried or wait already."""
        self._study.enqueue_trial(dict(values), skip_if_exists=True)

    def rows(self) -> list[TrialRow]:
        """Return the trials that have ended, by number."""
        trials = self._study.get_trials(deepcopy=False, states=ENDED)
        return [_row(trial) for trial in sorted(trials, key=lambda trial: trial.number)]

    def best(self) -> TrialRow | None:
        """Return the best trial, the first of those that tie; None where all failed."""
        scored = [row for row in self.rows() if row.score is not None]
        sign = -1 if self.terms.direction is Direction.up else 1
        return min(scored, key=lambda row: (sign * (row.score or 0.0), row.number), default=None)

    def _put(self, number: int) -> Question:
        """Make a trial this process's own, and give it all of its values.

        They are proposed in one go, and of what a dead process had stored already nothing is read: what is drawn after
        another value depends on it having been drawn.
        """
        storage, trial_id = self._study._storage, self._id_of(number)  # noqa: SLF001
        storage.set_trial_user_attr(trial_id, OWNER, str(this_owner()))
        values = self._propose(number)
        known = storage.get_trial(trial_id).params
        for name, value in values.items():
            if name not in known:
                distribution = self._distributions[name]
                storage.set_trial_param(trial_id, name, distribution.to_internal_repr(value), distribution)
        return Question(number=number, values=values)

    def _propose(self, number: int) -> dict[str, Value]:
        terms, trial_seed = self.terms, derive(self.terms.seed, self.name, number)
        sampler = make_sampler(terms.sampler, terms.space, seed=terms.seed, trial_seed=trial_seed)
        trial = self._study._storage.get_trial(self._id_of(number))  # noqa: SLF001
        given = trial.system_attrs.get("fixed_params", {})
        bare = create_trial(state=TrialState.RUNNING, system_attrs=trial.system_attrs)
        bare.number = number
        bare._trial_id = trial._trial_id  # noqa: SLF001
        together = sampler.sample_relative(self._study, bare, sampler.infer_relative_search_space(self._study, bare))
        # Drawn in the order of the names, whether the value is used or not.
        drawn = {
            name: together[name]
            if name in together
            else sampler.sample_independent(self._study, bare, name, distribution)
            for name, distribution in self._distributions.items()
        }
        return {**drawn, **{name: value for name, value in given.items() if name in drawn}}

    def _find_left_behind(self) -> int | None:
        """Return the number of a trial whose process is gone; one that this process has asked for is its own."""
        for trial in self._study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            if trial.number not in self._asked and (not self._is_shared or _is_left_behind(trial)):
                return trial.number
        return None

    def _n_waiting(self) -> int:
        return len(self._study.get_trials(deepcopy=False, states=(TrialState.WAITING,)))

    def _id_of(self, number: int) -> int:
        return int(self._study._storage.get_trial_id_from_study_id_trial_number(self._study._study_id, number))  # noqa: SLF001


def open_study(storage: optuna.storages.BaseStorage, name: str, terms: Terms, *, is_shared: bool = False) -> Study:
    """Open a study, begun where there is none; one that was begun under other terms is refused.

    Where it is not shared, the caller sees to it that no other process has it open, and so any trial without an answer
    was left behind. Several processes may work on a shared one.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    direction = _DIRECTIONS[terms.direction]
    study = optuna.create_study(storage=storage, study_name=name, direction=direction, load_if_exists=True)
    known = study.user_attrs.get(TERMS)
    if known is None:
        # The default first: a study that has terms has its trial 0.
        first = {key: value for key, value in terms.default.items() if key in terms.space}
        if first:
            study.enqueue_trial(first, skip_if_exists=True)
        study.set_user_attr(TERMS, terms.to_json())
    else:
        _refuse_other_terms(name, json.loads(known), json.loads(terms.to_json()))
    return Study(study, terms, is_shared=is_shared)


_DIRECTIONS = {Direction.up: StudyDirection.MAXIMIZE, Direction.down: StudyDirection.MINIMIZE}


def _refuse_other_terms(name: str, known: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    changed = sorted(key for key in {*known, *wanted} if known.get(key) != wanted.get(key))
    if changed:
        allowed = f"the {', '.join(changed)} that it was begun with"
        raise BadValue(f"the study {name}", f"another {', '.join(changed)}", allowed, command="--fresh")


def _is_left_behind(trial: FrozenTrial) -> bool:
    """Tell whether the process that had a trial is gone, as far as can be seen from this machine."""
    owner, me = parse_owner(str(trial.user_attrs.get(OWNER, ""))), this_owner()
    since = trial.datetime_start.timestamp() if trial.datetime_start else 0.0
    if owner is None:
        # Made a moment ago, it has no owner yet.
        return time.time() - since > SECONDS_WITHOUT_OWNER
    return owner.is_on_the_machine_of(me) and not owner.is_alive(since=since)


def _row(trial: FrozenTrial) -> TrialRow:
    facts = json.loads(trial.user_attrs.get(FACTS, "{}"))
    score = trial.value if trial.state is TrialState.COMPLETE else None
    return TrialRow(number=trial.number, values=dict(trial.params), score=score, facts=facts)


def run_study(study: Study, evaluate: Callable[[Question], Answer]) -> list[TrialRow]:
    """Ask, evaluate and tell until the budget is used up; return all trials that have ended."""
    while (question := study.ask()) is not None:
        study.tell(question, evaluate(question))
    return study.rows()
