"""Values that past searches of a model found on other tasks of a type, tried before a sampler knows anything."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from gnz_track.kinds import Direction
from gnz_track.tuning.proposals import DIRECTIONS
from gnz_track.tuning.searches import changed
from gnz_track.tuning.storages import Studies
from gnz_track.tuning.studies import TERMS, First
from gnz_track.tuning.terms import StudyTerms
from gnz_track.tuning.trials import read_row

__all__ = ["find_first"]

_SAME, _OTHER = ("task type", "model"), "task"
RECOMMENDED = "recommended"


def find_first(
    studies: Studies, terms: StudyTerms, *, most: int, recommended: Sequence[Mapping[str, Any]] = ()
) -> list[First]:
    """Return the configurations to try first: those recommended, then the best of each other task, then the next best.

    Scores of different tasks cannot be compared, and so no other task is preferred for its scores: latest searches go
    first. What a configuration does not name is at its default. Values that the space does not hold are at theirs too,
    and its source says without which it is tried; one that is then the default, or another one again, is none.

    Parameters
    ----------
    studies
        Where the searches of other tasks lie.
    terms
        StudyTerms of the study that begins.
    most
        Most configurations to return.
    recommended
        Configurations as whoever knows similar tasks would try them.
    """
    found: list[First] = []
    tried = [terms.complete({})]
    for source, given in (*_numbered(recommended), *_in_turn(studies, terms)):
        wanted = changed(given, terms.default)
        inside = {name: value for name, value in wanted.items() if _is_inside(terms, name, value)}
        values = terms.complete(inside)
        if values not in tried and len(found) < most:
            tried.append(values)
            found.append(First(values=values, source=source + _say_without(wanted, inside)))
    return found


def _is_inside(terms: StudyTerms, name: str, value: Any) -> bool:
    return name in terms.space and terms.space[name].holds(value)


def _say_without(wanted: Mapping[str, Any], inside: Mapping[str, Any]) -> str:
    left = [f"{name}={value}" for name, value in sorted(wanted.items()) if name not in inside]
    return f" without {', '.join(left)}" if left else ""


def _numbered(recommended: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, values in enumerate(recommended, start=1):
        yield f"{RECOMMENDED} #{number}", values


def _in_turn(studies: Studies, terms: StudyTerms) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the trials of past searches of use: the best of each, then the next best of each."""
    rankings = [(name, _rank_trials(studies, name)) for name, facts in _past(studies) if _is_of_use(facts, terms)]
    for place in range(max((len(ranked) for _, ranked in rankings), default=0)):
        for name, ranked in rankings:
            if place < len(ranked):
                yield f"{name} #{ranked[place].number}", read_row(ranked[place]).values


def _past(studies: Studies) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the terms of every study, the latest first."""
    for study in reversed(studies.storage.get_all_studies()):
        if TERMS in study.user_attrs:
            yield study.study_name, json.loads(study.user_attrs[TERMS])


def _is_of_use(facts: Mapping[str, Any], terms: StudyTerms) -> bool:
    return facts.get(_OTHER) != terms.facts[_OTHER] and all(facts.get(key) == terms.facts[key] for key in _SAME)


def _rank_trials(studies: Studies, name: str) -> list[FrozenTrial]:
    """Return the trials of a study that have a score, best first."""
    study = optuna.load_study(storage=studies.storage, study_name=name)
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    sign = -1 if study.direction is DIRECTIONS[Direction.up] else 1
    return sorted(trials, key=lambda trial: (sign * (trial.value or 0.0), trial.number))
