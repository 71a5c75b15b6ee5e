"""Calls as users of other tools type them first: one line that says the same call here, and nothing is carried out."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from typing import Any

import pytest

from gnz_track.cli import main
from gnz_track.cli.terminal.other_words import say_here

Call = Callable[[str], str]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Call:
    """Return a function that types a call that is refused, and returns what is said."""

    def call(text: str) -> str:
        monkeypatch.setattr(sys, "argv", ["gnz", *shlex.split(text)])
        with pytest.raises(SystemExit) as ended:
            main()
        printed: Any = capfd.readouterr()
        assert (ended.value.code, printed.out, printed.err.count("\n")) == (2, "", 1)
        return str(printed.err)

    return call


@pytest.mark.parametrize(
    ("there", "here"),
    [
        # Hydra
        ("run model=GCN dataset=cora lr=0.01", "gnz run --models GCN --task cora --set lr=0.01"),
        ("run -m optim.lr=0.1,0.01 --task cora", "gnz run --set lr=0.1,0.01 --task cora"),
        ("run --config-name bench", "gnz run --config bench"),
        ("run --multirun", "gnz run --set NAME=VALUE,VALUE"),
        # GraphGym
        ("run --cfg bench.yaml --repeat 3", "gnz run --config bench.yaml --seeds 0-2"),
        ("run --cfg=bench.yaml --repeat=x", "gnz run --config bench.yaml --seeds 0-9"),
        ("run optim.max_epoch=20 gnn.dropout=0.1", "gnz run --epochs 20 --set dropout=0.1"),
        # PyKEEN
        ("train", "gnz run"),
        ("hpo", "gnz tune"),
        ("run --dataset cora --early-stopping 20", None),
        # benchopt
        ("run -d cora -s GCN -r 5 -j 2", "gnz run --task cora --models GCN --seeds 0-4 --jobs 2"),
        ("plot", "gnz report"),
        # Others
        ("run GCN cora", "gnz run --models GCN --task cora"),
        ("run --gpu 0 --seed 1 --num-layers 3", "gnz run --device cuda:0 --seeds 1 --set n_layers=3"),
        ("tune --n-trials 5 --task cora", "gnz tune --tune 5 --task cora"),
        ("report --dataset cora", "gnz report --task cora"),
        ("run -d cora --store postgresql://a:secret@h/d", "gnz run --task cora --store postgresql://a:***@h/d"),
    ],
)
def test_what_says_the_same_here_is_said(call: Call, there: str, here: str | None) -> None:
    here = here or "gnz run --task cora --set selection=best_validation --set stop_patience=20"
    said = call(there)
    assert "secret" not in said
    assert said.rstrip().endswith(f"; here it is: {here}")


@pytest.mark.parametrize(
    "text", ["run --sees 3 --task cora", "run model=GCN nonsense", "run nonsense=3", "frobnicate", "ui --dataset cora"]
)
def test_where_a_word_means_nothing_no_call_is_made_up(call: Call, text: str) -> None:
    said = call(text)
    assert "here it is" not in said
    assert re.search(r"Try: gnz( \w+)? --help", said)


def test_what_is_no_slip_of_a_word_is_left_alone() -> None:
    assert say_here("Missing option '--name'", "gnz data add", ["--name"], ["data", "add", "x"]) == ""
