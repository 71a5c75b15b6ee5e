"""Layout of a record in the store: its tags and final metrics, and its curves."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from gnz_track.errors import BadValue
from gnz_track.store import schema
from gnz_track.store.curves import fill_up
from gnz_track.store.owners import parse_owner
from gnz_track.store.run_record import RunRecord, SweepContext
from gnz_track.store.storable import written_out

__all__ = ["Point", "checked", "curve_points", "final_metrics", "owner_tags", "params_of", "sweep_tags", "tags_of"]

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
        **record.environment_tags,
        **_of_code(record),
        **owner_tags(record.owner, at=record.ended_at),
        schema.SWEEP: record.sweep,
        schema.ENVIRONMENT: record.environment,
        schema.BOOK: record.book,
    }
    return {key: value for key, value in tags.items() if value}


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
    return checked({key: value for key, value in tags.items() if value})


def params_of(record: RunRecord) -> dict[str, str]:
    """Return the hyperparameters under names that MLflow takes."""
    return {schema.legal_key(name): value for name, value in record.params.items()}


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
    known = parse_owner(owner)
    return {schema.OWNER: owner, schema.HEARTBEAT: str(at), schema.HOST: known.host if known else ""}
