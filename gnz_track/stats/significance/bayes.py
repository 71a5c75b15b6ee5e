"""Probabilities that one model is better, practically equal, or worse, by two Bayesian tests.

G. Corani, A. Benavoli, Machine Learning 100 (2015) 285-304; A. Benavoli et al., J. Mach. Learn. Res. 18 (2017) 77.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.seeds import derive
from gnz_track.stats.inputs import Floats, centre_and_spread, check_whole, number, put_back, read_finite, take_out

__all__ = ["BayesianSignedRank", "CorrelatedT", "correlated_t", "signed_rank_posterior"]


@dataclass(frozen=True, kw_only=True)
class CorrelatedT:
    """The posterior of the mean advantage on one task: Student(nu, mean, scale), and what it puts on three regions."""

    n_pairs: int
    rope: float
    rho: float
    nu: int
    mean: float | None
    scale: float | None
    p_better: float | None
    p_equal: float | None
    p_worse: float | None
    method: str
    note: str = ""

    def __str__(self) -> str:
        return _say_probabilities(self.p_better, self.p_equal, self.p_worse, self.rope, self.note)


@dataclass(frozen=True, kw_only=True)
class BayesianSignedRank:
    """Posterior over tasks; each probability is the share of draws in which that region weighs most."""

    n_tasks: int
    rope: float
    prior_strength: float
    n_draws: int
    base_seed: int
    seed: int
    p_better: float | None
    p_equal: float | None
    p_worse: float | None
    largest_standard_error: float | None
    method: str
    note: str = ""

    def __str__(self) -> str:
        return _say_probabilities(self.p_better, self.p_equal, self.p_worse, self.rope, self.note)


def correlated_t(advantages: npt.ArrayLike, *, rope: float = 0.0, rho: float = 0.0) -> CorrelatedT:
    """Return the posterior of the mean advantage on one task, over seeds or resampled splits.

    It is Student with nu = S - 1 around the mean, of scale s sqrt(1 / S + rho / (1 - rho)).

    Parameters
    ----------
    advantages
        Quantised differences [S], positive where the first model is better.
    rope
        Half-width of the region of practical equality, in the metric.
    rho
        Correlation of replicates: 0 for independent seeds, n_test / n for overlapping splits.
    """
    # It takes as long to import as NumPy, and nothing else here needs it.
    from scipy import special

    d = read_finite("advantages", advantages, ndim=1)
    _check_rope(rope)
    if not 0.0 <= rho < 1.0:
        raise BadValue("rho", rho, "a number from 0 (independent seeds) to below 1; n_test / n for overlapping splits")
    n = d.size
    d, exponents = take_out(d)
    mean, sd = (float(part[0]) for part in centre_and_spread(d[None, :])) if n > 1 else (float(d.sum()), 0.0)
    is_constant = n > 1 and sd <= 1e-12 * float(np.abs(d).max(initial=0.0))
    scale = sd * float(np.sqrt(1.0 / n + rho / (1.0 - rho))) if n > 1 and not is_constant else None
    below = above = None
    if scale is not None:
        limit = float(put_back(rope, -exponents[0]))
        below = float(special.stdtr(n - 1, (-limit - mean) / scale))
        above = float(special.stdtr(n - 1, (mean - limit) / scale))
    note = "fewer than two pairs" if n < 2 else "degenerate: all differences are the same" if is_constant else ""
    return CorrelatedT(
        n_pairs=n,
        rope=float(rope),
        rho=float(rho),
        nu=max(0, n - 1),
        mean=number(put_back(mean, exponents[0])) if n else None,
        scale=None if scale is None else number(put_back(scale, exponents[0])),
        p_better=above,
        p_equal=None if above is None or below is None else max(0.0, 1.0 - above - below),
        p_worse=below,
        method="correlated Bayesian t-test, closed form, prior 1 / sigma",
        note=note,
    )


def signed_rank_posterior(
    advantages: npt.ArrayLike,
    *,
    rope: float = 0.0,
    prior_strength: float = 0.5,
    n_draws: int = 50_000,
    base_seed: int = 0,
) -> BayesianSignedRank:
    """Return the Bayesian signed-rank test over tasks: Dirichlet weights on the tasks and on a pseudo-task at 0.

    With weights w ~ Dirichlet(prior_strength, 1, ..., 1) on z = (0, d): better = sum w_i w_j 1(z_i + z_j > 2 rope),
    worse likewise below -2 rope, equal = the rest.

    Parameters
    ----------
    advantages
        Differences [N], commensurable between tasks.
    rope
        Half-width of the region of practical equality, in the unit of the differences.
    prior_strength
        Weight of the pseudo-task.
    n_draws
        Draws from the posterior.
    base_seed
        Seed that the draws derive from.
    """
    d = read_finite("advantages", advantages, ndim=1)
    _check_rope(rope)
    check_whole("n_draws", n_draws, least=1)
    if not 0.0 < prior_strength < np.inf:
        raise BadValue("prior_strength", prior_strength, "a finite number above 0")
    seed = derive(base_seed, "Bayesian signed-rank", d.size)
    shares = _draw_winners(d, rope, prior_strength, (n_draws, seed)) if d.size > 1 else None
    error = None if shares is None else float(np.sqrt(shares * (1.0 - shares) / n_draws).max())
    better, equal, worse = (None, None, None) if shares is None else (float(value) for value in shares)
    return BayesianSignedRank(
        n_tasks=d.size,
        rope=float(rope),
        prior_strength=float(prior_strength),
        n_draws=n_draws,
        base_seed=base_seed,
        seed=seed,
        p_better=better,
        p_equal=equal,
        p_worse=worse,
        largest_standard_error=error,
        method="Bayesian signed-rank test, Dirichlet Monte Carlo, prior weight at 0",
        note="fewer than two tasks" if d.size < 2 else "",
    )


def _draw_winners(d: Floats, rope: float, prior_strength: float, how: tuple[int, int]) -> Floats:
    """Return the shares [3] of draws that better, equal and worse win; a tie is divided."""
    n_draws, seed = how
    rng = np.random.default_rng(seed)
    z = np.concatenate([[0.0], d])
    sums = z[:, None] + z[None, :]
    # Sums of decimals that meet the border on paper must not cross it by float noise.
    border = 2.0 * rope + 1e-12 * float(np.abs(d).max(initial=0.0))
    regions = np.stack([sums > border, np.abs(sums) <= border, sums < -border]).astype(np.float64)
    strengths = np.concatenate([[prior_strength], np.ones(d.size)])
    wins, left = np.zeros(3), n_draws
    while left:
        # Blocks keep the memory below some tens of megabytes for any number of tasks.
        size = min(left, max(1, 2_000_000 // z.size))
        weights = rng.dirichlet(strengths, size=size)
        masses = np.stack([((weights @ region) * weights).sum(axis=1) for region in regions], axis=1)
        is_largest = masses >= masses.max(axis=1, keepdims=True) - 1e-12
        wins += (is_largest / is_largest.sum(axis=1, keepdims=True)).sum(axis=0)
        left -= size
    shares: Floats = wins / n_draws
    return shares


def _check_rope(rope: float) -> None:
    if not 0.0 <= rope < np.inf:
        raise BadValue("rope", rope, "a finite half-width from 0 on, in the units of the metric")


def _say_probabilities(better: float | None, equal: float | None, worse: float | None, rope: float, note: str) -> str:
    if better is None or equal is None or worse is None:
        return f"posterior undefined: {note}"
    return f"P(better) = {better:.3f}, P(within {rope:g}) = {equal:.3f}, P(worse) = {worse:.3f}"
