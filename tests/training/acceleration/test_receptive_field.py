"""What a loss sees of a few nodes is what it sees of all of them: values, gradients and random numbers."""

from __future__ import annotations

import weakref
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from gnz_track.models.gat import GAT
from gnz_track.models.gcn import GCN
from gnz_track.models.graph_sage import GraphSAGE
from gnz_track.models.graph_transformer import GraphTransformer
from gnz_track.models.mlp import MLP
from gnz_track.models.node_gin import NodeGIN
from gnz_track.problems import nodes_and_edges, sampled
from gnz_track.problems.nodes_and_edges import ClassObjective
from gnz_track.problems.sampled import NeighbourBatches, SampledObjective
from gnz_track.training.acceleration import accelerate, attach, kernels, release, sparsify
from gnz_track.training.acceleration.receptive_field import Hop, receptive_field_of
from gnz_track.training.acceleration.sampling import attach_rows

pytestmark = pytest.mark.skipif(kernels() is None, reason="without compiled kernels no row is left out")

N_NODES, WIDTH, N_CLASSES = 300, 64, 5
MODELS = {
    GCN: [{}, {"dropout": 0.5}, {"n_layers": 3, "dropout": 0.3, "act": "elu"}, {"n_layers": 1}],
    GraphSAGE: [{}, {"dropout": 0.0}, {"aggr": "max"}, {"n_layers": 3}],
    GAT: [{}, {"heads": 3}, {"n_layers": 3, "heads": 4}, {"dropout": 0.0}],
    GraphTransformer: [{}, {"heads": 1, "dropout": 0.6}, {"n_layers": 3}],
}
CASES = [(cls, options) for cls, several in MODELS.items() for options in several]


def graph(*, is_sparse: bool, is_trusted: bool = True) -> Data:
    """Return a graph with loops, parallel edges and nodes without any."""
    generator = torch.Generator().manual_seed(7)
    edges = torch.randint(0, N_NODES - 20, (2, 450), generator=generator)
    edges = torch.cat([edges, edges[:, :9], torch.arange(5).repeat(2, 1)], dim=1)
    x = torch.rand(N_NODES, WIDTH, generator=generator)
    x = sparsify(x * (x > 0.95), is_trusted=True) if is_sparse else x
    return Data(x=x, edge_index=attach(edges, N_NODES, is_trusted=is_trusted), num_nodes=N_NODES)


def objective(*, is_sparse: bool) -> ClassObjective:
    """Return a loss over a few nodes, in no order, one of them without edges."""
    rows = torch.tensor([250, 3, 17, 101, 299, 60])
    return ClassObjective(
        graph(is_sparse=is_sparse), rows, torch.arange(6) % N_CLASSES, n_rows=N_NODES, width=N_CLASSES
    )


def model_of(cls: Any, options: dict[str, Any]) -> nn.Module:
    torch.manual_seed(3)
    return accelerate(cls(WIDTH, 16, N_CLASSES, **options)).train()


def step(cls: Any, options: dict[str, Any], *, is_sparse: bool) -> tuple[Tensor, list[Tensor], Tensor]:
    """Return the loss, all gradients and the state of the generator after one step on two epochs' masks."""
    model, asked = model_of(cls, options), objective(is_sparse=is_sparse)
    torch.manual_seed(11)
    for _ in range(2):
        (batch,) = asked.batches(torch.Generator())
        loss, _ = asked.loss(model, batch)
        loss.backward()  # type: ignore[no-untyped-call]
    return loss.detach(), [one.grad for one in model.parameters() if one.grad is not None], torch.get_rng_state()


