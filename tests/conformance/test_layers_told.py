"""Accelerated layers that are told something after they were built: as PyG's own would, they heed it.

Each telling is tried on every layer, before the first call, between two calls, and between the two within one forward.
What makes no sense for a layer makes none for its twin either: both raise the same error, or both do not care.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrizations, prune
from torch_geometric.nn import GATConv, GCNConv, GINConv, Linear
from torch_geometric.nn.aggr import MaxAggregation, MeanAggregation, SoftmaxAggregation, SumAggregation
from trials import ATTENTION, BOTH, LAYERS, OUT, WIDTH, Fed, Tally, Trial, make

Teller = Callable[[Any], Any]
DTYPES = (torch.float32, torch.float64)


def _doubled(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value * 2 if value.is_floating_point() else value
    if isinstance(value, dict):
        return {name: _doubled(item) for name, item in value.items()}
    return tuple(map(_doubled, value)) if isinstance(value, tuple) else value


def _on_result(*given: Any) -> Any:
    return given[-1] * 2


def _on_messages(layer: Any, given: tuple[Any, ...]) -> Any:
    del layer
    return (_doubled(given[0]),)


def _on_propagation(layer: Any, given: tuple[Any, ...]) -> Any:
    del layer
    edges, size, values = given
    return edges, size, _doubled(values)


def _calls(method: str, *given: Any) -> Teller:
    return lambda layer: getattr(layer, method)(*given) and None


def _sets(**values: Any) -> Teller:
    def tell(layer: Any) -> None:
        for name, value in values.items():
            setattr(layer, name, value() if isinstance(value, type | Callable) else value)  # type: ignore[arg-type]

    return tell


def _wraps(name: str) -> Teller:
    """Return what puts a method in the place of the layer's own, on the instance."""

    def tell(layer: Any) -> None:
        own = getattr(type(layer), name)
        setattr(layer, name, lambda *given, **more: _doubled(own(layer, *given, **more)))

    return tell


def _explains(layer: Any) -> None:
    layer.explain = True
    layer._edge_mask = torch.linspace(-1, 1, 36, dtype=torch.float64)  # noqa: SLF001  (as PyG's explainers do)
    layer._loop_mask = torch.ones(36, dtype=torch.bool)  # noqa: SLF001


def _explained(layer: Any) -> None:
    _explains(layer)
    layer.explain = None


def _inner(layer: Any) -> Any:
    return next(module for module in layer.modules() if isinstance(module, Linear | nn.Linear))


def _inner_is_told(tell: Teller) -> Teller:
    return lambda layer: tell(_inner(layer)) and None


def _linears(layer: Any) -> Iterator[tuple[str, Any]]:
    return ((name, module) for name, module in list(layer.named_children()) if isinstance(module, Linear))


def _linears_become(build: Callable[[Any], nn.Module]) -> Teller:
    def tell(layer: Any) -> None:
        for name, linear in _linears(layer):
            setattr(layer, name, build(linear).double())

    return tell


def _aggregation_patched(layer: Any) -> None:
    own = type(layer.aggr_module).forward
    layer.aggr_module.forward = lambda *given, **more: 2 * own(layer.aggr_module, *given, **more)


def _frozen(layer: Any) -> None:
    next(layer.parameters()).requires_grad_(requires_grad=False)


def _of_other_values(layer: Any) -> None:
    for parameter in layer.parameters():
        parameter.data = parameter.data.flip(0) * 0.5


def _with_new_parameters(layer: Any) -> None:
    for name, parameter in list(_inner(layer).named_parameters(recurse=False)):
        setattr(_inner(layer), name, nn.Parameter(parameter.detach() * -1.5))


def _cached_once(layer: Any) -> None:
    if isinstance(layer, GCNConv):
        layer.cached = True
        edges = torch.tensor([[0, 1, 2], [1, 2, 3]])
        layer(torch.zeros(12, WIDTH, dtype=torch.float64), edges)
        layer.cached = False


def _with_edge_features(layer: Any) -> None:
    layer.lin_edge = Linear(2, OUT, bias=False).double()
    layer.edge_dim = 2


def _gated(layer: Any) -> None:
    layer.lin_beta = Linear(3 * OUT, 1, bias=False).double()


