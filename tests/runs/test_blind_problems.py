"""The law of blind problems: whatever a split keeps for tests could be something else, and nothing of it would change.

What is drawn is derived from a digest of the data, which names them; the other data are given the same name, so that a
difference is one of what the problem knows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from gnz_track.datasets.frozen import FrozenDataset, freeze, open_frozen
from gnz_track.datasets.splits.links import split_links, split_triples
from gnz_track.datasets.splits.nodes_and_graphs import split_edges, split_graphs, split_nodes
from gnz_track.problems.catalogue import Problem, pose
from gnz_track.runs import fingerprint as fingerprints
from gnz_track.runs.fingerprint import fingerprint
from gnz_track.runs.run_one import run_one
from gnz_track.types import Cell, CellSettings, TaskType

Cells = Callable[..., Cell]
Worlds = Callable[[str], Any]


def settings_in(world: Any, *, is_blind: bool) -> CellSettings:
    batch_size = 4 if "graphs" in world.name else 0
    return world.settings(batch_size=batch_size, is_blind=is_blind)


def tensors_of(thing: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield everything that a problem holds, by the way to it."""
    if isinstance(thing, Data):
        for name, value in sorted(thing.to_dict().items()):
            yield from tensors_of(value, f"{path}/{name}")
    elif isinstance(thing, Tensor):
        yield path, thing.to_dense() if thing.layout is not torch.strided else thing
    elif dataclasses.is_dataclass(thing):
        for name, value in sorted(vars(thing).items()):
            yield from tensors_of(value, f"{path}/{name}")
    elif isinstance(thing, dict | tuple | list):
        for name, value in thing.items() if isinstance(thing, dict) else enumerate(thing):
            yield from tensors_of(value, f"{path}/{name}")
    elif isinstance(thing, int | float | str | bool | None):
        yield path, thing


def assert_alike(one: Problem, other: Problem) -> None:
    first, second = dict(tensors_of(one)), dict(tensors_of(other))
    assert first.keys() == second.keys()
    assert any(isinstance(value, Tensor) for value in first.values())
    for name, value in first.items():
        if isinstance(value, Tensor):
            assert torch.equal(torch.nan_to_num(value.double(), 7.5), torch.nan_to_num(second[name].double(), 7.5)), (
                name
            )
        else:
            assert value == second[name], name


def twins_of(world: Any, dataset: FrozenDataset, folder: Path) -> tuple[FrozenDataset, FrozenDataset]:
    """Return the data, and others with something else in all places that the split of seed 0 keeps for tests."""
    graphs = [graph.clone() for graph in world.graphs]
    if world.task_type.unit == "edge":
        _write_masks(dataset, world, graphs)
        dataset = freeze(graphs, folder / "first", row=world.row)
        graphs = [graph.clone() for graph in graphs]
    kind = "triples" if dataset.is_relational else "published" if "test_link_index" in graphs[0] else world.task_type
    _CHANGES[kind](dataset, world, graphs)
    found = freeze(graphs, folder / "second", row=world.row, split=world.split)
    assert found.digest != dataset.digest, "something has changed"
    found.card = replace(found.card, digest=dataset.digest)
    return dataset, found


def _write_masks(dataset: FrozenDataset, world: Any, graphs: list[Data]) -> None:
    """Publish the split that was drawn: it is drawn within classes, and would be another one with other classes."""
    sizes = [graph.edge_label.numel() for graph in graphs]
    parts = split_edges(dataset, policy=world.protocol.splits, seed=0)
    for name in ("train", "val", "test"):
        mask = torch.zeros(sum(sizes), dtype=torch.bool)
        mask[getattr(parts, name)] = True
        for graph, own in zip(graphs, mask.split(sizes), strict=True):
            graph[f"{name}_edge_mask"] = own


def _change_graph_labels(dataset: FrozenDataset, world: Any, graphs: list[Data]) -> None:
    for place in split_graphs(dataset, policy=world.protocol.splits, seed=0).test.tolist():
        for name in {"y", "graph_y"} & set(graphs[place].keys()):
            y = graphs[place][name]
            graphs[place][name] = 1 - y if world.task_type is TaskType.graph_cls else y + 1


