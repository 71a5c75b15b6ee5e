"""From a frozen dataset to a problem: sizes, and test labels out of reach."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import own_nets
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch_geometric.data import Batch, Data

from gnz_track.datasets.encodings import structural_features
from gnz_track.datasets.frozen import FrozenDataset, open_frozen
from gnz_track.datasets.splits.links import split_links, split_triples
from gnz_track.datasets.splits.nodes_and_graphs import split_edges, split_graphs, split_nodes
from gnz_track.errors import BadValue, SplitImpossible
from gnz_track.models.adapters import TripleHead
from gnz_track.problems.catalogue import Problem, pose
from gnz_track.runs import run_one as one
from gnz_track.runs.run_one import run_one
from gnz_track.training.loop import train
from gnz_track.types import Cell, CellResult, CellSettings, Selection, TaskType

Worlds = Callable[[str], Any]
Freezer = Callable[[Any], FrozenDataset]
Cells = Callable[..., Cell]

WIDTH = 8


def pose_world(world: Any, frozen: Freezer, **options: Any) -> Problem:
    return pose(frozen(world), world.settings(**options))


# Input and output channels, vocabulary, relations.
SIZES: dict[str, tuple[int, int, tuple[int, ...], int]] = {
    "nodes": (4, 3, (), 0),
    "nodes, split columns": (4, 3, (), 0),
    "nodes, whole features": (2, 3, (3, 5), 0),
    "nodes, no features": (3, 3, (), 0),
    "nodes, identity": (60, 3, (), 0),
    "graphs": (3, 2, (), 0),
    "graphs, published split": (3, 2, (), 0),
    "graphs, labels": (3, 3, (), 0),
    "numbers": (3, 1, (), 0),
    "numbers, several": (3, 3, (), 0),
    "numbers, zero and one": (3, 2, (), 0),
    "links": (4, WIDTH, (), 0),
    "links, directed": (4, WIDTH, (), 0),
    "links, no features": (3, WIDTH, (), 0),
    "links, published": (4, WIDTH, (), 0),
    "triples": (3, WIDTH, (), 6),
    "edges": (4, 3, (), 0),
    "edges, directed": (4, 2, (), 0),
    "edges, split columns": (4, 3, (), 0),
    "edges, several graphs": (3, 2, (), 0),
    "two levels": (3, 2, (), 0),
    "nodes, labels": (4, 3, (), 0),
    "nodes, labels in graphs": (3, 3, (), 0),
    "nodes, numbers": (4, 1, (), 0),
    "nodes, numbers in graphs": (3, 1, (), 0),
    "edges, numbers": (4, 1, (), 0),
    "edges, numbers in graphs": (3, 1, (), 0),
}


def test_sizes_are_those_of_the_data(any_world: Any, frozen: Freezer) -> None:
    sizes = pose_world(any_world, frozen).sizes
    found = (sizes.in_channels, sizes.out_channels, sizes.vocabulary, sizes.n_relations)
    assert found == SIZES[any_world.name]
    assert sizes.hidden_channels == WIDTH
    of_edges = {"edges, directed": (2, True), "edges, split columns": (2, False)}
    if any_world.task_type == "edge_cls":
        assert (sizes.n_edge_features, sizes.is_directed) == of_edges.get(any_world.name, (0, False))


def split_of(world: Any, dataset: FrozenDataset, seed: int) -> Any:
    if world.name == "triples":
        return split_triples(dataset, seed=seed)
    split = {
        "node_cls": split_nodes,
        "graph_cls": split_graphs,
        "graph_reg": split_graphs,
        "link_pred": split_links,
        "edge_cls": split_edges,
        "multi_task": split_graphs,
        "node_reg": split_nodes,
        "edge_reg": split_edges,
    }
    return split[world.task_type](dataset, policy="published", seed=seed)


def test_split_digest_is_that_of_the_split(any_world: Any, frozen: Freezer) -> None:
    digests = [pose_world(any_world, frozen, seed=seed).split_digest for seed in (0, 1)]
    assert digests == [split_of(any_world, frozen(any_world), seed).digest for seed in (0, 1)]
    has_one_split = any_world.name in ("graphs, published split", "links, published") or (
        any_world.task_type.unit == "node" and len(any_world.graphs) == 1 and "columns" not in any_world.name
    )
    assert (digests[0] == digests[1]) is has_one_split


def test_sizes_of_parts_are_told(any_world: Any, frozen: Freezer) -> None:
    split = split_of(any_world, frozen(any_world), 0)
    counts = [
        (part.labels if any_world.task_type == "link_pred" and hasattr(part, "labels") else part.edge_type).numel()
        if any_world.task_type == "link_pred"
        else part.numel()
        for part in (split.train, split.test)
    ]
    assert pose_world(any_world, frozen).part_sizes == tuple(counts)
    assert min(counts) > 0


def test_seed_chooses_the_split_column(world: Worlds, frozen: Freezer) -> None:
    columns = world("nodes, split columns")
    masks = columns.graphs[0].train_mask
    for seed in range(5):
        problem = pose_world(columns, frozen, seed=seed)
        assert torch.equal(problem.objective.rows, masks[:, seed % 3].nonzero().flatten())


# Labels in sight -------------------------------------------------------------------------------------------------


def test_nodes_show_labels_of_training_only(world: Worlds, frozen: Freezer) -> None:
    data = world("nodes").graphs[0]
    problem = pose_world(world("nodes"), frozen)
    shown = problem.objective.data.y
    assert torch.equal(shown[data.train_mask], data.y[data.train_mask])
    assert (shown[~data.train_mask] == -1).all()
    assert set(problem.objective.data.keys()) == {"x", "y", "edge_index", "num_nodes"}
    for name, scorer in problem.scorers.items():
        assert torch.equal(scorer.rows, data[f"{name}_mask"].nonzero().flatten())
        assert torch.equal(scorer.labels, data.y[scorer.rows])


@pytest.mark.parametrize("name", ["nodes, labels", "nodes, numbers"])
def test_nodes_show_several_labels_and_numbers_of_training_only(name: str, world: Worlds, frozen: Freezer) -> None:
    data = world(name).graphs[0]
    labels = data.y.reshape(data.num_nodes, -1)
    problem = pose_world(world(name), frozen)
    shown = problem.objective.data.y
    assert torch.equal(shown[data.train_mask].nan_to_num(9), labels[data.train_mask].nan_to_num(9))
    assert shown[~data.train_mask].isnan().all()
    for scorer in problem.scorers.values():
        assert torch.equal(scorer.labels.nan_to_num(9), labels[scorer.rows].nan_to_num(9))


@pytest.mark.parametrize("name", ["nodes, labels in graphs", "nodes, numbers in graphs", "edges, numbers in graphs"])
def test_batches_of_graphs_show_labels_of_training_only(name: str, world: Worlds, frozen: Freezer) -> None:
    field = "edge_label" if name.startswith("edges") else "y"
    problem = pose_world(world(name), frozen, batch_size=5)
    split = split_of(world(name), frozen(world(name)), 0)
    batches = [batch[field] for batch in problem.objective.batches(torch.Generator().manual_seed(0))]
    labels = torch.cat([graph[field].reshape(len(graph[field]), -1) for graph in world(name).graphs])
    shown = torch.cat(batches)
    shown = shown[~shown.isnan().all(dim=1)]
    assert shown.size(0) == split.train.numel() < labels.size(0)
    expected, found = (rows.nan_to_num(9).tolist() for rows in (labels[split.train], shown))
    assert sorted(expected) == sorted(found)


EDGES = ["edges", "edges, directed", "edges, split columns", "edges, several graphs"]


@pytest.mark.parametrize("name", EDGES)
def test_edges_show_labels_of_training_only(name: str, world: Worlds, frozen: Freezer) -> None:
    labels = torch.cat([graph.edge_label for graph in world(name).graphs])
    problem = pose_world(world(name), frozen, batch_size=0)
    parts = split_edges(frozen(world(name)), policy="published", seed=0)
    data = problem.objective.data
    expected = torch.full_like(labels, -1).index_copy(0, parts.train, labels[parts.train])
    assert torch.equal(data.edge_label, expected)
    features = {"edge_label_attr"} if "edge_label_attr" in world(name).graphs[0] else set()
    assert set(data.keys()) == {"x", "edge_index", "edge_label", "edge_label_index", "num_nodes"} | features
    # PyG adds the first node of each graph to what is named an index.
    assert torch.equal(data.edge_label_index, Batch.from_data_list(world(name).graphs).edge_label_index)
    for part, scorer in problem.scorers.items():
        assert torch.equal(scorer.rows, getattr(parts, part))
        assert torch.equal(scorer.labels, labels[scorer.rows])


def test_other_tasks_on_a_graph_with_labelled_edges_do_not_see_them(world: Worlds, tmp_path: Path) -> None:
    graph = world("nodes").graphs[0].clone()
    # As many as there are edges, so that they could be taken for fields of edges.
    graph.edge_label_index, graph.edge_label = graph.edge_index, torch.arange(graph.num_edges) % 2
    nodes = replace_graphs(world("nodes"), [graph])
    shown = pose(nodes.freeze(tmp_path / "nodes"), nodes.settings()).objective.data
    assert not any("edge_label" in name for name in shown.keys())  # noqa: SIM118  (PyG)


@pytest.mark.parametrize("name", ["graphs, published split", "graphs, labels", "numbers", "numbers, several"])
def test_graphs_show_labels_of_training_only(name: str, world: Worlds, frozen: Freezer) -> None:
    problem = pose_world(world(name), frozen)
    parts = split_graphs(frozen(world(name)), policy="published", seed=0)
    labels = torch.stack([graph.y.flatten() for graph in world(name).graphs])
    seen = torch.cat([batch.y.reshape(-1, labels.size(1)) for batch in problem.objective.batches(torch.Generator())])
    assert sorted_rows(seen) == sorted_rows(labels[parts.train])
    shown: list[Data] = []

    class Spy(torch.nn.Module):
        def forward(self, batch: Data) -> Tensor:
            shown.append(batch)
            return torch.zeros(batch.num_graphs, problem.sizes.out_channels)

    problem.objective.predict(Spy())
    assert sum(batch.num_graphs for batch in shown) == parts.val.numel() + parts.test.numel()
    assert all("y" not in batch for batch in shown)
    for part, scorer in problem.scorers.items():
        assert sorted_rows(scorer.labels.reshape(-1, labels.size(1))) == sorted_rows(labels[getattr(parts, part)])


def sorted_rows(labels: Tensor) -> list[str]:
    return sorted(str(row) for row in labels.float().tolist())


def pairs(edges: Tensor) -> set[tuple[int, int]]:
    return {(int(source), int(target)) for source, target in edges.t().tolist()}


@pytest.mark.parametrize("name", ["links", "links, directed", "links, no features"])
def test_message_edges_hold_no_edge_that_is_scored(name: str, world: Worlds, frozen: Freezer) -> None:
    problem = pose_world(world(name), frozen)
    message = pairs(problem.objective.data.edge_index)
    every = pairs(world(name).graphs[0].edge_index)
    trained = pairs(problem.objective.pairs[:, problem.objective.labels == 1])
    held_out: set[tuple[int, int]] = set()
    for scorer in problem.scorers.values():
        held_out |= pairs(scorer.pairs[:, scorer.labels == 1])
        assert not pairs(scorer.pairs[:, scorer.labels == 0]) & every
    both_ways = held_out | {(target, source) for source, target in held_out}
    gone = held_out if "directed" in name else both_ways
    assert held_out
    assert not message & gone
    assert not trained & gone
    assert message | gone == every
    assert set(problem.objective.data.keys()) <= {"x", "edge_index", "num_nodes"}


def test_published_links_train_and_are_ranked_as_published(world: Worlds, frozen: Freezer) -> None:
    data, published = world("links, published").graphs[0], world("links, published")
    problem = pose_world(published, frozen)
    assert problem.objective.batch_size == 4
    assert torch.equal(problem.objective.links, data.train_link_index)
    # All edges pass messages; held-out pairs are under no name in what a model is given.
    assert torch.equal(problem.objective.data.edge_index, data.edge_index)
    assert set(problem.objective.data.keys()) == {"x", "edge_index", "num_nodes"}
    for name, scorer in problem.scorers.items():
        assert torch.equal(scorer.pairs[:, scorer.labels == 1], data[f"{name}_link_index"])
        assert torch.equal(scorer.pairs[:, scorer.labels == 0], data[f"{name}_non_link_index"])


def test_fields_as_long_as_the_edges_are_not_taken_for_fields_of_these(world: Worlds, tmp_path: Path) -> None:
    graph = world("links, published").graphs[0].clone()
    graph.test_link_index = graph.edge_index
    graph.val_non_link_index = graph.edge_index[:, : graph.num_nodes]
    graph.edge_attr = torch.rand(graph.num_edges, 2)
    links = replace_graphs(world("links, published"), [graph])
    shown = pose(links.freeze(tmp_path / "links"), links.settings()).objective.data
    # The graph is whole, so that the features of its edges are known.
    assert set(shown.keys()) == {"x", "edge_index", "edge_attr", "num_nodes"}


def test_links_of_training_are_told_from_the_pairs_of_validation(world: Worlds, frozen: Freezer) -> None:
    data, published = world("links, published").graphs[0], world("links, published")
    for scoring, n_val, n_test in (("whole", 30, 25), ("per_batch", 12, 9)):
        found = pose(frozen(published), published.settings(also=("training",), scoring=scoring)).scorers
        others = {name: scorer.pairs[:, scorer.labels == 0] for name, scorer in found.items()}
        assert torch.equal(others["training"], data.val_non_link_index[:, :n_val])
        assert torch.equal(others["val"], data.val_non_link_index[:, :n_val])
        assert torch.equal(others["test"], data.test_non_link_index[:, :n_test])
        assert torch.equal(found["training"].pairs[:, found["training"].labels == 1], data.train_link_index)


def test_published_links_are_trained_in_batches_and_score_among_the_first(world: Worlds, cell_on: Cells) -> None:
    published = world("links, published")
    usual = replace(published.protocol.optimisers[published.task_type], schedule="score_plateau", patience=10)
    optimisers = {published.task_type: usual}
    protocol = replace(published.protocol, also=("training", "best_validation"), optimisers=optimisers)
    task = replace(cell_on(published).task, metric="hits_at_10")
    given = (("batch_size", 32), ("hidden_channels", 8))
    for model in ("DeepGCN", "MatrixFactorisation", "Jaccard"):
        cell = cell_on(published, model, task=task, protocol=protocol, hyperparameters=given, epochs=3)
        first, again, whole = map(run_one, (cell, cell, replace(cell, hyperparameters=given[1:])))
        assert first.failure is None, first.failure.traceback
        assert first.series == again.series
        hits = {f"hits_at_{k}" for k in (10, 50, 100)}
        beside = {"hits_at_10_on_training", "hits_at_10_at_best_validation"}
        assert set(first.scores) == {"auc", "average_precision"} | hits | beside
        # Fewer than 50 pairs are no links here.
        assert first.scores["hits_at_50"] == 1.0
        assert first.series["train/loss"] != whole.series["train/loss"]


def test_features_are_made_of_message_edges(world: Worlds, frozen: Freezer) -> None:
    for name in ("links, no features", "triples"):
        data = pose_world(world(name), frozen).objective.data
        n_nodes = world(name).graphs[0].num_nodes
        assert torch.equal(data.x, structural_features(data.edge_index, n_nodes))
        assert not torch.equal(data.x, structural_features(world(name).graphs[0].edge_index, n_nodes))
    identity = pose_world(world("nodes, identity"), frozen).objective.data
    assert torch.equal(identity.x + 0, torch.eye(60))


def test_messages_of_triples_are_those_of_training(world: Worlds, frozen: Freezer) -> None:
    data = world("triples").graphs[0]
    problem = pose_world(world("triples"), frozen)
    assert torch.equal(problem.objective.data.edge_index, data.train_edge_index)
    assert torch.equal(problem.objective.data.edge_type, data.train_edge_type)
    expected = torch.stack([data.train_edge_index[0], data.train_edge_type, data.train_edge_index[1]])
    assert torch.equal(problem.objective.triples, expected)
    # What a model is given names no held-out triple, under any name.
    assert set(problem.objective.data.keys()) == {"x", "edge_index", "edge_type", "num_nodes"}
    assert torch.equal(problem.scorers["test"].triples[1], data.test_edge_type)
    assert problem.scorers["test"].known.size(1) == 80 + 15 + 20


def test_other_fields_of_nodes_and_edges_reach_the_model(world: Worlds, tmp_path: Path) -> None:
    graph = world("nodes").graphs[0].clone()
    graph.pos, graph.edge_attr = torch.rand(60, 2), torch.rand(graph.num_edges, 5)
    nodes = replace_graphs(world("nodes"), [graph])
    data = pose(nodes.freeze(tmp_path / "a"), nodes.settings()).objective.data
    assert torch.equal(data.pos, graph.pos)
    assert torch.equal(data.edge_attr, graph.edge_attr)
    # Once links are split, edges are others and in another order.
    link = world("links").graphs[0].clone()
    link.edge_attr = torch.rand(link.num_edges, 5)
    links = replace_graphs(world("links"), [link])
    assert "edge_attr" not in pose(links.freeze(tmp_path / "b"), links.settings()).objective.data


def replace_graphs(world: Any, graphs: list[Data]) -> Any:
    return type(world)(
        name=world.name, task_type=world.task_type, graphs=graphs, split=world.split, features=world.features
    )


# Held-out labels changed on the disk -----------------------------------------------------------------------------


def with_other_labels(world: Any, dataset: FrozenDataset, part: str, folder: Path) -> FrozenDataset:
    """Return the dataset with other labels of one part; the card, and so every seed that is derived of it, stays."""
    shutil.copytree(dataset.folder, folder)
    tensors = load_file(folder / "tensors.safetensors")
    if world.name == "triples":
        key = f"{'valid' if part == 'val' else part}_edge_index"
        tensors[key] = (tensors[key] + 7) % dataset.n_nodes
    else:
        split = {"node_cls": split_nodes, "edge_cls": split_edges}.get(str(world.task_type), split_graphs)
        rows = getattr(split(dataset, policy="published", seed=0), part)
        # One on: every label becomes another one.
        key = "edge_label" if world.task_type == "edge_cls" else "y"
        tensors[key] = changed(world, tensors[key], rows)
    save_file(tensors, folder / "tensors.safetensors")
    return open_frozen(folder)


def changed(world: Any, y: Tensor, rows: Tensor) -> Tensor:
    changers: dict[str, Callable[[Tensor], Tensor]] = {
        "node_cls": lambda labels: (labels + 1) % 3,
        "edge_cls": lambda labels: (labels + 1) % (int(y.max()) + 1),
        "graph_cls": lambda labels: 1 - labels,
        "graph_reg": lambda labels: labels + 10,
    }
    y = y.clone()
    y[rows] = changers[world.task_type](y[rows])
    return y


@pytest.fixture
def other_labels_under_one_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set aside the check that data are those of their card.

    Splits and seeds are derived from the digest, which has to stay where labels alone are to be others.
    """

    @contextlib.contextmanager
    def hold(folder: str, **_: str) -> Iterator[FrozenDataset]:
        yield open_frozen(folder)

    monkeypatch.setattr(one, "hold_steady", hold)


