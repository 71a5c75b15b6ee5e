"""Which cells are wanted, and which pairs of a task and a model cannot be trained.

A plan is made before any training: every name is resolved, every dataset is frozen and opened, and whatever is left
out is listed with its reason. A plan on perturbed graphs has each cell once for each perturbation.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gnz_track.datasets.frozen import open_frozen
from gnz_track.datasets.preparation import forget_loaded, prepare
from gnz_track.datasets.scales import tell_scale
from gnz_track.datasets.steady import open_steady
from gnz_track.errors import BadValue, DataMissing, NothingToRun, SeveralMissing, SplitImpossible
from gnz_track.models.catalogue import has_code_for_each_node, renew_code
from gnz_track.runs.fingerprint import code_of, tell_unseen
from gnz_track.runs.protocol_resolution import find_override, hyperparameters_of, resolve
from gnz_track.training.metrics import METRICS
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Category, Cell, ModelRow, Protocol, Task, TaskType

if TYPE_CHECKING:
    # Torch is imported where a plan needs to look into models or tensors, and takes as long as all else.
    from torch import Tensor

    from gnz_track.datasets.frozen import FrozenDataset

__all__ = [
    "Place",
    "Plan",
    "Skipped",
    "find_limits",
    "list_skipped",
    "make_plan",
    "perturb_plan",
    "reason_against",
    "reason_against_sampling",
    "refuse_sampling",
    "resolve_device",
    "tell_scales",
    "usual_epochs",
]


@dataclass(frozen=True, kw_only=True)
class Skipped:
    """A pair that is left out before training."""

    task: str
    model: str
    reason: str


def list_skipped(tasks: Iterable[Task], models: Sequence[ModelRow], protocol: Protocol) -> list[Skipped]:
    """Return the pairs that cannot be trained, each with its reason.

    Parameters
    ----------
    tasks, models
        Tasks and models, of which every pair is wanted.
    protocol
        Protocol of all of them.
    """
    return [
        Skipped(task=task.name, model=model.name, reason=reason)
        for task in tasks
        for model in models
        if (reason := reason_against(task, model, protocol))
    ]


def reason_against(task: Task, model: ModelRow, protocol: Protocol) -> str:
    """Return why a pair cannot be trained, nothing where it can.

    Parameters
    ----------
    task, model
        The pair.
    protocol
        Protocol, which may not train every task type.
    """
    if task.task_type not in model.task_types:
        return f"it serves {', '.join(model.task_types)}, not {task.task_type}"
    if protocol.optimiser_of(task.task_type) is None:
        return f"protocol {protocol.name!r} trains {', '.join(protocol.task_types)}, not {task.task_type}"
    return ""


def reason_against_sampling(task_type: TaskType, dataset: FrozenDataset) -> str:
    """Return why neighbours cannot be drawn for the batches of a task, nothing where they can."""
    is_relational = task_type is TaskType.link_pred and dataset.is_relational
    if task_type.unit not in ("node", "link") or is_relational:
        kind = "triples" if is_relational else task_type
        return f"neighbours are drawn around nodes and links of one graph, not for {kind}"
    return "" if len(dataset) == 1 else "its graphs are batches, and neighbours are drawn in one large graph"


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The cells wanted, in order, the pairs left out, and sentences for the user about what the data do not give."""

    cells: tuple[Cell, ...]
    skipped: tuple[Skipped, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Place:
    """Place where data are kept and looked for; None takes the defaults of the datasets room."""

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
    """Return every compatible (task, model, seed) as a cell; data that are not frozen yet are frozen here.

    Under a budget every model gets its width here, one for all seeds; a model that has none is left out.

    Parameters
    ----------
    tasks, models, seeds
        Tasks, models and seeds, of which every combination is wanted.
    protocol
        Protocol of all of them.
    epochs
        Length of training; None: the protocol's.
    device
        ``cpu``, ``cuda``, ``cuda:N`` or ``auto``.
    place
        Where frozen data lie, and where they may be downloaded from.
    """
    _check_wanted(tasks, models, seeds=seeds, epochs=epochs)
    place, device = place or Place(), resolve_device(device)
    models = [renew_code(model) for model in models]
    code = code_of("")
    forget_loaded()
    cells: list[Cell] = []
    skipped = list_skipped(tasks, models, protocol)
    missing: dict[str, DataMissing] = {}
    notices: list[str] = []
    for task in tasks:
        compatible = [model for model in models if not reason_against(task, model, protocol)]
        if not compatible or not seeds:
            continue
        try:
            datasets = {seed: prepare(task, seed=seed, home=place.home, mirror=place.mirror) for seed in seeds}
        except DataMissing as error:
            # All that are missing are told at once.
            missing[task.name] = error
            continue
        _read_all(datasets.values(), protocol)
        resolved = resolve(protocol, task)
        notices += find_limits(task, resolved, datasets[seeds[0]], seeds[0])
        length = epochs or usual_epochs(protocol, task)
        make = partial(_make_cell, task, resolved, epochs=length, device=device, code=code)
        for model in compatible:
            try:
                refuse_sampling(task, model, datasets[seeds[0]], protocol.neighbours)
                given = hyperparameters_of(model, task, datasets[seeds[0]], protocol)
            except (BadValue, SplitImpossible) as error:
                skipped.append(Skipped(task=task.name, model=model.name, reason=str(error)))
                continue
            cells += [make(data, model=model, seed=seed, hyperparameters=given) for seed, data in datasets.items()]
    _refuse_missing(missing, tasks)
    if not cells:
        impossible = [f"{item.task} x {item.model}: {item.reason}" for item in skipped]
        raise NothingToRun(impossible or ["no task, no model or no seed was chosen"])
    return Plan(
        cells=tuple(cells), skipped=tuple(skipped), notices=(*notices, *_borrowed_label(protocol), *tell_unseen(models))
    )


def refuse_sampling(task: Task, model: ModelRow, dataset: FrozenDataset, neighbours: str) -> None:
    """Raise where neighbours are to be drawn and cannot be.

    Parameters
    ----------
    task, model
        The pair.
    dataset
        Data of the task.
    neighbours
        How many are drawn, hop by hop; nothing where graphs are taken whole.
    """
    reason = reason_against_sampling(task.task_type, dataset)
    if not reason and has_code_for_each_node(model):
        reason = f"{model.name} has a code for every node of the graph that it was made for"
    if neighbours and reason:
        raise BadValue("neighbours", neighbours, f"all: {reason}")


def _read_all(datasets: Iterable[FrozenDataset], protocol: Protocol) -> None:
    """Read every byte before a sweep: data that are not those that their card names are told before any training.

    What a card says of its tensors is compared here where the plan is made by it, or where Torch is at hand; otherwise
    by whoever trains on them, in any case.
    """
    has_facts = bool(protocol.budget or protocol.encoding) or "torch" in sys.modules
    for folder in {dataset.folder for dataset in datasets}:
        open_steady(folder, has_facts=has_facts)


def resolve_device(device: str) -> str:
    """Return the device that ``"auto"`` means here (a GPU where there is one), or the given one if it exists."""
    if device == "cpu" or (device == "auto" and "torch" not in sys.modules and _is_without_gpus()):
        return "cpu"
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        allowed = f"auto, cpu, or a device that Torch has here ({reason})"
        raise BadValue("device", device, allowed, command="gnz doctor") from None
    return device


def _is_without_gpus() -> bool:
    """Tell, without importing it, whether the Torch that is installed was built for no GPU."""
    found = importlib.util.find_spec("torch")
    versions = Path(found.origin).with_name("version.py") if found and found.origin else None
    if versions is None or not versions.is_file():
        return False
    said: dict[str, object] = {}
    for line in ast.parse(versions.read_text("utf-8")).body:
        if isinstance(line, ast.Assign | ast.AnnAssign) and isinstance(line.value, ast.Constant):
            places = line.targets if isinstance(line, ast.Assign) else [line.target]
            said |= dict.fromkeys(map(ast.unparse, places), line.value.value)
    return {said.get(name, "unknown") for name in ("cuda", "hip", "xpu")} == {None}


def usual_epochs(protocol: Protocol, task: Task) -> int:
    """Return how many epochs a task is trained for under a protocol where nobody says another number."""
    return find_override(protocol, task).epochs or protocol.epochs or task.epochs


def find_limits(task: Task, protocol: Protocol, dataset: FrozenDataset, seed: int) -> list[str]:
    """Return a sentence for each way in which the encoding of a protocol says less of some graphs.

    Parameters
    ----------
    task
        Task that is encoded.
    protocol
        Protocol, resolved already.
    dataset, seed
        Data of the task, and the seed that hides links.
    """
    if not protocol.encoding:
        return []
    from gnz_track.datasets.encodings import describe_limits, parse_encoding

    encoding = parse_encoding(protocol.encoding)
    if encoding is None or "edge_index" not in dataset.tensors:
        return []
    try:
        where, edges = _encoded_edges(task, protocol, dataset, seed)
    except SplitImpossible:
        # Every cell will say so.
        return []
    return [f"{task.name}, {where}{sentence}" for sentence in describe_limits(encoding, edges, dataset.node_ptr)]


def _borrowed_label(protocol: Protocol) -> list[str]:
    """Return a sentence where a protocol bears a label of the catalogue and has other settings than the one there.

    Cells are told apart by all of their settings, and people are shown the label.
    """
    known = {one.label: one for one in PROTOCOLS.rows()}.get(protocol.label)
    if known is None:
        return []
    names = [field.name for field in fields(Protocol) if field.name != "description"]
    changed = [name for name in names if getattr(protocol, name) != getattr(known, name)]
    if not changed:
        return []
    differ = f"{', '.join(changed)} differ{'s' if len(changed) == 1 else ''}"
    sentence = (
        f"protocol {protocol.label} is not the one that gnz protocols lists: {differ}; tables show the same label for "
        "both, until it has a name of its own: dataclasses.replace(protocol, name=...)"
    )
    return [sentence]


def _encoded_edges(task: Task, protocol: Protocol, dataset: FrozenDataset, seed: int) -> tuple[str, Tensor]:
    """Return the edges that positions are made of, and whose they are: where links are hidden, those that are left."""
    from gnz_track.datasets.splits.links import split_links, split_triples

    if task.task_type is not TaskType.link_pred:
        return "", dataset.global_edge_index
    if dataset.is_relational:
        return "", split_triples(dataset, seed=seed).train.edge_index
    split = split_links(dataset, policy=protocol.splits, seed=seed)
    return "" if split.is_published else f"seed {seed}, ", split.message_edges


def _make_cell(task: Task, protocol: Protocol, dataset: FrozenDataset, **facts: Any) -> Cell:
    return Cell(
        # The data are frozen, and a loader could not travel; its name can, to where the data are not.
        task=replace(task, loader=task.loader if isinstance(task.loader, str) else None),
        protocol=protocol,
        dataset_digest=dataset.digest,
        data=str(dataset.folder),
        **facts,
    )


def _refuse_missing(missing: Mapping[str, DataMissing], tasks: Sequence[Task]) -> None:
    if len(missing) == 1:
        raise next(iter(missing.values()))
    if missing:
        raise SeveralMissing(missing.values(), [task.name for task in tasks if task.name not in missing])


def _check_wanted(
    tasks: Sequence[Task], models: Sequence[ModelRow], *, seeds: Sequence[int], epochs: int | None
) -> None:
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


def tell_scales(plan: Plan) -> Plan:
    """Return a plan that says which data of the user's own are trained on as they are, though far from unit scale."""
    own = [cell for cell in plan.cells if cell.task.category is Category.custom]
    folders = {cell.data: None for cell in own if "scale" not in dict(cell.hyperparameters)}
    told = dict.fromkeys(tell_scale(open_frozen(folder)) for folder in folders)
    return replace(plan, notices=(*plan.notices, *(sentence for sentence in told if sentence)))


def perturb_plan(plan: Plan, names: Iterable[str]) -> Plan:
    """Return a plan with every cell under each perturbation; ``original`` stands for the cells as they are.

    Cells of one seed share their split and the first parameters of their model, whatever is done to the graphs.
    """
    from gnz_track.datasets.perturbations import ORIGINAL, PERTURBATIONS

    known = [PERTURBATIONS.get(name).name for name in names]
    perturbations = ["" if name == ORIGINAL else name for name in known]
    code = {name: code_of(name) for name in perturbations}
    cells = tuple(replace(cell, perturbation=name, code=code[name]) for name in perturbations for cell in plan.cells)
    return replace(plan, cells=cells)
