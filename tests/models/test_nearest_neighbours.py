"""The rule of nearest neighbours: by brute force, from either end or from one, and whatever is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score
from sklearn.neighbors import NearestNeighbors
from torch_geometric.data import Batch, Data

from gnz_track.datasets.generators.tours import tour_edges
from gnz_track.errors import BadValue
from gnz_track.models.building import build, count_parameters
from gnz_track.models.catalogue import MODELS, usual_models
from gnz_track.models.options import Sizes
from gnz_track.types import TaskType

SIZES = Sizes(in_channels=2, hidden_channels=8, out_channels=2, is_directed=True)


def _model(sizes: Sizes = SIZES, **options: Any) -> Any:
    return build(MODELS.get("NearestNeighbours"), TaskType.edge_cls, sizes, options=options)


def _points(n: int, seed: int) -> Data:
    """Return points of which each leads to all others."""
    x = torch.rand(n, 2, generator=torch.Generator().manual_seed(seed))
    edges = torch.cartesian_prod(torch.arange(n), torch.arange(n)).t()
    order = torch.randperm(edges.size(1), generator=torch.Generator().manual_seed(seed + 1))
    return Data(x=x, edge_index=edges[:, order], edge_label_index=edges[:, order.flip(0)])


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("is_directed", [True, False])
def test_the_nearest_are_those_of_brute_force(k: int, is_directed: bool) -> None:  # noqa: FBT001
    graphs = [_points(n, seed) for seed, n in enumerate((7, 12, 9))]
    found = _model(Sizes(**{**vars(SIZES), "is_directed": is_directed}), k=k)(Batch.from_data_list(graphs)).argmax(1)
    expected = []
    for graph in graphs:
        near = NearestNeighbors(n_neighbors=k + 1).fit(graph.x.numpy()).kneighbors(graph.x.numpy())[1][:, 1:]
        for a, b in graph.edge_label_index.t().tolist():
            expected.append(b in near[a] or (not is_directed and a in near[b]))
    assert found.tolist() == expected


@pytest.mark.slow
def test_on_round_trips_the_model_has_the_known_score() -> None:
    """0.688 with a standard error of 0.006 was measured on another twenty drawings with another solver."""
    drawn = tour_edges(nodes=(50, 100), k=25, solver="exact", sizes=(20, 0, 0), seed=0).graphs
    batches = [Batch.from_data_list([graph]) for graph in drawn]
    scores = [f1_score(batch.edge_label, _model()(batch).argmax(1)) for batch in batches]
    assert np.mean(scores) == pytest.approx(0.688, abs=0.02)
    rate = torch.cat([batch.edge_label for batch in batches]).double().mean()
    assert float(rate) == pytest.approx(0.08, abs=0.01)


def test_only_links_that_there_are_compete_and_repeated_ones_once() -> None:
    x = torch.tensor([[0.0], [1.0], [2.0], [10.0]])
    edges = torch.tensor([[0, 0, 0, 0, 3, 3], [2, 2, 3, 0, 0, 2]])
    labelled = torch.tensor([[0, 0, 0, 3, 3], [1, 2, 3, 0, 2]])
    found = _model(k=1)(Data(x=x, edge_index=edges, edge_label_index=labelled)).argmax(1)
    assert found.tolist() == [0, 1, 0, 0, 1]


def test_fitting_changes_no_decision() -> None:
    model, graph = _model(), _points(15, 3)
    labels = torch.randint(2, (graph.edge_label_index.size(1),), generator=torch.Generator().manual_seed(0))
    before = model(graph)
    assert count_parameters(model) == 1
    optimiser = torch.optim.Adam(model.parameters(), lr=0.5)
    for _ in range(20):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(graph), labels).backward()
        optimiser.step()
    after = model(graph)
    assert not torch.equal(before, after)
    assert torch.equal(before.argmax(1), after.argmax(1))


def test_a_graph_without_links_has_none_that_are_near() -> None:
    graph = Data(x=torch.rand(3, 2), edge_index=torch.empty(2, 0, dtype=torch.int64))
    graph.edge_label_index = torch.tensor([[0], [1]])
    assert _model()(graph).argmax(1).tolist() == [0]


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({"vocabulary": (3,)}, {}, "the task of NearestNeighbours is 'categories'"),
        ({"out_channels": 3}, {}, "'edges of 3 classes'; allowed: coordinates of nodes, and edges of two classes"),
        ({}, {"k": 0}, "k is 0"),
    ],
)
def test_what_it_cannot_say_is_refused(changes: dict[str, Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadValue, match=message):
        _model(Sizes(**{**vars(SIZES), **changes}), **options)


def test_no_sweep_takes_it_unless_it_is_named() -> None:
    for has_budget in (False, True):
        assert "NearestNeighbours" not in {row.name for row in usual_models(has_budget=has_budget)}