def run_kept(cell: Cell) -> tuple[CellResult, dict[str, Tensor]]:
    """Run a cell with an own model; return the parameters that it ends with too."""
    own_nets.Plain.built.clear()
    result = run_one(cell)
    assert result.failure is None, result.failure.traceback
    (model,) = own_nets.Plain.built
    return result, {name: value.clone() for name, value in model.state_dict().items()}


LABELLED = [
    "nodes",
    "nodes, split columns",
    "nodes, whole features",
    "nodes, no features",
    "graphs",
    "graphs, published split",
    "graphs, labels",
    "numbers",
    "numbers, several",
    "triples",
    # Where masks or graphs decide the split: what is drawn within classes depends on all labels.
    "edges, split columns",
    "edges, several graphs",
]


@pytest.mark.usefixtures("other_labels_under_one_digest")
@pytest.mark.parametrize("part", ["val", "test"])
@pytest.mark.parametrize("name", LABELLED)
def test_held_out_labels_do_not_touch_training(
    name: str, part: str, world: Worlds, frozen: Freezer, cell_on: Cells, tmp_path: Path
) -> None:
    dataset = with_other_labels(world(name), frozen(world(name)), part, tmp_path / "changed")
    before, parameters = run_kept(cell_on(world(name), own_nets.Plain))
    after, parameters_after = run_kept(cell_on(world(name), own_nets.Plain, dataset=dataset))
    assert before.series["train/loss"] == after.series["train/loss"]
    assert parameters.keys() == parameters_after.keys()
    assert all(torch.equal(parameters[key], parameters_after[key]) for key in parameters)
    # The change was one: scores on that part are others. Triples of either part are filtered out of both.
    assert before.series[f"{part}/{before.metric}"] != after.series[f"{part}/{before.metric}"]


