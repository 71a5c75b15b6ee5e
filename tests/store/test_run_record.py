from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace

import pytest
from cells import GIT, REGRESSION, cell_of, context_of, failed_record, failed_result_of, finished, record, result_of
from hypothesis import given
from hypothesis import strategies as st

from gnz_track.errors import BadValue
from gnz_track.records import from_json, to_json
from gnz_track.store import run_record
from gnz_track.store.curves import thin, thin_all
from gnz_track.store.run_record import RunRecord, check_hyperparameters, record_of, record_of_start
from gnz_track.types import Direction, Metric, Status

finite = st.floats(allow_nan=False, allow_infinity=False)
values = st.one_of(st.integers(-(2**53), 2**53), finite, st.booleans(), st.text(max_size=30))
hyperparameters = st.dictionaries(st.from_regex(r"[a-z][a-z_]{0,12}", fullmatch=True), values, max_size=8)


@given(hyperparameters, finite, st.lists(st.floats(), max_size=300))
def test_record_survives_json(hyper: dict[str, object], score: float, curve: list[float]) -> None:
    hyper.pop("model", None)
    cell = replace(cell_of(), hyperparameters=tuple(sorted(hyper.items())))
    series = {"train/loss": tuple(curve)}
    one = finished(result_of(cell, score=score, scores={"accuracy": score}, series=series, selected_epoch=0))
    assert from_json(RunRecord, to_json(one)) == one
    assert all(math.isfinite(value) for _, value in one.curves["train/loss"])


def test_failed_record_survives_json() -> None:
    one = failed_record(3)
    again = from_json(RunRecord, to_json(one))
    assert again == one
    assert again.failure is not None
    assert again.git == GIT


def test_record_of_another_version_is_refused() -> None:
    fields = json.loads(to_json(record()))
    with pytest.raises(BadValue, match="record is 'colour'"):
        from_json(RunRecord, json.dumps({**fields, "colour": "red"}))


def test_record_is_a_function_of_its_arguments_only() -> None:
    assert record() == record()
    assert record().key == record().key
    keys = {record().key, record(1).key, record(attempt="2").key, record(context=context_of("other")).key}
    assert len(keys) == 4


def test_times_come_from_the_end_and_the_duration() -> None:
    one = record_of(result_of(cell_of()), context_of(), fingerprint="f", ended_at=100_000)
    assert (one.started_at, one.ended_at) == (87_500, 100_000)


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf, None])
def test_finished_cell_without_a_number_is_failed(score: float | None) -> None:
    one = finished(result_of(cell_of(), score=score, scores={} if score is None else {"accuracy": score}))
    assert (one.status, one.score, dict(one.scores)) == (Status.failed, None, {})
    assert one.failure is not None
    assert one.failure.kind == "ScoreNotFinite"
    assert json.loads(one.cell)["seed"] == 0


def test_what_is_no_finite_number_is_left_out_and_named() -> None:
    series = {"train/loss": (1.0, math.inf, math.nan, 0.5), "val/accuracy": (0.1, 0.2, 0.3, 0.4)}
    scores = {"accuracy": 0.5, "auc": math.nan}
    one = finished(result_of(cell_of(), scores=scores, score=0.5, series=series, selected_epoch=3))
    assert one.status is Status.finished
    assert one.curves["train/loss"] == ((0, 1.0), (3, 0.5))
    assert one.not_finite == ("test/auc", "train/loss")
    assert run_record.tags_of(one)["gnz.not_finite"] == "test/auc, train/loss"
    assert all(math.isfinite(value) for value in run_record.final_metrics(one).values())


def test_two_spellings_of_one_metric_are_refused() -> None:
    with pytest.raises(BadValue, match="stay apart"):
        finished(result_of(cell_of(), scores={"hits@10": 0.5, "hits_at_10": 0.5}))


def test_too_many_hyperparameters_and_odd_numbers_are_refused() -> None:
    assert check_hyperparameters(tuple((f"p{n}", n) for n in range(25)))
    with pytest.raises(BadValue, match="at most 25"):
        check_hyperparameters(tuple((f"p{n}", n) for n in range(26)))
    with pytest.raises(BadValue, match="'lr' is inf"):
        check_hyperparameters((("lr", math.inf),))


def test_everything_that_is_shown_fits() -> None:
    long = record(aggregation="x" * 7000, other="y" * 200)
    assert all(len(value) <= 200 for value in long.params.values())
    assert dict(long.long_params) == {"aggregation": "x" * 7000}
    assert len(long.hyperparameters) < 8000
    assert record(aggregation="x" * 7000).hyperparameters != record(aggregation="x" * 6999 + "y").hyperparameters


def test_params_are_the_protocols_with_what_the_cell_changed() -> None:
    expected = {"lr": "0.001", "weight_decay": "0.0", "batch_size": "0", "hidden_channels": "16", "epochs": "200"}
    assert dict(record(task=REGRESSION, hidden_channels=16).params) == expected


def test_begun_record_has_the_key_of_the_finished_one() -> None:
    metric = Metric(name="accuracy", direction=Direction.up, description="")
    begun = record_of_start(cell_of(), context_of(), fingerprint="f", metric=metric, started_at=5)
    ended = record_of(failed_result_of(cell_of()), context_of(), fingerprint="f", ended_at=1000)
    assert begun.key == ended.key
    assert (begun.started_at, begun.failure) == (5, None)


@given(st.integers(0, 3000), st.integers(3, 120), st.data())
def test_thinned_curves_keep_ends_and_the_selected_epoch(n: int, limit: int, data: st.DataObject) -> None:
    curve = [float(epoch) / 7 for epoch in range(n)]
    keep = data.draw(st.one_of(st.none(), st.integers(0, max(0, n - 1))))
    points = thin(curve, keep=keep, limit=limit)
    epochs = [epoch for epoch, _ in points]
    assert len(points) <= limit
    assert epochs == sorted(set(epochs))
    assert all(value == curve[epoch] for epoch, value in points)
    if n:
        assert {0, n - 1} <= set(epochs)
    if n and keep is not None:
        assert keep in epochs
    if n <= limit:
        assert len(points) == n
    else:
        gaps = [b - a for a, b in itertools.pairwise(epochs)]
        assert max(gaps) <= 2 * (n - 1) / (limit - 2) + 2


def test_many_series_fit_one_request_together() -> None:
    thinned = thin_all({f"val/m{n}": [0.5] * 500 for n in range(40)}, keep=7)
    assert sum(map(len, thinned.values())) <= 900
    assert all(7 in dict(points) for points in thinned.values())
