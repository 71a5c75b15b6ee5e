"""From rows and sizes to modules: heads, factories, hyperparameters, and the numbers they start from."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TransformerConv

from gnz_track.errors import BadValue, ModelInvalid
from gnz_track.models.adapters import LinkHead, TripleHead, multi_task_factory
from gnz_track.models.building import Sizes, build, count_parameters
from gnz_track.models.catalogue import MODELS, describe, usual_models
from gnz_track.types import TaskType

NODES, GRAPHS, NUMBERS, LINKS = TaskType.node_cls, TaskType.graph_cls, TaskType.graph_reg, TaskType.link_pred
EDGES, BOTH = TaskType.edge_cls, TaskType.multi_task
IN, HIDDEN, OUT = 7, 16, 3
SIZES = Sizes(in_channels=IN, hidden_channels=HIDDEN, out_channels=OUT, n_graph_targets=2)
USUAL = [row.name for row in usual_models()]
ENCODERS = [name for name in MODELS if MODELS.get(name).is_encoder]


def _linear(first: int, last: int) -> int:
    return first * last + last


def _gat(first: int, width: int, heads: int, *, is_joined: bool) -> int:
    return first * heads * width + 2 * heads * width + (heads * width if is_joined else width)


def _transformer(first: int, width: int, heads: int, *, is_joined: bool) -> int:
    return 3 * _linear(first, heads * width) + _linear(first, heads * width if is_joined else width)


# Parameters of an encoder of (in, hidden, out), from the papers' formulas with the published settings.
COUNTS: dict[str, Callable[[int, int, int], int]] = {
    "GCN": lambda i, h, o: _linear(i, h) + _linear(h, o),
    "GAT": lambda i, h, o: _gat(i, h, 8, is_joined=True) + _gat(8 * h, o, 1, is_joined=False),
    "GraphSAGE": lambda i, h, o: _linear(i, h) + i * h + _linear(h, o) + h * o,
    "GraphTransformer": lambda i, h, o: (
        _transformer(i, h, 4, is_joined=True) + _transformer(4 * h, o, 1, is_joined=False)
    ),
    "MLP": lambda i, h, o: _linear(i, h) + _linear(h, o),
    # No width: one map of the features after the hops.
    "SGC": lambda i, _, o: _linear(i, o),
    # Two terms each, without a bias of their own.
    "ChebNet": lambda i, h, o: 2 * i * h + h + 2 * h * o + o,
    # Four heads share the hidden width; of the last layer each is as wide as the codes.
    "AveragedGAT": lambda i, h, o: _gat(i, h // 4, 4, is_joined=True) + _gat(h, o, 4, is_joined=False),
    "NodeGIN": lambda i, h, o: _linear(i, h) + _linear(h, h) + _linear(h, o) + _linear(o, o),
    # Four bases, and a weight of each.
    "EGC": lambda i, h, o: 4 * i * h + _linear(i, 4) + h + 4 * h * o + _linear(h, 4) + o,
    # Messages of both ends, then a node beside what it was told, then its codes.
    "PNA": lambda i, h, o: (
        _linear(2 * i, i) + _linear(2 * i, h) + _linear(h, h) + _linear(2 * h, h) + _linear(2 * h, o) + _linear(o, o)
    ),
}


def test_every_encoder_has_its_formula() -> None:
    assert sorted(ENCODERS) == sorted(COUNTS)


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_are_as_many_as_the_formulas_say(name: str) -> None:
    row, count = MODELS.get(name), COUNTS[name]
    assert count_parameters(build(row, NODES, SIZES)) == count(IN, HIDDEN, OUT)
    for task_type in (GRAPHS, NUMBERS):
        assert count_parameters(build(row, task_type, SIZES)) == count(IN, HIDDEN, HIDDEN) + _linear(HIDDEN, OUT)
    assert count_parameters(build(row, LINKS, SIZES)) == count(IN, HIDDEN, HIDDEN)
    relational = Sizes(in_channels=IN, hidden_channels=HIDDEN, out_channels=HIDDEN, n_relations=5)
    assert count_parameters(build(row, LINKS, relational)) == count(IN, HIDDEN, HIDDEN) + 5 * HIDDEN
    categorical = Sizes(in_channels=2, hidden_channels=HIDDEN, out_channels=OUT, vocabulary=(4, 9))
    assert count_parameters(build(row, NODES, categorical)) == count(HIDDEN, HIDDEN, OUT) + 13 * HIDDEN


def test_parameters_of_gin_are_as_many_as_the_formula_says() -> None:
    def layer(width: int) -> int:
        return _linear(width, HIDDEN) + 2 * HIDDEN + _linear(HIDDEN, HIDDEN) + 1

    expected = layer(IN) + 2 * layer(HIDDEN) + _linear(HIDDEN, OUT)
    assert count_parameters(build(MODELS.get("GIN"), GRAPHS, SIZES)) == expected
    assert count_parameters(build(MODELS.get("GIN"), GRAPHS, SIZES, options={"n_layers": 2})) == expected - layer(
        HIDDEN
    )


def test_frozen_parameters_do_not_count() -> None:
    model = nn.Linear(3, 2)
    model.bias.requires_grad_(requires_grad=False)
    assert count_parameters(model) == 6


def _perceptron(first: int, last: int) -> nn.Module:
    return nn.Sequential(nn.Linear(first, last), nn.BatchNorm1d(last), nn.ReLU(), nn.Linear(last, last), nn.ReLU())


# The same layers by PyG, constructed in the order of the published code.
PLAIN: dict[str, Callable[[int, int, int], Iterator[nn.Module]]] = {
    "GCN": lambda i, h, o: (GCNConv(*widths) for widths in ((i, h), (h, o))),
    "GAT": lambda i, h, o: (
        GATConv(first, width, heads=heads, concat=heads > 1, dropout=0.6)
        for first, width, heads in ((i, h, 8), (8 * h, o, 1))
    ),
    "GraphSAGE": lambda i, h, o: (SAGEConv(*widths) for widths in ((i, h), (h, o))),
    "GraphTransformer": lambda i, h, o: (
        TransformerConv(first, width, heads=heads, concat=heads > 1, dropout=0.1)
        for first, width, heads in ((i, h, 4), (4 * h, o, 1))
    ),
    "MLP": lambda i, h, o: (nn.Linear(*widths) for widths in ((i, h), (h, o))),
}


def _assert_same_start(found: nn.Module, expected: list[nn.Module]) -> None:
    parameters = [parameter for module in expected for parameter in module.parameters()]
    assert [p.shape for p in found.parameters()] == [p.shape for p in parameters]
    assert all(map(torch.equal, found.parameters(), parameters))


@pytest.mark.parametrize("name", PLAIN)
def test_models_start_where_the_published_ones_do(name: str) -> None:
    torch.manual_seed(11)
    expected = list(PLAIN[name](IN, HIDDEN, OUT))
    torch.manual_seed(11)
    _assert_same_start(build(MODELS.get(name), NODES, SIZES), expected)
    torch.manual_seed(11)
    expected = [*PLAIN[name](IN, HIDDEN, HIDDEN), nn.Linear(HIDDEN, OUT)]
    torch.manual_seed(11)
    _assert_same_start(build(MODELS.get(name), GRAPHS, SIZES), expected)


def test_gin_starts_where_the_published_one_does() -> None:
    torch.manual_seed(11)
    expected: list[nn.Module] = [GINConv(_perceptron(width, HIDDEN), train_eps=True) for width in (IN, HIDDEN, HIDDEN)]
    expected.append(nn.Linear(HIDDEN, OUT))
    torch.manual_seed(11)
    _assert_same_start(build(MODELS.get("GIN"), GRAPHS, SIZES), expected)


def test_relations_start_after_the_encoder() -> None:
    torch.manual_seed(11)
    expected = [*PLAIN["GCN"](IN, HIDDEN, HIDDEN), nn.Embedding(5, HIDDEN)]
    torch.manual_seed(11)
    sizes = Sizes(in_channels=IN, hidden_channels=HIDDEN, out_channels=HIDDEN, n_relations=5)
    _assert_same_start(build(MODELS.get("GCN"), LINKS, sizes), expected)


def _graph(n_nodes: int = 6, width: int = IN, seed: int = 0) -> Data:
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(n_nodes, (2, 12), generator=generator)
    return Data(x=torch.randn(n_nodes, width, generator=generator), edge_index=edges)


@pytest.mark.parametrize("name", USUAL)
def test_models_answer_in_the_shape_of_their_task(name: str) -> None:
    row = MODELS.get(name)
    graph, batch = _graph(), Batch.from_data_list([_graph(4), _graph(5), _graph(1)])
    for task_type in row.task_types:
        model = build(row, task_type, SIZES).eval()
        if task_type in (GRAPHS, NUMBERS):
            assert model(batch).shape == (3, OUT)
        elif task_type.unit == "node":
            assert model(graph).shape == (6, OUT)
        elif task_type.unit == "edge":
            assert model(_labelled(graph)).shape == (4, OUT)
        elif task_type is BOTH:
            assert [out.shape for out in model(batch)] == [(10, OUT), (3, 2)]
        else:
            codes = model.encode(graph)
            pairs = torch.tensor([[0, 1], [2, 5]])
            assert codes.shape == (6, HIDDEN)
            torch.testing.assert_close(model.decode(codes, pairs), (codes[pairs[0]] * codes[pairs[1]]).sum(1))


def _labelled(graph: Data, n_features: int = 0) -> Data:
    graph.edge_label_index = torch.tensor([[0, 1, 2, 5], [1, 2, 0, 3]])
    if n_features:
        graph.edge_label_attr = torch.rand(4, n_features, generator=torch.Generator().manual_seed(1))
    return graph


def _edge_sizes(**changes: Any) -> Sizes:
    return replace(SIZES, **changes)


def test_undirected_edges_have_no_order_and_directed_ones_have() -> None:
    graph = _labelled(_graph())
    turned = graph.clone()
    turned.edge_label_index = graph.edge_label_index.flip(0)
    for is_directed in (False, True):
        model = build(MODELS.get("GCN"), EDGES, _edge_sizes(is_directed=is_directed)).eval()
        assert torch.equal(model(graph), model(turned)) is not is_directed


@pytest.mark.parametrize("name", ENCODERS)
def test_features_of_edges_reach_every_head(name: str, users: ModuleType) -> None:
    graph = _labelled(_graph(), n_features=2)
    other = graph.clone()
    other.edge_label_attr = graph.edge_label_attr.clone()
    other.edge_label_attr[1] += 1
    own = describe((users.Silent, {"edge_cls"}, multi_task_factory(users.Silent)))
    for row in (MODELS.get(name), own):
        model = build(row, EDGES, _edge_sizes(n_edge_features=2)).eval()
        differs = (model(graph) != model(other)).any(dim=1)
        assert differs.tolist() == [False, True, False, False]


def test_parameters_of_a_head_for_edges() -> None:
    for name, n_features in itertools.product(COUNTS, (0, 3)):
        model = build(MODELS.get(name), EDGES, _edge_sizes(n_edge_features=n_features))
        head = _linear(2 * HIDDEN + n_features, HIDDEN) + _linear(HIDDEN, OUT)
        assert count_parameters(model) == COUNTS[name](IN, HIDDEN, HIDDEN) + head


def test_a_model_of_ones_own_answers_for_edges_itself(users: ModuleType) -> None:
    model = build(describe((users.Silent, "edge_cls")), EDGES, SIZES)
    assert type(model) is users.Silent


def test_heads_score_the_pairs_that_come_with_the_graph() -> None:
    data = _graph()
    data.edge_label_index, data.edge_type = torch.tensor([[0, 1], [2, 3]]), torch.tensor([1, 0])
    link = build(MODELS.get("MLP"), LINKS, SIZES).eval()
    assert torch.equal(link(data), link.decode(link.encode(data), data.edge_label_index))
    sizes = Sizes(in_channels=IN, hidden_channels=HIDDEN, out_channels=HIDDEN, n_relations=2)
    triple = build(MODELS.get("MLP"), LINKS, sizes).eval()
    codes = triple.encode(data)
    expected = (codes[[0, 1]] * triple.relations.weight[[1, 0]] * codes[[2, 3]]).sum(1)
    torch.testing.assert_close(triple(data), expected)


CATEGORICAL = replace(SIZES, in_channels=2, vocabulary=(4, 9))


def _categories(dtype: torch.dtype = torch.int64) -> Data:
    data = _graph()
    data.x = torch.tensor([[0, 8], [3, 0], [1, 1], [2, 2], [0, 5], [3, 7]], dtype=dtype)
    return data


@pytest.mark.parametrize("name", USUAL)
def test_every_model_takes_categories(name: str, users: ModuleType) -> None:
    row = MODELS.get(name)
    data = _labelled(Batch.from_data_list([_categories(), _categories()]))
    for task_type in row.task_types:
        model = build(row, task_type, CATEGORICAL).eval()
        answer = model.encode(data) if task_type is LINKS else model(data)
        answer = answer[1] if task_type is BOTH else answer
        assert answer.requires_grad
        (gradient,) = torch.autograd.grad(answer.sum(), [p for p in model.parameters() if p.shape == (9, HIDDEN)])
        assert gradient.any()
    own = build(describe(users.Links), LINKS, CATEGORICAL)
    assert own.decode(own.encode(data), torch.tensor([[0], [6]])).item() == 0.0


def test_a_link_model_of_ones_own_keeps_its_decoder(users: ModuleType) -> None:
    model = build(describe(users.Links), LINKS, SIZES)
    codes = model.encode(_graph())
    assert codes.shape == (6, OUT)
    assert model.decode(codes, torch.tensor([[0, 0], [0, 1]]))[0] == 0


def test_relations_take_the_place_of_a_decoder_of_ones_own(users: ModuleType) -> None:
    sizes = Sizes(in_channels=IN, hidden_channels=HIDDEN, out_channels=HIDDEN, n_relations=2)
    model = build(describe(users.Links), LINKS, sizes)
    assert isinstance(model, TripleHead)
    assert model.encode(_graph()).shape == (6, HIDDEN)


def test_a_bare_encoder_gets_the_usual_link_head(users: ModuleType) -> None:
    model = build(describe((users.Silent, "link_pred")), LINKS, SIZES)
    assert isinstance(model, LinkHead)
    assert model.encode(_graph()).shape == (6, OUT)


@pytest.fixture
def calls(users: ModuleType) -> list[Any]:
    users.CALLS.clear()
    return users.CALLS  # type: ignore[no-any-return]


def test_factories_are_told_the_task_if_they_ask(users: ModuleType, calls: list[Any]) -> None:
    task_types = {"node_cls", "graph_cls"}
    plain, asking = (describe((users.Silent, task_types, factory)) for factory in (users.make, users.make_for))
    assert build(plain, GRAPHS, SIZES).linear.out_features == OUT + 1  # type: ignore[union-attr]
    assert build(asking, GRAPHS, SIZES).linear.out_features == OUT + 2  # type: ignore[union-attr]
    assert calls == [None, GRAPHS]


def test_an_error_within_a_factory_is_seen_and_it_is_not_called_again(users: ModuleType, calls: list[Any]) -> None:
    row = describe((users.Silent, {"node_cls"}, users.make_wrongly))
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        build(row, NODES, SIZES)
    assert caught.traceback[-1].name == "make_wrongly"
    assert calls == [NODES]


def test_what_is_not_a_module_is_refused(users: ModuleType) -> None:
    with pytest.raises(ModelInvalid, match=r"'Silent' cannot be used: it built a str; return a torch\.nn\.Module"):
        build(describe((users.Silent, {"node_cls"}, users.make_text)), NODES, SIZES)


HYPERPARAMETERS = {
    "GAT": ({"heads": 2, "dropout": 0.1}, "n_layers, heads, dropout, norm, jumping"),
    "GCN": ({}, "n_layers, dropout, norm, jumping"),
    "GIN": ({"n_layers": 1}, "n_layers, dropout, norm, jumping"),
    "MLP": ({"dropout": 0.0}, "n_layers, dropout, norm, jumping"),
}


@pytest.mark.parametrize(("name", "options", "allowed"), [(n, *item) for n, item in HYPERPARAMETERS.items()])
def test_hyperparameters_are_keywords_of_the_constructor(name: str, options: dict[str, Any], allowed: str) -> None:
    row = MODELS.get(name)
    task_type = row.task_types[-1]
    assert isinstance(build(row, task_type, SIZES, options=options), nn.Module)
    for wrong in ("headz", "task_type", "in_channels"):
        with pytest.raises(BadValue, match=f"hyperparameter of {name} is '{wrong}'; allowed: {allowed}"):
            build(row, task_type, SIZES, options={**options, wrong: 1})


def test_hyperparameters_of_models_of_ones_own(users: ModuleType) -> None:
    assert build(describe(users.Net), NODES, SIZES, options={"scale": 3.0}).scale == 3.0  # type: ignore[union-attr]
    with pytest.raises(BadValue, match="hyperparameter of Net is 'shape'; allowed: scale"):
        build(describe(users.Net), NODES, SIZES, options={"shape": 3.0})
    assert build(describe(users.Open), NODES, SIZES, options={"any": 1}).options == {"any": 1}  # type: ignore[union-attr]
    encoder = describe((users.Net, {"graph_cls"}, multi_task_factory(users.Net)))
    assert build(encoder, GRAPHS, SIZES, options={"scale": 2.0}).encoder.scale == 2.0  # type: ignore[union-attr]


def test_the_task_type_is_no_hyperparameter(users: ModuleType) -> None:
    row = describe((users.Silent, {"node_cls"}, users.make_for))
    with pytest.raises(BadValue, match="hyperparameter of Silent is 'task_type'; allowed: none"):
        build(row, NODES, SIZES, options={"task_type": "graph_cls"})


def test_hyperparameters_reach_the_layers() -> None:
    model = build(MODELS.get("GAT"), NODES, SIZES, options={"heads": 3, "dropout": 0.25})
    assert (model.first.heads, model.first.dropout, model.second.dropout, model.dropout.p) == (3, 0.25, 0.25, 0.25)


@pytest.mark.parametrize("name", ["GAT", "GraphSAGE", "GraphTransformer", "MLP"])
def test_dropout_is_on_while_training_only(name: str) -> None:
    model, data = build(MODELS.get(name), NODES, SIZES), _graph()
    outputs: list[Tensor] = [model(data) for _ in range(2)]
    assert not torch.equal(*outputs)
    model.eval()
    assert torch.equal(model(data), model(data))


def test_gcn_drops_nothing() -> None:
    model, data = build(MODELS.get("GCN"), NODES, SIZES), _graph()
    assert torch.equal(model(data), model(data))


def test_a_perceptron_sees_no_edge() -> None:
    model, data = build(MODELS.get("MLP"), NODES, SIZES).eval(), _graph()
    expected = model(data)
    data.edge_index = data.edge_index[:, :0]
    assert torch.equal(model(data), expected)