@pytest.mark.usefixtures("other_labels_under_one_digest")
def test_training_labels_do_touch_training(world: Worlds, frozen: Freezer, cell_on: Cells, tmp_path: Path) -> None:
    for name in LABELLED:
        dataset = with_other_labels(world(name), frozen(world(name)), "train", tmp_path / name)
        before, parameters = run_kept(cell_on(world(name), own_nets.Plain))
        after, parameters_after = run_kept(cell_on(world(name), own_nets.Plain, dataset=dataset))
        assert before.series["train/loss"] != after.series["train/loss"], name
        assert any(not torch.equal(parameters[key], parameters_after[key]) for key in parameters), name


@pytest.mark.usefixtures("other_labels_under_one_digest")
def test_test_labels_do_not_touch_the_selected_epoch(
    world: Worlds, frozen: Freezer, cell_on: Cells, tmp_path: Path
) -> None:
    for name in ("nodes", "graphs, published split", "numbers"):
        protocol = replace(world(name).protocol, selection=Selection.best_validation, patience=2)
        dataset = with_other_labels(world(name), frozen(world(name)), "test", tmp_path / name)
        options = {"protocol": protocol, "epochs": 12}
        before, parameters = run_kept(cell_on(world(name), own_nets.Plain, **options))
        after, parameters_after = run_kept(cell_on(world(name), own_nets.Plain, dataset=dataset, **options))
        assert before.selected_epoch == after.selected_epoch
        assert before.score != after.score
        assert all(torch.equal(parameters[key], parameters_after[key]) for key in parameters)


