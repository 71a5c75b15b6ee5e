"""Audits among the runs of a store: a run for each, in one experiment, with the whole record as an artifact."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

from gnz_track.errors import BadValue
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.audit_record import AuditRecord, audit_from_json
from gnz_track.store.connection import connect, disconnect, says_in_one_line
from gnz_track.store.reading import can_read_by_sql
from gnz_track.store.rest_reader import experiments_named, pages
from gnz_track.store.sql_reader import ACTIVE, RUNS, rows_of
from gnz_track.store.sweeps import has_tables
from gnz_track.store.writer import FINISHED, Store, now

__all__ = ["read_audits", "write_audit"]


def write_audit(store: Store, record: AuditRecord) -> str:
    """Write an audit as a finished run, and return the run's id."""
    from mlflow.entities import Metric, RunStatus, RunTag

    tags = {
        schema.KIND: schema.AUDIT,
        schema.TASK: record.task,
        schema.TASK_TYPE: record.task_type,
        schema.DATASET: record.dataset,
        schema.DATASET_DIGEST: record.dataset_digest,
        schema.DECISION: record.decision,
        schema.SWEEP: record.sweep,
        schema.VERSION: record.version,
        schema.NOTE: f"**{record.decision}**: {record.rule}.",
    }
    numbers = {"audit/structure": record.structure.mean, "audit/features": record.features.mean}
    numbers |= {"audit/performance": record.score, "audit/correlation": record.correlation}
    at = now()
    with says_in_one_line(store.address):
        experiment = store.experiment(schema.AUDIT_EXPERIMENT, {})
        named = [RunTag(key, value) for key, value in tags.items() if value]
        run = store.tracking.create_run(experiment, "", at, named, f"audit {record.task}")
        run_id = str(run.info.run_id)
        metrics = [Metric(key, value, at, 0) for key, value in numbers.items() if value is not None]
        store.tracking.log_batch(run_id, metrics, [], [])
    store.write_text(run_id, schema.AUDIT_FILE, record.to_json())
    with says_in_one_line(store.address):
        # The status comes last: a run that is finished is whole.
        store.tracking.update_run_info(run_id, RunStatus.from_string(FINISHED), now(), None)
    return run_id


def read_audits(address: Address, tasks: Collection[str] = ()) -> dict[str, AuditRecord]:
    """Return task -> its latest audit that can be read; of all tasks, or of those named."""
    if not has_tables(address):
        return {}
    found: dict[str, AuditRecord] = {}
    for task, place in _audit_runs(address):
        if task in found or (tasks and task not in tasks):
            continue
        # Of a later version, or cut off: an earlier one may still say something.
        with contextlib.suppress(BadValue):
            found[task] = audit_from_json(read_artifact(address, place, schema.AUDIT_FILE) or "")
    return found


def _audit_runs(address: Address) -> Iterator[tuple[str, str]]:
    """Yield (task, where the artifacts lie) of all finished audits, the latest first."""
    if can_read_by_sql(address):
        text = (
            f"SELECT t.value, r.artifact_uri {RUNS} "
            f"JOIN tags k ON k.run_uuid = r.run_uuid AND k.key = :kind_key AND k.value = :kind "
            f"JOIN tags t ON t.run_uuid = r.run_uuid AND t.key = :task_key "
            f"WHERE r.status = 'FINISHED' AND {ACTIVE} ORDER BY r.start_time DESC, r.run_uuid"
        )
        values = {"kind_key": schema.KIND, "kind": schema.AUDIT, "task_key": schema.TASK}
        yield from ((str(task), str(place)) for task, place in rows_of(address, text, values))
        return
    with says_in_one_line(address):
        tracking = connect(address, creates=False)
        experiments = experiments_named(tracking, schema.AUDIT_EXPERIMENT)
        runs = list(pages(tracking, experiments, {schema.KIND: schema.AUDIT}, "attributes.status = 'FINISHED'"))
        disconnect(tracking)
    yield from ((run.data.tags.get(schema.TASK, ""), run.info.artifact_uri) for run in reversed(runs))
