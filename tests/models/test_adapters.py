"""Heads and wrappers around one encoder."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data

from gnz_track.errors import BadValue
from gnz_track.models.adapters import CategoricalInput, EdgeHead, GraphHead, LinkHead, TripleHead, multi_task_factory
from gnz_track.types import TaskType

EDGES = torch.tensor([[0, 1, 2], [1, 2, 3]])


class _Features(nn.Module):
    """The encoder that encodes nothing."""

    def forward(self, data: Data) -> Tensor:
        return data.x


def test_a_graph_head_averages_the_nodes_of_each_graph() -> None:
    torch.manual_seed(0)
    model = GraphHead(_Features(), 7, 3)
    graphs = [Data(x=torch.randn(n, 7), edge_index=EDGES) for n in (4, 5)]
    expected = torch.stack([model.head(graph.x.mean(dim=0)) for graph in graphs])
    torch.testing.assert_close(model(Batch.from_data_list(graphs)), expected)


@pytest.mark.parametrize("n_pairs", [0, 5, 40_000])
def test_any_number_of_pairs_is_scored(n_pairs: int) -> None:
    codes = torch.randn(9, 4)
    pairs, relations = torch.randint(9, (2, n_pairs)), torch.randint(3, (n_pairs,))
    torch.testing.assert_close(LinkHead(nn.Identity()).decode(codes, pairs), (codes[pairs[0]] * codes[pairs[1]]).sum(1))
    head = TripleHead(nn.Identity(), 4, 3)
    expected = (codes[pairs[0]] * head.relations.weight[relations] * codes[pairs[1]]).sum(1)
    torch.testing.assert_close(head.decode(codes, pairs, relations), expected)


def test_categories_are_embedded_and_the_graph_is_left_as_it_was() -> None:
    torch.manual_seed(0)
    model = CategoricalInput((4, 9), 5, nn.Identity())
    data = Data(x=torch.tensor([[0, 8], [3, 0], [1, 1], [2, 2]]), edge_index=EDGES)
    before = data.x.clone()
    embedded = model.embed(data)
    expected = model.tables[0].weight[data.x[:, 0]] + model.tables[1].weight[data.x[:, 1]]
    torch.testing.assert_close(embedded.x, expected)
    assert embedded.edge_index is data.edge_index
    assert data.x.dtype == torch.int64
    assert torch.equal(data.x, before)
    transposed = data.clone()
    transposed.x = data.x.t().contiguous().t()
    torch.testing.assert_close(model.embed(transposed).x, expected)


def test_one_column_of_categories_may_be_a_vector() -> None:
    model = CategoricalInput((4,), 5, nn.Identity())
    assert torch.equal(model.embed(Data(x=torch.tensor([0, 3]))).x, model.tables[0].weight[[0, 3]])


def test_multi_task_factory_knows_every_task(users: ModuleType) -> None:
    factory = multi_task_factory(users.Silent)
    assert factory(7, 16, 3).linear.out_features == 3  # type: ignore[union-attr]
    assert isinstance(factory(7, 16, 3, task_type="graph_reg"), GraphHead)
    assert isinstance(factory(7, 16, 3, task_type=TaskType.link_pred), LinkHead)
    assert isinstance(factory(7, 16, 3, task_type=TaskType.edge_cls), EdgeHead)
    with pytest.raises(BadValue, match="task type is 'dgi'"):
        factory(7, 16, 3, task_type="dgi")
