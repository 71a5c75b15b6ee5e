"""Deep networks as training speeds them up against the same networks untouched, and both against double precision.

Values, gradients, gradients of gradients, what normalisations keep, and what the generator draws next. A gradient of a
ReLU jumps where its input changes sign by rounding, so that networks are as likely to differ from double precision;
what is sped up may be off by a few times of what is not.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.overrides import TorchFunctionMode
from torch_geometric.data import Batch, Data

from gnz_track.models.building import build
from gnz_track.models.catalogue import MODELS
from gnz_track.models.options import Sizes
from gnz_track.training.acceleration import accelerate, attach, compiled_deep, deep, dense, library
from gnz_track.training.acceleration.structure import structure_of
from gnz_track.types import TaskType

needs_kernels = pytest.mark.skipif(library.kernels() is None, reason=f"no kernels: {library.describe_kernels()[1]}")
SIZES = Sizes(in_channels=1, hidden_channels=0, out_channels=3, vocabulary=(5,), edge_channels=1, edge_vocabulary=(4,))
# Model -> its settings.
NETWORKS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("GatedGCN", {}),
    ("GatedGCN", {"edge_features": True}),
    ("GatedGCN", {"edge_repr": "edge_feat"}),
    ("GatedGCN", {"edge_repr": "isotropic"}),
    ("DeepGAT", {"heads": 3}),
    ("DeepGAT", {"edge_repr": "isotropic"}),
    ("GPS", {"heads": 3}),
    ("GPS", {"edge_features": True}),
    ("MoNet", {}),
    ("DeepGCN", {}),
    ("DeepMeanGCN", {}),
    ("DeepGIN", {}),
    ("DeepGraphSAGE", {}),
    ("DeepMLP", {}),
)


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the kernels compute however little there is to compute."""
    for module in (dense, compiled_deep):
        monkeypatch.setattr(module, "SMALLEST", 0)


def _network(name: str, options: dict[str, Any], width: int, task_type: TaskType, dropout: float) -> nn.Module:
    torch.manual_seed(2)
    sizes = replace(SIZES, hidden_channels=width)
    model = build(MODELS.get(name), task_type, sizes, options={**options, "n_layers": 2, "dropout": dropout})
    for layer in model.modules():
        if isinstance(layer, nn.BatchNorm1d):
            # Nothing is to be exactly where a ReLU bends.
            nn.init.normal_(layer.weight)
            nn.init.normal_(layer.bias)
    return model


def _graph(n_nodes: int, edges: list[tuple[int, int]], seed: int) -> Data:
    generator = torch.Generator().manual_seed(seed)
    pairs = torch.tensor([pair for pair in edges if max(pair) < n_nodes], dtype=torch.int64).view(-1, 2)
    return Data(
        x=torch.randint(5, (n_nodes, 1), generator=generator),
        edge_index=pairs.t().contiguous(),
        edge_attr=torch.randint(4, (len(pairs),), generator=generator),
        num_nodes=n_nodes,
    )


def _compute(model: nn.Module, data: Data) -> list[Tensor]:
    """Return values, gradients, gradients of gradients, buffers, and what the generator draws next."""
    torch.manual_seed(5)
    parameters = list(model.parameters())
    # Torch's attention for a CPU has no second derivative otherwise.
    with sdpa_kernel(SDPBackend.MATH):
        out = model(copy.copy(data))
    probe = torch.linspace(-1, 2, out.numel(), dtype=out.dtype).view_as(out).cos()
    first = torch.autograd.grad((out * probe).sum(), parameters, retain_graph=True, allow_unused=True)
    gradients = [*first]
    # Torch has no second derivative of the codes of no edges.
    if data.edge_index.numel():
        again = torch.autograd.grad((out * probe).sum(), parameters, create_graph=True, allow_unused=True)
        squares = torch.stack([one.square().sum() for one in again if one is not None]).sum()
        gradients += [*again, *torch.autograd.grad(squares, parameters, allow_unused=True)]
    found = [out, *(one for one in gradients if one is not None), *model.buffers(), torch.rand(1)]
    return [one.detach().clone() for one in found]


