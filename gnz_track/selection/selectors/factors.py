"""Non-negative factors of a matrix of which only some entries are known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gnz_track.selection.selectors.lessons import Real

__all__ = ["complete", "factorise"]

N_STEPS, FLOOR = 100, 1e-5
N_ROUNDS, SHRINKAGE, CHANGE, N_SWEEPS = 60, 1.0, 1e-4, 10


def factorise(scores: Real, rank: int, generator: np.random.Generator) -> tuple[Real, Real]:
    """Return factors [n, rank] and [rank, m] whose product is near the known scores.

    Multiplicative updates for weighted squares (Lee and Seung, 2001; Blondel et al., 2007), 100 steps from random
    factors of graphs and the settings' factors that fit these best.

    Parameters
    ----------
    scores
        Scores [n, m], at least 0, NaN where unknown.
    rank
        Number of factors.
    generator
        Source of the random factors.
    """
    known: NDArray[np.float64] = np.isfinite(scores).astype(np.float64)
    filled = np.where(known > 0, scores, 0.0)
    graphs = generator.uniform(0, 1, (len(scores), rank))
    settings = np.maximum(np.linalg.lstsq(graphs, filled, rcond=None)[0], FLOOR)
    for _ in range(N_STEPS):
        graphs *= (filled @ settings.T) / ((known * (graphs @ settings)) @ settings.T + FLOOR)
        graphs = np.maximum(graphs, FLOOR)
        settings *= (graphs.T @ filled) / (graphs.T @ (known * (graphs @ settings)) + FLOOR)
        settings = np.maximum(settings, FLOOR)
    return graphs, settings


def complete(scores: Real) -> Real:
    """Return scores ``[n, m]`` with unknown ones filled in: graph and setting means, and a matrix of low rank.

    Singular values of what the means leave are shrunk towards 0 until what is filled in stays (Mazumder et al., 2010),
    after the spread of every graph is made one: graphs differ in how much the choice of a setting matters. Nothing is
    filled in beyond the range of what is known.
    """
    known = np.isfinite(scores)
    if known.all() or not known.any():
        return scores.copy()
    spread = _row_spreads(scores, known)
    centres, columns = _two_ways(scores, known, spread)
    left = np.where(known, (scores - centres) / spread - columns, 0.0)
    filled, weight = left, SHRINKAGE * np.sqrt(known.sum(axis=1).mean() / known.shape[1])
    for _ in range(N_ROUNDS):
        u, sizes, v = np.linalg.svd(filled, full_matrices=False)
        low = (u * np.maximum(sizes - weight, 0)) @ v
        following = np.where(known, left, low)
        is_settled = np.abs(following - filled).max() < CHANGE
        filled = following
        if is_settled:
            break
    whole = (filled + columns) * spread + centres
    return np.where(known, scores, np.clip(whole, scores[known].min(), scores[known].max()))


def _row_spreads(scores: Real, known: NDArray[np.bool_]) -> Real:
    """Return how much scores vary on each graph ``[n, 1]``; where one is known, as much as on the graphs at large."""
    counts = known.sum(axis=1, keepdims=True)
    squares = np.where(known, (scores - _row_means(scores, known)) ** 2, 0.0).sum(axis=1, keepdims=True)
    told = squares[(counts > 1) & (squares > 0)] / counts[(counts > 1) & (squares > 0)]
    usual = float(np.median(told)) if len(told) else 1.0
    # One number says nothing of a spread; what is usual counts as one more.
    return np.asarray(np.sqrt((squares + usual) / np.maximum(counts, 1)))


def _two_ways(scores: Real, known: NDArray[np.bool_], spread: Real) -> tuple[Real, Real]:
    """Return centres of graphs ``[n, 1]`` and of settings ``[m]``, the latter in units of the graph's spread.

    A graph on which good settings alone were run is not a graph that is easy: its centre allows for which they are.
    """
    centres = _row_means(scores, known)
    columns = np.zeros(scores.shape[1])
    for _ in range(N_SWEEPS):
        # Few observations pull a setting's mean towards 0.
        columns = np.where(known, (scores - centres) / spread, 0.0).sum(axis=0) / (known.sum(axis=0) + 1)
        centres = _row_means(scores - spread * columns, known)
    return centres, columns


def _row_means(scores: Real, known: NDArray[np.bool_]) -> Real:
    totals = np.where(known, scores, 0).sum(axis=1, keepdims=True)
    return np.asarray(totals / np.maximum(known.sum(axis=1, keepdims=True), 1))
