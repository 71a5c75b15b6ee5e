"""LaTeX: escaped, bold and dagger by verdict, no wider than a page, and compiled by a real TeX."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from score_tables import table_of, with_values

from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.figures.critical_difference.content import cd_facts_of
from gnz_track.report.figures.critical_difference.draw import save_cd_tikz
from gnz_track.report.tables.latex import LatexLook, tex_name, tex_text
from gnz_track.report.tables.pairs import pair_table
from gnz_track.report.tables.scores import score_table

HOSTILE = [
    "50%_of $x^2$ & #1",
    "<script>alert(1)</script>",
    "\\input{/etc/passwd}",
    "a..b/../c~^|{}",
    "x" * 200,
    "M\u00fcller-\u00df \u0142 \u4e2d\u6587",
    "\u202eabc \u05e9\u05dc\u05d5\u05dd",
    "`quote' -- , \"",
    "\\end{document}\n\\evil",
]
NEEDS_TEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex: apt-get install texlive-pictures")


def report(n_tasks: int = 3, models: list[str] | None = None, n_seeds: int = 6) -> BenchmarkReport:
    names = models or ["GCN", "GAT", "GraphSAGE", "GraphTransformer"]
    levels = np.linspace(0.7, 0.8, len(names))[None, :, None]
    values = np.random.default_rng(3).normal(levels, 0.02, (n_tasks, len(names), n_seeds))
    return BenchmarkReport.from_frame(table_of(values, models=names))


def test_marks_are_the_verdicts() -> None:
    comparison = report().comparison
    text = score_table(comparison).to_latex()
    for task in comparison.tasks:
        assert task.best is not None
    assert text.count(r"\mathbf") == len(comparison.tasks)
    assert text.count(r"^{\dagger}") == sum(len(task.not_distinguishable) for task in comparison.tasks)
    plain = score_table(comparison).to_latex(LatexLook(bold_best=False))
    assert "mathbf" not in plain
    assert "dagger" not in plain


def test_numbers_are_those_of_the_summary(tmp_path: Path) -> None:
    found = report()
    text = found.to_latex(tmp_path / "a.tex", ci=0.9).read_text("utf-8")
    row = found.summary(ci=0.9).loc[("t00", "GAT")]
    assert f"{row['mean']:.3f} \\pm {row['ci_high'] - row['mean']:.3f}" in text
    uneven = found.to_latex(tmp_path / "b.tex", method="bootstrap").read_text("utf-8")
    row = found.summary(method="bootstrap").loc[("t00", "GAT")]
    assert f"^{{+{row['ci_high'] - row['mean']:.3f}}}_{{-{row['mean'] - row['ci_low']:.3f}}}" in uneven


def test_floats_captions_and_headings(tmp_path: Path) -> None:
    found = report()
    bare = found.to_latex(tmp_path / "a.tex").read_text("utf-8")
    assert r"\begin{table}" not in bare
    options = {"caption": r"Scores, $k = 4$.", "label": "tab:a", "pretty_tasks": {"t00": r"\textsc{Cora}"}}
    text = found.to_latex(tmp_path / "b.tex", **options).read_text("utf-8")
    for part in (r"\caption{Scores, $k = 4$.}", r"\label{tab:a}", r"\textsc{Cora}", "not distinguishable from"):
        assert part in text
    assert "siunitx" not in text
    assert r"\num[" in found.to_latex(tmp_path / "c.tex", siunitx=True).read_text("utf-8")


def test_wide_tables_go_on_below() -> None:
    text = score_table(report(n_tasks=12).comparison).to_latex()
    widths = [len(columns) - 1 for columns in re.findall(r"\\begin\{tabular\}\{(lc+)\}", text)]
    assert sum(widths) == 12
    assert max(widths) - min(widths) <= 1, "about as many tasks in each part"
    assert max(widths) < 6
    assert score_table(report(n_tasks=12).comparison).to_latex(LatexLook(width=400)).count(r"\begin{tabular}") == 1


def test_long_tables_are_several_floats() -> None:
    models = [f"model {n:02}" for n in range(60)]
    text = score_table(report(1, models, 2).comparison).to_latex(LatexLook(caption="C", label="l"))
    assert text.count(r"\begin{table}") == 2
    assert text.count("(continued)") == text.count(r"\label") == 1
    assert all(text.count(f"{name} &") == 1 for name in models)


def test_failures_and_missing_cells_show() -> None:
    found = report()
    table = found.table.copy()
    table.loc[(table["task"] == "t00") & (table["model"] == "GCN") & (table["seed"] == 0), "score"] = np.nan
    table.loc[(table["task"] == "t01") & (table["model"] == "GCN"), ["score", "status"]] = [np.nan, "failed"]
    table = table[~((table["task"] == "t02") & (table["model"] == "GCN"))]
    text = score_table(BenchmarkReport.from_frame(table).comparison).to_latex()
    row = next(line for line in text.splitlines() if line.startswith("GCN &"))
    assert r"\textsuperscript{5/6}" in row
    assert "none (6 failed)" in row
    assert "& --" in row


def test_comments_name_the_runs() -> None:
    table = report().table.assign(run_id=[f"r{n}\n\\evil" for n in range(72)])
    text = score_table(BenchmarkReport.from_frame(table).comparison).to_latex()
    assert "% runs of t00, GCN: r0 " in text
    assert not [line for line in text.splitlines() if line.startswith("\\evil")]


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_any_name_stays_in_its_cell(name: str) -> None:
    for text in (tex_name(name), tex_text(name)):
        assert "\n" not in text
        assert not re.search(r"(?<!\\)[&%#$_](?!\\)", re.sub(r"\$\\(dagger|pm)\$", "", text)), text
        bare = re.sub(r"\\[{}]", "", text)
        assert bare.count("{") == bare.count("}")


def run_tex(folder: Path, body: str, *packages: str) -> str:
    used = "".join(rf"\usepackage{{{name}}}" for name in packages)
    document = rf"\documentclass{{article}}{used}\begin{{document}}{body}\end{{document}}"
    (folder / "main.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "main.tex"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=120)
    log = ended.stdout.decode("utf-8", "replace")
    assert ended.returncode == 0, log[-2000:]
    return log


@pytest.mark.slow
@NEEDS_TEX
def test_tables_compile_with_booktabs_alone(tmp_path: Path) -> None:
    found = report(n_tasks=8)
    found.to_latex(tmp_path / "scores.tex", caption="Scores", label="tab:s")
    found.to_latex(tmp_path / "plain.tex")
    found.to_latex(tmp_path / "uneven.tex", method="bootstrap", caption="Bootstrap")
    found.pairwise_to_latex(tmp_path / "pairs.tex", caption="Pairs", label="tab:p")
    names = ("scores", "plain", "uneven", "pairs")
    log = run_tex(tmp_path, "".join(rf"\noindent\input{{{name}}}\clearpage " for name in names), "booktabs")
    assert "Overfull \\hbox" not in log, "ordinary names fit on a page of the article class"


@pytest.mark.slow
@NEEDS_TEX
def test_hostile_names_compile(tmp_path: Path) -> None:
    found = report(3, HOSTILE, 4)
    table = with_values(found.table, "task", {("t00",): HOSTILE[0], ("t01",): HOSTILE[4], ("t02",): HOSTILE[8]}, "task")
    hostile = BenchmarkReport.from_frame(table.assign(run_id="r\n\\evil"))
    (tmp_path / "s.tex").write_text(score_table(hostile.comparison).to_latex(LatexLook(caption="S")), encoding="utf-8")
    (tmp_path / "v.tex").write_text(pair_table(hostile.comparison).to_latex(), encoding="utf-8")
    run_tex(tmp_path, r"\input{s}\input{v}", "booktabs")


@pytest.mark.slow
@NEEDS_TEX
def test_siunitx_compiles_where_it_is(tmp_path: Path) -> None:
    found = subprocess.run(["kpsewhich", "siunitx.sty"], capture_output=True, check=False)  # noqa: S607
    if found.returncode:
        pytest.skip("no siunitx.sty: apt-get install texlive-science")
    report().to_latex(tmp_path / "a.tex", siunitx=True, caption="S")
    run_tex(tmp_path, r"\input{a}", "booktabs", "siunitx")


@pytest.mark.slow
@NEEDS_TEX
def test_diagram_of_hostile_names_compiles(tmp_path: Path) -> None:
    latin = [name for name in HOSTILE if all(ord(sign) < 0x180 for sign in name)]
    save_cd_tikz(cd_facts_of(report(8, latin, 4).comparison), tmp_path / "cd.tex")
    run_tex(tmp_path, r"\noindent\input{cd}", "tikz")
