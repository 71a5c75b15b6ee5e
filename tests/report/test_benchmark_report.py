"""The facade: published names and meanings, choices, variants, and the JSON that goes round."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from score_tables import table_of, with_values

from gnz_track.errors import BadValue, GnzError, MetricsMixed, NothingToCompare, UnknownName
from gnz_track.report.benchmark_report import BenchmarkReport
from gnz_track.store.results_table import empty_table, make_table

HOSTILE = ["50%_$x$ & #1", "<script>alert(1)</script>", "a\nb", "\u202eabc \u05e9", "x" * 200, '../"', "|"]


def scores(n_tasks: int = 5, n_models: int = 4, n_seeds: int = 10) -> Any:
    return np.random.default_rng(7).normal(
        np.linspace(0.7, 0.8, n_models)[None, :, None], 0.02, (n_tasks, n_models, n_seeds)
    )


def report(table: pd.DataFrame | None = None) -> BenchmarkReport:
    return BenchmarkReport.from_frame(
        table_of(scores(), models=["GCN", "GAT", "GIN", "MLP"]) if table is None else table
    )


def test_import_waits_for_no_figure() -> None:
    code = "import sys, gnz_track.report.benchmark_report; print({'matplotlib', 'torch', 'mlflow'} & set(sys.modules))"
    root = Path(__file__).resolve().parents[2]
    found = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_summary_has_student_intervals() -> None:
    found = report().summary(ci=0.9)
    values = scores()[2, 1]
    row = found.loc[("t02", "GAT")]
    low, high = stats.t.interval(0.9, 9, values.mean(), stats.sem(values))
    assert row[["mean", "std", "sem", "ci_low", "ci_high"]].tolist() == pytest.approx(
        [values.mean(), values.std(ddof=1), stats.sem(values), low, high], rel=1e-9
    )
    assert row[["n_seeds", "n_failed", "n_missing"]].tolist() == [10, 0, 0]


def test_methods_are_set_once_for_all_or_for_one_call() -> None:
    found = report()
    assert (found.ci_method, found.bootstrap_n, found.bootstrap_seed, found.pairwise_method) == ("t", 10_000, 0, "t")
    by_call = found.summary(method="bootstrap"), found.pairwise(method="wilcoxon")
    found.ci_method, found.pairwise_method = "bootstrap", "wilcoxon"
    assert found.ci_method == "bootstrap"
    assert (found.choices.interval, found.choices.test) == ("percentile", "wilcoxon")
    pd.testing.assert_frame_equal(found.summary(), by_call[0])
    pd.testing.assert_frame_equal(found.pairwise(), by_call[1])
    assert found.comparison.choices == found.choices
    found.bootstrap_n, found.bootstrap_seed = 100, 3
    assert not found.summary().equals(by_call[0])
    for name, value in (
        ("ci_method", "boot"),
        ("pairwise_method", "u"),
        ("bootstrap_n", 0),
        ("epoch_selection", "best"),
    ):
        with pytest.raises(GnzError):
            setattr(found, name, value)


def test_pairwise_is_scipy_with_holm() -> None:
    found = report().pairwise()
    assert len(found) == 5 * 6
    rows = found[found["task"] == "t01"]
    # Models are compared in the order of their names.
    values = dict(zip(["GCN", "GAT", "GIN", "MLP"], scores()[1], strict=True))
    for row in rows.itertuples():
        test = stats.ttest_rel(values[row.model_a], values[row.model_b])
        assert row.p_raw == pytest.approx(test.pvalue, rel=1e-9)
        assert row.mean_diff == pytest.approx((values[row.model_a] - values[row.model_b]).mean())
    raw = sorted(rows["p_raw"])
    holm = np.maximum.accumulate([min(1.0, p * (6 - place)) for place, p in enumerate(raw)])
    assert sorted(rows["p_holm"]) == pytest.approx(holm.tolist())
    assert (rows["significant"] == (rows["p_holm"] < 0.05)).all()


def test_where_smaller_is_better_advantages_turn_and_differences_do_not() -> None:
    up = report(table_of(scores()))
    down = report(table_of(scores(), metric="mae", direction="down"))
    for name, sign in (("mean_diff", 1), ("cohens_dz", 1), ("advantage", -1)):
        assert down.pairwise()[name].tolist() == pytest.approx((sign * up.pairwise()[name]).tolist()), name
    assert down.mean_ranks().index[0] == up.mean_ranks().index[-1]


def test_power_and_equivalence_agree_with_the_comparison() -> None:
    found = report()
    power = found.power(targets=(0.02, 0.005))
    pair = found.comparison.pairs[3]
    row = power.iloc[3]
    assert (row["mde"], row["mde_alone"]) == (pair.design.advantage_in_family, pair.design.advantage)
    assert row["mde"] > row["mde_alone"], "the level that a family leaves to one pair is smaller"
    assert (power["seeds_for_0.005"] > power["seeds_for_0.02"]).all()
    assert (power["detectable"] == (power["mean_diff"].abs() >= power["mde"])).all()
    equal = found.equivalence(margin=0.5)
    assert set(equal["verdict"]) <= {"equivalent", "trivial"}
    assert (equal["p_tost_holm"] >= equal["p_tost_raw"]).all()
    assert equal["p_difference_holm"].tolist() == found.pairwise()["p_holm"].tolist()


def test_friedman_says_how_many_tasks_the_gap_needs() -> None:
    found = report().friedman()
    assert (found["k"], found["n"]) == (4, 5)
    expected = found["critical_difference"] * math.sqrt(5 / found["n_for_observed_gap"])
    before = found["critical_difference"] * math.sqrt(5 / (found["n_for_observed_gap"] - 1))
    assert expected <= found["max_rank_gap"] < before


def test_ranks_weighted_and_not() -> None:
    found = report()
    table = found.rank_table()
    assert table.sum(axis=1).tolist() == [10.0] * 5
    assert found.mean_ranks().to_dict() == pytest.approx(table.mean().to_dict())
    one = found.mean_ranks(aggregation="custom", weights={"t03": 2.0})
    assert one.to_dict() == pytest.approx(table.loc["t03"].to_dict())
    groups = {"t00": "a", "t01": "a", "t02": "a", "t03": "a", "t04": "b"}
    by_group = (table.iloc[:4].mean() + table.iloc[4]) / 2
    assert found.mean_ranks(aggregation="hierarchical", groups=groups).to_dict() == pytest.approx(by_group.to_dict())
    assert found.mean_ranks(aggregation="reliability").between(1, 4).all()
    for options in ({"aggregation": "custom"}, {"aggregation": "hierarchical"}, {"aggregation": "other"}):
        with pytest.raises(GnzError):
            found.mean_ranks(**options)
    with pytest.raises(UnknownName, match="t9"):
        found.mean_ranks(aggregation="custom", weights={"t9": 1.0})
    with pytest.raises(BadValue, match="weights"):
        found.mean_ranks(aggregation="custom", weights={"t00": -1.0})


def test_stability_is_of_the_tasks() -> None:
    found = report().rank_stability(n_boot=500)
    again = report().rank_stability(n_boot=500)
    assert found["order_stability"] == again["order_stability"]
    assert 0 <= found["order_stability"] <= 1
    table = report().rank_table()
    without = found["jackknife"].set_index(["dropped_task", "model"])["mean_rank"]
    assert without["t02"].to_dict() == pytest.approx(table.drop("t02").mean().to_dict())
    assert len(found["separation"]) == 6
    assert found["gap_quantiles"][0.5] == pytest.approx(found["gap_observed"], abs=1.5)


def test_mapping_and_runs() -> None:
    table = table_of(scores(2, 2, 3)).assign(
        run_id=[f"r{n}" for n in range(12)], fingerprint=[f"f{n}" for n in range(12)]
    )
    full = make_table({**table, "status": ["finished"] * 12})
    series = {f"f{n}": {"test/accuracy": (0.1, float(n))} for n in range(12)}
    found = BenchmarkReport(full, seeds=(0, 1, 2), config={}, series=series)
    assert found["t01"]["m00"] == {"test/accuracy": (0.1, 6.0)}
    assert [one["test/accuracy"][1] for one in found.histories["t01"]["m00"]] == [6.0, 7.0, 8.0]
    assert found.run_ids["t01"]["m01"] == ["r9", "r10", "r11"]
    assert {task: list(models) for task, models in found.items()} == {"t00": ["m00", "m01"], "t01": ["m00", "m01"]}
    assert found.metric_name() == "accuracy"


def test_variants_are_told_apart_everywhere() -> None:
    table = pd.concat([table_of(scores(2, 2, 3)), table_of(scores(2, 1, 3), models=["m00"])], ignore_index=True)
    table["hyperparameters"] = ["{}"] * 12 + ['{"lr": 0.1}'] * 6
    found = report(table)
    names = ["m00", "m01", "m00 lr=0.1"]
    assert list(found.final_metrics()["t00"]) == names
    assert list(found.summary().loc["t00"].index) == names
    assert set(found.comparison.models) == set(names)


def test_choices_are_compared_once() -> None:
    found = report()
    assert found.compare(alpha=0.05) is found.comparison
    assert found.compare(margin={"t00": 0.1}) is found.compare(margin={"t00": 0.1})
    assert found.compare(test="wilcoxon") is not found.comparison
    with pytest.raises(UnknownName, match="did you mean 'alpha'"):
        found.compare(alfa=0.1)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(0, 6), st.booleans())
@settings(max_examples=25, deadline=None)
def test_json_goes_round(n_tasks: int, n_models: int, n_seeds: int, n_lost: int, has_series: bool) -> None:  # noqa: FBT001
    values = scores(n_tasks, n_models, n_seeds)
    values.reshape(-1)[: min(n_lost, values.size - 1)] = np.nan
    first = report(table_of(values, models=HOSTILE[:n_models]))
    first.choices = first.compare().choices
    first.ci_method = "bca"
    first.choices = type(first.choices)(margin={"t00": 0.1}, bounds={"accuracy": (0.0, 1.0)}, split_sizes=(10, 2))
    if has_series:
        table = first.table.assign(run_id=[f"r{n}" for n in range(len(first.table))])
        series = {"r0": {"val": (math.nan, math.inf, 1.0)}}
        first = BenchmarkReport(table, seeds=first.seeds, config={"a": (1, {2})}, series=series)
    text = first.to_json()
    second = BenchmarkReport.from_json(text)
    assert second.to_json() == text
    pd.testing.assert_frame_equal(second.table, first.table)
    assert (second.seeds, second.choices) == (first.seeds, first.choices)
    assert repr(second.compare()) == repr(first.compare())


def test_json_by_file_and_bad_json(tmp_path: Path) -> None:
    found = report()
    text = found.to_json(tmp_path / "deep" / "report.json")
    assert BenchmarkReport.from_json(tmp_path / "deep" / "report.json").to_json() == text
    assert BenchmarkReport.from_json(str(tmp_path / "deep" / "report.json")).to_json() == text
    for bad in ("{}", "{", "[1]", '{"schema": 1}', str(tmp_path / "none.json"), text.replace('"seeds"', '"seed"', 1)):
        with pytest.raises(BadValue, match="report"):
            BenchmarkReport.from_json(bad)


def test_hostile_names_are_names() -> None:
    found = report(table_of(scores(3, len(HOSTILE), 4), models=HOSTILE))
    assert list(found.final_metrics()["t00"]) == HOSTILE
    assert "<script>" not in found._repr_html_()


def test_notebook_shows_figures_by_themselves() -> None:
    shown = report().plot_forest()._repr_svg_()
    assert shown.lstrip().startswith("<?xml")
    assert "</svg>" in shown


def test_nothing_to_compare_is_said_and_what_is_known_is_shown() -> None:
    failed = table_of(scores(2, 2, 2) * np.nan).assign(status="failed")
    found = report(failed)
    assert found.summary()["n_failed"].tolist() == [2] * 4
    assert found.summary()["mean"].isna().all()
    assert found.histories == {"t00": {}, "t01": {}}
    assert (found.final_metrics(), "8 failed" in repr(found)) == ({}, True)
    with pytest.raises(NothingToCompare, match="none of the 8 cells has a score"):
        found.pairwise()
    empty = BenchmarkReport(empty_table(), seeds=(), config={})
    assert (len(empty), len(empty.summary()), empty.metric_name(), empty.histories) == (0, 0, "", {})
    with pytest.raises(NothingToCompare, match="no row"):
        empty.friedman()
    with pytest.raises(NothingToCompare):
        report(table_of(scores())[:0])


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 5), (1, 3, 5), (3, 1, 5), (3, 3, 1)])
def test_one_of_anything_is_answered(shape: tuple[int, int, int], tmp_path: Path) -> None:
    found = report(table_of(scores(*shape)))
    assert len(found.summary()) == shape[0] * shape[1]
    assert len(found.pairwise()) == len(found.power()) == shape[0] * math.comb(shape[1], 2)
    assert found.friedman()["k"] in {0, *shape[1:2]}
    assert found.to_latex(tmp_path / "s.tex").read_text().count(r"\toprule") >= 1
    assert found.pairwise_to_latex(tmp_path / "p.tex").exists()
    assert math.isnan(found.rank_stability(n_boot=10)["order_stability"]) == (shape[0] == 1)


def test_mixed_directions_within_a_task_are_refused_and_between_tasks_are_not() -> None:
    mixed = with_values(table_of(scores()), "direction", {("t00", "m00"): "down"}, "task", "model")
    with pytest.raises(MetricsMixed, match="t00"):
        report(mixed).pairwise()
    assert len(report(with_values(table_of(scores()), "direction", {("t00",): "down"}, "task")).rank_table()) == 5


def test_table_is_left_as_it_was() -> None:
    found = report()
    before = found.table.copy()
    found.summary(), found.pairwise(), found.to_json(), repr(found)
    pd.testing.assert_frame_equal(found.table, before)
