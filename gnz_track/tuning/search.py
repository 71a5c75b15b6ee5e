"""From a search to its record: trials are asked for, trained and told, and the winner stands at the end.

A trial is trained as blind cells, by the executor of any sweep, each noted as it ends. What past searches of a model
found on other tasks of a type is tried before a sampler knows anything.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import optuna
from optuna.trial import FrozenTrial, TrialState

from gnz_track.runs.executors.choice import Executor, choose_executor
from gnz_track.runs.executors.events import Done, Event, Tell
from gnz_track.runs.executors.fork_server import ForkServer, open_fork_server_for
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.store.address import Address
from gnz_track.store.searches import SearchRecord, TrialRecord
from gnz_track.tuning.default_spaces import borders_of
from gnz_track.tuning.plan import Search, SearchPlan, cells_of_trial, changed, terms_of
from gnz_track.tuning.proposals import DIRECTIONS
from gnz_track.tuning.settings import SearchSettings
from gnz_track.tuning.spaces import digest_of_space, plain_space
from gnz_track.tuning.study import (
    TERMS,
    First,
    Notes,
    Study,
    Trial,
    TrialOutcome,
    begin_study,
    read_trial,
    run_study,
)
from gnz_track.tuning.study_storage import Studies, open_studies, parse_place
from gnz_track.tuning.study_terms import StudyTerms
from gnz_track.types import Cell, CellResult, Direction

__all__ = ["Evaluation", "Listener", "SearchContext", "Silence", "run_searches", "scores_of"]


MOST_REASON = 300


class Evaluation:
    """Evaluates trials of one study: the outcome to a trial is its mean score on the validation parts of its seeds.

    Without a pruner all seeds of all trials are under way together; with one, seed after seed.
    """

    def __init__(self, search: Search, study: Study, *, execute: Executor, tell: Tell) -> None:
        self._search, self._study, self._execute, self._tell = search, study, execute, tell

    def __call__(self, asked: Sequence[Trial]) -> Iterator[tuple[Trial, TrialOutcome]]:
        """Yield each trial with its outcome as soon as it is known."""
        trials = [_TrialScores(one, cells_of_trial(self._search, one.values)) for one in asked]
        seeds = [cell.seed for cell in self._search.cells]
        is_stepwise = self._study.terms.pruner != "none"
        for step, some in enumerate([[seed] for seed in seeds] if is_stepwise else [seeds], 1):
            for trial in self._train(trials, some):
                if trial.is_over(is_stepwise=is_stepwise):
                    yield trial.asked, trial.outcome()
            left = [trial for trial in trials if not trial.is_over(is_stepwise=is_stepwise)]
            given_up = [trial for trial in left if self._is_given_up(trial, step)]
            for trial in given_up:
                yield trial.asked, TrialOutcome(score=None, is_pruned=True)
            trials = [trial for trial in left if trial not in given_up]

    def _is_given_up(self, trial: _TrialScores, step: int) -> bool:
        mean = trial.mean()
        return mean is not None and self._study.report(trial.asked, step, mean)

    def _train(self, trials: Sequence[_TrialScores], seeds: Sequence[int]) -> Iterator[_TrialScores]:
        """Train what is not noted yet of some seeds; yield a trial with each of its cells, and where none is left."""
        # Trials with the same values have the same cells.
        owners: dict[str, list[_TrialScores]] = {}
        wanted: dict[str, Cell] = {}
        for trial in trials:
            missing = [trial.cells[seed] for seed in seeds if seed not in trial.notes]
            for cell in missing:
                key = fingerprint(cell)
                wanted[key] = cell
                owners.setdefault(key, []).append(trial)
            if not missing:
                yield trial
        with contextlib.closing(self._execute(list(wanted.values()), self._tell)) as results:
            for result in results:
                ended = owners[fingerprint(result.cell)]
                for number, trial in enumerate(ended):
                    # One of them pays.
                    facts = _facts_of(result, is_paid=number > 0)
                    trial.notes[result.cell.seed] = facts
                    self._study.note(trial.asked, str(result.cell.seed), facts)
                # Whoever hears of it, and interrupts, finds it noted.
                self._tell(Done(result=result))
                yield from ended


class _TrialScores:
    """A trial while it is evaluated: its cells by seed, and what is noted of those that have ended."""

    def __init__(self, asked: Trial, cells: Mapping[int, Cell]) -> None:
        self.asked, self.cells = asked, cells
        self.notes = {int(seed): dict(facts) for seed, facts in asked.notes.items()}

    def is_over(self, *, is_stepwise: bool) -> bool:
        """Tell whether nothing is left to train: all seeds have ended, or one of them failed before the next began."""
        return len(self.notes) == len(self.cells) or (is_stepwise and self.mean() is None)

    def mean(self) -> float | None:
        """Return the mean score of the seeds so far, None where one of them failed."""
        scores = [facts["score"] for facts in self.notes.values()]
        return None if None in scores else math.fsum(scores) / len(scores)

    def outcome(self) -> TrialOutcome:
        """Return the outcome to the whole trial."""
        return TrialOutcome(score=self.mean())


def scores_of(notes: Notes) -> dict[int, float]:
    """Return the validation score by tuning seed, of the seeds that have one."""
    return {int(seed): facts["score"] for seed, facts in notes.items() if facts["score"] is not None}


def _reason_of(notes: Notes) -> str:
    """Return why a trial failed: what the first of its cells said that did."""
    return next((facts["reason"] for facts in notes.values() if facts["reason"]), "")


def _facts_of(result: CellResult, *, is_paid: bool) -> dict[str, Any]:
    failure = result.failure
    n_epochs = max((len(values) for values in result.series.values()), default=0)
    return {
        "score": result.score,
        "reason": " ".join(f"{failure.kind}: {failure.message}".split())[:MOST_REASON] if failure else "",
        "fingerprint": fingerprint(result.cell),
        "epochs": 0 if is_paid else n_epochs,
        "seconds": 0.0 if is_paid else result.seconds,
        "cpu_seconds": 0.0 if is_paid else result.cpu_seconds,
    }


_SAME, _OTHER = ("task type", "model"), "task"
RECOMMENDED = "recommended"


def _find_first(
    studies: Studies, terms: StudyTerms, *, most: int, recommended: Sequence[Mapping[str, Any]] = ()
) -> list[First]:
    """Return the configurations to try first: those recommended, then the best of each other task, then the next best.

    Scores of different tasks cannot be compared, and so no other task is preferred for its scores: latest searches go
    first. What a configuration does not name is at its default. Values that the space does not hold are at theirs too,
    and its source says without which it is tried; one that is then the default, or another one again, is none.
    """
    found: list[First] = []
    tried = [terms.complete({})]
    for source, given in (*_numbered(recommended), *_in_turn(studies, terms)):
        wanted = changed(given, terms.default)
        inside = {name: value for name, value in wanted.items() if _is_inside(terms, name, value)}
        values = terms.complete(inside)
        if values not in tried and len(found) < most:
            tried.append(values)
            found.append((values, source + _say_without(wanted, inside)))
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
                yield f"{name} #{ranked[place].number}", read_trial(ranked[place]).values


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


class Listener(Protocol):
    """Listener that hears how searches go."""

    def begin(self, search: Search, study: Study) -> None:
        """Hear that a search begins, or goes on."""

    def hear(self, event: Event) -> None:
        """Hear of a cell of a trial."""


class Silence:
    """Hears, and does nothing."""

    def begin(self, search: Search, study: Study) -> None:
        """Do nothing."""

    def hear(self, event: Event) -> None:
        """Do nothing."""


@dataclass(frozen=True, kw_only=True)
class SearchContext:
    """Around searches: the store that their winners are for, how cells are trained, and who hears of them.

    Studies are kept beside the store unless the settings of searches name another place.
    """

    address: Address
    suite: str = "custom"
    version: str = ""
    jobs: int = 1
    timeout: float | None = None
    fork_server: ForkServer | None = None
    listener: Listener = field(default_factory=Silence)


def _run_search(search: Search, settings: SearchSettings, studies: Studies, context: SearchContext) -> SearchRecord:
    """Go on with the study of a search, or begin it; return its record once the budget is used up.

    An interrupt loses the cells that were under way, and nothing else: the same call goes on from there.
    """
    terms, name = terms_of(search, settings), _name_study(search, settings, studies)
    with studies.held(name):
        study = begin_study(studies, name, terms, first=lambda: _choose_first(search, settings, studies, terms))
        context.listener.begin(search, study)
        execute = choose_executor(jobs=context.jobs, timeout=context.timeout, fork_server=context.fork_server)
        evaluate = Evaluation(search, study, execute=execute, tell=context.listener.hear)
        # No more trials than the workers can be at, where other processes want some too.
        most = -(-context.jobs // len(search.cells)) if studies.are_shared else None
        rows = run_study(study, evaluate, most=most)
        return _record_of(search, study, rows, context, settings)


def run_searches(plan: SearchPlan, settings: SearchSettings, context: SearchContext) -> list[SearchRecord]:
    """Do one search after another; return the records of all.

    Parameters
    ----------
    plan
        The searches.
    settings
        Spaces, budget and sampler.
    context
        Store, names and workers.
    """
    with contextlib.ExitStack() as stack:
        studies = stack.enter_context(open_studies(settings.place or parse_place("", context.address)))
        if context.fork_server is None:
            # One for all rounds of all searches: workers are ready at once.
            fork_server = stack.enter_context(open_fork_server_for(jobs=context.jobs, timeout=context.timeout))
            context = replace(context, fork_server=fork_server)
        return [_run_search(search, settings, studies, context) for search in plan.searches]


def _name_study(search: Search, settings: SearchSettings, studies: Studies) -> str:
    """Return the name under which a search goes on: its latest study, or where it is to be fresh a new one."""
    base = search.study_name
    numbers = [
        int(match.group(1) or 1)
        for name in studies.names()
        if (match := re.fullmatch(re.escape(base) + r"(?: #(\d+))?", name))
    ]
    number = max(numbers, default=0) + settings.is_fresh or 1
    return base if number == 1 else f"{base} #{number}"


def _choose_first(search: Search, settings: SearchSettings, studies: Studies, terms: StudyTerms) -> list[First]:
    if not settings.warm_start:
        return []
    known = settings.recommend(search.cells[0]) if settings.recommend else ()
    return _find_first(studies, terms, most=settings.warm_start, recommended=known)


def _record_of(
    search: Search, study: Study, rows: list[Trial], context: SearchContext, settings: SearchSettings
) -> SearchRecord:
    best, cell, trials = study.best(), search.cells[0], tuple(map(_trial_of, rows))
    return SearchRecord(
        name=study.name,
        suite=context.suite,
        sweep="",
        task=search.task.name,
        task_type=search.task.task_type,
        dataset=search.task.dataset,
        dataset_digest=cell.dataset_digest,
        model=search.model.name,
        protocol=cell.protocol.label,
        kind=search.kind,
        metric=search.metric.name,
        direction=search.metric.direction,
        sampler=settings.sampler,
        study_seed=settings.seed,
        tuning_seeds=tuple(cell.seed for cell in search.cells),
        space=plain_space(search.space),
        space_digest=digest_of_space(search.space),
        budget=settings.budget.at_least(len(trials), sum(trial.epochs for trial in trials)).to_mapping(),
        trials=trials,
        default=search.default,
        best=best.values if best else {},
        best_number=best.number if best else None,
        best_score=best.score if best else None,
        seed=search.seed,
        pruner=settings.pruner,
        storage=str(settings.place or parse_place("", context.address)),
        versions={"optuna": optuna.__version__, "gnz_track": context.version},
        borders=borders_of(search.space, best.values) if best else (),
    )


def _trial_of(row: Trial) -> TrialRecord:
    scores = scores_of(row.notes)
    # A trial that was given up has the mean of the seeds that it had.
    mean = sum(scores.values()) / len(scores) if row.state == "pruned" and scores else row.score
    return TrialRecord(
        number=row.number,
        state=row.state,
        score=mean,
        hyperparameters=row.values,
        seed_scores=scores,
        reason=_reason_of(row.notes) if row.state == "failed" else "",
        source=row.source,
        fingerprints=tuple(str(facts["fingerprint"]) for facts in row.notes.values()),
        epochs=int(_total(row, "epochs")),
        seconds=_total(row, "seconds"),
        cpu_seconds=_total(row, "cpu_seconds"),
    )


def _total(row: Trial, fact: str) -> float:
    return sum(float(facts[fact]) for facts in row.notes.values())
