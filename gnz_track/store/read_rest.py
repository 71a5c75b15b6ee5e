"""A store read through MLflow's own search: slow, and right everywhere, servers included."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import pandas as pd

from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.connection import connect, disconnect, says_in_one_line
from gnz_track.store.results_table import COLUMNS, row_of
from gnz_track.store.row_filters import PastRun, Point, RunFilter, finite, legible_table, read_with

__all__ = ["RestReader", "experiments_named", "pages"]

# Pages of a thousand hold memory at a sixth of pages of fifty thousand, for half more time (benchmarks/store.py).
RUNS_PER_PAGE = 1000
# Ids that one condition may list.
RUNS_PER_SEARCH = 200


class RestReader:
    """A store of any kind, servers included, read by MLflow's own calls."""

    def __init__(self, address: Address) -> None:
        self.address = address

    def table(self, wanted: RunFilter, *, columns: Collection[str] = COLUMNS) -> pd.DataFrame:
        """Return every run that is wanted, in no particular order, and of it the columns asked for."""
        with self._reading() as tracking:
            experiments = _experiments(tracking, wanted)
            # MLflow's search knows no alternatives: each task is asked for by itself.
            asked = [{schema.TASK: task} for task in wanted.tasks] or [{}]
            found = (pages(tracking, experiments, {**wanted.tags, **more}) for more in asked)
            rows = [_row_of_run(run) for page in found for run in page if run.info.status in wanted.statuses]
        read = {name: [row[name] for row in rows] for name in read_with(columns, wanted)}
        return legible_table(self.address, read, wanted=wanted, columns=columns)

    def runs(self, tags: Mapping[str, str], *, start: str = "", most: int | None = None) -> list[PastRun]:
        """Return runs of ours that bear the tags and whose ids begin so, oldest first.

        Parameters
        ----------
        tags, start, most
            Those of :meth:`gnz_track.store.reader.Reader.runs`.
        """
        with self._reading() as tracking:
            begins = f"attributes.run_id LIKE '{start}%'" if start else ""
            runs = pages(tracking, experiments_named(tracking, f"{schema.PREFIX}/"), tags, begins)
            found = list(islice((run for run in runs if schema.KIND in run.data.tags), most))
        return [
            PastRun(
                run_id=run.info.run_id,
                status=run.info.status,
                artifacts=run.info.artifact_uri,
                tags=run.data.tags,
                metrics=run.data.metrics,
            )
            for run in found
        ]

    def points(self, run_ids: Sequence[str]) -> list[Point]:
        """Return the points of the curves of runs."""
        with self._reading() as tracking:
            return [
                (run_id, key, point.step, point.value)
                for run_id in run_ids
                for key in _metrics_of(tracking, run_id)
                if key.startswith(schema.CURVE_PREFIX)
                for point in tracking.get_metric_history(run_id, key)
            ]

    def scores(self, run_ids: Sequence[str]) -> list[tuple[str, str, float]]:
        """Return run, key and value of the test scores of runs."""
        with self._reading() as tracking:
            return [
                (run_id, key, value)
                for run_id in run_ids
                for key, value in _metrics_of(tracking, run_id).items()
                if key.startswith(schema.TEST_PREFIX)
            ]

    def kept_files(self, run_ids: Sequence[str]) -> list[tuple[str, str, str]]:
        """Return run, place of its artifacts, and the tag that names its files."""
        with self._reading() as tracking:
            experiments = experiments_named(tracking, f"{schema.PREFIX}/")
            # A search for many runs takes little longer than to ask for one of them.
            asked = (run_ids[start : start + RUNS_PER_SEARCH] for start in range(0, len(run_ids), RUNS_PER_SEARCH))
            conditions = (f"attributes.run_id IN ({', '.join(map(_quote, some))})" for some in asked)
            runs = [run for condition in conditions for run in pages(tracking, experiments, {}, condition)]
        found = {run.info.run_id: (run.info.artifact_uri or "", run.data.tags.get(schema.FILES, "")) for run in runs}
        return [(run_id, *found[run_id]) for run_id in run_ids if run_id in found]

    def experiments_with(self, tag: str, *, most: int) -> list[tuple[str, str]]:
        """Return id and task of the experiments that bear a tag, by name; of one without a task its name."""
        from mlflow.entities import ViewType

        with self._reading() as tracking:
            found = tracking.search_experiments(
                ViewType.ACTIVE_ONLY, most, f"tags.`{tag}` LIKE '%'", ["name ASC"], None
            )
        return [(str(one.experiment_id), one.tags.get(schema.TASK, one.name)) for one in found]

    def has_running(self) -> bool:
        """Say yes: a server cannot be asked that cheaply."""
        return True

    def state_of_sweep(self, sweep: str) -> str:
        """Return nothing: a server cannot be asked that cheaply."""
        del sweep
        return ""

    def is_fresh(self, sweep: str, tags: Mapping[str, str]) -> bool:
        """Tell whether no cell of a sweep was deleted, before or after its table was published.

        The writer takes the mark of the table away before it writes on.
        """
        del tags
        with self._reading() as tracking:
            wanted = {schema.KIND: schema.CELL, schema.SWEEP: sweep}
            deleted = pages(tracking, experiments_named(tracking, f"{schema.PREFIX}/"), wanted, view="DELETED_ONLY")
            return next(deleted, None) is None

    @contextlib.contextmanager
    def _reading(self) -> Iterator[Any]:
        with says_in_one_line(self.address):
            tracking = connect(self.address, creates=False)
            yield tracking
            disconnect(tracking)


