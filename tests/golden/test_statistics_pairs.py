"""Every golden pair and the tables of power: tests, effects, equivalence; figures and tolerances in statistics.json.

The published implementations disagree on many of them; the golden value is the one that is right.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gnz_track.stats.comparison.joins import SeedPairs, join
from gnz_track.stats.design.power import (
    attainability,
    design_power,
    paired_t_power,
    seeds_needed,
    smallest_effect,
    smallest_p,
    smallest_seeds,
)
from gnz_track.stats.estimates.effects import effects
from gnz_track.stats.estimates.flags import flag_pair
from gnz_track.stats.estimates.intervals import intervals_of
from gnz_track.stats.significance.equivalence import tost
from gnz_track.stats.significance.paired import Outcome, paired_t, sign_flip, wilcoxon

GOLDEN = json.loads(Path(__file__).with_name("statistics.json").read_text(encoding="utf-8"))
PAIRS = {fixture["id"]: fixture for fixture in GOLDEN["fixtures"] if fixture["kind"] == "pair"}
TABLES = GOLDEN["tables"]
ALPHAS = (0.05, 0.05 / 3, 0.05 / 6, 0.005)


def having(key: str) -> pytest.MarkDecorator:
    """Parametrize over the pairs whose golden outputs have a key."""
    return pytest.mark.parametrize("name", [name for name, pair in PAIRS.items() if key in pair["outputs"]])


def pair_of(name: str, direction: str = "up") -> SeedPairs:
    given = PAIRS[name]["input"]
    sides = []
    for side in ("a", "b"):
        values = [None if value == "NaN" else value for value in given[side]]
        seeds = given["seeds"][side] if given["seeds"] else range(len(values))
        sides.append(dict(zip(seeds, values, strict=True)))
    return join(*sides, direction=direction)


def golden(value: float | str, rel: float = 1e-9) -> Any:
    return None if value == "NaN" else pytest.approx(value, rel=rel, abs=1e-15)


def setting(key: str) -> tuple[int, float]:
    """Read seeds and alpha of a table's key; alpha is printed with six digits there."""
    found = re.search(r"S=(\d+),alpha=([\d.]+)", key)
    assert found, key
    return int(found[1]), min(ALPHAS, key=lambda alpha: abs(alpha - float(found[2])))


def test_there_are_pairs() -> None:
    assert len(PAIRS) >= 13


@having("paired_t")
def test_paired_t(name: str) -> None:
    found, expected = paired_t(pair_of(name)), PAIRS[name]["outputs"]["paired_t"]
    assert found.p == golden(expected["p"])
    assert found.statistic == golden(expected["t"])
    assert found.n_pairs == PAIRS[name]["outputs"]["n_pairs"]


@having("mean_diff")
def test_mean_advantage(name: str) -> None:
    found, outputs = effects(pair_of(name)).mean, PAIRS[name]["outputs"]
    assert found.mean == golden(outputs["mean_diff"])
    assert found.sd == golden(outputs["sd_diff"])
    low, high = outputs["paired_t"].get("ci95", (0.0, 0.0))
    assert (found.low, found.high) == (golden(low), golden(high))


@having("cohens_dz")
def test_standardised_advantage(name: str) -> None:
    found, expected = effects(pair_of(name)).standardised, PAIRS[name]["outputs"]["cohens_dz"]
    assert found.d_z == golden(expected["dz"])
    assert found.hedges == golden(expected["hedges_gz"])
    assert found.factor == golden(expected["J"])
    assert (found.low, found.high) == tuple(map(golden, expected["dz_ci95_nct"]))


@having("wilcoxon")
@pytest.mark.parametrize("zero_method", ["wilcox", "pratt"])
def test_exact_wilcoxon(name: str, zero_method: str) -> None:
    found = wilcoxon(pair_of(name), zero_method=zero_method)
    expected = PAIRS[name]["outputs"]["wilcoxon"][f"exact_{zero_method}"]
    assert found.p == pytest.approx(expected["p"], rel=1e-12)
    assert found.statistic == expected["Wplus"] - expected["Wminus"]
    assert found.n_effective == expected["n_eff"]


@having("wilcoxon")
def test_rank_effects(name: str) -> None:
    found, expected = effects(pair_of(name)), PAIRS[name]["outputs"]["wilcoxon"]
    assert found.rank_biserial == golden(expected["rank_biserial"])
    assert found.hodges_lehmann == golden(expected["hodges_lehmann"])


@having("signflip_mean_p")
def test_sign_flip(name: str) -> None:
    assert sign_flip(pair_of(name)).p == golden(PAIRS[name]["outputs"]["signflip_mean_p"])


@having("tost")
def test_equivalence(name: str) -> None:
    expected = PAIRS[name]["outputs"]["tost"]
    assert tost(pair_of(name), margin=expected["margin"]).p == golden(expected["p"])


