"""Selectors on published scores of 585 graphs: five kinds of testbeds, every selector fitted anew on each fold.

    OMP_NUM_THREADS=1 nice -n 10 python benchmarks/model_selection.py FOLDER [--only lp,nc] [--selectors a,b]

FOLDER holds glemos_link_pred.npz and glemos_node_class.npz, which are CC BY-NC and no part of this project. Of the
published scores nine tenths are known: these are learnt from and scored on. Features are scaled by the graphs learnt
from; ``--scale-by-all`` scales by all graphs, test graphs included, as published figures do.

What a selector reached on each graph is kept below ``--kept``, one file per testbed, selector and seed: what is there
is not measured again but with ``--again``, and ``--tables`` only reads. Seconds are of the processor, not of the clock.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from gnz_track.selection.selectors.catalogue import SELECTORS
from gnz_track.selection.selectors.neural import fit_surrogate
from gnz_track.selection.selectors.training_set import Arrays, TrainingSet
from gnz_track.selection.study.evaluation import (
    ScoredGraphs,
    SelectorFold,
    SelectorScores,
    compare_selectors,
    cross_task,
    fold_by_numbers,
    small_to_large,
    try_selector,
)
from gnz_track.selection.study.glemos import list_scored_settings
from gnz_track.selection.study.ranking_metrics import RANKING_METRICS, area_under_curve
from gnz_track.types import TaskType

Array = np.ndarray[Any, Any]
OURS = "forest_neighbours"
KINDS = {"lp": "link_pred", "nc": "node_class"}
TASK_TYPES = {"lp": TaskType.link_pred, "nc": TaskType.node_cls}
SHOWN = ("auc", "mrr", "ndcg@1", "hr@1", "hr@30", "regret")
TESTED = ("auc", "mrr", "ndcg@1", "regret")
LEVEL = 0.05


def load(folder: Path, kind: str) -> dict[str, Array]:
    """Return the arrays of a kind of problem."""
    with np.load(folder / f"glemos_{KINDS[kind]}.npz", allow_pickle=False) as found:
        return {name: found[name] for name in found.files}


def trial_of(arrays: Mapping[str, Array]) -> ScoredGraphs:
    """Return the graphs with their regular features and the nine tenths of scores that are known."""
    known = np.where(arrays["observed_level"] >= 1, arrays["P_map"], np.nan)
    return ScoredGraphs(np.nan_to_num(arrays["M_regular"]), known)


def full(arrays: Mapping[str, Array]) -> list[SelectorFold]:
    """Return the published folds."""
    return fold_by_numbers(trial_of(arrays), arrays["fold_fully_observed"])


def sparse(level: int) -> Callable[[Mapping[str, Array]], list[SelectorFold]]:
    """Return a testbed in which only the scores of a level of sparsity are learnt from; the masks are nested."""

    def folds(arrays: Mapping[str, Array]) -> list[SelectorFold]:
        whole = trial_of(arrays)
        seen = np.where(arrays["observed_level"] >= level, arrays["P_map"], np.nan)
        return fold_by_numbers(ScoredGraphs(whole.features, whole.scores, seen), arrays["fold_fully_observed"])

    return folds


def out_of_domain(arrays: Mapping[str, Array]) -> list[SelectorFold]:
    """Return the published folds without a domain on both sides."""
    return fold_by_numbers(trial_of(arrays), arrays["fold_out_of_domain_kfold"])


def by_size(arrays: Mapping[str, Array]) -> list[SelectorFold]:
    """Return the fold that learns from small graphs and is scored on large ones."""
    return small_to_large(trial_of(arrays), arrays["small_to_large_is_test"], limit=1)


# Only nine tenths are known at all: fully observed and a sparsity of .1 are one testbed here.
TESTBEDS: dict[str, Callable[[Mapping[str, Array]], list[SelectorFold]]] = {
    "full": full,
    "sparse.5": sparse(3),
    "ood": out_of_domain,
    "size": by_size,
}
SPARSER: dict[str, Callable[[Mapping[str, Array]], list[SelectorFold]]] = {
    "sparse.3": sparse(2),
    "sparse.7": sparse(4),
    "sparse.9": sparse(5),
}


def cross(source: Mapping[str, Array], target: Mapping[str, Array], kinds: tuple[str, str]) -> list[SelectorFold]:
    """Return the fold that learns from one kind of problem and is scored on the other."""
    names = [[setting.name for setting in list_scored_settings(TASK_TYPES[kind])] for kind in kinds]
    common = [name for name in names[0] if name in set(names[1])]
    key = f"cross_task__{'-to-'.join(KINDS[kind].replace('_', '-') for kind in kinds)}"
    parts = []
    for arrays, columns, role in ((source, names[0], "source-train"), (target, names[1], "target-test")):
        rows, trial = arrays[f"{key}__{role}-graph-index"], trial_of(arrays)
        kept = [columns.index(name) for name in common]
        parts.append(ScoredGraphs(trial.features[rows], trial.scores[rows][:, kept]))
    return cross_task(*parts)


def digest_of(selector: str) -> str:
    """Return a digest of the file that a selector is written in."""
    module = sys.modules[SELECTORS.get(selector).fit.__module__]
    return hashlib.sha256(Path(str(module.__file__)).read_bytes()).hexdigest()[:12]


# As it was when this process began.
CODE = {name: digest_of(name) for name in SELECTORS}


@dataclass(frozen=True)
class Kept:
    """Where outcomes are kept, and which seed and scaling they are of."""

    folder: Path
    seed: int
    by_all: bool

    def file(self, testbed: str, selector: str) -> Path:
        """Return the file of one outcome."""
        marks = f"-{self.seed}" + ("-by-all" if self.by_all else "")
        return self.folder / testbed.replace("/", "-") / f"{selector}{marks}.npz"

    def read(self, testbed: str, selector: str) -> SelectorScores | None:
        """Return an outcome, if there is a whole one."""
        try:
            with np.load(self.file(testbed, selector), allow_pickle=False) as found:
                scores = {metric: found[f"score/{metric}"] for metric in RANKING_METRICS}
                if str(found["code"]) != CODE[selector]:
                    print(f"{testbed:12} {selector:18} was measured with other code: --again", file=sys.stderr)
                seconds, rows = float(found["seconds"]), found["rows"]
        except (OSError, ValueError, KeyError):
            return None
        return SelectorScores(selector=selector, scores=scores, rows=rows, seconds=seconds)

    def write(self, testbed: str, outcome: SelectorScores) -> None:
        """Keep an outcome, whole or not at all."""
        file = self.file(testbed, outcome.selector)
        file.parent.mkdir(parents=True, exist_ok=True)
        arrays = {f"score/{metric}": values for metric, values in outcome.scores.items()}
        facts = {"rows": outcome.rows, "seconds": np.array(outcome.seconds), "code": np.array(CODE[outcome.selector])}
        unfinished = file.with_suffix(".part")
        with unfinished.open("wb") as opened:
            np.savez_compressed(opened, **arrays, **facts)
        unfinished.replace(file)


def measure(name: str, selector: str, folds: Sequence[SelectorFold], kept: Kept) -> SelectorScores:
    """Try a selector on a testbed, and keep what comes out."""
    features = np.concatenate([np.concatenate([fold.train.features, fold.test.features]) for fold in folds])
    bounds = (features.min(axis=0), features.max(axis=0)) if kept.by_all else None
    started = time.process_time()
    outcome = try_selector(selector, folds, seed=kept.seed, bounds=bounds)
    outcome = replace(outcome, seconds=time.process_time() - started)
    kept.write(name, outcome)
    return outcome


def pool(outcomes: Sequence[SelectorScores]) -> SelectorScores:
    """Return the mean over seeds, graph by graph."""
    scores = {metric: np.mean([one.scores[metric] for one in outcomes], axis=0) for metric in RANKING_METRICS}
    return replace(outcomes[0], scores=scores, seconds=float(np.mean([one.seconds for one in outcomes])))


def show(name: str, outcomes: Sequence[SelectorScores]) -> None:
    """Print one line: means over graphs with standard errors, and how far seeds lie apart."""
    outcome = pool(outcomes)
    figures = " ".join(
        f"{metric} {outcome.mean(metric):.4f} +-{outcome.standard_error(metric):.4f}" for metric in SHOWN
    )
    spread = np.ptp([one.mean("auc") for one in outcomes])
    seeds = f"  {len(outcomes)} seeds, auc from least to most {spread:.4f}" if len(outcomes) > 1 else ""
    print(f"{name:12} {outcome.selector:18} {figures}  {outcome.seconds:.1f}s{seeds}", flush=True)


def compare(name: str, outcomes: Sequence[SelectorScores]) -> None:
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


def tabulate(testbeds: Mapping[str, Sequence[SelectorScores]], metric: str) -> None:
    """Print a table in Markdown: selectors x testbeds; a star where ours is better by Holm, a dagger where worse."""
    print(f"\n{metric}\n\n| selector | {' | '.join(testbeds)} |\n|---|{'---:|' * len(testbeds)}")
    marks: dict[tuple[str, str], str] = {}
    for name, outcomes in testbeds.items():
        for one in compare_selectors(outcomes, OURS, metric=metric):
            is_clear = one.p_adjusted is not None and one.p_adjusted < LEVEL
            marks[name, one.other] = ("*" if (one.advantage.mean or 0) > 0 else "†") if is_clear else ""
    for selector in SELECTORS:
        cells = []
        for name, outcomes in testbeds.items():
            found = [outcome for outcome in outcomes if outcome.selector == selector]
            shown = [f"{outcome.mean(metric):.3f}{marks.get((name, selector), '')}" for outcome in found]
            cells.append(shown[0] if shown else "")
        print(f"| {selector} | {' | '.join(cells)} |")


def show_leak(name: str, folds: Sequence[SelectorFold], seeds: Sequence[int]) -> None:
    """Print what S2 reaches anew for each fold, with the weights of the fold before as published, and with patience."""
    for label, keeps, patience in (
        ("drawn anew", False, 20),
        ("weights kept", True, 20),
        ("anew, patient", False, 100),
    ):
        found = []
        for seed in seeds:
            weights: Arrays | None = None
            of_seed = []
            for fold in folds:
                low, high = fold.train.features.min(axis=0), fold.train.features.max(axis=0)
                train, test = (
                    (part.features - low) / np.where(high > low, high - low, 1) for part in (fold.train, fold.test)
                )
                data = TrainingSet(train, fold.train.scores, seed)
                weights = fit_surrogate(data, start=weights if keeps else None, patience=patience)
                hidden = np.maximum(test @ weights["0.weight"].T + weights["0.bias"], 0)
                of_seed.append(area_under_curve(fold.test.scores, hidden @ weights["2.weight"].T + weights["2.bias"]))
            found.append(float(np.nanmean(np.concatenate(of_seed))))
        spread = f" ({min(found):.4f} to {max(found):.4f})" if len(found) > 1 else ""
        print(f"{name:12} s2, {label:13} auc {np.mean(found):.4f}{spread}", flush=True)
    print(
        f"{name:12} s2, weights kept from fold to fold have learnt from the test graphs of the next fold, and have "
        "been trained for longer. Drawn anew, they stop where 20 epochs have brought no better hits, often after two "
        "dozen in all, so that the seed decides. With more patience nothing leaks, and the seed matters less.",
        flush=True,
    )


def make_testbeds(arrays: Mapping[str, Mapping[str, Array]], wanted: Sequence[str]) -> dict[str, list[SelectorFold]]:
    """Return the testbeds that are asked for, the most telling ones first."""

    def of_kinds(table: Mapping[str, Callable[[Mapping[str, Array]], list[SelectorFold]]]) -> dict[str, Any]:
        pairs = [(kind, name) for name in table for kind in KINDS]
        return {f"{kind}/{name}": lambda kind=kind, name=name: table[name](arrays[kind]) for kind, name in pairs}

    makers = of_kinds(TESTBEDS)
    for pair in (("nc", "lp"), ("lp", "nc")):
        makers[f"cross/{'-'.join(pair)}"] = lambda pair=pair: cross(arrays[pair[0]], arrays[pair[1]], pair)
    makers |= of_kinds(SPARSER)
    return {name: make() for name, make in makers.items() if name in wanted or name.split("/")[0] in wanted}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--only", default="lp,nc,cross", help="kinds of problems, or names such as lp/full, cross/nc-lp"
    )
    parser.add_argument("--selectors", default=",".join(SELECTORS))
    parser.add_argument("--seeds", default="1337")
    parser.add_argument("--scale-by-all", action="store_true")
    parser.add_argument("--kept", type=Path, default=Path("benchmarks/out/model_selection"))
    parser.add_argument("--again", default="", help="selectors to measure again, though they are kept")
    parser.add_argument("--tables", action="store_true", help="measure nothing; print tables of what is kept")
    arguments = parser.parse_args()
    warnings.filterwarnings("ignore")
    arrays = {kind: load(arguments.folder, kind) for kind in KINDS}
    selectors, again = arguments.selectors.split(","), arguments.again.split(",")
    stores = [Kept(arguments.kept, int(seed), arguments.scale_by_all) for seed in arguments.seeds.split(",")]
    testbeds: dict[str, list[SelectorScores]] = {}
    for name, folds in make_testbeds(arrays, arguments.only.split(",")).items():
        for selector in selectors:
            found = [None if selector in again else kept.read(name, selector) for kept in stores]
            if not arguments.tables:
                found = [one or measure(name, selector, folds, kept) for one, kept in zip(found, stores, strict=True)]
            known = [one for one in found if one is not None]
            if known:
                show(name, known)
                testbeds.setdefault(name, []).append(pool(known))
        if OURS in selectors and len(testbeds.get(name, [])) > 1:
            compare(name, testbeds[name])
        if "s2" in selectors and name.endswith("full") and not arguments.tables:
            show_leak(name, folds, [kept.seed for kept in stores])
    if OURS in selectors:
        for metric in TESTED:
            tabulate(testbeds, metric)


if __name__ == "__main__":
    main()
