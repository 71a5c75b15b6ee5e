"""Predictions behind a report: found in the store, judged by task, on its page, in its JSON and in its tables."""

from __future__ import annotations

import html
import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from stored_sweep import RINGS, ROOMS, StoredSweep

from gnz_track import read_predictions, run_benchmark
from gnz_track.errors import StoreUnusable
from gnz_track.predictions import TaskPredictions, analyse, rescore
from gnz_track.predictions.facts import RankFacts
from gnz_track.records import to_json
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.bundle import write_bundle
from gnz_track.report.figures.predictions import draw_prediction_figures, draw_ranks, draw_slices
from gnz_track.report.page.figures import FigureSet
from gnz_track.report.page.page import render_page
from gnz_track.report.page.predictions import view_predictions
from gnz_track.report.tables.predictions import prediction_frames

NO_FIGURES = FigureSet(figures=())


@pytest.fixture(scope="module")
def report(stored_sweep: StoredSweep) -> BenchmarkReport:
    found = BenchmarkReport.from_store(stored_sweep.store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GNZ_DATA", str(stored_sweep.home))
        assert len([found.predictions[task] for task in found.predictions]) == 4
    return found


@pytest.fixture(scope="module")
def facts(report: BenchmarkReport) -> TaskPredictions:
    return report.predictions[ROOMS]


def test_facts_are_those_of_the_runs(report: BenchmarkReport, stored_sweep: StoredSweep) -> None:
    test = read_predictions(stored_sweep.store, task=RINGS)
    validation = read_predictions(stored_sweep.store, task=RINGS, part="val")
    expected = analyse(test, task_type="graph_reg", metric="mae", validation=validation)
    found = report.predictions[RINGS]
    assert set(report.predictions) == set(report)
    assert (found.models, found.pairs, found.ensembles) == (expected.models, expected.pairs, expected.ensembles)
    assert found.explained
    assert not expected.explained


def test_files_behind_a_server_are_named_on_the_page_of_its_database(stored_sweep: StoredSweep, tmp_path: Path) -> None:
    database = Path(shutil.copy(stored_sweep.store.removeprefix("sqlite:///"), tmp_path / "gnz.db"))
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("UPDATE runs SET artifact_uri = 'mlflow-artifacts:/1/' || run_uuid || '/artifacts'")
    section = html.unescape(render_page(BenchmarkReport.from_store(f"sqlite:///{database}")))
    assert section.count("files of its runs lie behind a server; name that one with --store") == 4
    with pytest.raises(StoreUnusable, match="lie behind a server"):
        rescore("nll", f"sqlite:///{database}", task=ROOMS)


def test_page_says_who_wins_and_why_and_what_nobody_solves(report: BenchmarkReport, facts: TaskPredictions) -> None:
    page = html.unescape(render_page(report))
    section = page[page.index('<section id="predictions">') : page.index('<section id="missing">')]
    pair = next(facts.with_best())
    assert f"{pair.first} is ahead of {pair.second} by {pair.advantage.value:.4g} accuracy" in section
    for one in facts.explained:
        assert f"{one.slices[0].descriptor} {one.slices[0].slice} has {one.slices[0].share:.0%}" in section
    assert f"no cell solves {facts.n_unsolved} (first {facts.unsolved[0].id}," in section
    assert f"Labels to look at ({facts.n_suspects} in all)" in section
    for ensemble in facts.ensembles:
        assert f"{ensemble.name}: log loss" in section
        assert f"{ensemble.scores[1].value:.4g}" in section
    assert all(f'id="figure-{name}_' in section for name in ("slices", "reliability", "confusion", "points", "roc"))
    assert section.count("<details") == 4


def test_json_keeps_what_was_found(report: BenchmarkReport) -> None:
    text = report.to_json()
    again = BenchmarkReport.from_json(text)
    assert dict(again.predictions) == dict(report.predictions)
    assert again.to_json() == text


def test_tables_have_a_row_for_each_model_pair_and_slice(
    report: BenchmarkReport, facts: TaskPredictions, tmp_path: Path
) -> None:
    bundle = write_bundle(report, tmp_path, figures=NO_FIGURES)
    tables = {file.stem: pd.read_csv(file) for file in bundle.files if file.match("tables/predictions_*.csv")}
    pairs = tables["predictions_pairs"].query("task == @facts.task")
    assert pairs["advantage"].tolist() == pytest.approx([one.advantage.value for one in facts.pairs])
    assert pairs["low_examples"].tolist() == pytest.approx([one.advantage.new_examples.low for one in facts.pairs])
    slices = tables["predictions_slices"].query("task == @facts.task")
    assert slices["part"].tolist() == pytest.approx([part.part for one in facts.explained for part in one.slices])
    unsolved = tables["predictions_examples"].query("task == @facts.task and what == 'unsolved'")
    assert unsolved["id"].tolist() == [one.id for one in facts.unsolved]
    lines = (tmp_path / "tables" / "predictions.jsonl").read_text().splitlines()
    assert lines == [to_json(one) for one in report.predictions.values()]
    assert {json.loads(line)["task"] for line in lines} == set(report)


def test_figures_draw_the_facts(facts: TaskPredictions, report: BenchmarkReport) -> None:
    names = {task: [name for name, *_ in draw_prediction_figures(report.predictions[task])] for task in report}
    assert names[ROOMS] == ["slices", "reliability", "confusion"]
    assert names[RINGS] == ["slices", "points"]
    assert names["les_miserables"] == ["roc"]
    explained = facts.explained[0]
    (axes,) = draw_slices(facts, explained).axes
    drawn = [bar.get_width() for bar in axes.patches if bar.get_gid() == "gnz-part"]
    assert sorted(drawn) == pytest.approx(sorted(part.part for part in explained.slices))
    ends = [line.get_xdata() for line in axes.lines if line.get_gid() == "gnz-interval"]
    expected = [(part.low, part.high) for part in explained.slices if part.low is not None]
    np.testing.assert_allclose(sorted(map(tuple, ends)), sorted(expected))


RANKS = RankFacts(
    model="DistMult",
    n_seeds=2,
    n_ranks=2048,
    reciprocal=0.3125,
    uppers=(1, 10, None),
    shares=(0.2, 0.5, 0.3),
    hits=(0.2, 0.7, 1.0),
)


def test_ranks_are_shown_in_words_a_table_a_figure_and_a_file(report: BenchmarkReport) -> None:
    other = replace(RANKS, model="GCN", reciprocal=0.25, shares=(0.1, 0.6, 0.3), hits=(0.1, 0.7, 1.0))
    facts = replace(report.predictions["les_miserables"], ranks=(RANKS, other))
    assert [name for name, *_ in draw_prediction_figures(facts)] == ["roc", "ranks"]
    (axes,) = draw_ranks(facts).axes
    drawn = [tuple(line.get_ydata()) for line in axes.lines if line.get_gid() == "gnz-ranks"]
    assert drawn == [RANKS.shares, other.shares]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "10", "more"]
    [view] = view_predictions({"links": facts})
    assert "Of 2,048 ranks a seed, DistMult has 20.0% at 1 (mean reciprocal rank 0.3125, the best)." in view.lines
    [table] = [one for one in view.tables if one.title.startswith("Ranks of true triples")]
    assert table.columns[2:4] == ("rank up to 1", "rank up to 10")
    assert table.rows[1] == ("GCN", "0.25", "0.1", "0.7", "2", "2,048")
    frame = prediction_frames({"links": facts})["predictions_ranks"]
    assert frame["share"].tolist() == [*RANKS.shares, *other.shares]
    assert frame["rank_above"].tolist() == [0, 1, 10] * 2
    assert frame["rank_up_to"].dropna().tolist() == [1, 10] * 2