def _quote(run_id: str) -> str:
    """Return an id as MLflow's conditions have it; ids have no quotes, and nothing is found by one that has."""
    return "'{}'".format(run_id.replace("'", ""))


def _metrics_of(tracking: Any, run_id: str) -> Mapping[str, float]:
    """Return the last metrics of a run; none of one that the store does not know."""
    from mlflow.exceptions import MlflowException

    try:
        found: Mapping[str, float] = tracking.get_run(run_id).data.metrics
    except MlflowException as error:
        if error.error_code != "RESOURCE_DOES_NOT_EXIST":
            raise
        return {}
    return found


def pages(
    tracking: Any, experiments: list[str], tags: Mapping[str, str], more: str = "", *, view: str = "ACTIVE_ONLY"
) -> Iterator[Any]:
    """Yield the runs that bear all tags, page by page, oldest first.

    A run that is added meanwhile comes last, and shifts no page.

    Parameters
    ----------
    tracking
        MLflow's client or store.
    experiments
        Ids of the experiments to search.
    tags
        Tags and values that runs must bear.
    more
        Further condition in MLflow's words.
    view
        MLflow's name for runs that are deleted, are not, or either.
    """
    from mlflow.entities import ViewType

    condition = " AND ".join([*_conditions(tags), *([more] if more else [])])
    kind, token = ViewType.from_string(view.lower()), None
    order = ["attributes.start_time ASC", "attributes.run_id ASC"]
    while experiments:
        page = tracking.search_runs(experiments, condition, kind, RUNS_PER_PAGE, order, token)
        yield from (run for run in page if all(run.data.tags.get(key) == value for key, value in tags.items()))
        token = page.token
        if not token:
            return


def experiments_named(tracking: Any, start: str) -> list[str]:
    """Return the ids of all experiments whose names start so, the one that is named so without its slash included."""
    from mlflow.entities import ViewType

    ids, token = [], None
    while True:
        # Wildcards and quotes within the name only let too much through.
        condition = f"name LIKE '{start.removesuffix('/').partition(chr(39))[0]}%'"
        page = tracking.search_experiments(ViewType.ACTIVE_ONLY, RUNS_PER_PAGE, condition, None, token)
        ids += [str(one.experiment_id) for one in page if f"{one.name}/".startswith(start)]
        token = page.token
        if not token:
            return ids


def _conditions(tags: Mapping[str, str]) -> Iterator[str]:
    """Yield MLflow's conditions, as far as it can read them: it knows no escape of a quote."""
    for key, value in tags.items():
        quote = next((mark for mark in "'\"" if mark not in value), "")
        if quote:
            yield f"tags.`{key}` = {quote}{value}{quote}"


def _experiments(tracking: Any, wanted: RunFilter) -> list[str]:
    if wanted.experiment:
        found = tracking.get_experiment_by_name(wanted.experiment)
        return [str(found.experiment_id)] if found and found.lifecycle_stage == "active" else []
    suite = wanted.suite
    return experiments_named(tracking, f"{schema.PREFIX}/{suite}/" if suite else f"{schema.PREFIX}/")


def _row_of_run(run: Any) -> dict[str, Any]:
    return row_of(
        {"run_id": run.info.run_id, "status": run.info.status, "start_time": run.info.start_time},
        tags=run.data.tags,
        metrics={key: finite(value) for key, value in run.data.metrics.items()},
        params=run.data.params,
        # The public way out is a message of the server, which takes no value that is none.
        last_epochs={metric.key: metric.step for metric in run.data._metric_objs},  # noqa: SLF001
    )
