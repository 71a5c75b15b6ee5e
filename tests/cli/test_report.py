"""``gnz report`` writes a folder from past runs, and puts it where MLflow shows it."""

from __future__ import annotations

import html
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cells import context_of, failed_record

from gnz_track.store.address import parse_address
from gnz_track.store.artifacts import read_artifact
from gnz_track.store.past_runs import read_sweep_run
from gnz_track.store.results_table import load_table
from gnz_track.store.writer import open_store

Gnz = Callable[..., Any]


def models_of(folder: Path) -> set[tuple[str, str]]:
    table = load_table(folder / "results.parquet")
    return set(zip(table["task"], table["model"], strict=True))


@pytest.mark.usefixtures("store_file")
def test_everything_is_written_and_the_comparison_is_printed(gnz: Gnz, tmp_path: Path) -> None:
    answer = gnz("report", "--sweep", "first", "--out", str(tmp_path / "out"))
    assert (answer.code, answer.err) == (0, "")
    assert answer.out.startswith("3 models, 2 tasks, 2 to 3 seeds, 9 of 13 cells finished: ")
    assert f"page     {tmp_path / 'out' / 'report.html'}" in answer.out
    assert "What was trained" not in answer.out
    files = {file.relative_to(tmp_path / "out").as_posix() for file in (tmp_path / "out").rglob("*.*")}
    tables = {f"tables/{name}.{kind}" for name in ("scores", "pairs", "training") for kind in ("csv", "md", "tex")}
    figures = {f"figures/forest_00.{kind}" for kind in ("svg", "pdf")}
    assert {"report.html", "results.parquet", "figures/learning_curves.svg", *tables, *figures} <= files
    assert all((tmp_path / "out" / file).stat().st_size for file in files)


@pytest.mark.usefixtures("store_file", "svg_alone")
def test_what_was_trained_is_printed_and_sizes_of_splits_are_those_of_the_runs(gnz: Gnz, tmp_path: Path) -> None:
    asked = ("--training", "--test", "nadeau_bengio")
    answer = gnz("report", "--sweep", "first", "--out", str(tmp_path / "out"), *asked)
    assert (answer.code, answer.err) == (0, "")
    assert "Nadeau-Bengio t with holm" in answer.out
    head = answer.out.split("What was trained\n")[1].splitlines()[0]
    assert head.split()[:6] == ["task", "model", "#Param", "test", "seeds", "train"]


@pytest.mark.usefixtures("store_file", "svg_alone")
def test_latest_sweep_is_taken_where_none_is_named(gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answer = gnz("report")
    assert answer.code == 0
    assert models_of(tmp_path / "reports" / "second") == {("cora", "GCN")}
    assert answer.out.startswith("1 model, 1 task, 1 seed: nothing to test across tasks")
    assert "\nsweep    second\n" in answer.out


@pytest.mark.usefixtures("svg_alone")
def test_sweep_that_found_everything_finished_is_the_latest(gnz: Gnz, tmp_path: Path) -> None:
    cells = ("--models", "MLP", "--seeds", "0-1", "--epochs", "1")
    gnz("run", "--task", "planted_partition,les_miserables", *cells)
    gnz("run", "--task", "planted_partition", *cells)
    answer = gnz("report", "--out", str(tmp_path / "out"))
    assert (answer.code, answer.err) == (0, "")
    assert models_of(tmp_path / "out") == {("planted_partition", "MLP")}
    assert answer.out.startswith("1 model, 1 task, 2 seeds")


@pytest.mark.usefixtures("store_file", "svg_alone")
@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (("--where", "model = 'GAT' and status = 'finished'"), {("cora", "GAT"), ("zinc", "GAT")}),
        (("--task", "zinc"), {("zinc", "GAT"), ("zinc", "GCN")}),
        (("--task", "zinc", "--where", "model like 'GC%'"), {("zinc", "GCN")}),
        (("--experiment", "gnz/quick/zinc"), {("zinc", "GAT"), ("zinc", "GCN")}),
    ],
)
def test_cells_are_chosen(gnz: Gnz, tmp_path: Path, selection: tuple[str, ...], expected: set[tuple[str, str]]) -> None:
    answer = gnz("report", *selection, "--out", str(tmp_path / "out"))
    assert (answer.code, answer.err) == (0, "")
    assert models_of(tmp_path / "out") == expected


