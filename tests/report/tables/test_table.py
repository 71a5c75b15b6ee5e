"""Tables of scores and verdicts: what is marked, what is missing, and the runs behind each number."""

from __future__ import annotations

import csv
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_tables import table_of, with_values

from gnz_track.errors import BadValue
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.tables.pairs import pair_table
from gnz_track.report.tables.scores import lay_out_scores, score_table
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Comparison
from gnz_track.stats.ranking.ranks import rank_rows
from gnz_track.types import Direction

HOSTILE = ["a|b", "<b>x</b>", "*x* _y_", "c\nd", "=1+1", 'q"u,o']


def scores(n_tasks: int = 3, n_models: int = 3, n_seeds: int = 6) -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(np.linspace(0.7, 0.8, n_models)[None, :, None], 0.02, (n_tasks, n_models, n_seeds))


def comparison_of(table: pd.DataFrame, **choices: object) -> Comparison:
    return BenchmarkReport.from_frame(table).compare(**choices)


def test_marks_are_verdicts_and_not_overlaps() -> None:
    # Two models whose seeds move together: wide intervals that overlap, and a difference beyond doubt.
    shared = np.random.default_rng(0).normal(0.7, 0.1, 10)
    noise = np.random.default_rng(1).normal(0, 0.001, 10)
    found = comparison_of(table_of([[shared, shared - 0.02 + noise]], models=["first", "second"]))
    cells = {cell.model: cell.interval for cell in found["t00"].cells}
    assert cells["second"].high > cells["first"].low, "the intervals overlap"
    assert " ~" not in score_table(found).to_text().splitlines()[1]
    noisy = np.random.default_rng(2).normal(0.7, 0.1, (1, 2, 10))
    row = score_table(comparison_of(table_of(noisy))).to_text().splitlines()[1]
    assert (row.count(" *"), row.count(" ~")) == (1, 1)


def test_what_is_missing_shows() -> None:
    table = table_of(scores())
    table.loc[(table["task"] == "t00") & (table["model"] == "m00") & (table["seed"] < 2), "score"] = np.nan
    table = table.assign(status=np.where(table["score"].isna(), "failed", "finished"))
    table.loc[(table["task"] == "t01") & (table["model"] == "m01"), ["status", "score"]] = ["failed", np.nan]
    table = table[~((table["task"] == "t02") & (table["model"] == "m02"))]
    text = score_table(comparison_of(table)).to_text()
    rows = text.splitlines()
    assert "(4/6)" in rows[1]
    assert "none (6 failed)" in rows[2]
    assert re.search(r" -( |$)", rows[3])
    assert "8 runs failed and 0 are missing" in text
    assert "a dash stands for a model that was not run" in text