def _hold(model: nn.Module, data: Data, *, is_training: bool = True) -> None:
    model.train(is_training)
    plain, exact, fast = (copy.deepcopy(model) for _ in range(3))
    expected, true = _compute(plain, data), _compute(exact.double(), data)
    own = copy.copy(data)
    own.edge_index = attach(data.edge_index.clone(), data.num_nodes)
    found = _compute(accelerate(fast), own)
    for place, (mine, theirs, real) in enumerate(zip(found, expected, true, strict=True)):
        size = float(real.abs().max()) if real.numel() else 0.0
        off, usual = ((one.double() - real).abs().max() if real.numel() else 0.0 for one in (mine, theirs))
        assert off <= 20 * usual + 3e-5 * max(size, 1e-2), f"number {place}: off by {off}, untouched by {usual}"
    assert torch.equal(found[-1], expected[-1])


_PAIRS = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=24)


@st.composite
def _any_batch(draw: st.DrawFn) -> Data:
    """Draw graphs with loops, parallel edges, nodes without edges, and graphs without any."""
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=5).filter(lambda found: sum(found) > 3))
    batch = Batch.from_data_list([_graph(size, draw(_PAIRS), place) for place, size in enumerate(sizes)])
    # What is normalised in training is more than one.
    assume(batch.edge_index.size(1) != 1)
    return batch


@needs_kernels
@settings(deadline=None, max_examples=60, derandomize=True, phases=[Phase.generate])
@given(
    st.sampled_from(NETWORKS),
    st.integers(5, 33),
    st.sampled_from((TaskType.graph_reg, TaskType.node_cls)),
    st.sampled_from((0.0, 0.4)),
    st.booleans(),
    _any_batch(),
)
def test_any_network_on_any_batch(
    network: tuple[str, dict[str, Any]],
    width: int,
    task_type: TaskType,
    dropout: float,
    is_training: bool,  # noqa: FBT001
    data: Data,
) -> None:
    _hold(_network(*network, width, task_type, dropout), data, is_training=is_training)


