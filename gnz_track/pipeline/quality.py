"""The stage ``quality``: whether the data of a task are worth it, measured without training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gnz_track.datasets.preparation import prepare
from gnz_track.pipeline.choosing import DATA, choose, require
from gnz_track.pipeline.params import Params
from gnz_track.quality.audit import Depth, audit_dataset
from gnz_track.report.quality_page import write_audit_page
from gnz_track.store.audit_record import AuditRecord, audit_from_json

__all__ = ["QUALITY", "audit_task", "load_audits"]

QUALITY = Path("quality")
PAGE = "audit.html"


def audit_task(params: Params, name: str, *, depth: Depth | None = None) -> tuple[AuditRecord, Path]:
    """Write the audit of the frozen data of a task into ``quality/TASK``, as JSON and as a page.

    The same data give the same bytes: how long it took is left out.

    Parameters
    ----------
    params
        Parameters of the benchmark.
    name
        Task by name.
    depth
        Effort of the measurement; the usual one without.
    """
    task = choose(params).task(name)
    dataset = prepare(task, seed=params.seeds[0], home=(DATA / name).absolute())
    record = replace(audit_dataset(dataset, task, depth), seconds=0.0)
    page = write_audit_page([record], QUALITY / name / PAGE)
    page.with_suffix(".json").write_text(record.to_json() + "\n", encoding="utf-8")
    return record, page


def load_audits(params: Params, names: Sequence[str]) -> dict[str, AuditRecord]:
    """Return task -> its audit as the stage left it; none where data are not audited."""
    if not params.quality:
        return {}
    files = {name: (QUALITY / name / PAGE).with_suffix(".json") for name in names}
    return {name: audit_from_json(require(file, f"quality@{name}").read_text("utf-8")) for name, file in files.items()}
