"""The page of a report in a real browser: sorted, filtered, asked for its runs, on its own and inside MLflow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium import Tab, open_browser

from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.report.bundle import publish_bundle, write_bundle
from gnz_track.store.address import parse_address
from gnz_track.store.ui import UserInterface, choose_port, serve
from gnz_track.store.writer import open_store

sys.path.append(str(Path(__file__).parents[1] / "store"))
pytestmark = pytest.mark.slow

MODELS = ("GCN", "GAT", "MLP", "GraphSAGE")
ADVANTAGES = {"GCN": 0.03, "GAT": 0.031, "MLP": 0.0, "GraphSAGE": 0.02}
NOISE = (0.004, -0.003, 0.001, 0.006, -0.005)


@pytest.fixture(scope="module")
def tab() -> Iterator[Tab]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def interface(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UserInterface]:
    """Return MLflow's user interface on a store with one sweep."""
    from cells import REGRESSION, TASK, cell_of, context_of, failed_record, finished, result_of

    address = parse_address(str(tmp_path_factory.mktemp("store") / "gnz.db"))
    context = context_of("first")
    with open_store(address) as store:
        sweep_run = store.open_sweep(context)
        for task in (TASK, REGRESSION):
            for place, model in enumerate(MODELS):
                for seed, noise in enumerate(NOISE):
                    score = 0.7 + ADVANTAGES[model] + noise + NOISE[(seed * place) % 5] / 3
                    metric = {"node_cls": "accuracy", "graph_reg": "mae"}[task.task_type]
                    result = result_of(cell_of(model, seed, task=task), score=score, scores={metric: score})
                    store.finish(finished(result, context=context))
        store.finish(failed_record(5, model="GAT", context=context))
        store.close_sweep(sweep_run)
    with serve(address, port=choose_port(5050)) as served:
        yield served


