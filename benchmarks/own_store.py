"""From a first sweep to recommendations: what they are worth on tasks that were left out, and how long they take.

    gnz data get --suite ten --home FOLDER/data
    OMP_NUM_THREADS=1 nice -n 10 python benchmarks/own_store.py --folder FOLDER [--epochs 20] [--seeds 0-1]

The tasks of the suites quick and ten are trained with twelve settings at most, in an own store below ``--folder``; a
second call goes on where the first one stopped. Then every task is left out once: regret is what the setting named
first is behind the best one of the task, as a share of what lies between its best and its worst. It is set against a
random setting and against the best mean score and the best mean rank over the other tasks. At last the graphs of
``--networks`` and tasks by name are asked about; seconds are of the processor, and of the clock in brackets. So is one
by the command, whose start takes more than the answer.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gnz_track.api import run_benchmark
from gnz_track.datasets.catalogue import SUITES, TASKS
from gnz_track.errors import BadValue, UnknownName
from gnz_track.models.catalogue import MODELS
from gnz_track.seeds import parse_seeds
from gnz_track.selection.evidence import FEWEST_GRAPHS, gather_evidence, read_past
from gnz_track.selection.features.feature_sets import FEATURE_SETS
from gnz_track.selection.graph_input import open_graph
from gnz_track.selection.recommendation import FEATURES, rank_settings, recommend
from gnz_track.selection.selectors.catalogue import fit_selector
from gnz_track.stats.comparison.joins import join
from gnz_track.stats.estimates.effects import mean_advantage
from gnz_track.stats.significance.paired import sign_flip
from gnz_track.store.address import Address, parse_address
from gnz_track.types import Direction, TaskType

WIDTHS = {
    64: ("GCN", "GAT", "GraphSAGE", "GIN", "MLP", "SGC", "ChebNet", "AdamicAdar", "ResourceAllocation"),
    16: ("GCN", "GraphSAGE", "MLP"),
}
NAMED = ("cora", "citeseer", "pubmed", "cora_link_pred")
READ = {".txt", ".gml", ".csv", ".net"}
RIVALS = ("random", "best mean score", "best mean rank")
MOST_SECONDS = 1.0


@dataclass(frozen=True)
class Regrets:
    """What each way of choosing is behind the best setting of a task, as a share of what lies between all settings."""

    task: str
    task_type: TaskType
    n_settings: int
    ours: float
    others: Mapping[str, float]


def sweep(folder: Path, task_types: Iterable[TaskType], **how: Any) -> Address:
    """Train all settings on the tasks of both suites; what is there already is kept."""
    store = str(folder / "gnz.db")
    tasks = [TASKS.get(name) for suite in ("quick", "ten") for name in SUITES.get(suite).tasks]
    for task_type in task_types:
        of_type = [task.name for task in tasks if task.task_type is task_type]
        for width, models in WIDTHS.items():
            fitting = [name for name in models if task_type in MODELS.get(name).task_types]
            # From fewer tasks than these nothing can be learnt once one is left out.
            if len(of_type) > FEWEST_GRAPHS:
                run_benchmark(
                    tasks=of_type, models=fitting, hidden_channels=width, store=store, root=folder / "data", **how
                )
    return parse_address(store)


def leave_out_each(address: Address, folder: Path, task_type: TaskType) -> list[Regrets]:
    """Return the regrets of every task of a kind, each recommended for by the others."""
    home = folder / "data"
    whole = gather_evidence(read_past(address, task_type), features=FEATURES, home=home).matrix
    found = []
    for row, task in enumerate(whole.graphs):
        asked = recommend(task, task_type, store=address, home=home, is_unseen=True)
        rest = whole.without(task)
        truth = dict(zip(whole.settings, whole.signed[row], strict=True))
        known = [one for one in rest.settings if np.isfinite(truth[one])]
        true = np.array([truth[one] for one in known])
        span = max(float(np.ptp(true)), 1e-12)
        losses = dict(zip(known, (true.max() - true) / span, strict=True))
        others = {"random": float(np.mean(list(losses.values())))}
        for rival, selector in (("best mean score", "global_best_score"), ("best mean rank", "global_best_rank")):
            # Features say nothing to these two.
            means = fit_selector(selector, np.zeros((len(rest.graphs), 1)), rest.signed).predict(np.zeros((1, 1)))[0]
            others[rival] = losses[first_of(rest.settings, means, losses)]
        ours = losses[next(one.setting for one in asked.ranking if one.setting in losses)]
        found.append(Regrets(task, task_type, len(known), ours, others))
    return found


def first_of(settings: Iterable[object], scores: Iterable[float], among: Mapping[object, float]) -> object:
    """Return the setting of the largest score that was run on the task."""
    known = [(score, one) for one, score in zip(settings, scores, strict=True) if one in among]
    return max(known, key=lambda pair: pair[0])[1]


def tell_regrets(title: str, regrets: Sequence[Regrets]) -> None:
    """Print the mean regret, and by how much it is less than that of each rival, paired over tasks."""
    ours = {number: one.ours for number, one in enumerate(regrets)}
    n = f"{len(regrets)} tasks, {min(r.n_settings for r in regrets)}-{max(r.n_settings for r in regrets)} settings"
    print(f"{title:10} {n}: regret {statistics.mean(ours.values()):.3f} of the range", flush=True)
    for rival in RIVALS:
        other = {number: one.others[rival] for number, one in enumerate(regrets)}
        pair = join(ours, other, direction=Direction.down)
        gain, p = mean_advantage(pair), sign_flip(pair).p
        interval = "no interval" if gain.low is None or gain.high is None else f"[{gain.low:+.3f}, {gain.high:+.3f}]"
        shown = "-" if p is None else f"{p:.3f}"
        mean = statistics.mean(other.values())
        print(
            f"{'':10}   {rival:16} {mean:.3f}; ours is less by {gain.mean or 0:+.3f} {interval}, p {shown}", flush=True
        )


def time_answers(address: Address, folder: Path, graphs: Mapping[str, TaskType | None]) -> bool:
    """Print how long features and answers take for each graph; tell whether the median answer is quick enough."""
    took = []
    for name, task_type in graphs.items():
        try:
            opened = open_graph(name, home=folder / "data")
        except (BadValue, UnknownName) as error:
            print(f"{name}: {error}", flush=True)
            continue
        wanted = task_type or (opened.task.task_type if opened.task else TaskType.link_pred)
        clocks = [(time.process_time(), time.perf_counter())]
        FEATURE_SETS.get(FEATURES).compute(opened.parts)
        clocks.append((time.process_time(), time.perf_counter()))
        past = read_past(address, wanted)
        found = rank_settings(opened, gather_evidence(past, features=FEATURES, home=folder / "data"))
        clocks.append((time.process_time(), time.perf_counter()))
        (cpu_features, features), (cpu, seconds) = np.diff(clocks, axis=0).tolist()
        took.append(cpu)
        network, first = opened.parts.network, found.ranking[0].setting.label
        print(
            f"{Path(name).name:28}{wanted:10}{network.n_nodes:8}{network.n_edges:8}  first {first:28}"
            f" features {cpu_features:5.2f} ({features:5.2f})  answer {cpu:5.2f} ({seconds:5.2f})",
            flush=True,
        )
    median = statistics.median(took)
    print(
        f"{len(took)} answers: median {median:.2f} s of the processor, at most {max(took):.2f}; target {MOST_SECONDS:g}"
    )
    return median <= MOST_SECONDS


def time_command(address: Address, folder: Path) -> None:
    """Print how long the command takes from its start, imports included: the quickest of three."""
    program = [sys.executable, "-m", "gnz_track", "recommend", NAMED[0], "--store", address.uri]
    took = []
    for _ in range(3):
        started = time.perf_counter()
        subprocess.run([*program, "--home", str(folder / "data")], check=True, capture_output=True)
        took.append(time.perf_counter() - started)
    print(f"gnz recommend {NAMED[0]}: {min(took):.2f} s of the clock")


def main() -> None:
    """Train, recommend, measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, help="where store and data are kept; default a new folder")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--seeds", default="0-1")
    parser.add_argument("--networks", type=Path, help="a folder of graph files to ask about")
    parser.add_argument("--task-types", default=",".join(TaskType))
    parser.add_argument("--quiet", action="store_true")
    arguments = parser.parse_args()
    folder = (arguments.folder or Path(tempfile.mkdtemp(prefix="gnz-own-store-"))).absolute()
    started = time.process_time()
    task_types = [TaskType(name) for name in arguments.task_types.split(",")]
    how = {"epochs": arguments.epochs, "seeds": parse_seeds(arguments.seeds), "verbose": not arguments.quiet}
    address = sweep(folder, task_types, **how)
    print(f"trained in {time.process_time() - started:.0f} s of the processor: {address}", flush=True)
    regrets: list[Regrets] = []
    for task_type in task_types:
        try:
            of_type = leave_out_each(address, folder, task_type)
        except BadValue as error:
            print(f"{task_type:10} {error}", flush=True)
            continue
        regrets += of_type
        tell_regrets(task_type, of_type)
    if regrets:
        tell_regrets("all", regrets)
    files = sorted(arguments.networks.rglob("*")) if arguments.networks else []
    graphs: dict[str, TaskType | None] = {str(file): TaskType.link_pred for file in files if file.suffix in READ}
    is_quick = time_answers(address, folder, graphs | dict.fromkeys(NAMED))
    time_command(address, folder)
    sys.exit(not is_quick)


if __name__ == "__main__":
    main()
