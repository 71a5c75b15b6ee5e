"""``gnz run``: a table of means, whatever single cells did."""

from __future__ import annotations

import functools
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gnz = Callable[..., Any]

SHORT = ("--seeds", "0", "--epochs", "1")
MARKED = "marked_nets:Marked,marked_nets:Unbalanced"
# Models of one's own are otherwise trained in workers, which take seconds to start.
HERE = ("--executor", "inline")


def rows(out: str) -> list[list[str]]:
    """Return the rows of the first table, cells apart by two spaces or more."""
    lines = out.partition("\n\n")[0].splitlines()
    assert lines[0].strip() == "mean scores over seeds"
    assert lines[1].split()[:3] == ["task", "model", "metric"]
    return [re.split(r"\s{2,}", line.strip()) for line in lines[2:]]


def test_row_for_each_pair(gnz: Gnz) -> None:
    answer = gnz(
        "run", "--task", "ising_lattice,les_miserables", "--models", "MLP,GCN", "--seeds", "0-1", "--epochs", "2"
    )
    assert answer.code == 0, answer.err
    found = rows(answer.out)
    tasks, models = ("ising_lattice", "les_miserables"), ("MLP", "GCN")
    assert [row[:4] for row in found] == [[t, m, "auc", "higher is better"] for t in tasks for m in models]
    assert all(0 <= float(row[4]) <= 1 for row in found)
    assert [row[5] for row in found] == ["2"] * 4


def test_tasks_may_be_repeated_or_separated_by_commas(gnz: Gnz) -> None:
    repeated = gnz("run", "--task", "les_miserables", "--task", "ising_lattice", "--models", "MLP", *SHORT)
    commas = gnz("run", "--task", " les_miserables, ising_lattice,", "--model", "MLP", *SHORT)
    once = gnz("run", "--task", "les_miserables", "--task", "ising_lattice,les_miserables", "--models", "MLP", *SHORT)
    shown = [[row[:5] for row in rows(answer.out)] for answer in (repeated, commas, once)]
    assert shown[0] == shown[1] == shown[2]
    assert [row[0] for row in shown[0]] == ["les_miserables", "ising_lattice"]


def test_a_task_beside_a_suite_is_the_part_of_it_that_is_meant(gnz: Gnz) -> None:
    answer = gnz("run", "--suite", "quick", "--task", "ising_lattice", "--models", "MLP", *SHORT)
    assert [row[0] for row in rows(answer.out)] == ["ising_lattice"]
    words = ("--models", "MLP", *SHORT, "--dry-run")
    of_area = gnz("run", "--suite", "quick", "--category", "physics", *words)
    assert {line.split()[0] for line in of_area.out.splitlines()[2:] if "MLP" in line} == {"ising_lattice"}
    for command in ("run", "tune"):
        other = gnz(command, "--suite", "quick", "--task", "cora", *words)
        assert other.code == 2
        assert other.err.startswith("error: task of the suite quick is 'cora'; allowed: a task of the suite quick (")
        assert "--task cora alone" in other.err


def test_seeds_epochs_and_protocol_are_obeyed(gnz: Gnz) -> None:
    def score(*words: str) -> list[str]:
        return rows(gnz("run", "--task", "les_miserables", "--models", "GCN", *words).out)[0][4:6]

    usual = score("--seeds", "0", "--epochs", "9")
    assert score("--seeds", "0", "--epochs", "9") == usual
    assert score("--seeds", "1", "--epochs", "9")[0] != usual[0]
    assert score("--seeds", "0", "--epochs", "1")[0] != usual[0]
    assert score("--seeds", "0,2-3", "--epochs", "1")[1] == "3"
    assert score("--seeds", "0", "--epochs", "9", "--protocol", "best-val")[1] == "1"


def test_protocol_reaches_the_cells(gnz: Gnz) -> None:
    words = ("run", "--task", "les_miserables", "--models", "GCN", "--seeds", "0-4", "--epochs", "25")
    last, best = (rows(gnz(*words, "--protocol", name).out)[0][4] for name in ("graphnetz", "best-val"))
    assert last != best


def test_pair_that_does_not_fit_is_listed(gnz: Gnz) -> None:
    answer = gnz("run", "--task", "ising_lattice", "--models", "GIN,MLP", *SHORT)
    assert answer.code == 0
    assert "left out before training" in answer.out
    assert re.search(r"ising_lattice +GIN +it serves graph_cls, graph_reg, not link_pred", answer.out)


