"""Accelerated layers against PyG's own forward, one case after another: nobody can tell the difference.

``python -m pytest -s -m "slow or not slow" tests/conformance/test_layers_alike.py`` prints how many cases there were,
how many went PyG's own way, and what differed.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.nn import GCNConv
from trials import ATTENTION, BOTH, EDGES, FORMS, GRAPHS, LAYERS, N_NODES, Tally, Trial, built, make, random_features

from gnz_track.training.acceleration.layers import FORWARDS

SPARSE_WIDTH = 33
DTYPES = (torch.float64, torch.float32)


def _features(n_nodes: int, width: int, form: str) -> Tensor:
    x = random_features(n_nodes, width)
    kept = torch.rand(n_nodes, width, generator=torch.Generator().manual_seed(3)) < 0.1
    return torch.where(kept, x, 0.0) if form.startswith("sparse") else x


def _cases(cls: type) -> Iterator[tuple[str, Trial]]:
    for options, graph, form, is_training in itertools.product(built(cls), GRAPHS, FORMS, BOTH):
        n_nodes, edges = GRAPHS[graph]
        width = SPARSE_WIDTH if form.startswith("sparse") else 5
        build = {"make": lambda width=width, options=options: make(cls, width, **options)}
        data = {"n_nodes": n_nodes, "edges": edges, "x": _features(n_nodes, width, form), "form": form}
        name = f"{cls.__name__} {options}, {graph}, {form}, {'training' if is_training else 'evaluation'}"
        yield name, Trial(**build, **data, is_training=is_training)


def _assert_alike(tally: Tally, *, title: str) -> None:
    print(f"\n{title}: {tally}")  # noqa: T201  (the count is what was asked for)
    assert not tally.different


def _is_to_be_fast(trial: Trial) -> bool:
    # Of nothing there is nothing to be made faster; and a matrix of zeros stays as it is.
    return trial.n_nodes > 0


@pytest.mark.parametrize("cls", LAYERS)
def test_every_setting_and_graph(cls: type) -> None:
    tally = Tally()
    # Every seventh: seven is prime to all that is crossed here, so that each setting meets each graph and each form.
    for name, trial in itertools.islice(_cases(cls), 0, None, 7):
        assert tally.add(name, trial).is_fast == _is_to_be_fast(trial), name
    _assert_alike(tally, title=cls.__name__)


@pytest.mark.slow
@pytest.mark.parametrize("cls", LAYERS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_settings_on_all_graphs_in_all_forms(cls: type, dtype: torch.dtype) -> None:
    tally = Tally()
    for name, trial in _cases(cls):
        trial.dtype = dtype
        assert tally.add(name, trial).is_fast == _is_to_be_fast(trial), name
    _assert_alike(tally, title=f"{cls.__name__} {dtype}")


@st.composite
def _any_trial(draw: st.DrawFn) -> Trial:
    """Draw a graph, a layer as it can be built, and how it is given its input."""
    cls = draw(st.sampled_from(LAYERS))
    options = draw(st.sampled_from(built(cls)))
    if cls in ATTENTION:
        options["heads"] = draw(st.integers(1, 16))
    n_nodes = draw(st.integers(1, 9))
    node = st.integers(0, n_nodes - 1)
    pairs = draw(st.lists(st.tuples(node, node), max_size=30))
    edges = torch.tensor(pairs, dtype=torch.int64).view(-1, 2).t().contiguous()
    form = draw(st.sampled_from(FORMS))
    width = draw(st.integers(32, 40) if form.startswith("sparse") else st.integers(1, 19))
    out = draw(st.integers(1, 19))
    return Trial(
        lambda: make(cls, width, out, **options),
        n_nodes=n_nodes,
        edges=edges,
        x=_features(n_nodes, width, form),
        form=form,
        dtype=draw(st.sampled_from(DTYPES)),
        is_training=draw(st.booleans()),
        wants_gradient=draw(st.booleans()),
    )


def _hold(trial: Trial) -> None:
    tally = Tally()
    tally.add(str(trial), trial)
    assert not tally.different


@settings(deadline=None, max_examples=120, derandomize=True)
@given(_any_trial())
def test_any_layer_on_any_graph(trial: Trial) -> None:
    _hold(trial)


@pytest.mark.slow
@settings(deadline=None, max_examples=6000)
@given(_any_trial())
def test_any_layer_on_any_graph_for_long(trial: Trial) -> None:
    _hold(trial)


def _shifted(compute: Any) -> Any:
    return lambda *given: compute(*given) + 1e-6


def _with_a_draw(compute: Any) -> Any:
    return lambda layer, x, *more: compute(layer, x + 0 * torch.rand(1, dtype=x.dtype), *more)


def _on_fewer_edges(compute: Any) -> Any:
    def forward(layer: Any, x: Tensor, structure: Any, *more: Tensor) -> Tensor:
        fewer = type(structure)(structure.edge_index[:, 1:], structure.n_nodes)
        return compute(layer, x, fewer, *(features[1:] for features in more))

    return forward


PLANTED = {
    "shifted": (_shifted, "output"),
    "a number drawn": (_with_a_draw, "generator"),
    "an edge lost": (_on_fewer_edges, "output"),
}


@pytest.mark.parametrize("cls", LAYERS)
@pytest.mark.parametrize(("spoil", "where"), PLANTED.values(), ids=PLANTED)
def test_a_wrong_layer_is_found(cls: type, spoil: Any, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORWARDS, cls, spoil(FORWARDS[cls]))
    tally = Tally()
    tally.add("planted", Trial(lambda: make(cls), n_nodes=N_NODES, edges=EDGES))
    assert any(where in difference for difference in tally.different), tally


class _CutOff(torch.autograd.Function):
    """A sum whose gradient is right, and has none itself."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return gradient * x.detach().cos()


def test_a_layer_with_a_wrong_second_derivative_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    compute = FORWARDS[GCNConv]
    monkeypatch.setitem(FORWARDS, GCNConv, lambda layer, x, s: compute(layer, x + _CutOff.apply(x) - x.sin(), s))
    tally = Tally()
    tally.add("planted", Trial(lambda: make(GCNConv), n_nodes=N_NODES, edges=EDGES))
    assert [difference.split(": ")[1] for difference in tally.different] == ["gradients of gradients"]
