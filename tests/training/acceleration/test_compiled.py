"""Whole trainings by compiled kernels: equal bits on every vector level, PyG's losses, and faults that are noticed."""

from __future__ import annotations

import ctypes
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch_geometric.nn import (
    ChebConv,
    GATConv,
    GATv2Conv,
    GCNConv,
    GINConv,
    GINEConv,
    InnerProductDecoder,
    SAGEConv,
    TransformerConv,
)
from torch_geometric.nn.aggr import MaxAggregation, MeanAggregation, SumAggregation

from gnz_track.training.acceleration import accelerate, attach, compiled, dropout, gathered, library, sparsify

N_NODES, WIDTH, OUT = 600, 37, 9
SCRIPT = Path(__file__).with_name("twenty_epochs.py")
needs_kernels = pytest.mark.skipif(library.kernels() is None, reason=f"no kernels: {library.describe_kernels()[1]}")
# Largest difference of a loss from that on PyG's own path, over twenty epochs; attention makes more of rounding.
LARGEST = {"GCN": 2.4e-7, "GraphSAGE": 2.4e-7, "GraphTransformer": 2.4e-7, "GAT": 1.6e-6, "NodeGIN": 1e-6, "MLP": 1e-6}


def _train(how: str, kernels: str, *mirror: str) -> dict[str, dict[str, Any]]:
    environment = {**os.environ, "GNZ_KERNELS": kernels, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    command = [sys.executable, str(SCRIPT), how, *mirror]
    said = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    found: dict[str, dict[str, Any]] = json.loads(said)
    return found


def _assert_close(found: dict[str, dict[str, Any]], expected: dict[str, dict[str, Any]]) -> None:
    for name, most in LARGEST.items():
        pairs = zip(found[name]["losses"], expected[name]["losses"], strict=True)
        assert max(abs(mine - theirs) for mine, theirs in pairs) <= most, name


@needs_kernels
@pytest.mark.slow
def test_levels_train_to_the_same_bits_and_as_torch_does() -> None:
    highest, _ = library.describe_kernels()
    usable = library.levels()[: library.levels().index(highest) + 1]
    found = {level: _train("fast", level) for level in usable}
    assert all(other == found[highest] for other in found.values())
    alone = _train("fast", library.OFF)
    _assert_close(alone, found[highest])
    # With the same bits it would not have been without kernels.
    assert alone["GAT"] != found[highest]["GAT"]
    _assert_close(found[highest], _train("plain", library.OFF))


@needs_kernels
@pytest.mark.slow
@pytest.mark.mirror
def test_losses_on_cora_are_those_of_pyg(mirror: Path, tmp_path: Path) -> None:
    places = str(mirror), str(tmp_path)
    _assert_close(_train("fast", "", *places), _train("plain", library.OFF, *places))


# ------------------------------------------------------------------------------- what is written before the way back


def _put(tensor: torch.Tensor, *shape: int) -> None:
    tensor.data = torch.zeros(shape)


# A layer and a write into its parameters that no version counts.
PUT: dict[str, tuple[Callable[[], nn.Module], Callable[[Any], None]]] = {
    "a map of fewer numbers": (lambda: nn.Linear(WIDTH, OUT), lambda layer: _put(layer.weight, OUT, 5)),
    "a map of one number for all": (
        lambda: nn.Linear(WIDTH, OUT),
        lambda layer: setattr(layer.weight, "data", torch.zeros(1, 1).expand(OUT, 1)),
    ),
    "vectors of attention": (lambda: GATConv(WIDTH, OUT, heads=3), lambda layer: _put(layer.att_src, 1, 3, 1)),
    "a vector of GATv2": (lambda: GATv2Conv(WIDTH, OUT, heads=3), lambda layer: _put(layer.att, 1, 3, 1)),
}


@needs_kernels
@pytest.mark.parametrize(("make", "write"), PUT.values(), ids=PUT)
def test_parameters_put_in_place_before_the_way_back_are_not_read_beyond(
    make: Callable[[], nn.Module], write: Callable[[Any], None]
) -> None:
    layer, x = accelerate(make()), torch.randn(N_NODES, WIDTH, requires_grad=True)
    edges = attach(torch.randint(N_NODES, (2, 2000)), N_NODES)
    out = layer(x) if type(layer) is nn.Linear else layer(x, edges)
    write(layer)
    with pytest.raises(RuntimeError, match=r"shape|size"):
        out.square().sum().backward()


@needs_kernels
@pytest.mark.parametrize("pooling", gathered.POOLINGS)
@pytest.mark.parametrize("place", [10**7, -3])
def test_an_index_written_before_the_way_back_is_refused(pooling: str, place: int) -> None:
    x, index = torch.randn(N_NODES, WIDTH, requires_grad=True), torch.arange(N_NODES) % 7
    out = gathered.pool(x, index, 7, pooling)
    assert out is not None
    index.data.fill_(place)
    with pytest.raises((RuntimeError, IndexError), match=r"out of bounds|out of range"):
        out.square().sum().backward()


@needs_kernels
@pytest.mark.parametrize("place", [0, 10**7])
def test_pairs_written_before_the_way_back_change_no_gradient(place: int) -> None:
    codes, pairs = torch.randn(N_NODES, WIDTH, requires_grad=True), torch.randint(N_NODES, (2, 50))
    expected = torch.autograd.grad(gathered.multiply_in_torch(codes, pairs).square().sum(), codes)[0]
    out = gathered.multiply_pairs(codes, pairs)
    assert out is not None
    pairs.data.fill_(place)
    torch.testing.assert_close(torch.autograd.grad(out.square().sum(), codes)[0], expected)


@needs_kernels
@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (4, 0)])
def test_of_rows_without_numbers_there_is_nothing_to_compute(shape: tuple[int, int]) -> None:
    x, index = torch.randn(shape), torch.zeros(shape[0], dtype=torch.int64)
    for size in (0, 3) if not shape[0] else (3,):
        found = gathered.pool(x, index, size, "sum")
        assert found is None or torch.equal(found, torch.zeros(size, shape[1]))


