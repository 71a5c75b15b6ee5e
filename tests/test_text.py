"""Texts of others: nothing in them drives a terminal, and a command with an address can be typed."""

from __future__ import annotations

import shlex
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.text import cut_values, sync_command, visible

TEXTS = st.text(st.characters(categories=("L", "N", "Zs", "Cc", "Cf", "Cs", "P")))


@given(TEXTS)
def test_nothing_is_obeyed_and_what_was_harmless_stays(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(sign) for sign in shown} & {"Cc", "Cs"}
    assert not any(unicodedata.bidirectional(sign) in {"LRO", "RLO", "LRE", "RLE", "LRI", "RLI"} for sign in shown)
    shown.encode()
    assert visible(shown) == shown
    if text.isprintable():
        assert shown == text


@given(TEXTS)
def test_lines_and_tabs_are_kept_where_they_are_wanted(text: str) -> None:
    shown = visible(text, keeps_lines=True)
    assert [shown.count(sign) for sign in "\n\t"] == [text.count(sign) for sign in "\n\t"]
    assert shown.replace("\n", r"\n").replace("\t", r"\t") == visible(text)


def test_control_characters_are_named() -> None:
    assert visible("a\x1b]0;title\x07\r\x9b\u202e\ud800") == r"a\x1b]0;title\x07\r\x9b\u202e\ud800"


@pytest.mark.parametrize("value", ["x" * 3000, "it's " * 600, 'say "x", ' * 400, "a\n" * 3000], ids=len)
def test_long_value_is_cut_and_the_sentence_stays(value: str) -> None:
    sentence = f"the task's name is {value!r}, which isn't one; known: 'cora', {value!r}. List them: gnz tasks"
    shown = cut_values(sentence)
    assert len(shown) < 600
    assert shown.startswith("the task's name is ")
    assert shown.endswith(". List them: gnz tasks")
    assert ", which isn't one; known: 'cora', " in shown


@given(st.text(max_size=200), st.text(alphabet="it's ,.", max_size=400))
def test_what_is_short_stays(value: str, words: str) -> None:
    assert cut_values(f"{value[:90]!r}") == f"{value[:90]!r}"
    assert len(cut_values(words)) <= len(words)


@pytest.mark.parametrize(
    "address",
    ["http://node1:5000", "sqlite:////data/my runs/gnz.db", "postgresql://u:***@h/db?user=u&password=***"],
)
def test_command_is_one_that_a_shell_takes(address: str) -> None:
    command, _, remark = sync_command(address).partition(" (")
    assert shlex.split(command) == ["gnz", "sync", "--store", address]
    assert ("password" in remark) == ("***" in address)
