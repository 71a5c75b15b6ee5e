"""Record of one cell in the store, one that can wait on disk."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings, later, to_json
from gnz_track.store import schema
from gnz_track.store.cell_book import digest_of_book
from gnz_track.store.curves import Curve, thin_all
from gnz_track.store.environment import Environment, GitState
from gnz_track.types import Category, Cell, CellResult, Direction, Failure, Metric, Status, TaskType

__all__ = ["RunRecord", "SweepContext", "check_hyperparameters", "record_from_json", "record_of", "record_of_start"]

Value = int | float | str | bool
# Longer values are shown by their digest; what a tag can hold is shared by at most 30 hyperparameters.
MOST_SHOWN_CHARACTERS = 200


@dataclass(frozen=True, kw_only=True)
class SweepContext:
    """Facts that all cells of one sweep share: its name, who writes, on what, from which code.

    ``book`` is the text of :func:`gnz_track.store.cell_book.write_book`, from which the cells can be rebuilt.
    """

    sweep: str
    suite: str
    environment: Environment
    git: GitState = field(default_factory=GitState)
    owner: str = ""
    version: str = ""
    source_name: str = "gnz"
    book: str = ""

    @property
    def book_digest(self) -> str:
        """The name under which the book is kept, nothing where there is none."""
        return digest_of_book(self.book) if self.book else ""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One attempt at one cell; times in milliseconds since 1970, memory in MiB, epochs from 0.

    ``params`` are all hyperparameters, the protocol's included, as shown; those too long are in ``long_params``.
    ``hyperparameters`` is the JSON of what this cell changed, ``search`` names the search that chose that.
    """

    sweep: str
    suite: str
    attempt: str
    fingerprint: str
    task: str
    dataset: str
    task_type: TaskType
    category: Category
    model: str
    model_source: str
    seed: int
    protocol: str
    metric: str
    direction: Direction
    status: Status
    started_at: int
    ended_at: int
    hyperparameters: str = "{}"
    params: Mapping[str, str] = field(default_factory=dict)
    long_params: Mapping[str, str] = field(default_factory=dict)
    score: float | None = None
    scores: Mapping[str, float] = field(default_factory=dict)
    validation: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    not_finite: tuple[str, ...] = ()
    selected_epoch: int | None = None
    n_parameters: int | None = None
    seconds: float = 0.0
    seconds_per_epoch: float | None = None
    cpu_seconds: float = 0.0
    peak_rss_mib: float | None = None
    peak_device_mib: float | None = None
    dataset_digest: str = ""
    split_digest: str = ""
    failure: Failure | None = None
    cell: str = ""
    device: str = "cpu"
    environment: str = ""
    environment_tags: Mapping[str, str] = field(default_factory=dict)
    git: GitState = field(default_factory=GitState)
    owner: str = ""
    version: str = ""
    source_name: str = "gnz"
    book: str = ""
    search: str = ""
    n_train: int | None = later(None)
    n_test: int | None = later(None)
    model_digest: str = later("")
    baseline: float | None = later(None)
    memory_mib: float | None = later(None)
    instructions: str = later("")

    def __post_init__(self) -> None:
        freeze_mappings(self, "params", "long_params", "scores", "validation", "curves", "environment_tags")

    @property
    def key(self) -> str:
        """Key that tells this attempt from all others, 32 characters; a record is written once per key."""
        text = json.dumps([self.sweep, self.fingerprint, self.attempt])
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def name(self) -> str:
        """The run's name: ``GCN s3``, with what this cell changed."""
        return schema.run_name(self.model, self.seed, list(json.loads(self.hyperparameters).items()))


