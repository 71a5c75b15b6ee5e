"""Selectors on published scores of 585 graphs: five kinds of testbeds, every selector fitted anew on each fold.

    OMP_NUM_THREADS=1 nice -n 10 python benchmarks/model_selection.py FOLDER [--only lp,nc] [--selectors a,b]

FOLDER holds glemos_link_pred.npz and glemos_node_class.npz, which are CC BY-NC and no part of this project. Of the
published scores nine tenths are known: these are learnt from and scored on. Features are scaled by the graphs learnt
from; ``--scale-by-all`` scales by all graphs, test graphs included, as published figures do.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gnz_track.selection.ranking_metrics import area_under_curve
from gnz_track.selection.selectors.catalogue import SELECTORS
from gnz_track.selection.selectors.lessons import Arrays, Lesson
from gnz_track.selection.selectors.supervised_surrogate import fit_surrogate
from gnz_track.selection.testbeds import Fold, Trial, cross_task, fold_by_numbers, small_to_large
from gnz_track.selection.trials import Outcome, compare_selectors, try_selector

Array = np.ndarray[Any, Any]
OURS = "forest_neighbours"
KINDS = {"lp": "link_pred", "nc": "node_class"}
SHOWN = ("auc", "mrr", "ndcg@1", "hr@1", "hr@30", "regret")
TESTED = ("auc", "mrr", "ndcg@1", "regret")


def load(folder: Path, kind: str) -> dict[str, Array]:
    """Return the arrays of a kind of problem."""
    with np.load(folder / f"glemos_{KINDS[kind]}.npz", allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def trial_of(arrays: Mapping[str, Array]) -> Trial:
    """Return the graphs with their regular features and the nine tenths of scores that are known."""
    known = np.where(arrays["observed_level"] >= 1, arrays["P_map"], np.nan)
    return Trial(np.nan_to_num(arrays["M_regular"]), known)


def full(arrays: Mapping[str, Array]) -> list[Fold]:
    """Return the published folds."""
    return fold_by_numbers(trial_of(arrays), arrays["fold_fully_observed"])


def sparse(level: int) -> Callable[[Mapping[str, Array]], list[Fold]]:
    """Return a testbed in which only the scores of a level of sparsity are learnt from; the masks are nested."""

    def folds(arrays: Mapping[str, Array]) -> list[Fold]:
        whole = trial_of(arrays)
        seen = np.where(arrays["observed_level"] >= level, arrays["P_map"], np.nan)
        return fold_by_numbers(Trial(whole.features, whole.scores, seen), arrays["fold_fully_observed"])

    return folds


def out_of_domain(arrays: Mapping[str, Array]) -> list[Fold]:
    """Return the published folds without a domain on both sides."""
    return fold_by_numbers(trial_of(arrays), arrays["fold_out_of_domain_kfold"])


def by_size(arrays: Mapping[str, Array]) -> list[Fold]:
    """Return the fold that learns from small graphs and is scored on large ones."""
    return small_to_large(trial_of(arrays), arrays["small_to_large_is_test"], limit=1)


TESTBEDS: dict[str, Callable[[Mapping[str, Array]], list[Fold]]] = {
    "full": full,
    "ood": out_of_domain,
    "size": by_size,
    "sparse.5": sparse(3),
    "sparse.9": sparse(5),
    "sparse.3": sparse(2),
    "sparse.7": sparse(4),
}


def cross(source: Mapping[str, Array], target: Mapping[str, Array], kinds: tuple[str, str]) -> list[Fold]:
    """Return the fold that learns from one kind of problem and is scored on the other."""
    names = [arrays["model_names_all"][arrays["P_model_index_inferred"]].tolist() for arrays in (source, target)]
    common = [name for name in names[0] if name in set(names[1])]
    key = f"cross_task__{'-to-'.join(KINDS[kind].replace('_', '-') for kind in kinds)}"
    parts = []
    for arrays, columns, role in ((source, names[0], "source-train"), (target, names[1], "target-test")):
        rows, trial = arrays[f"{key}__{role}-graph-index"], trial_of(arrays)
        kept = [columns.index(name) for name in common]
        parts.append(Trial(trial.features[rows], trial.scores[rows][:, kept]))
    return cross_task(*parts)


def show(name: str, outcome: Outcome) -> None:
    """Print one line."""
    figures = " ".join(
        f"{metric} {outcome.mean(metric):.4f} +-{outcome.standard_error(metric):.4f}" for metric in SHOWN
    )
    print(f"{name:12} {outcome.selector:18} {figures}  {outcome.seconds:.1f}s", flush=True)


def compare(name: str, outcomes: Sequence[Outcome]) -> None:
    """Print what our selector is better by, paired over graphs, and p adjusted by Holm."""
    for metric in TESTED:
        for one in compare_selectors(outcomes, OURS, metric=metric):
            advantage, p = one.advantage, one.p_adjusted
            bounds = f"[{advantage.low or 0:+.4f}, {advantage.high or 0:+.4f}]"
            shown = "-" if p is None else f"{p:.4f}"
            print(
                f"{name:12} {metric:7} against {one.other:18} {advantage.mean or 0:+.4f} {bounds} Holm p {shown}",
                flush=True,
            )


def try_all(name: str, folds: list[Fold], selectors: Sequence[str], bounds: Any, kept: dict[str, Any]) -> None:
    """Try selectors on a testbed, print and keep what comes out."""
    outcomes = []
    for selector in selectors:
        outcome = try_selector(selector, folds, bounds=bounds)
        show(name, outcome)
        outcomes.append(outcome)
        kept.setdefault(name, {})[selector] = {metric: outcome.mean(metric) for metric in SHOWN}
    if OURS in selectors and len(outcomes) > 1:
        compare(name, outcomes)


def show_leak(name: str, folds: Sequence[Fold], seed: int = 1337) -> None:
    """Print what S2 reaches anew for each fold, and with the weights of the fold before, as published."""
    for label, keeps in (("drawn anew", False), ("weights kept", True)):
        weights: Arrays | None = None
        found = []
        for fold in folds:
            low, high = fold.train.features.min(axis=0), fold.train.features.max(axis=0)
            train, test = (
                (part.features - low) / np.where(high > low, high - low, 1) for part in (fold.train, fold.test)
            )
            weights = fit_surrogate(Lesson(train, fold.train.scores, seed), start=weights if keeps else None)
            hidden = np.maximum(test @ weights["0.weight"].T + weights["0.bias"], 0)
            found.append(area_under_curve(fold.test.scores, hidden @ weights["2.weight"].T + weights["2.bias"]))
        print(f"{name:12} s2, {label:13} auc {np.nanmean(np.concatenate(found)):.4f}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="lp,nc", help="kinds of problems, or names such as lp/full or cross/nc-lp")
    parser.add_argument("--selectors", default=",".join(SELECTORS))
    parser.add_argument("--scale-by-all", action="store_true")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    arrays = {kind: load(arguments.folder, kind) for kind in KINDS}
    selectors, wanted = arguments.selectors.split(","), arguments.only.split(",")
    kept: dict[str, Any] = {}
    makers: dict[str, Callable[[], list[Fold]]] = {
        f"{kind}/{name}": lambda kind=kind, make=make: make(arrays[kind])
        for name, make in TESTBEDS.items()
        for kind in KINDS
    }
    for pair in (("nc", "lp"), ("lp", "nc")):
        makers[f"cross/{'-'.join(pair)}"] = lambda pair=pair: cross(arrays[pair[0]], arrays[pair[1]], pair)
    for name, make in makers.items():
        if name not in wanted and name.split("/")[0] not in wanted:
            continue
        folds = make()
        if "s2" in selectors and name.endswith("full"):
            show_leak(name, folds)
        features = np.concatenate([np.concatenate([fold.train.features, fold.test.features]) for fold in folds])
        bounds = (features.min(axis=0), features.max(axis=0)) if arguments.scale_by_all else None
        try_all(name, folds, selectors, bounds, kept)
        if arguments.out:
            arguments.out.write_text(json.dumps(kept, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
