from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from score_tables import table_of, with_values

from gnz_track.errors import BadValue, DuplicateCells, MetricsMixed, NotComparable, NothingToCompare
from gnz_track.stats.comparison.compare import compare
from gnz_track.stats.comparison.comparison import Comparison, Verdict
from gnz_track.types import tuned_name

SCORES = 0.7 + 0.01 * np.random.default_rng(1).normal(size=(3, 3, 6))
TABLE = table_of(SCORES)


def columns_warned(found: Comparison) -> list[str]:
    return [finding.column for finding in found.findings]


@pytest.mark.parametrize("column", ["dataset_digest", "split_digest"])
def test_data_and_splits_must_agree_by_seed(column: str) -> None:
    table = TABLE.assign(**{column: "aa", "run_id": [f"r{n}" for n in range(len(TABLE))]})
    table = with_values(table, column, {("t01", "m02", 3): "bb"}, "task", "model", "seed")
    with pytest.raises(NotComparable) as refused:
        compare(table)
    assert f"'t01', seed 3, cannot be compared: {column} is 'aa' (t01 m00 s3 (r21)" in str(refused.value)
    assert "'bb' (t01 m02 s3 (r33))" in str(refused.value)


def test_data_generated_by_seed_may_be_compared() -> None:
    table = with_values(TABLE, "dataset_digest", {(seed,): f"d{seed}" for seed in range(6)}, "seed")
    table = with_values(table, "split_digest", {(seed,): f"s{seed}" for seed in range(6)}, "seed")
    assert columns_warned(compare(table)) == []


def test_training_parts_of_chosen_sizes_are_other_splits_that_may_be_compared() -> None:
    sizes = {(f"m{n:02}",): json.dumps({"train_size": n} if n else {}) for n in range(3)}
    table = with_values(TABLE.assign(hyperparameters="{}"), "hyperparameters", sizes, "model")
    table = with_values(table.assign(split_digest="whole"), "split_digest", {("m01",): "one", ("m02",): "two"}, "model")
    assert "hyperparameters" in columns_warned(compare(table))
    slip = with_values(table, "split_digest", {("t01", "m02", 3): "other"}, "task", "model", "seed")
    compare(slip)
    # Two models with one size have one split.
    level = slip.assign(hyperparameters='{"train_size": 5}')
    with pytest.raises(NotComparable, match="split_digest is"):
        compare(level)


def test_splits_that_seeds_draw_from_the_same_data_are_warned_of() -> None:
    table = with_values(TABLE.assign(dataset_digest="d"), "split_digest", {(s,): f"s{s}" for s in range(6)}, "seed")
    (finding,) = compare(table).findings
    assert "different splits of the same data" in str(finding)
    assert finding.tasks == ("t00", "t01", "t02")
    assert "--split-sizes 150,19" in str(finding)
    (assumed,) = compare(table, test="nadeau_bengio", split_sizes=(90, 10)).findings
    assert "overlap" not in str(assumed)
    assert assumed.tasks == finding.tasks


def test_protocols_must_agree_within_a_task() -> None:
    table = with_values(TABLE.assign(protocol="a@1"), "protocol", {("m01",): "a@2"}, "model")
    with pytest.raises(NotComparable, match=r"protocol is 'a@1' .*'a@2'"):
        compare(table)
    by_task = with_values(TABLE.assign(protocol="a@1"), "protocol", {("t01",): "a@2"}, "task")
    # Every model is then run under both, each on tasks of its own: labels tell them apart, and no pair mixes them.
    assert len(compare(by_task).models) == 6


def test_models_run_under_several_protocols_are_several_models() -> None:
    both = pd.concat([TABLE.assign(protocol="a@1"), TABLE.assign(protocol="a@2", score=TABLE["score"] + 0.1)])
    found = compare(both)
    assert found.models == tuple(f"m{n:02} a@{v}" for n in range(3) for v in (1, 2))
    assert columns_warned(found) == ["protocol"]


def test_hyperparameters_tell_models_apart_and_are_warned_of() -> None:
    tuned = TABLE[TABLE["model"] == "m00"].assign(hyperparameters='{"lr": 0.1}')
    found = compare(pd.concat([TABLE.assign(hyperparameters="{}"), tuned]))
    assert found.models == ("m00", "m00 lr=0.1", "m01", "m02")
    (finding,) = found.findings
    assert "equal budgets" in str(finding)
    assert 'm00 lr=0.1: {"lr": 0.1}' in str(finding)
    strange = pd.concat([TABLE.assign(hyperparameters="wide"), tuned])
    assert "m00 wide" in compare(strange).models