def test_home_of_the_call_is_used(gnz: Gnz, tmp_path: Path, home: Path) -> None:
    answer = gnz("run", "--task", "ising_lattice", "--models", "MLP", *SHORT, "--home", str(tmp_path / "other"))
    assert answer.code == 0
    assert (tmp_path / "other" / "ising_lattice").is_dir()
    assert not home.exists()


def test_progress_is_on_standard_error(gnz: Gnz) -> None:
    answer = gnz("run", "--task", "ising_lattice", "--models", "MLP,GCN", *SHORT)
    # A slow machine has a line every few seconds.
    *earlier, line, told, link = answer.err.splitlines()
    assert told.startswith("tracked as sweep custom-")
    place = "http://127.0.0.1:5000/#/experiments/2/runs?workflowType=machine_learning&viewStateShareKey=gnz"
    assert link == f"ising_lattice by model (while gnz ui runs): {place}-{told.split()[3]}"
    assert re.fullmatch(r"2/2 cells, about 0 s left, last: ising_lattice GCN s0 auc 0\.\d{3}", line)
    assert all(one.startswith("1/2 cells, ") for one in earlier)


FAILING = ("run", "--task", "planted_partition", "--seeds", "0-1", "--epochs", "1", "--models")


def test_failing_model_does_not_stop_the_others(gnz: Gnz) -> None:
    answer = gnz(*FAILING, "own_nets:FailsForward,MLP,own_nets:Plain")
    assert answer.code == 1
    found = {row[1]: row for row in rows(answer.out)}
    assert list(found) == ["FailsForward", "MLP", "Plain"]
    assert found["FailsForward"][4:7] == ["-", "0", "2"]
    assert all(0 < float(found[model][4]) < 1 and found[model][5] == "2" for model in ("MLP", "Plain"))
    # Its own traceback, in full and once, with the cells that it ended.
    assert answer.err.count("Traceback (most recent call last):") == 1
    assert "2 failed: planted_partition FailsForward s0, planted_partition FailsForward s1" in answer.err
    assert re.search(r"own_nets\.py\", line \d+, in forward\n", answer.err)
    failures, _, link = answer.err.rstrip().rpartition("\n")
    assert failures.rstrip().endswith("LookupError: no way forward with Data")
    assert link.startswith("planted_partition by model")


def test_different_tracebacks_are_all_shown(gnz: Gnz) -> None:
    answer = gnz(*FAILING, "own_nets:FailsForward,own_nets:FailsToBuild", *HERE)
    assert answer.code == 1
    assert answer.err.count("Traceback (most recent call last):") == 2
    assert "LookupError: no way forward" in answer.err
    assert "RuntimeError: cannot build with 3 widths" in answer.err


def test_names_are_text_and_never_markup(gnz: Gnz) -> None:
    from gnz_track.models.catalogue import MODELS

    try:
        answer = gnz("run", "--task", "ising_lattice", "--models", MARKED, *SHORT, *HERE)
    finally:
        # Other tests of this process count the models.
        for name in ("[red]x[/red]", "[/nope]"):
            MODELS.remove(name)
    assert answer.code == 0, answer.err
    assert [row[1] for row in rows(answer.out)] == ["[red]x[/red]", "[/nope]"]
    assert "[/nope] s0" in answer.err
    assert "\x1b" not in answer.out + answer.err


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_names_are_text_on_a_terminal_too(environment: dict[str, str]) -> None:
    import os
    import pty

    control, terminal = pty.openpty()
    words = ("run", "--task", "ising_lattice", "--models", MARKED, *SHORT, *HERE)
    command = [sys.executable, "-m", "gnz_track", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=terminal, env=environment) as process:
        os.close(terminal)
        shown = b""
        while True:
            try:
                piece = os.read(control, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            shown += piece
        process.communicate()
    os.close(control)
    assert process.returncode == 0, shown.decode()
    assert b"[/nope] s0" in shown
    assert b"2/2" in shown


def interrupt(words: tuple[str, ...], environment: dict[str, str], *once_there_is: Path) -> tuple[int, str, str]:
    """Start a call, interrupt it as each path is there, and return its code and what it printed."""
    command = [sys.executable, "-m", "gnz_track", *words]
    # A process in the background inherits that interrupts are ignored, and so may this test; its child must not.
    listen = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        preexec_fn=listen,  # noqa: PLW1509  (no threads here that could hold a lock)
    ) as process:
        until = time.monotonic() + 60
        for path in once_there_is:
            while not path.exists() and process.poll() is None and time.monotonic() < until:
                time.sleep(0.02)
            # Two within a moment are taken for one.
            time.sleep(0.0 if path is once_there_is[0] else 0.5)
            process.send_signal(signal.SIGINT)
        try:
            out, err = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    return process.returncode, out, err


