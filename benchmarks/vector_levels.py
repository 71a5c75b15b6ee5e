"""Count the curves of cells that change with the vector level of Torch, and with that of the compiled kernels.

Torch is told of a level by ``ATEN_CPU_CAPABILITY``: quick cells of four models, five epochs. Levels that this processor
does not have are what Torch takes in their place. Kernels are told by ``GNZ_KERNELS``: all models on five kinds of
task, twenty epochs, on each level and by Torch alone. Each level is a process of its own.

Kernels and Torch alone add up in other orders, and training makes differences of rounding larger from epoch to epoch.
Beside how far their losses are apart stands how far Torch alone gets from itself when initial parameters are changed by
a relative 1e-7: the largest of several such runs. What a kernel computes wrongly would show in the first epochs.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from typing import Any

from gnz_track.training.acceleration.library import VARIABLE, describe_kernels, levels

TORCH = ("default", "avx2", "avx512")
QUICK = ("planted_partition", "grid_mines", "les_miserables", "graph_families")
OF_ALL_KINDS = ("planted_partition", "les_miserables", "cycles_tiny", "csl_generated", "tsp_tiny")
FEW_MODELS = ("MLP", "GCN", "GAT", "GraphSAGE")
# Narrow ones: every model is to be trained, and not for long.
WIDTH = 16
TRAIN = """
import json, sys, warnings
warnings.simplefilter("ignore")
from dataclasses import replace
from pathlib import Path
from gnz_track.datasets.catalogue import TASKS
from gnz_track.models.catalogue import MODELS, describe
from gnz_track.runs.executors.inline import run_inline
from gnz_track.runs.plan import Place, make_plan
from gnz_track.training.acceleration.library import describe_kernels
from gnz_track.training.protocols import PROTOCOLS
home, tasks, models, epochs, width, perturbation = sys.argv[1:]
if int(perturbation):
    import torch
    from gnz_track.runs import run_one
    build = run_one.build
    def build_perturbed(*args, **kwargs):
        model, generator = build(*args, **kwargs), torch.Generator().manual_seed(int(perturbation))
        for parameter in model.parameters():
            if not isinstance(parameter, torch.nn.UninitializedParameter):
                parameter.data *= 1 + 1e-7 * torch.randn(parameter.shape, generator=generator)
        return model
    run_one.build = build_perturbed
plan = make_plan(
    [TASKS.get(name) for name in tasks.split(",")],
    [describe(name) for name in models.split(",")] if models else MODELS.rows(),
    seeds=[0], protocol=PROTOCOLS.get("graphnetz"), epochs=int(epochs), device="cpu", place=Place(home=Path(home)),
)
cells = plan.cells
if int(width):
    cells = [replace(cell, hyperparameters=(("hidden_channels", int(width)),)) for cell in cells]
results = list(run_inline(cells))
curves = {
    f"{one.cell.task.name} {one.cell.model.name} {name}": [value.hex() for value in values]
    for one in results for name, values in one.series.items()
}
failed = sorted(f"{one.cell.label}: {one.failure.kind}: {one.failure.message[:200]}" for one in results if one.failure)
about = {"level": results[0].instructions, "kernels": describe_kernels()}
print(json.dumps({**about, "curves": curves, "failed": failed}))
"""
# Of the curves that differ most, so many are told.
N_TOLD = 6
Found = dict[str, Any]


def main() -> None:
    """Train under each level and print how many curves are not the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=("torch", "kernels"), help="one of both")
    parser.add_argument("--epochs", type=int, default=20, help="of cells by kernels")
    parser.add_argument("--perturbed", type=int, default=3, help="runs of Torch alone from perturbed parameters")
    parser.add_argument("--tasks", default=",".join(OF_ALL_KINDS), help="of cells by kernels, separated by commas")
    parser.add_argument("--models", default="", help="of cells by kernels, separated by commas; none for all")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        if given.only != "kernels":
            cells = (home, ",".join(QUICK), ",".join(FEW_MODELS), "5", "0", "0")
            found = {level: train(cells, ATEN_CPU_CAPABILITY=level) for level in TORCH}
            for one, other in ((0, 1), (1, 2), (0, 2)):
                compare(found[TORCH[one]], found[TORCH[other]])
        if given.only != "torch":
            compare_kernels((home, given.tasks, given.models, str(given.epochs), str(WIDTH)), given.perturbed)


def compare_kernels(cells: tuple[str, ...], n_perturbed: int) -> None:
    """Compare all levels of the kernels that this processor has with the highest, and that with Torch alone."""
    highest, why = describe_kernels()
    if highest not in levels():
        sys.exit(f"no kernels to compare: {why}")
    usable = levels()[: levels().index(highest) + 1]
    found = {level: train((*cells, "0"), **{VARIABLE: level}) | {"level": level} for level in usable}
    for level in usable[:-1]:
        compare(found[level], found[highest])
    alone = train((*cells, "0"), **{VARIABLE: "off"}) | {"level": "Torch alone"}
    compare(found[highest], alone)
    perturbed = [train((*cells, str(seed + 1)), **{VARIABLE: "off"}) for seed in range(n_perturbed)]
    for epoch in sorted({0, 1, 4, int(cells[3]) - 1}):
        gaps = {name: gap(found[highest], alone, name, epoch) for name in found[highest]["curves"] if "loss" in name}
        print(f"losses of epoch {epoch + 1} differ relatively by at most (Torch alone by a perturbation of 1e-7):")
        for name in sorted(gaps, key=gaps.__getitem__)[: -N_TOLD - 1 : -1]:
            noise = max((gap(one, alone, name, epoch) for one in perturbed), default=math.nan)
            print(f"    {name.removesuffix(' train/loss'):40}{gaps[name]:9.1e} ({noise:.1e})", flush=True)
    for name in found[highest]["failed"]:
        print(f"failed: {name}")


def train(cells: tuple[str, ...], **settings: str) -> Found:
    """Return the curves of cells that a process with settings of its own trains, and what failed."""
    kept = {name: value for name, value in os.environ.items() if name not in {VARIABLE, "ATEN_CPU_CAPABILITY"}}
    environment = {**kept, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", **settings}
    command = [sys.executable, "-c", TRAIN, *cells]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: Found = json.loads(done.stdout.splitlines()[-1])
    level, why = found["kernels"]
    if settings.get(VARIABLE, "off") not in {"off", level}:
        sys.exit(f"kernels were asked for, {settings[VARIABLE]}, and there were {level}: {why}")
    return found


def compare(one: Found, other: Found) -> None:
    """Print how many curves of two processes are not the same, and which first."""
    names = sorted({*one["curves"], *other["curves"]})
    changed = [name for name in names if one["curves"].get(name) != other["curves"].get(name)]
    named = f", such as {changed[0]}" if changed else ""
    print(f"{one['level']} to {other['level']}: {len(changed)} of {len(names)} curves change{named}", flush=True)
    if one["failed"] != other["failed"]:
        print(f"failures differ: {one['failed']} and {other['failed']}", flush=True)


def gap(one: Found, other: Found, name: str, epoch: int) -> float:
    """Return the relative difference of one curve at an epoch; infinite where it has no such epoch."""
    ends = [found["curves"].get(name, ()) for found in (one, other)]
    if min(map(len, ends)) <= epoch:
        return math.inf
    a, b = (float.fromhex(end[epoch]) for end in ends)
    return abs(a - b) / max(abs(a), abs(b), 1e-30)


if __name__ == "__main__":
    main()