def _change_node_labels(dataset: FrozenDataset, world: Any, graphs: list[Data]) -> None:
    test = torch.zeros(dataset.n_nodes, dtype=torch.bool)
    test[split_nodes(dataset, policy=world.protocol.splits, seed=0).test] = True
    for graph, hidden in zip(graphs, test.split([graph.num_nodes for graph in graphs]), strict=True):
        y = graph.y[hidden]
        graph.y[hidden] = (
            (y + 1) % dataset.n_classes if not y.is_floating_point() else 1 - y if dataset.is_multi_label else y + 1
        )


def _change_edge_labels(dataset: FrozenDataset, world: Any, graphs: list[Data]) -> None:
    test = torch.zeros(sum(graph.edge_label.numel() for graph in graphs), dtype=torch.bool)
    test[split_edges(dataset, policy=world.protocol.splits, seed=0).test] = True
    most = max(int(graph.edge_label.max()) for graph in graphs) + 1
    for graph, hidden in zip(graphs, test.split([graph.edge_label.numel() for graph in graphs]), strict=True):
        changed = graph.edge_label[hidden] + 1
        graph.edge_label[hidden] = changed if changed.is_floating_point() else changed % most


def _change_links(dataset: FrozenDataset, world: Any, graphs: list[Data]) -> None:
    """Move test links to other pairs that stand at the same places in the order from which the split draws."""
    n, is_directed = dataset.n_nodes, dataset.is_directed
    edges = graphs[0].edge_index
    listed = edges if is_directed else edges[:, edges[0] < edges[1]]
    codes = torch.unique(listed[0] * n + listed[1])
    split = split_links(dataset, policy=world.protocol.splits, seed=0)
    hidden = split.test.pairs[:, split.test.labels == 1]
    moved = 0
    for code in (hidden[0] * n + hidden[1]).tolist():
        place = int((codes == code).nonzero())
        before = int(codes[place - 1]) if place else -1
        after = int(codes[place + 1]) if place + 1 < codes.numel() else n * n
        free = [new for new in range(before + 1, after) if new != code and (is_directed or new // n < new % n)]
        free = [new for new in free if new // n != new % n]
        if free:
            codes[place], moved = free[len(free) // 2], moved + 1
    assert moved > hidden.size(1) / 2, "most can be moved"
    found = torch.stack([codes // n, codes % n])
    both = found if is_directed else torch.cat([found, found.flip(0)], dim=1)
    graphs[0].edge_index = both[:, (both[0] * n + both[1]).argsort()]


def _change_published_links(dataset: FrozenDataset, world: Any, graphs: list[Data]) -> None:
    del dataset, world
    graphs[0].test_link_index, graphs[0].test_non_link_index = (
        graphs[0].test_non_link_index[:, :9].flip(0),
        torch.cat([graphs[0].test_link_index, graphs[0].test_non_link_index[:, 9:]], dim=1),
    )


def _change_triples(dataset: FrozenDataset, world: Any, graphs: list[Data]) -> None:
    del world
    head, tail = graphs[0].test_edge_index
    graphs[0].test_edge_index = torch.stack([head, (tail + 7) % dataset.n_nodes])


_CHANGES: dict[str, Callable[[FrozenDataset, Any, list[Data]], None]] = {
    TaskType.node_cls: _change_node_labels,
    TaskType.graph_cls: _change_graph_labels,
    TaskType.graph_reg: _change_graph_labels,
    TaskType.multi_task: _change_graph_labels,
    TaskType.edge_cls: _change_edge_labels,
    TaskType.node_reg: _change_node_labels,
    TaskType.edge_reg: _change_edge_labels,
    TaskType.link_pred: _change_links,
    "published": _change_published_links,
    "triples": _change_triples,
}


def test_nothing_of_a_blind_problem_depends_on_what_is_kept_for_tests(
    any_world: Any, frozen: Callable[[Any], FrozenDataset], tmp_path: Path
) -> None:
    twins = twins_of(any_world, frozen(any_world), tmp_path)
    assert_alike(*(pose(data, settings_in(any_world, is_blind=True)) for data in twins))


def test_a_problem_that_is_not_blind_does(
    any_world: Any, frozen: Callable[[Any], FrozenDataset], tmp_path: Path
) -> None:
    twins = twins_of(any_world, frozen(any_world), tmp_path)
    with pytest.raises(AssertionError):
        assert_alike(*(pose(data, settings_in(any_world, is_blind=False)) for data in twins))


@pytest.mark.parametrize("name", ["triples", "links, published"])
def test_published_test_links_change_no_number_of_a_blind_cell(
    world: Worlds, cell_on: Cells, tmp_path: Path, name: str
) -> None:
    made = world(name)
    cell = cell_on(made, "GCN", epochs=2)
    graphs = [graph.clone() for graph in made.graphs]
    _CHANGES[name if name == "triples" else "published"](open_frozen(cell.data), made, graphs)
    other = freeze(graphs, tmp_path / "other", row=made.row)
    swapped = replace(cell, data=str(other.folder), dataset_digest=other.digest)
    one, two = (run_one(replace(item, is_blind=True)) for item in (cell, swapped))
    assert one.is_finished, one.failure
    assert dict(one.series) == dict(two.series)
    assert (one.score, one.split_digest) == (two.score, two.split_digest)
    assert run_one(cell).scores != run_one(swapped).scores, "seen, they are what is scored"


@pytest.mark.parametrize("name", ["links", "links, directed", "triples"])
def test_blind_links_are_those_of_the_usual_split_and_only_what_is_drawn_differs(
    world: Worlds, frozen: Callable[[Any], FrozenDataset], name: str
) -> None:
    dataset = frozen(world(name))
    if name == "triples":
        usual, blind = (split_triples(dataset, seed=3, is_blind=is_blind) for is_blind in (False, True))
        for one, other in ((usual.train, blind.train), (usual.val, blind.val)):
            assert torch.equal(one.edge_index, other.edge_index)
            assert not torch.equal(one.negatives, other.negatives)
        assert blind.test.edge_type.numel() == 0
        return
    usual, blind = (split_links(dataset, policy="published", seed=3, is_blind=is_blind) for is_blind in (False, True))
    assert torch.equal(usual.message_edges, blind.message_edges)
    for one, other in ((usual.train, blind.train), (usual.val, blind.val)):
        assert torch.equal(one.labels, other.labels)
        n = int(one.labels.sum())
        assert torch.equal(one.pairs[:, :n], other.pairs[:, :n])
    assert blind.test.labels.numel() == 0


def test_test_links_can_be_drawn_as_non_links_of_a_blind_problem(
    world: Worlds, frozen: Callable[[Any], FrozenDataset]
) -> None:
    """Nobody who does not know them can avoid them."""
    dataset = frozen(world("links"))
    met = 0
    for seed in range(40):
        test = split_links(dataset, policy="published", seed=seed).test
        hidden = {tuple(pair) for pair in test.pairs[:, test.labels == 1].T.tolist()}
        blind = split_links(dataset, policy="published", seed=seed, is_blind=True)
        drawn = torch.cat([part.pairs[:, part.labels == 0] for part in (blind.train, blind.val)], dim=1)
        met += len(hidden & {tuple(pair) for pair in drawn.T.tolist()})
        known = torch.cat([part.pairs[:, part.labels == 1] for part in (blind.train, blind.val)], dim=1)
        assert not {tuple(pair) for pair in known.T.tolist()} & {tuple(pair) for pair in drawn.T.tolist()}
    assert met > 0


def test_triples_as_many_as_entities_are_no_field_of_these(world: Worlds, tmp_path: Path) -> None:
    made = world("triples")
    (graph,) = (graph.clone() for graph in made.graphs)
    graph.num_nodes = graph.test_edge_type.numel() + 15
    graph.test_edge_index = torch.cat([graph.test_edge_index, graph.valid_edge_index], dim=1)
    graph.test_edge_type = torch.cat([graph.test_edge_type, graph.valid_edge_type])
    assert graph.test_edge_type.numel() == graph.num_nodes
    dataset = freeze(graph, tmp_path / "level", row=made.row)
    shown = pose(dataset, settings_in(made, is_blind=False)).objective.data  # type: ignore[attr-defined]
    assert sorted(shown.keys()) == ["edge_index", "edge_type", "num_nodes", "x"]


def test_only_blind_links_have_another_fingerprint_than_before(
    world: Worlds, cell_on: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When links that are kept for tests were still avoided, one word stood for blind cells of all kinds."""
    cells = {name: replace(cell_on(world(name), "MLP"), is_blind=True) for name in ("links", "nodes")}
    now = {name: fingerprint(cell) for name, cell in cells.items()}
    monkeypatch.setattr(fingerprints, "_BLIND", {})
    # A cell keeps its fingerprint, and a copy has none yet.
    before = {name: fingerprint(replace(cell)) for name, cell in cells.items()}
    assert before["nodes"] == now["nodes"]
    assert before["links"] != now["links"]
