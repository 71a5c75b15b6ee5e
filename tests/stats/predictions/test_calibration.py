"""Calibration: bins by loops, scikit-learn's curve, simulation of the bias, and a temperature by SciPy's search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from scipy.stats import norm
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss, log_loss

from gnz_track.errors import BadValue
from gnz_track.stats.estimates.effects import wilson
from gnz_track.stats.predictions.calibration import calibrate, fit_temperature, reliability

LAW = settings(deadline=None, max_examples=40)

Array = NDArray[np.float64]


def draw(n: int, *, classes: int = 3, sharpness: float = 1.0, seed: int = 0) -> tuple[Array, NDArray[np.int64]]:
    """Return logits [1, 1, n, class] and targets drawn from softmax of the logits over the sharpness."""
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=2.0, size=(n, classes))
    drawn = (rng.random((n, 1)) > softmax(z, axis=1).cumsum(axis=1)).sum(axis=1)
    return sharpness * z[None, None], np.minimum(drawn, classes - 1)


@pytest.mark.parametrize("binning", ["width", "mass"])
def test_bins_are_those_of_a_loop(binning: str) -> None:
    z, y = draw(300, sharpness=2.0)
    p = softmax(z[0, 0], axis=1)
    top, right = p.max(axis=1), p.argmax(axis=1) == y
    edges = np.linspace(0, 1, 11) if binning == "width" else np.r_[0.0, np.sort(top)[29::30]]
    d = np.zeros(10)
    n = np.zeros(10, dtype=int)
    variance = np.zeros(10)
    for place in range(10):
        chosen = (top > edges[place]) & (top <= edges[place + 1])
        n[place] = chosen.sum()
        if chosen.any():
            d[place] = top[chosen].mean() - right[chosen].mean()
            variance[place] = right[chosen].var()
    found = calibrate(z, y, n_bins=10, binning=binning)
    assert reliability(z, y, n_bins=10, binning=binning).n[0, 0].tolist() == n.tolist()
    assert found.ece[0, 0] == pytest.approx((n / 300 * abs(d)).sum())
    # Too sharp, so that something is left when bias is taken off.
    assert found.rmsce_debiased[0, 0] > 0.05
    squares = (n / 300 * (d**2 - variance / np.maximum(n - 1, 1))).sum()
    assert found.rmsce_debiased[0, 0] == pytest.approx(np.sqrt(max(squares, 0.0)))
    sd = np.sqrt(variance / np.maximum(n, 1))
    folded = [norm(m, s).expect(abs) if s else abs(m) for m, s in zip(d, sd, strict=True)]
    assert found.ece_debiased[0, 0] == pytest.approx(max((n / 300 * (2 * abs(d) - folded)).sum(), 0.0), abs=1e-7)


def test_table_is_scikit_learn_s_curve() -> None:
    z, y = draw(400, classes=2)
    p = softmax(z[0, 0], axis=1)
    found = reliability(z, y, n_bins=8)
    right = (p.argmax(axis=1) == y).astype(int)
    accuracy, confidence = calibration_curve(right, p.max(axis=1), n_bins=8)
    known = found.n[0, 0] > 0
    assert found.accuracy[0, 0, known] == pytest.approx(accuracy)
    assert found.confidence[0, 0, known] == pytest.approx(confidence)
    assert np.isnan(found.accuracy[0, 0, ~known]).all()
    low, high = wilson(accuracy, found.n[0, 0, known].astype(float), 0.05)
    assert (found.lows[0, 0, known], found.highs[0, 0, known]) == (pytest.approx(low), pytest.approx(high))


def test_proper_scores_are_scikit_learn_s() -> None:
    z, y = draw(200)
    p = softmax(z[0, 0], axis=1)
    found = calibrate(z, y)
    assert found.log_loss[0, 0] == pytest.approx(log_loss(y, p))
    assert found.brier[0, 0] == pytest.approx(brier_score_loss(y, p, scale_by_half=False))


def test_debiasing_takes_off_what_chance_does() -> None:
    found = [calibrate(*draw(200, seed=seed)) for seed in range(300)]
    # These logits are calibrated: all that is found is bias.
    plain, debiased, squares = (
        np.array([getattr(item, name)[0, 0] for item in found]) for name in ("ece", "ece_debiased", "rmsce_debiased")
    )
    assert plain.mean() > 0.05
    assert debiased.mean() < 0.65 * plain.mean()
    # The square is unbiased, so that it lies below 0 about as often as above.
    assert 0.4 < (squares == 0.0).mean() < 0.75


def test_temperature_is_that_of_a_search() -> None:
    for seed, sharpness in enumerate((0.3, 1.0, 4.0)):
        z, y = draw(500, sharpness=sharpness, seed=seed)
        rows = np.arange(500)

        def loss(log_t: float, z: Array = z, y: NDArray[np.int64] = y, rows: NDArray[np.int64] = rows) -> float:
            return float(-log_softmax(z[0, 0] / np.exp(log_t), axis=1)[rows, y].mean())

        best = minimize_scalar(loss, bounds=(-7, 7), method="bounded", options={"xatol": 1e-9})
        (found,) = fit_temperature(z, y)[0]
        assert found == pytest.approx(np.exp(best.x), rel=1e-5)
        assert found == pytest.approx(sharpness, rel=0.25)


@LAW
@given(st.integers(0, 1000), st.floats(0.05, 20.0))
def test_temperature_scales_with_the_logits_and_never_harms(seed: int, factor: float) -> None:
    z, y = draw(30, seed=seed)
    y[:2] = (z[0, 0, :2].argmax(axis=1) + 1) % 3
    temperature = fit_temperature(z, y)[0, 0]
    if 0.03 < temperature < 30.0:
        assert fit_temperature(z * factor, y)[0, 0] == pytest.approx(temperature * factor, rel=1e-6)
    before, after = calibrate(z, y), calibrate(z / temperature, y)
    assert after.log_loss[0, 0] <= before.log_loss[0, 0] + 1e-12


def test_edges_of_the_temperature() -> None:
    z = np.array([[[[2.0, 0.0], [0.0, 1.0]]]])
    assert fit_temperature(z, [0, 1])[0, 0] == pytest.approx(1e-3)
    assert fit_temperature(z, [1, 0])[0, 0] == pytest.approx(1e3)
    assert np.isnan(fit_temperature(np.zeros((1, 1, 3, 2)), [0, 1, 0])).all()
    assert np.isnan(fit_temperature(np.full((1, 1, 3, 2), np.nan), [0, 1, 0])).all()
    assert np.isfinite(fit_temperature(z * 1e300, [0, 1])).all()


def test_cells_are_judged_on_their_own_examples() -> None:
    z, y = draw(100)
    both = np.repeat(z, 2, axis=1)
    both[0, 1, 40:] = np.nan
    for binning in ("width", "mass"):
        found, alone = calibrate(both, y, binning=binning), calibrate(z[:, :, :40], y[:40], binning=binning)
        assert found.ece[0, 1] == alone.ece[0, 0]
        assert found.brier[0, 1] == pytest.approx(alone.brier[0, 0])
    assert fit_temperature(both, y)[0, 1] == fit_temperature(z[:, :, :40], y[:40])[0, 0]
    gone = calibrate(np.full((1, 1, 3, 2), np.nan), [0, 1, 1])
    assert np.isnan([gone.ece, gone.ece_debiased, gone.rmsce_debiased, gone.brier, gone.log_loss]).all()


def test_equal_confidences_go_together() -> None:
    z = np.tile([1.0, 0.0], (1, 1, 9, 1))
    found = reliability(z, [0] * 9, n_bins=3, binning="mass")
    assert sorted(found.n[0, 0].tolist()) == [0, 0, 9]
    (one,) = reliability(z[:, :, :1], [0], n_bins=4, binning="mass").n[0]
    assert one.sum() == 1


def test_one_class_among_the_targets_is_no_obstacle() -> None:
    z, _ = draw(50)
    found = calibrate(z, [0] * 50)
    assert np.isfinite([found.ece, found.ece_debiased, found.log_loss]).all()


def test_wrong_input_is_refused() -> None:
    z, y = draw(10)
    with pytest.raises(BadValue, match="width, mass"):
        calibrate(z, y, binning="equal")
    with pytest.raises(BadValue, match="n_bins"):
        calibrate(z, y, n_bins=0)
