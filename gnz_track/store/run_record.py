"""Record of one cell, which can wait on disk: its fields, its layout in the store, and a store's limits on names."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings, later, to_json
from gnz_track.store import schema
from gnz_track.store.cell_book import digest_of_book
from gnz_track.store.cell_files.kept_files import KeptFile, describe_files, tag_of_files
from gnz_track.store.curves import Curve, fill_up, thin_all
from gnz_track.store.environment import Environment, GitState
from gnz_track.types import Category, Cell, CellResult, Failure, Measured, Metric, Status, TaskType

__all__ = [
    "Point",
    "RunRecord",
    "SweepContext",
    "check_cells",
    "check_hyperparameters",
    "checked",
    "curve_points",
    "final_metrics",
    "owner_tags",
    "params_of",
    "record_of",
    "record_of_start",
    "sweep_tags",
    "tags_of",
    "written_out",
]


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
class RunRecord(Measured):
    """One attempt at one cell, and the numbers that it gave; times in milliseconds since 1970.

    ``params`` are all settings as resolved and shown, defaults of the model included; long ones are in ``long_params``.
    ``hyperparameters`` is the JSON of what this cell changed, ``search`` names the search that chose that. ``standing``
    is :data:`~gnz_track.store.schema.STANDING_BEST` where weights are kept until a better cell comes.
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
    started_at: int
    ended_at: int
    hyperparameters: str = "{}"
    params: Mapping[str, str] = field(default_factory=dict)
    long_params: Mapping[str, str] = field(default_factory=dict)
    validation: Mapping[str, float] = field(default_factory=dict)
    curves: Mapping[str, Curve] = field(default_factory=dict)
    not_finite: tuple[str, ...] = ()
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
    model_digest: str = later("")
    files: Mapping[str, KeptFile] = later({})
    standing: str = later("")

    def __post_init__(self) -> None:
        super().__post_init__()
        freeze_mappings(self, "params", "long_params", "validation", "curves", "environment_tags", "files")

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
    _refuse_collisions(result.scores)
    measured = {item.name: getattr(result, item.name) for item in dataclasses.fields(Measured)}
    if failure:
        measured |= {"status": Status.failed, "failure": failure, "score": None, "scores": {}, "selected_epoch": None}
    else:
        measured["scores"] = {name: value for name, value in result.scores.items() if math.isfinite(value)}
    return RunRecord(
        **_names_of_cell(cell, result.settings),
        **_context_fields(context),
        **{**measured, "dataset_digest": result.dataset_digest or cell.dataset_digest},
        fingerprint=fingerprint,
        attempt=attempt,
        started_at=ended_at - round(1000 * result.seconds),
        ended_at=ended_at,
        validation={} if failure else _validation(result),
        curves=thin_all(result.series, keep=result.selected_epoch),
        not_finite=_not_finite(result),
        cell=to_json(cell) if failure else "",
        search=search,
        files=describe_files(_files_of(result, failure)),
    )


def _files_of(result: CellResult, failure: Failure | None) -> dict[str, bytes]:
    """Return the files that are kept: a cell that counts as failed shows no labels of a test part."""
    return {name: content for name, content in result.files.items() if not (failure and name in _OF_FINISHED)}


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
    return RunRecord(
        **_names_of_cell(cell),
        **_context_fields(context),
        fingerprint=fingerprint,
        attempt=attempt,
        metric=metric.name,
        direction=metric.direction,
        status=Status.running,
        dataset_digest=cell.dataset_digest,
        started_at=started_at,
        ended_at=started_at,
    )


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


_OF_FINISHED = frozenset({schema.PREDICTIONS_FILE, *schema.OF_MODEL})
_OF_PROTOCOL = frozenset({"lr", "weight_decay", "batch_size", "hidden_channels", "epochs"})


