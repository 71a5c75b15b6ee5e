"""Checks of frozen data: each finds what was put there, and stays quiet where nothing was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from gnz_track.datasets.catalogue import DATASETS
from gnz_track.datasets.checks.catalogue import CHECKS, CheckFinding, Level, Subject, check
from gnz_track.datasets.checks.leaks import find_answered, find_inverses, find_reversed, find_shared, hash_graphs
from gnz_track.datasets.frozen import FrozenDataset
from gnz_track.datasets.preparation import prepare_dataset
from gnz_track.datasets.splits.links import split_links, split_triples
from gnz_track.types import DatasetRow, TaskType

Freezer = Callable[..., FrozenDataset]
NODES, GRAPHS, NUMBERS, LINKS, EDGES = (
    TaskType.node_cls,
    TaskType.graph_cls,
    TaskType.graph_reg,
    TaskType.link_pred,
    TaskType.edge_cls,
)


def _draw(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed))


def _find(dataset: FrozenDataset, row: DatasetRow, task_type: TaskType, **options: Any) -> dict[str, CheckFinding]:
    return {found.check: found for found in check(Subject(dataset, row, task_type, **options))}


def _ring(n: int) -> torch.Tensor:
    ring = torch.stack([torch.arange(n), torch.arange(n).roll(-1)])
    return torch.cat([ring, ring.flip(0)], dim=1)


def _nodes(**changes: Any) -> Data:
    """Return 300 nodes of three classes in random order, with features that say nothing."""
    y = torch.randint(3, (300,), generator=torch.Generator().manual_seed(1))
    return Data(**{"x": _draw(300, 4), "y": y, "edge_index": _ring(300), **changes})


def test_a_quiet_dataset_is_quiet(frozen_from: Freezer, row: DatasetRow) -> None:
    found = _find(frozen_from(_nodes()), row, NODES)
    assert {finding.level for finding in found.values()} == {Level.ok}
    assert list(found) == ["sizes", "parts", "classes", "equal nodes", "one feature", "order"]
    assert found["sizes"].sentence.startswith("3 classes, 600 edges, 4 features")
    assert "disjoint and covering" in found["parts"].sentence


def test_other_sizes_are_a_fault(frozen_from: Freezer, row: DatasetRow) -> None:
    found = _find(frozen_from(_nodes()), replace(row, expected={"n_nodes": 301, "n_edges": 600}), NODES)["sizes"]
    assert (found.level, found.sentence) == (Level.fault, "other sizes than the catalogue's: n_nodes is 300, not 301")


def test_parts_that_overlap_are_a_fault_and_ones_that_leave_out_a_note(frozen_from: Freezer, row: DatasetRow) -> None:
    part = torch.arange(300) % 4
    masks = {f"{name}_mask": part == number for number, name in enumerate(("train", "val", "test"))}
    found = _find(frozen_from(_nodes(**masks)), row, NODES)["parts"]
    assert (found.level, found.sentence.split("; ")[1]) == (Level.note, "75 labelled ones are in none")
    masks["test_mask"] = part < 1
    found = _find(frozen_from(_nodes(**masks)), row, NODES)["parts"]
    assert found.level is Level.fault
    assert "75 are in more than one" in found.sentence


def test_classes_that_training_never_shows(frozen_from: Freezer, row: DatasetRow) -> None:
    y = torch.arange(300) // 100
    masks = {"train_mask": y == 0, "val_mask": y == 1, "test_mask": y == 2}
    found = _find(frozen_from(_nodes(y=y, **masks)), row, NODES)["classes"]
    assert (found.level, found.sentence[-6:]) == (Level.note, "[1, 2]")


def test_nodes_with_the_features_of_others(frozen_from: Freezer, row: DatasetRow) -> None:
    x = _draw(300, 4)
    part = torch.arange(300) % 3
    masks = {f"{name}_mask": part == number for number, name in enumerate(("train", "val", "test"))}
    x[[2, 5, 8]] = x[[0, 0, 3]]
    # Two test nodes alike, or one like a node of validation, give nothing away.
    x[11], x[20] = x[14], x[1]
    found = _find(frozen_from(_nodes(x=x, **masks)), row, NODES)["equal nodes"]
    assert found.level is Level.note
    assert found.sentence.startswith("3 of 100 test nodes (3.0%)")


def test_one_column_that_tells_the_label(frozen_from: Freezer, row: DatasetRow) -> None:
    data = _nodes()
    data.x[:, 2] = data.y * 10 + _draw(300)
    found = _find(frozen_from(data), row, NODES)["one feature"]
    assert found.level is Level.note
    assert found.sentence.startswith("a small tree on column 2 alone nearly tells the label: accuracy 1.000 on test")


def test_a_file_sorted_by_class(frozen_from: Freezer, row: DatasetRow) -> None:
    found = _find(frozen_from(_nodes(y=torch.arange(300) // 100)), row, NODES)["order"]
    assert found.level is Level.note
    assert "a small tree on the number of a node alone nearly tells" in found.sentence


def test_features_of_edges_that_tell_the_label(frozen_from: Freezer, row: DatasetRow) -> None:
    label = torch.randint(2, (300,), generator=torch.Generator().manual_seed(2))
    ends = _ring(300)[:, :300]
    for attribute, level in ((label.float() - 0.5, Level.note), (_draw(300), Level.ok)):
        extra = {"edge_label_index": ends, "edge_label": label, "edge_label_attr": attribute}
        found = _find(frozen_from(Data(x=_draw(300, 4), edge_index=_ring(300), **extra)), row, EDGES)
        assert list(found) == ["sizes", "parts", "classes", "one feature", "order"]
        assert found["one feature"].level is level


# Graphs -------------------------------------------------------------------------------------------------------------


def _graphs(n: int = 40) -> list[Data]:
    found = []
    for number in range(n):
        graph = nx.gnp_random_graph(9, 0.4, seed=number)
        edges = torch.tensor(list(graph.to_directed().edges)).t()
        x = torch.nn.functional.one_hot(torch.arange(9) * (number + 1) % 3, 3).float()
        found.append(Data(x=x, edge_index=edges, y=torch.tensor([number % 2])))
    return found


def _turned(graph: Data, seed: int, **changes: Any) -> Data:
    """Return the same graph with nodes and edges in another order."""
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(seed))
    place = order.argsort()
    edges = torch.randperm(graph.num_edges, generator=torch.Generator().manual_seed(seed))
    other = Data(x=graph.x[order], edge_index=place[graph.edge_index[:, edges]], y=graph.y)
    if "edge_attr" in graph:
        other.edge_attr = graph.edge_attr[edges]
    for name, value in changes.items():
        other[name] = value
    return other


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 999), p=st.floats(0.1, 0.9), n=st.integers(1, 12))
def test_the_hash_of_a_graph_does_not_depend_on_its_order(frozen_from: Freezer, seed: int, p: float, n: int) -> None:
    graph = nx.gnp_random_graph(n, p, seed=seed)
    edges = torch.tensor(list(graph.to_directed().edges), dtype=torch.int64).reshape(-1, 2).t()
    x, edge_attr = (_draw(size, 1, seed=seed).mul(3).floor() for size in (n, edges.size(1)))
    data = Data(x=x, edge_index=edges, edge_attr=edge_attr, y=torch.tensor([0]))
    other = data.clone()
    other.x = data.x.clone()
    other.x[0] += 1
    hashes = hash_graphs(frozen_from([data, _turned(data, seed), other]))[2]
    assert hashes[0] == hashes[1] != hashes[2]


SPLIT = [0] * 20 + [1] * 10 + [2] * 10


def test_isomorphic_graphs_are_counted(frozen_from: Freezer, row: DatasetRow) -> None:
    graphs = _graphs()
    found = _find(frozen_from(graphs, split=SPLIT), row, GRAPHS)["isomorphic graphs"]
    assert (found.level, found.sentence.split(" is ")[0]) == (Level.ok, "none of 10 test graphs")
    # Three copies of training graphs, one of them under another label; a copy of validation counts for nothing.
    graphs[30], graphs[31] = _turned(graphs[2], 1), _turned(graphs[3], 2)
    graphs[32], graphs[33] = _turned(graphs[4], 3, y=1 - graphs[4].y), _turned(graphs[25], 4)
    # Other features, or one edge more, are another graph.
    graphs[34] = _turned(graphs[5], 5)
    graphs[34].x[0] = 7
    found = _find(frozen_from(graphs, split=SPLIT), row, GRAPHS)["isomorphic graphs"]
    assert found.level is Level.note
    assert found.sentence.startswith("3 of 10 test graphs (30.0%)")
    assert "1 of them to ones with another label only" in found.sentence


def test_features_of_edges_tell_graphs_apart(frozen_from: Freezer, row: DatasetRow) -> None:
    graphs = _graphs()
    for number, graph in enumerate(graphs):
        graph.edge_attr = torch.full((graph.num_edges, 1), float(number))
    graphs[30] = _turned(graphs[2], 1)
    graphs[31] = _turned(graphs[3], 1)
    graphs[31].edge_attr = graphs[31].edge_attr + 0.5
    found = _find(frozen_from(graphs, split=SPLIT), row, NUMBERS)["isomorphic graphs"]
    assert found.sentence.startswith("1 of 10 test graphs")


def test_regular_graphs_are_said_to_be_undecided(frozen_from: Freezer, row: DatasetRow) -> None:
    two_triangles = torch.cat([_ring(12), _ring(12) + 12], dim=1)
    graphs = [Data(num_nodes=24, edge_index=two_triangles, y=torch.tensor([0]))] * 20
    graphs += [Data(num_nodes=24, edge_index=_ring(24), y=torch.tensor([1]))] * 20
    found = _find(frozen_from(graphs, split=SPLIT), row, GRAPHS)["isomorphic graphs"]
    assert "0 of 10 test graphs" in found.sentence
    assert found.sentence.endswith("10 more look alike to Weisfeiler and Leman")


def test_sizes_of_graphs_that_tell_the_label(frozen_from: Freezer, row: DatasetRow) -> None:
    def graph(number: int, n: int) -> Data:
        return Data(x=_draw(n, 2, seed=number), edge_index=_ring(n), y=torch.tensor([number * 7 % 3 % 2]))

    for told, level in ((True, Level.note), (False, Level.ok)):
        graphs = [graph(i, 5 + (3 * (i * 7 % 3 % 2) if told else i % 3 * 0)) for i in range(60)]
        assert _find(frozen_from(graphs), row, GRAPHS)["graph size"].level is level


# Links and triples ----------------------------------------------------------------------------------------------------


def test_links_of_training_backwards(frozen_from: Freezer, row: DatasetRow) -> None:
    edges = _ring(40)
    one_way = torch.stack([torch.arange(40), (torch.arange(40) + 2) % 40])
    directed = frozen_from(Data(num_nodes=40, edge_index=torch.cat([edges, one_way], dim=1)))
    split = split_links(directed, policy="published", seed=0)
    known = set(map(tuple, split.message_edges.t().tolist()))
    test = split.test.pairs[:, split.test.labels == 1].t().tolist()
    n_reversed = sum((b, a) in known for a, b in test)
    assert n_reversed > 0
    assert find_reversed(split) == (0, n_reversed)
    assert _find(directed, row, LINKS)["test links in training"].level is Level.note
    undirected = frozen_from(Data(num_nodes=40, edge_index=edges))
    assert _find(undirected, row, LINKS)["test links in training"].level is Level.ok
    leaky = replace(split, message_edges=directed.tensors["edge_index"])
    assert find_reversed(leaky)[0] == len(test)
    # In published parts it is a fact to know, and no fault of ours.
    parts = {f"{part}_{kind}_index": edges[:, :5] for part in ("train", "val", "test") for kind in ("link", "non_link")}
    found = _find(frozen_from(Data(num_nodes=40, edge_index=edges, **parts)), row, LINKS)["test links in training"]
    assert (found.level, found.sentence) == (Level.note, "5 of 5 test edges pass messages in training")


def _triples(train: list[Any], test: list[Any]) -> Data:
    fields: dict[str, torch.Tensor] = {}
    for name, part in (("train", train), ("valid", [(0, 0, 1)]), ("test", test)):
        head, relation, tail = torch.tensor(part).t()
        fields[f"{name}_edge_index"], fields[f"{name}_edge_type"] = torch.stack([head, tail]), relation
    kinds = fields["train_edge_type"]
    return Data(num_nodes=61, edge_index=fields["train_edge_index"], edge_type=kinds, **fields)


def test_relations_that_repeat_others(frozen_from: Freezer, row: DatasetRow) -> None:
    # Relation 1 is relation 0 backwards but for one triple, 2 is a copy of 0, 3 is symmetric, 4 is its own.
    zero = [(i, 0, i + 20) for i in range(20)]
    backwards = [(t, 1, h) for h, _, t in zero[:-1]]
    copies = [(h, 2, t) for h, _, t in zero]
    symmetric = [triple for i in range(40, 50) for triple in ((i, 3, i + 10), (i + 10, 3, i))]
    own = [(i, 4, (i * 7 + 3) % 40) for i in range(20)]
    test = [(39, 1, 19), (0, 4, 20), (19, 2, 39), (5, 4, 5), (59, 0, 58)]
    dataset = frozen_from(_triples([*zero, *backwards, *copies, *symmetric, *own], test))
    split = split_triples(dataset)
    # 0-1, 0-2, 1-2 and 3-3.
    assert find_inverses(split) == (4, 2)
    assert find_answered(split)[0] == 3
    assert find_shared(split) == (1, 0)
    found = _find(dataset, row, LINKS)
    assert list(found) == ["sizes", "repeated triples", "linked pairs", "inverse relations"]
    assert found["inverse relations"].sentence.startswith("4 pairs of relations")


def test_relations_of_their_own(frozen_from: Freezer, row: DatasetRow) -> None:
    train = [(i, i % 3, (i * 7 + 3) % 60) for i in range(57)]
    dataset = frozen_from(_triples(train, [(60, 0, 3), (1, 2, 0)]))
    found = _find(dataset, row, LINKS)
    assert found["inverse relations"].level is Level.ok
    assert find_inverses(split_triples(dataset))[0] == 0
    assert find_shared(split_triples(dataset))[1] == 1


# Real data ------------------------------------------------------------------------------------------------------------

# Dataset -> what is known of it: check, level, a part of the sentence.
KNOWN = {
    "cora": [("parts", Level.note, "140 / 500 / 1,000"), ("order", Level.ok, "")],
    "aids": [("graph size", Level.note, "a small tree on the numbers of nodes and edges alone nearly tells")],
    "proteins": [("order", Level.note, "a small tree on the number of a graph alone nearly tells")],
    "mutag": [("graph size", Level.note, "a small tree on the numbers of nodes and edges alone tells much of")],
    "fb15k_237": [
        ("linked pairs", Level.ok, "0 of 20,466"),
        ("repeated triples", Level.note, "28 name an entity"),
        ("inverse relations", Level.ok, "0 of 20,466"),
    ],
}


@pytest.mark.mirror
@pytest.mark.parametrize("name", KNOWN)
def test_what_is_known_of_public_data_is_found(name: str, mirror: Path, tmp_path: Path) -> None:
    row = DATASETS.get(name)
    if not (mirror / row.raw).is_dir():
        pytest.skip(f"the mirror has no {row.raw}")
    dataset = prepare_dataset(row, seed=0, home=tmp_path, mirror=mirror)
    found = [finding for task_type in row.task_types for finding in check(Subject(dataset, row, task_type))]
    assert all(finding.level is not Level.fault for finding in found)
    by_name = {finding.check: finding for finding in reversed(found)}
    for check_name, level, text in KNOWN[name]:
        assert by_name[check_name].level is level, by_name[check_name]
        assert text in by_name[check_name].sentence


def test_every_kind_of_task_has_a_check_and_every_check_a_name() -> None:
    kinds = {kind for _, listed, _ in CHECKS for kind in listed}
    assert kinds == {*map(str, TaskType), "triples"}
    assert len({name for name, _, _ in CHECKS}) == len(CHECKS)
