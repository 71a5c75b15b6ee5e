"""From a frozen dataset, a split and a protocol to what the training room works with, by a look-up of kinds.

In the file of a kind datasets, splits, objectives and scorers meet, and nowhere else: so test labels are taken out of
reach there. An objective is given training labels, each scorer the labels of its own part, and ``data.y`` shows a model
training labels only. A blind problem, as a search is given, has no test labels at all: they are erased before anything
is built of them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gnz_track.datasets.encodings import parse_encoding
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.errors import BadValue
from gnz_track.models.options import Sizes
from gnz_track.problems.graph import CLASSES, NUMBERS
from gnz_track.problems.inputs import complete_sizes, unfit, vary
from gnz_track.problems.link_pred import LINKS
from gnz_track.problems.multi_task import MULTI_TASK
from gnz_track.problems.nodes_and_edges import EDGES, NODES
from gnz_track.problems.problem import Problem, ProblemKind, has_labels, parts_of
from gnz_track.problems.triples import TRIPLES
from gnz_track.training.answers import Answers
from gnz_track.training.losses import LOSSES
from gnz_track.types import CellSettings, TaskType

__all__ = ["Problem", "ask", "count_training", "losses_of", "pose", "sizes_of"]

KINDS: dict[str, ProblemKind] = {
    "node_cls": NODES,
    "graph_cls": CLASSES,
    "graph_reg": NUMBERS,
    "link_pred": LINKS,
    "triples": TRIPLES,
    "edge_cls": EDGES,
    "multi_task": MULTI_TASK,
    "node_reg": NODES,
    "edge_reg": EDGES,
}


def pose(dataset: FrozenDataset, settings: CellSettings) -> Problem:
    """Pose a dataset as the problem of its task type."""
    name, kind = _kind_of(dataset, settings)
    if kind.refuse is not None:
        kind.refuse(dataset, settings)
    if settings.encoding and settings.perturbation:
        raise unfit(
            dataset,
            settings,
            f"{settings.encoding!r} would encode the graph as it is without {settings.perturbation!r}",
        )
    if settings.optimiser.loss and kind.has_one_loss:
        raise BadValue(f"the loss of {name}", settings.optimiser.loss, "empty: it has one loss only")
    if settings.neighbours and not (kind.is_sampled and len(dataset) == 1):
        allowed = f"all: they are drawn around nodes and links of one graph, and this is {name} of {len(dataset)}"
        raise BadValue("neighbours", settings.neighbours, allowed, command="gnz run --set neighbours=all")
    problem = kind.pose(dataset, settings)
    encoding = parse_encoding(settings.encoding)
    return problem if encoding is None else replace(problem, objective=vary(problem.objective, encoding.variation))


def ask(model: Any, dataset: FrozenDataset, settings: CellSettings, *, is_relational: bool) -> tuple[Answers, ...]:
    """Return what a trained model answers to every example of a dataset, labelled or not; nothing is split.

    Parameters
    ----------
    model
        Model in evaluation.
    dataset
        Dataset of the form that the model was trained on. Links and labelled edges are those of ``edge_label_index``.
    settings
        Settings of the cell that trained it.
    is_relational
        Whether it scores triples.
    """
    name = "triples" if is_relational else str(settings.task_type)
    return KINDS[name].ask(model, dataset, settings)


def sizes_of(dataset: FrozenDataset, settings: CellSettings) -> Sizes:
    """Return what a model has to know of its data, before anything is posed; nothing to predict is an error."""
    return complete_sizes(dataset, settings, _kind_of(dataset, settings)[1].sizes(dataset, settings))


def count_training(dataset: FrozenDataset, settings: CellSettings) -> int:
    """Return how many examples training has under settings; 0 where it has no number, as links have none."""
    divide = _kind_of(dataset, settings)[1].divide
    return 0 if divide is None else parts_of(divide, dataset, settings).train.numel()


def losses_of(dataset: FrozenDataset, settings: CellSettings) -> tuple[str, ...]:
    """Return the names of the losses that a problem may have, without the usual one."""
    if _kind_of(dataset, settings)[1].has_one_loss:
        return ()
    labels = "labels" if has_labels(dataset, settings) else "classes"
    labels = "numbers" if settings.task_type.predicts_numbers else labels
    return tuple(filter(None, LOSSES[labels]))


def _kind_of(dataset: FrozenDataset, settings: CellSettings) -> tuple[str, ProblemKind]:
    """Return name and kind of the problem; data that lack one of its tensors are an error."""
    is_triples = settings.task_type is TaskType.link_pred and dataset.is_relational
    name = "triples" if is_triples else str(settings.task_type)
    if name not in KINDS:
        raise BadValue("task type", name, ", ".join(KINDS), command="gnz tasks")
    missing = [tensor for tensor in KINDS[name].needs if tensor not in dataset.tensors]
    if missing:
        raise unfit(dataset, settings, f"it has no {missing[0]}")
    return name, KINDS[name]
