"""Texts of others are shown, and drive no terminal: in lines, tables, failures, and where a program reads them."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cells import cell_of, context_of, failed_record, record, result_of

from gnz_track.cli.terminal.output import hand_over, print_failures, print_rows, say
from gnz_track.store.address import parse_address
from gnz_track.store.writer import open_store
from gnz_track.types import Failure, Status

HOSTILE = "\x1b[31mred\x1b]0;title\x07\nnext"
SHOWN = r"\x1b[31mred\x1b]0;title\x07\nnext"


def test_lines_stay_and_nothing_else_is_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"a\tb {HOSTILE}")
    say(HOSTILE, err=True)
    lines = r"\x1b[31mred\x1b]0;title\x07" + "\nnext\n"
    assert capsys.readouterr() == (f"a\tb {lines}", lines)


def test_cells_of_a_table_are_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    print_rows(HOSTILE.replace("\n", " "), ("name", ">n"), [(HOSTILE, 1), ("b", 2)])
    _, _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split() for row in rows] == [[SHOWN, "1"], ["b", "2"]]


def test_failures_keep_their_lines_and_drive_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    failure = Failure(kind="ValueError", message=HOSTILE, traceback=f"Traceback\n  line\nValueError: {HOSTILE}\n")
    print_failures([replace(result_of(cell_of(model=HOSTILE)), status=Status.failed, failure=failure)])
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "\x07" not in err
    assert SHOWN in err.splitlines()[1]
    assert err.splitlines()[2:4] == ["Traceback", "  line"]


def test_programs_get_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    hand_over(HOSTILE)
    assert capsys.readouterr().out == f"{HOSTILE}\n"


def test_terminal_is_not_driven_by_what_is_for_programs() -> None:
    parent, child = pty.openpty()
    script = f"from gnz_track.cli.terminal.output import hand_over; hand_over({HOSTILE!r})"
    subprocess.run([sys.executable, "-c", script], stdout=child, check=True)
    os.close(child)
    assert os.read(parent, 1000) == SHOWN.replace(r"\n", "\r\n").encode() + b"\r\n"
    os.close(parent)


def test_store_of_a_team_does_not_drive_a_terminal(
    gnz: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    context = context_of("first")
    with open_store(parse_address()) as store:
        run_id = store.open_sweep(context)
        for seed in range(2):
            store.finish(record(seed, context=context, model=HOSTILE))
            store.finish(record(seed, context=context))
        failure = Failure(kind="ValueError", message=HOSTILE, traceback="")
        store.finish(replace(failed_record(2, context=context), failure=failure))
        store.close_sweep(run_id)
    for words in ("ls", "ls --sweep first", "ls --failed", "query", "report --training"):
        answer = gnz(*words.split())
        assert (answer.code, answer.err) == (0, ""), words
        assert "red" in answer.out, words
        assert not {"\x1b", "\x07"} & set(answer.out), words


def test_json_holds_names_as_they_are(gnz: Callable[..., Any]) -> None:
    context = context_of("first")
    with open_store(parse_address()) as store:
        store.finish(record(0, context=context, model=HOSTILE))
    rows = json.loads(gnz("query", "--json").out)
    assert [row["model"] for row in rows] == [HOSTILE]