def test_runs_without_predictions_are_named_and_a_store_without_any_has_no_section(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    options = {"tasks": ["planted_partition"], "seeds": [0, 1], "epochs": 2, "store": store, "verbose": False}
    run_benchmark(models=["MLP"], keep="nothing", device="cpu", **options)
    bare = BenchmarkReport.from_store(store)
    assert len(bare.predictions) == 0
    assert 'id="predictions"' not in render_page(bare, figures=NO_FIGURES)
    run_benchmark(models=["GCN", "SGC"], device="cpu", **options)
    mixed = BenchmarkReport.from_store(store)
    (view,) = view_predictions(mixed.predictions)
    without = mixed.table[mixed.table["model"] == "MLP"]["run_id"].tolist()
    assert set(mixed.predictions["planted_partition"].missing) == set(without)
    (note,) = [note for note in view.notes if "Without predictions" in note]
    assert "2 runs" in note
    assert (
        f"gnz reproduce {mixed.predictions['planted_partition'].missing[0][:12]} --keep predictions --store {store}"
        in note
    )
    assert {one.model for one in mixed.predictions["planted_partition"].models} == {"GCN", "SGC"}


def test_a_changed_file_is_said_and_the_rest_of_the_page_stands(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'runs.db'}"
    run_benchmark(
        models=["MLP", "GCN"],
        tasks=["planted_partition"],
        seeds=[0],
        epochs=2,
        store=store,
        device="cpu",
        verbose=False,
    )
    changed = min(tmp_path.rglob("predictions.parquet"))
    changed.write_bytes(changed.read_bytes()[:-1] + b"!")
    report = BenchmarkReport.from_store(store)
    page = html.unescape(render_page(report, figures=NO_FIGURES))
    assert "digest mismatch" in page
    facts = report.predictions["planted_partition"]
    assert (len(facts.models), facts.missing) == (1, (changed.parents[1].name,))
