"""The table of what was trained, in every form in which a report has it."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from score_tables import table_of, trained_table

from gnz_track.errors import NothingToCompare
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.bundle import write_bundle
from gnz_track.report.page.figures import FigureSet
from gnz_track.report.page.page import render_page
from gnz_track.report.tables.training import (
    TrainingFacts,
    training_facts,
    training_table,
)
from gnz_track.stats.comparison.compare import compare

NEEDS_TEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex: apt-get install texlive-pictures")
COSTS = ["CPU s", "wall s / epoch", "wall, in all", "MiB"]
HEADER = ["task", "model", "#Param", "test", "seeds", "train", "at best val.", "epochs", *COSTS]
HOSTILE = "</td>|$x_1$ \\input{a} `b`"


def facts_of(table: pd.DataFrame) -> TrainingFacts:
    facts = training_facts(compare(table), table)
    assert facts is not None
    return facts


def test_text_has_a_line_for_each_model_and_says_what_it_is() -> None:
    lines = training_table(facts_of(trained_table())).to_text().splitlines()
    assert re.split(r"\s{2,}", lines[0]) == [*HEADER, "place"]
    third = re.split(r"\s{2,}", lines[3])
    assert (third[0], third[1], third[2], third[-1]) == ("t00 (accuracy \u2191)", "C", "100,000", "third")
    assert third[5] == "0.935 \u00b1 0.024"
    assert third[7:12] == ["63.5", "12.5", "0.5", "14 s", "64"]
    assert lines[5].startswith("scores: mean \u00b1 standard deviation over seeds")
    assert any(line.startswith("place: ") and "adjusted paired test" in line for line in lines)
    assert lines[-1].startswith("models differ by more than 10% in parameters")


def test_what_is_not_known_of_one_model_is_a_dash() -> None:
    table = trained_table()
    table["score_on_training"] = table["score_on_training"].where(table["model"] != "D")
    text = training_table(facts_of(table)).to_text().splitlines()[4]
    assert re.split(r"\s{2,}", text)[5] == "-"


def test_markdown_and_latex_escape_what_users_name() -> None:
    table = trained_table().replace({"model": {"D": HOSTILE}, "task": {"t00": "t_0"}})
    markdown = training_table(facts_of(table)).to_markdown().splitlines()
    assert markdown[0] == f"| {' | '.join([*HEADER, 'place'])} |"
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in markdown[:6]} == {len(HEADER) + 2}
    assert "- models differ by more than 10% in parameters" in "\n".join(markdown)
    latex = [line for line in training_table(facts_of(table)).to_latex().splitlines() if not line.startswith("%")]
    assert r"\#Param" in latex[3]
    assert not [line for line in latex if "\\input" in line or "$x_1$" in line]
    assert sum("t\\_0" in line for line in latex) == 1, "a line with the task, and one for each of its models"
    assert (
        "% place: one for every model that the adjusted paired test tells to be better"
        in training_table(facts_of(trained_table())).to_latex()
    )


@NEEDS_TEX
def test_latex_compiles(tmp_path: Path) -> None:
    table = trained_table().replace({"model": {"D": HOSTILE}})
    BenchmarkReport.from_frame(table).training_to_latex(tmp_path / "t.tex", caption="Trained", label="tab:t")
    text = (tmp_path / "t.tex").read_text("utf-8")
    whole = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{text}\n\\end{{document}}\n"
    (tmp_path / "whole.tex").write_text(whole, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "whole.tex"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert "adjusted paired test" in text


def test_files_hold_the_table_and_all_numbers(tmp_path: Path) -> None:
    report = BenchmarkReport.from_frame(trained_table())
    bundle = write_bundle(report, tmp_path, figures=FigureSet(figures=()))
    names = {file.name for file in bundle.files}
    assert {"training.csv", "training.md", "training.tex"} <= names
    found = pd.read_csv(tmp_path / "tables" / "training.csv", keep_default_na=False)
    assert found["train_sd"].tolist() == pytest.approx(report.training()["train_sd"].tolist())
    assert found["memory_of"].tolist() == ["the cell"] * 4
    parquet = training_table(facts_of(trained_table())).save(tmp_path / "training.parquet")
    assert pd.read_parquet(parquet)["place"].tolist() == ["first", "first", "third", ""]


def test_counts_are_written_as_whole_numbers_where_they_are(tmp_path: Path) -> None:
    table = trained_table().assign(n_epochs=20.0)
    table["n_epochs"] = table["n_epochs"].where(table["model"] != "B", 60.0 + table["seed"])
    table["n_parameters"] = table["n_parameters"].astype("float64").where(table["model"] != "C")
    lines = training_table(facts_of(table)).save(tmp_path / "training.csv").read_text("utf-8").splitlines()
    places = {name: place for place, name in enumerate(lines[0].split(","))}
    rows = {row.split(",")[places["model"]]: row.split(",") for row in lines[1:]}
    assert {name: row[places["n_epochs"]] for name, row in rows.items()} == {
        "A": "20",
        "B": "63.5",
        "C": "20",
        "D": "20",
    }
    assert [rows[name][places["n_parameters"]] for name in "ACD"] == ["100000", "", "120000"]
    assert {row[places["n_seeds"]] for row in rows.values()} == {"8"}
    assert rows["A"][places["seconds_per_epoch"]] == "0.5"
    assert rows["A"][places["memory_mib"]] == "64.0", "what is measured stays a real number"


def test_page_has_a_section_with_numbers_to_sort_by() -> None:
    table = trained_table().replace({"model": {"D": HOSTILE}})
    page = render_page(BenchmarkReport.from_frame(table), figures=FigureSet(figures=()))
    section = page.split('<section id="training">')[1].split("</section>")[0]
    assert 'href="#training"' in page
    assert section.count("<tr>") == 5
    assert 'data-v="120000.0">120,000</td>' in section
    assert "adjusted paired test tells to be better" in section
    assert "</td>|$x_1$" not in section
    assert [place for *_, place in facts_of(table).rows] == ["first", "first", "third", ""]


def test_a_report_of_scores_alone_has_no_such_table(tmp_path: Path) -> None:
    report = BenchmarkReport.from_frame(table_of([[[0.5, 0.6], [0.7, 0.8]]]))
    assert not [
        file for file in write_bundle(report, tmp_path, figures=FigureSet(figures=())).files if file.stem == "training"
    ]
    assert 'id="training"' not in (tmp_path / "report.html").read_text("utf-8")
    with pytest.raises(NothingToCompare, match="nothing of the training but scores"):
        report.training_to_latex(tmp_path / "t.tex")
