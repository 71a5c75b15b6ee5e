from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from score_tables import table_of

from gnz_track import __version__
from gnz_track.errors import UnknownName
from gnz_track.records import to_json
from gnz_track.stats.comparison.compare import compare

# The published table of ten tasks, as printed: GCN, GAT, SAGE, GT.
MODELS = ("GCN", "GAT", "SAGE", "GT")
PRINTED = np.array(
    [
        [0.864, 0.832, 0.884, 0.871],
        [0.705, 0.637, 0.708, 0.721],
        [0.811, 0.793, 0.798, 0.794],
        [0.674, 0.528, 0.633, 0.538],
        [0.524, 0.609, 0.534, 0.524],
        [0.968, 0.988, 0.902, 0.847],
        [0.967, 0.652, 0.751, 0.598],
        [0.103, 0.107, 0.123, 0.137],
        [0.676, 0.625, 0.632, 0.628],
        [0.685, 0.756, 0.700, 0.712],
    ]
)
RNG = np.random.default_rng(3)
FOUND = compare(table_of(0.7 + 0.02 * RNG.normal(size=(14, 4, 1)) + 0.01 * RNG.normal(size=(14, 4, 10))), margin=0.01)


def test_the_published_table() -> None:
    across = compare(table_of(PRINTED[:, :, None], models=MODELS)).across
    assert across.ranks is not None
    assert dict(zip(across.ranks.models, across.ranks.mean_ranks, strict=True)) == pytest.approx(
        {"GCN": 2.35, "GAT": 2.9, "SAGE": 2.1, "GT": 2.65}
    )
    assert across.friedman is not None
    assert (across.friedman.chi2_uncorrected, across.friedman.chi2) == pytest.approx((2.19, 2.2121212))
    assert across.nemenyi is not None
    assert across.nemenyi.critical_difference == pytest.approx(1.48323, abs=1e-5)
    assert [set(group.members) for group in across.nemenyi.groups] == [set(MODELS)]
    assert across.wilcoxon_holm is not None
    assert [set(group.members) for group in across.wilcoxon_holm.groups] == [set(MODELS)]


def test_ranks_that_do_not_follow_from_printed_scores_are_told() -> None:
    # The published mean ranks GCN 2.40 and GT 2.60 follow only with a digit of Euroroad that was not printed.
    unrounded = PRINTED.copy()
    unrounded[4, 3] += 1e-4
    across = compare(table_of(unrounded[:, :, None], models=MODELS)).across
    assert across.printed is not None
    assert (across.printed.are_reproducible, across.printed.decimals_needed) == (False, 4)
    assert "the ranks do not follow from scores printed with 3 decimals (1 tasks differ): print 4" in str(across)


def test_the_page_is_short_and_starts_with_the_sentence() -> None:
    lines = str(FOUND).splitlines()
    assert lines[0].startswith("4 models, 14 tasks, 10 seeds: ")
    assert "of 84 within-task pairs differ" in lines[0]
    assert 15 <= len(lines) <= 40
    assert "  ... and 2 more tasks" in lines
    assert any(line.lstrip().startswith("Nemenyi, CD = 1.2536") for line in lines)
    assert lines[-1].startswith(f"gnz_track {__version__}, numpy ")


def test_everything_chosen_is_in_the_record() -> None:
    record = json.loads(to_json(FOUND))
    assert set(record["choices"]) == {field.name for field in dataclasses.fields(FOUND.choices)}
    assert set(record["versions"]) == {"gnz_track", "numpy", "scipy"}
    task = record["tasks"][0]
    assert {family["test"]: family["m"] for family in task["families"]} == {"paired t": 6, "exact Wilcoxon": 6}
    pair = task["pairs"][0]
    assert pair["wilcoxon"]["choices"] == {"null": "exact", "zero_method": "wilcox"}
    assert 0 < pair["quantum"] < 1e-9
    assert pair["verdict"] in {"different", "equivalent", "trivial", "undetermined"}
    assert record["across"]["wilcoxon_holm"]["m"] == 6
    assert record["across"]["nemenyi"]["critical_difference"] > 0
    bootstrap = compare(table_of(PRINTED[:2, :, None] + 0.01 * RNG.normal(size=(2, 4, 5))), interval="bca", seed=5)
    interval = bootstrap.tasks[0].cells[0].interval
    assert (interval.seed, interval.n_resamples) == (5, 10_000)
    assert interval.warning


def test_both_ways_to_group_are_in_the_record_and_the_chosen_one_is_marked() -> None:
    n_between = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        table = table_of(np.linspace(0.5, 0.6, 8)[None, :, None] + 0.03 * rng.normal(size=(12, 8, 3)))
        by_wilcoxon, by_nemenyi = compare(table), compare(table, posthoc="nemenyi")
        assert by_wilcoxon.across.wilcoxon_holm == by_nemenyi.across.wilcoxon_holm
        assert by_wilcoxon.across.nemenyi == by_nemenyi.across.nemenyi
        assert "Wilcoxon signed-rank with holm, m = 28" in str(by_wilcoxon)
        chosen = next(line for line in str(by_nemenyi).splitlines() if line.endswith("(chosen)"))
        assert chosen.lstrip().startswith("Nemenyi")
        for found, groups in ((by_wilcoxon, by_wilcoxon.across.wilcoxon_holm), (by_nemenyi, by_nemenyi.across.nemenyi)):
            assert groups is not None
            joined = [set(group.members) for group in groups.groups]
            for pair in found.across.pairs:
                is_joined = any({pair.first, pair.second} <= members for members in joined)
                assert (pair.verdict == "different") == (not is_joined)
                n_between += pair.verdict == "different"
    assert 20 < n_between < 200


def test_a_task_is_found_by_name() -> None:
    assert FOUND["t03"] is FOUND.tasks[3]
    with pytest.raises(UnknownName, match="unknown task 't3'; did you mean"):
        FOUND["t3"]


def test_records_are_frozen() -> None:
    for record in (FOUND, FOUND.tasks[0], FOUND.pairs[0], FOUND.across, FOUND.choices):
        with pytest.raises(dataclasses.FrozenInstanceError):
            record.test = "x"  # type: ignore[misc, union-attr]
