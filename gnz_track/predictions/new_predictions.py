"""Predictions of a stored model for data that it was trained on, bit by bit as then, or for others of the same form."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import nn
from torch_geometric.data import Data

from gnz_track.datasets.catalogue import DATASETS, TASKS
from gnz_track.datasets.collation import collate
from gnz_track.datasets.frozen import FrozenDataset, freeze_collated
from gnz_track.datasets.own.tasks import check_own, own_row, task_from_dataset
from gnz_track.datasets.preparation import find_frozen, prepare, prepare_dataset
from gnz_track.errors import BadValue, DataMissing, UnknownName
from gnz_track.predictions.stored_models import StoredModel, as_trained
from gnz_track.problems.catalogue import ask, pose
from gnz_track.problems.inputs import complete_sizes, sizes_of_edges
from gnz_track.runs.files_of_cell import predictions_of
from gnz_track.runs.owners import is_ours
from gnz_track.runs.plan import Place
from gnz_track.store.cell_files.predictions import PartPredictions
from gnz_track.training.answers import Answers
from gnz_track.training.forwards import compute_as_asked
from gnz_track.training.lent import LentInputs
from gnz_track.training.loop import answer
from gnz_track.types import Task, TaskType, perturbed_name

__all__ = ["ALL", "NewPredictions", "find_dataset", "frozen_graphs", "predict"]

# The part of examples that no split has sorted.
ALL = "all"


@dataclass(frozen=True, kw_only=True, eq=False)
class NewPredictions:
    """Answers of a model to the examples of a dataset, part by part; ``scores`` are those of the last part.

    Data that the model was trained on, and links of which no pair is named, are split as they were, or would be, for
    its cell; elsewhere all examples are of the part :data:`ALL`.
    """

    parts: tuple[PartPredictions, ...]
    scores: Mapping[str, float] = field(default_factory=dict)


def predict(stored: StoredModel, dataset: FrozenDataset, *, device: str = "cpu") -> NewPredictions:
    """Let a stored model answer the examples of a dataset.

    Parameters
    ----------
    stored
        The model.
    dataset
        Data of the form that it was trained on; of the very same data, the answers are the same bit by bit.
    device
        Where it computes.
    """
    is_same = dataset.digest == stored.data
    if not is_same:
        _check_form(stored, dataset)
    names_pairs = "edge_label_index" in dataset.tensors
    is_split = is_same or (stored.settings.task_type is TaskType.link_pred and not names_pairs)
    try:
        with as_trained(stored.row), torch.no_grad():
            answers, scores = (_answer_parts if is_split else _answer_all)(stored, dataset, device)
    except (RuntimeError, LookupError, ValueError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise BadValue("the data", dataset.name, f"graphs that the model of {stored.name} takes ({reason})") from error
    parts = tuple(predictions_of(part, one) for part, found in answers.items() for one in found)
    return NewPredictions(parts=parts, scores=scores)


_Answered = tuple[Mapping[str, tuple[Answers, ...]], Mapping[str, float]]


def _answer_parts(stored: StoredModel, dataset: FrozenDataset, device: str) -> _Answered:
    """Answer the held-out examples of a dataset as the cell of the model does at its end."""
    problem = pose(dataset, replace(stored.settings, device=device))
    with _ready(stored, device) as model:
        prediction = problem.objective.predict(model)
        # First the scores: ranks of triples are counted for them.
        scores = list(problem.scorers.values())[-1].score_fully(model, prediction)
        return answer(model, prediction, problem.scorers), scores


def _answer_all(stored: StoredModel, dataset: FrozenDataset, device: str) -> _Answered:
    settings = replace(stored.settings, device=device)
    with _ready(stored, device) as model:
        return {ALL: ask(model, dataset, settings, is_relational=stored.sizes.n_relations > 0)}, {}


@contextmanager
def _ready(stored: StoredModel, device: str) -> Iterator[nn.Module]:
    """Yield a model as it is asked in training: with the same forwards, one of others behind copies of its input."""
    model, settings = stored.module.to(device), replace(stored.settings, device=device)
    with compute_as_asked(model, settings, name=stored.name):
        yield (model if is_ours(stored.row) else LentInputs(model)).eval()


def find_dataset(stored: StoredModel, name: str, place: Place) -> FrozenDataset:
    """Return a dataset by the name of a task or of its own; by that of a model's own, the very data it was trained on.

    Parameters
    ----------
    stored
        Model that is to be asked.
    name
        Name of a task or of a dataset.
    place
        Where data are kept and looked for.
    """
    seed, ending = stored.settings.seed, perturbed_name("", stored.settings.perturbation)
    own = stored.task.removesuffix(ending) if stored.settings.perturbation else stored.task
    task = TASKS.get(name) if name in TASKS else None
    if name in {own, stored.task, stored.dataset}:
        known = task or Task(own, stored.settings.task_type, dataset=stored.dataset)
        try:
            return find_frozen(known, digest=stored.data, seed=seed, home=place.home, mirror=place.mirror)
        except DataMissing:
            if task is None and name not in DATASETS:
                raise
    if task is None and name not in DATASETS:
        raise UnknownName("task or dataset", name, {*TASKS.names(), *DATASETS.names(), own}, command="gnz tasks")
    if task is not None:
        return prepare(task, seed=seed, home=place.home, mirror=place.mirror)
    from gnz_track.datasets.homes import data_home

    return prepare_dataset(DATASETS.get(name), seed=seed, home=place.home or data_home(), mirror=place.mirror)


@contextmanager
def frozen_graphs(stored: StoredModel, graphs: Sequence[Data], name: str) -> Iterator[FrozenDataset]:
    """Yield graphs as a dataset for as long as a model is asked of them.

    Parameters
    ----------
    stored
        The model.
    graphs
        One graph or many.
    name
        Their name, for errors.
    """
    collated = collate(list(graphs))
    check_own(name, collated)
    row = own_row(task_from_dataset(name, stored.settings.task_type, list(graphs)))
    with tempfile.TemporaryDirectory() as folder:
        yield freeze_collated(collated, Path(folder) / "graphs", row=row, seed=None)


def _check_form(stored: StoredModel, dataset: FrozenDataset) -> None:
    """Refuse data that a model cannot take, and say where they differ from those that it was trained on."""
    if stored.is_of_one_graph:
        allowed = f"those of digest {stored.data}, {stored.dataset}: it has learnt a code for each node of that graph"
        raise BadValue(
            f"the data for the model of {stored.name}", f"{dataset.name} of digest {dataset.digest}", allowed
        )
    then = stored.sizes
    has_features = "x" in stored.inputs
    if bool(dataset.n_features) is not has_features:
        wanted = str(stored.inputs["x"]) if has_features else "none: it was trained on features of the structure"
        raise _other(stored, "features of nodes", dataset.n_features or "none", wanted)
    about = {name: getattr(then, name) for name in _OF_TASK}
    of_edges = sizes_of_edges(dataset, stored.settings) if then.edge_channels else {}
    now = complete_sizes(dataset, stored.settings, {**about, **of_edges})
    for name, what in _COMPARED.items():
        if getattr(now, name) != getattr(then, name):
            raise _other(stored, what, getattr(now, name) or "none", str(getattr(then, name) or "none"))
    for name, what in _VOCABULARIES.items():
        found, known = getattr(now, name), getattr(then, name)
        if len(found) != len(known) or any(a > b for a, b in zip(found, known, strict=True)):
            wanted = f"columns of at most {', '.join(map(str, known))}" if known else "real numbers"
            raise _other(stored, what, ", ".join(map(str, found)) or "real numbers", wanted)
    _check_tensors(stored, dataset)


def _check_tensors(stored: StoredModel, dataset: FrozenDataset) -> None:
    then, tensors = stored.sizes, dataset.tensors
    if stored.settings.task_type.unit == "edge" and "edge_label_index" not in tensors:
        raise _other(stored, "edges to be scored", "none", "edge_label_index [2, n]")
    columns = (
        tensors["edge_label_attr"].reshape(len(tensors["edge_label_attr"]), -1).size(1)
        if "edge_label_attr" in tensors
        else 0
    )
    if columns != then.n_edge_features:
        raise _other(stored, "features of labelled edges", columns or "none", str(then.n_edge_features or "none"))
    for name in ("edge_type", "edge_label_type"):
        if then.n_relations and name in tensors and int(tensors[name].max()) >= then.n_relations:
            raise _other(stored, f"kinds in {name}", int(tensors[name].max()), f"numbers below {then.n_relations}")
    name = "edge_label" if stored.settings.task_type.unit == "edge" else "y"
    labels = tensors.get(name)
    if labels is None or labels.is_floating_point() or stored.settings.task_type not in _OF_CLASSES:
        return
    if labels.numel() and int(labels.max()) >= then.out_channels:
        raise _other(stored, "classes", int(labels.max()) + 1, f"at most {then.out_channels}")
    if labels.numel() and int(labels.min()) < -1:
        raise _other(stored, "classes", int(labels.min()), "numbers from 0 upwards, or -1 where unknown")


def _other(stored: StoredModel, what: str, found: object, wanted: str) -> BadValue:
    return BadValue(f"{what} of the data", found, f"{wanted}, as the model of {stored.name} was trained on")


_OF_CLASSES = frozenset({TaskType.node_cls, TaskType.graph_cls, TaskType.edge_cls})
# Sizes that say what is predicted: data without labels do not tell them.
_OF_TASK = ("out_channels", "n_relations", "n_edge_features", "is_directed", "n_graph_targets", "code_channels")
_COMPARED = {
    "in_channels": "features of nodes",
    "edge_channels": "features of edges",
    "n_encoding": "columns of the encoding",
}
_VOCABULARIES = {"vocabulary": "categories of nodes", "edge_vocabulary": "categories of edges"}
