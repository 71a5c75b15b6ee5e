"""Examples of critical-difference diagrams, from scores through the tests of the package."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gnz_track.report.figures.critical_difference.content import CdFacts
from gnz_track.stats.ranking.friedman import run_friedman
from gnz_track.stats.ranking.groups import group_by_nemenyi, group_by_p
from gnz_track.stats.ranking.ranks import rank_rows
from gnz_track.types import Direction


def long_names(k: int) -> list[str]:
    """Return k names of 21 characters, wide and narrow ones."""
    return [f"{'WGAMlimtransformer_conv-net.x'[n % 7 :][:18]}_{n:02d}" for n in range(k)]


def make_scores(k: int, *, n_tasks: int = 20, seed: int = 0, decimals: int = 1, effect: float = 2.0) -> np.ndarray:
    """Return scores [N, k] with ties: few decimals, and models whose means are equal."""
    generator = np.random.default_rng(seed)
    means = np.sort(generator.choice(np.linspace(0.0, effect, max(2, k // 2)), size=k))[::-1]
    return np.round(means + generator.normal(scale=0.5, size=(n_tasks, k)), decimals)


def nemenyi_facts(scores: np.ndarray, names: Sequence[str] | None = None, *, alpha: float = 0.05) -> CdFacts:
    """Return the facts of Nemenyi's test."""
    names = names or long_names(scores.shape[1])
    ranks = rank_rows(scores, Direction.up)
    groups = group_by_nemenyi(list(ranks.mean(axis=0)), models=names, n_tasks=len(scores), alpha=alpha)
    return CdFacts(groups=groups, n_tasks=len(scores), friedman=run_friedman(ranks))


def random_facts(k: int, *, seed: int, density: float = 0.4, n_tasks: int = 20) -> CdFacts:
    """Return mean ranks with ties, and p-values that are high among near models and at random elsewhere."""
    scores = make_scores(k, n_tasks=n_tasks, seed=seed)
    ranks = rank_rows(scores, Direction.up)
    means = ranks.mean(axis=0)
    generator = np.random.default_rng(seed + 1)
    gaps = np.abs(means[:, None] - means[None, :]) / k
    high = (gaps < 0.15) ^ (generator.uniform(size=(k, k)) < 0.1 * density)
    upper = np.triu(high, 1)
    p = [[None if a == b else (0.5 if upper[min(a, b), max(a, b)] else 0.001) for b in range(k)] for a in range(k)]
    groups = group_by_p(p, models=long_names(k), mean_ranks=list(means))
    return CdFacts(groups=groups, n_tasks=n_tasks, friedman=run_friedman(ranks))