@having("power")
def test_power_of_the_pair(name: str) -> None:
    pair, expected = pair_of(name), PAIRS[name]["outputs"]["power"]
    found = effects(pair)
    rel = 1e-4 if pair.n_pairs == 2 else 1e-9
    assert paired_t_power(found.standardised.d_z or 0.0, pair.n_pairs) == golden(expected["observed_power"], rel)
    design = design_power(pair.n_pairs, 6, sd=found.mean.sd)
    assert design.advantage == golden(expected["mde80_exact"], rel)
    assert design.advantage_in_family == golden(expected["mde80_exact_bonf6"], rel)


@pytest.mark.parametrize("key", TABLES["power_paired_t"])
def test_power_table(key: str) -> None:
    n_seeds, alpha = setting(key)
    d_z = float(key.removeprefix("dz=").split(",")[0])
    rel = 1e-4 if n_seeds == 2 else 1e-9
    assert paired_t_power(d_z, n_seeds, alpha=alpha) == golden(TABLES["power_paired_t"][key]["nct"], rel)


@pytest.mark.parametrize("key", TABLES["mde80_dz"])
def test_smallest_effect_table(key: str) -> None:
    n_seeds, alpha = setting(key)
    rel = 1e-4 if n_seeds == 2 else 1e-9
    assert smallest_effect(n_seeds, alpha=alpha) == golden(TABLES["mde80_dz"][key]["exact"], rel)


def test_seeds_table() -> None:
    for d_z, expected in TABLES["seeds_for_dz_power80_alpha05"].items():
        assert seeds_needed(float(d_z)) == expected["exact"], d_z


def test_attainability_tables() -> None:
    for n_seeds, p in TABLES["wilcoxon_min_two_sided_p"].items():
        assert smallest_p(int(n_seeds)) == p
    for m, n_seeds in TABLES["wilcoxon_min_S_to_reject_after_holm_m"].items():
        assert smallest_seeds(int(m)) == n_seeds
        assert attainability(n_seeds, int(m)).can_reject
        assert not attainability(n_seeds - 1, int(m)).can_reject


# Where the published implementations disagree (statistics.json, disagreements).


def test_d2_float_noise_does_not_untie_decimals() -> None:
    assert wilcoxon(pair_of("p11_S30_ties_zeros")).p == pytest.approx(0.130828857421875, rel=1e-12)


def test_d3_no_approximation_at_many_seeds() -> None:
    assert wilcoxon(pair_of("p16_S60_no_ties")).p == pytest.approx(0.0006399688603201566, rel=1e-12)


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt"])
def test_d4_d5_all_zero_has_p_one_and_stays(zero_method: str) -> None:
    pair = pair_of("p05_all_zero_S5")
    for found in (paired_t(pair), wilcoxon(pair, zero_method=zero_method), sign_flip(pair)):
        assert (found.outcome, found.p) == (Outcome.run, 1.0)


def test_d6_constant_difference_is_degenerate() -> None:
    pair = join(dict.fromkeys(range(5), 0.9), dict.fromkeys(range(5), 0.8), direction="up")
    found = paired_t(pair)
    assert (found.outcome, found.p, found.statistic) == (Outcome.degenerate, None, None)
    assert effects(pair).standardised.d_z is None
    assert effects(pair).mean.low is None
    assert sign_flip(pair).p == 0.0625
    assert flag_pair(pair).is_degenerate


def test_d7_far_tails_of_the_noncentral_t() -> None:
    assert paired_t_power(4.737447187081883, 3) == pytest.approx(0.9643, abs=5e-5)
    assert paired_t_power(4.737447187081883, 3, alpha=0.05 / 6) == pytest.approx(0.4328, abs=5e-5)


def test_d13_one_score_has_no_interval() -> None:
    (found,) = intervals_of([[0.8]])
    assert (found.mean, found.sd, found.low, found.high) == (0.8, None, None, None)


def test_d14_missing_seed_is_joined_on_the_seed() -> None:
    pair = pair_of("p13_missing_seed")
    assert pair.seeds == (0, 1, 3)
    assert pair.advantages == pytest.approx((0.01, 0.02, 0.03))
    assert pair.n_unmatched == 1


def test_lower_is_better_turns_every_sign() -> None:
    up, down = (effects(pair_of("p17_mae_lower_better", direction)) for direction in ("up", "down"))
    assert up.mean.mean is not None
    assert up.mean.mean < 0
    assert down.mean.mean == pytest.approx(-up.mean.mean)
    assert down.standardised.low == pytest.approx(-(up.standardised.high or 0))
    assert (down.rank_biserial, down.superiority.share) == (1.0, 1.0)
