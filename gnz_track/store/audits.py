"""Audits of datasets in the store: a run for each, in one experiment, with the whole record as an artifact."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings, from_plain, to_json
from gnz_track.store import schema
from gnz_track.store.address import Address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.connection import says_in_one_line
from gnz_track.store.listings import has_tables
from gnz_track.store.reader import open_reader
from gnz_track.store.writer import FINISHED, Store, now

__all__ = [
    "AuditRecord",
    "DiversityRecord",
    "ModeRecord",
    "PairRecord",
    "SampleRecord",
    "audit_from_json",
    "read_audits",
    "write_audit",
]


FORMAT = 1


@dataclass(frozen=True, kw_only=True)
class ModeRecord:
    """The complementarity under one perturbation: means and standard deviations over graphs, by time.

    ``values`` are those of some hundred graphs at the first time, to be drawn; None stands for undefined.
    """

    name: str
    means: tuple[float | None, ...]
    sds: tuple[float | None, ...]
    n_draws: int = 1
    values: tuple[float | None, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DiversityRecord:
    """The diversity of one mode over graphs: mean and standard deviation, and their grades."""

    mean: float | None
    sd: float | None
    grade: str
    sd_grade: str


@dataclass(frozen=True, kw_only=True)
class SampleRecord:
    """The scores on one version of the graphs: those of the model with the best mean there."""

    mode: str
    model: str
    metric: str
    scores: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean score."""
        return sum(self.scores) / len(self.scores)


@dataclass(frozen=True, kw_only=True)
class PairRecord:
    """Two versions compared under one metric; the first outperforms the second where it says so."""

    metric: str
    first: str
    second: str
    statistic: float
    p: float
    p_adjusted: float
    is_significant: bool
    outperforms: bool
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, kw_only=True)
class AuditRecord:
    """One dataset, audited.

    ``decision`` is keep, realign, deprecate or undecided, ``rule`` why. ``source`` says what the graphs are: those of
    the dataset, or neighbourhoods of sampled nodes, which is an extension. ``measure`` says how distances were taken.
    ``performance`` is a grade, empty where separability was not tested or could not show anything; ``informative`` maps
    structure and features to 0, 1 or 2. ``agreement`` maps shares to numbers. ``notes`` are sentences for the reader.
    """

    task: str
    task_type: str
    dataset: str
    dataset_digest: str
    n_graphs: int
    source: str
    measure: Mapping[str, str]
    times: tuple[int, ...]
    modes: tuple[ModeRecord, ...]
    structure: DiversityRecord
    features: DiversityRecord
    decision: str
    rule: str
    agreement: Mapping[str, float | None] = field(default_factory=dict)
    performance: str = ""
    score: float | None = None
    informative: Mapping[str, int] = field(default_factory=dict)
    test: str = ""
    alpha: float | None = None
    n_permutations: int | None = None
    direction: str = ""
    samples: tuple[SampleRecord, ...] = ()
    pairs: tuple[PairRecord, ...] = ()
    correlation: float | None = None
    correlation_grade: str = ""
    sweep: str = ""
    seconds: float = 0.0
    version: str = ""
    notes: tuple[str, ...] = ()
    format: int = FORMAT

    def __post_init__(self) -> None:
        freeze_mappings(self, "measure", "agreement", "informative")

    def to_json(self) -> str:
        """Write the record as one line."""
        return to_json(self)

    @property
    def is_full(self) -> bool:
        """Whether models were trained."""
        return bool(self.samples)


def audit_from_json(text: str) -> AuditRecord:
    """Read what :meth:`AuditRecord.to_json` wrote; nothing in it is run, and fields of later versions are left out."""
    try:
        found: dict[str, Any] = json.loads(text)
        if found["format"] != FORMAT:
            raise BadValue("the format of an audit", found["format"], str(FORMAT))
        return from_plain(AuditRecord, found, ignores_unknown=True)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadValue("an audit", reason, "what this version of gnz_track writes") from error


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
    runs = [run for run in open_reader(address).runs({schema.KIND: schema.AUDIT}) if run.status == FINISHED]
    for run in reversed(runs):
        task = run.tags.get(schema.TASK, "")
        if task in found or (tasks and task not in tasks):
            continue
        # Of a later version, or cut off: an earlier one may still say something.
        with contextlib.suppress(BadValue):
            found[task] = audit_from_json(read_artifact(address, run.artifacts, schema.AUDIT_FILE) or "")
    return found
