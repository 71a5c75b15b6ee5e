"""Tables of ranks, Friedman, Nemenyi and both kinds of groups against the golden record."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import fdtri

from gnz_track.stats.ranking.friedman import run_friedman
from gnz_track.stats.ranking.groups import critical_difference, group_by_nemenyi, group_by_p, nemenyi_q
from gnz_track.stats.ranking.ranks import RankTable, check_printed_ranks, rank_table
from gnz_track.stats.significance.multiple import adjust
from gnz_track.types import Direction

GOLDEN = json.loads(Path(__file__).with_name("statistics.json").read_text(encoding="utf-8"))
TABLES = {item["id"]: item for item in GOLDEN["fixtures"] if item["kind"] == "rank_table"}
COMPARED = [name for name, item in TABLES.items() if item["outputs"]["k"] > 1]
PUBLISHED = "r02_graphnetz_table3_printed"


def ranked(name: str, **options: str) -> RankTable:
    given = TABLES[name]["input"]
    return rank_table(
        np.array(given["scores"], dtype=float),
        [Direction.down if is_lower else Direction.up for is_lower in given["lower_is_better"]],
        models=given["models"],
        tasks=[f"t{n}" for n in range(len(given["scores"]))],
        **options,
    )


def close(expected: Any) -> Any:
    return pytest.approx(expected, rel=1e-9, abs=1e-12)


def pairs_matrix(models: tuple[str, ...], p: dict[str, float]) -> list[list[float | None]]:
    """Write the p-values of the record, keyed by "A|B", as a symmetric matrix."""
    both = {tuple(key.split("|")): value for key, value in p.items()}
    return [[both.get((a, b), both.get((b, a))) for b in models] for a in models]


def test_the_record_holds_tables() -> None:
    assert len(TABLES) >= 12
    assert len(COMPARED) >= 11


@pytest.mark.parametrize("name", COMPARED)
def test_ranks(name: str) -> None:
    found, expected = ranked(name), TABLES[name]["outputs"]
    assert [list(row) for row in found.ranks] == expected["ranks"]
    assert found.tasks == tuple(f"t{n}" for n in expected["policy_complete_tasks"])
    assert dict(zip(found.models, found.mean_ranks, strict=True)) == close(expected["mean_ranks"])


def test_missing_cell_by_each_policy() -> None:
    name = "r10_nan_cell"
    assert ranked(name, missing="drop_model").models == tuple(TABLES[name]["outputs"]["policy_common_models"])
    assert ranked(name, missing="drop_task").dropped_tasks == ("t1",)
    worst = ranked(name, missing="worst_rank")
    assert worst.ranks[1] == (2.0, 3.0, 1.0)
    assert "1 of 15 scores are missing" in worst.note


@pytest.mark.parametrize("name", [name for name in COMPARED if TABLES[name]["outputs"]["k"] > 2])
def test_friedman(name: str) -> None:
    found, expected = run_friedman(ranked(name).ranks), TABLES[name]["outputs"]
    assert found.chi2_uncorrected == close(expected["friedman_chi2_uncorrected"])
    assert found.tie_correction == close(expected["tie_correction_C"])
    assert found.kendall_w == close(expected["kendall_W"])
    assert found.df == expected["friedman_df"]
    assert list(found.iman_davenport_df) == expected["iman_davenport_df"]
    if expected["friedman_chi2"] == "NaN":
        assert (found.chi2, found.p, found.p_method, found.rejects) == (None, 1.0, "all tied", False)
        return
    assert found.chi2 == close(expected["friedman_chi2"])
    assert found.chi2 == pytest.approx(expected["scipy_friedmanchisquare"][0], rel=1e-9)
    assert found.p_chi2 == close(expected["friedman_p"])
    exact = expected.get("friedman_p_exact_permutation")
    assert found.p_exact == (None if exact is None else close(exact))
    assert found.p == (found.p_chi2 if exact is None else found.p_exact)


@pytest.mark.parametrize("name", [name for name in COMPARED if TABLES[name]["outputs"]["k"] > 2])
def test_iman_davenport_from_five_tasks_on(name: str) -> None:
    found, expected = run_friedman(ranked(name).ranks), TABLES[name]["outputs"]
    if (
        expected["N"] < 5
        or len(found.mean_ranks) == 0
        or found.n_tasks < 5
        or expected["iman_davenport_F"] == "Infinity"
    ):
        assert (found.iman_davenport_f, found.iman_davenport_p) == (None, None)
        assert "Iman-Davenport" in found.note or found.p_method == "all tied"
    else:
        assert found.iman_davenport_f == close(expected["iman_davenport_F"])
        assert found.iman_davenport_p == close(expected["iman_davenport_p"])


def test_two_models_are_sent_to_wilcoxon() -> None:
    found, expected = run_friedman(ranked("r05_k2").ranks), TABLES["r05_k2"]["outputs"]
    assert (found.p, found.chi2, found.rejects) == (None, None, None)
    assert "Wilcoxon" in str(found)
    assert found.kendall_w == close(expected["kendall_W"])


def test_one_model_leaves_nothing_to_compare() -> None:
    table = ranked("r14_single_model")
    assert run_friedman(table.ranks).p is None
    found = group_by_nemenyi(table.mean_ranks, models=table.models, n_tasks=table.n_tasks)
    assert (found.critical_difference, found.groups, found.p) == (None, (), ())


@pytest.mark.parametrize("name", COMPARED)
def test_nemenyi(name: str) -> None:
    table, expected = ranked(name), TABLES[name]["outputs"]
    found = group_by_nemenyi(table.mean_ranks, models=table.models, n_tasks=table.n_tasks)
    assert found.q == pytest.approx(expected["q_alpha"], abs=1e-6)
    assert found.critical_difference == pytest.approx(expected["CD"], abs=1e-6)
    assert [list(group.members) for group in found.groups] == [
        names for names in expected["cliques_nemenyi"] if len(names) > 1
    ]
    for key in ("nemenyi_p", "scikit_posthocs_nemenyi_p"):
        wanted = pairs_matrix(table.models, expected[key])
        for a, row in enumerate(found.p):
            for b, value in enumerate(row):
                assert value == (1.0 if a == b else close(wanted[a][b]))


@pytest.mark.parametrize("name", COMPARED)
def test_groups_of_wilcoxon_with_holm(name: str) -> None:
    table, expected = ranked(name), TABLES[name]["outputs"]
    raw = expected["wilcoxon_exact_p"]
    adjusted = dict(zip(raw, adjust(list(raw.values())).p_adjusted, strict=True))
    assert adjusted == close(expected["wilcoxon_holm_p"])
    found = group_by_p(
        pairs_matrix(table.models, adjusted), models=table.models, mean_ranks=table.mean_ranks, alpha=0.05
    )
    assert {frozenset(group.members) for group in found.groups} == {
        frozenset(names) for names in expected["cliques_wilcoxon_holm_maximal"] if len(names) > 1
    }
    assert found.is_complete


@pytest.mark.parametrize("alpha", ["0.1", "0.05", "0.01"])
def test_nemenyi_q_of_every_number_of_models(alpha: str) -> None:
    table = GOLDEN["tables"]["nemenyi_q_alpha_over_sqrt2"][alpha]
    assert len(table) >= 40
    for k, values in table.items():
        for reference in ("scipy", "quad"):
            assert nemenyi_q(int(k), float(alpha)) == pytest.approx(values[reference], abs=1e-6)


def test_demsar_from_printed_mean_ranks() -> None:
    table = GOLDEN["tables"]["demsar_from_mean_ranks"]
    n, k, means = table["N"], table["k"], np.array(table["mean_ranks"])
    # These four numbers are rounded, so no table of ranks has them: the formulas are checked by themselves.
    chi2 = 12 * n / (k * (k + 1)) * ((means**2).sum() - k * (k + 1) ** 2 / 4)
    assert chi2 == pytest.approx(table["chi2"], rel=1e-9)
    assert (n - 1) * chi2 / (n * (k - 1) - chi2) == pytest.approx(table["F_F"], rel=1e-9)
    assert critical_difference(k, n, 0.05) == pytest.approx(table["CD05"], abs=1e-6)
    assert critical_difference(k, n, 0.10) == pytest.approx(table["CD10"], abs=1e-6)
    assert fdtri(k - 1, (k - 1) * (n - 1), 0.95) < table["F_F"]


def test_published_table_across_categories() -> None:
    table = ranked(PUBLISHED)
    assert table.order == ("SAGE", "GCN", "GT", "GAT")
    assert sorted(table.mean_ranks) == pytest.approx([2.10, 2.35, 2.65, 2.90])
    found = run_friedman(table.ranks)
    assert (round(found.chi2_uncorrected or 0, 2), round(found.chi2 or 0, 2)) == (2.19, 2.21)
    assert found.rejects is False
    nemenyi = group_by_nemenyi(table.mean_ranks, models=table.models, n_tasks=table.n_tasks)
    assert round(nemenyi.critical_difference or 0, 4) == 1.4832
    assert [group.members for group in nemenyi.groups] == [table.order]


def test_published_mean_ranks_need_digits_that_were_not_printed() -> None:
    # The published 2.40 and 2.60 follow if GT is above GCN on Euroroad by less than the printed digits show.
    scores = np.array(TABLES[PUBLISHED]["input"]["scores"])
    scores[4, 3] += 0.0004
    models = TABLES[PUBLISHED]["input"]["models"]
    table = rank_table(scores, Direction.up, models=models, tasks=[str(n) for n in range(10)])
    assert table.mean_ranks == pytest.approx((2.40, 2.90, 2.10, 2.60))
    assert round(run_friedman(table.ranks).chi2 or 0, 2) == 2.04
    printed = check_printed_ranks(scores, Direction.up, decimals=3)
    assert (printed.are_reproducible, printed.decimals_needed, printed.tasks_that_differ) == (False, 4, (4,))
    assert "print 4" in str(printed)
    assert check_printed_ranks(scores, Direction.up, decimals=4).are_reproducible


def test_disagreement_on_ties() -> None:
    # D1: the correction turns the decision, and the exact p-value agrees with it.
    found = run_friedman(ranked("r16_ties_many").ranks)
    assert found.chi2_uncorrected == pytest.approx(4.75)
    assert found.chi2 == pytest.approx(7.6)
    assert found.p == pytest.approx(2 / 81)
    assert found.rejects


def test_disagreement_on_float_noise() -> None:
    # D2: .1 + .2 is not .3, and must tie with it all the same.
    scores = [[0.1 + 0.2, 0.3, 0.2], [0.7, 0.1 + 0.6, 0.8], [1 - 0.9, 0.1, 0.05]]
    table = rank_table(scores, Direction.up, models=["a", "b", "c"], tasks=["x", "y", "z"])
    assert table.ranks == ((1.5, 1.5, 3.0), (2.5, 2.5, 1.0), (1.5, 1.5, 3.0))


def test_disagreement_on_the_border() -> None:
    # D12: a gap of exactly CD separates; so does one that float noise leaves a hair below.
    gap = critical_difference(3, 10)
    for noise, n_groups in ((0.0, 0), (-1e-13, 0), (-1e-6, 1)):
        found = group_by_nemenyi([1.0, 1.0 + gap + noise, 9.0], models=["a", "b", "c"], n_tasks=10)
        assert len(found.groups) == n_groups, noise


def test_disagreement_on_tiny_n() -> None:
    # D15: Iman and Davenport's p is 0 where one in six arrangements is as extreme.
    found = run_friedman(ranked("r07_N2_k3").ranks)
    assert found.p == pytest.approx(1 / 6)
    assert found.p_method == "exact permutation"
    assert found.iman_davenport_p is None


def test_other_models_move_the_mean_rank_verdict() -> None:
    # r17 and r18: the same scores of A and B, with two models above both, or four that fall between them on every task.
    given = TABLES["r17_paradox_pool_outside"]["input"]
    a, b, *others = np.array(given["scores"]).T
    between = [a + (b - a) * share for share in (0.2, 0.4, 0.6, 0.8)]
    found = []
    for columns in ([a, b, *others], [a, b, *between]):
        models = [f"m{n}" for n in range(len(columns))]
        table = rank_table(np.stack(columns, axis=1), Direction.up, models=models, tasks=[str(n) for n in range(20)])
        found.append(group_by_nemenyi(table.mean_ranks, models=models, n_tasks=20).p[0][1])
    assert found == pytest.approx([0.760993913683782, 0.0094], abs=5e-5)
