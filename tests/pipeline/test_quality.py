"""The stage ``quality`` writes the same audit from the same data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gnz_track.datasets.catalogue import TASKS
from gnz_track.errors import GnzError
from gnz_track.pipeline.params import override, read_params
from gnz_track.pipeline.stages import audit_task, freeze_task, make_training, report_all, train
from gnz_track.pipeline.starter_project import start_project
from gnz_track.quality.audit import Depth
from gnz_track.runs.executors.events import ignore
from gnz_track.store.audits import audit_from_json


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


@pytest.mark.usefixtures("svg_alone")
def test_report_of_the_pipeline_shows_the_audits(project: Callable[..., Path]) -> None:
    project(tasks={"planted_partition": {"epochs": 2}}, models=["GCN", "MLP"], quality=True)
    params, depth = read_params(), Depth(times=(1, 2), n_draws=1, n_neighbourhoods=10, most_nodes=20)
    freeze_task(params, "planted_partition", say=lambda _: None)
    train(make_training(params, "planted_partition"), tell=ignore)
    with pytest.raises(GnzError, match="Try: dvc repro quality@planted_partition"):
        report_all(params)
    record, _ = audit_task(params, "planted_partition", depth=depth)
    report, bundle = report_all(params)
    assert dict(report.quality) == {"planted_partition": record}
    page = bundle.page.read_text("utf-8")
    assert record.rule in page
    quiet, plain = report_all(override(params, quality=False))
    assert not quiet.quality
    assert record.rule not in plain.page.read_text("utf-8")


def test_project_that_audits_has_a_stage_for_it(tmp_path: Path) -> None:
    plain, audited = tmp_path / "plain", tmp_path / "audited"
    for folder, audits in ((plain, False), (audited, True)):
        start_project(folder, tasks=[TASKS.get("planted_partition")], has_git=True, audits=audits)
    stages = {folder: yaml.safe_load((folder / "dvc.yaml").read_text("utf-8"))["stages"] for folder in (plain, audited)}
    assert set(stages[audited]) - set(stages[plain]) == {"quality"}
    assert list(stages[audited]) == ["data", "run", "quality", "report"]
    assert "quality" in stages[audited]["report"]["deps"]
    assert stages[audited]["quality"]["do"]["outs"] == ["quality/${key}"]
    assert read_params(audited / "params.yaml").quality
    assert not read_params(plain / "params.yaml").quality