def record_of(
    result: CellResult, context: SweepContext, *, fingerprint: str, ended_at: int, attempt: str = "1", search: str = ""
) -> RunRecord:
    """Return the record of a result; no clock is read and nothing is looked up.

    A finished cell whose score is no finite number is recorded as failed: it must not enter any mean.

    Parameters
    ----------
    result
        Result of a cell.
    context
        Sweep that it belongs to, and where it ran.
    fingerprint
        Fingerprint of the cell.
    ended_at
        Time of its end, in milliseconds since 1970.
    attempt
        Number of the attempt.
    search
        Name of the search that found its hyperparameters.
    """
    cell, failure = result.cell, result.failure or _failure_of(result)
    finite = {name: value for name, value in result.scores.items() if math.isfinite(value)}
    _refuse_collisions(result.scores)
    params, long_params = _params(cell)
    return RunRecord(
        **_names_of_cell(cell),
        **_context_fields(context),
        **_cost(result),
        fingerprint=fingerprint,
        attempt=attempt,
        metric=result.metric,
        direction=result.direction,
        status=Status.failed if failure else Status.finished,
        started_at=ended_at - round(1000 * result.seconds),
        ended_at=ended_at,
        hyperparameters=check_hyperparameters(cell.hyperparameters),
        params=params,
        long_params=long_params,
        score=None if failure else result.score,
        scores={} if failure else finite,
        validation={} if failure else _validation(result),
        curves=thin_all(result.series, keep=result.selected_epoch),
        not_finite=_not_finite(result),
        selected_epoch=None if failure else result.selected_epoch,
        dataset_digest=result.dataset_digest or cell.dataset_digest,
        split_digest=result.split_digest,
        **{name: getattr(result, name) for name in _OF_TEST},
        failure=failure,
        cell=to_json(cell) if failure else "",
        search=search,
    )


def record_of_start(
    cell: Cell, context: SweepContext, *, fingerprint: str, metric: Metric, started_at: int, attempt: str = "1"
) -> RunRecord:
    """Return the record of a cell that has just begun, for a run to be created from; it has no end and no score.

    Parameters
    ----------
    cell, context, fingerprint, attempt
        Those of :func:`record_of`, which takes the cell's result.
    metric
        Primary metric of the task.
    started_at
        Time of its begin, in milliseconds since 1970.
    """
    begun = CellResult(cell=cell, status=Status.failed, metric=metric.name, direction=metric.direction)
    record = record_of(begun, context, fingerprint=fingerprint, ended_at=started_at, attempt=attempt)
    return dataclasses.replace(record, failure=None, cell="")


def check_hyperparameters(pairs: tuple[tuple[str, Value], ...]) -> str:
    """Return hyperparameters as the JSON that is shown of them; refuse more, or longer names, than a store can hold."""
    shown = {name: shorten(value) if isinstance(value, str) else value for name, value in pairs}
    for name, value in shown.items():
        schema.legal_key(name)
        if isinstance(value, float) and not math.isfinite(value):
            raise BadValue(f"hyperparameter {name!r}", value, "a finite number")
    text = json.dumps(shown, sort_keys=True, ensure_ascii=False, allow_nan=False)
    n_own = len(set(shown) - _OF_PROTOCOL)
    if n_own + len(_OF_PROTOCOL) > schema.MOST_PARAMS or len(text) > schema.MOST_TAG_CHARACTERS:
        allowed = f"at most {schema.MOST_PARAMS - len(_OF_PROTOCOL)} beside the protocol's, with short names"
        raise BadValue("number of hyperparameters", len(shown), allowed)
    return text


def shorten(value: str, limit: int = MOST_SHOWN_CHARACTERS) -> str:
    """Return a text, or a mark with its length and digest where it is longer than the limit."""
    if len(value) <= limit:
        return value
    digest = hashlib.sha256(value.encode()).hexdigest()[:16]
    return f"<{len(value)} characters, sha256 {digest}, see {schema.LONG_PARAMS_FILE}>"


