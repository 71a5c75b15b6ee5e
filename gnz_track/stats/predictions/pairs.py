"""Pairs of models on the same examples: McNemar's test, agreement, and how far they err together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, chdtrc

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats, read_scores
from gnz_track.stats.predictions.arrays import Integers, mean_of_known, read_solved

__all__ = ["Agreement", "ClusteredMcNemar", "McNemar", "SolvedOverlap", "agree", "mcnemar", "mcnemar_pooled", "overlap"]


@dataclass(frozen=True, kw_only=True, eq=False)
class McNemar:
    """Exact tests [model, model, seed]; ``only_first`` counts what the first model solves and the second does not.

    ``p`` is NaN where the models have no example of that seed in common.
    """

    only_first: Integers
    only_second: Integers
    p: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusteredMcNemar:
    """One test a pair [model, model] over all seeds; ``difference`` is how much more the first model solves.

    ``n_examples`` are those that both models have; NaN where there is none.
    """

    n_examples: Integers
    difference: Floats
    chi2: Floats
    p: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Agreement:
    """Share of equal decisions and Cohen's kappa [model, model], means over seeds.

    Two models are compared on the same seed. The diagonal is the measure to hold them against: a model compared with
    itself on two different seeds, mean over all such pairs.
    """

    share: Floats
    kappa: Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class SolvedOverlap:
    """How far models solve the same and err alike [model, model], means over seeds, diagonal as in `Agreement`.

    ``solved`` is |A and B| / |A or B| of what they solve (Jaccard 1912), ``errors`` the same of what they do not, and
    ``shared_errors`` the share of the first model's errors that the second makes too: it is ``expected_errors``, the
    second model's share of errors, where both err independently.
    """

    solved: Floats
    errors: Floats
    shared_errors: Floats
    expected_errors: Floats


def mcnemar(solved: npt.ArrayLike) -> McNemar:
    """Test for each pair of models and each seed whether both solve as many: p = min(1, 2 P(X <= min(b, c))).

    b and c count what only one of them solves, X is binomial with b + c trials of chance 1/2; without such an example
    p is 1. It holds for new examples with this one seed. McNemar (1947), Psychometrika 12.

    Parameters
    ----------
    solved
        Booleans [model, seed, example], NaN where an example is not there: a pair is tested on what both have.
    """
    array = read_solved(solved)
    yes, no, known = _split(array)
    b = np.einsum("ase,bse->abs", yes, no, optimize=True)
    c = b.swapaxes(0, 1)
    both = np.einsum("ase,bse->abs", known, known, optimize=True)
    p = np.minimum(1.0, 2.0 * bdtr(np.minimum(b, c), (b + c).astype(np.int64), 0.5))
    return McNemar(only_first=_count(b), only_second=_count(c), p=np.where(both > 0, p, np.nan))


def mcnemar_pooled(solved: npt.ArrayLike) -> ClusteredMcNemar:
    """Test for each pair of models, over all seeds, whether both solve as many; examples are clusters.

    With d_i the mean over the seeds of example i of A solved - B solved, chi2 = (sum d_i)^2 / sum d_i^2 with 1 degree
    of freedom; without any difference p is 1. It holds for new examples with these seeds, not for new seeds:
    :func:`~gnz_track.stats.predictions.two_levels.two_level_differences` does both. Durkalski, Palesch, Lipsitz and
    Rust (2003), Statistics in Medicine 22.

    Parameters
    ----------
    solved
        Booleans [model, seed, example], NaN where an example is not there: a pair is tested on what both have.
    """
    array = read_solved(solved)
    n_models = len(array)
    shape = (n_models, n_models)
    n, total, squares = np.zeros(shape, dtype=np.int64), np.zeros(shape), np.zeros(shape)
    for a in range(n_models):
        # One row of pairs at a time: all differences at once would take models^2 times the room.
        d = mean_of_known(array[a] - array, axis=1)
        n[a] = (~np.isnan(d)).sum(axis=1)
        total[a], squares[a] = np.nansum(d, axis=1), np.nansum(d**2, axis=1)
    chi2 = np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), 0.0)
    is_known = n > 0
    return ClusteredMcNemar(
        n_examples=n,
        difference=np.where(is_known, total / np.maximum(n, 1), np.nan),
        chi2=np.where(is_known, chi2, np.nan),
        p=np.where(is_known, chdtrc(1.0, chi2), np.nan),
    )


def agree(decisions: npt.ArrayLike) -> Agreement:
    """Return how often models decide alike, and Cohen's kappa: (share - chance) / (1 - chance).

    Chance is the sum over classes of the product of both shares; where it is 1 kappa is NaN, and so are seeds of which
    a pair has no example in common: neither is in the mean. Kappa of ``solved`` is the error consistency of Geirhos,
    Meding and Wichmann (2020). Cohen (1960), Educ. Psychol. Meas. 20.

    Parameters
    ----------
    decisions
        Classes [model, seed, example], whole numbers, or booleans; NaN where an example is not there.
    """
    array = read_scores("decisions", decisions, ndim=3)
    known = ~np.isnan(array)
    if (array[known] != np.rint(array[known])).any():
        raise BadValue("decisions", "no whole numbers", "classes, not probabilities")
    cells = array.reshape(-1, array.shape[2])
    shown = known.reshape(cells.shape).astype(np.float64)
    both = shown @ shown.T
    equal, chance = np.zeros_like(both), np.zeros_like(both)
    for label in np.unique(array[known]):
        chosen = (cells == label).astype(np.float64)
        equal += chosen @ chosen.T
        among = chosen @ shown.T
        chance += among * among.T
    with np.errstate(invalid="ignore", divide="ignore"):
        share, by_chance = equal / both, chance / both**2
        # All counts are whole, so that one class alone is exactly 0 / 0.
        kappa = (share - by_chance) / (1.0 - by_chance)
    n_models, n_seeds = array.shape[:2]
    return Agreement(share=_over_seeds(share, n_models, n_seeds), kappa=_over_seeds(kappa, n_models, n_seeds))


def overlap(solved: npt.ArrayLike) -> SolvedOverlap:
    """Return how far models solve the same examples and err on the same.

    Parameters
    ----------
    solved
        Booleans [model, seed, example], NaN where an example is not there: a pair is compared on what both have, and a
        ratio of nothing to nothing is NaN and not in the mean over seeds.
    """
    array = read_solved(solved)
    n_models, n_seeds = array.shape[:2]
    yes, no, known = (part.reshape(n_models * n_seeds, array.shape[2]) for part in _split(array))
    found = []
    for part in (yes, no):
        both, mine = part @ part.T, part @ known.T
        found.append(_ratio(both, mine + mine.T - both))
    shared, mine, shown = no @ no.T, no @ known.T, known @ known.T
    found += [_ratio(shared, mine), _ratio(mine.T, shown)]
    means = [_over_seeds(part, n_models, n_seeds) for part in found]
    return SolvedOverlap(solved=means[0], errors=means[1], shared_errors=means[2], expected_errors=means[3])


def _split(array: Floats) -> tuple[Floats, Floats, Floats]:
    """Return as zeros and ones what is solved, what is not, and what is there."""
    yes, no = (array == 1).astype(np.float64), (array == 0).astype(np.float64)
    return yes, no, yes + no


def _count(values: Floats) -> Integers:
    return np.rint(values).astype(np.int64)


def _ratio(part: Floats, whole: Floats) -> Floats:
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def _over_seeds(cells: Floats, n_models: int, n_seeds: int) -> Floats:
    """Return means [model, model] of [cell, cell]: the same seed of two models, two seeds of one model."""
    by_seed = cells.reshape(n_models, n_seeds, n_models, n_seeds)
    same = mean_of_known(by_seed.diagonal(axis1=1, axis2=3), axis=2)
    own = by_seed.diagonal(axis1=0, axis2=2).transpose(2, 0, 1).copy()
    own[:, np.arange(n_seeds), np.arange(n_seeds)] = np.nan
    same[np.arange(n_models), np.arange(n_models)] = mean_of_known(own, axis=(1, 2))
    return same