def test_budgets_must_agree_where_the_table_tells_them() -> None:
    table = with_values(TABLE.assign(epochs=100), "epochs", {("t02", "m01"): 200}, "task", "model")
    with pytest.raises(NotComparable, match="'t02' cannot be compared: epochs"):
        compare(table)


@pytest.mark.parametrize("column", ["version", "git_commit", "environment", "instructions"])
def test_code_that_differs_is_warned_of(column: str) -> None:
    table = with_values(TABLE.assign(**{column: "1"}), column, {("t01", "m01", 2): "2"}, "task", "model", "seed")
    (finding,) = compare(table).findings
    assert finding.column == column
    assert finding.tasks == ("t01",)
    assert "'2' (t01 m01 s2)" in str(finding)
    assert str(finding) in str(compare(table))
    # Between tasks nothing is compared.
    by_task = with_values(TABLE, column, {("t00",): "1", ("t01",): "2"}, "task")
    assert compare(by_task).findings == ()


def test_metric_and_direction_must_agree_within_a_task() -> None:
    for column, value in (("metric", "auc"), ("direction", "down")):
        table = with_values(TABLE, column, {("t01", "m01", 4): value}, "task", "model", "seed")
        with pytest.raises(MetricsMixed, match=f"'t01' have several values of {column}.*t01 m01 s4"):
            compare(table)
    with pytest.raises(BadValue, match="direction of t00 is 'higher'; allowed: up"):
        compare(TABLE.assign(direction="higher"))


def test_several_metrics_over_tasks_are_noted() -> None:
    table = with_values(TABLE, "metric", {("t01",): "mae"}, "task")
    table = with_values(table, "direction", {("t01",): "down"}, "task")
    found = compare(table)
    assert any("2 metrics (accuracy, mae)" in note for note in found.across.notes)
    assert "2 metrics (accuracy, mae)" in str(found)
    assert compare(TABLE).across.notes == ()


def test_cells_that_are_there_twice_are_named() -> None:
    table = TABLE.assign(run_id=[f"r{n}" for n in range(len(TABLE))])
    with pytest.raises(DuplicateCells, match=r"t00 m00 s1 \(r1\) and t00 m00 s1 \(x\)"):
        compare(pd.concat([table, table.iloc[[1]].assign(run_id="x")]))


def test_a_retry_replaces_the_failure() -> None:
    failed = TABLE.iloc[[1]].assign(status="failed", score=np.nan)
    finished = TABLE.assign(status="finished")
    assert compare(pd.concat([failed, finished])).n_failed == 0
    running = failed.assign(status="running")
    for parts in ([running, finished], [finished, running], [finished, failed, running]):
        found = compare(pd.concat(parts))
        assert (found.n_finished, found.n_failed, found.n_missing) == (54, 0, 0)
    unfinished = compare(pd.concat([running, failed, finished.drop(index=1)]))
    assert (unfinished.n_finished, unfinished.n_failed, unfinished.n_missing) == (53, 1, 0)


def test_failed_and_missing_cells_are_counted_and_never_zero() -> None:
    table = TABLE.assign(status="finished")
    table = with_values(table, "status", {("t00", "m00", 1): "failed"}, "task", "model", "seed")
    table = with_values(table, "score", {("t00", "m01", 2): np.inf, ("t00", "m02", 3): None}, "task", "model", "seed")
    table = table.drop(index=table.index[(table["task"] == "t01") & (table["model"] == "m02") & (table["seed"] > 2)])
    found = compare(table)
    assert (found.n_cells, found.n_finished, found.n_failed, found.n_missing) == (54, 48, 1, 5)
    cell = found["t00"].cells[0]
    assert (cell.n_finished, cell.n_failed, cell.n_missing, cell.seeds) == (5, 1, 0, (0, 2, 3, 4, 5))
    pair = found["t00"].pairs[0]
    assert (pair.n_pairs, pair.n_unmatched, pair.n_missing) == (4, 2, 2)
    seeds = [0, 3, 4, 5]
    assert pair.effects.mean.mean == pytest.approx((SCORES[0, 0, seeds] - SCORES[0, 1, seeds]).mean())
    text = str(found)
    assert "48 of 54 cells finished, 1 failed, 5 missing; drop_pair" in text
    assert "means over unequal seeds are ranked on t00, t01" in text