def record_from_json(text: str) -> RunRecord:
    """Read what :func:`gnz_track.records.to_json` wrote of a record."""
    fields: dict[str, Any] = json.loads(text)
    known = {item.name for item in dataclasses.fields(RunRecord)}
    if set(fields) - known:
        raise BadValue("record", ", ".join(sorted(set(fields) - known)), "the fields of this version's records")
    for name, kind in _KINDS.items():
        fields[name] = kind(fields[name])
    fields["curves"] = {
        name: tuple((int(epoch), float(value)) for epoch, value in points) for name, points in fields["curves"].items()
    }
    fields["not_finite"] = tuple(fields["not_finite"])
    fields["failure"] = Failure(**fields["failure"]) if fields["failure"] else None
    fields["git"] = GitState(**fields["git"])
    return RunRecord(**fields)


_KINDS = {"task_type": TaskType, "category": Category, "direction": Direction, "status": Status}
_OF_TEST = ("n_train", "n_test", "baseline")
_OF_PROTOCOL = frozenset({"lr", "weight_decay", "batch_size", "hidden_channels", "epochs"})


def _names_of_cell(cell: Cell) -> dict[str, Any]:
    return {
        "task": cell.task.name,
        "dataset": cell.task.dataset,
        "task_type": cell.task.task_type,
        "category": cell.task.category,
        "model": cell.model.name,
        "model_source": cell.model.reference,
        "model_digest": cell.model.source_digest,
        "seed": cell.seed,
        "protocol": cell.protocol.label,
        "device": cell.device,
    }


def _context_fields(context: SweepContext) -> dict[str, Any]:
    return {
        "sweep": context.sweep,
        "suite": context.suite,
        "environment": context.environment.digest,
        "environment_tags": context.environment.tags,
        "git": context.git,
        "owner": context.owner,
        "version": context.version,
        "source_name": context.source_name,
        "book": context.book_digest,
    }


def _cost(result: CellResult) -> dict[str, Any]:
    names = ("n_parameters", "seconds", "seconds_per_epoch", "cpu_seconds", "peak_rss_mib", "peak_device_mib")
    return {name: getattr(result, name) for name in (*names, "memory_mib", "instructions")}


def _params(cell: Cell) -> tuple[dict[str, str], dict[str, str]]:
    """Return all hyperparameters as texts: those that fit, with marks, and the long ones whole."""
    values: dict[str, Value] = {"hidden_channels": cell.protocol.hidden_channels, "epochs": cell.epochs}
    optimiser = cell.protocol.optimisers.get(cell.task.task_type)
    if optimiser is not None:
        values |= {"lr": optimiser.lr, "weight_decay": optimiser.weight_decay, "batch_size": optimiser.batch_size}
    texts = {name: str(value) for name, value in sorted({**values, **dict(cell.hyperparameters)}.items())}
    long = {name: text for name, text in texts.items() if len(text) > MOST_SHOWN_CHARACTERS}
    return {name: shorten(text) for name, text in texts.items()}, long


def _validation(result: CellResult) -> dict[str, float]:
    """Return the validation scores at the selected epoch."""
    epoch = result.selected_epoch
    if epoch is None:
        return {}
    found = {name: values[epoch] for name, values in result.series.items() if epoch < len(values)}
    return {
        name: float(value)
        for name, value in sorted(found.items())
        if name.startswith(schema.VALIDATION_PREFIX) and math.isfinite(value)
    }


def _not_finite(result: CellResult) -> tuple[str, ...]:
    """Return what holds a value that is no finite number; such values are left out, and named."""
    scores = [schema.TEST_PREFIX + name for name, value in result.scores.items() if not math.isfinite(value)]
    curves = [name for name, values in result.series.items() if not all(map(math.isfinite, values))]
    return tuple(sorted({*scores, *curves}))


def _failure_of(result: CellResult) -> Failure | None:
    if not result.is_finished:
        return Failure(kind="Unknown", message="the cell failed without a reason", traceback="")
    if result.score is None or not math.isfinite(result.score):
        return Failure(kind="ScoreNotFinite", message=f"{result.metric} is {result.score}", traceback="")
    return None


def _refuse_collisions(names: Mapping[str, float]) -> None:
    keys = [schema.legal_key(name) for name in names]
    if len(set(keys)) < len(keys):
        raise BadValue("names of metrics", ", ".join(names), "names that stay apart when @ is written _at_")
