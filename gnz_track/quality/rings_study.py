"""Separability under the names of the published package: p-values to the bit, count / B, which may be 0."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from torch_geometric.data import Data

from gnz_track.quality.separability import SeparabilitySettings, compare_samples

__all__ = ["KSComparator", "SeparabilityFunctor", "SeparabilityStudy", "WilcoxonComparator"]

RINGS = "rings"
Comparator = Callable[..., dict[str, Any]]


class _Comparator:
    """Two samples by a permutation test, p being the share of permutations that are as extreme."""

    test = "ks"
    method = "KS"

    def __call__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        n_permutations: int = 10_000,
        alpha: float = 0.01,
        n_hypotheses: int = 1,
        random_state: int = 42,
    ) -> dict[str, Any]:
        """Return score, pvalue, pvalue_adjusted, significant and method."""
        if not np.size(x) or not np.size(y):
            message = "both samples need at least one score"
            raise ValueError(message)
        if self.test == "signed_rank" and np.size(x) != np.size(y):
            message = "paired samples need as many scores each"
            raise ValueError(message)
        settings = SeparabilitySettings(
            test=self.test, n_permutations=n_permutations, alpha=alpha, seed=random_state, compat=RINGS
        )
        found = compare_samples(x, y, settings, n_hypotheses=n_hypotheses)
        return {
            "score": found.statistic,
            "pvalue": found.p,
            "pvalue_adjusted": found.p_adjusted,
            "significant": found.p_adjusted < alpha,
            "method": self.method,
        }


class KSComparator(_Comparator):
    """Kolmogorov and Smirnov."""


class WilcoxonComparator(_Comparator):
    """Wilcoxon's signed ranks, of paired scores."""

    test = "signed_rank"
    method = "Wilcoxon"


COMPARATORS: dict[str, type[_Comparator]] = {"ks": KSComparator, "wilcoxon": WilcoxonComparator}


class SeparabilityFunctor:
    """All pairs of distributions compared, with Bonferroni over them."""

    def __init__(self, comparator: Comparator, n_jobs: int = 1, alpha: float = 0.01, **options: Any) -> None:
        del n_jobs
        self.comparator, self.alpha, self.options = comparator, alpha, options

    def forward(
        self,
        distributions: Mapping[str, ArrayLike],
        n_permutations: int = 10_000,
        random_state: int = 42,
        as_dataframe: bool = True,  # noqa: FBT001, FBT002  (the published signature)
    ) -> Any:
        """Return a row per pair with mode1 and mode2.

        Parameters
        ----------
        distributions
            Mode -> scores [n].
        n_permutations, random_state
            Permutations and their seed.
        as_dataframe
            Whether to return a frame, or a list.
        """
        pairs = list(itertools.combinations(distributions, 2))
        shared = {"n_permutations": n_permutations, "alpha": self.alpha, "random_state": random_state}
        rows = []
        for first, second in pairs:
            x, y = distributions[first], distributions[second]
            found = self.comparator(x, y, n_hypotheses=len(pairs), **shared, **self.options)
            rows.append({**found, "mode1": first, "mode2": second})
        return pd.DataFrame(rows) if as_dataframe else rows


class SeparabilityStudy:
    """Scores of perturbed versions of a dataset, recorded one by one and compared at the end.

    ``perturbations`` maps names to transforms; ``comparator`` is ks, wilcoxon, or a comparator.
    """

    def __init__(
        self,
        perturbations: Mapping[str, Callable[[Any], Any]],
        num_seeds: int = 5,
        comparator: str | Comparator = "ks",
        alpha: float = 0.01,
        n_jobs: int = 1,
    ) -> None:
        if not perturbations:
            message = "there is no perturbation"
            raise ValueError(message)
        if isinstance(comparator, str) and comparator.lower() not in COMPARATORS:
            message = f"unknown comparator {comparator!r}; known: {', '.join(COMPARATORS)}"
            raise ValueError(message)
        self.perturbations, self.num_seeds, self.alpha, self.n_jobs = dict(perturbations), num_seeds, alpha, n_jobs
        self.comparator = COMPARATORS[comparator.lower()]() if isinstance(comparator, str) else comparator
        self._scores: dict[str, list[float]] = {}

    def runs(self) -> Iterator[tuple[str, Callable[[Any], Any], int]]:
        """Yield the name of each version, its transform, and each seed."""
        for name, transform in self.perturbations.items():
            yield from ((name, transform, seed) for seed in range(self.num_seeds))

    @staticmethod
    def apply(data: Any, transform: Callable[[Any], Any]) -> Any:
        """Return a graph, or all graphs of a dataset, perturbed once and for good.

        The published one perturbs a dataset anew at every access, so that no two epochs see the same graphs.
        """
        if isinstance(data, Data) or not hasattr(data, "__len__"):
            return transform(data)
        return [transform(data[number]) for number in range(len(data))]

    def record(self, name: str, score: float) -> None:
        """Add a score of a version."""
        if name not in self.perturbations:
            message = f"{name!r} is no perturbation of this study; known: {', '.join(self.perturbations)}"
            raise KeyError(message)
        self._scores.setdefault(name, []).append(float(score))

    @property
    def scores(self) -> dict[str, NDArray[np.float64]]:
        """The scores recorded so far, by version."""
        return {name: np.asarray(values) for name, values in self._scores.items()}

    def evaluate(self, n_permutations: int = 10_000, random_state: int = 42, as_dataframe: bool = True) -> Any:  # noqa: FBT001, FBT002
        """Return the comparison of all versions that have scores.

        Parameters
        ----------
        n_permutations, random_state, as_dataframe
            As in :class:`SeparabilityFunctor`.
        """
        if not self._scores:
            message = "no score was recorded: study.record(name, score)"
            raise RuntimeError(message)
        functor = SeparabilityFunctor(self.comparator, n_jobs=self.n_jobs, alpha=self.alpha)
        return functor.forward(self.scores, n_permutations, random_state, as_dataframe)
