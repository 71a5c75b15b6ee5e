"""Audit of one dataset as the store keeps it: measurements, tests, the verdict and its rule."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from gnz_track.errors import BadValue
from gnz_track.records import freeze_mappings, to_json

__all__ = ["AuditRecord", "DiversityRecord", "ModeRecord", "PairRecord", "SampleRecord", "audit_from_json"]

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


_PARTS: dict[str, type] = {"modes": ModeRecord, "samples": SampleRecord, "pairs": PairRecord}


def audit_from_json(text: str) -> AuditRecord:
    """Read what :meth:`AuditRecord.to_json` wrote; nothing in it is run."""
    try:
        found: dict[str, Any] = json.loads(text)
        if found["format"] != FORMAT:
            raise BadValue("the format of an audit", found["format"], str(FORMAT))
        for name, kind in _PARTS.items():
            found[name] = tuple(_read_record(kind, item) for item in found[name])
        for name in ("structure", "features"):
            found[name] = _read_record(DiversityRecord, found[name])
        record: AuditRecord = _read_record(AuditRecord, found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadValue("an audit", reason, "what this version of gnz_track writes") from error
    return record


def _read_record(kind: type, found: Mapping[str, Any]) -> Any:
    names = {item.name for item in fields(kind)}
    lists = {name: tuple(value) if isinstance(value, list) else value for name, value in found.items() if name in names}
    return kind(**lists)
