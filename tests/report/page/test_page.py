"""The page of a report: one file that holds, whatever names and gaps a table has."""

from __future__ import annotations

import base64
import hashlib
import html
import html.parser
import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from score_tables import table_of, with_values

from gnz_track.errors import MetricsMixed, NothingToCompare
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.page.figures import FigureSet
from gnz_track.report.page.methods import look_ahead, write_summary
from gnz_track.report.page.page import render_page, write_page
from gnz_track.stats.comparison.choices import choose
from gnz_track.stats.comparison.compare import compare

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><b>bold",
    """quotes "double" and 'single' `back`""",
    "../../etc/passwd",
    "x" * 200,
    "\u05d0\u05d1\u05d2 \u202eright to left",
    "{{ 7 * 7 }} {% raw %} $x_1$ 50 % & \\n <!-- -->",
    "\u2028 line \u2029 ends ]]>",
)
NO_FIGURES = FigureSet(figures=())
VOID = frozenset({"meta", "input", "br", "use", "path"})


class Reader(html.parser.HTMLParser):
    """Which elements a page has, their attributes, and its visible text; elements must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.parts: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] in {"script", "style"}:
            self.parts[self._open[-1] + self.tags[-1][1].get("id", "")] = data
        else:
            self.text.append(data)

    @property
    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.parts["scriptdata"])
        return found

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def scores(n_tasks: int = 3, n_models: int = 3, n_seeds: int = 5, *, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    means = np.linspace(0.6, 0.7, n_models)[None, :, None]
    return means + generator.normal(scale=0.03, size=(n_tasks, n_models, n_seeds))


def report_of(table: pd.DataFrame) -> BenchmarkReport:
    return BenchmarkReport.from_frame(table)


def read(table: pd.DataFrame, **options: Any) -> Reader:
    return Reader(render_page(report_of(table), figures=NO_FIGURES, **options))


def with_runs(table: pd.DataFrame) -> pd.DataFrame:
    return table.assign(run_id=[f"{place:032x}" for place in range(len(table))])


def test_every_number_leads_back_to_its_runs() -> None:
    table = with_runs(table_of(scores()))
    data = read(table, ui="http://127.0.0.1:5005").data
    assert data["ui"] == "http://127.0.0.1:5005"
    found = {
        (task["name"], data["models"][model], seed): (score, run)
        for task in data["tasks"]
        for model, seeds, values, runs in task["cells"]
        for seed, score, run in zip(seeds, values, runs, strict=True)
    }
    rows = table.set_index(["task", "model", "seed"])
    assert found == {key: (row.score, row.run_id) for key, row in zip(rows.index, rows.itertuples(), strict=True)}


def test_every_score_and_every_pair_of_the_comparison_is_on_the_page() -> None:
    table = table_of(scores())
    comparison, page = compare(table), read(table)
    for task in comparison.tasks:
        for cell in task.cells:
            assert f"{cell.mean:.4g}" in page.words
    data = page.data
    for task, shown in zip(comparison.tasks, data["tasks"], strict=True):
        pairs = shown["pairs"]
        names = [(data["models"][a], data["models"][b]) for a, b in zip(pairs["a"], pairs["b"], strict=True)]
        assert names == [(pair.first, pair.second) for pair in task.pairs]
        letters = {"different": "AB", "undetermined": "u"}
        assert all(letter in letters[pair.verdict] for letter, pair in zip(pairs["v"], task.pairs, strict=True))
        for letter, pair in zip(pairs["v"], task.pairs, strict=True):
            if letter in "AB":
                assert (letter == "A") == (pair.effects.mean.mean > 0)


def test_models_without_a_rank_stand_behind_those_that_have_one() -> None:
    table = table_of(scores(n_models=3))
    is_on_one_task = (table["model"] != "m02") | (table["task"] == table["task"].iloc[0])
    for cells, n_ranked, last in ((table, 3, "m00"), (table[is_on_one_task], 2, "m02")):
        data = read(cells).data
        assert (data["n_ranked"], len(data["models"]), data["models"][-1]) == (n_ranked, 3, last)


def test_page_asks_no_network_for_anything() -> None:
    page = Reader(render_page(report_of(with_runs(table_of(scores())))))
    loading = {"link", "img", "iframe", "object", "embed", "image", "base"}
    assert not loading & {tag for tag, _ in page.tags}
    for tag, attributes in page.tags:
        for name in ("src", "href", "xlink:href", "action"):
            assert attributes.get(name, "#").startswith("#"), (tag, attributes)
    [policy] = [attributes["content"] for tag, attributes in page.tags if "http-equiv" in attributes]
    assert "default-src 'none'" in policy
    digest = base64.b64encode(hashlib.sha256(page.parts["script"].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy, "only the page's own script runs"
    assert "url(" not in page.parts["style"]
    assert "localStorage" not in page.parts["script"]


@pytest.mark.parametrize("column", ["model", "task"])
def test_hostile_names_are_texts_and_nothing_else(column: str) -> None:
    table = with_runs(table_of(scores(3, 3)))
    plain = read(table)
    for name in HOSTILE:
        old = table[column].iloc[0]
        page = read(table.assign(**{column: table[column].replace(old, name)}))
        assert name in (page.data["models"] if column == "model" else [task["name"] for task in page.data["tasks"]])
        assert " ".join(name.split()) in page.words
        for tag in ("script", "b", "table", "svg"):
            assert page.count(tag) == plain.count(tag), (name, tag)


def test_a_pair_that_was_left_out_is_listed_once_with_its_reason() -> None:
    table = with_runs(table_of(scores(3, 2)))
    (task, other), model = sorted(set(table["task"]))[:2], "m01"
    is_absent = (table["model"] == model) & table["task"].isin([task, other])
    report = report_of(table[~is_absent])
    report.config["left_out"] = ((task, model, "it serves graph_cls"),)
    words = Reader(render_page(report, figures=NO_FIGURES)).words
    assert words.count("left out: it serves graph_cls") == 1
    assert words.count("not run on this task") == 1, "of the other task nobody knows why"


def test_hostile_reasons_and_metrics_are_texts() -> None:
    table = with_runs(table_of(scores(2, 2), metric="<i>acc</i>", status="finished", error=""))
    table.loc[0, ["status", "error", "score"]] = ["failed", "</script><script>boom()</script>", np.nan]
    page = read(table)
    assert page.count("i") == 0
    assert page.count("script") == 2
    assert "</script><script>boom()</script>" in page.words
    [row] = page.data["tasks"][0]["failed"]
    assert row == [page.data["models"].index("m00"), 0, f"{0:032x}", "</script><script>boom()</script>"]


@pytest.mark.parametrize("column", ["model", "task", "error"])
def test_control_characters_can_be_read(column: str) -> None:
    table = with_runs(table_of(scores(2, 2), status="finished", error="broken"))
    table.loc[0, ["status", "score"]] = ["failed", np.nan]
    old = table[column].iloc[0]
    text = render_page(
        report_of(table.assign(**{column: table[column].replace(old, "\x1b[31mred\x07\x9b0m")})), figures=NO_FIGURES
    )
    assert not {sign for sign in text if unicodedata.category(sign) == "Cc"} - {"\n", "\t"}
    page = Reader(text)
    assert r"\x1b[31mred\x07\x9b0m" in page.words
    assert r"\x1b[31mred\x07\x9b0m" in str(page.data).replace("\\\\", "\\")


def test_half_a_character_does_not_break_the_file(tmp_path: Path) -> None:
    # Texts of tables cannot hold one, but what JSON spells out can.
    table = table_of(scores(2, 2), hyperparameters="{}")
    table.loc[table["model"] == "m00", "hyperparameters"] = '{"sign": "\\ud83d"}'
    changed = with_values(table, "model", {("m00",): "m01"}, "model")
    file = write_page(report_of(changed), tmp_path / "report.html", figures=NO_FIGURES)
    assert "m01 sign=?" in Reader(file.read_text("utf-8")).words


@pytest.mark.parametrize(
    ("n_tasks", "n_models", "n_seeds", "words"),
    [
        (1, 3, 5, "3 models, 1 task, 5 seeds: nothing to test across tasks"),
        (3, 1, 5, "1 model, 3 tasks, 5 seeds: nothing to test across tasks"),
        (3, 3, 1, "3 models, 3 tasks, 1 seed:"),
        (1, 1, 1, "1 model, 1 task, 1 seed:"),
    ],
)
def test_little_is_a_page(n_tasks: int, n_models: int, n_seeds: int, words: str) -> None:
    page = Reader(render_page(report_of(table_of(scores(n_tasks, n_models, n_seeds)))))
    assert words in page.words


def test_nothing_is_a_sentence_and_no_file(tmp_path: Path) -> None:
    empty = table_of(scores())[:0]
    with pytest.raises(NothingToCompare, match="no row"):
        report_of(empty)
    failed = table_of(scores(), status="failed").assign(score=np.nan)
    with pytest.raises(NothingToCompare, match="none of the 45 cells has a score"):
        write_page(report_of(failed), tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


def test_mixed_directions_of_one_task_are_refused_and_of_several_tasks_are_shown() -> None:
    table = table_of(scores(2, 2))
    with pytest.raises(MetricsMixed):
        read(with_values(table, "direction", {("t00", 0): "down"}, "task", "seed"))
    mixed = with_values(table, "direction", {("t00",): "down"}, "task")
    page = read(with_values(mixed, "metric", {("t00",): "mae"}, "task"))
    assert [task["direction"] for task in page.data["tasks"]] == ["down", "up"]
    assert "mae \u2193" in page.words
    assert "accuracy \u2191" in page.words


def test_failed_and_missing_cells_are_listed_with_their_reasons() -> None:
    table = with_runs(table_of(scores(2, 2), status="finished", error=""))
    table.loc[0, ["status", "error", "score"]] = ["failed", "Diverged: loss is nan", np.nan]
    page = read(table.drop(index=19))
    assert "1 failed, 0 missing of 5" in page.words
    assert "0 failed, 1 missing of 5" in page.words
    assert "Diverged: loss is nan" in page.words
    assert "18 of 20 cells finished; 1 failed, 1 missing" in page.words


def test_figures_stand_in_the_page_with_words_for_those_who_do_not_see_them() -> None:
    page = Reader(render_page(report_of(table_of(scores()))))
    described = [attributes for tag, attributes in page.tags if attributes.get("role") == "img"]
    assert len(described) == page.count("svg") >= 4
    assert all(len(attributes["aria-label"]) > 20 for attributes in described)
    names = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(set(names)) == len(names)
    used = {
        found
        for _, attributes in page.tags
        for value in attributes.values()
        for found in re.findall(r"url\(#(.*?)\)", value)
    }
    assert used <= set(names)


def test_figures_that_nobody_could_read_are_left_out_with_words() -> None:
    page = Reader(render_page(report_of(table_of(scores(2, 40, 3)))))
    assert "Not drawn: Paired differences: 2 tasks have more than 8 models" in page.words
    assert page.count("svg") <= 4


def test_equal_reports_give_equal_bytes() -> None:
    report = report_of(with_runs(table_of(scores())))
    assert render_page(report) == render_page(report_of(report.table))


def test_what_was_made_in_python_is_repeated_by_its_runs() -> None:
    table = with_runs(table_of(scores(2, 2, 3), sweep="s", suite="custom", protocol="graphnetz@1"))
    table["task"] = table["task"].map({"t00": "cora", "t01": "my_rings"})
    table["model"] = table["model"].map({"m00": "GCN", "m01": "MyNet"})
    words = read(table).words
    assert "gnz run --task cora --models GCN --seeds 0-2" in words
    own = [table["run_id"][(table["task"] == task) & (table["model"] == model)].iloc[0] for task, model in OWN]
    assert all(f"gnz reproduce {run_id}" in words for run_id in own)
    assert words.count("gnz reproduce ") == len(OWN) + 1


OWN = (("cora", "MyNet"), ("my_rings", "GCN"), ("my_rings", "MyNet"))


def test_sentence_says_what_more_seeds_would_settle() -> None:
    comparison = compare(table_of(scores(4, 3, 4, seed=1)))
    undetermined = [pair for pair in comparison.pairs if str(pair.verdict) == "undetermined"]
    needed = [pair.seeds_for_observed - pair.n_pairs for pair in undetermined if pair.seeds_for_observed is not None]
    found = re.fullmatch(r"(\d+) more seeds would settle (\d+) of them", look_ahead(comparison))
    assert found is not None
    n_more, n_settled = map(int, found.groups())
    assert len(undetermined) > n_settled == sum(max(1, more) <= n_more for more in needed) >= len(undetermined) / 2
    assert f"; {found[0]}." in write_summary(comparison)


def test_where_it_comes_from_and_how_to_get_it_again_is_told() -> None:
    columns = {
        "sweep": "quick-1",
        "suite": "quick",
        "protocol": "graphnetz@1",
        "epochs": 80,
        "version": "0.1",
        "git_commit": "c" * 40,
        "git_dirty": "true",
        "dataset": "cora",
        "dataset_digest": "d" * 32,
    }
    table = table_of(scores(2, 2, 3), **columns)
    table["task"] = table["task"].map({"t00": "cora", "t01": "pubmed"})
    table["model"] = table["model"].map({"m00": "GAT", "m01": "GCN"})
    page = read(table)
    assert "gnz run --task cora,pubmed --models GAT,GCN --seeds 0-2 --protocol graphnetz --epochs 80" in page.words
    assert "gnz report --sweep quick-1" in page.words
    assert f"{'c' * 40} with changes that were not committed" in page.words
    assert "d" * 32 in page.words
    assert "Holm's procedure (Holm 1979)" in page.words
    assert "S. Holm. A simple sequentially rejective" in page.words


def test_own_models_are_called_by_their_import_path_and_what_no_flag_makes_by_its_run() -> None:
    table = table_of(scores(1, 4, 2), suite="quick", sweep="quick-1", protocol="graphnetz@1", epochs=80)
    table["task"], table["hyperparameters"] = "cora", "{}"
    names = dict(zip(sorted(set(table["model"])), ("GCN", "MyNet", "Renamed", "GAT"), strict=True))
    table["model"] = table["model"].map(names)
    paths = {"GCN": "gnz_track.models.gcn:GCN", "MyNet": "mine.nets:MyNet", "Renamed": "mine.nets:MyNet"}
    table["model_source"] = table["model"].map(paths).fillna("gnz_track.models.gat:GAT")
    table.loc[table["model"] == "GAT", "hyperparameters"] = '{"heads": 2, "hidden_channels": 8, "budget": 900}'
    table["run_id"] = [f"{number:032x}" for number in range(len(table))]
    commands = html.unescape(render_page(report_of(table), figures=NO_FIGURES).partition('<pre id="commands">')[2])
    first, *others = commands.partition("</pre>")[0].splitlines()
    assert first == "gnz run --task cora --models GCN,mine.nets:MyNet --seeds 0-1 --protocol graphnetz --epochs 80"
    assert others[0] == (
        "gnz run --task cora --models GAT --seeds 0-1 --protocol graphnetz --epochs 80 --set heads=2 --set budget=900"
    )
    assert sum(line.startswith("gnz reproduce") for line in others) == 1


@pytest.mark.parametrize(
    ("config", "choices", "line"),
    [
        ({}, {}, "gnz report --sweep quick-1"),
        ({"sweep": "later"}, {"alpha": 0.1}, "gnz report --sweep later --alpha 0.1"),
        ({"sweep": "later", "merged": [{}]}, {"margin": 1e-05}, "gnz report --sweep quick-1 --margin 1e-05"),
        ({"task": "cora", "condition": "seed < 3"}, {}, "gnz report --sweep quick-1 --task cora --where 'seed < 3'"),
        (
            {"store": "runs.db"},
            {"test": "nadeau_bengio", "split_sizes": (150, 19), "posthoc": "nemenyi"},
            "gnz report --sweep quick-1 --posthoc nemenyi --test nadeau_bengio --split-sizes 150,19 --store runs.db",
        ),
        (
            {},
            {"test": "sign_flip", "family": "all", "margin": {"accuracy": 0.01}},
            "# chosen in Python, where no flag is: margin={'accuracy': 0.01}, family='all'",
        ),
    ],
)
def test_report_is_asked_for_again_as_it_was(config: dict[str, Any], choices: dict[str, Any], line: str) -> None:
    table = table_of(scores(1, 2, 3), sweep="quick-1", protocol="graphnetz@1", suite="quick")
    report = report_of(table)
    report.config |= config
    report.choices = choose(report.choices, choices)
    page = render_page(report, figures=NO_FIGURES)
    assert html.unescape(page.partition('<pre id="commands">')[2].partition("</pre>")[0]).splitlines()[-1] == line