HELD = """
import sys
from gnz_track.cli import main
sys.argv = ["gnz", *sys.argv[1:]]
try:
    main()
finally:
    print("held:", *sorted({'mlflow', 'optuna', 'sklearn', 'sympy', 'torch', 'torch._dynamo'} & set(sys.modules)))
"""


@pytest.mark.parametrize(
    ("more", "held", "said"),
    [
        (("--fresh", "--jobs", "2"), "mlflow", "tracked as sweep"),
        (("--jobs", "2"), "", "4 of 4 cells are finished already"),
        ((), "", "4 of 4 cells are finished already"),
        (("--dry-run",), "", "0 of 4 cells to train"),
        (("--fresh",), "mlflow torch", "tracked as sweep"),
    ],
    ids=["workers", "nothing for workers", "nothing", "dry run", "inline"],
)
def test_calls_import_torch_and_mlflow_where_they_train_and_write_alone(
    more: tuple[str, ...], held: str, said: str, gnz: Gnz, environment: dict[str, str]
) -> None:
    words = ("run", "--task", "planted_partition", "--models", "GCN,MLP", "--seeds", "0-1", "--epochs", "2")
    assert gnz(*words).code == 0
    call = [sys.executable, "-c", HELD, *words, *more]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1].removeprefix("held:").strip() == held
    assert said in done.stdout + done.stderr


INTERRUPTED = (130, "", "interrupted: results of this call are not kept\n")


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_interrupt_of_training_says_what_is_kept_with_code_130(environment: dict[str, str], tmp_path: Path) -> None:
    words = ("run", "--task", "planted_partition", "--models", "own_nets:Announces", "--epochs", "1000000")
    told = {**environment, "ANNOUNCE": str(tmp_path / "announced")}
    code, out, err = interrupt(words, told, tmp_path / "announced")
    assert (code, out) == (130, "")
    kept, said = err.splitlines()
    assert re.fullmatch(r"0 of 5 cells are kept in sqlite:///.*gnz.db; the same command goes on from there", kept)
    assert said == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_interrupt_of_code_out_of_a_text_ends_with_code_130(environment: dict[str, str]) -> None:
    words = ("run", "--task", "planted_partition", "--models", "own_nets:InterruptedInText", "--executor", "inline")
    code, out, err = interrupt(words, environment)
    assert (code, out) == (130, "")
    assert err.splitlines()[-1] == "interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_second_interrupt_ends_at_once_and_costs_nothing_that_was_done(
    gnz: Gnz, environment: dict[str, str], tmp_path: Path
) -> None:
    told = {**environment, "ANNOUNCE": str(tmp_path / "announced")}
    words = ("run", "--task", "planted_partition", "--seeds", "0", "--epochs", "1")
    stubborn = (*words, "--executor", "inline", "--models", "MLP,own_nets:ClingsOn")
    code, out, err = interrupt(stubborn, told, tmp_path / "announced", tmp_path / "announced1")
    # A slow machine has a line every few seconds.
    *earlier, said = err.splitlines()
    assert (code, out, said) == (130, "", "interrupted")
    assert all(one.startswith("1/2 cells, ") for one in earlier)
    assert not (tmp_path / "announced2").exists()
    answer = gnz(*words, "--models", "MLP")
    assert (answer.code, "1 of 1 cells are finished already" in answer.err) == (0, True)


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
def test_interrupt_of_preparation_is_one_line_and_code_130(environment: dict[str, str], home: Path) -> None:
    words = ("run", "--task", "random_tsp", "--models", "MLP", "--seeds", "0-99999")
    assert interrupt(words, environment, home / "random_tsp") == (130, "", "interrupted\n")


