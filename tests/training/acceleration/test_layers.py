"""Accelerated layers against PyG's own forward: values, gradients, masks and the generator afterwards."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch
from fast_paths import watch_fast_forwards
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import APPNP, ChebConv, GATConv, GATv2Conv, GCNConv, GINConv, LEConv, SAGEConv, TransformerConv
from torch_geometric.nn import Sequential as GraphSequential

from gnz_track.training.acceleration import accelerate, attach, release

WIDTH, OUT = 5, 4
Tolerance = dict[str, float]
TOLERANCES: dict[torch.dtype, Tolerance] = {
    torch.float32: {"rtol": 1e-5, "atol": 1e-5},
    torch.float64: {"rtol": 1e-12, "atol": 1e-12},
}


def _random_edges(n_nodes: int, n_edges: int, seed: int) -> Tensor:
    return torch.randint(n_nodes, (2, n_edges), generator=torch.Generator().manual_seed(seed))


def _with_loops_and_doubles() -> Tensor:
    # Nodes 0 to 8 of 12: three are isolated; loops twice at a node, an edge three times.
    edges = _random_edges(9, 30, seed=1)
    return torch.cat([edges, torch.tensor([[2, 2, 7, 0, 0, 0], [2, 2, 7, 1, 1, 1]])], dim=1)


GRAPHS: dict[str, tuple[int, Tensor]] = {
    "loops, doubles and isolated nodes": (12, _with_loops_and_doubles()),
    "a directed chain": (6, torch.stack([torch.arange(5), torch.arange(1, 6)])),
    "both directions": (8, torch.cat([(e := _random_edges(8, 12, seed=2)), e.flip(0)], dim=1)),
    "no edges": (3, torch.zeros(2, 0, dtype=torch.int64)),
    "one node": (1, torch.zeros(2, 0, dtype=torch.int64)),
    "one node with three loops": (1, torch.zeros(2, 3, dtype=torch.int64)),
}


def _perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(WIDTH, 6), nn.ReLU(), nn.Dropout(0.3), nn.Linear(6, OUT))


def _grid(cls: type, **choices: tuple[Any, ...]) -> list[tuple[type, dict[str, Any]]]:
    return [(cls, dict(zip(choices, values, strict=True))) for values in itertools.product(*choices.values())]


BOTH = (True, False)
LAYERS = [
    *_grid(GCNConv, bias=BOTH),
    *_grid(SAGEConv, root_weight=BOTH, normalize=BOTH, bias=BOTH),
    *_grid(GINConv, eps=(0.0, 0.3), train_eps=BOTH),
    *_grid(GATConv, heads=(1, 3), concat=BOTH, dropout=(0.0, 0.6), residual=BOTH, bias=BOTH),
    *_grid(TransformerConv, heads=(1, 3), concat=BOTH, dropout=(0.0, 0.6), root_weight=BOTH, bias=BOTH),
]


def _make(cls: type, options: dict[str, Any], seed: int = 0) -> Any:
    torch.manual_seed(seed)
    layer = cls(_perceptron(), **options) if cls is GINConv else cls(WIDTH, OUT, **options)
    # Constants that start at zero hide mistakes.
    for parameter in layer.parameters():
        if parameter.dim() < 2:
            nn.init.normal_(parameter)
    return layer


def _run(model: nn.Module, x: Tensor, *inputs: Any, training: bool) -> dict[str, Any]:
    """Return the output, the gradients and the state of the generator of one pass from a fixed seed."""
    model.train(training)
    x = x.clone().requires_grad_()
    torch.manual_seed(77)
    out = model(x, *inputs)
    state = torch.get_rng_state()
    probe = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view_as(out).cos()
    gradients = torch.autograd.grad((out * probe).sum(), [x, *model.parameters()], allow_unused=True)
    return {"out": out.detach(), "gradients": gradients, "state": state}


def _assert_same(found: dict[str, Any], expected: dict[str, Any], tolerance: Tolerance) -> None:
    torch.testing.assert_close(found["out"], expected["out"], **tolerance)
    assert [g is None for g in found["gradients"]] == [g is None for g in expected["gradients"]]
    for mine, theirs in zip(found["gradients"], expected["gradients"], strict=True):
        if mine is not None:
            torch.testing.assert_close(mine, theirs, **tolerance)
    assert torch.equal(found["state"], expected["state"])


def _name(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else "-".join(f"{k}={v}" for k, v in value.items())


@pytest.mark.parametrize(("cls", "options"), LAYERS, ids=_name)
def test_layer_equals_its_own_forward(cls: type, options: dict[str, Any]) -> None:
    for dtype, tolerance in TOLERANCES.items():
        own = _make(cls, options).to(dtype)
        # Single precision differs from double precision in nothing but rounding.
        graphs = list(GRAPHS.values())[: 1 if dtype is torch.float32 else None]
        for (n_nodes, edges), training in itertools.product(graphs, BOTH):
            x = torch.randn(n_nodes, WIDTH, generator=torch.Generator().manual_seed(5)).to(dtype)
            expected = _run(own, x, edges, training=training)
            with watch_fast_forwards() as calls:
                fast = accelerate(copy.deepcopy(own))
            found = _run(fast, x, attach(edges.clone(), n_nodes), training=training)
            _assert_same(found, expected, tolerance)
            assert calls, "an accelerated layer took the ordinary path, so nothing was compared"


class _Doubling(GCNConv):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return 2 * super().forward(x, edge_index)


N_NODES, EDGES = GRAPHS["loops, doubles and isolated nodes"]
N_EDGES = EDGES.size(1)
X = torch.randn(N_NODES, WIDTH, generator=torch.Generator().manual_seed(6))
Maker = Callable[[], Any]

# What the fast forwards do not know: (layer, further arguments).
UNKNOWN: dict[str, tuple[Maker, tuple[Any, ...]]] = {
    "edge_weight": (lambda: GCNConv(WIDTH, OUT), (torch.rand(N_EDGES),)),
    "improved": (lambda: GCNConv(WIDTH, OUT, improved=True), ()),
    "cached": (lambda: GCNConv(WIDTH, OUT, cached=True), ()),
    "no loops": (lambda: GCNConv(WIDTH, OUT, add_self_loops=False), ()),
    "no normalisation": (lambda: GCNConv(WIDTH, OUT, normalize=False), ()),
    "GCN with maximum": (lambda: GCNConv(WIDTH, OUT, aggr="max"), ()),
    "GCN against the flow": (lambda: GCNConv(WIDTH, OUT, flow="target_to_source"), ()),
    "subclass": (lambda: _Doubling(WIDTH, OUT), ()),
    "SAGE with several": (lambda: SAGEConv(WIDTH, OUT, aggr=["mean", "max"]), ()),
    "SAGE with projection": (lambda: SAGEConv(WIDTH, OUT, project=True), ()),
    "SAGE against the flow": (lambda: SAGEConv(WIDTH, OUT, flow="target_to_source"), ()),
    "GCN in pieces": (lambda: GCNConv(WIDTH, OUT, decomposed_layers=2), ()),
    "size": (lambda: SAGEConv(WIDTH, OUT), ((N_NODES, N_NODES),)),
    "GIN with maximum": (lambda: GINConv(nn.Linear(WIDTH, OUT), aggr="max"), ()),
    "GIN against the flow": (lambda: GINConv(nn.Linear(WIDTH, OUT), flow="target_to_source"), ()),
    "GAT with edge features": (lambda: GATConv(WIDTH, OUT, edge_dim=2), (torch.rand(N_EDGES, 2),)),
    "GAT that may have edge features": (lambda: GATConv(WIDTH, OUT, edge_dim=2), ()),
    "GAT of pairs": (lambda: GATConv((WIDTH, WIDTH), OUT), ()),
    "GAT that drops all": (lambda: GATConv(WIDTH, OUT, dropout=1.0), ()),
    "GAT against the flow": (lambda: GATConv(WIDTH, OUT, flow="target_to_source"), ()),
    "transformer with edge features": (lambda: TransformerConv(WIDTH, OUT, edge_dim=2), (torch.rand(N_EDGES, 2),)),
    "transformer with a gate": (lambda: TransformerConv(WIDTH, OUT, beta=True), ()),
    "transformer with maximum": (lambda: TransformerConv(WIDTH, OUT, aggr="max"), ()),
    "GATv2 with edge features": (lambda: GATv2Conv(WIDTH, OUT, edge_dim=2), (torch.rand(N_EDGES, 2),)),
    "SAGE of the smallest": (lambda: SAGEConv(WIDTH, OUT, aggr="min"), ()),
    "Chebyshev with edge weights": (lambda: ChebConv(WIDTH, OUT, 2), (torch.rand(N_EDGES),)),
    "propagation with dropout": (lambda: APPNP(2, 0.1, dropout=0.3, cached=True), ()),
    "another layer": (lambda: LEConv(WIDTH, OUT), ()),
}


@pytest.mark.parametrize(("make", "more"), UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_known_takes_the_ordinary_path(make: Maker, more: tuple[Any, ...]) -> None:
    torch.manual_seed(1)
    own = make()
    with watch_fast_forwards() as calls:
        fast = accelerate(copy.deepcopy(own))
    for training in BOTH:
        expected = _run(own, X, EDGES, *more, training=training)
        found = _run(fast, X, attach(EDGES.clone(), N_NODES), *more, training=training)
        _assert_same(found, expected, {"rtol": 0.0, "atol": 0.0})
    assert not calls


def _changed_in_place() -> Tensor:
    edges = attach(EDGES.clone(), N_NODES)
    # Known already when the edges change.
    accelerate(GCNConv(WIDTH, OUT))(X, edges)
    edges[1, :10] = 11
    return edges


# Edges that no structure speaks for.
EDGES_WITHOUT_STRUCTURE: dict[str, Callable[[], Tensor]] = {
    "none attached": EDGES.clone,
    "a copy": lambda: attach(EDGES.clone(), N_NODES).clone(),
    "changed in place": _changed_in_place,
    "of another number of nodes": lambda: attach(EDGES.clone(), N_NODES - 3),
}


@pytest.mark.parametrize("make", [GCNConv, SAGEConv, GATConv, TransformerConv])
@pytest.mark.parametrize("edges", EDGES_WITHOUT_STRUCTURE.values(), ids=EDGES_WITHOUT_STRUCTURE)
def test_edges_without_a_valid_structure_take_the_ordinary_path(make: Any, edges: Callable[[], Tensor]) -> None:
    own = make(WIDTH, OUT)
    with watch_fast_forwards() as calls:
        fast = accelerate(copy.deepcopy(own))
    given = edges()
    plain = torch.tensor(given.tolist())
    _assert_same(_run(fast, X, given, training=True), _run(own, X, plain, training=True), {"rtol": 0.0, "atol": 0.0})
    assert not calls


def test_features_in_pairs_take_the_ordinary_path() -> None:
    for own in (SAGEConv(WIDTH, OUT), GATConv(WIDTH, OUT), TransformerConv(WIDTH, OUT)):
        fast = accelerate(copy.deepcopy(own))
        edges = attach(EDGES.clone(), N_NODES)
        assert torch.equal(fast((X, X), edges), own((X, X), EDGES))


def test_attention_weights_are_returned_on_request() -> None:
    own = GATConv(WIDTH, OUT, heads=2)
    fast = accelerate(copy.deepcopy(own))
    out, (_, weights) = fast(X, attach(EDGES.clone(), N_NODES), return_attention_weights=True)
    expected, (_, expected_weights) = own(X, EDGES, return_attention_weights=True)
    assert torch.equal(out, expected)
    assert torch.equal(weights, expected_weights)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_takes_the_ordinary_path(dtype: torch.dtype) -> None:
    own = GCNConv(WIDTH, OUT).to(dtype)
    fast = accelerate(copy.deepcopy(own))
    assert torch.equal(fast(X.to(dtype), attach(EDGES.clone(), N_NODES)), own(X.to(dtype), EDGES))


def test_autocast_takes_the_ordinary_path() -> None:
    own = GATConv(WIDTH, OUT)
    fast = accelerate(copy.deepcopy(own))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(fast(X, attach(EDGES.clone(), N_NODES)), own(X, EDGES))


class _UsersModel(nn.Module):
    """A layer used twice, dropout in several ways, and a perceptron."""

    def __init__(self, p: float, *, inplace: bool) -> None:
        super().__init__()
        self.first = GATConv(WIDTH, 2, heads=2, dropout=p)
        self.again = GCNConv(4, 4)
        self.drop = nn.Dropout(p, inplace=inplace)
        self.rows = nn.Dropout1d(0.2)
        self.mix = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Dropout(p), nn.Linear(6, 4))
        self.last = GraphSequential("x, edge_index", [(SAGEConv(4, 4), "x, edge_index -> x"), nn.ReLU(), nn.Dropout(p)])

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        h = self.drop(self.first(x, edge_index) * 1.5)
        h = self.again(self.again(h, edge_index).relu(), edge_index)
        h = self.drop((h * 2).t()).t() + self.rows(self.mix(h))
        return functional.dropout(self.last(h, edge_index), 0.25, training=self.training)


@pytest.mark.parametrize("inplace", BOTH)
@pytest.mark.parametrize("p", [0.0, 0.4, 1.0])
def test_models_of_users_keep_their_numbers(p: float, *, inplace: bool) -> None:
    torch.manual_seed(2)
    own = _UsersModel(p, inplace=inplace).double()
    fast = accelerate(copy.deepcopy(own))
    edges = attach(EDGES.clone(), N_NODES)
    for training in BOTH:
        expected = _run(own, X.double(), EDGES, training=training)
        _assert_same(_run(fast, X.double(), edges, training=training), expected, TOLERANCES[torch.float64])


def test_dropout_in_place_writes_into_its_input() -> None:
    drop = accelerate(nn.Dropout(0.5, inplace=True))
    x = torch.ones(20)
    out = drop(x)
    assert out is x
    assert not x.all()


def test_accelerating_leaves_parameters_and_twice_is_once() -> None:
    own = _UsersModel(0.4, inplace=False)
    fast = accelerate(copy.deepcopy(own))
    assert list(fast.state_dict()) == list(own.state_dict())
    edges = attach(EDGES.clone(), N_NODES)
    once = _run(fast, X, edges, training=True)
    _assert_same(_run(accelerate(fast), X, edges, training=True), once, {"rtol": 0.0, "atol": 0.0})


@pytest.mark.parametrize("copy_of", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_of_an_accelerated_model_have_parameters_of_their_own(copy_of: Callable[[Any], Any]) -> None:
    fast = accelerate(GCNConv(WIDTH, OUT))
    edges = attach(EDGES.clone(), N_NODES)
    before = fast(X, edges)
    other = copy_of(fast)
    with torch.no_grad():
        other.lin.weight.zero_()
    assert torch.equal(fast(X, edges), before)
    assert not other(X, edges).any()


def test_release_gives_a_model_back_as_it_was_and_frees_its_memory() -> None:
    model = torch.nn.Sequential(GCNConv(3, 4), torch.nn.Dropout(0.5))
    model[1].forward = own = torch.nn.Dropout(0.1).forward
    accelerate(model)
    assert "forward" in vars(model[0])
    assert model[1].forward is own
    release(model)
    assert "forward" not in vars(model[0])
    assert model[1].forward is own
    gone = weakref.ref(model[0])
    gc.disable()
    try:
        del model
        assert gone() is None
    finally:
        gc.enable()


BIASES: dict[str, Callable[[Tensor], Tensor]] = {
    "one number": lambda numbers: numbers[:1],
    "one number for all columns": lambda numbers: numbers[:1].expand(16),
    "every other number": lambda numbers: numbers[::2],
}


@pytest.mark.parametrize("kind", BIASES)
@pytest.mark.parametrize("cls", [GCNConv, GATConv, GATv2Conv])
def test_a_bias_that_is_no_plain_row_is_added_as_torch_adds_it(cls: Any, kind: str) -> None:
    torch.manual_seed(0)
    layer, x = cls(16, 16), torch.randn(40, 16)
    layer.bias = nn.Parameter(BIASES[kind](torch.randn(32)))
    edges = _random_edges(40, 150, seed=3)
    expected = layer(x, edges)
    accelerate(layer)
    torch.testing.assert_close(layer(x, attach(edges, 40)), expected, **TOLERANCES[torch.float32])
