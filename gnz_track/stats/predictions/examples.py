"""Single examples: how difficult they are, which nothing solves, and whose label may be wrong."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gnz_track.errors import BadValue
from gnz_track.stats.inputs import Floats
from gnz_track.stats.predictions.arrays import (
    Integers,
    decide,
    log_probabilities,
    mean_of_known,
    read_classes,
    read_logits,
    read_solved,
)

__all__ = ["Difficulty", "SuspectedLabels", "rate_difficulty", "suspect_labels"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Difficulty:
    """How many cells were tested on each example [example], and the share of them that solves it.

    ``share`` is a mean over models of each model's share of seeds, so that a model of many seeds does not weigh more;
    NaN where no cell was tested. ``unsolved`` are the places of examples that were tested and that no cell solves, and
    ``divided`` of those that one model solves with every seed and another with none.
    """

    n_cells: Integers
    share: Floats
    unsolved: Integers
    divided: Integers


@dataclass(frozen=True, kw_only=True, eq=False)
class SuspectedLabels:
    """Places of examples whose label most cells confidently reject, most suspect first; all fields [suspect].

    ``score`` is the mean probability of ``proposed``, the most probable class, less that of the label; ``agreement``
    the share of cells that decide for it.
    """

    places: Integers
    labels: Integers
    proposed: Integers
    score: Floats
    agreement: Floats
    n_cells: Integers


def rate_difficulty(solved: npt.ArrayLike) -> Difficulty:
    """Return how difficult each example is.

    Parameters
    ----------
    solved
        Booleans [model, seed, example], NaN where an example is not in the seed's test set: it does not count there.
    """
    array = read_solved(solved)
    by_model = mean_of_known(array, axis=1)
    share = mean_of_known(by_model, axis=0)
    is_divided = (by_model == 1.0).any(axis=0) & (by_model == 0.0).any(axis=0)
    return Difficulty(
        n_cells=(~np.isnan(array)).sum(axis=(0, 1)).astype(np.int64),
        share=share,
        unsolved=np.flatnonzero(share == 0.0),
        divided=np.flatnonzero(is_divided),
    )


def suspect_labels(
    outputs: npt.ArrayLike, targets: npt.ArrayLike, *, least_agreement: float = 0.8, least_margin: float = 0.1
) -> SuspectedLabels:
    """Return examples on which models and seeds agree against the label, most suspect first.

    Ranked by the margin of mean probabilities: over seeds, then over models (an ensemble's label quality, Kuan and
    Mueller 2022; after Northcutt, Jiang and Chuang 2021, J. Artif. Intell. Res. 70). An example that is merely
    difficult for all is suspected too: look at it before anything is changed.

    Parameters
    ----------
    outputs
        Logits [model, seed, example, class] of test or validation, on which no cell was trained; NaN where an example
        is not there, and it is judged by the cells that have it.
    targets
        Classes [example].
    least_agreement
        The share of these cells that must decide for the same other class.
    least_margin
        The least margin. Weak models agree with hardly any margin: without one most of what they reject is right. Of
        5 % labels changed at random, a margin of 0.1 raises the share of changed ones among the suspected of weak or
        barely trained models (0.07 to 0.25, 0.78 to 1.00), and costs good ones nothing.
    """
    logits = read_logits(outputs)
    classes = read_classes(targets, n_classes=logits.shape[3], n_examples=logits.shape[2])
    if not 0.0 < least_agreement <= 1.0:
        raise BadValue("least_agreement", least_agreement, "a number above 0, at most 1")
    if not 0.0 <= least_margin < 1.0:
        raise BadValue("least_margin", least_margin, "a number from 0, below 1")
    p = mean_of_known(mean_of_known(np.exp(log_probabilities(logits)), axis=1), axis=0)
    proposed = np.where(np.isnan(p), -1.0, p).argmax(axis=1)
    decisions = decide(logits)
    n_cells = (~np.isnan(decisions)).sum(axis=(0, 1))
    agreement = (decisions == proposed).sum(axis=(0, 1)) / np.maximum(n_cells, 1)
    rows = np.arange(classes.size)
    score = p[rows, proposed] - p[rows, classes]
    is_rejected = (proposed != classes) & (agreement >= least_agreement) & (score >= least_margin)
    chosen = np.flatnonzero((n_cells > 0) & is_rejected)
    places = chosen[np.argsort(-score[chosen], kind="stable")]
    return SuspectedLabels(
        places=places,
        labels=classes[places],
        proposed=proposed[places].astype(np.int64),
        score=score[places],
        agreement=agreement[places],
        n_cells=n_cells[places].astype(np.int64),
    )
