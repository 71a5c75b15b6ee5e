"""Tasks that users bring: what their loaders return becomes a list of graphs and, where they have one, a split.

Graphs are checked before they are frozen: each complaint names a field, what it is and what is allowed.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData
from torch_geometric.data.data import BaseData

from gnz_track.datasets.collation import Collated
from gnz_track.errors import BadValue, DataMissing, UnknownName
from gnz_track.types import DatasetRow, Task, TaskType

__all__ = [
    "USUAL_FACTS",
    "GivenDataset",
    "check_facts",
    "check_own",
    "is_seed_aware",
    "load_graphs",
    "own_row",
    "refuse_types",
    "takes",
    "task_from_dataset",
    "without_empty_features",
]

# What a card says where its user says nothing.
USUAL_FACTS = {"source": "given by the user", "licence": "not stated", "citation": "not stated", "url": "", "notes": ""}
# More classes than any dataset has; a layer for as many fits into no memory where labels are really hashes or ids.
MOST_CLASSES = 1_000_000
_TENSORS_ONLY = ("x", "edge_index", "edge_attr", "pos")
_N_PARTS = 3
_ROOT_NAMES = frozenset({"root", "folder", "path", "data_root", "data_dir"})
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_ALLOWED = "a Data, a sequence of Data, a PyG dataset, or a tuple (train, val, test) of these"


class GivenDataset:
    """A loader that returns a dataset which is in memory already.

    It travels to other processes without the dataset: there, the frozen form is read.
    """

    def __init__(self, name: str, dataset: Any, facts: Mapping[str, str] | None = None) -> None:
        self.name, self.dataset, self.facts = name, dataset, check_facts(facts)

    def __call__(self) -> Any:
        """Return the dataset."""
        if self.dataset is None:
            command = f"task_from_dataset({self.name!r}, task_type, dataset) in this process"
            raise DataMissing(self.name, ["the memory of this process"], command=command)
        return self.dataset

    def __reduce__(self) -> tuple[Any, ...]:
        return GivenDataset, (self.name, None, self.facts)

    def __repr__(self) -> str:
        return f"GivenDataset({self.name!r})"


def task_from_dataset(
    name: str, task_type: TaskType | str, dataset: Any, *, epochs: int = 30, card: Mapping[str, str] | None = None
) -> Task:
    """Pose a loaded dataset as a task.

    Parameters
    ----------
    name, task_type
    dataset
        A ``Data``, a list of them, a PyG dataset, or a (train, val, test) of these.
    epochs
    card
        Where it comes from: ``source``, ``licence``, ``citation``, ``url`` and ``notes``, all as texts.
    """
    if dataset is None:
        raise BadValue("dataset", None, "a Data, a list of Data, a PyG dataset or a tuple (train, val, test) of them")
    refuse_types(dataset[0] if isinstance(dataset, list | tuple) and dataset else dataset, f"dataset {name!r}")
    return Task(name, TaskType(task_type), GivenDataset(name, dataset, card), epochs=epochs)


def refuse_types(graph: object, where: str) -> None:
    """Refuse a graph whose nodes and edges have types, with the way to one that can be trained on."""
    if isinstance(graph, HeteroData):
        allowed = (
            "a Data: flattened, its node_type and edge_type say the types, features are filled up with zeros, and "
            "nodes of types without labels have y = -1, unknown"
        )
        raise BadValue(where, "HeteroData", allowed, command="data = data.to_homogeneous()")


def own_row(task: Task) -> DatasetRow:
    """Return the row of a task with a loader of its own: what its user said of it, or that nothing was said."""
    return DatasetRow(
        name=task.name,
        category=task.category,
        task_types=(task.task_type,),
        # It is called each time, and its data are known by their bytes.
        loader="",
        **(task.loader.facts if isinstance(task.loader, GivenDataset) else check_facts(None)),
    )


def check_facts(card: Mapping[str, object] | None) -> dict[str, str]:
    """Return the facts of a card, complete; unknown names and empty values are errors.

    >>> check_facts({"licence": "CC-BY-4.0"})["licence"]
    'CC-BY-4.0'
    """
    facts = dict(USUAL_FACTS)
    for name, value in (card or {}).items():
        if name not in USUAL_FACTS:
            raise UnknownName("field of a card", name, USUAL_FACTS)
        may_be_empty = not USUAL_FACTS[name]
        if not isinstance(value, str) or not (value.strip() or may_be_empty):
            raise BadValue(f"{name} of the card", value, "a text, such as 'CC-BY-4.0' for a licence")
        facts[name] = value.strip()
    return facts


def is_seed_aware(loader: Callable[..., Any]) -> bool:
    """Tell whether a loader has a parameter ``seed``."""
    return takes(loader, "seed")


def takes(loader: Callable[..., Any], name: str) -> bool:
    """Tell whether a loader has a parameter of a name."""
    return name in _parameters_of(loader)


def load_graphs(task: Task, loader: Callable[..., Any], *, root: Path, seed: int) -> tuple[list[Data], Tensor | None]:
    """Call a loader with the folder and the seed that its signature asks for; return graphs and their split.

    Parameters
    ----------
    task, loader
    root
        Folder for a loader that wants one.
    seed
    """
    folder = [str(root)] if _takes_root(loader) else []
    if folder:
        root.mkdir(parents=True, exist_ok=True)
    options = {"seed": seed} if is_seed_aware(loader) else {}
    found = loader(*folder, **options)
    if not isinstance(found, tuple):
        return _as_graphs(task, found), None
    if len(found) != _N_PARTS:
        raise BadValue(f"what the loader of task {task.name!r} returned", f"a tuple of {len(found)}", _ALLOWED)
    parts = [_as_graphs(task, part) for part in found]
    split = torch.arange(_N_PARTS).repeat_interleave(torch.tensor([len(part) for part in parts]))
    return [graph for part in parts for graph in part], split


def without_empty_features(graphs: Sequence[Data]) -> list[Data]:
    """Return graphs without an ``x`` that has no column: it says nothing but how many nodes there are."""
    return [_without_x(graph) if _has_no_column(graph.get("x")) else graph for graph in graphs]


def check_own(name: str, collated: Collated) -> None:
    """Raise where graphs cannot be trained on, whatever the model: no nodes, no numbers, numbers that are none."""
    for key in _TENSORS_ONLY:
        field = collated.fields.get(key)
        if field is not None and field.kind != "tensor":
            raise BadValue(f"field {key!r} of {name!r}", f"a {field.kind}", f"a tensor: torch.as_tensor({key})")
    sizes = collated.tensors["ptr/node"].diff()
    empty = (sizes == 0).nonzero().flatten()
    if empty.numel():
        where = f"the number of nodes of graph {int(empty[0])} of {name!r}" if len(sizes) > 1 else f"nodes of {name!r}"
        allowed = "at least one node in each graph: an empty one has nothing to pool over, and no score"
        raise BadValue(where, 0, allowed, command="graphs = [graph for graph in graphs if graph.num_nodes]")
    _check_numbers(name, collated)
    for key in ("y", "edge_label"):
        labels = collated.tensors.get(key)
        if labels is not None and not labels.is_floating_point() and labels.numel() and labels.max() >= MOST_CLASSES:
            allowed = f"classes as whole numbers from 0 to {MOST_CLASSES - 1}, or -1 for unknown"
            command = f"_, {key} = torch.unique({key}, return_inverse=True)"
            raise BadValue(f"the largest {key} of {name!r}", int(labels.max()), allowed, command=command)


def _as_graphs(task: Task, found: Any) -> list[Data]:
    if isinstance(found, Data):
        return [found]
    refuse_types(found, f"what the loader of task {task.name!r} returned")
    # Other kinds of PyG's graphs have no order of graphs either.
    if not hasattr(found, "__getitem__") or isinstance(found, str | dict | Tensor | BaseData):
        raise BadValue(f"what the loader of task {task.name!r} returned", type(found).__name__, _ALLOWED)
    graphs = list(found) if isinstance(found, Sequence) else [found[place] for place in range(_count_graphs(found))]
    for place, graph in enumerate(graphs):
        refuse_types(graph, f"graph {place} of task {task.name!r}")
    odd = next((graph for graph in graphs if not isinstance(graph, Data)), None)
    if odd is not None or not graphs:
        what = "nothing" if not graphs else f"a sequence with a {type(odd).__name__}"
        raise BadValue(f"what the loader of task {task.name!r} returned", what, _ALLOWED)
    return graphs


def _count_graphs(found: Any) -> int:
    """Count the graphs of a wrapper; one that only answers ``[0]`` holds one."""
    return len(found) if hasattr(found, "__len__") else 1


def _parameters_of(loader: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(loader).parameters)
    except (TypeError, ValueError):  # some classes written in C tell nothing of their parameters
        return {}


def _takes_root(loader: Callable[..., Any]) -> bool:
    """Tell whether the first positional parameter wants a folder: it has no default, or it is named as one."""
    for parameter in _parameters_of(loader).values():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return True
        if parameter.kind in _POSITIONAL and parameter.name != "seed":
            return parameter.default is inspect.Parameter.empty or parameter.name in _ROOT_NAMES
    return False


def _check_numbers(name: str, collated: Collated) -> None:
    x = collated.tensors.get("x")
    if x is not None and x.dim() not in {1, 2}:
        allowed = "[number of nodes] or [number of nodes, number of features]"
        raise BadValue(f"the shape of x of {name!r}", list(x.shape), allowed, command="x = x.flatten(1)")
    for key in ("x", "edge_attr"):
        found = collated.tensors.get(key)
        if found is None or not found.is_floating_point():
            continue
        odd = (~found.isfinite()).nonzero()
        if odd.numel():
            place = odd[0].tolist()
            value = float(found[tuple(place)])
            allowed = "finite numbers, with which a loss can be computed"
            raise BadValue(f"{key} of {name!r} at {place}", value, allowed, command=f"{key} = {key}.nan_to_num()")


def _has_no_column(x: object) -> bool:
    return isinstance(x, Tensor) and not x.is_nested and x.dim() == 2 and x.size(1) == 0


def _without_x(graph: Data) -> Data:
    n_nodes = graph.x.size(0) if graph.get("num_nodes") is None else graph.num_nodes
    bare = copy.copy(graph)
    del bare["x"]
    bare.num_nodes = n_nodes
    return bare
