"""Deep networks: each layer against another way to compute it, and what all of them keep whatever their layers do."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GMMConv, SAGEConv
from torch_geometric.utils import to_dense_adj

from gnz_track.errors import BadValue
from gnz_track.models.building import build
from gnz_track.models.catalogue import MODELS, usual_models
from gnz_track.models.deep.dense import DenseNetwork, equivariant_basis
from gnz_track.models.deep.network import DeepNetwork, softmax_to
from gnz_track.models.options import Sizes
from gnz_track.registry import import_target
from gnz_track.types import TaskType

NODES, GRAPHS, NUMBERS, LINKS = TaskType.node_cls, TaskType.graph_cls, TaskType.graph_reg, TaskType.link_pred
EDGES, BOTH = TaskType.edge_cls, TaskType.multi_task
IN, HIDDEN, OUT, EDGE_IN, POSITIONS = 5, 8, 3, 2, 4
SIZES = Sizes(
    in_channels=IN,
    hidden_channels=HIDDEN,
    out_channels=OUT,
    edge_channels=EDGE_IN,
    n_encoding=POSITIONS,
    n_graph_targets=2,
    n_nodes=15,
)
DEEP = [
    name for name in MODELS if import_target(MODELS.get(name).target).__module__.startswith("gnz_track.models.deep.")
]
ON_GRAPHS = [name for name in DEEP if GRAPHS in MODELS.get(name).task_types]
BLIND = {"DeepMLP", "MatrixFactorisation"}
DENSE = ("RingGNN", "ThreeWLGNN")


def _graph(n_nodes: int, seed: int = 0, *, is_directed: bool = False) -> Data:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(n_nodes, (2, 2 * n_nodes), generator=generator)
    edges = edges[:, edges[0] != edges[1]]
    edges = torch.unique(edges if is_directed else torch.cat([edges, edges.flip(0)], dim=1), dim=1)
    return Data(
        x=torch.randn(n_nodes, IN, generator=generator),
        edge_index=edges,
        edge_attr=torch.randn(edges.size(1), EDGE_IN, generator=generator),
        encoding=torch.randn(n_nodes, POSITIONS, generator=generator),
        edge_label_index=edges[:, ::3],
    )


def _make(name: str, task_type: TaskType = NODES, sizes: Sizes = SIZES, **options: Any) -> Any:
    torch.manual_seed(7)
    return build(MODELS.get(name), task_type, sizes, options=options)


def _answer(model: Any, data: Data, task_type: TaskType) -> Tensor:
    if task_type is LINKS:
        return model.decode(model.encode(data), data.edge_label_index)
    out = model(data)
    return torch.cat([part.flatten() for part in out]) if task_type is BOTH else out


def _permuted(data: Data, order: Tensor) -> Data:
    """Return the same graph with node ``order[i]`` in place ``i``, and its edges in another order."""
    place = order.argsort()
    edges = torch.randperm(data.edge_index.size(1), generator=torch.Generator().manual_seed(1))
    return Data(
        x=data.x[order],
        encoding=data.encoding[order],
        edge_index=place[data.edge_index[:, edges]],
        edge_attr=data.edge_attr[edges],
        edge_label_index=place[data.edge_label_index],
    )


# Every model on every task ------------------------------------------------------------------------------------------

SHAPES = {"node": (15, OUT), "graph": (2, OUT), "edge": (-1, OUT), "link": (-1,), "both": (15 * 3 + 4,)}


@pytest.mark.parametrize("name", DEEP)
def test_every_model_answers_every_task_that_it_says_it_serves(name: str) -> None:
    batch = Batch.from_data_list([_graph(6), _graph(9, 1)])
    n_pairs = batch.edge_label_index.size(1)
    for task_type in MODELS.get(name).task_types:
        model = _make(name, task_type)
        out = _answer(model, batch, task_type)
        assert out.shape == tuple(n_pairs if size < 0 else size for size in SHAPES[task_type.unit])
        out.square().sum().backward()
        heads = [each for key, each in model.named_parameters() if "readout" in key or "heads" in key]
        assert all(each.grad is not None for each in heads)


@pytest.mark.parametrize("name", ON_GRAPHS)
def test_the_order_of_nodes_and_edges_says_nothing(name: str) -> None:
    data = _graph(9)
    order = torch.randperm(9, generator=torch.Generator().manual_seed(2))
    for task_type, compare in ((NODES, lambda out: out[order]), (EDGES, lambda out: out), (GRAPHS, lambda out: out)):
        model = _make(name, task_type).double().eval()
        first, second = (Batch.from_data_list([each]) for each in (data, _permuted(data, order)))
        first, second = (each.apply(lambda t: t.double() if t.is_floating_point() else t) for each in (first, second))
        torch.testing.assert_close(model(second), compare(model(first)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ON_GRAPHS)
def test_graphs_of_a_batch_do_not_know_each_other(name: str) -> None:
    graphs = [_graph(6), _graph(9, 1), _graph(4, 2)]
    model = _make(name, GRAPHS).eval()
    together = model(Batch.from_data_list(graphs))
    alone = torch.cat([model(Batch.from_data_list([graph])) for graph in graphs])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", [name for name in ON_GRAPHS if name not in BLIND])
def test_models_see_edges_and_those_with_edge_features_see_these(name: str) -> None:
    data = Batch.from_data_list([_graph(9)])
    model = _make(name, GRAPHS).eval()
    fewer, other = copy.copy(data), copy.copy(data)
    fewer.edge_index, fewer.edge_attr = data.edge_index[:, 1:], data.edge_attr[1:]
    other.edge_attr = data.edge_attr + 1
    read = model if name in DENSE else model.encode
    assert not torch.allclose(read(data), read(fewer))
    has_features = MODELS.get(name).options.get("edge_features", False)
    assert torch.equal(read(data), read(other)) is not has_features


def test_the_mlp_sees_no_edge() -> None:
    data = Batch.from_data_list([_graph(9)])
    model, other = _make("DeepMLP", GRAPHS).eval(), copy.copy(data)
    other.edge_index = data.edge_index[:, :1]
    assert torch.equal(model(data), model(other))


# Layers against other ways to compute them --------------------------------------------------------------------------


def _layer(name: str, **options: Any) -> Any:
    return _make(name, n_layers=2, **options).layers[0].convolution.double()


def _dense(data: Data) -> Tensor:
    """Return ``A[i, j] = 1`` where an edge leads from ``j`` to ``i``."""
    return to_dense_adj(data.edge_index, max_num_nodes=data.num_nodes)[0].t().double()


@pytest.fixture
def codes() -> tuple[Tensor, Tensor, Data]:
    """Return codes of nodes and edges of a directed graph whose last node no edge enters or leaves."""
    data = _graph(9, is_directed=True)
    data.x, data.num_nodes = None, 10
    generator = torch.Generator().manual_seed(5)
    h = torch.randn(10, HIDDEN, generator=generator, dtype=torch.float64)
    return h, torch.randn(data.edge_index.size(1), HIDDEN, generator=generator, dtype=torch.float64), data


def test_gcn_is_the_normalised_adjacency_matrix_without_loops(codes: tuple[Tensor, Tensor, Data]) -> None:
    h, _, data = codes
    layer, adjacency = _layer("DeepGCN"), _dense(data)
    leaving, entering = adjacency.sum(0).clamp(min=1), adjacency.sum(1).clamp(min=1)
    expected = (adjacency / entering.sqrt()[:, None] / leaving.sqrt()) @ h @ layer.linear.weight.t() + layer.bias
    torch.testing.assert_close(layer(h, None, data)[0], expected)


def test_mean_gcn_is_the_mean_over_neighbours(codes: tuple[Tensor, Tensor, Data]) -> None:
    h, _, data = codes
    layer, adjacency = _layer("DeepMeanGCN"), _dense(data)
    expected = layer.linear(adjacency @ h / adjacency.sum(1, keepdim=True).clamp(min=1))
    torch.testing.assert_close(layer(h, None, data)[0], expected)


def test_max_pooling_is_that_of_pyg_but_for_the_last_relu(codes: tuple[Tensor, Tensor, Data]) -> None:
    h, _, data = codes
    layer = _layer("DeepGraphSAGE")
    published = SAGEConv(HIDDEN, HIDDEN, aggr="max", project=True, normalize=True).double()
    with torch.no_grad():
        published.lin.weight.copy_(layer.pool.weight)
        published.lin.bias.copy_(layer.pool.bias)
        published.lin_r.weight.copy_(layer.join.weight[:, :HIDDEN])
        published.lin_l.weight.copy_(layer.join.weight[:, HIDDEN:])
        published.lin_l.bias.copy_(layer.join.bias)
    torch.testing.assert_close(layer(h, None, data)[0], published(h, data.edge_index).relu())


def test_kernels_are_those_of_pyg(codes: tuple[Tensor, Tensor, Data]) -> None:
    h, _, data = codes
    layer = _layer("MoNet")
    published = GMMConv(HIDDEN, HIDDEN, dim=2, kernel_size=3, aggr="add", bias=False).double()
    entering = _dense(data).sum(1)
    pseudo = torch.stack([(entering[end] + 1).rsqrt() for end in data.edge_index], dim=1)
    with torch.no_grad():
        published.g.copy_(layer.maps.weight.t())
        published.mu.copy_(layer.means)
        published.sigma.copy_(1 / layer.inverse_widths)
        published.root.weight.zero_()
    expected = published(h, data.edge_index, layer.coordinates(pseudo).tanh())
    torch.testing.assert_close(layer(h, None, data)[0], expected)


def test_gates_sum_to_one_and_edges_keep_what_made_them(codes: tuple[Tensor, Tensor, Data]) -> None:
    h, e, data = codes
    layer = _layer("GatedGCN")
    a, b = layer.of_itself, layer.of_neighbours
    c, d, f = layer.gate_of_edge, layer.gate_of_source, layer.gate_of_target
    new_h, new_e = layer(h, e, data)
    for edge, (source, target) in enumerate(data.edge_index.t().tolist()):
        torch.testing.assert_close(new_e[edge], c(e[edge]) + d(h[source]) + f(h[target]))
    for node in range(10):
        entering = [k for k, target in enumerate(data.edge_index[1].tolist()) if target == node]
        gates = [new_e[k].sigmoid() for k in entering]
        total = sum(gates, torch.zeros(HIDDEN, dtype=torch.float64))
        sent = [gate / (total + 1e-6) * b(h[data.edge_index[0, k]]) for k, gate in zip(entering, gates, strict=True)]
        torch.testing.assert_close(new_h[node], a(h[node]) + sum(sent, torch.zeros_like(total)))


def test_without_gates_messages_are_summed(codes: tuple[Tensor, Tensor, Data]) -> None:
    h, _, data = codes
    layer = _layer("GatedGCN-iso")
    expected = layer.of_itself(h) + _dense(data) @ layer.of_neighbours(h)
    torch.testing.assert_close(layer(h, None, data)[0], expected)


def test_gates_of_both_ends_are_those_of_an_edge_that_says_nothing(codes: tuple[Tensor, Tensor, Data]) -> None:
    h, e, data = codes
    whole, ends = _layer("GatedGCN"), _layer("GatedGCN-feat")
    with torch.no_grad():
        whole.gate_of_edge.weight.zero_()
        whole.gate_of_edge.bias.zero_()
    ends.load_state_dict({name: value for name, value in whole.state_dict().items() if "gate_of_edge" not in name})
    torch.testing.assert_close(ends(h, None, data)[0], whole(h, e, data)[0])


def test_attention_by_edges_is_that_of_its_formula(codes: tuple[Tensor, Tensor, Data]) -> None:
    _, __, data = codes
    layer, heads = _layer("DeepGAT-repr"), 8
    generator = torch.Generator().manual_seed(6)
    h = torch.randn(10, heads * HIDDEN, generator=generator, dtype=torch.float64)
    e = torch.randn(data.edge_index.size(1), heads * HIDDEN, generator=generator, dtype=torch.float64)
    new_h, new_e = layer(h, e, data)
    for head in range(heads):
        part = slice(head * HIDDEN, (head + 1) * HIDDEN)
        nodes, edges = layer.of_nodes(h)[:, part], layer.of_edges(e)[:, part]
        parts = [torch.cat([edges[k], nodes[s], nodes[t]]) for k, (s, t) in enumerate(data.edge_index.t().tolist())]
        scores = [math.exp(functional.leaky_relu(layer.score[head](z), 0.2).item()) for z in parts]
        torch.testing.assert_close(new_e[:, part], torch.stack([layer.renew[head](z) for z in parts]))
        for node in range(10):
            entering = [k for k, target in enumerate(data.edge_index[1].tolist()) if target == node]
            total = sum(scores[k] for k in entering)
            sent = [scores[k] / total * nodes[data.edge_index[0, k]] for k in entering]
            torch.testing.assert_close(new_h[node, part], sum(sent, torch.zeros(HIDDEN, dtype=torch.float64)))


def test_weights_of_large_scores_sum_to_one() -> None:
    targets = torch.tensor([0, 0, 2])
    weights = softmax_to(torch.tensor([[1e4, -1e4], [1e4, 3.0], [-1e4, 0.0]]), targets, 3)
    assert weights.tolist() == [[0.5, 0.0], [0.5, 1.0], [1.0, 1.0]]


def test_a_layer_norms_bends_adds_and_drops() -> None:
    data = _graph(9)
    model = _make("DeepGCN", dropout=0.5)
    h, layer = model.nodes(data), model.layers[0]
    inner = layer.convolution(h, None, data)[0]
    mean, variance = inner.mean(0), inner.var(0, unbiased=False)
    torch.manual_seed(1)
    found = layer(h, None, data)[0]
    torch.manual_seed(1)
    expected = functional.dropout(h + ((inner - mean) / (variance + 1e-5).sqrt()).relu(), 0.5)
    torch.testing.assert_close(found, expected)
    assert layer.eval()(h, None, data)[0].ne(0).all()


# Read-outs and inputs -----------------------------------------------------------------------------------------------


def test_gin_sums_the_answers_of_all_layers() -> None:
    batch = Batch.from_data_list([_graph(6), _graph(9, 1)])
    model = _make("DeepGIN", GRAPHS).eval()
    codes = model.encode(batch).split(HIDDEN, dim=1)
    sums = [torch.stack([part[:6].sum(0), part[6:].sum(0)]) for part in codes]
    heads = model.readout.head.heads
    expected = sum(head(each) for head, each in zip(heads, sums, strict=True))
    assert len(heads) == 5
    torch.testing.assert_close(model(batch), expected)


def test_gin_reads_pairs_layer_by_layer() -> None:
    data = _graph(9)
    model = _make("DeepGIN", LINKS).eval()
    codes, pairs = model.encode(data), data.edge_label_index
    parts = zip(model.readout.head.heads, codes.split(HIDDEN, dim=1), strict=True)
    expected = sum(head(torch.cat([part[pairs[0]], part[pairs[1]]], dim=1)) for head, part in parts)
    torch.testing.assert_close(model.decode(codes, pairs), expected.squeeze(1))


def test_categories_are_embedded_and_positions_added_or_alone() -> None:
    data = _graph(6)
    data.x = torch.tensor([[0, 1], [2, 0], [1, 1], [0, 0], [2, 1], [1, 0]])
    model = _make("DeepGCN", sizes=Sizes(**{**vars(SIZES), "vocabulary": (3, 2), "in_channels": 2}))
    first, second = model.nodes.features.tables
    expected = first(data.x[:, 0]) + second(data.x[:, 1]) + model.nodes.encoding(data.encoding)
    torch.testing.assert_close(model.nodes(data), expected)
    alike = _make("DeepGCN", sizes=Sizes(**{**vars(SIZES), "vocabulary": (1,), "in_channels": 1}))
    assert alike.nodes.features is None
    torch.testing.assert_close(alike.nodes(data), alike.nodes.encoding(data.encoding))


def test_categories_of_edges_are_embedded() -> None:
    data = _graph(6)
    data.edge_attr = torch.arange(data.edge_index.size(1)) % 4
    model = _make("GatedGCN-E", sizes=Sizes(**{**vars(SIZES), "edge_vocabulary": (4,), "edge_channels": 1}))
    torch.testing.assert_close(model.edges(data), model.edges.features.tables[0].weight[data.edge_attr])


@pytest.mark.parametrize("name", ["GatedGCN-E", "DeepGAT-E", "DeepGraphSAGE-E", "GPS-E"])
def test_edge_features_that_are_not_there_are_an_error(name: str) -> None:
    with pytest.raises(BadValue, match="edge_features is True; allowed: False"):
        _make(name, sizes=Sizes(**{**vars(SIZES), "edge_channels": 0}))


@pytest.mark.parametrize("name", ["DeepGCN", "DeepMeanGCN", "DeepGIN", "DeepGAT", "GatedGCN", "DeepGraphSAGE"])
@pytest.mark.parametrize(("norm", "residual"), [("batch", False), ("none", True), ("none", False)])
def test_layers_without_norm_and_sum_are_the_bent_convolution(name: str, norm: str, *, residual: bool) -> None:
    model, data = _make(name, norm=norm, residual=residual), _graph(6)
    h, e = model.nodes(data), model.edges(data) if model.edges is not None else None
    layer = model.layers[0]
    new_h, new_e = layer.convolution(h, e, data)
    if norm == "batch":
        new_h = (new_h - new_h.mean(0)) / (new_h.var(0, correction=0) + 1e-5).sqrt()
        new_e = (new_e - new_e.mean(0)) / (new_e.var(0, correction=0) + 1e-5).sqrt() if e is not None else None
    new_h = layer.bend(new_h) if layer.bends_nodes else new_h
    found_h, found_e = layer(h, e, data)
    torch.testing.assert_close(found_h, h + new_h if residual else new_h)
    if e is not None:
        torch.testing.assert_close(found_e, e + layer.bend(new_e) if residual else layer.bend(new_e))
    has_norms = any(isinstance(module, torch.nn.BatchNorm1d) for module in layer.children())
    assert has_norms == (norm == "batch")


@pytest.mark.parametrize("name", ["DeepMLP", "GPS"])
@pytest.mark.parametrize("options", [{"norm": "none"}, {"residual": True}])
def test_networks_with_layers_of_their_own_have_neither_option(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(BadValue, match=f"hyperparameter of {name} is"):
        _make(name, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"norm": "layer"}, "norm is 'layer'; allowed: batch, none"),
        ({"residual": 1}, "residual is 1; allowed: true or false"),
        ({"edge_repr": "edges"}, "edge_repr is 'edges'; allowed: isotropic, edge_feat, edge_repr"),
        ({"edge_repr": "isotropic", "edge_features": True}, "edge_features is True"),
        ({"n_layers": 0}, "n_layers is 0"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"readout": "median"}, "readout is 'median'; allowed: mean, sum, max"),
    ],
)
def test_options_that_do_not_exist_are_errors(options: dict[str, Any], said: str) -> None:
    with pytest.raises(BadValue, match=said):
        _make("GatedGCN", **options)


# What can be told apart ---------------------------------------------------------------------------------------------


def _circle(skip: int, n: int = 41, seed: int = 0) -> Data:
    order = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    first = torch.arange(n).repeat(2)
    second = (first + torch.tensor([1, skip]).repeat_interleave(n)) % n
    pairs = torch.stack([order[first], order[second]])
    return Data(x=torch.zeros(n, 1, dtype=torch.int64), edge_index=torch.cat([pairs, pairs.flip(0)], dim=1))


SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
ALIKE = Sizes(in_channels=1, hidden_channels=HIDDEN, out_channels=10, vocabulary=(1,))
WEAK = [name for name in ON_GRAPHS if name not in DENSE and not name.endswith("-E")]


@pytest.mark.parametrize("name", WEAK)
def test_circles_with_skip_links_are_all_alike_without_positions(name: str) -> None:
    # In training, a norm divides by a spread that is nothing but rounding; where there are many, it becomes visible.
    model = _make(name, GRAPHS, ALIKE).double().train(name in ("DeepGCN", "GatedGCN"))
    answers = model(Batch.from_data_list([_circle(skip, seed=skip) for skip in SKIPS]))
    torch.testing.assert_close(answers, answers[:1].expand(10, 10), rtol=0, atol=1e-9)


def test_products_of_matrices_tell_circles_apart() -> None:
    model = _make("ThreeWLGNN", GRAPHS, ALIKE).double()
    answers = model(Batch.from_data_list([_circle(skip, n=13, seed=skip) for skip in (2, 3)]))
    assert (answers[0] - answers[1]).abs().max() > 1e-6
    again = model(Batch.from_data_list([_circle(2, n=13, seed=9)]))
    torch.testing.assert_close(answers[:1], again)


# Dense tensors ------------------------------------------------------------------------------------------------------


def test_the_basis_is_one_and_does_not_ask_which_node_is_which() -> None:
    h = torch.randn(2, 6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    basis = equivariant_basis(h)
    assert basis.shape == (15, 2, 6, 6)
    assert torch.linalg.matrix_rank(basis.flatten(1)).item() == 15
    order = torch.tensor([3, 1, 5, 0, 2, 4])
    permuted = equivariant_basis(h[:, order][:, :, order])
    torch.testing.assert_close(permuted, basis[:, :, order][:, :, :, order])


@pytest.mark.parametrize("name", DENSE)
def test_the_tensor_of_a_graph_holds_edges_their_features_and_nodes(name: str) -> None:
    model = _make(name, GRAPHS, edge_features=True)
    assert isinstance(model, DenseNetwork)
    graphs = [_graph(4), _graph(6, 1)]
    pieces = list(model.pieces(Batch.from_data_list(graphs)))
    for graph, piece in zip(graphs, pieces, strict=True):
        dense = to_dense_adj(graph.edge_index, edge_attr=graph.edge_attr, max_num_nodes=graph.num_nodes)[0]
        torch.testing.assert_close(piece.tensor[0], to_dense_adj(graph.edge_index, max_num_nodes=graph.num_nodes)[0])
        torch.testing.assert_close(piece.tensor[1 : 1 + EDGE_IN], dense.permute(2, 0, 1))
        on_nodes = torch.cat([graph.x, graph.encoding], dim=1)
        torch.testing.assert_close(piece.tensor[1 + EDGE_IN :].diagonal(dim1=1, dim2=2).t(), on_nodes)
        assert torch.equal(piece.pairs, graph.edge_label_index)


def test_a_graph_too_large_for_dense_tensors_is_an_error() -> None:
    with pytest.raises(BadValue, match="nodes of a graph for RingGNN is 600; allowed: at most 512"):
        _make("RingGNN")(_graph(600))


def test_a_graph_of_one_node_has_an_answer() -> None:
    lonely = Data(
        x=torch.ones(1, IN), encoding=torch.ones(1, POSITIONS), edge_index=torch.empty(2, 0, dtype=torch.int64)
    )
    for name in ON_GRAPHS:
        if not name.endswith("-E"):
            assert _make(name, GRAPHS).eval()(Batch.from_data_list([lonely])).isfinite().all()


# The catalogue ------------------------------------------------------------------------------------------------------


def test_a_sweep_that_names_no_model_takes_the_shallow_or_under_a_budget_the_deep_ones() -> None:
    shallow, deep = ({row.name for row in usual_models(has_budget=has)} for has in (False, True))
    assert shallow == {"GCN", "GAT", "GraphSAGE", "GraphTransformer", "GIN", "MLP"}
    assert deep == {name for name in DEEP if not MODELS.get(name).options}


def test_every_deep_model_has_the_frame_or_dense_tensors() -> None:
    for name in set(ON_GRAPHS):
        assert isinstance(_make(name, GRAPHS), DeepNetwork | DenseNetwork)


def test_factorisation_needs_the_nodes_of_one_graph() -> None:
    with pytest.raises(BadValue, match="the links of one graph"):
        _make("MatrixFactorisation", LINKS, Sizes(in_channels=1, hidden_channels=4, out_channels=4))
