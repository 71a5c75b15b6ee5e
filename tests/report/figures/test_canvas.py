"""Figures in the style of the house: stable bytes, text as text, marks that survive grey print."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import struct
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_rgb

from gnz_track.errors import BadValue
from gnz_track.report.figures.labels import clean_name
from gnz_track.report.figures.style import (
    COLOURS,
    TEX_SYSTEMS,
    HouseFigure,
    fonts_for,
    house_style,
    marks_of,
    measure_text,
    undrawable,
    wrap_name,
    wrap_prose,
)
from gnz_track.report.tables.latex import escape_tex

MADE_HERE = ["svg", "pdf", "png"]
SCRIPT = """
import sys
from gnz_track.report.figures.style import HouseFigure
figure = HouseFigure(figsize=(2, 1))
figure.alt_text = "a line"
axes = figure.add_subplot(xlabel="seconds", ylabel="score")
axes.plot([1, 2, 3], [2, 1, 3], "o-", clip_on=True)
axes.fill_between([1, 2, 3], [1, 0, 2], [3, 2, 4], hatch="//", alpha=0.5)
figure.text(0.5, 0.9, "GCN $x_1$", parse_math=False)
figure.savefig(sys.argv[1])
"""


def plain_figure() -> HouseFigure:
    with house_style():
        figure = HouseFigure(figsize=(2, 1))
        figure.text(0.1, 0.5, "<GCN> $x_1$ & 50%", parse_math=False)
    return figure


@pytest.mark.parametrize("kind", MADE_HERE)
def test_bytes_are_the_same_in_another_process_with_other_hashes(kind: str, tmp_path: Path) -> None:
    digests = set()
    for seed in ("1", "2"):
        path = tmp_path / f"{seed}.{kind}"
        environment = {**os.environ, "PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": str(10**9 * int(seed))}
        subprocess.run([sys.executable, "-c", SCRIPT, str(path)], check=True, env=environment)
        digests.add(hashlib.sha256(path.read_bytes()).hexdigest())
    assert len(digests) == 1


def saved(figure: HouseFigure, path: Path) -> Path:
    figure.savefig(path)
    return path


def test_a_file_and_a_stream_get_the_same_bytes(tmp_path: Path) -> None:
    for kind in MADE_HERE:
        stream = io.BytesIO()
        plain_figure().savefig(stream, format=kind)
        assert saved(plain_figure(), tmp_path / f"a.{kind}").read_bytes() == stream.getvalue()


def test_settings_of_the_user_change_nothing_and_stay(tmp_path: Path) -> None:
    first = saved(plain_figure(), tmp_path / "a.svg").read_bytes()
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "path", "savefig.bbox": "tight", "text.usetex": True}):
        second = saved(plain_figure(), tmp_path / "b.svg").read_bytes()
        assert mpl.rcParams["svg.fonttype"] == "path"
    assert first == second


def test_svg_holds_text_as_text_and_no_date(tmp_path: Path) -> None:
    text = saved(plain_figure(), tmp_path / "a.svg").read_text("utf-8")
    assert "&lt;GCN&gt; $x_1$ &amp; 50%</text>" in text
    assert "dc:date" not in text


def test_pdf_holds_truetype_fonts_and_no_date(tmp_path: Path) -> None:
    content = saved(plain_figure(), tmp_path / "a.pdf").read_bytes()
    assert b"/CIDFontType2" in content
    assert b"/Type3" not in content
    assert b"CreationDate" not in content


def test_png_has_the_size_of_the_figure(tmp_path: Path) -> None:
    content = saved(plain_figure(), tmp_path / "a.png").read_bytes()
    assert struct.unpack(">II", content[16:24]) == (400, 200)


@pytest.mark.parametrize("kind", MADE_HERE)
def test_file_says_what_it_shows(kind: str, tmp_path: Path) -> None:
    figure = plain_figure()
    figure.alt_text = "Mean ranks of four models"
    assert b"Mean ranks of four models" in saved(figure, tmp_path / f"a.{kind}").read_bytes()


def test_metadata_of_the_caller_come_first() -> None:
    stream = io.BytesIO()
    plain_figure().savefig(stream, format="svg", metadata={"Creator": "someone"})
    assert b"someone" in stream.getvalue()


@pytest.mark.skipif(any(shutil.which(name) for name in TEX_SYSTEMS), reason="a TeX system is installed")
def test_pgf_without_tex_says_what_to_install(tmp_path: Path) -> None:
    figure = plain_figure()
    with pytest.raises(BadValue, match=r"pdflatex.*\.svg.*texlive"):
        saved(figure, tmp_path / "a.pgf")
    assert figure.texts[0].get_text() == "<GCN> $x_1$ & 50%"


@pytest.mark.slow
@pytest.mark.skipif(not any(shutil.which(name) for name in TEX_SYSTEMS), reason="no TeX system is installed")
def test_pgf_escapes_literal_text(tmp_path: Path) -> None:
    figure = plain_figure()
    assert r"\$x\_1\$" in saved(figure, tmp_path / "a.pgf").read_text("utf-8")
    assert figure.texts[0].get_text() == "<GCN> $x_1$ & 50%"


def test_no_two_models_share_a_mark() -> None:
    marks = marks_of([f"m{n}" for n in range(252)])
    assert len(set(marks.values())) == 252


def test_neighbours_differ_in_marker_and_line_so_that_grey_print_tells_them_apart() -> None:
    marks = list(marks_of([f"m{n}" for n in range(36)]).values())
    assert len({(mark.marker, mark.line) for mark in marks}) == 36


def test_colours_stand_out_from_white_and_differ_in_hue() -> None:
    def luminance(colour: str) -> float:
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    # 2 : 1 for large marks; text is black or dark grey.
    assert all(1.05 / (luminance(colour) + 0.05) > 2.0 for colour in COLOURS)
    assert all(
        max(abs(a - b) for a, b in zip(to_rgb(one), to_rgb(other), strict=True)) > 0.1
        for one, other in combinations(COLOURS, 2)
    )


@given(st.text(min_size=1, max_size=30), st.sampled_from([6.0, 8.0, 12.0]))
def test_text_is_measured_in_proportion_to_its_size(text: str, size: float) -> None:
    name = clean_name(text)
    small, large = measure_text(name, size), measure_text(name, 2 * size)
    assert large.width == pytest.approx(2 * small.width, rel=0.02, abs=0.2)


def test_missing_characters_are_named_and_drawn_as_boxes() -> None:
    assert undrawable(["GCN", "a\u05d0", "b\u0378"]) == ("\u0378",)
    assert fonts_for("GCN") == ("DejaVu Sans",)
    assert measure_text("\u0378\u0378", 8.0).width > 0


@given(st.text(max_size=60), st.floats(20.0, 200.0))
def test_wrapped_names_lose_nothing_but_blanks_and_fit(text: str, width: float) -> None:
    name = clean_name(text)
    lines = wrap_name(name, width, size=8.0)
    assert "".join("".join(lines).split()) == "".join(name.split())
    assert all(measure_text(line, 8.0).width <= width or len(line) == 1 for line in lines)
    assert all(lines)


def test_prose_is_wrapped_at_spaces_only() -> None:
    text = "p = 1.25 and 3.75 are numbers, and m\u00a0=\u00a06 holds together"
    lines = wrap_prose(text, 60.0, size=8.0)
    assert len(lines) > 3
    assert " ".join(lines) == text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("GCN", "GCN"),
        (" a\t\n b ", "a b"),
        ("", "(no name)"),
        ("\u202eabc", "abc"),
        ("a\x00\ud800\uffff", "a\ufffd\ufffd\ufffd"),
        ("\u05e9\u05dc\u05d5\u05dd", "\u05e9\u05dc\u05d5\u05dd"),
    ],
)
def test_names_are_one_line_of_visible_characters(name: str, shown: str) -> None:
    assert clean_name(name) == shown


def test_tex_prints_every_sign_of_ascii() -> None:
    text = "".join(chr(code) for code in range(32, 127))
    left = escape_tex(text)
    for command in (
        "\\textbackslash{}",
        "\\textasciitilde{}",
        "\\textasciicircum{}",
        "\\textless{}",
        "\\textgreater{}",
    ):
        assert command in left
        left = left.replace(command, "")
    for sign in "{}$&#%_":
        assert f"\\{sign}" in left
        left = left.replace(f"\\{sign}", "")
    for command in ("\\textbar{}", "{\\char34}", "{\\char96}", "'{}", "-{}", ",{}"):
        assert command in left
        left = left.replace(command, "")
    assert not set(left) & set("\\{}$&#%_~^<>|\"'`")


def test_tex_joins_no_signs_into_others() -> None:
    assert escape_tex("a--b''") == "a-{}-{}b'{}'{}"
