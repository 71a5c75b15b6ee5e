"""Labels that are passed on, against dense algebra."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import from_networkx

from gnz_track.errors import BadValue
from gnz_track.models.label_propagation import LabelPropagation

GRAPH = nx.connected_caveman_graph(4, 6)


def some_labels() -> Tensor:
    labels = torch.full((24,), -1)
    labels[::3] = torch.arange(8) % 4
    return labels


def shown(labels: Tensor | None) -> Data:
    return Data(edge_index=from_networkx(GRAPH).edge_index, y=labels, num_nodes=24)


@pytest.mark.parametrize("num_layers", [1, 4])
@pytest.mark.parametrize("alpha", [0.7, 0.99])
def test_scores_are_those_of_dense_algebra(num_layers: int, alpha: float) -> None:
    given = np.zeros((24, 4))
    given[np.arange(0, 24, 3), np.arange(8) % 4] = 1
    adjacency = nx.to_numpy_array(GRAPH)
    half = adjacency.sum(axis=1) ** -0.5
    passed = given
    for _ in range(num_layers):
        passed = np.clip(alpha * (half[:, None] * adjacency * half) @ passed + (1 - alpha) * given, 0, 1)
    model, data = LabelPropagation(1, 1, 4, alpha=alpha, num_layers=num_layers), shown(some_labels())
    np.testing.assert_allclose(model(data).detach(), passed, rtol=1e-5, atol=1e-7)
    one_way = shown(some_labels())
    one_way.edge_index = one_way.edge_index[:, one_way.edge_index[0] < one_way.edge_index[1]]
    torch.testing.assert_close(model(one_way), model(data))


def test_fitting_changes_no_decision() -> None:
    labels, model = some_labels(), LabelPropagation(1, 1, 4)
    before = model(shown(labels))
    torch.nn.functional.cross_entropy(before[::3], labels[::3]).backward()
    with torch.no_grad():
        model.log_scale -= 10 * model.log_scale.grad
    after = model(shown(labels))
    assert not torch.equal(before, after)
    assert torch.equal(before.argmax(dim=1), after.argmax(dim=1))


def test_without_a_label_there_is_nothing_to_pass_on() -> None:
    for labels in (torch.full((24,), -1), None):
        with pytest.raises(BadValue, match="none shown"):
            LabelPropagation(1, 1, 4)(shown(labels))
    with pytest.raises(BadValue, match="alpha"):
        LabelPropagation(1, 1, 4, alpha=1.5)
