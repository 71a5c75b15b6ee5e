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
        told = [f" {name}={value}" for name, value in json.loads(changed).items()]
        parts = ["".join(part) for n in range(len(told) + 1) for part in combinations(told, n)]
        assert label in {model + part + end for part in parts for end in ("", f" {protocol}")}
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


def test_what_all_variants_have_is_not_told() -> None:
    texts = ['{"heads": 4, "lr": 0.1}', '{"heads": 4, "lr": 0.01}', '{"heads": 4}']
    assert label_variants(["GAT"] * 3, tasks=["a"] * 3, hyperparameters=texts) == ["GAT lr=0.1", "GAT lr=0.01", "GAT"]


def test_widths_of_a_budget_are_no_variants_so_that_a_label_is_the_same_on_all_tasks() -> None:
    small, large = ('{"budget": 5000, "hidden_channels": %d}', '{"budget": 9000, "hidden_channels": %d}')
    tasks, texts = ["a", "a", "b", "b"], [small % 20, large % 30, small % 21, large % 31]
    labels = label_variants(["GCN"] * 4, tasks=tasks, hyperparameters=texts)
    assert labels == ["GCN budget=5000", "GCN budget=9000"] * 2
    deeper = '{"budget": 5000, "hidden_channels": 11, "n_layers": 4}'
    assert label_variants(["GCN"] * 2, hyperparameters=[small % 20, deeper]) == ["GCN", "GCN n_layers=4"]
    # Nothing else tells these apart.
    assert label_variants(["GCN"] * 2, hyperparameters=[small % 20, small % 21])[1] == "GCN hidden_channels=21"
    # A width that was chosen, beside one of a budget.
    assert label_variants(["GCN"] * 2, hyperparameters=[small % 20, NARROW])[1] == "GCN hidden_channels=144"


@pytest.mark.parametrize("text", ["no JSON", "[1]", "3"])
def test_settings_that_are_no_object_are_shown_as_they_are(text: str) -> None:
    assert label_variants(["GCN", "GCN"], hyperparameters=[text, "{}"]) == [f"GCN {text}", "GCN"]


def test_columns_that_are_not_known_tell_nothing() -> None:
    assert label_variants(["GCN", "GCN", "MLP"]) == ["GCN", "GCN", "MLP"]
