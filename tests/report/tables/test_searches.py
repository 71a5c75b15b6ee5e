"""Tables, page and files of a report with searches."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from real_searches import nested, report, searches
from servers import free_port

from gnz_track.errors import NothingToCompare, UnknownName
from gnz_track.records import from_json, to_json
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.bundle import write_bundle
from gnz_track.report.page import figures as page_figures
from gnz_track.report.page import searches as search_page
from gnz_track.report.page.figures import FigureSet, ShownFigure
from gnz_track.report.page.page import render_page
from gnz_track.report.page.searches import describe_search, draw_search_figures
from gnz_track.report.tables.searches import (
    search_table,
)
from gnz_track.report.tuned_models import SearchSummary, summarise_searches
from gnz_track.store.address import parse_address
from gnz_track.store.searches import SearchRecord, write_search
from gnz_track.store.writer import open_store

NO_FIGURES = FigureSet(figures=())
NEEDS_TEX = pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex: apt-get install texlive-pictures")
HOSTILE = "<script>alert(1)</script> & $x_1$ | \\input{/etc/passwd} 50 %"


def summary() -> SearchSummary:
    found = report().search_summary
    assert found is not None
    return found


def hostile() -> SearchSummary:
    one = searches()[0]
    named = replace(one, task=HOSTILE, model=HOSTILE, best={HOSTILE: HOSTILE}, borders=(HOSTILE,))
    return summarise_searches(report().table, [named])


def test_text_has_a_row_for_each_model_with_its_cost() -> None:
    text, found = search_table(summary()).to_text(), summary()
    lines = text.splitlines()
    assert re.split(r"  +", lines[0]) == list(search_table(found).columns)
    for line, one in zip(lines[1:], found.models, strict=False):
        assert line.startswith(one.task)
        assert (one.verdict or one.note) in line
        assert f"x {one.cost_ratio:.3g}" in line
    assert "planted_partition GCN chose dropout = 0.727, hidden_channels = 64, lr = 0.0321, norm = none" in text
    assert "the winner's hidden_channels is at the high end of its range" in text
    assert search_table(replace(found, models=())).to_text() == search_table(replace(found, models=())).to_markdown()


def test_frame_has_the_numbers_and_is_saved(tmp_path: Path) -> None:
    found = report().tuning()
    assert list(found["model"]) == ["GAT", "GCN", "MLP"] * 2
    models = summary().models
    assert list(found["seconds"]) == [one.seconds for one in models]
    for suffix in (".csv", ".parquet"):
        file = search_table(summary()).save(tmp_path / f"searches{suffix}")
        again = pd.read_csv(file) if suffix == ".csv" else pd.read_parquet(file)
        assert list(again["tuned"]) == pytest.approx([one.tuned for one in models])
    assert search_table(summary()).save(tmp_path / "a.md").read_text("utf-8") == search_table(summary()).to_markdown()


def test_markdown_and_latex_escape_what_users_name() -> None:
    markdown = search_table(hostile()).to_markdown()
    assert "<script>" not in markdown
    assert {len(re.findall(r"(?<!\\)\|", line)) for line in markdown.splitlines() if line.startswith("|")} == {15}
    # Comments may hold anything but the end of a line.
    latex = [line for line in search_table(hostile()).to_latex().splitlines() if not line.startswith("%")]
    assert len(latex) > 5
    assert not [line for line in latex if "\\input" in line or "$x_1$" in line]
    assert search_table(replace(summary(), models=())).to_latex().count("no search") == 1


@NEEDS_TEX
def test_latex_compiles(tmp_path: Path) -> None:
    report().tuning_to_latex(tmp_path / "searches.tex", caption="Tuned", label="tab:tuned")
    text = (tmp_path / "searches.tex").read_text("utf-8") + search_table(hostile()).to_latex()
    whole = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{text}\n\\end{{document}}\n"
    (tmp_path / "whole.tex").write_text(whole, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "whole.tex"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:]
    assert "Overfull" not in ended.stdout


def test_page_has_a_section_with_all_rows_and_figures() -> None:
    whole = report()
    drawn, _ = draw_search_figures(replace(summary(), facts=summary().facts[:1]))
    shown = [ShownFigure(name=name, title=title, task="", figure=one, is_of_search=True) for name, title, one in drawn]
    text = render_page(whole, figures=FigureSet(figures=tuple(shown)))
    start = text.index('<section id="searches">')
    section = text[start : text.index("</section>", start)]
    assert '<a href="#searches">' in text
    table = section[section.index("<tbody>") : section.index("</tbody>")]
    assert table.count("<tr>") == 6
    for one in summary().models:
        assert f"{one.tuned:.4g}" in table
    assert section.count("<figure ") == text.count("<figure ") == 4
    methods = text[text.index("<blockquote") : text.index("</blockquote>")]
    assert "over 6 searches of 24 trials" in methods
    assert "p adjusted (holm) over 5 pairs" in methods
    assert section.count('<p class="warn">') == len(summary().warnings)
    assert "expected best of 1:" in section
    assert "of the variance of the validation scores" in section


def test_page_without_searches_has_no_section() -> None:
    plain = report()
    plain.searches = ()
    text = render_page(plain, figures=NO_FIGURES)
    assert 'id="searches"' not in text
    assert "#searches" not in text


def test_page_escapes_what_users_name() -> None:
    whole = report()
    whole.searches = [replace(one, name=HOSTILE, sampler=HOSTILE, borders=(HOSTILE,)) for one in whole.searches]
    assert "<script>alert" not in render_page(whole, figures=NO_FIGURES)


def test_details_say_where_order_matters_and_what_is_not_known() -> None:
    facts = summary().facts[0]
    learned = replace(facts, search=replace(facts.search, sampler="tpe", pruner="median"))
    lines = list(describe_search(learned))
    assert "pruner median" in lines[0]
    assert "in random order" in lines[2]
    alone = summarise_searches(
        report().table,
        [
            replace(
                facts.search,
                trials=tuple(replace(t, seed_scores=dict([*t.seed_scores.items()][:1])) for t in facts.search.trials),
            )
        ],
    )
    assert "not known (every run has its own hyperparameters" in "\n".join(describe_search(alone.facts[0]))


def test_too_many_searches_are_told_of_and_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_page, "MOST_SEARCHES", 1)
    monkeypatch.setattr(search_page, "MOST_MODELS", 2)
    drawn, left_out = draw_search_figures(summary())
    assert [name for name, _, _ in drawn] == ["search_history_00", "search_importance_00"]
    assert left_out == [
        "Expected best: there are 2 tasks and 3 models",
        "Trials of a search: drawn for the first 1, 5 more are left",
    ]


def test_figures_of_searches_are_among_those_of_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_page, "MOST_SEARCHES", 0)
    monkeypatch.setattr(page_figures, "OF_ALL", ())
    monkeypatch.setattr(page_figures, "OF_TASKS", ())
    whole = report()
    drawn = page_figures.draw_figures(whole.comparison, whole.table, searches=summary())
    assert [one.name for one in drawn.of_searches] == ["expected_best", "budget_ranks"]
    assert drawn.of() == []
    assert len(drawn.left_out) == 1


def test_bundle_holds_tables_figures_and_every_trial(tmp_path: Path) -> None:
    whole = report()
    bundle = write_bundle(whole, tmp_path, figures=NO_FIGURES)
    names = {file.relative_to(tmp_path).as_posix() for file in bundle.files}
    assert {f"tables/searches.{kind}" for kind in ("csv", "md", "tex", "jsonl")} <= names
    lines = (tmp_path / "tables" / "searches.jsonl").read_text("utf-8").splitlines()
    assert tuple(from_json(SearchRecord, line) for line in lines) == whole.searches
    whole.searches = ()
    write_bundle(whole, tmp_path, figures=NO_FIGURES)
    assert not (tmp_path / "tables" / "searches.csv").exists()


def test_searches_travel_with_a_report() -> None:
    whole = report()
    again = BenchmarkReport.from_json(whole.to_json())
    assert again.searches == whole.searches
    joined = BenchmarkReport.from_json(whole.to_json()).extend(report())
    assert joined.searches == whole.searches
    plain = report()
    plain.searches = ()
    assert "searches" not in json.loads(plain.to_json())


def test_report_without_searches_says_so() -> None:
    plain = report()
    plain.searches = ()
    assert plain.search_summary is None
    for call in (plain.tuning, plain.plot_expected_best, plain.plot_rank_by_budget):
        with pytest.raises(NothingToCompare, match="no search is behind this report"):
            call()


def test_figures_of_one_search_are_asked_for_by_name() -> None:
    whole = report()
    assert "24 trials" in whole.plot_search("planted_partition", "GCN").alt_text
    assert "ranks of 24" in whole.plot_importance("planted_partition", "GCN").alt_text
    assert "24" in whole.plot_expected_best().alt_text
    assert "2 tasks" in whole.plot_rank_by_budget().alt_text
    with pytest.raises(UnknownName, match="planted_partition GCN"):
        whole.plot_search("planted_partition", "GIN")
    by_seed = nested()
    assert by_seed.plot_search("planted_partition", "GCN", seed=3).alt_text
    with pytest.raises(UnknownName, match="s9"):
        by_seed.plot_search("planted_partition", "GCN", seed=9)


def test_choices_of_the_report_hold_for_its_searches() -> None:
    whole = report()
    first = whole.search_summary
    assert first is whole.search_summary
    whole.choices = replace(whole.choices, margin=0.5)
    assert whole.search_summary is not None
    assert {one.verdict for one in whole.search_summary.models if one.verdict} <= {"equivalent", "trivial"}
    assert json.loads(to_json(whole.search_summary.choices))["margin"] == 0.5


def test_report_of_a_sweep_finds_its_searches_in_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    address = parse_address(str(tmp_path / "gnz.db"))
    kept = searches()[2:4]
    with open_store(address) as store:
        for one in (*kept, replace(kept[0], sweep="elsewhere", name="of another sweep")):
            write_search(store, one)
    whole = report()
    names = [one.name for one in kept]
    whole.table = whole.table[whole.table["search"].isin(["", *names])].reset_index(drop=True)
    found = BenchmarkReport(whole.table, seeds=whole.seeds, config=whole.config, address=address)
    assert {one.key for one in found.searches} == {one.key for one in kept}
    # A sweep that trained nothing new: its cells name searches of the one that did.
    later = BenchmarkReport(whole.table, seeds=whole.seeds, config={"sweep": "later"}, address=address)
    assert {one.key for one in later.searches} == {one.key for one in kept}
    table = whole.table.assign(search="", sweep="later")
    assert BenchmarkReport(table, seeds=whole.seeds, config={"sweep": "later"}, address=address).searches == ()


def test_report_whose_store_is_away_does_without_searches(caplog: pytest.LogCaptureFixture) -> None:
    whole = report()
    away = parse_address(f"http://127.0.0.1:{free_port()}")
    found = BenchmarkReport(whole.table, seeds=whole.seeds, config=whole.config, address=away)
    assert found.search_summary is None
    assert found.searches == ()
    assert len(caplog.messages) == 1
    assert "searches are left out: the store" in caplog.messages[0]
