"""Nodes and labelled edges of many graphs in batches: against the same graphs one by one, and by PyG's own batches."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch, Data

from gnz_track.errors import ModelInvalid
from gnz_track.models.adapters import EdgeHead
from gnz_track.models.gcn import GCN
from gnz_track.problems.nodes_and_edges import ClassScorer, PartObjective, graphs_of
from gnz_track.training.graphs import GraphCollection, Pairs
from gnz_track.training.metrics import balanced_accuracy, f1

SIZES = (4, 1, 6, 3, 5)
IN, CLASSES = 3, 3


@functools.cache
def _graphs() -> list[Data]:
    generator = torch.Generator().manual_seed(0)
    found = []
    for n in SIZES:
        edges = torch.randint(n, (2, 2 * n), generator=generator)
        # The graph of one node has no labelled edge.
        ends = torch.randint(n, (2, n if n > 1 else 0), generator=generator)
        labels = torch.randint(CLASSES, (ends.size(1),), generator=generator)
        x, y = torch.randn(n, IN, generator=generator), torch.randint(CLASSES, (n,), generator=generator)
        found.append(Data(x=x, y=y, edge_index=edges, edge_label_index=ends, edge_label=labels))
    return found


def _pointer(lengths: Any) -> Tensor:
    return torch.tensor([0, *np.cumsum(list(lengths))])


def _visible(labels: Tensor, train: Tensor) -> Tensor:
    return torch.full_like(labels, -1).index_copy(0, train, labels[train])


TRAIN = torch.tensor([0, 2, 9, 10, 12, 13])
HELD_OUT = torch.tensor([15, 18, 3, 1])


def _objective(kind: str, **options: Any) -> tuple[PartObjective, Tensor, list[Tensor]]:
    """Return an objective, all labels, and the rows of each graph among them."""
    graphs = _graphs()
    pointers = [_pointer(graph.num_nodes for graph in graphs), _pointer(graph.num_edges for graph in graphs)]
    of_pairs = _pointer(graph.edge_label.numel() for graph in graphs)
    field, pointer = ("y", pointers[0]) if kind == "nodes" else ("edge_label", of_pairs)
    labels = torch.cat([graph[field] for graph in graphs])
    train = TRAIN[labels.numel() > TRAIN]
    shown = _visible(labels, train)
    pairs = Pairs(torch.cat([graph.edge_label_index for graph in graphs], dim=1), of_pairs, {"edge_label": shown})
    node = {"x": torch.cat([graph.x for graph in graphs]), **({"y": shown} if kind == "nodes" else {})}
    edges = torch.cat([graph.edge_index for graph in graphs], dim=1)
    collection = GraphCollection(edges, *pointers, node, {}, pairs if kind == "edges" else None)
    held_out = HELD_OUT[labels.numel() > HELD_OUT]
    objective = PartObjective(collection, train, held_out, pointer, field, 2, width=CLASSES, **options)
    return objective, labels, list(torch.arange(labels.numel()).split(pointer.diff().tolist()))


def _model(kind: str) -> nn.Module:
    torch.manual_seed(3)
    return GCN(IN, 8, CLASSES) if kind == "nodes" else EdgeHead(GCN(IN, 8, 8), 8, CLASSES)


KINDS = ("nodes", "edges")


@pytest.mark.parametrize("kind", KINDS)
def test_batches_hold_every_training_label_once_and_no_other(kind: str) -> None:
    objective, labels, _ = _objective(kind)
    batches = list(objective.batches(torch.Generator().manual_seed(1)))
    shown = torch.cat([batch[objective.label] for batch in batches])
    assert sorted(shown[shown >= 0].tolist()) == sorted(labels[objective.train].tolist())
    graphs = graphs_of(objective.train, objective.pointer).unique()
    assert len(batches) == -(-graphs.numel() // 2)
    assert sum(batch.num_graphs for batch in batches) == graphs.numel()
    again = list(objective.batches(torch.Generator().manual_seed(1)))
    assert all(torch.equal(first.x, second.x) for first, second in zip(batches, again, strict=True))


def test_labelled_edges_are_batched_as_pyg_does_it() -> None:
    objective, _, __ = _objective("edges")
    order = torch.tensor([4, 1, 2])
    batch = next(iter(objective.graphs.batches(order, 3)))[0]
    expected = Batch.from_data_list([_graphs()[number] for number in order.tolist()])
    for name in ("x", "edge_index", "edge_label_index", "batch", "ptr"):
        assert torch.equal(batch[name], expected[name])
    second = list(objective.graphs.batches(order, 2))[1][0]
    assert torch.equal(second.edge_label_index, _graphs()[2].edge_label_index)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss_name", ["", "balanced"])
def test_the_loss_is_that_of_the_training_parts_of_a_batch(kind: str, loss_name: str) -> None:
    objective, _, __ = _objective(kind, loss_name=loss_name)
    model = _model(kind).eval()
    for batch in objective.batches(torch.Generator().manual_seed(1)):
        loss, n = objective.loss(model, batch)
        labels = batch[objective.label]
        rows = labels >= 0
        counts = torch.bincount(labels[rows], minlength=CLASSES)
        weight = (n - counts) / n * (counts > 0) if loss_name else torch.ones(CLASSES)
        expected = functional.cross_entropy(model(batch)[rows], labels[rows], weight=weight) if weight.any() else 0.0
        assert n == rows.sum()
        torch.testing.assert_close(loss, torch.as_tensor(expected))


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_each_graph_alone(kind: str) -> None:
    objective, _, rows = _objective(kind)
    model = _model(kind).eval()
    alone = torch.cat([model(graph) for graph in _graphs()])
    for training, parts in ((False, objective.held_out), (True, objective.train)):
        prediction = objective.predict_training(model) if training else objective.predict(model)
        found = prediction[objective.rows_of(parts, training=training)]
        torch.testing.assert_close(found, alone[parts])
    assert sum(map(len, rows)) == alone.size(0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_sees_no_label_when_it_is_evaluated(kind: str) -> None:
    objective, _, __ = _objective(kind)
    seen: list[bool] = []

    class Watching(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = _model(kind)

        def forward(self, data: Data) -> Tensor:
            seen.append(objective.label in data)
            return self.inner(data)

    model = Watching()
    objective.predict(model)
    objective.predict_training(model)
    assert seen
    assert not any(seen)
    for batch in objective.batches(torch.Generator()):
        objective.loss(model, batch)
    assert seen[-1]


def test_a_model_of_another_width_is_refused() -> None:
    objective, _, __ = _objective("nodes")
    batch = next(iter(objective.batches(torch.Generator())))
    with pytest.raises(ModelInvalid, match=r"where \[\d+, 3\] was expected"):
        objective.loss(GCN(IN, 8, CLASSES + 1), batch)


def test_scores_of_batches_are_means_of_scores() -> None:
    labels, batches = torch.tensor([0, 0, 1, 1, 0, 1]), torch.tensor([0, 0, 0, 1, 1, 1])
    logits = torch.tensor([[2.0, 0], [0, 1], [0, 3], [1, 0], [2, 0], [0, 1]])
    wanted, found = labels.numpy(), logits.argmax(1).numpy()
    whole = ClassScorer(torch.arange(6), labels)
    by_batch = ClassScorer(torch.arange(6), labels, batches=batches)
    model = nn.Identity()
    for metric, function in (("balanced_accuracy", balanced_accuracy), ("f1", f1)):
        assert whole.score(model, logits, metric) == function(wanted, found)
        each = [function(wanted[rows], found[rows]) for rows in (slice(0, 3), slice(3, 6))]
        assert by_batch.score(model, logits, metric) == pytest.approx(np.mean(each))


def _recalls(truth: list[int], prediction: list[int]) -> float:
    classes = set(truth) | set(prediction)
    shares = []
    for one in classes:
        own = [p == one for t, p in zip(truth, prediction, strict=True) if t == one]
        shares.append(sum(own) / len(own) if own else 0.0)
    return sum(shares) / len(shares)


@pytest.mark.parametrize("seed", range(5))
def test_balanced_accuracy_is_the_mean_recall_and_f1_is_that_of_the_second_class(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, prediction = rng.integers(0, 4, 12), rng.integers(0, 5, 12)
    assert balanced_accuracy(truth, prediction) == pytest.approx(_recalls(truth.tolist(), prediction.tolist()))
    two, other = truth % 2, prediction % 2
    hits = int((two & other).sum())
    precision, recall = hits / max(other.sum(), 1), hits / max(two.sum(), 1)
    expected = 2 * precision * recall / (precision + recall) if hits else 0.0
    assert f1(two, other) == pytest.approx(expected)


def test_f1_of_a_class_that_is_nowhere_is_not_defined() -> None:
    assert np.isnan(f1(np.zeros(3, dtype=int), np.zeros(3, dtype=int)))
    assert np.isnan(balanced_accuracy(np.zeros(0, dtype=int), np.zeros(0, dtype=int)))
