"""How long questions to stored predictions take on one core.

    OMP_NUM_THREADS=1 python benchmarks/predictions.py [--examples 10000] [--classes 10] [--only slices]

Targets: 10,000 resamples of seeds and examples of 10 models, 10 seeds and 10,000 examples in 10 s, and slices of 40
cells in 5 s. Seconds are of the processor.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable

import numpy as np

from gnz_track.stats.predictions.arrays import decide, probabilities, score_examples
from gnz_track.stats.predictions.calibration import calibrate, fit_temperature
from gnz_track.stats.predictions.curves import count_confusions, count_ranks, trace_roc
from gnz_track.stats.predictions.ensembles import average_seeds, select_greedily
from gnz_track.stats.predictions.examples import rate_difficulty, suspect_labels
from gnz_track.stats.predictions.pairs import agree, mcnemar, mcnemar_pooled, overlap
from gnz_track.stats.predictions.slices import bin_by_quantile, explain_difference, score_slices
from gnz_track.stats.predictions.two_levels import resample_means, two_level_differences, two_level_means

N_SEEDS = 10


def questions(n_examples: int, n_classes: int) -> dict[str, Callable[[], object]]:
    """Return what is measured by name: of 10 models and 10 seeds, or of 40 cells (4 models) with logits."""
    rng = np.random.default_rng(0)
    targets = rng.integers(n_classes, size=n_examples)
    logits = rng.normal(size=(4, N_SEEDS, n_examples, n_classes))
    logits[..., np.arange(n_examples), targets] += 2.0
    solved = (rng.random((10, N_SEEDS, n_examples)) < 0.8).astype(np.float64)
    correct = score_examples(logits, targets)
    gaps = np.where(rng.random(solved.shape[1:]) < 0.2, solved, np.nan)
    labels, _ = bin_by_quantile(rng.random(n_examples), n_bins=20)
    members = probabilities(logits).reshape(-1, n_examples, n_classes)
    ranks = rng.integers(1, 1000, size=correct.shape)
    return {
        "two levels: means of 10 models": lambda: two_level_means(solved),
        "two levels: 45 pairs": lambda: two_level_differences(solved),
        "two levels: 45 pairs, random splits": lambda: two_level_differences(gaps),
        "two levels: 10,000 resamples of 10 models": lambda: resample_means(solved),
        "two levels: 10,000 resamples, random splits": lambda: resample_means(gaps),
        "two levels: 45 pairs by bootstrap": lambda: two_level_differences(solved, method="bootstrap"),
        "pairs: exact McNemar, 45 pairs, 10 seeds": lambda: mcnemar(solved),
        "pairs: pooled McNemar": lambda: mcnemar_pooled(solved),
        "pairs: agreement, 100 cells": lambda: agree(solved),
        "pairs: overlap, 100 cells": lambda: overlap(solved),
        "scores of examples, 40 cells": lambda: score_examples(logits, targets, score="log_loss"),
        "ensembles: mean of seeds": lambda: average_seeds(probabilities(logits)),
        "ensembles: 50 greedy steps, 40 members, log loss": lambda: select_greedily(members, targets),
        "ensembles: the same, accuracy": lambda: select_greedily(members, targets, score="accuracy"),
        "calibration: 40 cells": lambda: calibrate(logits, targets),
        "calibration: temperature of 40 cells": lambda: fit_temperature(logits, targets),
        "slices: 20 of 40 cells": lambda: score_slices(correct, labels),
        "slices: difference of two models": lambda: explain_difference(correct, labels, first=0, second=1),
        "examples: difficulty": lambda: rate_difficulty(solved),
        "examples: suspected labels, 40 cells": lambda: suspect_labels(logits, targets),
        "curves: confusions of 40 cells": lambda: count_confusions(decide(logits), targets, n_classes=n_classes),
        "curves: ROC of one cell": lambda: trace_roc(logits[0, 0, :, 0], targets == 0),
        "curves: ranks of 40 cells": lambda: count_ranks(ranks),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=int, default=10_000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--only", default="", help="part of a name")
    asked = parser.parse_args()
    for name, ask in questions(asked.examples, asked.classes).items():
        if asked.only in name:
            started = time.process_time()
            ask()
            print(f"{name:52}{time.process_time() - started:8.2f} s", flush=True)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