@given(st.integers(0, 10_000), st.sampled_from(list(Direction)), st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_ranks_follow_from_the_print_or_a_note_says_so(seed: int, direction: Direction, n_models: int) -> None:
    values = np.random.default_rng(seed).normal(0.8, 10.0 ** -(seed % 9), (2, n_models, 3))
    found = comparison_of(table_of(values, direction=str(direction)))
    grid = lay_out_scores(found)
    for task in grid.tasks:
        means = [task.cells[model].mean for model in grid.models]
        printed = [float(f"{mean:.{task.decimals}f}") for mean in means]
        is_same = (rank_rows([means], direction) == rank_rows([printed], direction)).all()
        assert is_same or any(task.task in note and "do not follow" in note for note in grid.notes)
        assert (
            task.decimals == 3
            or not (
                rank_rows([means], direction)
                == rank_rows([[float(f"{mean:.{task.decimals - 1}f}") for mean in means]], direction)
            ).all()
        ), "no more decimals than it needs"


@pytest.mark.parametrize("factor", [1e-160, 1e12, 1e300])
def test_scores_that_decimals_do_not_show_are_written_by_their_power_of_ten(factor: float) -> None:
    found = comparison_of(table_of(scores() * factor))
    text, latex = score_table(found).to_text(), score_table(found).to_latex()
    assert f"e{math.floor(math.log10(0.7 * factor)):+03}" in text
    assert max(map(len, text.split())) < 40
    assert f"e{math.floor(math.log10(0.7 * factor)):+03}" in latex
    assert "e+0" not in score_table(comparison_of(table_of(scores()))).to_text()


def test_a_mark_that_means_nothing_is_explained() -> None:
    text = score_table(comparison_of(table_of(scores(n_seeds=3)), test="wilcoxon")).to_text()
    assert "too few seeds to tell any model from the best: t00, t01, t02" in text
    assert "too few seeds" not in score_table(comparison_of(table_of(scores()))).to_text()


def test_every_number_leads_to_its_runs(tmp_path: Path) -> None:
    table = table_of(scores())
    table["run_id"] = [f"run{n}" for n in range(len(table))]
    found = comparison_of(table)
    of_cell = table.groupby(["task", "model"])["run_id"].agg(list)
    frame = score_table(found).numbers().set_index(["task", "model"])
    assert frame["run_ids"].to_dict() == of_cell.to_dict()
    assert frame["scores"].loc[("t01", "m02")] == pytest.approx(scores()[1, 2].tolist())
    verdicts = pd.read_parquet(pair_table(found).save(tmp_path / "v.parquet"))
    for row in verdicts.itertuples():
        assert list(row.runs_a) == of_cell[row.task, row.model_a]
        assert list(row.runs_b) == of_cell[row.task, row.model_b]
    with score_table(found).save(tmp_path / "s.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["run_ids"].split() for row in rows] == of_cell.tolist()
    assert [float(row["mean"]) for row in rows] == frame["mean"].tolist(), "all digits"


def test_files_of_all_kinds(tmp_path: Path) -> None:
    found = comparison_of(table_of(scores()), margin=0.01)
    for suffix in (".txt", ".md", ".csv", ".parquet", ".tex"):
        for table in (score_table(found), pair_table(found)):
            first = table.save(tmp_path / "deep" / f"a{suffix}").read_bytes()
            assert first
            assert table.save(tmp_path / f"b{suffix}").read_bytes() == first, "the same bytes again"
    with pytest.raises(BadValue, match="suffix"):
        score_table(found).save(tmp_path / "a.xlsx")
    frame = pair_table(found).numbers()
    assert frame["p_equivalence_adjusted"].notna().all()
    assert frame["verdict"].tolist() == [str(pair.verdict) for pair in found.pairs]


def test_hostile_names_break_no_table(tmp_path: Path) -> None:
    table = table_of(scores(2, len(HOSTILE)), models=HOSTILE)
    table = with_values(table, "task", {("t00",): "x | y\n| z"}, "task")
    found = comparison_of(table)
    for text in (score_table(found).to_markdown(), pair_table(found).to_markdown()):
        rows = [line for line in text.splitlines() if line.startswith("|")]
        assert len({len(re.split(r"(?<!\\)\|", row)) for row in rows}) == 1
        assert "<b>" not in text
    lines = pair_table(found).to_text().splitlines()
    assert len(lines) == 1 + 2 * 15
    assert len(score_table(found).to_text().splitlines()[0].split("  ")) >= len(HOSTILE)
    back = pd.read_csv(score_table(found).save(tmp_path / "s.csv"))
    assert set(back["model"]) == set(HOSTILE)


def test_many_models_are_rows() -> None:
    lines = score_table(comparison_of(table_of(scores(2, 12)))).to_text().splitlines()
    assert lines[0].startswith("model")
    assert [line.split()[0] for line in lines[1:13]] == [f"m{n:02}" for n in range(12)]


def test_bootstrap_intervals_have_two_ends() -> None:
    found = comparison_of(table_of(scores()), interval="bootstrap")
    assert re.search(r"0\.\d{3} -0\.\d{3} \+0\.\d{3}", score_table(found).to_text())


def test_one_model_has_no_pair() -> None:
    found = compare(table_of(scores(2, 1)))
    assert pair_table(found).to_text() == pair_table(found).to_markdown() == "no pair of models to compare\n"
    assert len(pair_table(found).numbers()) == 0
    assert len(score_table(found).numbers()) == 2
