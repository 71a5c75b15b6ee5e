"""What a report says in numbers, and as LaTeX, under the published names."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from gnz_track.errors import NothingToCompare
from gnz_track.report.published import (
    Weights,
    describe_stability,
    equivalence_frame,
    friedman_facts,
    level_of,
    pairwise_frame,
    power_frame,
    rank_frame,
    weigh_ranks,
)
from gnz_track.report.tables.latex import LatexLook, LatexOptions, write_scores_latex, write_verdicts_latex
from gnz_track.report.tables.training import training_facts, training_frame, write_training_latex
from gnz_track.stats.comparison.comparison import Comparison

__all__ = ["ReportStatistics", "write_text"]

TARGETS = (0.02, 0.01, 0.005)


class ReportStatistics(abc.ABC):
    """What can be read of a report's comparison; nothing is computed here that the comparison does."""

    table: pd.DataFrame

    @abc.abstractmethod
    def compare(self, **choices: Any) -> Comparison:
        """Return what the table says under these choices."""

    def pairwise(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """Return the adjusted paired test of each pair within a task; ``method`` is t, wilcoxon or another test.

        ``mean_diff`` is model_a minus model_b; ``advantage`` is positive where model_a is better.
        """
        return pairwise_frame(self.compare(alpha=alpha, test=method))

    def friedman(self, alpha: float = 0.05) -> dict[str, Any]:
        """Return Friedman's test on the ranks across tasks, corrected for ties, and Nemenyi's critical difference."""
        return friedman_facts(self.compare(alpha=alpha).across)

    def power(
        self, alpha: float = 0.05, target_power: float = 0.8, *, targets: Sequence[float] = TARGETS
    ) -> pd.DataFrame:
        """Return the smallest advantage that each pair's design detects, and the seeds that ``targets`` would need.

        All at the level that is left to one pair of its family: alpha / m.

        Parameters
        ----------
        alpha
            Level of the tests.
        target_power
            Power that a design is to have.
        targets
            Advantages in units of the metric.
        """
        return power_frame(self.compare(alpha=alpha, power=target_power), targets)

    def equivalence(self, margin: float, alpha: float = 0.05, *, method: str | None = None) -> pd.DataFrame:
        """Return two one-sided tests, and a verdict for each pair.

        Parameters
        ----------
        margin
            Largest difference that does not matter, in units of the metric.
        alpha
            Level of the tests.
        method
            Test of a pair: t, wilcoxon or another one.
        """
        return equivalence_frame(self.compare(margin=margin, alpha=alpha, test=method))

    def rank_table(self) -> pd.DataFrame:
        """Return the rank of each model on each task, 1 for the best."""
        return rank_frame(self.compare().across)

    def mean_ranks(
        self, *, aggregation: str = "uniform", weights: Weights | None = None, groups: Mapping[str, str] | None = None
    ) -> pd.Series:
        """Return mean ranks, best first; only uniform ones may be held against a critical difference.

        Parameters
        ----------
        aggregation
            uniform, reliability, hierarchical or custom; see :func:`weigh_ranks`.
        weights
            Task -> weight.
        groups
            Task -> group.
        """
        return weigh_ranks(self.compare(), aggregation=aggregation, weights=weights, groups=groups)

    def rank_stability(self, *, n_boot: int = 10_000, alpha: float = 0.05, seed: int = 0) -> dict[str, Any]:
        """Return how much the order of the models depends on the tasks.

        Parameters
        ----------
        n_boot
            Number of resamples of the tasks.
        alpha
            Level of the tests.
        seed
            Seed of the bootstrap.
        """
        return describe_stability(self.compare(alpha=alpha), n_boot=n_boot, seed=seed)

    def training(self, alpha: float = 0.05, method: str | None = None) -> pd.DataFrame:
        """Return a row per (task, model), best first: size, scores of both parts, effort, and the place.

        Models that the adjusted paired test does not tell apart share a place.
        """
        return training_frame(self.compare(alpha=alpha, test=method), self.table)

    def training_to_latex(
        self,
        path: str | Path,
        *,
        alpha: float = 0.05,
        method: str | None = None,
        caption: str | None = None,
        label: str | None = None,
    ) -> Path:
        """Write the table of what was trained.

        Parameters
        ----------
        path
            File to write.
        alpha
            Level of the tests.
        method
            Test of a pair: t, wilcoxon or another one.
        caption, label
            LaTeX of the author's own; with one of them the table floats.
        """
        facts = training_facts(self.compare(alpha=alpha, test=method), self.table)
        if facts is None:
            raise NothingToCompare("the table tells nothing of the training but scores")
        return write_text(path, write_training_latex(facts, LatexLook(caption=caption, label=label)))

    def to_latex(
        self,
        path: str | Path,
        *,
        ci: float = 0.95,
        method: str | None = None,
        caption: str | None = None,
        label: str | None = None,
        **options: Unpack[LatexOptions],
    ) -> Path:
        """Write the table of means and intervals.

        Bold is the best; a dagger marks those that the adjusted paired test does not tell from it.

        Parameters
        ----------
        path
            File to write.
        ci
            Level of the intervals.
        method
            Interval of a mean: t, bootstrap, bca or bootstrap_t.
        caption, label
            LaTeX of the author's own; with one of them the table floats.
        **options
            bold_best, pretty_tasks, siunitx and width; see :class:`LatexLook`.
        """
        comparison = self.compare(alpha=level_of(ci), interval=method)
        return write_text(path, write_scores_latex(comparison, LatexLook(caption=caption, label=label, **options)))

    def pairwise_to_latex(
        self,
        path: str | Path,
        *,
        alpha: float = 0.05,
        method: str | None = None,
        caption: str | None = None,
        label: str | None = None,
    ) -> Path:
        """Write the table of pairs within tasks, with raw and adjusted p-values and verdicts.

        Parameters
        ----------
        path
            File to write.
        alpha
            Level of the tests.
        method
            Test of a pair: t, wilcoxon or another one.
        caption, label
            LaTeX of the author's own; with one of them the table floats.
        """
        look = LatexLook(caption=caption, label=label)
        return write_text(path, write_verdicts_latex(self.compare(alpha=alpha, test=method), look))


def write_text(path: str | Path, text: str) -> Path:
    """Write a file, its folder included."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text, encoding="utf-8")
    return target
