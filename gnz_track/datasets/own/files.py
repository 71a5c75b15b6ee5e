"""Tasks of files: one network, a table of edges, a folder of tables, or a folder of frozen data.

What is asked follows from where the labels are: of nodes, of edges, of graphs, or of links where there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from gnz_track.datasets.card import CARD
from gnz_track.datasets.catalogue import TASKS
from gnz_track.datasets.collation import is_multi_label
from gnz_track.datasets.frozen import open_frozen
from gnz_track.datasets.own.graphs import read_network, read_tables
from gnz_track.datasets.own.tasks import task_from_dataset
from gnz_track.errors import BadValue
from gnz_track.types import Task, TaskType

__all__ = ["ROLES", "files_of", "is_readable", "pose", "read_own", "task_of_file"]

# Tables of a folder by role; the first must be there.
ROLES = ("edges", "nodes", "graphs")
_TABLES = (".csv", ".tsv", ".parquet")
_NETWORKS = (".graphml", ".xml", ".gml")
_ALLOWED = (
    f"a file that ends in {', '.join((*_NETWORKS, *_TABLES))} (a table of edges), a folder with edges{_TABLES[0]}, and "
    f"with nodes{_TABLES[0]} and graphs{_TABLES[0]} where there are such, or a folder of frozen data"
)
_COMMAND = "gnz data add FILE --name NAME --label COLUMN"


def is_readable(name: str) -> bool:
    """Tell whether a text is a file or folder in one of the forms that are read; it may not be there."""
    path = Path(name).expanduser()
    return path.suffix.lower() in (*_NETWORKS, *_TABLES) or bool(path.name and path.is_dir())


def files_of(path: Path) -> dict[str, Path]:
    """Return the files of a dataset by role: the file itself, tables of a folder, or what is frozen there."""
    if path.is_file() and path.suffix.lower() in (*_NETWORKS, *_TABLES):
        return {"network" if path.suffix.lower() in _NETWORKS else ROLES[0]: path}
    if (path / CARD).is_file():
        return {file.name: file for file in sorted(path.iterdir()) if file.is_file()}
    here = (path / f"{role}{suffix}" for role in ROLES for suffix in _TABLES)
    found: dict[str, Path] = {}
    for file in here:
        if file.is_file():
            found.setdefault(file.stem, file)
    if ROLES[0] not in found:
        raise BadValue("the data", str(path), _ALLOWED, command=_COMMAND)
    return found


def read_own(path: str | Path, **options: Any) -> Any:
    """Read graphs of one's own from a file or a folder, with the options of :func:`read_tables`.

    Errors name these as options of the command line.
    """
    files = files_of(Path(path).expanduser())
    if CARD in files:
        return _read_frozen(Path(path).expanduser())
    options["speaks_flags"] = True
    if "network" in files:
        return read_network(files["network"], **options)
    return read_tables(files["edges"], files.get("nodes"), files.get("graphs"), **options)


def _read_frozen(folder: Path) -> Any:
    """Return the graphs of a frozen folder, every byte checked, in their parts where they have some."""
    from gnz_track.datasets.collation import SPLIT

    dataset = open_frozen(folder, verify=True)
    graphs, split = list(dataset), dataset.tensors.get(SPLIT)
    if split is None or split.dim() > 1:
        return graphs[0] if len(graphs) == 1 else graphs
    return tuple([graph for graph, part in zip(graphs, split.tolist(), strict=True) if part == n] for n in range(3))


def pose(name: str, found: Any, asked: Iterable[TaskType] = ()) -> TaskType:
    """Return the type of task that labels ask for, or the one that the user does.

    Parameters
    ----------
    name
        Where the graphs come from.
    found
        A graph, a list of them, or lists of the three parts.
    asked
        Types of task that the user names: one decides.
    """
    asked = tuple(asked)
    if len(asked) == 1:
        return asked[0]
    parts = found if isinstance(found, tuple) else (found,)
    graphs: list[Data] = [graph for part in parts for graph in (part if isinstance(part, list) else [part])]
    posed = next((kind for kind, holds in _KINDS if holds(graphs)), None)
    if posed is None:
        allowed = "of one kind in all graphs: of nodes, of edges or of graphs; --task-type says which"
        raise BadValue(f"the labels of {name}", "of several kinds", allowed, command="--task-type node_cls")
    return posed


def _of_edges(graphs: list[Data], *, is_real: bool) -> bool:
    return all("edge_label" in graph and graph.edge_label.is_floating_point() == is_real for graph in graphs)


def _has_y(graphs: list[Data], *, of_graphs: bool, is_real: bool) -> bool:
    """Tell whether all graphs have labels of some kind; a collection has one for each graph, or for each node."""
    if any("y" not in graph for graph in graphs):
        return False
    whole = len(graphs) > 1 and all(graph.y.size(0) == 1 for graph in graphs)
    are_real = {torch.as_tensor(graph.y).is_floating_point() for graph in graphs}
    if are_real == {True} and is_multi_label(torch.cat([graph.y for graph in graphs])):
        are_real = {False}
    return whole == of_graphs and are_real == {is_real}


def _has_nothing(graphs: list[Data]) -> bool:
    return not any("y" in graph or "edge_label" in graph for graph in graphs)


# Type of task -> what graphs have that pose it, the first that fits.
_KINDS: tuple[tuple[TaskType, Callable[[list[Data]], bool]], ...] = (
    (TaskType.edge_cls, partial(_of_edges, is_real=False)),
    (TaskType.edge_reg, partial(_of_edges, is_real=True)),
    (TaskType.node_cls, partial(_has_y, of_graphs=False, is_real=False)),
    (TaskType.node_reg, partial(_has_y, of_graphs=False, is_real=True)),
    (TaskType.graph_cls, partial(_has_y, of_graphs=True, is_real=False)),
    (TaskType.graph_reg, partial(_has_y, of_graphs=True, is_real=True)),
    (TaskType.link_pred, _has_nothing),
)


def task_of_file(name: str, *, asked: Iterable[TaskType] = (), epochs: int = 30, **options: Any) -> Task:
    """Return the task of a file or a folder, called as the file is; a name of the catalogue keeps its ending.

    Parameters
    ----------
    name
        The path as it was typed.
    asked, epochs
        Types of task that the user names, and the length of training where the user names none.
    **options
        As of :func:`gnz_track.datasets.own.graphs.read_tables`.
    """
    path = Path(name).expanduser()
    if not path.exists():
        raise BadValue("the data", name, f"a file that exists: {_ALLOWED}", command=_COMMAND)
    found = read_own(path, **options)
    file = path.resolve()
    called = next(one for one in (file.stem, file.name, f"{file.name} (file)") if one not in TASKS)
    facts = {"source": file.name}
    return task_from_dataset(called, pose(path.name, found, asked), found, epochs=epochs, card=facts)