@pytest.mark.parametrize("name", ["links", "links, directed", "links, no features"])
def test_labels_of_held_out_pairs_do_not_touch_training(name: str, world: Worlds, frozen: Freezer) -> None:
    def trained(*, is_swapped: bool) -> tuple[Any, dict[str, Tensor]]:
        problem = pose_world(world(name), frozen)
        scorers = {
            part: replace(scorer, labels=1 - scorer.labels) if is_swapped else scorer
            for part, scorer in problem.scorers.items()
        }
        torch.manual_seed(0)
        model = own_head(problem)
        settings = CellSettings(task_type=TaskType.link_pred, seed=0, metric="auc", epochs=4)
        with torch.random.fork_rng():
            return train(model, problem.objective, scorers, settings, batch_seed=0).series, model.state_dict()

    before, parameters = trained(is_swapped=False)
    after, parameters_after = trained(is_swapped=True)
    assert before["train/loss"] == after["train/loss"]
    assert all(torch.equal(parameters[key], parameters_after[key]) for key in parameters)
    assert before["test/auc"] == pytest.approx([1 - score for score in after["test/auc"]])


def own_head(problem: Problem) -> torch.nn.Module:
    from gnz_track.models.adapters import LinkHead

    sizes = problem.sizes
    return LinkHead(own_nets.Plain(sizes.in_channels, sizes.hidden_channels, sizes.out_channels))


