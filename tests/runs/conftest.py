"""One small made-up dataset for each kind of problem, and cells on them."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset, freeze
from gnz_track.models.adapters import multi_task_factory
from gnz_track.models.catalogue import describe
from gnz_track.store.address import Address, parse_address
from gnz_track.training.protocols import PROTOCOLS
from gnz_track.types import Category, Cell, CellSettings, DatasetRow, ModelRow, Optimiser, Protocol, Task, TaskType

# Own models are imported by name, as a user's are.
sys.path.append(str(Path(__file__).parent))

import own_nets


@dataclass(frozen=True, kw_only=True, eq=False)
class World:
    """Graphs posed as a problem, with the protocol that they need."""

    name: str
    task_type: TaskType
    graphs: list[Data]
    split: Tensor | None = None
    features: str = "structural"

    @property
    def protocol(self) -> Protocol:
        protocol = replace(PROTOCOLS.get("graphnetz"), features=self.features)
        # The published protocol does not know it.
        both = {TaskType.multi_task: Optimiser(lr=1e-2, batch_size=4)}
        return replace(protocol, optimisers=both) if self.task_type is TaskType.multi_task else protocol

    def settings(self, *, seed: int = 0, batch_size: int = 4, **changes: Any) -> CellSettings:
        """Return settings of a narrow cell, with changes."""
        optimiser = Optimiser(lr=0.01, batch_size=batch_size)
        given = {"features": self.features, "hidden_channels": 8, "optimiser": optimiser, **changes}
        return CellSettings(task_type=self.task_type, seed=seed, **given)

    @property
    def row(self) -> DatasetRow:
        facts = {"loader": "", "source": "made up", "licence": "none", "citation": "none"}
        return DatasetRow(name=self.name, category=Category.custom, task_types=(self.task_type,), **facts)

    def freeze(self, folder: Path) -> FrozenDataset:
        return freeze(self.graphs, folder, row=self.row, split=self.split)


def _edges(
    n: int, generator: torch.Generator, *, is_directed: bool = False, step: int = 1, n_chords: int | None = None
) -> Tensor:
    ring = torch.stack([torch.arange(n), (torch.arange(n) + step) % n])
    chords = torch.randint(n, (2, 2 * n if n_chords is None else n_chords), generator=generator)
    edges = torch.cat([ring, chords[:, chords[0] != chords[1]]], dim=1)
    return torch.unique(edges if is_directed else torch.cat([edges, edges.flip(0)], dim=1), dim=1)


def _nodes(*, n_columns: int = 1, x: str = "real", generator: torch.Generator) -> Data:
    n, n_classes = 60, 3
    y = torch.arange(n) % n_classes
    part = torch.stack([torch.randperm(n, generator=generator) % 3 for _ in range(n_columns)], dim=1).squeeze(1)
    masks = {f"{name}_mask": part == number for number, name in enumerate(("train", "val", "test"))}
    features: dict[str, Any] = {
        "real": {"x": 2 * torch.nn.functional.one_hot(y, 4) + torch.randn(n, 4, generator=generator)},
        "whole": {"x": torch.stack([y, torch.randint(5, (n,), generator=generator)], dim=1)},
        "none": {"num_nodes": n},
    }
    # Neighbours on the ring share their class.
    return Data(y=y, edge_index=_edges(n, generator, step=n_classes, n_chords=n // 2), **masks, **features[x])


def _graphs(label: Callable[[int, torch.Generator], Tensor], generator: torch.Generator) -> list[Data]:
    found = []
    for number in range(30):
        n = 4 + number % 5
        x = torch.randn(n, 3, generator=generator) + number % 2
        found.append(Data(x=x, edge_index=_edges(n, generator), y=label(number, generator)))
    return found


def _labels(number: int, generator: torch.Generator) -> Tensor:
    y = torch.tensor([[number % 2, number // 2 % 2, torch.randint(2, (), generator=generator)]]).float()
    y[0, number % 3] = torch.nan if number % 4 == 3 else y[0, number % 3]
    return y


def _links(*, is_directed: bool = False, x: str = "real", generator: torch.Generator) -> Data:
    n = 50
    features: dict[str, Any] = {"real": {"x": torch.randn(n, 4, generator=generator)}, "none": {"num_nodes": n}}
    return Data(edge_index=_edges(n, generator, is_directed=is_directed), **features[x])


def _published_links(generator: torch.Generator) -> Data:
    """Return a graph of which all links train, and other pairs in two parts, each with pairs that are no links."""
    data = _links(generator=generator)
    n = int(data.x.size(0))
    links = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    codes = torch.randperm(n * n, generator=generator)
    pairs = torch.stack([codes // n, codes % n])
    pairs = pairs[:, (pairs[0] < pairs[1]) & ~torch.isin(pairs[0] * n + pairs[1], links[0] * n + links[1])]
    sizes = {"val_link": 12, "val_non_link": 30, "test_link": 9, "test_non_link": 25}
    found = pairs[:, : sum(sizes.values())].split(list(sizes.values()), dim=1)
    for name, part in zip(sizes, found, strict=True):
        data[f"{name}_index"] = part
    data.train_link_index = links
    return data


def _triples(generator: torch.Generator) -> Data:
    n_nodes, n_relations, n_parts = 30, 3, {"train": 80, "valid": 15, "test": 20}
    total = sum(n_parts.values())
    codes = torch.randperm(n_nodes * n_relations * n_nodes, generator=generator)[:total]
    head, relation, tail = codes // (n_relations * n_nodes), codes // n_nodes % n_relations, codes % n_nodes
    fields, first = {}, 0
    for name, n in n_parts.items():
        fields[f"{name}_edge_index"] = torch.stack([head, tail])[:, first : first + n]
        fields[f"{name}_edge_type"] = relation[first : first + n]
        first += n
    edges = fields["train_edge_index"]
    types = torch.cat([fields["train_edge_type"], fields["train_edge_type"] + n_relations])
    return Data(num_nodes=n_nodes, edge_index=torch.cat([edges, edges.flip(0)], dim=1), edge_type=types, **fields)


def _edge_labels(*, is_directed: bool = False, n_features: int = 0, generator: torch.Generator) -> Data:
    """Return a graph whose edges have a class: whether their ends are alike, and for directed ones which is larger."""
    n = 60
    x = torch.randn(n, 4, generator=generator)
    edges = _edges(n, generator, is_directed=is_directed)
    ends = edges if is_directed else edges[:, edges[0] < edges[1]]
    order = torch.randperm(ends.size(1), generator=generator)
    ends, first = ends[:, order], x[:, 0]
    labels = (first[ends[0]] > first[ends[1]]).long() if is_directed else (first[ends] > 0).sum(dim=0)
    features = {"edge_label_attr": torch.rand(labels.numel(), n_features, generator=generator)} if n_features else {}
    return Data(x=x, edge_index=edges, edge_label_index=ends, edge_label=labels, **features)


def _masked_edges(generator: torch.Generator) -> Data:
    data = _edge_labels(n_features=2, generator=generator)
    part = torch.stack([torch.randperm(data.edge_label.numel(), generator=generator) % 3 for _ in range(3)], dim=1)
    for number, name in enumerate(("train", "val", "test")):
        data[f"{name}_edge_mask"] = part == number
    return data


def _graphs_of_edges(generator: torch.Generator) -> list[Data]:
    found = []
    for number in range(12):
        n = 5 + number % 4
        edges = _edges(n, generator)
        ends = edges[:, edges[0] < edges[1]]
        x = torch.randn(n, 3, generator=generator)
        found.append(Data(x=x, edge_index=edges, edge_label_index=ends, edge_label=(x[ends, 0] > 0).all(dim=0).long()))
    return found


def _with(graphs: Any, name: str, change: Callable[[Tensor], Tensor]) -> Any:
    """Return the same graphs with other labels in a field."""
    for graph in [graphs] if isinstance(graphs, Data) else graphs:
        graph[name] = change(graph[name])
    return graphs


def _several(y: Tensor) -> Tensor:
    """Return three labels of each node, one of them unknown."""
    labels = torch.stack([y == 0, y > 0, torch.arange(y.numel()) % 2 == 0], dim=1).float()
    labels[0, 2] = torch.nan
    return labels


def _graphs_of_nodes(generator: torch.Generator) -> list[Data]:
    found = []
    for number in range(12):
        n = 6 + number % 4
        x = torch.randn(n, 3, generator=generator)
        found.append(Data(x=x, edge_index=_edges(n, generator), y=torch.arange(n) % 3))
    return found


def _two_levels(generator: torch.Generator) -> list[Data]:
    """Return graphs with two numbers for each node and one of their own."""
    found = []
    for number in range(15):
        n = 5 + number % 4
        x, edges = torch.randn(n, 3, generator=generator), _edges(n, generator)
        y = torch.stack([x[:, 0], torch.bincount(edges[0], minlength=n).float()], dim=1)
        found.append(Data(x=x, edge_index=edges, y=y, graph_y=torch.tensor([[float(n)]])))
    return found


def _class(number: int, _: torch.Generator) -> Tensor:
    return torch.tensor([number % 2])


def _numbers(n: int) -> Callable[[int, torch.Generator], Tensor]:
    return lambda number, generator: torch.randn(1, n, generator=generator) + number % 2


def _zero_one(number: int, _: torch.Generator) -> Tensor:
    return torch.tensor([[number % 2, number // 2 % 2]]).float()


_BUILDERS: dict[str, tuple[str, Callable[[torch.Generator], Any], dict[str, Any]]] = {
    "nodes": ("node_cls", lambda g: _nodes(generator=g), {}),
    "nodes, split columns": ("node_cls", lambda g: _nodes(n_columns=3, generator=g), {}),
    "nodes, whole features": ("node_cls", lambda g: _nodes(x="whole", generator=g), {}),
    "nodes, no features": ("node_cls", lambda g: _nodes(x="none", generator=g), {}),
    "nodes, identity": ("node_cls", lambda g: _nodes(x="none", generator=g), {"features": "identity"}),
    "graphs": ("graph_cls", lambda g: _graphs(_class, g), {}),
    "graphs, published split": ("graph_cls", lambda g: _graphs(_class, g), {"split": torch.arange(30) % 3}),
    "graphs, labels": ("graph_cls", lambda g: _graphs(_labels, g), {}),
    "numbers": ("graph_reg", lambda g: _graphs(_numbers(1), g), {}),
    "numbers, several": ("graph_reg", lambda g: _graphs(_numbers(3), g), {}),
    "numbers, zero and one": ("graph_reg", lambda g: _graphs(_zero_one, g), {}),
    "links": ("link_pred", lambda g: _links(generator=g), {}),
    "links, directed": ("link_pred", lambda g: _links(is_directed=True, generator=g), {}),
    "links, no features": ("link_pred", lambda g: _links(x="none", generator=g), {}),
    "links, published": ("link_pred", _published_links, {}),
    "triples": ("link_pred", _triples, {}),
    "edges": ("edge_cls", lambda g: _edge_labels(generator=g), {}),
    "edges, directed": ("edge_cls", lambda g: _edge_labels(is_directed=True, n_features=2, generator=g), {}),
    "edges, split columns": ("edge_cls", _masked_edges, {}),
    "edges, several graphs": ("edge_cls", _graphs_of_edges, {}),
    "two levels": ("multi_task", _two_levels, {}),
    "nodes, labels": ("node_cls", lambda g: _with(_nodes(generator=g), "y", _several), {}),
    "nodes, labels in graphs": ("node_cls", lambda g: _with(_graphs_of_nodes(g), "y", _several), {}),
    "nodes, numbers": ("node_reg", lambda g: _with(_nodes(generator=g), "y", lambda y: y + 0.5), {}),
    "nodes, numbers in graphs": ("node_reg", lambda g: _with(_graphs_of_nodes(g), "y", lambda y: y[:, None] / 2), {}),
    "edges, numbers": ("edge_reg", lambda g: _with(_edge_labels(generator=g), "edge_label", lambda y: y / 3), {}),
    "edges, numbers in graphs": ("edge_reg", lambda g: _with(_graphs_of_edges(g), "edge_label", lambda y: y - 0.5), {}),
}


@functools.cache
def _world(name: str) -> World:
    task_type, build, options = _BUILDERS[name]
    graphs = build(torch.Generator().manual_seed(0))
    listed = [graphs] if isinstance(graphs, Data) else graphs
    return World(name=name, task_type=TaskType(task_type), graphs=listed, **options)


@pytest.fixture(scope="session")
def world() -> Callable[[str], World]:
    """Return the function from a name to its world."""
    return _world


@pytest.fixture(params=list(_BUILDERS))
def any_world(request: pytest.FixtureRequest) -> World:
    return _world(request.param)


# One of each objective, and the two whose labels are unlike the others.
@pytest.fixture(params=["nodes", "graphs", "graphs, labels", "numbers, several", "links", "triples", "edges"])
def typical_world(request: pytest.FixtureRequest) -> World:
    return _world(request.param)


@pytest.fixture(scope="session")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Callable[[World], FrozenDataset]:
    """Return a function that freezes a world, once in a session."""
    home = tmp_path_factory.mktemp("worlds")
    return functools.cache(lambda world: world.freeze(home / world.name.replace(", ", "-").replace(" ", "_")))


def _row_of(model: object) -> ModelRow:
    if isinstance(model, type):
        return describe((model, own_nets.ALL, multi_task_factory(model)))
    return describe(model)


@pytest.fixture(scope="session")
def cell_on(frozen: Callable[[World], FrozenDataset]) -> Callable[..., Cell]:
    """Return a function that makes a cell on a world; classes are node encoders."""

    def cell_on(world: World, model: object = "GCN", *, seed: int = 0, epochs: int = 3, **changes: Any) -> Cell:
        dataset = changes.pop("dataset", None) or frozen(world)
        cell = Cell(
            task=Task(world.name, world.task_type),
            model=_row_of(model),
            seed=seed,
            protocol=world.protocol,
            epochs=epochs,
            dataset_digest=dataset.digest,
            data=str(dataset.folder),
        )
        return replace(cell, **changes)

    return cell_on


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an sqlite store without runs: creating its tables takes a second, copying it none."""
    from gnz_track.store.writer import open_store

    file = tmp_path_factory.mktemp("template") / "gnz.db"
    open_store(str(file)).close()
    return file


@pytest.fixture
def address(empty_database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Address:
    """Return a store of one's own, without runs; what waits on the disk is kept beside it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("GNZ_STORE", raising=False)
    return parse_address(str(shutil.copy(empty_database, tmp_path / "gnz.db")))
