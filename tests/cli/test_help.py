"""Help shows examples and answers at once."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

COMMANDS = [
    (),
    ("init",),
    ("run",),
    ("tune",),
    ("ls",),
    ("report",),
    ("compare",),
    ("audit",),
    ("tune",),
    ("features",),
    ("recommend",),
    ("query",),
    ("reproduce",),
    ("predict",),
    ("rescore",),
    ("sync",),
    ("gc",),
    ("ui",),
    ("dash",),
    ("tasks",),
    ("models",),
    ("protocols",),
    ("doctor",),
    ("data",),
    ("data", "get"),
    ("data", "check"),
    ("study",),
    ("stage",),
    ("stage", "data"),
    ("stage", "tune"),
    ("stage", "run"),
    ("stage", "quality"),
    ("stage", "report"),
]
HELP = [*(f"{' '.join(words)} --help".strip() for words in COMMANDS), "", "data", "run -h"]

# One process for all, since none may bring in what is heavy.
ALL_HELP = """
import contextlib, io, sys
from gnz_track.cli import main

heavy = ("torch", "torch_geometric", "numpy", "pandas", "sklearn", "scipy", "networkx", "mlflow", "optuna")
for text in sys.argv[1:]:
    sys.argv = ["gnz", *text.split()]
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.redirect_stderr(shown):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    assert "Usage: gnz" in shown.getvalue(), text
    print(repr(text), code, [name for name in heavy if name in sys.modules])
"""


def test_no_help_brings_in_what_is_heavy(environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", ALL_HELP, *HELP]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert ended.returncode == 0, ended.stderr
    expected = [f"{text!r} {2 if text in {'', 'data'} else 0} []" for text in HELP]
    assert ended.stdout.splitlines() == expected


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_an_example_of_its_own(words: tuple[str, ...], gnz: Callable[..., Any]) -> None:
    shown = gnz(*words, "--help")
    assert shown.code == 0
    assert re.search(r"^ *Examples?\b", shown.out, flags=re.MULTILINE)
    after = shown.out.partition("Example")[2]
    assert re.search(" ".join(["gnz", *words]) + r"\b", after)


def test_list_of_commands_is_complete(gnz: Callable[..., Any]) -> None:
    shown = gnz("--help").out
    for words in COMMANDS:
        assert all(word in shown for word in words[:1])
    listed = re.findall(r"^│ (\w+) ", shown.partition("Commands")[2], flags=re.MULTILINE)
    assert sorted(listed) == sorted({words[0] for words in COMMANDS if words})


@pytest.mark.parametrize(
    "words",
    [("foo",), ("[/x]",), ("run", "--sede", "3"), ("run", "--epochs", "x"), ("data", "get"), ("doctor", "extra")],
)
def test_wrong_usage_is_told_and_is_code_2(words: tuple[str, ...], gnz: Callable[..., Any]) -> None:
    answer = gnz(*words)
    assert (answer.code, answer.out) == (2, "")
    (line,) = answer.err.splitlines()
    assert line.startswith("error: ")
    assert re.search(r"Try: gnz[\w ]* --help$", line)