@pytest.fixture(scope="module")
def published(interface: UserInterface, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Return the page as an address of this machine, and the run that holds it too."""
    report = BenchmarkReport.from_store(interface.address, sweep="first")
    bundle = write_bundle(report, tmp_path_factory.mktemp("report"), ui=interface.url)
    run_id = publish_bundle(bundle, interface.address, suite="quick", sweep="first")
    return bundle.page.as_uri(), run_id


@pytest.fixture
def page(tab: Tab, published: tuple[str, str]) -> Tab:
    tab.resize(1200, 900)
    tab.pipe.said.clear()
    tab.pipe.asked.clear()
    tab.open(published[0])
    return tab


def column(page: Tab, table: str, place: int) -> list[str]:
    cells = f"[...document.querySelectorAll('#{table} tbody tr')].filter((row) => !row.hidden)"
    found: list[str] = page.ask(f"{cells}.map((row) => row.cells[{place}].textContent.trim())")
    return found


def test_page_runs_without_an_error_and_asks_for_nothing(page: Tab, published: tuple[str, str]) -> None:
    assert page.pipe.asked == [published[0]]
    assert page.pipe.said == []
    assert "4 models, 2 tasks, 5 to 6 seeds" in page.ask("document.querySelector('.sentence').textContent")


def test_click_and_enter_sort_a_table(page: Tab) -> None:
    header = "#score-table thead th:nth-child(2) button"
    page.click(header)
    rising = column(page, "score-table", 1)
    assert [float(text) for text in rising] == sorted(float(text) for text in rising)
    assert page.ask("document.querySelector('#score-table th:nth-child(2)').getAttribute('aria-sort')") == "ascending"
    page.ask(f"document.querySelector({header!r}).focus()")
    page.press("Enter", code=13, text="\r")
    assert column(page, "score-table", 1) == rising[::-1]
    page.click("#score-table thead th:first-child button")
    assert column(page, "score-table", 0) == sorted(MODELS, key=str.lower)


def test_typing_filters_a_table(page: Tab) -> None:
    page.click("input[aria-controls=score-table]")
    page.type("gra")
    assert column(page, "score-table", 0) == ["GraphSAGE"]
    assert page.ask("document.getElementById('score-table-count').textContent") == "1 of 4 rows"


def test_order_of_the_matrix_is_said(page: Tab, published: tuple[str, str], tmp_path: Path) -> None:
    count = "document.getElementById('matrix-count').textContent"
    assert page.ask(count) == "4 models: 4 by mean rank, best first"
    text = Path(published[0].removeprefix("file://")).read_text()
    unranked = tmp_path / "unranked.html"
    assert '"n_ranked":4' in text
    unranked.write_text(text.replace('"n_ranked":4', '"n_ranked":3'))
    page.open(unranked.as_uri())
    said = "4 models: 3 by mean rank, best first, then 1 not ranked, as not on every task of the ranks"
    assert page.ask(count) == said


def test_matrix_shows_the_task_that_is_chosen(page: Tab) -> None:
    page.ask(
        "(() => { const chosen = document.getElementById('matrix-task'); chosen.value = '0';"
        " chosen.dispatchEvent(new Event('input', {bubbles: true})); })()"
    )
    labels = page.ask("[...document.querySelectorAll('#matrix button')].map((one) => one.getAttribute('aria-label'))")
    assert len(labels) == 12
    assert any("row is better" in label for label in labels)
    assert "GAT against MLP: row is better" in labels
    assert "MLP against GAT: column is better" in labels


def test_pairs_of_a_task_are_listed_when_they_are_asked_for(page: Tab) -> None:
    assert page.ask("document.querySelectorAll('#pairs-0 tbody tr').length") == 0
    page.click("#task-0 > summary")
    page.click("#task-0 > details > summary")
    page.wait("document.querySelectorAll('#pairs-0 tbody tr').length === 6")
    page.click("#task-0 [data-pairs] input")
    page.type("mlp undetermined")
    assert len(column(page, "pairs-0", 0)) < 6


def test_run_behind_a_number_opens_in_mlflow(page: Tab, interface: UserInterface) -> None:
    page.click("button.cell[aria-label^='GAT: ']")
    assert page.ask("document.getElementById('panel').open")
    assert len(column(page, "runs", 0)) == 6
    assert "failed: ValueError: odd" in " ".join(column(page, "runs", 4))
    rows = "[...document.querySelectorAll('#runs tbody tr')]"
    of_seed = f"{rows}.filter((row) => row.cells[2].textContent === '3')"
    [run] = page.ask(f"{of_seed}.map((row) => row.querySelector('a').href)")
    assert run.startswith(f"{interface.url}/#/runs/")
    page.press("Escape", code=27)
    assert not page.ask("document.getElementById('panel').open")
    page.open(run)
    page.wait("document.body.innerText.includes('GAT s3')")
    assert "/runs/" in page.ask("location.hash")


def test_everything_can_be_reached_by_keys(page: Tab) -> None:
    page.ask("document.querySelector('#score-table tbody button.cell').focus()")
    page.press("Enter", code=13, text="\r")
    assert page.ask("document.getElementById('panel').open")
    page.press("Escape", code=27)
    assert page.ask("document.activeElement.className") == "cell"
    unreachable = page.ask(
        "[...document.querySelectorAll('button, a, input, select')].filter((one) => one.tabIndex < 0).length"
    )
    assert unreachable == 0


@pytest.mark.parametrize("width", [390, 900, 1600])
def test_nothing_is_wider_than_the_window(page: Tab, width: int) -> None:
    page.resize(width, 900)
    page.ask("for (const one of document.querySelectorAll('details')) one.open = true")
    assert page.ask("document.documentElement.scrollWidth <= window.innerWidth")


def test_print_opens_what_is_closed(page: Tab) -> None:
    page.ask("dispatchEvent(new Event('beforeprint'))")
    assert page.ask("document.querySelectorAll('details:not([open])').length") == 0
    assert page.ask("document.querySelectorAll('#pairs-0 tbody tr').length") == 6
    page.ask("dispatchEvent(new Event('afterprint'))")
    assert page.ask("document.querySelectorAll('details[open]').length") == 0


# By the formula of WCAG 2.
CONTRAST = """
(() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const line = (one) => one <= .04045 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * line(r / 255) + .7152 * line(g / 255) + .0722 * line(b / 255);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const found = parse(getComputedStyle(one).backgroundColor);
      if (found.length < 4 || found[3] === 1) return found;
    }
    return [255, 255, 255];
  };
  const ratio = (one) => {
    const pair = [light(parse(getComputedStyle(one).color)), light(behind(one))].sort((a, b) => b - a);
    return (pair[0] + .05) / (pair[1] + .05);
  };
  const hasText = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const shown = [...document.querySelectorAll('body *')].filter((one) => !one.closest('svg, script, style'));
  const texts = shown.filter(hasText).map((one) => [ratio(one), one.textContent.slice(0, 40)]);
  return [texts.length, texts.filter(([ratio]) => ratio < 4.5)];
})()
"""


def test_every_text_stands_out_from_what_is_behind_it(page: Tab) -> None:
    n_texts, faint = page.ask(CONTRAST)
    assert n_texts > 100
    assert faint == []


def test_page_works_inside_the_artifact_view(tab: Tab, interface: UserInterface, published: tuple[str, str]) -> None:
    tab.resize(1600, 1000)
    tab.pipe.frames.clear()
    tab.open(f"{interface.url}/#/runs/{published[1]}")
    tab.wait("location.hash.includes('/experiments/')")
    experiment = tab.ask("location.hash").split("/")[2]
    tab.open(f"{interface.url}/#/experiments/{experiment}/runs/{published[1]}/artifacts/report/report.html")
    frame = tab.frame()
    frame.wait("document.readyState === 'complete' && document.getElementById('score-table') !== null")
    frame.ask("document.querySelector('#score-table thead th:nth-child(2) button').click()")
    rising: list[Any] = [float(text) for text in column(frame, "score-table", 1)]
    assert rising == sorted(rising)
    frame.ask("document.querySelector('#score-table tbody button.cell').click()")
    assert frame.ask("document.getElementById('ui').value") == interface.url
    address = frame.ask("document.querySelector('#runs a').href")
    assert address.startswith(f"{interface.url}/#/runs/")
    # A click cannot open anything from there; it leaves the address to be copied.
    frame.ask("document.querySelector('#runs a').click()")
    assert frame.ask("document.getElementById('copied').textContent") == address
    assert not frame.ask("document.getElementById('boxed').hidden")
