"""Which cells are wanted, and which pairs cannot be.

A plan is made before any training: every name is resolved, every dataset is frozen and opened, and whatever is left
out is listed with its reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from gnz_track.datasets.frozen import FrozenDataset, open_frozen
from gnz_track.datasets.preparation import prepare
from gnz_track.errors import BadValue, DataMissing, NothingToRun, SeveralMissing
from gnz_track.runs.compatibility import Skipped, list_skipped, reason_against
from gnz_track.training.metrics import METRICS
from gnz_track.types import Cell, ModelRow, Protocol, Task

__all__ = ["Place", "Plan", "make_plan", "resolve_device"]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cells wanted, in order, and the pairs left out."""

    cells: tuple[Cell, ...]
    skipped: tuple[Skipped, ...]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where data are kept and looked for; None takes the defaults of the datasets room."""

    home: Path | None = None
    mirror: Path | None = None


def make_plan(
    tasks: Sequence[Task],
    models: Sequence[ModelRow],
    *,
    seeds: Sequence[int],
    protocol: Protocol,
    epochs: int | None = None,
    device: str = "auto",
    place: Place | None = None,
) -> Plan:
    """Return every compatible (task, model, seed) as a cell; data that are not frozen yet are frozen here."""
    _check(tasks, models, seeds=seeds, epochs=epochs)
    place, device = place or Place(), resolve_device(device)
    cells: list[Cell] = []
    skipped = list_skipped(tasks, models, protocol)
    missing: dict[str, DataMissing] = {}
    for task in tasks:
        compatible = [model for model in models if not reason_against(task, model, protocol)]
        if not compatible:
            continue
        try:
            datasets = {seed: prepare(task, seed=seed, home=place.home, mirror=place.mirror) for seed in seeds}
        except DataMissing as error:
            # All that are missing are told at once.
            missing[task.name] = error
            continue
        for folder in {dataset.folder for dataset in datasets.values()}:
            # Every byte is read once before a sweep: a cell opens its dataset by the header alone.
            open_frozen(folder, verify=True)
        for model in compatible:
            for seed in seeds:
                shell = {"epochs": epochs or task.epochs, "device": device}
                cells.append(_cell(task, model, seed, protocol, datasets[seed], **shell))  # type: ignore[arg-type]
    _refuse_missing(missing, tasks)
    if not cells:
        impossible = [f"{item.task} x {item.model}: {item.reason}" for item in skipped]
        raise NothingToRun(impossible or ["no task, no model or no seed was chosen"])
    return Plan(cells=tuple(cells), skipped=tuple(skipped))


def resolve_device(device: str) -> str:
    """Return the device that ``"auto"`` means here (a GPU where there is one), or the given one if it exists."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        allowed = f"auto, cpu, or a device that Torch has here ({reason})"
        raise BadValue("device", device, allowed, command="gnz doctor") from None
    return device


def _cell(
    task: Task, model: ModelRow, seed: int, protocol: Protocol, dataset: FrozenDataset, *, epochs: int, device: str
) -> Cell:
    return Cell(
        # The data are frozen, and a loader could not travel; its name can, to where the data are not.
        task=replace(task, loader=task.loader if isinstance(task.loader, str) else None),
        model=model,
        seed=seed,
        protocol=protocol,
        epochs=epochs,
        dataset_digest=dataset.digest,
        data=str(dataset.folder),
        device=device,
    )


def _refuse_missing(missing: Mapping[str, DataMissing], tasks: Sequence[Task]) -> None:
    if len(missing) == 1:
        raise next(iter(missing.values()))
    if missing:
        raise SeveralMissing(missing.values(), [task.name for task in tasks if task.name not in missing])


def _check(tasks: Sequence[Task], models: Sequence[ModelRow], *, seeds: Sequence[int], epochs: int | None) -> None:
    _refuse_repeated("task", [task.name for task in tasks])
    _refuse_repeated("model", [model.name for model in models])
    _refuse_repeated("seed", seeds)
    if epochs is not None and (not isinstance(epochs, int) or epochs < 1):
        raise BadValue("epochs", epochs, "a whole number from 1 upwards", command="--epochs 10")
    for name in [task.metric for task in tasks if task.metric]:
        METRICS.get(name)


def _refuse_repeated(kind: str, names: Iterable[object]) -> None:
    seen: set[object] = set()
    for name in names:
        if name in seen:
            raise BadValue(kind, name, f"each {kind} once in a sweep")
        seen.add(name)
