"""The 63 statistics against SciPy and plain definitions, and where they are undefined."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gnz_track.selection.features.graph import STATISTICS, describe_vector

SAMPLE = np.random.default_rng(4).gamma(1.5, 3, 301).round(1) + 0.1


def described(values: object) -> dict[str, float]:
    """Return the statistics by name."""
    return dict(zip(STATISTICS, describe_vector(values).tolist(), strict=True))


def test_statistics_that_scipy_has() -> None:
    found, x = described(SAMPLE), SAMPLE
    shares = x / x.sum()
    expected = {
        "mean": x.mean(),
        "median": np.median(x),
        "var": x.var(),
        "std": x.std(),
        "entropy": stats.entropy(shares),
        "norm_entropy": stats.entropy(shares) / np.log2(len(x)),
        "mad": stats.median_abs_deviation(x),
        "skew": stats.skew(x),
        "kurt_fisher_biased": stats.kurtosis(x),
        "kurt_pearson_biased": stats.kurtosis(x, fisher=False),
        "kurt_fisher_unbiased": stats.kurtosis(x, bias=False),
        "kurt_pearson_unbiased": stats.kurtosis(x, fisher=False, bias=False),
        "geometric_mean": stats.gmean(x),
        "harmonic_mean": stats.hmean(x + 1e-10),
        "coeff_variation": stats.variation(x),
        "mode": stats.mode(x).mode,
        "mode_count": stats.mode(x).count,
        "snr": (x.mean() / x.std()) ** 2,
        "efficiency_ratio": (x.std() / x.mean()) ** 2,
        "var_to_mean": x.var() / x.mean(),
        "avg_abs_dev": np.abs(x - x.mean()).mean(),
        # Mean absolute difference over twice the mean (Gini, 1912).
        "gini": np.abs(x[:, None] - x).mean() / (2 * x.mean()),
    }
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-6), name


def test_quartiles_are_entries_and_fences_are_strict() -> None:
    found = described([1, 2, 3, 4, 5, 6, 7, 8, 100])
    assert (found["q1"], found["q3"], found["iqr"]) == (3, 7, 4)
    assert (found["iqr1.5_lower_bound"], found["iqr1.5_upper_bound"]) == (-3, 13)
    assert (found["iqr3_lower_bound"], found["iqr3_upper_bound"]) == (-9, 19)
    assert [found[f"iqr1.5_out_count_{side}"] for side in ("all", "low", "high")] == [1, 0, 1]
    assert found["iqr3_out_frac_high"] == pytest.approx(1 / 9)
    assert found["quartile_dispersion"] == pytest.approx(0.4)
    # A value on the fence is inside: q1 = 1, q3 = 3, fences at -2 and 6.
    assert described([1, 1, 3, 3, 6])["iqr1.5_out_count_all"] == 0
    assert described([1, 1, 3, 3, 6.01])["iqr1.5_out_count_all"] == 1


def test_the_mode_is_the_smallest_of_those_that_tie() -> None:
    found = described([5, 2, 5, 2, 9])
    assert (found["mode"], found["mode_count"], found["mode_frac"]) == (2, 2, 0.4)


@pytest.mark.parametrize("values", [[], [0.0], [0.0] * 7, [3.0], [4.0] * 12, [1.0, 2.0], [0.0, 0.0, 5.0]])
def test_what_is_undefined_is_zero(values: list[float]) -> None:
    found = describe_vector(values)
    assert found.shape == (63,)
    assert np.isfinite(found).all()


def test_a_constant_has_no_shape() -> None:
    found = described([4.0] * 12)
    assert [found[name] for name in ("skew", "kurt_fisher_biased", "kurt_pearson_biased", "snr")] == [0, 0, 0, 0]
    assert described([0.0] * 4)["entropy"] == 0
    assert described([0.0, 4.0])["geometric_mean"] == 0


@given(st.lists(st.integers(0, 50), min_size=1, max_size=60), st.randoms(use_true_random=False))
def test_the_order_of_a_vector_does_not_matter(values: list[int], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert describe_vector(shuffled).tolist() == describe_vector(values).tolist()
