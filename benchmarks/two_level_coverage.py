"""How often intervals for new seeds and new test examples hold the truth, with the functions of the product.

    OMP_NUM_THREADS=1 python benchmarks/two_level_coverage.py [--repetitions 500] [--only seeds]

An example is solved where mu + seed + example + rest > 0, all normal: the truth is known exactly, and outcomes are
zeros and ones as those of a classifier. Nominal .95; the standard error stands beside each. ``t`` and ``bootstrap`` are
what ``two_level_means`` offers, ``percentile`` the bootstrap as it is without the factor sqrt(S / (S - 1)). ``seeds
only`` is the usual interval over seeds: how often it holds the mean on the same test set, which is what it is for, and
how often that of new examples.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from gnz_track.seeds import derive
from gnz_track.stats.predictions.two_levels import LevelInterval, estimate_rows, resample_means

Floats = npt.NDArray[np.float64]

REPETITIONS = 10_000
AT_ONCE = 200
N_RESAMPLES = 2_000
MU = 1.0


@dataclass(frozen=True, kw_only=True)
class Design:
    """Numbers of seeds and examples, and standard deviations of the three sources.

    ``shared`` is the part of the variance of examples and of seeds that two models have in common; without, the mean of
    one model is asked for. ``held`` is the share of the examples that is in a seed's test set.
    """

    n_seeds: int
    n_examples: int
    seed: float
    example: float
    rest: float
    shared: float | None = None
    held: float = 1.0


DESIGNS: dict[str, Design] = {
    "few seeds, many examples, S=3": Design(n_seeds=3, n_examples=2000, seed=0.1, example=1.0, rest=0.5),
    "few seeds, many examples, S=5": Design(n_seeds=5, n_examples=2000, seed=0.1, example=1.0, rest=0.5),
    "strong seeds, S=5": Design(n_seeds=5, n_examples=500, seed=0.25, example=1.0, rest=0.5),
    "strong seeds, S=10": Design(n_seeds=10, n_examples=500, seed=0.25, example=1.0, rest=0.5),
    # Accuracies of seeds spread over .1, and skewed: no interval of so few holds what it should.
    "skewed seeds, S=5": Design(n_seeds=5, n_examples=500, seed=0.5, example=1.0, rest=0.5),
    "skewed seeds, S=10": Design(n_seeds=10, n_examples=500, seed=0.5, example=1.0, rest=0.5),
    "difference, strong examples, S=5": Design(n_seeds=5, n_examples=500, seed=0.05, example=1.0, rest=0.3, shared=0.8),
    "difference, strong examples, S=10": Design(
        n_seeds=10, n_examples=500, seed=0.05, example=1.0, rest=0.3, shared=0.8
    ),
    "difference, nothing but rest, S=5": Design(n_seeds=5, n_examples=500, seed=0.0, example=1.0, rest=0.5, shared=1.0),
    "few examples, S=10": Design(n_seeds=10, n_examples=30, seed=0.1, example=1.0, rest=0.5),
    "two seeds": Design(n_seeds=2, n_examples=500, seed=0.1, example=1.0, rest=0.5),
    "random splits, S=5": Design(n_seeds=5, n_examples=1000, seed=0.1, example=1.0, rest=0.5, held=0.2),
}


def draw(design: Design, n: int, rng: np.random.Generator) -> tuple[Floats, Floats, float]:
    """Return scores [n, seed, example], the mean on their examples [n], and that of new ones."""
    models = 1 if design.shared is None else 2
    shared = design.shared or 0.0

    def source(sd: float, *shape: int) -> Floats:
        both, own = rng.normal(size=(1, *shape)), rng.normal(size=(models, *shape))
        return sd * (np.sqrt(shared) * both + np.sqrt(1.0 - shared) * own)

    examples = source(design.example, n, 1, design.n_examples)
    seeds = source(design.seed, n, design.n_seeds, 1)
    rest = design.rest * rng.normal(size=(models, n, design.n_seeds, design.n_examples))
    solved = (MU + seeds + examples + rest > 0.0).astype(np.float64)
    here = ndtr((MU + examples[:, :, 0]) / np.hypot(design.seed, design.rest)).mean(axis=2)
    if models == 2:
        return solved[0] - solved[1], here[0] - here[1], 0.0
    scores = solved[0]
    if design.held < 1.0:
        places = rng.random(scores.shape).argsort(axis=2)
        scores = np.where(places < design.held * design.n_examples, scores, np.nan)
    truth = float(ndtr(MU / np.sqrt(design.seed**2 + design.example**2 + design.rest**2)))
    return scores, here[0], truth


def is_within(intervals: list[LevelInterval], truth: Floats | float) -> npt.NDArray[np.bool_]:
    """Tell for each interval whether it holds the truth."""
    low, high = np.array([(x.low, x.high) for x in intervals], dtype=np.float64).T
    return np.asarray((low <= truth) & (truth <= high))


def measure(design: Design, name: str, n: int) -> dict[str, npt.NDArray[np.bool_]]:
    """Return for each interval in which repetitions it held the truth."""
    found: dict[str, list[npt.NDArray[np.bool_]]] = {}
    for start in range(0, n, AT_ONCE):
        size = min(AT_ONCE, n - start)
        scores, here, truth = draw(design, size, np.random.default_rng(derive(0, "coverage", name, start)))
        estimates = estimate_rows(scores, alpha=0.05)
        means = resample_means(scores, n_resamples=N_RESAMPLES, seed=start)
        value = np.array([item.value for item in estimates])
        hits = {
            "t": is_within([x.new_examples for x in estimates], truth),
            "bootstrap": quantiles_hold(means, value, np.sqrt(design.n_seeds / (design.n_seeds - 1)), truth),
            "percentile": quantiles_hold(means, value, 1.0, truth),
            "seeds only, same examples": is_within([x.new_seeds for x in estimates], here),
            "seeds only, new examples": is_within([x.new_seeds for x in estimates], truth),
        }
        for label, held in hits.items():
            found.setdefault(label, []).append(held)
    return {label: np.concatenate(parts) for label, parts in found.items()}


def quantiles_hold(means: Floats, value: Floats, factor: float, truth: float) -> npt.NDArray[np.bool_]:
    """Tell for each repetition whether quantiles of resampled means [resample, n] hold the truth."""
    low, high = np.quantile(value + factor * (means - value), [0.025, 0.975], axis=0)
    return np.asarray((low <= truth) & (truth <= high))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--only", default="", help="part of the name of a design")
    asked = parser.parse_args()
    for name, design in DESIGNS.items():
        if asked.only not in name:
            continue
        started = time.process_time()
        hits = measure(design, name, asked.repetitions)
        print(f"{name} ({time.process_time() - started:.0f} s)")
        for label, held in hits.items():
            rate = float(held.mean())
            print(f"  {label:28} {rate:.4f}  s.e. {np.sqrt(rate * (1 - rate) / held.size):.4f}", flush=True)


if __name__ == "__main__":
    main()