def _with_rest(layer: Any) -> None:
    layer.res = Linear(WIDTH, OUT, bias=False).double()


TOLD: dict[str, Teller] = {
    "nothing": lambda _: None,
    "message hook": _calls("register_message_forward_hook", _on_result),
    "message pre-hook": _calls("register_message_forward_pre_hook", _on_messages),
    "aggregation hook": _calls("register_aggregate_forward_hook", _on_result),
    "aggregation pre-hook": _calls("register_aggregate_forward_pre_hook", _on_messages),
    "propagation hook": _calls("register_propagate_forward_hook", _on_result),
    "propagation pre-hook": _calls("register_propagate_forward_pre_hook", _on_propagation),
    "fused hook": _calls("register_message_and_aggregate_forward_hook", _on_result),
    "edge hook": _calls("register_edge_update_forward_hook", _on_result),
    "edge pre-hook": _calls("register_edge_update_forward_pre_hook", _on_propagation),
    "a hook taken away": lambda layer: layer.register_message_forward_hook(_on_result).remove(),
    "forward hook": _calls("register_forward_hook", _on_result),
    "forward pre-hook": _calls("register_forward_pre_hook", lambda _, given: _doubled(given)),
    "backward hook": _calls("register_full_backward_hook", lambda _, before, __: _doubled(before)),
    "backward pre-hook": _calls("register_full_backward_pre_hook", lambda _, after: _doubled(after)),
    "message": _wraps("message"),
    "aggregate": _wraps("aggregate"),
    "update": _wraps("update"),
    "propagate": _wraps("propagate"),
    "forward": _wraps("forward"),
    "edge_update": _wraps("edge_update"),
    "edge_updater": lambda layer: isinstance(layer, GATConv) and _wraps("edge_updater")(layer),
    "maximum": _sets(aggr_module=MaxAggregation),
    "mean": _sets(aggr_module=MeanAggregation),
    "sum": _sets(aggr_module=SumAggregation),
    "softmax": _sets(aggr_module=SoftmaxAggregation),
    "only the name of an aggregation": _sets(aggr="max"),
    "aggregation's forward": _aggregation_patched,
    "hook of the aggregation": lambda layer: layer.aggr_module.register_forward_hook(_on_result) and None,
    "backward hook of the aggregation": lambda layer: (
        layer.aggr_module.register_full_backward_hook(lambda _, before, __: _doubled(before)) and None
    ),
    "against the flow": _sets(flow="target_to_source"),
    "another axis": _sets(node_dim=1),
    "explained": _explains,
    "explained once": _explained,
    "in pieces": _sets(decomposed_layers=2),
    "in pieces once": lambda layer: _sets(decomposed_layers=2)(layer) or _sets(decomposed_layers=1)(layer),
    "hook of a linear map": _inner_is_told(_calls("register_forward_hook", _on_result)),
    "pre-hook of a linear map": _inner_is_told(_calls("register_forward_pre_hook", lambda _, given: _doubled(given))),
    "backward hook of a linear map": _inner_is_told(
        _calls("register_full_backward_hook", lambda _, before, __: _doubled(before))
    ),
    "a linear map's forward": _inner_is_told(_wraps("forward")),
    "weight norm": _inner_is_told(parametrizations.weight_norm),
    "spectral norm": _inner_is_told(parametrizations.spectral_norm),
    "pruned": _inner_is_told(lambda inner: prune.l1_unstructured(inner, "weight", amount=0.4)),
    "other maps": _linears_become(lambda old: nn.Sequential(nn.Linear(old.in_channels, old.out_channels), nn.Tanh())),
    "Torch's maps": _linears_become(lambda old: nn.Linear(old.in_channels, old.out_channels)),
    "wider maps": _linears_become(lambda old: Linear(old.in_channels, 2 * old.out_channels)),
    "frozen": _frozen,
    "other values": _of_other_values,
    "new parameters": _with_new_parameters,
    "no bias": _sets(bias=None),
    "another precision": lambda layer: layer.float(),
    "not normalised": _sets(normalize=False),
    "normalised": _sets(normalize=True),
    "no loops": _sets(add_self_loops=False),
    "improved": _sets(improved=True),
    "cached": _sets(cached=True),
    "cached once": _cached_once,
    "projected": _sets(project=True),
    "projected by a map": _sets(project=True, lin=lambda: Linear(WIDTH, WIDTH).double()),
    "without itself": _sets(root_weight=False),
    "another epsilon": lambda layer: _sets(eps=0.7)(layer) if isinstance(layer, GINConv) else None,
    "another perceptron": _sets(nn=lambda: nn.Linear(WIDTH, OUT).double()),
    "two heads": _sets(heads=2, out_channels=OUT // 2),
    "more heads than there are": _sets(heads=2),
    "the mean of heads": _sets(concat=False),
    "another slope": _sets(negative_slope=0.9),
    "dropout": _sets(dropout=0.5),
    "all dropped": _sets(dropout=1.0),
    "more than all dropped": _sets(dropout=1.5),
    "one vector of attention": lambda layer: (
        isinstance(layer, GATConv) and _sets(att_src=lambda: nn.Parameter(layer.att_src.detach()[:, :, :1]))(layer)
    ),
    "edge features": _with_edge_features,
    "a gate": _gated,
    "a residual": _with_rest,
    "an attribute of one's own": _sets(my_own=3),
    "an attribute gone": lambda layer: delattr(layer, "flow"),
}
# What makes no difference to what the fast forward computes, so that it is to stay fast.
STILL_FAST = {
    *("nothing", "fused hook", "a hook taken away", "forward hook", "frozen", "other values", "new parameters"),
    *("hook of a linear map", "an attribute of one's own", "normalised"),
}


def _made(cls: type) -> Any:
    return make(cls, **({"heads": 1} if cls in ATTENTION else {}))


def _twice(model: Any, x: Tensor, edges: Tensor) -> tuple[Tensor, ...]:
    return model(x, edges), model(x, edges)


@pytest.mark.parametrize("cls", LAYERS)
def test_a_layer_heeds_what_it_is_told(cls: type) -> None:
    tally = Tally()
    # Kernels serve one of the precisions, and Torch the other.
    for (name, tell), (is_training, dtype) in itertools.product(TOLD.items(), zip(BOTH, DTYPES, strict=True)):
        verdict = tally.add(
            f"{cls.__name__} told {name}",
            Trial(lambda: _made(cls), tell=_quietly(tell), call=_twice, is_training=is_training, dtype=dtype),
        )
        assert verdict.is_fast or name not in STILL_FAST, f"{name} makes {cls.__name__} slow for nothing"
    print(f"\n{cls.__name__}: {tally}")  # noqa: T201
    assert not tally.different


def _quietly(tell: Teller) -> Teller:
    def told(model: Any) -> Any:
        torch.manual_seed(9)
        try:
            found = tell(model.layer if isinstance(model, Fed) else model)
        except Exception as error:  # noqa: BLE001  (a layer may not know what it is told; its twin does not either)
            model.told = str(error)
            return None
        return found if isinstance(found, nn.Module) and not isinstance(model, Fed) else None

    return told


class _Talker(nn.Module):
    """Tells its layer between two calls within one forward, as published models do."""

    def __init__(self, layer: Any, tell: Teller) -> None:
        super().__init__()
        self.layer, self.tell = layer, tell

    def forward(self, x: Tensor, edges: Tensor) -> tuple[Tensor, Tensor]:
        first = self.layer(x, edges)
        self.tell(self.layer)
        return first, self.layer(x, edges)


@pytest.mark.parametrize("cls", LAYERS)
def test_a_layer_heeds_what_it_is_told_within_a_forward(cls: type) -> None:
    tally = Tally()
    # Where parameters are exchanged between a forward and its backward, the gradient of PyG's mixes old and new ones.
    for name in TOLD.keys() - {"other values"}:
        tell = TOLD[name]
        trial = Trial(lambda tell=tell: _Talker(_made(cls), _quietly(tell)), call=_once, dtype=torch.float32)
        assert tally.add(f"{cls.__name__} told {name} within a forward", trial).is_fast, "the first call is fast"
    print(f"\n{cls.__name__}: {tally}")  # noqa: T201
    assert not tally.different


def _once(model: Any, x: Tensor, edges: Tensor) -> Any:
    return model(x, edges)
