"""The diagram as TikZ: the same layout, names escaped, and it compiles where there is a TeX."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from diagrams import make_scores, nemenyi_facts, random_facts

from gnz_track.report.figures.critical_difference.content import CdFacts
from gnz_track.report.figures.critical_difference.draw import save_cd_tikz, write_cd_tikz
from gnz_track.report.figures.critical_difference.layout import CdLook, lay_out_cd
from gnz_track.stats.ranking.groups import group_by_nemenyi

HOSTILE = ["a_b%c&d#e$f{g}h~i^j\\k", "<script>|\"`'--", "$x_1$", "\\input{secret}"]


def hostile_facts() -> CdFacts:
    return nemenyi_facts(make_scores(4, n_tasks=12), HOSTILE)


def test_every_name_line_bar_and_dot_is_in_the_picture() -> None:
    for facts in (random_facts(14, seed=3), random_facts(30, seed=3)):
        layout = lay_out_cd(facts)
        text = write_cd_tikz(facts)
        assert text.count(r"\draw") == len(layout.strokes) + len(layout.bars)
        assert text.count(r"\fill") == len(layout.dots) + sum(len(bar.spots) for bar in layout.bars)
        assert text.count(r"\node") == sum(label.role != "caption" for label in layout.labels)
        assert f"% {' '.join(layout.caption.split())}" == text.splitlines()[0]


def test_picture_is_balanced_and_ends() -> None:
    text = write_cd_tikz(random_facts(14, seed=1))
    assert text.count("{") == text.count("}")
    assert re.search(r"^\\begin\{tikzpicture\}", text, re.MULTILINE)
    assert text.endswith("\\end{tikzpicture}\n")


def test_points_lie_in_the_bounding_box() -> None:
    layout = lay_out_cd(random_facts(30, seed=2))
    body = write_cd_tikz(random_facts(30, seed=2)).split("\n", 4)[4]
    points = [(float(x), float(y)) for x, y in re.findall(r"\((-?[\d.]+), (-?[\d.]+)\)", body)]
    assert len(points) > 100
    assert all(0 <= x <= layout.width and 0 <= y <= layout.height for x, y in points)


def test_hostile_names_are_escaped() -> None:
    text = write_cd_tikz(hostile_facts())
    assert r"{a\_b\%c\&d\#e\$f\{g\}h\textasciitilde{}i\textasciicircum{}j\textbackslash{}k};" in text
    assert r"{\$x\_1\$};" in text
    assert r"{\textbackslash{}input\{secret\}};" in text
    assert r"{\textless{}script\textgreater{}\textbar{}{\char34}{\char96}'{}-{}-{}};" in text


def test_a_name_cannot_leave_the_comment() -> None:
    facts = CdFacts(groups=hostile_facts().groups, n_tasks=12, dropped_models=("a\n\\input{x}",), notes=("b\n\\c",))
    first, _, second = write_cd_tikz(facts).split("\n", 3)[:3]
    assert first.startswith("%")
    assert "input{x}" in first
    assert second.startswith(r"\begin{tikzpicture}")


def test_one_task_is_a_picture_of_words() -> None:
    groups = group_by_nemenyi([1.0, 2.0], models=["A", "B"], n_tasks=1)
    text = write_cd_tikz(CdFacts(groups=groups, n_tasks=1))
    assert "No critical-{}difference diagram: 2 models" in text.split(r"\begin{tikzpicture}")[1]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is installed")
@pytest.mark.parametrize("shape", ["elbows", "list"])
def test_picture_compiles_with_tikz_alone(shape: str, tmp_path: Path) -> None:
    save_cd_tikz(hostile_facts(), tmp_path / "cd.tex", look=CdLook(shape=shape))
    document = "\\documentclass{article}\\usepackage{tikz}\\begin{document}\\input{cd.tex}\\end{document}"
    (tmp_path / "main.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "main.pdf").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex is installed")
def test_names_in_other_scripts_stop_no_document(tmp_path: Path) -> None:
    names = ["\u043c\u043e\u0434\u0435\u043b\u044c", "\u6a21\u578b", "\u0646\u0645\u0648\u0630\u062c", "caf\u00e9"]
    groups = group_by_nemenyi([1.0, 2.0, 3.0, 4.0], models=names, n_tasks=12)
    save_cd_tikz(CdFacts(groups=groups, n_tasks=12), tmp_path / "cd.tex")
    document = "\\documentclass{article}\\usepackage{tikz}\\begin{document}\\input{cd.tex}\\end{document}"
    (tmp_path / "main.tex").write_text(document, encoding="utf-8")
    command = ["pdflatex", "-no-shell-escape", "-interaction=nonstopmode", "-halt-on-error", "main.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
