from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.store import schema
from gnz_track.store.schema import experiment_name, folder_name, legal_key, original_key, run_name

# What MLflow says of names of metrics and params.
LEGAL = re.compile(r"[/\w.\- :]+")

# Texts without what is refused: empty parts, and parts that lead elsewhere.
parts = st.text(st.characters(exclude_characters="/", exclude_categories=["Cs"]), min_size=1, max_size=12)
names = st.lists(parts.filter(lambda part: part not in {".", ".."}), min_size=1, max_size=3).map("/".join)


@given(names)
def test_legal_keys_are_legal_and_come_back(name: str) -> None:
    key = legal_key(name)
    assert LEGAL.fullmatch(key)
    assert original_key(key) == name.replace("@", "_at_")


@given(st.sampled_from("_x2(8)5f@").flatmap(lambda _: st.text("_x2(8)5f", min_size=1, max_size=9)))
def test_names_that_look_like_escapes_come_back(name: str) -> None:
    assert original_key(legal_key(name)) == name


def test_usual_names_stay_as_they_are() -> None:
    for name in ("accuracy", "train/loss", "hits_at_10", "weight_decay", "lr", "f1-macro", "a b:c"):
        assert legal_key(name) == name
    assert legal_key("hits@10") == "hits_at_10"


@pytest.mark.parametrize("name", ["", "/a", "a/", "a//b", "..", "a/../b", ".", "k" * 251, "(" * 60])
def test_names_that_no_key_can_hold_are_refused(name: str) -> None:
    with pytest.raises(BadValue, match="allowed: 1 to 250 characters"):
        legal_key(name)


@given(names)
def test_mlflow_takes_every_key(name: str) -> None:
    from mlflow.utils.validation import _validate_metric_name, _validate_param_name

    _validate_metric_name(legal_key(name))
    _validate_param_name(legal_key(name))


def test_names_of_experiments_and_runs() -> None:
    assert experiment_name("quick", "cora") == "gnz/quick/cora"
    assert schema.sweep_experiment("quick") == "gnz/quick"
    assert run_name("GCN", 3) == "GCN s3"
    assert run_name("GCN", 3, [("lr", 0.1)]) == "GCN s3 lr=0.1"
    assert len(run_name("GCN", 3, [("text", "x" * 500)])) == 250
    with pytest.raises(BadValue, match="at most 256"):
        experiment_name("quick", "t" * 300)
    with pytest.raises(BadValue, match="a suite and a task"):
        experiment_name("", "cora")


def test_curves_and_final_scores_never_share_a_key() -> None:
    assert schema.curve_key("test/accuracy") == "curve/test/accuracy"
    assert schema.score_key("accuracy") == "test/accuracy"
    assert schema.validation_key("val/accuracy") == "val/accuracy"


@given(st.lists(st.text(min_size=1, max_size=20), unique=True, min_size=2, max_size=2))
def test_folders_of_experiments_stay_apart_and_within(two: list[str]) -> None:
    a, b = map(folder_name, two)
    assert a != b
    assert re.fullmatch(r"[A-Za-z0-9_.\-]*-[0-9a-f]{8}", a)
    assert not a.startswith(".")