@pytest.mark.parametrize(
    ("missing", "tasks", "models", "n_across"),
    [
        ("drop_pair", ("t00", "t02"), ("m00", "m01", "m02"), (3, 2, 2)),
        ("drop_task", ("t00", "t02"), ("m00", "m01", "m02"), (2, 2, 2)),
        ("drop_model", ("t00", "t01", "t02"), ("m00",), ()),
        ("worst_rank", ("t00", "t01", "t02"), ("m00", "m01", "m02"), (2, 2, 1)),
    ],
)
def test_policies_for_what_is_missing(
    missing: str, tasks: tuple[str, ...], models: tuple[str, ...], n_across: tuple[int, ...]
) -> None:
    scores = SCORES.copy()
    scores[1, 2] = np.nan  # m02 fails on t01 altogether
    scores[2, 1, 0] = np.nan  # m01 lacks a seed on t02
    found = compare(table_of(scores), missing=missing)
    assert found.across.ranks is not None
    assert found.across.ranks.tasks == tasks
    assert found.across.ranks.models == models
    assert tuple(pair.n_tasks for pair in found.across.pairs) == n_across
    if missing == "worst_rank":
        assert found.across.ranks.ranks[1][2] == 3.0
        assert found.across.ranks.ranks[2][1] == 3.0
    if missing == "drop_model":
        assert found["t02"].dropped == ("m01",)
        assert len(found["t02"].pairs) == 1
    assert missing in str(found)


def test_models_never_run_on_a_task_are_not_planned_there() -> None:
    table = TABLE[(TABLE["task"] != "t00") | (TABLE["model"] != "m02")]
    found = compare(table)
    assert found["t00"].not_planned == ("m02",)
    assert found["t00"].families[0].n_planned == 1
    assert found.n_cells == 48


def test_no_task_with_all_models() -> None:
    scores = SCORES[:2].copy()
    scores[0, 0] = scores[1, 1] = np.nan
    found = compare(table_of(scores))
    assert found.across.ranks is None
    assert "no task has all models" in str(found)
    assert len(found.pairs) == 6
    assert sum(pair.p is not None for pair in found.pairs) == 2
    assert {task.families[0].m for task in found.tasks} == {1}


def test_one_seed_one_model_one_task_and_constant_scores() -> None:
    one_seed = compare(TABLE[TABLE["seed"] == 0])
    assert {pair.verdict for pair in one_seed.pairs} == {Verdict.undetermined}
    assert {str(pair.t.outcome) for pair in one_seed.pairs} == {"not run"}
    assert {cell.interval.low for task in one_seed.tasks for cell in task.cells} == {None}
    assert one_seed.across.friedman is not None
    assert one_seed.across.friedman.p is not None
    one_model = compare(TABLE[TABLE["model"] == "m00"])
    assert one_model.pairs == one_model.across.pairs == ()
    assert "1 model: no pair to compare" in str(one_model)
    one_task = compare(TABLE[TABLE["task"] == "t00"])
    assert one_task.across.friedman is not None
    assert one_task.across.friedman.p is None
    assert one_task.across.nemenyi is not None
    assert one_task.across.nemenyi.critical_difference is None
    assert {pair.verdict for pair in one_task.across.pairs} == {Verdict.undetermined}
    constant = compare(TABLE.assign(score=0.5))
    assert {pair.p for pair in constant.pairs} == {1.0}
    assert constant.across.friedman is not None
    assert constant.across.friedman.p == 1.0
    for found in (one_seed, one_model, one_task, constant):
        assert len(str(found).splitlines()) >= 6


def test_tables_with_nothing_in_them() -> None:
    with pytest.raises(NothingToCompare, match="no row"):
        compare(TABLE.iloc[:0])
    with pytest.raises(NothingToCompare, match="none of the 54 cells has a score"):
        compare(TABLE.assign(status="failed"))
    with pytest.raises(BadValue, match="also has the columns metric, direction"):
        compare(TABLE.drop(columns=["metric", "direction"]))


@pytest.mark.parametrize("seed", [None, "first", 1.5, np.inf])
def test_seeds_are_whole_numbers(seed: object) -> None:
    table = TABLE.astype({"seed": object})
    table.iloc[3, table.columns.get_loc("seed")] = seed
    with pytest.raises(BadValue, match=r"seed is .*a whole number in every row"):
        compare(table)


def test_scores_are_numbers() -> None:
    table = TABLE.astype({"score": object})
    table.iloc[3, table.columns.get_loc("score")] = "good"
    with pytest.raises(BadValue, match="score is 'good'"):
        compare(table)


