"""Sparse features: for every reader the dense tensor, bit for bit but for products."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Batch, Data
from torch_geometric.nn import EdgeConv, GATv2Conv, GraphConv, SGConv, global_mean_pool
from torch_geometric.transforms import NormalizeFeatures

from gnz_track.training.acceleration import SparseFeatures, sparsify
from gnz_track.training.acceleration.features import LARGEST_DENSITY, MOST_PRODUCTS, SMALLEST_WIDTH

N_NODES, WIDTH = 30, 48
_generator = torch.Generator().manual_seed(0)
_HELD = torch.rand(N_NODES, WIDTH, generator=_generator) < 0.05
DENSE = torch.where(_HELD, torch.randn(N_NODES, WIDTH, generator=_generator), 0.0)
WEIGHT = torch.randn(7, WIDTH, generator=_generator)
BIAS = torch.randn(7, generator=_generator)
EDGES = torch.randint(N_NODES, (2, 80), generator=_generator)
MASK = torch.arange(N_NODES) % 3 == 0


def _features() -> SparseFeatures:
    features = sparsify(DENSE.clone())
    assert isinstance(features, SparseFeatures)
    return features


# What models do with features; the results must be the same to the bit.
READINGS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x + 1,
    "add from the left": lambda x: 1 + x,
    "subtract": lambda x: x - x,
    "negate": lambda x: -x,
    "multiply": lambda x: x * 2.5,
    "divide": lambda x: x / x.sum(dim=1, keepdim=True).clamp(min=1),
    "power": lambda x: x**2,
    "absolute": abs,
    "compare": lambda x: x > 0,
    "equal": lambda x: x == x.clone(),
    "torch.equal": lambda x: torch.equal(x, DENSE),
    "row": lambda x: x[3],
    "rows": lambda x: x[[1, 2, 2]],
    "rows by tensor": lambda x: x[EDGES[0]],
    "rows by mask": lambda x: x[MASK],
    "columns": lambda x: x[:, 3:9],
    "element": lambda x: x[0, 1].item(),
    "as a mask": lambda x: torch.arange(x.numel()).view_as(x)[x != 0],
    "sum": lambda x: x.sum(),
    "sum over nodes": lambda x: x.sum(dim=0),
    "mean, maximum, norm": lambda x: (x.mean(), x.max(dim=1).values, x.norm(dim=1)),
    "concatenate": lambda x: torch.cat([x, torch.ones(N_NODES, 2)], dim=1),
    "concatenate with itself": lambda x: torch.cat((x, x), dim=-1),
    "stack": lambda x: torch.stack([x, x]),
    "transpose": lambda x: (x.t(), x.T, x.mT, x.transpose(0, 1)),
    "view": lambda x: (x.view(-1), x.reshape(-1, 2), x.unsqueeze(0), x.flatten()),
    "rearrange": lambda x: (x.index_select(0, EDGES[0]), torch.gather(x, 0, EDGES[:, :WIDTH]), x.flip(0)),
    "where": lambda x: torch.where(x > 0, x, torch.zeros(())),
    "cast": lambda x: (x.double(), x.half(), x.to(torch.float64), x.long(), x.bool()),
    "move": lambda x: (x.to("cpu"), x.cpu(), x.contiguous(), x.to(torch.float32)),
    "clone and detach": lambda x: (x.clone(), x.detach(), torch.clone(x), x.data),
    "sizes": lambda x: (x.shape, x.size(), x.size(1), x.dim(), x.ndim, x.numel(), len(x), x.stride()),
    "type": lambda x: (x.dtype, x.device, x.layout, x.is_cuda, x.is_sparse, x.is_floating_point(), x.requires_grad),
    "new": lambda x: (x.new_zeros(3), torch.zeros_like(x), torch.empty_like(x).shape, x.new_ones(2).dtype),
    "numpy": lambda x: (x.numpy(), np.asarray(x), x.tolist()),
    "iterate": list,
    "unbind and split": lambda x: (x.unbind(1), x.split(7), x.chunk(3)),
    "sparse": lambda x: (x.to_sparse().to_dense(), x.nonzero(), x.count_nonzero()),
    "normalise": lambda x: functional.normalize(x, p=1.0, dim=-1),
    "activate": lambda x: (functional.relu(x), torch.relu(x), x.relu(), functional.elu(x), x.softmax(dim=-1)),
    "normalise a batch": lambda x: functional.batch_norm(x, None, None, training=True),
    "embed": lambda x: functional.embedding(x.abs().argmax(dim=1), WEIGHT.t()),
    "product from the left": lambda x: torch.ones(3, N_NODES) @ x,
    "product with a vector": lambda x: (x @ WEIGHT[0], x.mv(WEIGHT[0])),
    "einsum": lambda x: torch.einsum("nw,ow->no", x, WEIGHT),
    "bilinear": lambda x: functional.bilinear(x, x, torch.ones(1, WIDTH, WIDTH)),
    "pool": lambda x: global_mean_pool(x, EDGES[0, :N_NODES].sort().values),
    "dropout by name": lambda x: functional.dropout(input=x, p=0.3, training=False),
    "alpha dropout": lambda x: functional.alpha_dropout(x, 0.0, training=True),
    "truth": lambda x: (bool((x != 0).any()), x.isnan().any()),
    "deep copy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "in a graph": lambda x: (Data(x=x).num_nodes, Data(x=x).num_features, Data(x=x).clone().x, Data(x=x).to("cpu").x),
    "in a batch": lambda x: Batch.from_data_list([Data(x=x), Data(x=x)]).x,
    "pickled in a graph": lambda x: pickle.loads(pickle.dumps(Data(x=x))).x,
    "deep copied in a graph": lambda x: copy.deepcopy(Data(x=x)).x,
    "transformed": lambda x: NormalizeFeatures()(Data(x=x)).x,
    "subgraph": lambda x: Data(x=x, edge_index=EDGES).subgraph(MASK).x,
}


def _plain(value: Any) -> Any:
    """Return a result in a form that can be compared."""
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value.detach().numpy().tolist() if isinstance(value, Tensor) else value


def _assert_equal(found: Any, expected: Any) -> None:
    np.testing.assert_equal(_plain(found), _plain(expected))


@pytest.mark.parametrize("read", READINGS.values(), ids=READINGS)
def test_every_reading_is_that_of_the_dense_tensor(read: Callable[[Any], Any]) -> None:
    expected = read(DENSE.clone())
    _assert_equal(read(_features()), expected)
    # And once more where the dense form has to be made: as after dropout.
    remade = SparseFeatures(_features().pattern, _features().values)
    _assert_equal(read(remade), expected)


# Products run in another order, and are equal up to rounding.
PRODUCTS: dict[str, Callable[[Any, Tensor, Tensor], Tensor]] = {
    "linear": lambda x, w, _: functional.linear(x, w),
    "linear with bias": functional.linear,
    "linear by name": lambda x, w, b: functional.linear(input=x, weight=w, bias=b),
    "linear, half by name": lambda x, w, b: functional.linear(x, weight=w, bias=b),
    "@": lambda x, w, _: x @ w.t(),
    "matmul": lambda x, w, _: torch.matmul(x, w.t()),
    "matmul by name": lambda x, w, _: torch.matmul(x, other=w.t()),
    "mm": lambda x, w, _: torch.mm(x, w.t()),
    "mm by name": lambda x, w, _: torch.mm(x, mat2=w.t()),
    "method": lambda x, w, _: x.matmul(w.t()),
    "method mm": lambda x, w, _: x.mm(w.t()),
    "with itself": lambda x, w, _: (x @ x.t()) * w.sum(),
    "addmm": lambda x, w, b: torch.addmm(b, x, w.t()),
    "three-dimensional": lambda x, w, _: x @ w.t().expand(2, -1, -1),
    "sparse weight": lambda x, w, _: x @ w.t().to_sparse().detach() + 0 * w.sum(),
}


@pytest.mark.parametrize("multiply", PRODUCTS.values(), ids=PRODUCTS)
def test_products_and_their_gradients(multiply: Callable[..., Tensor]) -> None:
    results = []
    for x in (DENSE, _features()):
        weight, bias = WEIGHT.clone().requires_grad_(), BIAS.clone().requires_grad_()
        out = multiply(x, weight, bias)
        gradients = torch.autograd.grad((out * out.detach().cos()).sum(), [weight, bias], allow_unused=True)
        results.append((out, *gradients))
    for found, expected in zip(results[1], results[0], strict=True):
        assert (found is None) == (expected is None)
        if found is not None:
            torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("p", [0.0, 0.3, 0.9, 1.0])
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("inplace", [True, False])
def test_dropout_has_the_masks_of_the_dense_tensor(p: float, *, training: bool, inplace: bool) -> None:
    results = []
    for x in (DENSE.clone(), _features()):
        torch.manual_seed(3)
        dropped = functional.dropout(x, p, training, inplace)
        results.append((dropped + 0, x + 0, torch.get_rng_state()))
        assert not isinstance(x, SparseFeatures) or inplace or not 0 < p < 1 or isinstance(dropped, SparseFeatures)
    assert all(map(torch.equal, *results))


def test_dropped_features_are_multiplied_as_such() -> None:
    torch.manual_seed(3)
    expected = functional.linear(functional.dropout(functional.dropout(DENSE, 0.4), 0.2), WEIGHT)
    torch.manual_seed(3)
    found = functional.linear(functional.dropout(functional.dropout(_features(), 0.4), 0.2), WEIGHT)
    torch.testing.assert_close(found, expected)


def _set_item(x: Any) -> None:
    x[2, 3] = 9.0


WRITINGS: dict[str, Callable[[Any], Any]] = {
    "add_": lambda x: x.add_(1),
    "mul_": lambda x: x.mul_(2),
    "set item": _set_item,
    "dropout in place": lambda x: functional.dropout(x, 0.5, training=True, inplace=True),
    "relu_": lambda x: functional.relu(x, inplace=True),
}


@pytest.mark.parametrize("write", WRITINGS.values(), ids=WRITINGS)
def test_what_is_written_in_place_is_read_afterwards(write: Callable[[Any], Any]) -> None:
    results = []
    for x in (DENSE.clone(), _features()):
        torch.manual_seed(1)
        write(x)
        torch.manual_seed(2)
        results.append((functional.linear(x, WEIGHT), functional.dropout(x, 0.5) + 0, x + 0, x.sum()))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected)


def test_features_pass_for_a_tensor_and_show_what_they_are() -> None:
    features = _features()
    assert isinstance(features, Tensor)
    assert torch.is_tensor(features)
    assert repr(features) == f"SparseFeatures(({N_NODES}, {WIDTH}), {int((DENSE != 0).sum())} non-zero)"
    assert {features: 1}[features] == 1
    assert str(Data(x=features)) == f"Data(x=[{N_NODES}, {WIDTH}])"


def test_a_graph_with_features_can_be_saved() -> None:
    buffer = io.BytesIO()
    torch.save(Data(x=_features()), buffer)
    buffer.seek(0)
    assert torch.equal(torch.load(buffer, weights_only=False).x, DENSE)


UNSERVED: dict[str, Callable[[], nn.Module]] = {
    "EdgeConv": lambda: EdgeConv(nn.Sequential(nn.Linear(2 * WIDTH, 6), nn.ReLU())),
    "GraphConv": lambda: GraphConv(WIDTH, 6),
    "GATv2Conv": lambda: GATv2Conv(WIDTH, 3, heads=2),
    "SGConv": lambda: SGConv(WIDTH, 6, K=2),
}


@pytest.mark.parametrize("make", UNSERVED.values(), ids=UNSERVED)
def test_layers_that_are_not_accelerated_take_them(make: Callable[[], nn.Module]) -> None:
    torch.manual_seed(0)
    layer = make()
    results = []
    for x in (DENSE, _features()):
        out = layer(x, EDGES)
        results.append((out, *torch.autograd.grad(out.square().sum(), list(layer.parameters()))))
    torch.testing.assert_close(results[1], results[0], rtol=1e-4, atol=1e-5)


def test_ordinary_modules_take_them() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.BatchNorm1d(WIDTH), nn.Linear(WIDTH, 4)).eval()
    assert torch.equal(model(_features()), model(DENSE))
    linear = nn.Linear(WIDTH, 4, dtype=torch.float64)
    torch.testing.assert_close(linear(sparsify(DENSE.double())), linear(DENSE.double()))


def test_autocast_is_heeded() -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert functional.linear(_features(), WEIGHT).dtype is torch.bfloat16


def _with_density(share: float, width: int = 100) -> Tensor:
    x = torch.zeros(10 * width)
    x[: round(share * x.numel())] = 1.0
    return x.view(10, width)


KEPT_AS_THEY_ARE = {
    "dense": torch.randn(10, 64),
    "all zero": torch.zeros(10, 64),
    "too narrow": _with_density(0.01, SMALLEST_WIDTH - 1),
    "integers": torch.eye(64, dtype=torch.int64),
    "truth values": torch.eye(64, dtype=torch.bool),
    "half precision": torch.eye(64, dtype=torch.float16),
    "a vector": torch.zeros(64),
    "three dimensions": torch.zeros(4, 64, 64),
    "no nodes": torch.zeros(0, 64),
    "just too dense": _with_density(LARGEST_DENSITY + 0.002),
}


@pytest.mark.parametrize("x", KEPT_AS_THEY_ARE.values(), ids=KEPT_AS_THEY_ARE)
def test_what_would_not_gain_stays_as_it_is(x: Tensor) -> None:
    assert sparsify(x) is x


@pytest.mark.parametrize("x", [_with_density(LARGEST_DENSITY), _with_density(0.01, SMALLEST_WIDTH), torch.eye(40)])
def test_what_gains_is_made_sparse(x: Tensor) -> None:
    found = sparsify(x)
    assert isinstance(found, SparseFeatures)
    assert torch.equal(found + 0, x)


def test_product_with_the_same_weight_is_kept_and_never_outlives_the_weight() -> None:
    x = torch.zeros(40, 64)
    x[torch.arange(40), torch.arange(40)] = 1.5
    features = sparsify(x)
    layer = torch.nn.Linear(64, 3)
    optimiser = torch.optim.Adam(layer.parameters(), lr=0.1, fused=True)
    for _ in range(3):
        assert torch.allclose(layer(features), layer(x))
        assert torch.allclose(layer(features), layer(x))
        layer(features).square().sum().backward()
        expected = torch.autograd.grad(layer(x).square().sum(), layer.weight)[0]
        assert torch.allclose(layer.weight.grad, expected, atol=1e-5)
        optimiser.step()
        optimiser.zero_grad()
    with torch.no_grad():
        layer.weight.data.mul_(2)
        assert torch.allclose(layer(features), layer(x))


def test_product_that_was_written_into_is_not_used_again() -> None:
    x = torch.zeros(40, 64)
    x[torch.arange(40), torch.arange(40)] = -1.5
    features = sparsify(x)
    weight = torch.rand(64, 3)
    with torch.no_grad():
        expected = x @ weight
        (features @ weight).relu_()
        assert torch.allclose(features @ weight, expected)
    trained = weight.clone().requires_grad_()
    (features @ trained).relu_()
    assert torch.allclose(features @ trained, expected)


def test_only_a_few_products_are_kept() -> None:
    x = torch.zeros(40, 64)
    x[torch.arange(40), torch.arange(40)] = 1.0
    features = sparsify(x)
    weights = [torch.rand(64, 2) for _ in range(30)]
    for weight in weights:
        assert torch.allclose(features @ weight, x @ weight)
    assert len(features._products) <= MOST_PRODUCTS  # noqa: SLF001  (what is kept shows nowhere else)


def test_products_of_copies_are_of_the_weight_as_it_is_whoever_trusts_the_features() -> None:
    """Training trusts itself with its features, and lends copies to models of others, which write as they like."""
    x = DENSE.clone()
    own, linear = sparsify(x, is_trusted=True), nn.Linear(x.size(1), 8)
    with torch.no_grad():
        for features in (own.lend, lambda: functional.dropout(own.lend(), 0.0)):
            functional.linear(features(), linear.weight, linear.bias)
            linear.weight.data.mul_(0.5)
            found = functional.linear(features(), linear.weight, linear.bias)
            torch.testing.assert_close(found, functional.linear(x, linear.weight, linear.bias))
