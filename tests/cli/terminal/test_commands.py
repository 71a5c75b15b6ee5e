"""A call that is written down again has every option that it had."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
import typer

from gnz_track.cli import app
from gnz_track.cli.terminal.commands import repeat

GNZ: Any = typer.main.get_command(app)
COMMANDS: dict[str, Any] = GNZ.commands
PLAIN = sorted(name for name, command in COMMANDS.items() if not hasattr(command, "commands"))
VALUES = ("some 'value' of $HOME", "7", str(Path(__file__).parents[3] / "params.yaml"))


def context_of(name: str, words: list[str]) -> Any:
    """Return a call as it was parsed, and not carried out."""
    root = typer.Context(GNZ, info_name="gnz")
    return COMMANDS[name].make_context(name, list(words), parent=root)


def words_of(name: str, param: Any, arguments: list[str]) -> list[str]:
    """Return an option of a command with a value that it takes and that is not its usual one."""
    if param.is_flag:
        return [param.secondary_opts[0] if param.default else param.opts[0]]
    for value in VALUES:
        words = [word for _ in range(2 if param.multiple else 1) for word in (param.opts[0], value)]
        with contextlib.suppress(Exception):
            context_of(name, [*arguments, *words])
            return words
    message = f"{name} {param.opts[0]} takes none of {VALUES}"
    raise AssertionError(message)


@pytest.mark.parametrize("name", PLAIN)
def test_every_option_of_a_command_is_repeated(name: str) -> None:
    params = [param for param in COMMANDS[name].params if param.name != "help"]
    arguments = ["first value" for param in params if param.param_type_name == "argument"]
    required = [param for param in params if param.param_type_name == "option" and param.required]
    arguments += [word for param in required for word in (param.opts[0], "needed")]
    each = [words_of(name, param, arguments) for param in params if param.param_type_name == "option"]
    for options in [*each, [word for words in each for word in words]]:
        first = context_of(name, [*arguments, *options])
        again = repeat(first)
        assert again[:2] == ("gnz", name)
        assert context_of(name, list(again[2:])).params == first.params


def test_a_change_takes_the_place_of_what_was_given_and_no_password_is_shown() -> None:
    call = context_of("recommend", ["cora", "--seeds", "0-4", "--store", "postgresql://me:secret@host/db", "--run"])
    words = repeat(call, seeds="0-9", unseen=True)
    assert words[words.index("--seeds") + 1] == "0-9"
    assert "--unseen" in words
    assert "secret" not in " ".join(words)
