"""Small problems that can be learned, one for each kind of objective."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from gnz_track.models.adapters import EdgeHead, GraphHead, LinkHead, TripleHead
from gnz_track.models.gcn import GCN
from gnz_track.models.mlp import MLP
from gnz_track.problems.graph import GraphObjective, GraphScorer
from gnz_track.problems.link_pred import LinkObjective, LinkPredictionScorer
from gnz_track.problems.nodes_and_edges import ClassObjective, ClassScorer
from gnz_track.problems.triples import TripleObjective, TripleScorer
from gnz_track.training.acceleration import attach
from gnz_track.training.graphs import GraphCollection
from gnz_track.types import CellSettings, Optimiser, TaskType

NAN = float("nan")


@dataclass(frozen=True)
class Toy:
    """A problem with everything that training needs; ``model()`` draws its parameters anew."""

    model: Callable[[], nn.Module]
    objective: Any
    scorers: dict[str, Any]
    metric: str

    def settings(self, **changes: Any) -> CellSettings:
        """Return settings of a short training."""
        given = {
            "task_type": TaskType.node_cls,
            "seed": 0,
            "epochs": 30,
            "optimiser": Optimiser(lr=0.02),
            "metric": self.metric,
        }
        return CellSettings(**{**given, **changes})


def _generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def _communities() -> tuple[Data, Tensor]:
    """Return a graph of two communities of 20 nodes, with features that tell them apart but for noise."""
    classes = torch.arange(40) // 20
    is_linked = torch.rand(40, 40, generator=_generator()) < torch.where(classes[:, None] == classes, 0.3, 0.02)
    edges = is_linked.triu(1).nonzero().t()
    x = torch.randn(40, 6, generator=_generator())
    x[:, 0] += 2.0 * classes - 1.0
    return Data(x=x, edge_index=attach(torch.cat([edges, edges.flip(0)], dim=1), 40), num_nodes=40), classes


def nodes() -> Toy:
    data, classes = _communities()
    train, val, test = torch.randperm(40, generator=_generator()).split([16, 12, 12])
    data.y = torch.full((40,), -1).index_copy(0, train, classes[train])
    scorers = {"val": ClassScorer(val, classes[val]), "test": ClassScorer(test, classes[test])}
    return Toy(lambda: MLP(6, 8, 2), ClassObjective(data, train, classes[train], len(classes)), scorers, "accuracy")


def _graphs(kind: str, labels: Tensor, metric: str) -> Toy:
    """Return 40 graphs of 4 nodes in a ring; the first feature of a graph's nodes is its first label."""
    ring = torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])
    x = torch.randn(160, 3, generator=_generator()) * 0.3
    x[:, 0] += labels.view(40, -1)[:, 0].nan_to_num().repeat_interleave(4)
    graphs = GraphCollection(ring.repeat(1, 40), torch.arange(41) * 4, torch.arange(41) * 4, {"x": x})
    train, val, test = torch.randperm(40, generator=_generator()).split([24, 8, 8])
    held_out = torch.cat([val, test])
    scorers = {
        "val": GraphScorer(torch.arange(8), labels[val], kind),
        "test": GraphScorer(torch.arange(8, 16), labels[test], kind),
    }
    objective = GraphObjective(graphs, train, labels[train], held_out, kind, batch_size=10)
    out_channels = 2 if labels.dim() == 1 else labels.size(1)
    return Toy(lambda: GraphHead(GCN(3, 8, 8), 8, out_channels), objective, scorers, metric)


def graph_classes() -> Toy:
    return _graphs("classes", torch.arange(40) % 2, "accuracy")


def graph_labels() -> Toy:
    first = (torch.arange(40) % 2).float()
    labels = torch.stack([first, 1 - first, torch.full((40,), NAN)], dim=1)
    labels[::5, 1] = NAN
    return _graphs("labels", labels, "average_precision")


def graph_numbers() -> Toy:
    first = torch.linspace(-2, 2, 40)
    targets = torch.stack([first, -3 * first], dim=1)
    targets[::7, 1] = NAN
    return _graphs("numbers", targets, "mae")


def links() -> Toy:
    data, classes = _communities()
    pairs = torch.tensor(list(itertools.combinations(range(40), 2))).t()
    pairs = pairs[:, torch.randperm(pairs.size(1), generator=_generator())][:, :300]
    labels = (classes[pairs[0]] == classes[pairs[1]]).float()
    (first, second, third), (train, val, test) = pairs.split(100, dim=1), labels.split(100)
    scorers = {"val": LinkPredictionScorer(second, val), "test": LinkPredictionScorer(third, test)}
    return Toy(lambda: LinkHead(GCN(6, 8, 8)), LinkObjective(data, first, train), scorers, "auc")


def triples() -> Toy:
    data, classes = _communities()
    # Relation 0 holds within a community, relation 1 across.
    found = [
        (h, int(classes[h] != classes[t]), t) for h, t in itertools.product(range(40), repeat=2) if (h + t) % 5 == 0
    ]
    every = torch.tensor(found)[torch.randperm(len(found), generator=_generator())].t()
    train, val, test = every[:, :200], every[:, 200:260], every[:, 260:]
    scorers = {
        name: TripleScorer(part, torch.randint(40, (part.size(1),), generator=_generator()), every)
        for name, part in (("val", val), ("test", test))
    }
    return Toy(lambda: TripleHead(GCN(6, 8, 8), 8, 2), TripleObjective(data, train, 2), scorers, "auc")


def edges() -> Toy:
    data, classes = _communities()
    data.edge_label_index = torch.tensor(list(itertools.combinations(range(40), 2))).t()
    labels = classes[data.edge_label_index].sum(dim=0)
    train, val, test = torch.randperm(labels.numel(), generator=_generator())[:300].split(100)
    data.edge_label = torch.full_like(labels, -1).index_copy(0, train, labels[train])
    scorers = {"val": ClassScorer(val, labels[val]), "test": ClassScorer(test, labels[test])}
    return Toy(
        lambda: EdgeHead(MLP(6, 8, 8), 8, 3),
        ClassObjective(data, train, labels[train], len(labels)),
        scorers,
        "accuracy",
    )


TOYS = {make.__name__: make for make in (nodes, graph_classes, graph_labels, graph_numbers, links, triples, edges)}