def test_tuned_models_need_no_warning_of_their_hyperparameters() -> None:
    plain = TABLE.assign(hyperparameters="{}")
    chosen = plain[plain["model"] == "m00"].assign(model=tuned_name("m00"))
    chosen["hyperparameters"] = [f'{{"lr": 0.{task[-1]}}}' for task in chosen["task"]]
    found = compare(pd.concat([plain, chosen]))
    assert found.models == ("m00", "m00 (tuned)", "m01", "m02")
    assert columns_warned(found) == []


def test_models_of_other_sizes_are_warned_of() -> None:
    table = table_of(np.arange(12.0).reshape(1, 3, 4), models=("A", "B", "C"))
    sizes = {"A": 100_000, "B": 109_000, "C": 110_000}
    level = table.assign(n_parameters=[sizes[name] for name in table["model"]])
    assert not [finding for finding in compare(level).findings if finding.column == "n_parameters"]
    sizes["C"] = 111_000
    uneven = table.assign(n_parameters=[sizes[name] for name in table["model"]])
    (found,) = [finding for finding in compare(uneven).findings if finding.column == "n_parameters"]
    assert found.tasks == ("t00",)
    assert found.examples == ("t00 A: 100,000", "t00 C: 111,000")
    assert "more than 10% in parameters" in str(found)
    beside_a_rule = table.assign(n_parameters=[{**sizes, "C": 2}[name] for name in table["model"]])
    assert not [finding for finding in compare(beside_a_rule).findings if finding.column == "n_parameters"]


def test_widths_that_make_models_level_are_not_tuned() -> None:
    table = TABLE.assign(hyperparameters=[f'{{"hidden_channels": {140 + int(name[1:])}}}' for name in TABLE["model"]])
    assert columns_warned(compare(table.assign(n_parameters=100_000))) == []
    assert columns_warned(compare(table)) == ["hyperparameters"], "nobody knows their sizes"
    sizes = 100_000 * (1 + table["model"].str[1:].astype(int))
    assert columns_warned(compare(table.assign(n_parameters=sizes))) == ["hyperparameters", "n_parameters"]
    rates = with_values(table.assign(n_parameters=100_000), "hyperparameters", {("m01",): '{"lr": 0.1}'}, "model")
    assert columns_warned(compare(rates)) == ["hyperparameters"]


def test_a_model_is_one_whatever_width_a_budget_gives_it_on_each_task() -> None:
    widths = [f'{{"hidden_channels": {140 + int(task[1:])}}}' for task in TABLE["task"]]
    level = TABLE.assign(hyperparameters=widths, n_parameters=100_000, protocol="budget@1")
    found = compare(level)
    assert {cell.model for task in found.tasks for cell in task.cells} == set(TABLE["model"])
    assert columns_warned(found) == []
    several = with_values(
        level, "hyperparameters", {("t00", "m00", 0): '{"hidden_channels": 9}'}, "task", "model", "seed"
    )
    named = {cell.model for task in compare(several).tasks for cell in task.cells}
    assert "m00 hidden_channels=9" in named, "on one task it has two"


def test_other_hyperparameters_on_other_tasks_are_told() -> None:
    rates = [f'{{"lr": 0.{1 + int(task[1:])}}}' for task in TABLE["task"]]
    (found,) = compare(TABLE.assign(hyperparameters=rates)).findings
    assert found.column == "hyperparameters"
    assert "other hyperparameters on other tasks" in str(found)
    assert found.examples[0] == 'm00 on t00: {"lr": 0.1}'


def test_many_models_of_other_sizes_are_one_sentence() -> None:
    table = table_of(np.arange(90.0).reshape(5, 6, 3)).assign(n_parameters=0)
    table["n_parameters"] = 1000 * (1 + table["model"].str[1:].astype(int))
    (found,) = [finding for finding in compare(table).findings if finding.column == "n_parameters"]
    assert len(found.examples) == 10, "the record has all of them"
    assert str(found).endswith(
        "on t00, t01, t02, t03 and 1 more tasks: t00 m00: 1,000; t00 m05: 6,000; t01 m00: 1,000; t01 m05: 6,000; "
        "and 6 more"
    )


def test_models_whose_size_is_not_told_are_not_warned_of() -> None:
    table = table_of(np.arange(8.0).reshape(1, 2, 4)).assign(n_parameters=[100.0] * 4 + [np.nan] * 4)
    assert not [finding for finding in compare(table).findings if finding.column == "n_parameters"]
