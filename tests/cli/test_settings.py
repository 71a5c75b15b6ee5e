"""Settings on the command line: chosen, shown, read from a file, and asked for in the wrong way."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gnz_track import BenchmarkReport
from gnz_track.report.page.provenance import write_commands
from gnz_track.stats.comparison.choices import Choices

Gnz = Callable[..., Any]

SHORT = ("--seeds", "0-1", "--epochs", "2")
ONE = ("run", "--task", "planted_partition", "--models", "GCN", *SHORT)


def table(out: str) -> list[list[str]]:
    """Return the rows of the first table, cells apart by two spaces or more."""
    return [re.split(r"\s{2,}", line.strip()) for line in out.partition("\n\n")[0].splitlines()[2:]]


def test_variants_are_apart_in_every_table(gnz: Gnz, tmp_path: Path) -> None:
    words = ("run", "--task", "planted_partition", "--models", "GCN,GAT", *SHORT, "--set", "lr=0.05,0.001")
    answer = gnz(*words, "--set", "GAT.heads=2,4")
    assert answer.code == 0, answer.err
    found = table(answer.out)
    names = ["GCN lr=0.05", "GCN lr=0.001", *(f"GAT heads={n} lr={rate}" for rate in ("0.05", "0.001") for n in (2, 4))]
    assert [row[1] for row in found] == names
    assert [row[5] for row in found] == ["2"] * 6
    assert len({row[4] for row in found}) > 3
    again = gnz(*words, "--set", "GAT.heads=4,2", "--dry-run")
    assert "0 of 12 cells to train" in again.out
    assert {row[1] for row in table(again.out)} == set(names)
    queried = gnz("query", "task = 'planted_partition'")
    assert {name for name in names if queried.out.count(f" {name} ") == 2} == set(names)
    reported = gnz("report", "--out", str(tmp_path / "report"))
    assert reported.code == 0, reported.err
    for name in names:
        assert name in reported.out
    # A cell without a setting is another one.
    assert "2 of 2 cells to train" in gnz(*ONE, "--dry-run").out


def test_short_forms_are_rows_of_the_same_table(gnz: Gnz) -> None:
    words = ("--budget", "3000", "--encoding", "rw3,none", "--train-size", "30")
    answer = gnz(*ONE, *words)
    assert answer.code == 0, answer.err
    assert [row[1] for row in table(answer.out)] == ["GCN encoding=rw3", "GCN encoding=none"]
    same = [f"{name}={value}" for name, value in (("budget", "3000"), ("encoding", "none,rw3"), ("train_size", "30"))]
    again = gnz(*ONE, *(word for text in same for word in ("--set", text)), "--dry-run")
    assert "0 of 4 cells to train" in again.out
    refused = gnz(*ONE, "--budget", "many")
    assert refused.err.startswith("error: --budget: budget is 'many'; allowed: a whole number from 1 to")


def test_commands_of_a_report_ask_for_the_very_cells(gnz: Gnz, tmp_path: Path) -> None:
    words = (
        "run",
        "--task",
        "planted_partition,les_miserables",
        "--models",
        "GCN,GAT,MLP",
        "--seeds",
        "0",
        "--epochs",
        "1",
    )
    gnz(*words, "--set", "heads=2,4", "--set", "dropout=0.3", "--set", "MLP.norm=batch", "--budget", "4000")
    gnz(*words, "--set", "encoding=none", "--set", "GCN.act=tanh")
    report = BenchmarkReport.from_store(str(tmp_path / "runs" / "gnz.db"))
    commands = [shlex.split(line) for line in write_commands(report.table, {}, Choices())]
    runs = [command[1:] for command in commands if command[1] == "run"]
    counts = [re.search(r"(\d+) of (\d+) cells to train", gnz(*command, "--dry-run").out) for command in runs]
    assert {found[1] for found in counts if found} == {"0"}
    assert sum(int(found[2]) for found in counts if found) == len(report.table) == 14


def test_perturbed_graphs_are_tasks_of_their_own(gnz: Gnz) -> None:
    answer = gnz(*ONE, "--perturb", "original,empty-graph", "--set", "lr=0.02")
    assert [row[0] for row in table(answer.out)] == ["planted_partition", "planted_partition~empty-graph"]
    assert "unknown perturbation 'empty'" in gnz(*ONE, "--perturb", "empty").err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--lr", "0.01"), "no such option '--lr'; settings are chosen by --set. Try: gnz run --set lr=0.01"),
        (("--weight-decay=0",), "Try: gnz run --set weight_decay=0"),
        (("--learning-rate", "0.1"), "Try: gnz run --set lr=0.1"),
        (("--hidden-channels", "--dry-run"), "Try: gnz run --set hidden_channels=VALUE"),
        (("--heads", "4"), "no such option '--heads'; settings are chosen by --set. Try: gnz run --set heads=4"),
        (("--sede", "3"), "No such option: --sede"),
        (("--set", "lrr=3"), "unknown setting 'lrr'; did you mean 'lr'"),
        (("--set", "heads=3"), "--set: heads is '3'; allowed: an option of GCN; that one is of GAT, "),
        (
            ("--tune", "2", "--set", "lr=0.1,0.2"),
            "--set: lr is '0.1, 0.2'; allowed: one value: a search starts from it",
        ),
    ],
)
def test_what_to_type_is_said(gnz: Gnz, words: tuple[str, ...], said: str) -> None:
    answer = gnz(*ONE, *words)
    assert answer.code == 2
    assert said in answer.err
    assert len(answer.err.splitlines()) == 1


def test_large_grid_is_asked_about_with_its_count_and_time(gnz: Gnz) -> None:
    gnz(*ONE)
    rates = ",".join(f"{n}e-4" for n in range(1, 102))
    asked = ("run", "--task", "planted_partition", "--models", "GCN", "--seeds", "0-99", "--jobs", "1")
    words = (*asked, "--set", f"lr={rates}")
    answer = gnz(*words, "--dry-run")
    assert answer.code == 2
    found = re.match(r"error: the grid of --set is '10,100 cells, about (.+) with --jobs 1'; allowed: ", answer.err)
    assert found is not None, answer.err
    assert "at most 10,000 without --yes (most_cells= in Python). Try: gnz run --yes" in answer.err
    assert "10100 cells to train" in gnz(*words, "--dry-run", "--yes").out
    decays = ",".join(f"{n}e-5" for n in range(1, 102))
    endless = gnz(*words, "--set", f"weight_decay={decays}", "--yes")
    assert "'1,020,100 cells, " in endless.err
    assert "at most 1,000,000" in endless.err


def test_configuration_is_shown_with_its_sources(gnz: Gnz, tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    said = {
        "tasks": {"planted_partition": {"epochs": 4, "settings": {"MLP": {"dropout": 0.1}}}, "les_miserables": {}},
        "models": ["GCN", "MLP"],
        "settings": {"weight_decay": 0.5},
        "hidden_channels": 16,
        "alpha": 0.1,
    }
    file.write_text(yaml.safe_dump(said), "utf-8")
    answer = gnz("run", "--config", str(file), "--set", "lr=0.2,0.3", "--seeds", "0", "--show-config")
    assert answer.code == 0, answer.err
    found = table(answer.out)
    all_of = ["all", "all"]
    assert ["weight_decay", "0.5", "bench.yaml: settings", *all_of] in found
    assert ["epochs", "4", f"{file}: tasks", "planted_partition", "all"] in found
    assert ["lr", "0.2", "--set", "all", "GCN lr=0.2, MLP lr=0.2"] in found
    assert ["dropout", "0.1", "bench.yaml: settings", "planted_partition", "MLP lr=0.2, MLP lr=0.3"] in found
    assert ["splits", "published", "protocol graphnetz", *all_of] in found
    assert ["hidden_channels", "16", "the file", *all_of] in found
    assert not (tmp_path / "runs").exists()


def test_options_of_the_call_come_before_those_of_a_file(gnz: Gnz, tmp_path: Path) -> None:
    file = tmp_path / "bench.yaml"
    file.write_text(
        "tasks: {planted_partition: {epochs: 3}, les_miserables: {epochs: 3}}\nmodels: [GCN, MLP]\nseeds: 0-3\n"
        "settings: {lr: 0.1}\nkeep_at_most: 2MiB\njobs: 1\nstore: ''\n",
        "utf-8",
    )
    assert "16 of 16 cells to train" in gnz("run", "--config", str(file), "--dry-run").out
    words = ("--models", "GCN", "--seeds", "5", "--task", "planted_partition", "--set", "lr=0.2,0.3", "--epochs", "1")
    answer = gnz("run", "--config", str(file), *words)
    assert [row[1] for row in table(answer.out)] == ["GCN lr=0.2", "GCN lr=0.3"]
    shown = gnz("query", "--columns", "epochs,seed,hyperparameters")
    assert {tuple(row) for row in table(shown.out)} == {("1", "5", f'{{"lr": {rate}}}') for rate in (0.2, 0.3)}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("settngs: {}", "unknown key of bench.yaml, line 1 'settngs'; did you mean 'settings' or 'seeds'?"),
        ("settings: [lr]", "bench.yaml, line 1: settings is ['lr']; allowed: a mapping"),
        ("settings: {lr: -1}", "bench.yaml: settings, line 1: lr is -1; allowed: a number above 0"),
        ("tasks: {planted_partition: {settings: {lr: x}}}", "planted_partition: lr is 'x'; allowed: a number above 0"),
        ("settings: {n_layer: 1}", "unknown setting 'n_layer'; did you mean 'n_layers'"),
        ("settings: {lr: 1", "the file of parameters is "),
        ("modules: [no_such_module]", "cannot import 'no_such_module'"),
    ],
)
def test_slips_in_a_file_are_told_with_their_place(gnz: Gnz, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "bench.yaml").write_text(text, "utf-8")
    answer = gnz(*ONE, "--config", str(tmp_path / "bench.yaml"), "--dry-run")
    assert answer.code == 2
    assert said in answer.err
    assert "No such" not in answer.err
    assert gnz(*ONE, "--config", str(tmp_path / "none.yaml")).code == 2


def test_commands_of_a_report_know_a_protocol_file_by_its_content_alone(
    gnz: Gnz, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.yaml"
    file.write_text("{like: graphnetz, lr: 0.02}")
    assert gnz(*ONE, "--protocol", "mine.yaml").code == 0

    def write() -> list[str]:
        report = BenchmarkReport.from_store(str(tmp_path / "runs" / "gnz.db"))
        return write_commands(report.table, {}, Choices())

    call = shlex.split(write()[0])
    assert call[call.index("--protocol") + 1] == "./mine.yaml"
    assert "0 of 2 cells to train" in gnz(*call[1:], "--dry-run").out
    file.write_text("{like: graphnetz, lr: 0.03}")
    first, remark, *_ = write()
    assert first.startswith("gnz reproduce ")
    assert remark.startswith("# no file of a protocol here is mine+")
    file.write_text("{like: graphnetz, lr: 0.02, name: mine}")
    (tmp_path / "protocols").mkdir()
    file.rename(tmp_path / "protocols" / "other.yml")
    assert "--protocol ./protocols/other.yml" in write()[0]
