"""Labels of variants against what they must do: tell apart what differs, and say nothing where nothing does."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.variant_labels import label_variants

NARROW, WIDE = '{"hidden_channels": 144}', '{"hidden_channels": 145}'
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["GCN", "GAT", "GCN (tuned)"]),
        st.sampled_from(["cora", "zinc"]),
        st.sampled_from(["p@1", "p@2"]),
        st.sampled_from(["{}", NARROW, WIDE, '{"lr": 0.1, "width": "é b"}']),
    )
)


@given(ROWS)
def test_rows_that_a_comparison_must_tell_apart_have_labels_of_their_own(rows: list[tuple[str, str, str, str]]) -> None:
    models, tasks, protocols, changes = zip(*rows, strict=True) if rows else ((), (), (), ())
    labels = label_variants(models, tasks=tasks, protocols=protocols, hyperparameters=changes)
    assert len(labels) == len(rows)
    for (one, first), (other, second) in combinations(zip(rows, labels, strict=True), 2):
        if one[0] == other[0] and (one[2] != other[2] or (one[1:3] == other[1:3] and one[3] != other[3])):
            # What a search has found is one model, whatever it found.
            assert first != second or (one[0] == "GCN (tuned)" and one[2] == other[2])
    for (model, _, protocol, changed), label in zip(rows, labels, strict=True):
        told = "".join(f" {name}={value}" for name, value in json.loads(changed).items())
        assert label in {model, model + told, f"{model} {protocol}", f"{model}{told} {protocol}"}
        alone = [(row[1:3], row[3]) for row in rows if row[0] == model]
        if len({row[2] for row in rows if row[0] == model}) == 1 and len(dict(alone)) == len(set(alone)):
            assert label == model, "there is no variant that it could be taken for"


def test_what_differs_from_task_to_task_alone_makes_no_variant() -> None:
    models, tasks = ["GCN", "GCN", "GCN"], ["a", "b", "b"]
    assert label_variants(models[:2], tasks=tasks[:2], hyperparameters=[NARROW, WIDE]) == ["GCN", "GCN"]
    assert label_variants(models, tasks=tasks, hyperparameters=[NARROW, WIDE, NARROW]) == [
        "GCN hidden_channels=144",
        "GCN hidden_channels=145",
        "GCN hidden_channels=144",
    ]


@pytest.mark.parametrize("text", ["no JSON", "[1]", "3"])
def test_settings_that_are_no_object_are_shown_as_they_are(text: str) -> None:
    assert label_variants(["GCN", "GCN"], hyperparameters=[text, "{}"]) == [f"GCN {text}", "GCN"]


def test_columns_that_are_not_known_tell_nothing() -> None:
    assert label_variants(["GCN", "GCN", "MLP"]) == ["GCN", "GCN", "MLP"]