# --------------------------------------------------------------------------------------------------- planted faults

# What stands in the sources, and what is planted there.
FAULTS = {
    "sums are not divided": ("sums[b] = sums[b] / *divisor", "sums[b] = sums[b]"),
    "the last columns are not divided": ("if (divisor) sum = sum / *divisor", "if (false) sum = sum"),
    "a gradient is not divided": ("g[c] / divisors[r]", "g[c]"),
    "weights do not sum to one": ("sums[h] += scores[k * heads + h]", "sums[h] = scores[k * heads + h]"),
    "a mask in another order": ("(Count)a->edges->order[row.first + k] * heads", "(row.first + k) * heads"),
    "dropout is not scaled backwards": ("to_scores[places[i]] = scale * sum", "to_scores[places[i]] = sum"),
    "the softmax has no inner derivative": ("(to_scores[k * heads + h] - sums[h])", "(to_scores[k * heads + h])"),
    "no slope backwards": ("* (score > 0 ? 1.f : gat->slope)", "* (score > 0 ? 1.f : 1.f)"),
    "the root is forgotten backwards": (
        "to_scores.numbers[k * heads + h] / p->root",
        "to_scores.numbers[k * heads + h]",
    ),
    "another word of the generator": ("(y << 15) & 0xefc60000u", "(y << 15) & 0xefc40000u"),
    "entries are lost": ("n += (value != 0.f) & ", "n += (value > 0.1f) & "),
    "no slope backwards in GATv2": ("sloped = choose(sum, share, b->slope * share)", "sloped = share"),
    "a vector of GATv2 sees no slope": ("to_score * choose(sum, sum, b->slope * sum)", "to_score * sum"),
    "equal ones get all": ("count_equal(shares.numbers, x", "if (false) count_equal(shares.numbers, x"),
    "the largest does not start from zero": ("shares.numbers[c] = own[c] == 0", "shares.numbers[c] = 0"),
    "no rectification backwards": (
        "load(e + edge + c), load(g + c), Block{})",
        "load(e + edge + c), load(g + c), load(g + c))",
    ),
    "groups are not divided": ("out[s * width + c] /= counts[s]", "out[s * width + c] /= 1"),
    "groups are not divided backwards": ("gradient[s * width + c] / counts[s]", "gradient[s * width + c]"),
    "equal ones of a group get all": ("gradient[k] / shares.numbers[k]", "gradient[k]"),
    "one end of a pair is lost backwards": (
        "add_to(to_codes + second[i] * width",
        "if (false) add_to(to_codes + second[i] * width",
    ),
    "a bias is lost backwards": ("if (to_bias) to_bias[o] += g[o]", "if (to_bias) to_bias[o] = g[o]"),
}


class _Sent(nn.Module):
    """Sums of messages with features of edges, the largest of features that are often zero, and means of few."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.largest = GINEConv(nn.Linear(WIDTH, OUT), edge_dim=2), SAGEConv(WIDTH, OUT, aggr="max")
        self.mean = SAGEConv(OUT, OUT)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        out = self.layer(x, edges, edges.t().float().cos()) + self.largest(x - x.detach().clamp(max=0), edges)
        return out + self.mean(out, edges)


class _Gathered(nn.Module):
    """All poolings, and products of pairs; many numbers are equal, and zero."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.product = nn.Linear(WIDTH, 19), InnerProductDecoder()
        self.pools = nn.ModuleList([SumAggregation(), MeanAggregation(), MaxAggregation()])

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        groups = torch.arange(x.size(0)) * 7 % 90
        # Rounding has no gradient.
        h = self.first(x).round().relu() + 0.1 * self.first(x).relu()
        pooled = [pool(h, groups, dim_size=91)[groups] for pool in self.pools]
        return torch.cat([*pooled, self.product(h, edges, sigmoid=False)[: x.size(0), None]], dim=1)