@pytest.mark.parametrize("is_sparse", [True, False])
@pytest.mark.parametrize(("cls", "options"), CASES)
def test_few_nodes_give_what_all_give(
    cls: Any,
    options: dict[str, Any],
    is_sparse: bool,  # noqa: FBT001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, gradients, state = step(cls, options, is_sparse=is_sparse)
    monkeypatch.setattr(nodes_and_edges, "receptive_field_of", lambda *_, **__: None)
    expected, all_gradients, all_state = step(cls, options, is_sparse=is_sparse)
    assert torch.equal(state, all_state)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(gradients, all_gradients, rtol=1e-5, atol=1e-6)


def step_on_drawn(cls: Any) -> list[Tensor]:
    """Return all gradients of the steps of an epoch on batches with drawn neighbours."""
    graph = objective(is_sparse=False).data
    data = Data(x=graph.x, y=torch.arange(N_NODES) % N_CLASSES, num_nodes=N_NODES)
    data.edge_index = attach_rows(graph.edge_index, N_NODES)  # type: ignore[arg-type]
    asked = SampledObjective(NeighbourBatches(data, (3, 3), ("x", "y")), torch.arange(40), 8, width=N_CLASSES)
    model = model_of(cls, {})
    torch.manual_seed(11)
    for batch in asked.batches(torch.Generator().manual_seed(5)):
        asked.loss(model, batch)[0].backward()  # type: ignore[no-untyped-call]
    return [torch.get_rng_state(), *(one.grad for one in model.parameters() if one.grad is not None)]


@pytest.mark.parametrize("cls", list(MODELS))
def test_drawn_batches_give_what_all_their_nodes_give(cls: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    found = step_on_drawn(cls)
    monkeypatch.setattr(sampled, "receptive_field_of", lambda *_, **__: None)
    torch.testing.assert_close(found, step_on_drawn(cls), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("cls", "options"), CASES)
def test_rows_are_left_out(cls: Any, options: dict[str, Any]) -> None:
    asked, model = objective(is_sparse=True), model_of(cls, options)
    data: Any = asked.data
    field = receptive_field_of(model, data.edge_index, asked.rows, N_NODES)
    assert field is not None
    hops = [edges.gnz_structure for edges in field.edges]
    last = hops[-1]
    assert isinstance(last, Hop)
    assert last.targets.tolist() == sorted(asked.rows.tolist())
    before = [hop.targets.numel() for hop in hops if isinstance(hop, Hop)]
    assert before == sorted(before, reverse=True)
    assert before[-1] == 6 == field.n_rows
    assert field.rows.tolist() == [4, 0, 1, 3, 5, 2]


def test_fields_are_made_once_and_go_with_their_edges() -> None:
    asked, model = objective(is_sparse=True), model_of(GCN, {})
    for _ in range(2):
        (batch,) = asked.batches(torch.Generator())
        asked.loss(model, batch)
    ((_, field),) = asked.fields.items()
    assert batch.layer_edges is field.edges
    held = weakref.ref(asked.data.edge_index.gnz_structure)  # type: ignore[union-attr]
    del asked, batch, field
    assert held() is None, "a ring of references holds it"


def test_gradients_of_gradients_are_those_of_all() -> None:
    found = []
    for is_left_out in (True, False):
        model, asked = model_of(GAT, {"dropout": 0.0}), objective(is_sparse=False)
        data: Any = asked.data
        field = receptive_field_of(model, data.edge_index, asked.rows, N_NODES)
        assert field is not None
        model, data.x = model.double(), data.x.double()
        if is_left_out:
            data.layer_edges = field.edges
        out = model(data)[field.rows if is_left_out else asked.rows]
        first = torch.autograd.grad(out.square().sum(), list(model.parameters()), create_graph=True)
        sum(one.square().sum() for one in first).backward()  # type: ignore[union-attr]
        found.append([one.grad for one in model.parameters()])
    torch.testing.assert_close(*found)


def hooked(model: nn.Module) -> nn.Module:
    model.activation.register_forward_hook(lambda *_: None)  # type: ignore[union-attr]
    return model


class OwnNet(nn.Module):
    """A model of somebody else's, which has a chain of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.first = GCNConv(WIDTH, N_CLASSES)

    def chain(self) -> list[nn.Module]:
        return [self.first]


@pytest.mark.parametrize(
    "make",
    [
        lambda: model_of(GCN, {"norm": "batch"}),
        lambda: model_of(GCN, {"jumping": "cat"}),
        lambda: model_of(GCN, {"act": "tanh", "dropout": 0.5}),
        lambda: model_of(NodeGIN, {}),
        lambda: model_of(MLP, {}),
        lambda: release(model_of(GAT, {})),
        lambda: hooked(model_of(GAT, {})),
        lambda: model_of(GAT, {}).double(),
        lambda: accelerate(OwnNet()),
    ],
)
def test_models_with_more_to_them_see_all_nodes(make: Any) -> None:
    asked = objective(is_sparse=True)
    assert receptive_field_of(make(), asked.data.edge_index, asked.rows, N_NODES) is None


def test_where_most_nodes_count_none_is_left_out() -> None:
    data = graph(is_sparse=True)
    assert receptive_field_of(model_of(GCN, {}), data.edge_index, torch.arange(260), N_NODES) is None
    field = receptive_field_of(model_of(GCN, {}), data.edge_index, torch.arange(200), N_NODES)
    assert field is not None
    assert not isinstance(field.edges[0].gnz_structure, Hop)  # type: ignore[attr-defined]


def test_edges_that_may_be_written_are_all_used() -> None:
    data = graph(is_sparse=True, is_trusted=False)
    assert receptive_field_of(model_of(GCN, {}), data.edge_index, torch.arange(4), N_NODES) is None