def test_workers_print_the_same_table(gnz: Gnz) -> None:
    words = ("run", "--task", "les_miserables", "--models", "MLP,GCN", "--seeds", "0-1", "--epochs", "3")
    alone, together = gnz(*words), gnz(*words, "--jobs", "2", "--timeout", "300")
    assert (alone.code, together.code) == (0, 0), together.err
    assert [row[:6] for row in rows(together.out)] == [row[:6] for row in rows(alone.out)]


def test_impossible_number_of_workers_is_one_line(gnz: Gnz) -> None:
    answer = gnz("run", "--task", "les_miserables", "--models", "MLP", *SHORT, "--jobs", "0")
    assert answer.code == 2
    assert answer.err.splitlines() == [
        "error: jobs is 0; allowed: a whole number from 1 upwards. Try: --jobs 2",
    ]


def test_model_beside_the_command_is_found_as_class_and_as_tuple(
    gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nets_beside.py").write_text(
        "import torch\n"
        "class Beside(torch.nn.Module):\n"
        "    def __init__(self, first, hidden, out):\n"
        "        super().__init__()\n"
        "        self.layer = torch.nn.Linear(first, out)\n"
        "    def forward(self, data):\n"
        "        return self.layer(data.x)\n"
        "class Told(Beside):\n"
        "    task_types = ('node_cls',)\n"
        "inline = (Beside, 'node_cls')\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    models = "nets_beside:Told,nets_beside:inline"
    answer = gnz("run", "--task", "planted_partition", "--models", models, *SHORT)
    assert answer.code == 0, answer.err
    assert [row[1] for row in rows(answer.out)] == ["Told", "Beside"]


def test_narrow_terminal_folds_and_cuts_nothing(gnz: Gnz) -> None:
    answer = gnz("tasks", "--suite", "quick")
    assert "…" not in answer.out


TWO = ("run", "--task", "les_miserables", "--models", "MLP,GCN", "--epochs", "3", "--seeds")


def test_second_call_trains_what_is_left_and_prints_everything(gnz: Gnz) -> None:
    first = gnz(*TWO, "0-1")
    again = gnz(*TWO, "0-1")
    assert rows(again.out) == rows(first.out)
    assert again.err.splitlines()[0] == "4 of 4 cells are finished already; --fresh trains them again"
    assert "cells," not in again.err
    more = gnz(*TWO, "0-2")
    assert more.err.splitlines()[0].startswith("4 of 6 cells are finished already")
    assert "2/2 cells" in more.err
    assert [row[5] for row in rows(more.out)] == ["3", "3"]


@pytest.mark.usefixtures("svg_alone")
def test_sweep_that_finds_all_finished_says_where_that_is_shown(gnz: Gnz, tmp_path: Path) -> None:
    gnz(*TWO, "0-1")
    sweep = re.search(r"tracked as sweep (\S+)", gnz(*TWO, "0").err)
    assert sweep is not None
    note = f"nothing was left to train for {sweep[1]}; what others had finished: gnz report --sweep {sweep[1]}"
    *_, row, said = gnz("ls").out.splitlines()
    assert (row.split()[:4], said) == ([sweep[1], "custom", "finished", "0"], note)
    assert gnz("ls", "--sweep", sweep[1]).out.splitlines() == [f"cells of {sweep[1]}: none", note]
    assert "2 models, 1 task, 1 seed" in gnz("report", "--sweep", sweep[1], "--out", str(tmp_path / "shown")).out


def test_fresh_call_trains_everything_again_and_gets_the_same(gnz: Gnz) -> None:
    first, fresh = gnz(*TWO, "0-1"), gnz(*TWO, "0-1", "--fresh")
    assert "finished already" not in fresh.err
    assert "4/4 cells" in fresh.err
    assert [row[:6] for row in rows(fresh.out)] == [row[:6] for row in rows(first.out)]


def test_failed_cell_is_tried_again(gnz: Gnz) -> None:
    first, again = (gnz(*FAILING, "own_nets:FailsForward,MLP", *HERE) for _ in range(2))
    assert (first.code, again.code) == (1, 1)
    assert again.err.startswith("2 of 4 cells are finished already")
    assert "2/2 cells, 2 failed" in again.err


def test_dry_run_trains_nothing_and_says_what_is_left(gnz: Gnz, tmp_path: Path) -> None:
    before = gnz(*TWO, "0-1", "--dry-run")
    assert before.code == 0, before.err
    assert re.search(r"4 of 4 cells to train with --jobs 1: about \d+ s", before.out)
    unknown = gnz("run", "--task", "csl_generated", "--models", "GIN", "--seeds", "0", "--dry-run").out
    assert "1 of 1 cells to train with --jobs 1: an unknown time (nothing like it was run before)" in unknown
    assert not (tmp_path / "runs").exists(), "a plan writes nothing"
    gnz(*TWO, "0")
    after = gnz(*TWO, "0-1", "--dry-run", "--jobs", "2")
    lines = [line.split() for line in after.out.splitlines()]
    assert ["les_miserables", "MLP", "1", "1", "0", "s"] in lines
    assert re.search(r"2 of 4 cells to train with --jobs 2: about \d+ s", after.out)


def test_dry_run_lists_what_does_not_fit(gnz: Gnz) -> None:
    answer = gnz("run", "--task", "ising_lattice", "--models", "GIN,MLP", "--dry-run")
    assert re.search(r"ising_lattice +GIN +it serves graph_cls, graph_reg, not link_pred", answer.out)


def test_category_and_task_type_choose_tasks(gnz: Gnz) -> None:
    words = ("run", "--models", "MLP", *SHORT, "--dry-run")
    areas = gnz(*words, "--category", "combinatorial,physics", "--task-type", "link_pred")
    shown = {line.split()[0] for line in areas.out.splitlines()[2:] if "MLP" in line}
    assert {"random_tsp", "random_coloring", "ising_lattice"} <= shown
    lacking = gnz(*words, "--category", "physics")
    assert lacking.code == 2
    assert "gnz data get zinc" in lacking.err
    narrowed = gnz(*words, "--suite", "quick", "--task-type", "link_pred")
    shown = {line.split()[0] for line in narrowed.out.splitlines()[2:] if "MLP" in line}
    assert "ising_lattice" in shown
    assert "planted_partition" not in shown
    nothing = gnz(*words, "--category", "physics", "--task-type", "node_cls")
    assert nothing.code == 2
    assert nothing.err.startswith("error: nothing to run: no task is of physics and node_cls")
    unknown = gnz(*words, "--category", "fysics")
    assert unknown.err.startswith("error: category is 'fysics'; allowed: combinatorial, ")


@pytest.mark.parametrize("words", [("run", "--task"), ("tune", "--model", "GCN", "--task"), ("audit",)])
def test_file_that_nobody_can_read_is_told_what_can_be(gnz: Gnz, tmp_path: Path, words: tuple[str, ...]) -> None:
    file = tmp_path / "mine.docx"
    file.write_text("source,target\n1,2\n")
    answer = gnz(*words, str(file))
    assert (answer.code, len(answer.err.splitlines())) == (2, 1)
    assert f"the data is {str(file)!r}; allowed: a file that ends in .graphml" in answer.err
    assert "Try: gnz data add FILE" in answer.err


def test_store_of_the_call_is_used(gnz: Gnz, tmp_path: Path) -> None:
    answer = gnz(*TWO, "0", "--store", str(tmp_path / "other" / "mine.db"))
    assert answer.code == 0, answer.err
    assert (tmp_path / "other" / "mine.db").is_file()
    assert not (tmp_path / "runs").exists()
    assert answer.err.splitlines()[-2].endswith("see: gnz ls, gnz ui, with the same --store")
    assert gnz(*TWO, "0").err.splitlines()[-2].endswith("see: gnz ls, gnz ui")


def test_unusable_store_is_named_before_any_training(gnz: Gnz, tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database at all, and long enough to be read as one" * 20, encoding="utf-8")
    answer = gnz(*TWO, "0", "--store", str(tmp_path / "text.db"))
    assert (answer.code, answer.out) == (2, "")
    assert "file is not a database" in answer.err
    assert gnz(*TWO, "0", "--store", "ftp://somewhere").err.startswith("error: the store 'ftp://somewhere' cannot be")


def test_store_that_is_away_costs_no_result(gnz: Gnz) -> None:
    from servers import free_port

    away = f"http://127.0.0.1:{free_port()}"
    answer = gnz(*TWO, "0-1", "--store", away)
    assert answer.code == 0, answer.err
    assert [row[5] for row in rows(answer.out)] == ["2", "2"]
    assert "does not answer" in answer.err
    assert "gnz sync" in answer.err
    again = gnz(*TWO, "0-1", "--store", away)
    assert again.err.startswith("4 of 4 cells are finished already")
    assert rows(again.out) == rows(answer.out)
