"""Audits on pages: their section and badges in a report, a page of their own, names of any kind, and figures."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd
import pytest
from figure_boxes import count_faults, texts_of
from score_tables import table_of

from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.figures.audits import draw_diversity_plane, draw_performance, draw_strips
from gnz_track.report.page.audits import view_audits, warn_of_versions, write_audit_page
from gnz_track.report.page.figures import FigureSet
from gnz_track.report.page.page import render_page
from gnz_track.store.address import Address, parse_address
from gnz_track.store.audits import AuditRecord, DiversityRecord, ModeRecord, PairRecord, SampleRecord, write_audit
from gnz_track.store.writer import open_store

NO_FIGURES = FigureSet(figures=())
HOSTILE = "<script>alert(1)</script> & $x_1$"
MODES = ("original", "empty-graph", "complete-features", "random-features")
DIVERSE = DiversityRecord(mean=0.51, sd=0.02, grade="o", sd_grade="--")
PAIR = PairRecord(
    metric="accuracy",
    first="original",
    second="empty-graph",
    statistic=0.8,
    p=0.001,
    p_adjusted=0.015,
    is_significant=False,
    outperforms=False,
)


def record_of(task: str = "mutag", **changes: Any) -> AuditRecord:
    modes = tuple(
        ModeRecord(name=name, means=(0.2 * n + 0.1, 0.4), sds=(0.1, 0.1), values=(0.1, None, 0.2 * n + 0.2))
        for n, name in enumerate(MODES)
    )
    record = AuditRecord(
        task=task,
        task_type="graph_cls",
        dataset=task,
        dataset_digest="d",
        n_graphs=188,
        source="the graphs of the dataset",
        measure={"graph": "diffusion", "features": "euclidean", "norm": "L_{1,1}"},
        times=(1, 10),
        modes=modes,
        structure=DIVERSE,
        features=DIVERSE,
        decision="undecided",
        rule="the structure is diverse",
        notes=("a note of the audit",),
        version="0.1",
    )
    return replace(record, **changes)


FULL: dict[str, Any] = {
    "decision": "keep",
    "performance": "++",
    "score": 5.0,
    "informative": {"structure": 2, "features": 1},
    "test": "ks",
    "alpha": 0.01,
    "n_permutations": 10_000,
    "direction": "up",
    "samples": tuple(
        SampleRecord(mode=name, model="GIN", metric="accuracy", scores=(0.9 - 0.1 * n, 0.8 - 0.1 * n))
        for n, name in enumerate(MODES)
    ),
    "pairs": (PAIR, replace(PAIR, first="empty-graph", second="random-features")),
    "correlation": -0.5,
    "correlation_grade": "-",
}


class Stub(BenchmarkReport):
    """A report whose audits are given."""

    audits: ClassVar[dict[str, AuditRecord]] = {}

    @property
    def quality(self) -> dict[str, AuditRecord]:
        return self.audits


def page_of(audits: dict[str, AuditRecord], tasks: tuple[str, ...] = ("mutag", "enzymes")) -> str:
    report = Stub.from_frame(scores_of(*tasks))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stub, "audits", audits)
        return render_page(report, figures=NO_FIGURES)


def scores_of(*tasks: str) -> pd.DataFrame:
    table = table_of([[[0.5, 0.6, 0.7], [0.6, 0.8, 0.75]]] * len(tasks), models=("GCN", "GIN"))
    return table.assign(task=table["task"].map({f"t{n:02}": task for n, task in enumerate(tasks)}))


def test_a_report_without_audits_says_nothing_of_them() -> None:
    text = page_of({})
    assert 'id="quality"' not in text
    assert "badge b-" not in text


def test_badges_stand_beside_audited_tasks_alone() -> None:
    text = page_of({"mutag": record_of(**FULL)})
    assert text.count('class="badge b-keep"') == 3, "in the scores, beside the task, in the section"
    assert 'id="quality"' in text
    assert "a note of the audit" in text
    assert "structure yes, features in part: score 5 of 5, grade ++" in text
    assert "keep (fast)" not in text
    assert "undecided (fast)" in page_of({"mutag": record_of()})


def test_names_are_text_and_never_markup() -> None:
    audit = record_of(HOSTILE, rule=HOSTILE, notes=(HOSTILE,), source=HOSTILE, decision="keep")
    text = page_of({HOSTILE: audit}, tasks=(HOSTILE, "enzymes"))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


def test_versions_are_warned_of() -> None:
    assert "perturbed versions of datasets (mutag~empty-graph)" in page_of({}, tasks=("mutag", "mutag~empty-graph"))
    assert warn_of_versions(scores_of("mutag")) == []


@pytest.fixture
def filled(tmp_path: Path, cells_database: Path) -> Address:
    return parse_address(str(shutil.copy(cells_database, tmp_path / "gnz.db")))


@pytest.fixture(scope="session")
def cells_database(tmp_path_factory: pytest.TempPathFactory, records: Callable[[], Any]) -> Path:
    file = tmp_path_factory.mktemp("audited") / "gnz.db"
    with open_store(str(file)) as store:
        for one in records():
            store.finish(one)
    return file


@pytest.fixture(scope="session")
def records() -> Callable[[], Any]:
    import sys

    sys.path.append(str(Path(__file__).parents[2] / "store"))
    from cells import context_of, sweep_records

    return lambda: sweep_records(context_of("first"))


def test_a_report_finds_the_audits_of_its_own_data(filled: Address) -> None:
    report = BenchmarkReport.from_store(filled)
    assert report.quality == {}
    row = report.table.iloc[0]
    fitting = record_of(row["task"], dataset_digest=row["dataset_digest"])
    with open_store(filled) as store:
        write_audit(store, fitting)
        write_audit(store, record_of("other"))
    assert report.quality == {row["task"]: fitting}
    with open_store(filled) as store:
        write_audit(store, replace(fitting, dataset_digest="of other data"))
    assert report.quality == {}
    assert BenchmarkReport.from_frame(report.table).quality == {}


def test_a_page_of_its_own(tmp_path: Path) -> None:
    page = write_audit_page(
        [record_of(**FULL), record_of("enzymes", decision="deprecate")], tmp_path / "a" / "audit.html"
    )
    text = page.read_text(encoding="utf-8")
    assert "<title>Audit of 2 datasets</title>" in text
    assert text.count("<svg") == 4
    assert "://" not in text.replace("http://www.w3.org", ""), "it asks no network for anything"
    names = {file.name for file in (tmp_path / "a" / "figures").iterdir()}
    assert names == {
        f"{name}.{kind}"
        for name in ("strips_00", "strips_01", "performance_00", "diversity_plane")
        for kind in ("svg", "pdf")
    }


def dots(figure: Any, name: str) -> list[Any]:
    return [line for line in figure.axes[0].lines if line.get_gid() == name]


def test_strips_have_a_dot_for_each_graph_with_a_value_and_the_mean_of_all() -> None:
    figure = draw_strips(record_of())
    for n, line in zip((3, 2, 1, 0), dots(figure, "gnz-graph"), strict=True):
        assert list(line.get_xdata()) == pytest.approx([0.1, 0.2 * n + 0.2])
    assert [line.get_xdata()[0] for line in dots(figure, "gnz-mean")] == pytest.approx([0.7, 0.5, 0.3, 0.1])
    for place, line in enumerate(dots(figure, "gnz-graph")):
        assert all(abs(height - place) < 0.5 for height in line.get_ydata()), "each within its strip"
    assert set(MODES) <= {text.get_text() for text in texts_of(figure)}
    assert count_faults(figure) == (0, 0)


def test_performance_is_drawn_against_complementarity() -> None:
    figure = draw_performance(record_of(**FULL))
    points = [(line.get_xdata()[0], line.get_ydata()[0]) for line in dots(figure, "gnz-point")]
    assert points == [pytest.approx((0.2 * n + 0.1, 0.85 - 0.1 * n)) for n in range(4)]
    assert "-0.50" in figure.alt_text
    assert count_faults(figure) == (0, 0)
    assert "no model was trained" in draw_performance(record_of()).alt_text


def test_plane_has_a_point_for_each_dataset_whose_diversity_is_known() -> None:
    unknown = DiversityRecord(mean=None, sd=None, grade="", sd_grade="")
    figure = draw_diversity_plane([record_of(), record_of("enzymes", structure=unknown)])
    assert [(line.get_xdata()[0], line.get_ydata()[0]) for line in dots(figure, "gnz-point")] == [(0.51, 0.51)]
    assert "undefined" in draw_diversity_plane([record_of(structure=unknown)]).alt_text
    nothing = ModeRecord(name="original", means=(None,), sds=(None,), values=(None,))
    assert "undefined" in draw_strips(record_of(modes=(nothing,))).alt_text


def test_long_and_many_names_are_drawn() -> None:
    long = [record_of(f"a_very_long_name_of_a_dataset_{number:02}" * 3) for number in range(12)]
    figure = draw_diversity_plane(long)
    assert count_faults(figure) == (0, 0)
    assert len(view_audits({record.task: record for record in long})) == 12