@pytest.mark.usefixtures("store_file", "svg_alone")
def test_results_table_of_a_report_gives_the_same_report(gnz: Gnz, tmp_path: Path) -> None:
    first = gnz("report", "--sweep", "first", "--out", str(tmp_path / "one"))
    again = gnz("report", "--parquet", str(tmp_path / "one" / "results.parquet"), "--out", str(tmp_path / "two"))
    assert again.out.split("\npage")[0] == first.out.split("\npage")[0]
    for file in ("results.parquet", "tables/scores.csv", "tables/pairs.tex"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()


@pytest.mark.usefixtures("store_file", "svg_alone")
def test_runs_of_other_sweeps_and_files_join(gnz: Gnz, tmp_path: Path) -> None:
    gnz("report", "--sweep", "second", "--out", str(tmp_path / "second"))
    for other in ("second", str(tmp_path / "second" / "results.parquet")):
        answer = gnz("report", "--sweep", "first", "--merge", other, "--out", str(tmp_path / "out"))
        assert (answer.code, answer.err) == (0, "")
        table = load_table(tmp_path / "out" / "results.parquet")
        assert set(table["sweep"]) == {"first", "second"}
        assert 7 in set(table["seed"])


@pytest.mark.usefixtures("store_file", "svg_alone")
def test_choices_change_what_is_said(gnz: Gnz, tmp_path: Path) -> None:
    words = "--alpha 0.1 --margin 0.2 --posthoc nemenyi --test sign_flip"
    answer = gnz("report", "--sweep", "first", "--out", str(tmp_path), *words.split())
    assert "alpha 0.1, sign flip of the mean with holm over all pairs of one task, margin 0.2" in answer.out
    assert "across tasks nemenyi" in answer.out
    assert "sign-flip permutation tests" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.usefixtures("store_file", "svg_alone")
def test_command_on_the_page_writes_the_same_report(gnz: Gnz, tmp_path: Path) -> None:
    choices = "--alpha 0.1 --margin 0.2 --posthoc nemenyi --test nadeau_bengio --split-sizes 150,19"
    words = ("--sweep", "first", "--where", "model like 'G%' and seed < 2", *choices.split())
    first = gnz("report", *words, "--out", str(tmp_path / "one"))
    assert (first.code, first.err) == (0, "")
    page = (tmp_path / "one" / "report.html").read_text("utf-8")
    commands = html.unescape(page.partition('<pre id="commands">')[2].partition("</pre>")[0])
    again = gnz(*shlex.split(commands.splitlines()[-1])[1:], "--out", str(tmp_path / "two"))
    assert again.out.split("\npage")[0] == first.out.split("\npage")[0]
    assert (tmp_path / "two" / "report.html").read_text("utf-8") == page


@pytest.mark.usefixtures("svg_alone")
def test_published_report_lies_in_the_run_of_the_sweep(gnz: Gnz, store_file: Path, tmp_path: Path) -> None:
    answer = gnz("report", "--sweep", "first", "--publish", "--out", str(tmp_path / "out"))
    assert (answer.code, answer.err) == (0, "")
    address = parse_address(str(store_file))
    run = read_sweep_run(address, suite="quick", sweep="first")
    assert run is not None
    assert f"run      {run.run_id} holds it too" in answer.out
    for name in ("report.html", "figures/forest_00.svg", "tables/scores.tex"):
        assert read_artifact(address, run.artifacts, f"report/{name}") == (tmp_path / "out" / name).read_text("utf-8")


@pytest.mark.usefixtures("store_file")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--sweep", "fist"), ("unknown sweep 'fist'", "did you mean 'first'?")),
        (("--sweep", "first", "--merge", "secnd"), ("unknown sweep 'secnd'",)),
        (("--where", "model = GAT"), ("at character 9", "a text in quotes")),
        (("--where", "model = 'none'"), ("no cell in", "model = 'none'")),
        (("--where", "status = 'failed'"), ("has a score", "gnz ls --failed")),
        (("--task", "pubmed"), ("pubmed",)),
        (("--parquet", "nowhere.parquet"), ("nowhere.parquet", "a parquet file that exists")),
        (("--alpha", "5"), ("alpha is 5",)),
        (("--posthoc", "tukey"), ("unknown posthoc 'tukey'",)),
        (("--task", "cora", "--publish"), ("--publish", "one sweep")),
    ],
)
def test_mistake_is_one_line_and_no_file(
    gnz: Gnz, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    answer = gnz("report", *arguments, "--out", str(tmp_path / "out"))
    assert (answer.code, answer.out, len(answer.err.splitlines())) == (2, "", 1), answer.err
    assert all(word in answer.err for word in words), answer.err
    assert not (tmp_path / "out").exists()


def test_store_without_a_finished_cell_is_a_sentence(gnz: Gnz, tmp_path: Path) -> None:
    assert "gnz run" in gnz("report").err
    with open_store(str(tmp_path / "runs" / "gnz.db")) as store:
        store.open_sweep(context_of("first"))
        store.finish(failed_record(0, context=context_of("first")))
    answer = gnz("report")
    assert (answer.code, len(answer.err.splitlines())) == (2, 1)
    assert "no sweep in" in answer.err
