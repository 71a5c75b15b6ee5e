"""From trials to their scores: blind cells, trained by the executor of any sweep, each noted as it ends."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gnz_track.runs.events import Done, Tell
from gnz_track.runs.executors import Executor
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.tuning.searches import Search, cells_of_trial
from gnz_track.tuning.studies import Study, TrialOutcome
from gnz_track.tuning.trials import Notes, Trial
from gnz_track.types import Cell, CellResult

__all__ = ["Evaluation", "reason_of", "scores_of"]

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


def reason_of(notes: Notes) -> str:
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