def _layers() -> Iterator[nn.Module]:
    torch.manual_seed(0)
    yield GCNConv(WIDTH, OUT)
    yield SAGEConv(WIDTH, OUT)
    yield GINConv(nn.Linear(WIDTH, OUT))
    yield GATConv(WIDTH, OUT, heads=3, dropout=0.5)
    yield TransformerConv(WIDTH, OUT, heads=3, dropout=0.5)
    yield GATv2Conv(WIDTH, 23, heads=3, dropout=0.5)
    yield SAGEConv(WIDTH, OUT, aggr="max")
    yield ChebConv(WIDTH, OUT, 3)
    yield _Sent()
    yield _Gathered()
    yield nn.Sequential(nn.Linear(WIDTH, OUT), nn.ELU(), nn.Dropout(0.3), nn.ReLU())


def _compute(layer: nn.Module, x: torch.Tensor, edges: torch.Tensor, *, is_fast: bool) -> list[torch.Tensor]:
    """Return values, gradients, gradients of the gradients' squares, and what the generator draws next."""
    inputs = [sparsify(x), attach(edges.clone(), N_NODES)] if is_fast else [x, edges]
    if type(layer) is nn.Sequential:
        inputs.pop()
    torch.manual_seed(5)
    out = layer(*inputs)
    wanted = [*layer.parameters(), *([x] if x.requires_grad else [])]
    probe = torch.linspace(-1, 2, out.numel()).view_as(out).cos()
    probe[50:300] = 0
    first = torch.autograd.grad((out * probe).sum(), wanted, retain_graph=True)
    again = torch.autograd.grad((out * probe).sum(), wanted, create_graph=True)
    squares = sum(one.square().mean() for one in again)
    # Those of a linear function of constant features are constant.
    second = torch.autograd.grad(squares, wanted, allow_unused=True) if squares.requires_grad else [None] * len(wanted)
    filled = [torch.zeros_like(own) if one is None else one for one, own in zip(second, wanted, strict=True)]
    found = [out, *first, *again, *filled, torch.rand(1)]
    return [one.detach() for one in found]


def _differs(layer: nn.Module, x: torch.Tensor, edges: torch.Tensor) -> bool:
    """Tell whether an accelerated layer computes anything else than the layer's own forward."""
    expected = _compute(layer, x, edges, is_fast=False)
    found = _compute(accelerate(layer), x, edges, is_fast=True)
    pairs = zip(found, expected, strict=True)
    return any(not torch.allclose(a, b, rtol=1e-4, atol=1e-4 * max(1.0, float(b.abs().max()))) for a, b in pairs)


def _any_differs() -> bool:
    generator = torch.Generator().manual_seed(2)
    edges = torch.randint(N_NODES, (2, 2000), generator=generator)
    dense = torch.randn(N_NODES, WIDTH, generator=generator)
    sparse = dense * (torch.rand(N_NODES, WIDTH, generator=generator) < 0.08)
    return any(_differs(layer, x, edges) for x in (dense.requires_grad_(), sparse.detach()) for layer in _layers())


@needs_kernels
def test_nothing_differs_without_a_fault() -> None:
    assert not _any_differs()


@needs_kernels
@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right, wrong = FAULTS[fault]
    folder = shutil.copytree(library.SOURCES, tmp_path / library.SOURCES.name)
    (place,) = (file for file in folder.iterdir() if right in file.read_text("utf-8"))
    place.write_text(place.read_text("utf-8").replace(right, wrong))
    planted = _load(tmp_path)
    assert planted is not None
    for module in (compiled, dropout, gathered):
        monkeypatch.setattr(module, "kernels", lambda: planted)
    # Whether the generator is known is tried once; here it is to be relied upon.
    monkeypatch.setattr(dropout, "_kernels_give_bernoulli", lambda: True)
    assert _any_differs()


def _load(folder: Path) -> Any:
    """Compile the sources of a folder, for the lowest level, and return the kernels."""
    (folder / "library.py").write_bytes(Path(library.__file__).read_bytes())
    spec = importlib.util.spec_from_file_location("planted_library", folder / "library.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.LEVELS = {family: levels[:1] for family, levels in module.LEVELS.items()}
    assert module.compile_kernels() == ""
    found = ctypes.CDLL(str(next((folder / "built").iterdir())))
    for name, kinds in module.SIGNATURES.items():
        kernel = getattr(found, name)
        # Structs are those of the module in use.
        kernel.argtypes, kernel.restype = [library._KINDS[kind] for kind in kinds], library._RESULTS.get(name)  # noqa: SLF001
    return found
