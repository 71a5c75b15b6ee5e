"""``gnz tune`` searches by validation, goes on where it was, and compares default and winner."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gnz_track.api import run_benchmark
from gnz_track.store.address import parse_address
from gnz_track.store.searches import SearchRecord, read_searches

Gnz = Callable[..., Any]
SHORT = ("--task", "ising_lattice", "--models", "MLP", "--epochs", "2", "--tuning-seeds", "100,101", "--seeds", "0-2")


def searched(tmp_path: Path) -> tuple[SearchRecord, ...]:
    return tuple(read_searches(parse_address(str(tmp_path / "runs" / "gnz.db"))))


def trials_of(record: SearchRecord) -> list[tuple[Any, ...]]:
    return [
        (trial.number, trial.state, dict(trial.hyperparameters), dict(trial.seed_scores)) for trial in record.trials
    ]


def test_search_is_done_shown_and_compared(gnz: Gnz, tmp_path: Path) -> None:
    dry = gnz("tune", *SHORT, "--trials", "5", "--dry-run")
    assert (dry.code, dry.err) == (0, "")
    assert "up to 10 cells in 1 searches with --jobs 1" in dry.out
    assert not (tmp_path / "runs").exists(), "nothing is written"
    done = gnz("tune", *SHORT, "--trials", "5")
    assert done.code == 0, done.err
    validation, _, test = done.out.partition("default against tuned on test")
    assert "default and best on validation" in validation
    row = validation.splitlines()[2].split()
    assert row[:4] == ["ising_lattice", "MLP", "auc", "5"]
    assert float(row[5]) >= float(row[4]), "the default is trial 0"
    assert test.splitlines()[2].split()[:4] == ["ising_lattice", "MLP", "auc", "3"]
    (record,) = searched(tmp_path)
    assert (record.tuning_seeds, len(record.trials), record.kind) == ((100, 101), 5, "per-task")
    # The same again trains nothing, and more trials go on from there.
    again = gnz("tune", *SHORT, "--trials", "5", "--search-only")
    assert again.out.strip() == validation.strip()
    more = gnz("tune", *SHORT, "--trials", "8", "--search-only")
    assert more.out.splitlines()[2].split()[3:5] == ["8", row[4]]


@pytest.mark.slow
def test_search_begins_with_what_was_good_on_similar_tasks(gnz: Gnz, tmp_path: Path) -> None:
    flags = ("tune", *SHORT, "--trials", "2", "--search-only", "--warm-start", "1")
    told = gnz(*flags, "--dry-run")
    assert told.code == 0, told.err
    cold = gnz(*flags, "--seed", "1")
    assert cold.code == 0, cold.err
    assert cold.err.count("note: past searches alone say where to begin: number of link_pred tasks to learn from") == 1
    past = ("random_tsp", "random_coloring", "les_miserables")
    for width in (8, 16):
        run_benchmark(
            tasks=past,
            models=["MLP"],
            seeds=[0],
            epochs=2,
            hidden_channels=width,
            store=str(tmp_path / "runs" / "gnz.db"),
            verbose=False,
        )
    warm = gnz(*(flag for flag in flags if flag != "--search-only"), "--fresh")
    assert warm.code == 0, warm.err
    latest = searched(tmp_path)[-1]
    assert [trial.source for trial in latest.trials] == ["default", "recommended #1"]
    # Nothing but the width was other than usual, and 8 is none that is searched.
    assert latest.trials[1].hyperparameters == {**latest.default, "hidden_channels": 16}


def test_search_alone_is_listed_and_told_once_when_its_winner_is_trained(gnz: Gnz, tmp_path: Path) -> None:
    flags = ("tune", *SHORT, "--trials", "3")
    done = gnz(*flags, "--search-only")
    assert done.code == 0, done.err
    assert "see: gnz ls --searches, gnz ls --trials" in done.err
    searches, trials = gnz("ls", "--searches"), gnz("ls", "--trials")
    assert searches.out.splitlines()[2].split()[:5] == ["-", "ising_lattice", "MLP", "tpe", "3"]
    assert len(trials.out.splitlines()) == 2 + 3
    (alone,) = searched(tmp_path)
    assert "none\n1 search whose winners no sweep has trained: gnz ls --searches" in gnz("ls").out
    for _ in range(2):
        assert gnz(*flags).code == 0
        assert gnz(*flags, "--search-only").code == 0
        (record,) = searched(tmp_path)
        assert record.sweep.startswith("custom-")
        assert trials_of(record) == trials_of(alone)
    assert gnz("ls", "--trials").out == trials.out


def test_searches_that_were_longer_before_are_told(gnz: Gnz, tmp_path: Path) -> None:
    flags = ("tune", *SHORT, "--search-only")
    assert "before" not in gnz(*flags, "--trials", "3").err
    again = gnz(*flags, "--models", "MLP,GCN", "--trials", "2")
    assert "more than 2 trials were done before, and all of them count: ising_lattice MLP 3;" in again.err
    assert "equal budgets take 3 trials of every search, or fresh ones" in again.err
    # Each record tells what its search had, not what was asked for last.
    assert {record.model: dict(record.budget) for record in searched(tmp_path)} == {
        "MLP": {"trials": 3},
        "GCN": {"trials": 2},
    }
    assert "before" not in gnz(*flags, "--models", "MLP,GCN", "--trials", "3").err


@pytest.mark.usefixtures("svg_alone")
def test_rule_is_compared_with_what_is_tuned_and_not_searched(gnz: Gnz, tmp_path: Path) -> None:
    done = gnz("tune", *SHORT[:2], "--models", "MLP,Jaccard", *SHORT[4:], "--trials", "2")
    assert done.code == 0, done.err
    (left_out,) = (line for line in done.out.splitlines() if "Jaccard" in line)
    assert "no hyperparameter that is to be searched changes it" in left_out
    assert [record.model for record in searched(tmp_path)] == ["MLP"]
    report = gnz("report", "--out", str(tmp_path / "report"))
    assert report.code == 0, report.err
    for model in ("MLP", "MLP (tuned)", "Jaccard"):
        assert model in report.out
    alone = gnz("tune", *SHORT[:2], "--models", "Jaccard", *SHORT[4:], "--trials", "2")
    assert alone.code == 2
    assert "nothing to run: ising_lattice x Jaccard: no hyperparameter that is to be searched changes it" in alone.err


def test_run_tunes_first_where_it_is_asked_to(gnz: Gnz, tmp_path: Path) -> None:
    done = gnz("run", "--task", "ising_lattice", "--models", "MLP", "--epochs", "2", "--seeds", "0,1", "--tune", "2")
    assert done.code == 0, done.err
    assert "MLP (tuned)" in done.out
    assert "default against tuned on test" in done.out
    (record,) = searched(tmp_path)
    assert (record.tuning_seeds, len(record.trials)) == ((1000, 1001, 1002), 2)


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--trials", "0"), "the budget of a search is 0; allowed: at least 1 trial. Try: --trials 30"),
        (("--space", "SPACE"), "a name in the search space of MLP is 'heads'; allowed: lr, weight_decay"),
        (("--space", "EMPTY"), "the file of spaces is "),
        (("--space", "MISSPELT"), "unknown model among the search spaces 'GNC'; did you mean "),
        (("--sampler", "tpee"), "unknown sampler 'tpee'; did you mean 'tpe'?"),
        (("--sampler", "grid"), "in the space is 'a range'; allowed: a list of choices, for the sampler grid"),
        (("--tuning-seeds", "2-4"), "the tuning seeds is '2-4'; allowed: other seeds than those reported (0-2)"),
        (("--study-store", "sqlite:///x.db"), "the place of studies is 'sqlite:///x.db'; allowed: a file, or postgres"),
        (("--max-epochs", "3"), "the epochs of a search is 3; allowed: at least 4, which one trial may take"),
    ],
)
def test_mistake_is_one_line_and_nothing_is_written(gnz: Gnz, tmp_path: Path, flags: Any, message: str) -> None:
    (tmp_path / "space.yaml").write_text("all: {heads: [1, 2]}\n", "utf-8")
    (tmp_path / "empty.yaml").write_text("{}\n", "utf-8")
    (tmp_path / "misspelt.yaml").write_text("GNC: {lr: [0.01]}\n", "utf-8")
    files = {
        "MISSPELT": str(tmp_path / "misspelt.yaml"),
        "SPACE": str(tmp_path / "space.yaml"),
        "EMPTY": str(tmp_path / "empty.yaml"),
    }
    answer = gnz("tune", *SHORT, *(files.get(flag, flag) for flag in flags))
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(f"error: {message}") or message in answer.err
    assert len(answer.err.splitlines()) == 1
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").rglob("*.log"))


def test_all_trials_failing_is_told_and_is_code_1(gnz: Gnz, tmp_path: Path) -> None:
    own = tmp_path / "sulking.py"
    own.write_text(
        "import torch\n\n\nclass Sulking(torch.nn.Module):\n    task_types = {'link_pred'}\n\n"
        "    def __init__(self, a, b, c):\n        super().__init__()\n        raise RuntimeError('not today')\n",
        "utf-8",
    )
    sys.path.insert(0, str(tmp_path))
    answer = gnz("tune", *SHORT[:2], "--models", "sulking:Sulking", *SHORT[4:], "--trials", "2")
    sys.path.remove(str(tmp_path))
    assert answer.code == 1
    assert "all trials failed" in answer.out
    assert "note: ising_lattice Sulking: all 2 trials failed: RuntimeError: not today" in answer.err
    assert "Traceback" not in answer.err


def test_changed_space_is_refused_until_it_is_to_be_fresh(gnz: Gnz, tmp_path: Path) -> None:
    file = tmp_path / "space.yaml"
    file.write_text("MLP: {lr: [0.001, 0.01]}\n", "utf-8")
    flags = ("tune", *SHORT, "--trials", "2", "--search-only", "--space", str(file))
    assert gnz(*flags).code == 0
    file.write_text("MLP: {lr: [0.001, 0.1]}\n", "utf-8")
    refused = gnz(*flags)
    assert refused.code == 2
    assert "is 'another space'; allowed: the space that it was begun with. Try: --fresh" in refused.err
    assert gnz(*flags, "--fresh").code == 0
    assert gnz(*flags).code == 0


def test_dashboard_says_how_it_is_installed(gnz: Gnz) -> None:
    answer = gnz("dash")
    assert answer.code == 2
    assert "Try: pip install optuna-dashboard" in answer.err


def interrupted(environment: dict[str, str], *flags: str, after: float, by: signal.Signals) -> int:
    command = [sys.executable, "-m", "gnz_track", "tune", *flags]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, text=True)
    time.sleep(after)
    process.send_signal(by)
    process.communicate()
    return process.returncode


@pytest.mark.slow
def test_kills_and_interrupts_of_a_search_change_nothing(gnz: Gnz, environment: dict[str, str], tmp_path: Path) -> None:
    flags = (*SHORT, "--trials", "20", "--search-only")
    whole = tmp_path / "whole"
    assert gnz("tune", *SHORT, "--trials", "20", "--study-store", str(whole)).code == 0
    (expected,) = searched(tmp_path)
    moments = random.Random(0)
    codes = [
        interrupted(environment, *flags, "--jobs", jobs, after=moments.uniform(2.0, 6.0), by=by)
        for jobs, by in [("1", signal.SIGKILL), ("2", signal.SIGKILL), ("2", signal.SIGINT)] * 2
    ]
    assert -signal.SIGKILL in codes
    assert gnz("tune", *SHORT, "--trials", "20").code == 0
    found = searched(tmp_path)[-1]
    assert trials_of(found) == trials_of(expected)
    assert len(found.trials) == 20


def test_settings_of_the_call_are_those_of_every_trial(gnz: Gnz, tmp_path: Path) -> None:
    assert gnz("tune", *SHORT, "--trials", "2", "--set", "encoding=lap4", "--set", "MLP.dropout=0.3").code == 0
    (record,) = searched(tmp_path)
    assert record.default["dropout"] == 0.3
    cells = gnz("query", "seed = 0", "--columns", "model,hyperparameters").out
    assert cells.count('"encoding": "lap4"') == cells.count("MLP") > 0
    grid = gnz("tune", *SHORT, "--trials", "2", "--set", "lr=0.1,0.2")
    assert (grid.code, "allowed: one value: a search starts from it" in grid.err) == (2, True)
    odd = gnz("tune", *SHORT, "--lr", "0.1")
    assert (odd.code, "Try: gnz tune --set lr=0.1" in odd.err) == (2, True)