def _names_of_cell(cell: Cell, settings: Mapping[str, Value] = MappingProxyType({})) -> dict[str, Any]:
    params, long_params = _params(cell, settings)
    return {
        "hyperparameters": check_hyperparameters(cell.hyperparameters),
        "params": params,
        "long_params": long_params,
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


def _params(cell: Cell, settings: Mapping[str, Value]) -> tuple[dict[str, str], dict[str, str]]:
    """Return all settings as texts: those that fit, with marks, and the long ones whole.

    A cell that has just begun, or failed before its settings were known, has those that its protocol says.
    """
    values: dict[str, Value] = {"hidden_channels": cell.protocol.hidden_channels, "epochs": cell.epochs}
    optimiser = cell.protocol.optimiser_of(cell.task.task_type)
    if optimiser is not None:
        values |= {"lr": optimiser.lr, "weight_decay": optimiser.weight_decay, "batch_size": optimiser.batch_size}
    texts = {name: str(value) for name, value in sorted({**values, **settings, **dict(cell.hyperparameters)}.items())}
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


COMMAND = "another name"


def check_cells(cells: Iterable[Cell], *, suite: str, sweep: str, metrics: Iterable[str]) -> None:
    """Refuse names that no store takes: of tasks, models, datasets, metrics, hyperparameters, suites and sweeps.

    Parameters
    ----------
    cells
        Cells of a sweep.
    suite, sweep
        Names of the sweep's suite and of itself.
    metrics
        Names of all metrics.
    """
    _check_text("name of a suite", suite, schema.MOST_EXPERIMENT_CHARACTERS)
    _check_text("name of a sweep", sweep, schema.MOST_TAG_CHARACTERS)
    # Its experiments are named after suite and task together.
    most_of_task = schema.MOST_EXPERIMENT_CHARACTERS - len(f"{schema.PREFIX}/{suite}//hpo")
    names: dict[tuple[str, str], int] = {}
    for cell in cells:
        check_hyperparameters(cell.hyperparameters)
        names |= {
            ("name of a task", cell.task.name): most_of_task,
            ("name of a dataset", cell.task.dataset): schema.MOST_DATASET_CHARACTERS,
            ("name of a model", cell.model.name): schema.MOST_TAG_CHARACTERS,
            ("import path of a model", cell.model.reference): schema.MOST_TAG_CHARACTERS,
            ("name of a protocol", cell.protocol.label): schema.MOST_TAG_CHARACTERS,
            **{("hyperparameter", f"{name}={value}"): schema.MOST_TEXT for name, value in cell.hyperparameters},
        }
    for (what, name), most in names.items():
        _check_text(what, name, most)
    for metric in metrics:
        # The longest key that is made of it.
        schema.curve_key(f"{schema.TEST_PREFIX}{metric}{schema.AT_BEST_VALIDATION}")


def _check_text(what: str, value: str, most: int) -> None:
    """Refuse a text that is longer than a store takes, or holds what no database does."""
    if len(value) > most:
        raise BadValue(what, value, f"at most {most} characters, which is what MLflow takes", command=COMMAND)
    if value != written_out(value):
        allowed = "characters that databases hold: no zero bytes, no half characters"
        raise BadValue(what, value, allowed, command=COMMAND)


def written_out(text: str) -> str:
    r"""Return a text in which what no database holds can be read: zero bytes, and bytes of names that are no UTF-8.

    >>> written_out("a\0b")
    'a\\x00b'
    """
    return text.replace("\0", "\\x00").encode("utf-8", "backslashreplace").decode("utf-8")


# (key, value, time in milliseconds since 1970, step).
Point = tuple[str, float, int, int]


def tags_of(record: RunRecord) -> dict[str, str]:
    """Return all tags of a cell's run, be they such that a store takes them or not; who writes checks them."""
    tags = {
        schema.KIND: schema.CELL,
        schema.RECORD: record.key,
        schema.ATTEMPT: record.attempt,
        schema.SUITE: record.suite,
        schema.TASK: record.task,
        schema.CATEGORY: str(record.category),
        schema.TASK_TYPE: str(record.task_type),
        schema.DATASET: record.dataset,
        schema.MODEL: record.model,
        schema.MODEL_SOURCE: record.model_source,
        schema.MODEL_DIGEST: record.model_digest,
        schema.SEED: str(record.seed),
        schema.METRIC: record.metric,
        schema.BASELINE: "" if record.baseline is None else repr(record.baseline),
        schema.SCORE_KEY: schema.score_key(record.metric) if record.metric else "",
        schema.DIRECTION: str(record.direction),
        schema.PROTOCOL: record.protocol,
        schema.HYPERPARAMETERS: record.hyperparameters,
        schema.FINGERPRINT: record.fingerprint,
        schema.SEARCH: record.search,
        schema.DATASET_DIGEST: record.dataset_digest,
        schema.SPLIT_DIGEST: record.split_digest,
        schema.N_TRAIN: "" if record.n_train is None else str(record.n_train),
        schema.N_TEST: "" if record.n_test is None else str(record.n_test),
        schema.ENV_DEVICE: record.device,
        schema.INSTRUCTIONS: record.instructions,
        schema.ERROR: error_text(record),
        schema.NOT_FINITE: ", ".join(record.not_finite)[: schema.MOST_ERROR_CHARACTERS],
        **_of_files(record),
        **record.environment_tags,
        **_of_code(record),
        **owner_tags(record.owner, at=record.ended_at),
        schema.SWEEP: record.sweep,
        schema.ENVIRONMENT: record.environment,
        schema.BOOK: record.book,
        schema.COUNTS: schema.COUNTS_YES if record.status is Status.finished else "",
    }
    return schema.write_bookkeeping({key: value for key, value in tags.items() if value})


def sweep_tags(context: SweepContext, *, at: int) -> dict[str, str]:
    """Return the tags of the run that stands for a whole sweep; ``at`` is now, in milliseconds since 1970."""
    tags = {
        schema.KIND: schema.SWEEP_RUN,
        schema.SUITE: context.suite,
        schema.SWEEP: context.sweep,
        schema.ENVIRONMENT: context.environment.digest,
        **context.environment.tags,
        **_of_code(context),
        **owner_tags(context.owner, at=at),
    }
    return checked(schema.write_bookkeeping({key: value for key, value in tags.items() if value}))


def params_of(record: RunRecord) -> dict[str, str]:
    """Return the names of the cell and its hyperparameters under names that MLflow takes.

    A hyperparameter that is called as one of the names stands behind ``option``.
    """
    texts = {name: shorten(str(getattr(record, name))) for name in schema.NAMING_PARAMS}
    of_cell = {f"option {name}" if name in texts else name: value for name, value in record.params.items()}
    return {**texts, **{schema.legal_key(name): value for name, value in of_cell.items()}}


def final_metrics(record: RunRecord) -> dict[str, float]:
    """Return scores at the selected epoch and costs, each logged once; what is unknown is left out."""
    scores = {schema.score_key(name): value for name, value in record.scores.items()}
    validation = {schema.validation_key(name): value for name, value in record.validation.items()}
    rest = {
        schema.SELECTED_EPOCH: record.selected_epoch,
        schema.SECONDS: record.seconds,
        schema.CPU_SECONDS: record.cpu_seconds,
        schema.SECONDS_PER_EPOCH: record.seconds_per_epoch,
        schema.PEAK_RSS: record.peak_rss_mib,
        schema.PEAK_DEVICE: record.peak_device_mib,
        schema.MEMORY: record.memory_mib,
        schema.N_PARAMETERS: record.n_parameters,
    }
    return {**scores, **validation, **{key: float(value) for key, value in rest.items() if value is not None}}


def curve_points(record: RunRecord, streamed: Collection[tuple[str, int]] = ()) -> Iterator[Point]:
    """Yield the points of all curves, spread evenly over the cell's time: equal records give equal points.

    ``streamed`` are the (key, epoch) that were written while the cell ran.
    """
    last = max((points[-1][0] for points in record.curves.values() if points), default=0)
    span = record.ended_at - record.started_at
    for name, points in record.curves.items():
        key = schema.curve_key(name)
        epochs = {epoch for streamed_key, epoch in streamed if streamed_key == key}
        for epoch, value in fill_up(points, epochs, keep=record.selected_epoch) if epochs else points:
            yield key, value, record.started_at + span * epoch // max(1, last), epoch


def error_text(record: RunRecord) -> str:
    """Return the class of a failure and the start of its message, nothing where there is none."""
    if record.failure is None:
        return ""
    return written_out(f"{record.failure.kind}: {record.failure.message[: schema.MOST_ERROR_CHARACTERS]}")


def checked(tags: dict[str, str]) -> dict[str, str]:
    """Return tags that MLflow stores whole; it cuts longer ones off without a word."""
    for key, value in tags.items():
        if len(value) > schema.MOST_TAG_CHARACTERS:
            raise BadValue(f"tag {key}", value[:40] + "...", f"at most {schema.MOST_TAG_CHARACTERS} characters")
    return tags


def _of_files(record: RunRecord) -> dict[str, str]:
    return {
        schema.FILES: tag_of_files(record.files),
        schema.LOGGED_MODELS: schema.tell_models(record.files),
        schema.STANDING: record.standing,
    }


def _of_code(source: RunRecord | SweepContext) -> dict[str, str]:
    return {
        schema.VERSION: source.version,
        schema.GIT_COMMIT: source.git.commit,
        schema.GIT_BRANCH: source.git.branch,
        schema.GIT_DIRTY: str(source.git.is_dirty).lower(),
        schema.SOURCE_NAME: source.source_name,
        schema.SOURCE_TYPE: schema.SOURCE_TYPE_LOCAL,
    }


def owner_tags(owner: str, *, at: int) -> dict[str, str]:
    """Return who writes a run, and when that was last seen to live."""
    return {schema.OWNER: owner, schema.HEARTBEAT: str(at)}
