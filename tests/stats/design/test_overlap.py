"""Seeds that draw splits: sizes come from the runs, by hand goes first, and the warning says what would remain."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student
from score_tables import table_of, with_values

from gnz_track.errors import BadValue
from gnz_track.stats.comparison.compare import compare

SPLITS = 5


def _table(n_seeds: int = 10, *, gap: float = 0.02) -> pd.DataFrame:
    """Return two tasks of three models on five folds of one dataset, the third model behind by a gap."""
    scores = 0.7 + np.random.default_rng(5).normal(0, 0.005, (2, 3, n_seeds)) - np.array([0, 0, gap])[None, :, None]
    table = table_of(scores, dataset_digest="d")
    folds = {(seed,): f"fold{seed % SPLITS}" for seed in range(n_seeds)}
    return with_values(table, "split_digest", folds, "seed")


def test_sizes_are_those_that_runs_tell() -> None:
    table = _table()
    # Folds of 112 and 111: 111.4 on average, which no seed has.
    told = table.assign(n_train=889, n_test=np.where(table["seed"] % SPLITS < 2, 112, 111))
    found = compare(told, test="nadeau_bengio")
    assert [pair.chosen.choices for pair in found.pairs] == [{"n_train": 889, "n_test": 111}] * 6
    for pair in found.pairs:
        assert pair.t.statistic is not None
        statistic = pair.t.statistic * np.sqrt((1 / 10) / (1 / 10 + 111 / 889))
        assert pair.p == pytest.approx(2 * student.sf(abs(statistic), 9))


def test_sizes_by_hand_go_before_those_of_runs() -> None:
    told = _table().assign(n_train=90, n_test=30)
    found = compare(told, test="nadeau_bengio", split_sizes={"t01": (50, 50)})
    sizes = {pair.task: pair.chosen.choices["n_test"] for pair in found.pairs}
    assert sizes == {"t00": 30, "t01": 50}
    plain = compare(told)
    for ours, other in zip(found.pairs, plain.pairs, strict=True):
        widths = [one.high - one.low for pair in (ours, other) for one in (pair.effects.mean, pair.simultaneous)]
        factor = np.sqrt(1 + ours.n_pairs * {"t00": 30 / 90, "t01": 50 / 50}[ours.task])
        assert widths[:2] == pytest.approx([factor * width for width in widths[2:]])


def test_runs_that_do_not_tell_need_sizes_by_hand() -> None:
    table = _table()
    with pytest.raises(BadValue, match=r"on t00, t01, whose runs do not tell them.* Try: --split-sizes 150,19"):
        compare(table, test="nadeau_bengio")
    partly = table.assign(n_train=90.0, n_test=np.where(table["task"] == "t00", 30.0, np.nan))
    with pytest.raises(BadValue, match="on t01, whose runs"):
        compare(partly, test="nadeau_bengio")
    (assumed,) = compare(partly, test="nadeau_bengio", split_sizes={"t01": (90, 20)}).findings
    assert assumed.examples == (
        "90 examples in training and 30 in test (t00)",
        "90 examples in training and 20 in test (t01)",
    )
    for odd in (0, -3, "many", np.inf):
        (finding,) = compare(table.assign(n_train=90, n_test=odd)).findings
        assert "--split-sizes 150,19" in str(finding), "what is no number of examples is not told"


def test_the_warning_says_what_would_remain() -> None:
    # The first task has a difference of ten standard deviations, the second none that outlasts the correction.
    table = pd.concat([_table(gap=0.1).query("task == 't00'"), _table(gap=0.015).query("task == 't01'")])
    told = table.assign(n_train=90, n_test=30)
    plain, corrected = compare(told), compare(told, test="nadeau_bengio")
    apart = [pair.is_apart for pair in plain.pairs]
    remain = [pair.is_apart for pair in corrected.pairs]
    assert sum(apart) > sum(remain) > 1
    (finding,) = plain.findings
    assert f"by the test nadeau_bengio {sum(remain)} of {sum(apart)} differences remain" in str(finding)
    assert "(gnz report --test nadeau_bengio)" in str(finding)
    assert str(finding).endswith("(gnz report --test nadeau_bengio), on t00, t01: 10 seeds share 5 splits")
    (assumed,) = corrected.findings
    assert "assumes that scores of two seeds are correlated by n_test / (n_train + n_test)" in str(assumed)
    assert str(assumed).endswith(", on t00, t01: 90 examples in training and 30 in test")


def test_a_task_is_named_once_by_the_warning() -> None:
    one = _table().query("task == 't00'").assign(n_train=90, n_test=30)
    (finding,) = compare(one).findings
    assert str(finding).endswith(", on t00: 10 seeds share 5 splits")
    other = _table(8).assign(n_train=90, n_test=30).query("task == 't01'")
    (finding,) = compare(pd.concat([one, other])).findings
    assert str(finding).endswith(", on t00, t01: 10 seeds share 5 splits (t00); 8 seeds share 5 splits (t01)")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, []),
        ((90, 30), []),
        ((90, 31), []),
        ((50, 50), ["on t00, t01: 50,50 given, 90,30 recorded"]),
        ({"t01": (90, 33)}, ["on t01: 90,33 given, 90,30 recorded"]),
    ],
)
def test_sizes_that_contradict_the_runs_are_told(given: object, told: list[str]) -> None:
    table = _table().assign(n_train=90, n_test=30)
    _, *found = compare(table, test="nadeau_bengio", split_sizes=given).findings
    assert [str(finding).partition("recorded, ")[2] for finding in found] == told
    *_, unused = compare(table, split_sizes=(90, 30)).findings
    assert "the test t uses none; nadeau_bengio does" in str(unused)
    silent = compare(_table(), test="nadeau_bengio", split_sizes=(50, 50))
    assert len(silent.findings) == 1, "runs that tell no sizes contradict none"


def test_without_a_difference_or_a_whole_family_the_test_is_only_named() -> None:
    level = _table(5).assign(n_train=90, n_test=30, score=0.7)
    (finding,) = compare(level).findings
    assert "choose the test nadeau_bengio (gnz report --test nadeau_bengio)" in str(finding)
    assert finding.examples == (), "every seed has a split of its own"
    table = _table(gap=0.1).assign(n_train=90, n_test=30)
    half = table.assign(split_digest=table["split_digest"].where(table["task"] == "t00", "one"))
    (within,), (over_all,) = compare(half).findings, compare(half, family="all").findings
    assert within.tasks == over_all.tasks == ("t00",)
    assert "by the test nadeau_bengio 2 of 2 differences remain" in str(within)
    assert "choose the test nadeau_bengio (gnz report" in str(over_all)