def test_model_that_reads_labels_learns_nothing_of_held_out_ones(world: Worlds, cell_on: Cells) -> None:
    own_nets.Plain.seen.clear()
    result = run_one(cell_on(world("nodes"), own_nets.ReadsLabels))
    assert result.failure is None, result.failure.traceback
    data = world("nodes").graphs[0]
    assert own_nets.Plain.seen
    for seen in own_nets.Plain.seen:
        assert (seen["y"][~data.train_mask] == -1).all()
        assert not any("mask" in name for name in seen["fields"])
    # It answers by noise, so by chance: three classes.
    assert result.score < 0.75


# What cannot be posed ---------------------------------------------------------------------------------------------


def broken(world: Any, **fields: Any) -> Any:
    graphs = [graph.clone() for graph in world.graphs]
    for graph in graphs:
        for name, value in fields.items():
            if value is None:
                del graph[name]
            else:
                graph[name] = value(graph)
    return replace_graphs(world, graphs)


@pytest.mark.parametrize(
    ("name", "fields", "reason"),
    [
        ("nodes", {"y": None}, "it has no y"),
        ("nodes", {"edge_index": None}, "it has no edge_index"),
        ("nodes", {"y": lambda graph: torch.stack([graph.y, graph.y // 2], dim=1)}, r"y is torch.int64 \[60, 2\]"),
        ("nodes", {"y": lambda graph: graph.y.float()}, r"y is torch.float32 \[60\]"),
        ("graphs", {"y": None}, "it has no y"),
        ("graphs", {"y": lambda graph: graph.y.float()}, r"y is torch.float32 \[30\]"),
        ("graphs", {"y": lambda graph: torch.full((1, 2), 3) + graph.y}, r"y is torch.int64 \[30, 2\]"),
        ("graphs", {"y": lambda graph: torch.zeros(graph.num_nodes, dtype=torch.int64)}, r"y is torch.int64 \[180\]"),
        ("numbers", {"y": None}, "it has no y"),
        ("numbers", {"y": lambda graph: torch.zeros(graph.num_nodes + graph.num_nodes // 8)}, "y has 186 values"),
        ("links", {"edge_index": None}, "it has no edge_index"),
        ("edges", {"edge_label": None}, "it has no edge_label"),
        ("edges", {"edge_label": lambda graph: graph.edge_label.float()}, r"edge_label is torch.float32"),
        ("edges", {"edge_label": lambda graph: graph.edge_label[1:]}, r"edge_label_index is \[2, \d+\] and edge_label"),
        ("edges", {"edge_label": lambda graph: graph.edge_label - 9}, "its train part is empty"),
        ("edges", {"edge_label_index": lambda graph: graph.edge_label_index + 1}, r"names a node that its graph does"),
    ],
)
def test_data_that_do_not_fit_the_task_are_refused(
    name: str, fields: dict[str, Any], reason: str, world: Worlds, tmp_path: Path
) -> None:
    unfit = broken(world(name), **fields)
    with pytest.raises(SplitImpossible, match=reason):
        pose(unfit.freeze(tmp_path / "unfit"), unfit.settings())


def test_unknown_features_and_task_types_are_named(world: Worlds, frozen: Freezer) -> None:
    settings = world("nodes, no features").settings()
    odd = replace(settings, features="spectral")
    with pytest.raises(BadValue, match="'spectral'; allowed: structural, identity"):
        pose(frozen(world("nodes, no features")), odd)
    with pytest.raises(SplitImpossible, match="it has no edge_label_index"):
        pose(frozen(world("nodes")), replace(settings, task_type=TaskType.edge_cls))


def test_batch_size_zero_is_a_full_batch(world: Worlds, frozen: Freezer) -> None:
    problem = pose_world(world("graphs"), frozen, batch_size=0)
    (batch,) = problem.objective.batches(torch.Generator())
    assert batch.num_graphs == 24
    assert len(list(pose_world(world("graphs"), frozen, batch_size=4).objective.batches(torch.Generator()))) == 6


def test_relations_make_a_relational_head(world: Worlds, cell_on: Cells) -> None:
    from gnz_track.models.building import build

    cell = cell_on(world("triples"))
    problem = pose(open_frozen(cell.data), world("triples").settings())
    model = build(cell.model, TaskType.link_pred, problem.sizes)
    assert isinstance(model, TripleHead)
    assert tuple(model.relations.weight.shape) == (6, WIDTH)


# Each score belongs to its examples ---------------------------------------------------------------------------------


class Oracle(torch.nn.Module):
    """Reads the answer from the first columns of the features, where the test has put it."""

    def __init__(self, n_answers: int) -> None:
        super().__init__()
        self.n_answers = n_answers

    def forward(self, data: Data) -> Tensor:
        answers = data.x[:, : self.n_answers]
        return answers if "ptr" not in data else answers[data.ptr[:-1]]


def telling(world: Any, answer: Callable[[Data], Tensor]) -> Any:
    graphs = [graph.clone() for graph in world.graphs]
    for graph in graphs:
        graph.x = answer(graph).float().expand(graph.num_nodes, -1)
    return replace_graphs(world, graphs)


def one_hot(graph: Data) -> Tensor:
    return torch.nn.functional.one_hot(graph.y, 3)


@pytest.mark.parametrize(
    ("name", "answer", "metric", "perfect"),
    [
        ("nodes", one_hot, "accuracy", 1.0),
        ("graphs", one_hot, "accuracy", 1.0),
        ("graphs, published split", one_hot, "accuracy", 1.0),
        ("graphs, labels", lambda graph: graph.y.nan_to_num(0.5), "average_precision", 1.0),
        ("numbers, several", lambda graph: graph.y, "mae", 0.0),
    ],
)
def test_scores_belong_to_their_examples(
    name: str, answer: Callable[[Data], Tensor], metric: str, perfect: float, world: Worlds, tmp_path: Path
) -> None:
    told = telling(world(name), answer)
    problem = pose(told.freeze(tmp_path / "told"), told.settings())
    model = Oracle(problem.sizes.out_channels)
    prediction = problem.objective.predict(model)
    for scorer in problem.scorers.values():
        assert scorer.score(model, prediction, metric) == pytest.approx(perfect)
