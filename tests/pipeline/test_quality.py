"""The stage ``quality`` writes the same audit from the same data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from gnz_track.pipeline.freezing import freeze_task
from gnz_track.pipeline.params import read_params
from gnz_track.pipeline.quality import audit_task
from gnz_track.quality.audit import Depth
from gnz_track.store.audit_record import audit_from_json


def test_audit_of_frozen_data_is_the_same_byte_by_byte(project: Callable[..., Path]) -> None:
    folder = project()
    params, depth = read_params(), Depth(times=(1, 2), n_draws=1, n_neighbourhoods=10, most_nodes=20)
    freeze_task(params, "planted_partition", say=lambda _: None)
    record, page = audit_task(params, "planted_partition", depth=depth)
    files = sorted(file for file in (folder / "quality").rglob("*") if file.is_file())
    before = {file: file.read_bytes() for file in files}
    assert {file.suffix for file in files} == {".html", ".json", ".pdf", ".svg"}
    assert audit_from_json(page.with_suffix(".json").read_text("utf-8")) == record
    assert "planted_partition" in page.read_text("utf-8")
    audit_task(params, "planted_partition", depth=depth)
    assert {file: file.read_bytes() for file in files} == before
