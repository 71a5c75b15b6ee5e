"""Progress of searches: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from gnz_track.runs.executors.events import Done, Event
from gnz_track.runs.progress import open_line
from gnz_track.text import format_seconds
from gnz_track.tuning.plan import Search, SearchPlan
from gnz_track.tuning.study import Study

__all__ = ["SearchProgress"]


class SearchProgress:
    """Shows on standard error which search is under way, how many of its trials have ended, and the best so far.

    The time left is what the cells of this call have taken so far, for as many as are left.
    """

    def __init__(self, plan: SearchPlan) -> None:
        self._sizes = [plan.n_trials * len(search.cells) for search in plan.searches]
        self._line = open_line(sum(self._sizes))
        self._place, self._n_before, self._n_trained, self._n_kept = -1, 0, 0, 0
        self._study: Study | None = None
        self._label, self._n_seeds = "", 1
        self._started = time.monotonic()

    def __enter__(self) -> Self:
        self._line.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._line.stop()

    def begin(self, search: Search, study: Study) -> None:
        """Show that a search goes on from what it has."""
        self._place += 1
        self._study, self._label, self._n_seeds = study, search.label, len(search.cells)
        n_ended = len(study.rows())
        self._n_kept += n_ended
        self._n_before = sum(self._sizes[: self._place]) + n_ended * self._n_seeds
        self._n_trained_before = self._n_trained
        self._show_line(is_last=False)

    def hear(self, event: Event) -> None:
        """Count a cell that ended."""
        if isinstance(event, Done):
            self._n_trained += 1
            self._show_line(is_last=self._n_done >= sum(self._sizes))

    def count_kept(self) -> str:
        """Say how many trials have ended, those of earlier calls included, as far as searches were looked at."""
        n_here = 0 if self._study is None else len(self._study.rows())
        return f"{n_here} trials of {self._label}" if self._label else "no trial"

    @property
    def _n_done(self) -> int:
        return self._n_before + self._n_trained - self._n_trained_before

    def _show_line(self, *, is_last: bool) -> None:
        if self._study is None:
            return
        n_left = max(0, sum(self._sizes) - self._n_done)
        best = self._study.best()
        found = "" if best is None else f", best so far {best.score:.3f}"
        pace = (time.monotonic() - self._started) / self._n_trained if self._n_trained else None
        time_left = "time left unknown" if pace is None else f"about {format_seconds(pace * n_left)} left"
        n_trials = len(self._study.rows())
        text = f"{self._label}: {n_trials}/{self._study.n_trials} trials{found}, {time_left}"
        if len(self._sizes) > 1:
            text = f"search {self._place + 1}/{len(self._sizes)}, {text}"
        self._line.show(text, self._n_done, is_last=is_last)
