"""How often scores lie within the intervals of recommendations: on graphs like the past ones, and on others.

    OMP_NUM_THREADS=1 nice -n 10 python benchmarks/recommended_intervals.py FOLDER [--only lp,nc] [--few 4,8,16]

FOLDER is that of model_selection.py: published scores of 585 graphs, which are no part of this project. Each graph is
asked about once, by what the other folds hold: *alike* are folds in which every domain is on both sides, *domains* are
folds without a domain on both sides. ``few`` past graphs are drawn with twelve settings, and eight other graphs are
asked about, thirty times. A share is that of the known scores of a graph within their intervals, and its mean over
graphs; the same for the setting ranked first.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from model_selection import KINDS, OURS, full, load, out_of_domain, trial_of

from gnz_track.selection.expectations import LEVEL, Expectation, expect_scores
from gnz_track.selection.matrix import ModelSetting, bare_matrix
from gnz_track.selection.selectors.catalogue import fit_selector
from gnz_track.selection.selectors.forest_neighbours import weigh_past_graphs
from gnz_track.selection.study.evaluation import ScoredGraphs, SelectorFold
from gnz_track.types import Direction

Array = np.ndarray[Any, Any]
N_SETTINGS, N_ASKED, N_TIMES = 12, 8, 30


def expect(fold: SelectorFold, seed: int) -> Iterator[tuple[Array, Expectation, int]]:
    """Yield the true scores of each test graph, what is expected of it, and the setting ranked first."""
    train = fold.train
    names = [f"graph {row}" for row in range(len(train.scores))]
    settings = [ModelSetting(f"setting {column}") for column in range(train.scores.shape[1])]
    matrix = replace(bare_matrix(names, settings, "average_precision", Direction.up), scores=train.scores)
    fitted = fit_selector(OURS, train.features, train.scores, seed=seed)
    features = np.nan_to_num(fold.test.features)
    weights = weigh_past_graphs(fitted.arrays, features)
    firsts = fitted.predict(features).argmax(axis=1)
    for row, scores in enumerate(fold.test.scores):
        yield scores, expect_scores(matrix, fitted.arrays, weights[row]), int(firsts[row])


def cover(folds: Sequence[SelectorFold], *, seed: int = 0) -> Array:
    """Return for each graph the share within intervals, whether the first one is, and the width ``[graphs, 3]``."""
    found = []
    for number, fold in enumerate(folds):
        for scores, expected, first in expect(fold, seed + number):
            ends = [(expected.low(column), expected.high(column)) for column in range(len(scores))]
            low, high = np.array([[np.nan if end is None else end for end in pair] for pair in ends]).T
            known = np.isfinite(scores) & np.isfinite(low)
            within = np.where(known, (scores >= low) & (scores <= high), np.nan)
            found.append((np.nanmean(within), within[first], np.nanmean((high - low)[known])))
    return np.array(found)


def draw_few(arrays: Mapping[str, Array], n: int) -> Iterator[SelectorFold]:
    """Yield folds of few past graphs and settings, drawn from all."""
    whole = trial_of(arrays)
    for time in range(N_TIMES):
        generator = np.random.default_rng([n, time])
        rows = generator.permutation(len(whole.scores))[: n + N_ASKED]
        columns = generator.permutation(whole.scores.shape[1])[:N_SETTINGS]
        parts = [ScoredGraphs(whole.features[part], whole.scores[part][:, columns]) for part in (rows[:n], rows[n:])]
        yield SelectorFold(parts[0], parts[1], rows[n:])


def show(name: str, found: Array) -> None:
    """Print one line."""
    share, first, width = np.nanmean(found, axis=0)
    error = np.nanstd(found[:, 0], ddof=1) / np.sqrt(len(found))
    print(
        f"{name:14} {len(found):4d} graphs: within {share:.3f} +-{error:.3f} of {LEVEL}, ranked first {first:.3f}, "
        f"width {width:.3f}",
        flush=True,
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="lp,nc")
    parser.add_argument("--few", default="4,8,16", help="numbers of past graphs")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    for kind in KINDS:
        if kind not in arguments.only.split(","):
            continue
        arrays = load(arguments.folder, kind)
        show(f"{kind} alike", cover(full(arrays)))
        show(f"{kind} domains", cover(out_of_domain(arrays)))
        for n in map(int, filter(None, arguments.few.split(","))):
            show(f"{kind} {n} graphs", cover(list(draw_few(arrays, n))))


if __name__ == "__main__":
    main()
