"""Conditions on rows of the results table: what they select, and where they cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadExpression
from gnz_track.store.query import parse_condition, select_rows
from gnz_track.store.results_table import COLUMNS, make_table

TABLE = make_table(
    {
        "run_id": ["a", "b", "c", "d"],
        "task": ["cora", "cora", "zinc", "it's"],
        "model": ["GCN", "GAT", "GCN", "G_N"],
        "seed": [0, 1, 10, 2],
        "score": [0.8, None, 0.25, 0.5],
        "status": ["finished", "failed", "finished", "finished"],
        "start_time": [1_760_000_000_000, 1_770_000_000_000, 1_780_000_000_000, 1_790_000_000_000],
    }
)


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("task = 'cora'", "ab"),
        ("task == 'cora'", "ab"),
        ('task != "cora"', "cd"),
        ("task <> 'cora'", "cd"),
        ("seed > 1", "cd"),
        ("seed <= 1.0", "ab"),
        ("score >= 5e-1", "ad"),
        ("score < .5", "c"),
        ("score != 0.8", "cd"),
        ("not score > 0.5", "bcd"),
        ("model in ('GAT', 'G_N')", "bd"),
        ("model not in ('GAT','G_N')", "ac"),
        ("seed in (0, 10)", "ac"),
        ("model like 'G_N'", "acd"),
        ("model not like '%A%'", "acd"),
        ("task = 'it''s'", "d"),
        ('task = "it\'s"', "d"),
        ("seed = 0 or seed = 1 and status = 'failed'", "ab"),
        ("(seed = 0 or seed = 1) and status = 'failed'", "b"),
        ("not seed = 0 and task = 'cora'", "b"),
        ("not (seed = 0 and task = 'cora')", "bcd"),
        ("NOT seed = 0 AND task IN ('cora')", "b"),
        ("start_time >= '2026-01-01' and start_time < '2026-06-01T00:00:00+00:00'", "bc"),
        ("seed = -1", ""),
    ],
)
def test_rows_that_a_condition_selects(text: str, runs: str) -> None:
    assert "".join(select_rows(TABLE, text)["run_id"]) == runs


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("", 0, "expected a column, found the end"),
        ("task", 4, "expected =, !=,"),
        ("tusk = 'cora'", 0, "there is no column 'tusk'. Columns: run_id, sweep,"),
        ("task = cora", 7, "expected a text in quotes, as task holds, found 'cora'"),
        ("task = 3", 7, "expected a text in quotes"),
        ("seed = '3'", 7, "expected a number"),
        ("seed = 3x", 7, "nothing that can be read"),
        ("task = 'cora", 7, "the quote is never closed"),
        ("task = 'a' and", 14, "expected a column, found the end"),
        ("task = 'a' seed = 1", 11, "expected and, or, or the end, found 'seed'"),
        ("(task = 'a'", 11, "a closing parenthesis"),
        ("task in 'a'", 8, "an opening parenthesis"),
        ("task in ()", 9, "a text in quotes"),
        ("task not = 'a'", 9, "in or like behind not"),
        ("seed like '1%'", 10, "is no text"),
        ("start_time > 'soon'", 13, "is no time"),
        ("task = 'a'; drop", 10, "nothing that can be read"),
        ("not " * 60 + "seed = 1", 204, "at most 50"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(text: str, at: int, words: str) -> None:
    with pytest.raises(BadExpression) as caught:
        parse_condition(text)
    assert caught.value.at == at
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_every_column_can_be_asked_for() -> None:
    for name, (_, _, kind) in COLUMNS.items():
        value = {"str": "'x'", "datetime64[ms, UTC]": "'2020-01-01'"}.get(kind, "1")
        found = select_rows(TABLE, f"{name} = {value} or {name} != {value}")
        assert len(found) == TABLE[name].notna().sum(), name


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=40))
def test_any_text_is_matched_as_it_is(text: str) -> None:
    table = make_table({"task": [text, text + "x"], "seed": [0, 1]})
    quoted = text.replace("'", "''")
    assert list(select_rows(table, f"task = '{quoted}'")["seed"]) == [0]


@given(st.text(alphabet="taskseedinlike =!<>()',.%_0123456789andornot\"", max_size=60))
def test_any_text_is_a_condition_or_an_error_that_says_where(text: str) -> None:
    def place() -> int:
        try:
            return len(select_rows(TABLE, text)) * 0
        except BadExpression as error:
            return error.at

    assert 0 <= place() <= len(text)


@pytest.mark.parametrize("text", ["task = '\udce3ora'", "\ud800"])
def test_half_a_character_is_refused_at_its_place(text: str) -> None:
    with pytest.raises(BadExpression, match="half a character") as caught:
        parse_condition(text)
    assert text[caught.value.at] >= "\ud800"
    assert str(caught.value).encode()