def _molecules() -> Data:
    generator = torch.Generator().manual_seed(9)
    graphs = []
    for place in range(9):
        n = int(torch.randint(5, 30, (1,), generator=generator))
        chain = [(node, node + 1) for node in range(n - 1)] + [(0, n - 1), (2, n // 2)]
        graphs.append(_graph(n, [*chain, *((b, a) for a, b in chain)], place))
    return Batch.from_data_list(graphs)


@needs_kernels
@pytest.mark.parametrize("network", NETWORKS, ids=lambda one: "-".join([one[0], *map(str, one[1].values())]))
def test_every_network_on_molecules(network: tuple[str, dict[str, Any]]) -> None:
    _hold(_network(*network, 23, TaskType.graph_reg, 0.2), _molecules())


@needs_kernels
def test_one_graph_that_is_no_batch() -> None:
    graph = _graph(9, [(a, (a * a + 1) % 9) for a in range(9)], 1)
    for name in ("GPS", "GatedGCN"):
        _hold(_network(name, {}, 17, TaskType.node_cls, 0.0), graph)


@needs_kernels
def test_a_node_with_more_edges_than_are_worked_on_together() -> None:
    star = [(place % 40 + 1, 0) for place in range(400)] + [(0, place) for place in range(41)]
    _hold(_network("GatedGCN", {}, 18, TaskType.node_cls, 0.0), _graph(42, star, 3))


@needs_kernels
def test_scores_of_any_size_become_weights() -> None:
    torch.manual_seed(4)
    codes, starts = (5 * torch.randn(21, 3 * 2 * 16)).requires_grad_(), torch.tensor([0, 4, 21])
    twin = compiled_deep._AllCall(starts, 2).twin  # noqa: SLF001
    out, expected = compiled_deep.attend_among_all(codes, starts, 2), twin(codes)
    torch.testing.assert_close(out, expected, rtol=1e-3, atol=1e-3)
    mine, theirs = (torch.autograd.grad(one.sin().sum(), codes)[0] for one in (out, expected))
    torch.testing.assert_close(mine, theirs, rtol=1e-2, atol=1e-2)


@needs_kernels
def test_of_no_nodes_there_are_gradients_of_gradients() -> None:
    structure = structure_of(attach(torch.empty(2, 0, dtype=torch.int64), 0), 0)
    inputs = torch.empty(0, 3 * 17, requires_grad=True), torch.empty(0, 3, requires_grad=True)
    mixed = compiled_deep.mix(structure, *inputs)
    # One graph without nodes among others.
    codes, starts = torch.randn(4, 3 * 2 * 16, requires_grad=True), torch.tensor([0, 0, 4])
    for out, of in ((mixed, inputs), (compiled_deep.attend_among_all(codes, starts, 2), (codes,))):
        assert type(out.grad_fn).__name__ in {"_MixBackward", "_AttendBackward"}
        first = torch.autograd.grad(out.square().sum(), of, create_graph=True)
        second = torch.autograd.grad(torch.stack([one.square().sum() for one in first]).sum(), of)
        assert [one.shape for one in second] == [one.shape for one in of]
    model = _network("MoNet", {}, 17, TaskType.node_cls, 0.0)
    _hold(model, _graph(0, [], 0), is_training=False)


# ---------------------------------------------------------------------------------------------------- which way it goes


class _Count(TorchFunctionMode):
    """Torch's modes are a reason to take its own way."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


# What computes in place of Torch -> a network that has need of it.
SERVED = {
    "sum_gated": "GatedGCN",
    "normalise": "GatedGCN",
    "attend_among_all": "GPS",
    "mix": "MoNet",
    "map_compiled": "GPS",
    "sum_compiled": "DeepGCN",
}


def _count_calls(name: str, model: nn.Module, monkeypatch: pytest.MonkeyPatch) -> int:
    found: list[Any] = []
    real = getattr(deep, name)
    monkeypatch.setattr(deep, name, lambda *given, **named: found.append(real(*given, **named)) or found[-1])
    data = _molecules()
    data.edge_index = attach(data.edge_index, data.num_nodes)
    model(data)
    return sum(one is not None for one in found)


@needs_kernels
@pytest.mark.parametrize("name", SERVED)
def test_kernels_compute_where_they_are_to(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name == "map_compiled" and not dense._has_torchs_bits():  # noqa: SLF001
        pytest.skip("products are Torch's own here")
    model = accelerate(_network(SERVED[name], {}, 23, TaskType.graph_reg, 0.0))
    assert _count_calls(name, model, monkeypatch) > 0


@pytest.mark.parametrize("name", SERVED)
def test_under_a_mode_torch_computes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = accelerate(_network(SERVED[name], {}, 23, TaskType.graph_reg, 0.0))
    with _Count():
        assert _count_calls(name, model, monkeypatch) == 0


def test_names_of_layers_are_those_of_classes() -> None:
    for name in deep.DEEP:
        module, _, cls = name.rpartition(".")
        assert issubclass(getattr(__import__(module, fromlist=[cls]), cls), nn.Module)


@pytest.mark.parametrize("name", ["weight", "bias", "running_mean", "running_var"])
def test_a_norm_whose_numbers_lie_apart_is_normalised_as_torch_does(name: str) -> None:
    torch.manual_seed(0)
    norm, x = nn.BatchNorm1d(32), torch.randn(64, 32)
    apart = torch.rand(64)[::2]
    setattr(norm, name, nn.Parameter(apart) if name in {"weight", "bias"} else apart)
    own = copy.deepcopy(norm)
    expected = own(x)
    found = compiled_deep.normalise(norm, x)
    torch.testing.assert_close(norm(x) if found is None else found, expected)
    torch.testing.assert_close(norm.running_var, own.running_var)
    torch.testing.assert_close(norm.running_mean, own.running_mean)
