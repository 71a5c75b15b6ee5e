"""From a search to its record: trials are asked for, trained and told, and the winner stands at the end."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field, replace
from typing import Protocol

import optuna

from gnz_track.runs.events import Event
from gnz_track.runs.executors import choose_executor
from gnz_track.runs.nursery import Nursery, open_nursery_for
from gnz_track.store.address import Address
from gnz_track.store.search_record import SearchRecord, TrialRecord
from gnz_track.tuning.default_spaces import borders_of
from gnz_track.tuning.evaluation import Evaluation, reason_of, scores_of
from gnz_track.tuning.searches import Search, SearchPlan, terms_of
from gnz_track.tuning.settings import SearchSettings
from gnz_track.tuning.spaces import digest_of_space, plain_space
from gnz_track.tuning.storages import Studies, open_studies, parse_place
from gnz_track.tuning.studies import First, Study, begin_study, run_study
from gnz_track.tuning.terms import StudyTerms
from gnz_track.tuning.trials import TrialRow
from gnz_track.tuning.warm_starts import find_first

__all__ = ["Listener", "SearchContext", "Silence", "run_searches"]


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
    nursery: Nursery | None = None
    listener: Listener = field(default_factory=Silence)


def _run_search(search: Search, settings: SearchSettings, studies: Studies, context: SearchContext) -> SearchRecord:
    """Go on with the study of a search, or begin it; return its record once the budget is used up.

    An interrupt loses the cells that were under way, and nothing else: the same call goes on from there.
    """
    terms, name = terms_of(search, settings), _name_study(search, settings, studies)
    with studies.held(name):
        study = begin_study(studies, name, terms, first=lambda: _choose_first(search, settings, studies, terms))
        context.listener.begin(search, study)
        execute = choose_executor(jobs=context.jobs, timeout=context.timeout, nursery=context.nursery)
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
        if context.nursery is None:
            # One for all rounds of all searches: workers are ready at once.
            nursery = stack.enter_context(open_nursery_for(jobs=context.jobs, timeout=context.timeout))
            context = replace(context, nursery=nursery)
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
    return find_first(studies, terms, most=settings.warm_start, recommended=known)


def _record_of(
    search: Search, study: Study, rows: list[TrialRow], context: SearchContext, settings: SearchSettings
) -> SearchRecord:
    best, cell = study.best(), search.cells[0]
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
        budget=settings.budget.to_mapping(),
        trials=tuple(_trial_of(row) for row in rows),
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


def _trial_of(row: TrialRow) -> TrialRecord:
    scores = scores_of(row.notes)
    # A trial that was given up has the mean of the seeds that it had.
    mean = sum(scores.values()) / len(scores) if row.state == "pruned" and scores else row.score
    return TrialRecord(
        number=row.number,
        state=row.state,
        score=mean,
        hyperparameters=row.values,
        seed_scores=scores,
        reason=reason_of(row.notes) if row.state == "failed" else "",
        source=row.source,
        fingerprints=tuple(str(facts["fingerprint"]) for facts in row.notes.values()),
        epochs=int(_total(row, "epochs")),
        seconds=_total(row, "seconds"),
        cpu_seconds=_total(row, "cpu_seconds"),
    )


def _total(row: TrialRow, fact: str) -> float:
    return sum(float(facts[fact]) for facts in row.notes.values())
